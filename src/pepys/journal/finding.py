"""What of an index bears on a query: three ways of looking, one order, and an absolute relevance for each chunk.

Text is never kept: what is shown is cut anew from the file that it lies in, so that an answer cannot be older than the
file. What has left the file is not found, whatever the index still thinks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from pepys.journal import terms, vectors
from pepys.journal.base import Chunk, Hit
from pepys.journal.described import described, searched, tail, told
from pepys.journal.directory import count
from pepys.journal.embedders.base import EmbedderFailed
from pepys.journal.fusion import Ranked, calibrated, fused, rarity, share
from pepys.journal.ledger import file_of, number_of

if TYPE_CHECKING:
    from pepys.journal.directory import Directory
    from pepys.journal.embedders.base import Embedder
    from pepys.journal.files import Files, Found
    from pepys.journal.lexicon import Lexicon

LIST = 100
"""How many chunks of each list are fused."""

COMPARED = 150
"""How many vectors are compared exactly, of those whose signs are nearest."""

LEAST_RELEVANCE = 0.1
"""Below it, a chunk has nothing to do with the query."""

LEAST_NEAR = 0.12
"""The same where its vectors alone speak for it (chosen on one half of the judged set; ADR 0025)."""

COVERING = 3
"""So many of the best chunks by words are looked at for how much of the query they hold."""

LEAST_COVERED = 0.1

BEFORE = 0.4
"""What a query's words count that only the end of the chunk before holds."""

OWN, CONTEXT = 4, 3
"""How the two lists of words share what the vectors leave of the fusion: the chunk's own ones, and in context."""

SCANNED_BYTES = 64 << 20
"""How much of what is not indexed yet a search reads."""


class Lists(NamedTuple):
    """The places of chunks and their scores, by each way of looking; scores are comparable within a list only."""

    own: dict[int, float]  # BM25 over a chunk's own words
    context: dict[int, float]  # and over the end of the one before it as well
    near: dict[int, float]  # cosines


class Finding:
    """Searches of one store's index. It changes nothing."""

    def __init__(self, directory: Directory, files: Files, embedder: Callable[[], Embedder]) -> None:
        self._directory, self._files, self._embedder = directory, files, embedder

    def hits(self, query: str, k: int, prefix: str | None, unread: Sequence[str]) -> list[Hit]:
        """The *k* best, best first.

        Args:
            query: In words.
            k: At most so many.
            prefix: Only chunks of files whose absolute path begins so.
            unread: Files, relative to the store, that are not indexed as they are: they are read.
        """
        return _merged(self._indexed(query, k, prefix), _distinct(self._scanned(query, prefix, unread)), k)

    def lists(self, query: str, prefix: str | None = None) -> Lists:
        """What each way of looking finds for *query*, best first."""
        known = self._paths()
        if prefix is None:
            among = None
        else:
            among = [file for file, path in known.items() if self._files.absolute(path).startswith(prefix)]
            known = {file: known[file] for file in among}
        asked = terms.asked(query)
        lexicon = self._directory.words()
        return Lists(
            _live(lexicon.best("own", asked, 2 * LIST, among), known),
            _live(lexicon.best("context", asked, 2 * LIST, among), known),
            self._near(query, lexicon, known),
        )

    def order(self, query: str, lists: Lists) -> list[int]:
        """The places of *lists*, which were found for *query*, best first."""
        covered = max(map(self._shared(query), list(lists.own)[:COVERING]), default=0.0)
        return ordered(lists, self._embedder().weight, covered)

    def id_at(self, place: int) -> str:
        """The id of the chunk at a place of `lists`; "" where it is gone."""
        return self._directory.ledger().id_at(file_of(place), number_of(place))

    def _indexed(self, query: str, k: int, prefix: str | None) -> list[Hit]:
        known = self._paths()
        if not known:
            return []
        lists = self.lists(query, prefix)
        shared = self._shared(query)
        calibration = self._embedder().calibration.among(count(self._directory.known()))
        hits: list[Hit] = []
        seen: set[_Said] = set()
        for place in self.order(query, lists):
            if len(hits) == k:
                break
            found = self._found(known, place)
            if found is None or (said := _said(found.chunk)) in seen or not said.told:
                continue  # the file has changed since, and holds it no longer; or it says nothing new
            seen.add(said)
            words, near = shared(place), calibrated(lists.near.get(place, -1.0), calibration)
            if words >= LEAST_RELEVANCE or near >= LEAST_NEAR:
                hits.append(Hit(found.chunk, max(words, near)))
        return hits

    def _scanned(self, query: str, prefix: str | None, unread: Sequence[str]) -> list[Hit]:
        """What *unread* files hold of *query*'s words, best first."""
        asked = terms.asked(query)
        looked_for = [term[: max(4, len(term) - 1)] for term in asked]  # words may be longer or shorter than their stem
        hits: list[Hit] = []
        left = SCANNED_BYTES
        for path in unread:
            left -= self._files.bytes(path)
            if left < 0:
                break
            if prefix is not None and not self._files.absolute(path).startswith(prefix):
                continue
            old = self._directory.known().get(path)
            indexed = set(self._directory.ledger().ids(old.id)) if old else set()
            for id_, piece in self._files.pieces(path):
                said = terms.form(searched(piece.text))
                if bytes.fromhex(id_) not in indexed and any(term in said for term in looked_for):
                    present = frozenset(terms.indexed(described(path, piece.text)))
                    found = sum(term in present for term in asked) / len(asked)
                    if found >= LEAST_RELEVANCE:
                        hits.append(Hit(self._files.chunk(path, id_, piece), found))
        return sorted(hits, key=lambda hit: -hit.relevance)

    def _shared(self, query: str) -> Callable[[int], float]:
        """How much of *query* the chunk at a place holds, 0 to 1."""
        lexicon = self._directory.words()
        frequencies = {term: lexicon.frequency(term) for term in terms.asked(query)}
        rare = {term: terms.telling(term, n) * rarity(lexicon.documents, n) for term, n in frequencies.items()}
        known = self._paths()

        def shared(place: int) -> float:
            found = self._found(known, place)
            if found is None:
                return 0.0
            own = frozenset(terms.indexed(described(known[file_of(place)], found.chunk.text)))
            near = own | frozenset(terms.indexed(tail(found.before)))
            return max(share(rare, own), BEFORE * share(rare, near))

        return shared

    def _near(self, query: str, lexicon: Lexicon, known: Mapping[int, str]) -> dict[int, float]:
        """The cosines of the nearest chunks, each of its nearest bullet."""
        embedder = self._embedder()
        scanned = self._directory.scanned(embedder.space)
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
        rows = [scanned.at(row) for row in vectors.nearest(vectors.signs(vector), scanned.signs, COMPARED)]
        wanted: dict[int, list[int]] = {}
        for file, number, _ in rows:
            if file in known:
                wanted.setdefault(file, []).append(number)
        stored = self._directory.ledger().vectors(wanted, len(vector))
        places = [place for file, number, place in rows if (file, number) in stored]
        others = [stored[file, number] for file, number, _ in rows if (file, number) in stored]
        found: dict[int, float] = {}
        for place, cosine in zip(places, vectors.cosines(vector, others), strict=True):
            found[place] = max(found.get(place, -1.0), cosine)
        best = sorted(found.items(), key=lambda one: -one[1])[:LIST]
        return dict(best)

    def _paths(self) -> dict[int, str]:
        """The indexed files by their numbers."""
        return {one.id: one.path for one in self._directory.known().values()}

    def _found(self, known: Mapping[int, str], place: int) -> Found | None:
        path = known.get(file_of(place))
        return None if path is None else self._files.found(path, number_of(place), self.id_at(place))


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


class _Said(NamedTuple):
    """What two chunks share that say the same: parts of a section with one long line in it may hold just that line."""

    path: str
    heading: str
    told: str


def _said(chunk: Chunk) -> _Said:
    return _Said(chunk.path, chunk.heading, told(chunk.text))


def _distinct(hits: Iterable[Hit]) -> list[Hit]:
    """Without hits that say nothing, or what an earlier one has said."""
    found: dict[_Said, Hit] = {}
    for hit in hits:
        found.setdefault(_said(hit.chunk), hit)
    return [hit for said, hit in found.items() if said.told]


def _merged(one: list[Hit], two: list[Hit], k: int) -> list[Hit]:
    """The *k* first of two lists by relevance, each in its own order."""
    merged: list[Hit] = []
    while len(merged) < k and (one or two):
        first, rest = (one, two) if not two or (one and one[0].relevance >= two[0].relevance) else (two, one)
        merged.append(first[0])
        one, two = first[1:], rest
    return merged


def _live(found: Sequence[tuple[int, float]], known: Mapping[int, str]) -> dict[int, float]:
    """Without chunks that a newer reading has replaced and the engine still holds."""
    return dict([one for one in found if file_of(one[0]) in known][:LIST])
