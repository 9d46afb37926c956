"""The engine `pepys`: a store's chunks by their words and by their vectors, in a directory of their own.

    ledger.sqlite     a row a file: ids and vectors of its chunks
    text-N            the words; N changes when they are made anew, so that what was forgotten leaves the disk
    lock              one writer at a time

Text is never kept: what is shown is cut anew from the file that it lies in, so that an answer cannot be older than the
file. What has left the file is not found, whatever the index still thinks.
"""

from __future__ import annotations

import hashlib
import os
import re
import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from pepys.index.lock import exclusive
from pepys.index.source import settled
from pepys.journal import chunk as cutting
from pepys.journal import embedders, terms, vectors
from pepys.journal.base import BackendMissing, Chunk, Hit, Place, Refreshed, Status
from pepys.journal.chunk import Piece
from pepys.journal.embedders.base import EmbedderFailed
from pepys.journal.fusion import Ranked, calibrated, fused, rarity, share
from pepys.journal.ledger import ID_BYTES, KEY_BYTES, OWNER_BYTES, Known, Ledger, Reading
from pepys.journal.store import own
from pepys.model.source import Stamp
from pepys.paths import make_private
from pepys.text import plain

if TYPE_CHECKING:
    from pepys.config import Journal
    from pepys.journal.embedders.base import Embedder
    from pepys.journal.lexicon import Lexicon

LIST = 100
"""How many chunks of each list are fused."""

COMPARED = 150
"""How many vectors are compared exactly, of those whose signs are nearest."""

TAIL_CHARS = 200
"""How much of a chunk the one after it is indexed with."""

BATCH_CHUNKS, BATCH_S = 2_000, 5.0
"""Chunks a commit, or seconds: a first index is searchable before it is whole, and a crash loses little."""

CUT_FILES = 64
"""How many files are kept cut into chunks."""

LEAST_RELEVANCE = 0.1
"""Below it, a chunk has nothing to do with the query."""

COVERING = 3
"""So many of the best chunks by words are looked at for how much of the query they hold."""

LEAST_COVERED = 0.1

BEFORE = 0.4
"""What a query's words count that only the end of the chunk before holds."""

OWN, CONTEXT = 4, 3
"""How the two lists of words share what the vectors leave of the fusion: the chunk's own ones, and in context."""

SCANNED_BYTES = 64 << 20
"""How much of what is not indexed yet a search reads."""

DAMAGED = (sqlite3.Error, ValueError, SystemError)
"""What SQLite and tantivy raise for an index that they cannot read."""

LOCK_WAIT_S = 0.25
PURGE_WAIT_S = 10.0

SHARED_MODELS = (
    "gpahal/bge-m3-onnx-int8",
    "text-embedding-3-small",
    "all-MiniLM-L6-v2",
    "gemini-embedding-001",
    "voyage-3-lite",
    "jina-embeddings-v4",
    "mistral-embed",
    "nomic-embed-text",
)
"""Names that memsearch's own chunk ids hold: its default models."""

_ORDINAL_BITS = 24

_DAY = re.compile(r"(\d{4})-(\d\d)-(\d\d)")
_BULLET = re.compile(r"[ \t]*(?:[-*+]|\d+[.)])[ \t]+")
_HEADING = re.compile(r"#{1,6}[ \t]")
_CLOCK = re.compile(r"(?:Session |Memory Compact )?\d\d:\d\d")


def opened(place: Place, settings: Journal, env: Mapping[str, str]) -> StoreIndex:
    """The index of the store at *place*. Nothing is read or created before it is used."""
    return StoreIndex(place, lambda: embedders.opened(settings.embedder, settings, env))


class StoreIndex:
    """See `journal.base.Index`."""

    def __init__(self, place: Place, embedder: Callable[[], Embedder]) -> None:
        self._place = place
        self._make_embedder = embedder
        self._made: Embedder | None = None
        self._ledger: Ledger | None = None
        self._lexicon: tuple[str, Lexicon] | None = None
        self._files: tuple[tuple[int, int], dict[str, Known]] | None = None
        self._scanned: tuple[tuple[int, int], _Scanned] | None = None
        self._read: tuple[int, int] | None = None  # version of the ledger as of which the words were read
        self._unread: list[str] = []  # what the last refresh had no time for
        self._cut: dict[str, tuple[Stamp, list[tuple[str, Piece]]]] = {}

    # -- bringing it up to date

    def refresh(self, budget_s: float | None = None) -> Refreshed:
        """See `Index`."""
        with self._usable():
            try:
                return self._refreshed(budget_s)
            except DAMAGED as error:
                self._discarded(error)
            return self._refreshed(budget_s)

    def _discarded(self, error: Exception) -> None:
        """What is damaged goes: it is derived, and made anew once. Raises *error* where that cannot help."""
        if isinstance(error, sqlite3.OperationalError):
            raise error  # locked, or no room: nothing is wrong with what is there
        self.close()
        with exclusive(self._lock(), PURGE_WAIT_S) as obtained:
            if not obtained:
                raise error
            self._discard()

    def _refreshed(self, budget_s: float | None) -> Refreshed:
        deadline = None if budget_s is None else time.monotonic() + budget_s
        listed = self._listed()
        known = self._known()
        self._unread = []
        if listed is None:
            return Refreshed(len(known), _count(known), 0, 0, {}, False)
        behind = self._behind(listed, known)
        purging = self._exists() and self._open().noted("purge")
        if not behind and listed.keys() == known.keys() and not purging and self._holds_words():
            return Refreshed(len(listed), _count(known), 0, 0, {}, False)
        wait_s = PURGE_WAIT_S if budget_s is None else max(0.0, min(LOCK_WAIT_S, budget_s))
        with self._writing(wait_s) as obtained:
            if not obtained:
                self._unread = behind
                return Refreshed(len(listed), _count(known), 0, 0, {}, True)
            if not self._holds_words():
                raise ValueError("the words of some chunks are gone")
            work = _Work(self, listed, deadline)
            done = work.done()
            self._unread = work.unread
            if self._open().noted("purge") and not done.pending:
                self._purge()
            return done

    @contextmanager
    def _usable(self) -> Iterator[None]:
        """What a block cannot do because the index cannot be read or written, told as what to do about it."""
        try:
            yield
        except (OSError, *DAMAGED) as error:
            raise BackendMissing(
                f"the index in {self._place.directory} cannot be used",
                f"The memory index is unavailable: {self._place.directory} cannot be used ({error}). Make room there, "
                "make it writable, or name another directory in memory.indexDir. Memory is still written to the daily "
                "files and can be searched later.",
            ) from error

    def _discard(self) -> None:
        """Remove everything but the lock."""
        for name in os.listdir(self._place.directory):
            if name.startswith("ledger.sqlite"):
                os.remove(os.path.join(self._place.directory, name))
        for name in self._texts():
            self._remove(name)

    def purge(self) -> bool:
        """See `Index`."""
        if not self._exists():
            return True
        with self._usable():
            with self._open().transaction():
                self._open().note("purge", "words")
            with self._writing(PURGE_WAIT_S) as obtained:
                if not obtained:
                    return False
                if (listed := self._listed()) is not None:
                    _Work(self, listed, None).done()
                return self._purge()

    def _purge(self) -> bool:
        """Make the words anew out of the files, put them in the place of the old ones, and empty SQLite's log."""
        ledger = self._open()
        self._cut.clear()
        if ledger.noted("purge") == "words":
            fresh = self._rewritten()
            with ledger.transaction():
                ledger.note("text", fresh)
                ledger.note("purge", "log")  # a reader that blocks that makes nobody rewrite the words again
        kept = [name for name in self._texts() if name != self._text() and not self._remove(name)]
        if kept or not ledger.emptied():
            return False
        with ledger.transaction():
            ledger.note("purge", "")
        return True

    def _rewritten(self) -> str:
        """The words of the files as they are, in a directory of another name; the name."""
        fresh = f"text-{int(self._text().removeprefix('text-')) + 1}"
        self._remove(fresh)  # of a purge that did not end
        lexicon = self._words(fresh, create=True)
        for known in self._open().files().values():
            self._add_words(lexicon, known.id, known.path, [piece for _, piece in self._pieces(known.path)])
        lexicon.commit()
        lexicon.settle()
        return fresh

    @contextmanager
    def _writing(self, wait_s: float) -> Iterator[bool]:
        with exclusive(self._lock(), wait_s) as obtained:
            try:
                yield obtained
            except BaseException:
                if self._lexicon is not None:
                    self._lexicon[1].abandon()
                raise

    def _lock(self) -> str:
        return os.path.join(self._place.directory, "lock")

    def _listed(self) -> dict[str, Stamp] | None:
        """The markdown files of the store, by path relative to it; None: it cannot be listed, which proves nothing."""
        try:
            return dict(_markdown(self._place.store, ""))
        except OSError:
            return None

    def _behind(self, listed: Mapping[str, Stamp], known: Mapping[str, Known]) -> list[str]:
        """The files that are not indexed as they are now, newest day first."""
        space = self._embedder().space
        return [
            path
            for path, stamp in sorted(listed.items(), reverse=True)
            if path not in known or not _unchanged(known[path], stamp, space)
        ]

    # -- asking it

    def search(self, query: str, k: int, *, path_prefix: str | None = None) -> list[Hit]:
        """See `Index`."""
        if k < 1:
            return []
        with self._usable():
            try:
                return self._searched(query, k, path_prefix)
            except DAMAGED as error:
                self._discarded(error)  # some damage is only seen by who looks something up
            self._refreshed(None)
            return self._searched(query, k, path_prefix)

    def _searched(self, query: str, k: int, path_prefix: str | None) -> list[Hit]:
        return _merged(self._indexed(query, k, path_prefix), self._scanned_rest(query, path_prefix), k)

    def _indexed(self, query: str, k: int, path_prefix: str | None) -> list[Hit]:
        known = {one.id: one.path for one in self._known().values()}
        if not known:
            return []
        lists = self.lists(query, path_prefix)
        shared = self._shared(query)
        calibration = self._embedder().calibration.among(_count(self._known()))
        hits: list[Hit] = []
        for place in self.order(query, lists):
            if len(hits) == k:
                break
            found = self._found(known.get(place >> _ORDINAL_BITS, ""), place)
            if found is None:
                continue  # the file has changed since, and holds it no longer
            relevance = max(shared(place), calibrated(lists.near.get(place, -1.0), calibration))
            if relevance >= LEAST_RELEVANCE:
                hits.append(Hit(found.chunk, relevance))
        return hits

    def _scanned_rest(self, query: str, path_prefix: str | None) -> list[Hit]:
        """What files hold of *query*'s words that the last refresh had no time for, best first."""
        asked = terms.asked(query)
        looked_for = [term[: max(4, len(term) - 1)] for term in asked]  # words may be longer or shorter than their stem
        known = {one.id for one in self._known().values()}
        hits: list[Hit] = []
        left = SCANNED_BYTES
        for path in self._unread:
            left -= _size(self._absolute(path))
            if left < 0:
                break
            if path_prefix is not None and not self._absolute(path).startswith(path_prefix):
                continue
            old = self._known().get(path)
            indexed = set(self._open().ids(old.id)) if old and old.id in known else set()
            for id_, piece in self._pieces(path):
                said = plain(piece.text)
                if bytes.fromhex(id_) not in indexed and any(term in said for term in looked_for):
                    present = frozenset(terms.indexed(_described(path, piece.text)))
                    found = sum(term in present for term in asked) / len(asked)
                    if found >= LEAST_RELEVANCE:
                        hits.append(Hit(self._chunk(path, id_, piece), found))
        return sorted(hits, key=lambda hit: -hit.relevance)

    def order(self, query: str, lists: Lists) -> list[int]:
        """The places of *lists*, which were found for *query*, best first."""
        covered = max(map(self._shared(query), list(lists.own)[:COVERING]), default=0.0)
        return ordered(lists, self._embedder().weight, covered)

    def _shared(self, query: str) -> Callable[[int], float]:
        """How much of *query* the chunk at a place holds, 0 to 1."""
        lexicon = self._read_words()
        rare = {term: rarity(lexicon.documents, lexicon.frequency(term)) for term in terms.asked(query)}
        known = {one.id: one.path for one in self._known().values()}

        def shared(place: int) -> float:
            path = known.get(place >> _ORDINAL_BITS, "")
            found = self._found(path, place)
            if found is None:
                return 0.0
            own = frozenset(terms.indexed(_described(path, found.chunk.text)))
            near = own | frozenset(terms.indexed(_tail(found.before)))
            return max(share(rare, own), BEFORE * share(rare, near))

        return shared

    def lists(self, query: str, path_prefix: str | None = None) -> Lists:
        """What each way of looking finds for *query*, best first."""
        known = {one.id: one.path for one in self._known().values()}
        if path_prefix is None:
            among = None
        else:
            among = [file for file, path in known.items() if self._absolute(path).startswith(path_prefix)]
            known = {file: known[file] for file in among}
        asked = terms.asked(query)
        lexicon = self._read_words()
        return Lists(
            _live(lexicon.best("own", asked, 2 * LIST, among), known),
            _live(lexicon.best("context", asked, 2 * LIST, among), known),
            self._near(query, lexicon, known),
        )

    def id_at(self, place: int) -> str:
        """The id of the chunk at a place of `lists`; "" where it is gone."""
        return self._open().id_at(place >> _ORDINAL_BITS, place & ((1 << _ORDINAL_BITS) - 1))

    def _near(self, query: str, lexicon: Lexicon, known: Mapping[int, str]) -> dict[int, float]:
        """The cosines of the nearest chunks, each of its nearest bullet."""
        embedder = self._embedder()
        scanned = self._scan(embedder.space)
        if not scanned.signs:
            return {}

        def rare(word: str) -> float:
            frequencies = [lexicon.frequency(term) for term in terms.asked(word)]
            return rarity(lexicon.documents, min(frequencies)) if frequencies else 0.0

        try:
            vector = embedder.query(query, rare)
        except EmbedderFailed:
            return {}
        if vector is None:
            return {}
        places, others = [], []
        for row in vectors.nearest(vectors.signs(vector), scanned.signs, COMPARED):
            file, number, place = scanned.at(row)
            other = self._open().vector(file, number, len(vector)) if file in known else b""
            if len(other) == len(vector):
                places.append(place)
                others.append(other)
        found: dict[int, float] = {}
        for place, cosine in zip(places, vectors.cosines(vector, others), strict=True):
            found[place] = max(found.get(place, -1.0), cosine)
        best = sorted(found.items(), key=lambda one: -one[1])[:LIST]
        return dict(best)

    def chunk(self, id_: str) -> Chunk | None:
        """See `Index`."""
        if not re.fullmatch("[0-9a-f]{16}", id_):
            return None
        listed = self._listed() or {}
        try:
            likely = self._open().holding(bytes.fromhex(id_)) if self._exists() else []
        except (OSError, *DAMAGED):
            likely = []
        for path in likely:
            for named, piece in self._pieces(path):
                if named == id_:
                    return self._chunk(path, named, piece)
        # Not indexed yet, or an id of memsearch's, which holds line numbers: nothing but looking helps.
        for path in listed:
            source = os.path.realpath(self._absolute(path))
            for named, piece in self._pieces(path):
                if named == id_ or id_ in cutting.shared_ids(source, piece, SHARED_MODELS):
                    return self._chunk(path, named, piece)
        return None

    def chunks(self) -> Iterator[Chunk]:
        """See `Index`."""
        for path in self._listed() or {}:
            for id_, piece in self._pieces(path):
                yield self._chunk(path, id_, piece)

    def status(self) -> Status:
        """See `Index`."""
        embedder = self._embedder()
        with self._usable():
            listed = self._listed()
            if not self._exists():
                return Status(None, embedder.name, pending=bool(listed))
            known = self._known()
            size = sum(file.stat().st_size for file in Path(self._place.directory).rglob("*") if file.is_file())
            behind = listed is not None and (listed.keys() != known.keys() or bool(self._behind(listed, known)))
            ledger = self._open()
            if not self._holds_words():
                raise BackendMissing(
                    f"the index in {self._place.directory} is damaged",
                    f"The memory index in {self._place.directory} is damaged; the next search makes it anew out of the "
                    "daily files.",
                )
            return Status(_count(known), embedder.name, size, behind, bool(ledger.noted("purge")), ledger.noted("note"))

    def close(self) -> None:
        """See `Index`."""
        if self._ledger is not None:
            self._ledger.close()
        self._ledger = self._lexicon = self._files = self._scanned = None
        self._cut.clear()

    # -- its parts

    def _embedder(self) -> Embedder:
        if self._made is None:
            self._made = self._make_embedder()
        return self._made

    def _exists(self) -> bool:
        return self._ledger is not None or Path(self._place.directory, "ledger.sqlite").exists()

    def _known(self) -> dict[str, Known]:
        """The files that are indexed, by path relative to the store."""
        if not self._exists():
            return {}
        version = self._open().version()
        if self._files is None or self._files[0] != version:
            self._files = version, self._open().files()
        return self._files[1]

    def _open(self) -> Ledger:
        if self._ledger is None:
            make_private(Path(self._place.directory))
            self._ledger = Ledger(os.path.join(self._place.directory, "ledger.sqlite"))
        return self._ledger

    def _texts(self) -> list[str]:
        return [name for name in os.listdir(self._place.directory) if name.startswith("text-")]

    def _remove(self, name: str) -> bool:
        import shutil

        path = os.path.join(self._place.directory, name)
        shutil.rmtree(path, ignore_errors=True)
        return not Path(path).exists()

    def _read_words(self) -> Lexicon:
        """The words as of the last commit, which changes the ledger too."""
        version = self._open().version()
        lexicon = self._words(self._text())
        if self._read != version:
            lexicon.reload()
            self._read = version
        return lexicon

    def _holds_words(self) -> bool:
        """Whether no chunk lacks its words; more than chunks there are those of readings that were replaced.

        Without the lock only yes is sure: another process may be between words and rows.
        """
        if not (known := self._known()):
            return True
        try:
            return self._read_words().documents >= _count(known)
        except ValueError:
            return False

    def _text(self) -> str:
        return self._open().noted("text") or "text-1"

    def _words(self, name: str, *, create: bool = False) -> Lexicon:
        """The words in the directory *name*. Only who holds the lock creates: readers may know an old name."""
        from pepys.journal.lexicon import Lexicon

        if self._lexicon is None or self._lexicon[0] != name or create:
            self._lexicon = name, Lexicon(os.path.join(self._place.directory, name), create=create)
        return self._lexicon[1]

    def _scan(self, space: str) -> _Scanned:
        version = self._open().version()
        if self._scanned is None or self._scanned[0] != version:
            self._scanned = version, _Scanned.of(self._open(), space)
        return self._scanned[1]

    def _absolute(self, path: str) -> str:
        return os.path.join(self._place.store, path)

    def _pieces(self, path: str) -> list[tuple[str, Piece]]:
        """The chunks of a file as it is now, with their ids; none where it cannot be read."""
        try:
            stamp = _stamp(os.stat(self._absolute(path)))
            cut = self._cut.get(path)
            if cut is None or cut[0] != stamp:
                with open(self._absolute(path), "rb") as file:
                    pieces = list(cutting.pieces(file.read().decode("utf-8", "replace")))
                cut = stamp, list(zip(cutting.ids(path, pieces), pieces, strict=True))
                if settled(stamp, time.time_ns()):
                    if len(self._cut) >= CUT_FILES:
                        self._cut.pop(next(iter(self._cut)))
                    self._cut[path] = cut
        except OSError:
            return []
        return cut[1]

    def _found(self, path: str, place: int) -> _Found | None:
        """The chunk at *place*, as it stands in its file now."""
        number, wanted = place & ((1 << _ORDINAL_BITS) - 1), self.id_at(place)
        pieces = self._pieces(path)
        if not (number < len(pieces) and pieces[number][0] == wanted):
            number = next((at for at, (id_, _) in enumerate(pieces) if id_ == wanted), -1)
        if number < 0:
            return None
        return _Found(self._chunk(path, *pieces[number]), pieces[number - 1][1].text if number else "")

    def _chunk(self, path: str, id_: str, piece: Piece) -> Chunk:
        return Chunk(id_, self._absolute(path), piece.heading, piece.level, piece.first, piece.last, piece.text)

    def _add_words(self, lexicon: Lexicon, file: int, path: str, pieces: Sequence[Piece]) -> None:
        before = ""
        for number, piece in enumerate(pieces):
            own = terms.indexed(_described(path, piece.text))
            lexicon.add(file << _ORDINAL_BITS | number, file, own, terms.indexed(_tail(before)))
            before = piece.text


def _merged(one: list[Hit], two: list[Hit], k: int) -> list[Hit]:
    """The *k* first of two lists by relevance, each in its own order."""
    merged: list[Hit] = []
    while len(merged) < k and (one or two):
        first, rest = (one, two) if not two or (one and one[0].relevance >= two[0].relevance) else (two, one)
        merged.append(first[0])
        one, two = first[1:], rest
    return merged


class _Found(NamedTuple):
    """A chunk as it stands in its file now."""

    chunk: Chunk
    before: str  # the text of the chunk before it


class Lists(NamedTuple):
    """The places of chunks and their scores, by each way of looking; scores are comparable within a list only."""

    own: dict[int, float]  # BM25 over a chunk's own words
    context: dict[int, float]  # and over the end of the one before it as well
    near: dict[int, float]  # cosines


def ordered(lists: Lists, weight: float, covered: float) -> list[int]:
    """The places of all lists, best first.

    Args:
        lists: What was found.
        weight: Of the vectors, 0 to 1.
        covered: How much of the query the best chunks by words hold, 0 to 1. Stretched to the same scale, a list of
            chunks that have little in common with the query looks as good as any: it weighs as much as it covers.
    """
    rest = max(covered, LEAST_COVERED) * (1 - weight) / (OWN + CONTEXT)
    ranked = [Ranked(OWN * rest, lists.own), Ranked(CONTEXT * rest, lists.context), Ranked(weight, lists.near)]
    return fused(ranked, held=next(iter(lists.own), None))


class _Scanned(NamedTuple):
    """The signs of all vectors of one space, and whose they are."""

    signs: bytes
    ends: list[int]  # the number of the first row after each file
    files: list[int]
    owners: list[bytes]

    @staticmethod
    def of(ledger: Ledger, space: str) -> _Scanned:
        found = ledger.signs(space)
        ends, total = [], 0
        for one in found:
            total += len(one.signs) // vectors.SIGN_BYTES
            ends.append(total)
        signs = b"".join(one.signs for one in found)
        return _Scanned(signs, ends, [one.file for one in found], [one.owners for one in found])

    def at(self, row: int) -> tuple[int, int, int]:
        """The file of a row, its number within the file's vectors, and the place of its chunk."""
        from bisect import bisect_right

        at = bisect_right(self.ends, row)
        number = row - (self.ends[at - 1] if at else 0)
        owner = int.from_bytes(self.owners[at][number * OWNER_BYTES : (number + 1) * OWNER_BYTES], "little")
        return self.files[at], number, self.files[at] << _ORDINAL_BITS | owner


class _Work:
    """One refresh, by the holder of the store's lock."""

    def __init__(self, index: StoreIndex, listed: Mapping[str, Stamp], deadline: float | None) -> None:
        self._index, self._listed, self._deadline = index, listed, deadline
        self._ledger = index._open()
        self._embedder = index._embedder()
        self._lexicon = index._words(index._text(), create=True)
        self._known = self._ledger.files()
        self._next = self._ledger.fresh()
        self._batch: list[tuple[int, Reading]] = []
        self._same: list[tuple[str, Stamp, int]] = []
        self._failed: dict[str, str] = {}
        self.unread: list[str] = []
        self._note = ""
        self._embedded = self._removed = 0

    def done(self) -> Refreshed:
        gone = [path for path in self._known if path not in self._listed]
        changed = self._index._behind(self._listed, self._known)
        # What moved between files is found among the vectors of all that go.
        replaced = [self._known[path].id for path in (*changed, *gone) if path in self._known]
        self._kept = self._ledger.kept(replaced, self._embedder.space)
        pending = False
        chunks, begun = 0, time.monotonic()
        for number, path in enumerate(changed):
            if self._deadline is not None and time.monotonic() > self._deadline:
                pending = True
                self.unread = changed[number:]
                break
            chunks += self._read(path)
            if chunks >= BATCH_CHUNKS or time.monotonic() - begun > BATCH_S:
                self._commit([])
                chunks, begun = 0, time.monotonic()
        self._commit([] if pending else gone)
        self._lexicon.settle()
        return Refreshed(
            len(self._listed),
            _count(self._ledger.files()),
            self._embedded,
            self._removed,
            {self._index._absolute(path): why for path, why in self._failed.items()},
            pending,
        )

    def _read(self, path: str) -> int:
        """Read one file; how many chunks are new in it."""
        examined_ns = time.time_ns()
        try:
            with open(self._index._absolute(path), "rb") as file:
                stamp = _stamp(os.fstat(file.fileno()))
                data = file.read()
        except OSError as error:
            self._failed[path] = f"{type(error).__name__}: {error.strerror or error}"
            return 0  # its last good row stays
        sha256 = hashlib.sha256(data).hexdigest()
        known = self._known.get(path)
        if known and known.sha256 == sha256 and known.space == self._embedder.space:
            self._same.append((path, stamp, examined_ns))
            return 0
        pieces = list(cutting.pieces(data.decode("utf-8", "replace")))
        ids = list(cutting.ids(path, pieces))
        owners, texts = _bullets(pieces)
        space, made = self._vectors(texts)
        reading = Reading(
            *(path, stamp, examined_ns, sha256, bytes.fromhex("".join(ids)), space),
            b"".join(owner.to_bytes(OWNER_BYTES, "little") for owner in owners) if space else b"",
            b"".join(map(_key, texts)) if space else b"",
            b"".join(map(vectors.signs, made)),
            b"".join(made),
        )
        self._lexicon.remove([self._next])  # a crash may have left some under a number that is used again
        self._index._add_words(self._lexicon, self._next, path, pieces)
        self._batch.append((self._next, reading))
        self._next += 1
        return len(pieces)

    def _vectors(self, texts: Sequence[str]) -> tuple[str, list[bytes]]:
        keys = [_key(text) for text in texts]
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in self._kept}
        if missing:
            try:
                made = self._embedder.documents(list(missing.values()))
            except EmbedderFailed as error:
                self._note = f"embedder {self._embedder.name}: {error}"
                return "", []
            self._kept.update(zip(missing, made, strict=True))
            self._embedded += len(missing)
        return self._embedder.space, [self._kept[key] for key in keys]

    def _commit(self, gone: Sequence[str]) -> None:
        """Words first, then the rows that point at them, then the end of what they replace."""
        old = [self._known[path].id for path in gone]
        old += [self._known[reading.path].id for _, reading in self._batch if reading.path in self._known]
        before = {id_ for file in old for id_ in self._ledger.ids(file)}
        after = {reading.ids[at : at + ID_BYTES] for _, reading in self._batch for at in range(0, len(reading.ids), 8)}
        self._removed += len(before - after)
        if self._batch:
            self._lexicon.commit()
        note = "; ".join(f"failed: {path} ({why})" for path, why in self._failed.items()) or self._note
        with self._ledger.transaction():
            self._ledger.put(self._batch)
            self._ledger.drop(gone)
            for path, stamp, examined_ns in self._same:
                self._ledger.seen(path, stamp, examined_ns)
            if note != self._ledger.noted("note"):
                self._ledger.note("note", note)
        if old:
            self._lexicon.remove(old)
            self._lexicon.commit()
        self._batch, self._same = [], []


def _markdown(store: str, below: str) -> Iterator[tuple[str, Stamp]]:
    """The markdown files of *store*, hidden ones apart, sorted; each real file once."""
    with os.scandir(os.path.join(store, below)) as entries:
        found = sorted(entries, key=lambda entry: entry.name)
    for entry in found:
        if entry.name.startswith(".") or (entry.is_symlink() and not own(entry.path)):
            continue
        if not entry.name.isprintable():
            continue  # a name that is no text: nobody's tool writes daily files so, and no row could hold it
        path = os.path.join(below, entry.name)
        if entry.is_dir(follow_symlinks=False):
            yield from _markdown(store, path)
        elif entry.name.lower().endswith((".md", ".markdown")) and entry.is_file():
            yield path, _stamp(entry.stat())


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size
    except OSError:
        return 0


def _stamp(status: os.stat_result) -> Stamp:
    return Stamp(status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)


def _unchanged(known: Known, stamp: Stamp, space: str) -> bool:
    return known.stamp == stamp and known.space == space and settled(stamp, known.examined_ns)


def _count(known: Mapping[str, Known]) -> int:
    return sum(one.chunks for one in known.values())


def _live(found: Sequence[tuple[int, float]], known: Mapping[int, str]) -> dict[int, float]:
    """Without chunks that a newer reading has replaced and the engine still holds."""
    return dict([one for one in found if one[0] >> _ORDINAL_BITS in known][:LIST])


def _described(path: str, text: str) -> str:
    """What a chunk is found by: its day, its heading, its text; not its anchor."""
    return f"{_dated(path)}\n{cutting.without_comments(text)}"


def _tail(text: str) -> str:
    """The end of a chunk, as the next one is indexed with it."""
    return cutting.without_comments(text)[-TAIL_CHARS:]


def _dated(path: str) -> str:
    name = os.path.splitext(path)[0]
    found = _DAY.search(name)
    if not found:
        return name
    import datetime

    try:
        return f"{name} {datetime.date(int(found[1]), int(found[2]), int(found[3])):%A %d %B %Y}"
    except ValueError:
        return name


def _bullets(pieces: Sequence[Piece]) -> tuple[list[int], list[str]]:
    """What is embedded: every bullet or paragraph, with its heading where that is more than a time, and whose it is."""
    owners, texts = [], []
    for number, piece in enumerate(pieces):
        heading = "" if _CLOCK.fullmatch(piece.heading) else piece.heading
        for bullet in _split(cutting.without_comments(piece.text)):
            owners.append(number)
            texts.append(f"{heading}\n{bullet}" if heading else bullet)
    return owners, texts


def _split(text: str) -> Iterator[str]:
    """Bullets and paragraphs, without headings."""
    current: list[str] = []
    for line in text.split("\n"):
        if _HEADING.match(line):
            continue
        if current and (not line.strip() or _BULLET.match(line)):
            yield " ".join(current)
            current = []
        if line.strip():
            current.append(_BULLET.sub("", line, count=1).strip())
    if current:
        yield " ".join(current)


def _key(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:KEY_BYTES]
