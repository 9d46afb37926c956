"""See `pepys.journal.milvus`."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from pepys.errors import MemoryLocked
from pepys.index.source import settled
from pepys.journal import chunk as cutting
from pepys.journal import terms
from pepys.journal.base import BackendMissing, Chunk, Hit, NeverIndexed, Place, Refreshed, Status
from pepys.journal.chunk import Piece
from pepys.journal.described import searched
from pepys.journal.embedders.base import EmbedderFailed
from pepys.journal.files import markdown
from pepys.journal.fusion import Calibration, Ranked, calibrated, fused, rarity, share
from pepys.journal.memsearch import Indexing
from pepys.journal.milvus import recorded, relevance
from pepys.journal.milvus.base import Embedding
from pepys.journal.milvus.database import (
    CONTENT_BYTES,
    HEADING_BYTES,
    MOST,
    TEXT_FIELDS,
    Collection,
    Database,
    Row,
    below,
    of_sources,
)
from pepys.journal.milvus.embedding import BATCH
from pepys.model.source import Stamp
from pepys.paths import make_private

POOL = 50
"""How many rows of each list are fused."""

DENSE_WEIGHT = 0.5

LEAST_RELEVANCE = 0.1
"""Below it, a chunk has nothing to do with the query."""

_SHIFTS = 2
"""How many lines an id may lag behind: an entry appended after a chunk takes trailing blank lines from it."""

_ID = re.compile("[0-9a-f]{16}")

Stamps = dict[str, Stamp]


class SharedIndex:
    """A collection of memsearch's as `journal.base.Index`."""

    def __init__(
        self,
        place: Place,
        configured: Callable[[], Indexing],
        database: Database,
        embedding: Embedding,
        env: Mapping[str, str],
    ) -> None:
        self._place, self._database, self._embedding = place, database, embedding
        self._store = os.path.realpath(place.store)
        self._configured, self._indexing = configured, Indexing()
        self._state_file = recorded.path(place, env)
        self._settled: Stamps | None = None  # files that the collection holds as they are; None: it was not looked at
        self._seen: set[str] = set()  # files that the last refresh listed
        self._purging = Path(place.directory, "purge")  # is there while a purge is due
        self._count = 0  # rows, when last looked at
        self._why = ""  # the last refresh could not index, or the last search not compare vectors

    def refresh(self, budget_s: float | None = None) -> Refreshed:
        """See `Index`. What memsearch would index otherwise, and other projects' collections, are left to it."""
        deadline = None if budget_s is None else time.monotonic() + budget_s
        stamps = None if self._place.foreign else self._listed()
        if stamps is None:
            return Refreshed(0, self._count, 0, 0, {})
        if self._purging.exists():
            self.purge()
        if stamps == self._settled:
            return Refreshed(len(stamps), self._count, 0, 0, {})
        self._why = self._embedding.missing
        if self._why or self._embedding.model is None:
            return Refreshed(len(stamps), self._count, 0, 0, {}, True)
        return self._refreshed(stamps, self._embedding.model, deadline)

    def _refreshed(self, stamps: Stamps, model: str, deadline: float | None) -> Refreshed:
        now = time.time_ns()
        changed = [path for path, stamp in stamps.items() if (self._settled or {}).get(path) != stamp]
        failed: dict[str, str] = {}
        wanted: dict[str, _Wanted] = {}
        for path in changed:
            try:
                found = dict(self._wanted(path, model))
                if any(len(one.piece.text.encode("utf-8", "replace")) > CONTENT_BYTES for one in found.values()):
                    failed[path] = f"a chunk is longer than {CONTENT_BYTES} bytes (chunking.max_chunk_size)"
                else:
                    wanted.update(found)
            except OSError as error:
                failed[path] = f"{type(error).__name__}: {error.strerror}"
        run = recorded.Run(self._state_file, self._place, self._database.uri)
        made: list[Row] = []
        gone: list[str] = []
        behind: set[str] = set()
        try:
            plan = self._planned(stamps, changed, wanted, failed, model)
            self._count = plan.rows
            if plan.new or plan.moved or plan.gone or failed:
                run.running()
                made, behind = self._embedded(plan, failed, deadline)
                gone = [id_ for id_, source in plan.gone.items() if source not in behind and source not in failed]
                self._write([*plan.moved, *made], gone)
                run.done(files=len(stamps), chunks=len(made) + len(plan.moved), failed=failed)
        except Exception as error:
            self._settled = None
            run.failed(error)
            raise
        self._settled = {
            path: stamp
            for path, stamp in stamps.items()
            if path not in behind and path not in failed and settled(stamp, now)
        }
        self._seen = set(stamps)
        self._why = next(iter(failed.values()), "")
        return Refreshed(len(stamps), self._count, len(made), len(gone), failed, bool(behind))

    def _write(self, rows: Sequence[Row], gone: Sequence[str]) -> None:
        if not rows and not gone:
            return
        with self._borrowed() as collection:
            collection.put(rows)  # first: what replaces a chunk is in before it goes
            collection.remove(gone)
            self._count = collection.count()

    def _planned(
        self,
        stamps: Stamps,
        changed: Sequence[str],
        wanted: Mapping[str, _Wanted],
        failed: Mapping[str, str],
        model: str,
    ) -> _Plan:
        """What the collection lacks and has too much of; nothing is written yet but a collection that is missing."""
        readable = [path for path in changed if path not in failed]
        vanished = [path for path in self._seen if path not in stamps]
        try:
            with self._borrowed() as collection:
                count = collection.count()
                if self._settled is None or count != self._count:  # others have written since
                    found = [row for row in collection.rows(below(self._store + os.sep), _KNOWN) if self._mine(row)]
                else:
                    sources = [*readable, *vanished]
                    found = [
                        row
                        for start in range(0, len(sources), 100)
                        for row in collection.rows(of_sources(sources[start : start + 100]), _KNOWN)
                    ]
                held = {str(row["chunk_hash"]) for row in found}
                gone = {
                    str(row["chunk_hash"]): str(row["source"])
                    for row in found
                    if row["chunk_hash"] not in wanted and (row["source"] in readable or row["source"] not in stamps)
                }
                new = [one for id_, one in wanted.items() if id_ not in held]
                donors = _donors(found, {one.piece.text for one in new}, model)
                vectors = {
                    str(row["content"]): row["embedding"]
                    for row in collection.with_ids(list(donors.values()), ("content", "embedding"))
                }
                dimensions = collection.dimensions()
        except NeverIndexed:
            return self._first(list(wanted.values()))
        moved = [one.row(vectors[one.piece.text]) for one in new if one.piece.text in vectors]
        return _Plan([one for one in new if one.piece.text not in vectors], moved, gone, count, dimensions)

    def _first(self, wanted: list[_Wanted]) -> _Plan:
        """The same where there is no collection yet: it is made, if there is anything to put into it."""
        if not wanted:
            return _Plan([], [], {}, 0, None)
        try:
            dimensions = self._embedding.dimensions()
        except EmbedderFailed:
            return _Plan(wanted, [], {}, 0, None)  # `_embedded` says why
        with self._borrowed(create=dimensions):
            return _Plan(wanted, [], {}, 0, dimensions)

    def _embedded(self, plan: _Plan, failed: dict[str, str], deadline: float | None) -> tuple[list[Row], set[str]]:
        """Rows of new chunks, and the files that time did not suffice for. Nobody's database is open meanwhile."""
        made: list[Row] = []
        for start in range(0, len(plan.new), BATCH):
            some = plan.new[start : start + BATCH]
            if deadline is not None and start and time.monotonic() >= deadline:
                return made, {one.source for one in plan.new[start:]}
            try:
                vectors = self._embedding.vectors([cutting.without_comments(one.piece.text) for one in some])
                if (made_dimensions := len(vectors[0])) != plan.dimensions:
                    raise EmbedderFailed(self._unlike(plan.dimensions, made_dimensions))
            except EmbedderFailed as error:
                failed.update((one.source, f"{type(error).__name__}: {error}") for one in plan.new[start:])
                return made, set()
            made += [one.row(vector) for one, vector in zip(some, vectors, strict=True)]
        return made, set()

    def search(self, query: str, k: int, *, path_prefix: str | None = None) -> list[Hit]:
        """See `Index`. The query is embedded before the database is opened."""
        vector = self._vector(query)
        where = below(path_prefix) if path_prefix else ""
        with self._borrowed() as collection:
            count = collection.count()
            if not count or k < 1:
                return []
            words = collection.by_words(query, min(MOST, max(k, POOL)), where)
            near = collection.by_vector(vector, min(MOST, count)) if vector and self._fits(vector, collection) else []
            rows = {str(row["chunk_hash"]): row for row, _ in words}
            lacking = [id_ for id_, _ in near[: max(k, POOL)] if id_ not in rows]
            rows.update((str(row["chunk_hash"]), row) for row in collection.with_ids(lacking, TEXT_FIELDS))
        rows = {id_: row for id_, row in rows.items() if str(row["source"]).startswith(path_prefix or "")}
        rows = self._standing(rows)
        cosines = dict(near)
        # Past what Milvus returns at once only the nearest are seen, and they say nothing about the rest.
        means = relevance.calibration(list(cosines.values())) if count <= MOST else _NOTHING
        return _hits(query, count, rows, {str(row["chunk_hash"]): score for row, score in words}, cosines, means)[:k]

    def _standing(self, rows: Mapping[str, Row]) -> dict[str, Row]:
        """Without the rows of this store whose text no file holds any more: whoever forgot it, it is not found."""
        files: dict[str, str] = {}
        for row in rows.values():
            source = str(row["source"])
            if source not in files and self._mine(row):
                try:
                    files[source] = _text(source)
                except OSError:
                    files[source] = ""
        return {
            id_: row for id_, row in rows.items() if not self._mine(row) or str(row["content"]) in files[row["source"]]
        }

    def chunk(self, id_: str) -> Chunk | None:
        """See `Index`. Ids of our own engine are found too, and those of chunks that have just moved."""
        if not _ID.fullmatch(id_):
            return None
        with self._borrowed() as collection:
            found = collection.with_ids([id_], TEXT_FIELDS)
        return _chunk(found[0]) if found else self._elsewhere(id_)

    def _elsewhere(self, id_: str) -> Chunk | None:
        for path in self._listed() or {}:
            try:
                pieces = list(self._pieces(path))
            except OSError:
                continue
            own = cutting.ids(os.path.relpath(path, self._store), pieces)
            for ours, piece in zip(own, pieces, strict=True):
                lagging = (piece._replace(last=piece.last + more) for more in range(_SHIFTS + 1))
                models = [self._embedding.model] if self._embedding.model else []
                if ours == id_ or any(id_ in cutting.shared_ids(path, one, models) for one in lagging):
                    return Chunk(id_, path, piece.heading, piece.level, piece.first, piece.last, piece.text)
        return None

    def chunks(self) -> Iterator[Chunk]:
        """See `Index`. Of the whole collection: it may hold more than this store."""
        with self._borrowed() as collection:
            found = [_chunk(row) for row in collection.rows("", TEXT_FIELDS)]
        yield from sorted(found, key=lambda chunk: (chunk.path, chunk.first, chunk.last))

    def purge(self) -> bool:
        """See `Index`. Whatever of this store's rows stands in no file goes, with or without a model to ask.

        A server removes what is marked as removed in its own time; Milvus Lite never does, so the collection is
        written anew.
        """
        if self._place.foreign:
            return True
        make_private(self._purging.parent)
        self._purging.touch(0o600)
        try:
            self._purge()
        except (MemoryLocked, BackendMissing):
            return False
        self._purging.unlink(missing_ok=True)
        return True

    def _purge(self) -> None:
        if not self._database.exists:
            return
        listed = self._listed()
        texts: set[tuple[str, str]] = set()
        unread: set[str] = set()
        for path in listed or {}:
            try:
                texts.update((path, piece.text) for piece in self._pieces(path))
            except OSError:
                unread.add(path)
        try:
            with self._borrowed() as collection:
                rows = [row for row in collection.rows(below(self._store + os.sep), _KNOWN) if self._mine(row)]
                if listed is not None:
                    collection.remove(
                        [
                            str(row["chunk_hash"])
                            for row in rows
                            if row["source"] not in unread and (row["source"], row["content"]) not in texts
                        ]
                    )
                if self._database.path is None:
                    collection.compact()
                else:
                    collection.rewrite()
        except NeverIndexed:
            return

    def status(self) -> Status:
        """See `Index`."""
        where = f"Milvus {self._database.shown}{self._size()}"
        note = "; ".join(filter(None, dict.fromkeys((where, self._embedding.missing, self._why))))
        try:
            with self._borrowed() as collection:
                count: int | None = collection.count()
        except NeverIndexed:
            count = None
        except MemoryLocked as error:
            count, note = None, f"{note}; {error}"
        listed = self._listed()
        pending = bool(listed) and (bool(self._embedding.missing) or listed != (self._settled or listed))
        return Status(count, self._embedding.name, 0, pending, self._purging.exists(), note)

    def close(self) -> None:
        """See `Index`."""
        self._database.close()

    @contextmanager
    def _borrowed(self, create: int | None = None) -> Iterator[Collection]:
        try:
            with self._database.borrowed(self._place.collection, create=create) as collection:
                yield collection
        except NeverIndexed:
            self._settled = None  # somebody may have dropped it
            raise

    def _vector(self, query: str) -> list[float] | None:
        try:
            (vector,) = self._embedding.vectors([query])
        except EmbedderFailed as error:
            self._why = str(error)
            return None
        return vector

    def _fits(self, vector: Sequence[float], collection: Collection) -> bool:
        dimensions = collection.dimensions()
        if len(vector) != dimensions:
            self._why = self._unlike(dimensions, len(vector))
            return False
        return True

    def _unlike(self, held: int | None, made: int) -> str:
        return (
            f"the collection {self._place.collection} holds vectors of {held} dimensions, and {self._embedding.name} "
            f"makes {made} (memsearch reset drops it)"
        )

    def _wanted(self, path: str, model: str) -> Iterator[tuple[str, _Wanted]]:
        for piece in self._pieces(path):
            (id_,) = cutting.shared_ids(path, piece, [model])
            yield id_, _Wanted(id_, path, piece)

    def _pieces(self, path: str) -> Iterator[Piece]:
        return cutting.pieces(_text(path), *self._indexing.cut)

    def _mine(self, row: Row) -> bool:
        return str(row["source"]).startswith(self._store + os.sep)

    def _listed(self) -> Stamps | None:
        """The store's markdown files by their real paths, as memsearch lists them; hidden ones are none.

        None: they cannot be listed, which proves nothing about them.
        """
        before, self._indexing = self._indexing, self._configured()
        if self._indexing != before:
            self._settled = None  # nothing that was cut otherwise holds
        try:
            found = {os.path.join(self._store, path): stamp for path, stamp in markdown(self._store, self._indexing)}
        except OSError:
            return None
        return {os.path.realpath(path): found[path] for path in sorted(found)}

    def _size(self) -> str:
        folder = Path(self._database.path or "", "collections", self._place.collection)
        if self._database.path is None or not folder.is_dir():
            return ""
        return f" ({sum(file.stat().st_size for file in folder.rglob('*') if file.is_file())} bytes)"


_KNOWN = ("chunk_hash", "source", "start_line", "end_line", "content")

_NOTHING = Calibration(1.0, 1.01)
"""By which no cosine stands for any relevance."""


class _Wanted(NamedTuple):
    """A chunk that belongs into the collection."""

    id: str
    source: str
    piece: Piece

    def row(self, vector: Sequence[float]) -> Row:
        """It, as memsearch stores it."""
        piece = self.piece
        return {
            "chunk_hash": self.id,
            "embedding": list(vector),
            "content": piece.text,
            "source": self.source,
            "heading": piece.heading.encode("utf-8", "replace")[:HEADING_BYTES].decode("utf-8", "ignore"),
            "heading_level": piece.level,
            "start_line": piece.first,
            "end_line": piece.last,
        }


class _Plan(NamedTuple):
    """What a collection lacks and has too much of."""

    new: list[_Wanted]  # to be embedded
    moved: list[Row]  # with the vector of the same text elsewhere
    gone: dict[str, str]  # id -> source
    rows: int  # that it has
    dimensions: int | None  # of its vectors; None: there is no collection


def _text(path: str) -> str:
    return Path(path).read_bytes().decode("utf-8", "replace")


def _donors(rows: Sequence[Row], texts: set[str], model: str) -> dict[str, str]:
    """Ids of rows that hold one of *texts*, by text, and whose ids prove that their vectors are of *model*."""
    found: dict[str, str] = {}
    for row in rows:
        text = str(row["content"])
        if text in texts:
            piece = Piece("", 0, int(row["start_line"]), int(row["end_line"]), text)
            if row["chunk_hash"] in cutting.shared_ids(str(row["source"]), piece, [model]):
                found[text] = str(row["chunk_hash"])
    return found


def _hits(
    query: str,
    count: int,
    rows: Mapping[str, Row],
    words: Mapping[str, float],
    cosines: Mapping[str, float],
    means: Calibration,
) -> list[Hit]:
    """All *rows* that have to do with the query, best first.

    Args:
        query: In words.
        count: Rows of the whole collection.
        rows: By id.
        words: BM25 scores by id.
        cosines: By id.
        means: What cosines mean here.
    """
    numbers = _numbered(rows)
    present = {id_: frozenset(terms.indexed(searched(str(row["content"])))) for id_, row in rows.items()}
    # How many rows of the collection hold a term is not told; of the best ones for the query, it is known.
    known = {term: sum(term in found for found in present.values()) for term in terms.asked(query)}
    rare = {term: terms.telling(term, frequency) * rarity(count, frequency) for term, frequency in known.items()}
    by_number = {numbers[id_]: id_ for id_ in rows}
    lexical = {numbers[id_]: score for id_, score in words.items() if id_ in rows}
    dense = {numbers[id_]: cosine for id_, cosine in cosines.items() if id_ in rows}
    order = fused([Ranked(1 - DENSE_WEIGHT, lexical, 0.0), Ranked(DENSE_WEIGHT, dense)], held=next(iter(lexical), None))
    hits = []
    for number in order:
        id_ = by_number[number]
        worth = max(share(rare, present[id_]), calibrated(cosines.get(id_, -1.0), means))
        if worth >= LEAST_RELEVANCE:
            hits.append(Hit(_chunk(rows[id_]), worth))
    return hits


def _numbered(rows: Mapping[str, Row]) -> dict[str, int]:
    """Numbers that follow each other exactly where chunks do in their file."""
    made: dict[str, int] = {}
    number, before = 0, ("", 0)
    for id_, row in sorted(rows.items(), key=lambda one: (one[1]["source"], one[1]["start_line"], one[0])):
        follows = before[0] == row["source"] and 0 <= int(row["start_line"]) - before[1] <= 1
        number += 1 if follows else 2
        made[id_], before = number, (str(row["source"]), int(row["end_line"]))
    return made


def _chunk(row: Row) -> Chunk:
    return Chunk(
        str(row["chunk_hash"]),
        str(row["source"]),
        str(row["heading"]),
        int(row["heading_level"]),
        int(row["start_line"]),
        int(row["end_line"]),
        str(row["content"]),
    )
