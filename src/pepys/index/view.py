"""One consistent look at all sources: what is committed, and what had to be read without committing it."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple

from pepys.index.catalog import Catalog
from pepys.index.digest import Digest
from pepys.index.document import GENERATION_SHIFT, Document, Place, unpacked
from pepys.index.engines.base import FIELDS, Among, Everything, Filters, Query, Runs, Sought, Statistics, Words
from pepys.index.engines.tantivy import TantivyEngine
from pepys.index.policy import Policy
from pepys.index.source import Row, Source
from pepys.index.standing import Known, Standings
from pepys.model.entry import Field
from pepys.model.lineage import Branches, Live
from pepys.model.source import Header, Listing

_JUDGED_AT_ONCE = 100_000
_SLACK = 64
_LARGEST_TIE = 50_000
_CHARS_A_TOKEN = 6.0

_WAITING = ("catching_up", "max_sync_sessions")
"""Why a source is not read that could be read at once."""


class Overlay:
    """Readings that no commit holds.

    Attributes:
        sources: By path.
        rows: By generation: what comes after the rows that the catalog holds.
        inactive: By generation: entry positions that are not on the active branch.
        documents: Of those rows.
        unread: Path -> coverage reason, of sources that were not read.
        failed: Path -> coverage reason.
    """

    def __init__(self, unread: Mapping[str, str] | None = None) -> None:
        self.sources: dict[str, Source] = {}
        self.rows: dict[int, list[Row]] = {}
        self.inactive: dict[int, frozenset[int]] = {}
        self.documents: list[Document] = []
        self.unread: dict[str, str] = dict(unread or {})
        self.failed: dict[str, str] = {}


class _Match(NamedTuple):
    """A hit on its way to being ordered."""

    score: float
    time: int | None
    place: int  # packed


class View:
    """Sources as they are now, and where their words are."""

    def __init__(
        self,
        seen: Listing,
        known: Mapping[str, Source],
        garbage: frozenset[int],
        catalog: Catalog | None,
        engine: TantivyEngine | None,
        overlay: Overlay,
        *,
        known_standings: Known,
        trees: dict[int, object],
        excluded: frozenset[str],
        failed: Mapping[str, str],
        reasons: Sequence[str],
        policy: Policy,
        resolve: Callable[[Overlay, str, bool], None],
    ) -> None:
        """See `History.look`, which makes them."""
        self.seen = seen
        self.excluded = excluded
        self.failed: Mapping[str, str] = {**failed, **overlay.failed}
        self.unread: Mapping[str, str] = overlay.unread
        self.reasons = tuple(reasons)
        self._catalog, self._engine, self._overlay = catalog, engine, overlay
        self._garbage = garbage
        self._known_standings = known_standings
        self.trees = trees  # what event search keeps of committed readings, by generation
        self._committed = {source.generation: source for source in known.values()}
        self._growing = {source.generation for source in known.values() if source.appending}
        self.policy = policy
        self._resolve = resolve
        self._headers: dict[str, Header | None] = {}
        self.sources: dict[str, Source] = {
            path: overlay.sources.get(path) or known[path]
            for path in seen.found
            if path in overlay.sources or (path in known and path not in excluded)
        }
        self._by_generation = {source.generation: source for source in self.sources.values()}

    def source(self, generation: int) -> Source:
        """The source that a place's generation belongs to."""
        return self._by_generation[generation]

    def resolved(self, source: Source, *, searchable: bool) -> Source:
        """*source* with its newest rows in this view, whatever its tier, and its documents if it is to be searched.

        One that is cold, or behind, is read for this view alone and stays so (spec 1: hydration without promotion).
        Where it cannot be read, `failed` or `unread` says so, and it stays as it was.
        """
        if self.reads(source) and self.unread.get(source.path) not in _WAITING:
            return source
        found = self.read(source.path, searchable=searchable)
        if found is None:
            return source
        found.tier = source.tier
        return found

    def read(self, path: str, *, searchable: bool) -> Source | None:
        """The source at a path that was listed, read for this view alone; None where that cannot be done."""
        self._resolve(self._overlay, path, searchable)
        self.failed = {**self.failed, **self._overlay.failed}
        found = self._overlay.sources.get(path)
        if found is not None:
            self._overlay.unread.pop(path, None)
            self.sources[path] = self._by_generation[found.generation] = found
        return found

    def header(self, path: str) -> Header | None:
        """What the source at a path that was listed says of itself, whether or not it was read; None if nothing."""
        if path not in self._headers:
            from pepys.hosts import HOSTS
            from pepys.hosts.reading import read_header

            self._headers[path] = read_header(HOSTS[self.seen.found[path].host], path)
        return self._headers[path]

    def reads(self, source: Source) -> bool:
        """Whether the records of a source, hot or resolved, are in this view."""
        return source.tier == "hot" or source.path in self._overlay.sources

    def digest(self, source: Source, branches: Branches) -> Digest | None:
        """The digest of a cold source; None if it is hot, or has none."""
        if self._catalog is None or source.tier == "hot" or source.generation not in self._committed:
            return None
        return self._catalog.digest(source.generation, branches)

    def reconciled(self) -> int | None:
        """When everything that was listed had been read for the last time before this view, ms; None if never."""
        made = None if self._catalog is None else self._catalog.meta("reconciled")
        return None if made is None else int(made)

    def committed(self, source: Source) -> bool:
        """Whether all rows of a source are in the catalog."""
        return source.generation in self._committed and source.generation not in self._overlay.rows

    # Rows

    def rows(self, source: Source, first: int = 0) -> Iterator[Row]:
        """The rows of a source from entry position *first* on, in append order, as of this view."""
        new = self._overlay.rows.get(source.generation, [])
        inactive = self._overlay.inactive.get(source.generation)
        if self._catalog is not None:
            for row in self._catalog.rows(source.generation, first, self._held(source)):
                yield row if inactive is None else row._replace(active=row.position not in inactive)
        for row in new:
            if row.position < first:
                continue
            yield row._replace(active=inactive is None or row.position not in inactive)

    def places_in(self, source: Source, first: int = 0) -> Iterator[tuple[Any, ...]]:
        """What of each entry decides its place in the tree (`Catalog.places`), from position *first* on."""
        if self._catalog is not None:
            yield from self._catalog.places(source.generation, first, self._held(source))
        for row in self._overlay.rows.get(source.generation, ()):
            if not row.child and row.position >= first:
                yield row.position, row.id, row.parent, row.type, row.role, row.target, row.silent

    def row(self, place: Place) -> Row | None:
        """The row at a place; None when there is none any more."""
        for row in self._overlay.rows.get(place.generation, ()):
            if (row.position, row.child) == (place.position, place.child):
                return row
        return None if self._catalog is None else self._catalog.row(*place)

    def record(self, source: Source, rank: int) -> Row | None:
        """The record of a source with this rank among all its records; None if there are not so many."""
        for row in self._overlay.rows.get(source.generation, ()):
            if row.record == rank:
                return row
        return None if self._catalog is None else self._catalog.ranked(source.generation, rank)

    def named(self, source: Source, kind: Literal["id", "address"], name: str) -> list[Row]:
        """The records of a source with this id, or operation address, in append order and in whatever branch."""
        new = self._overlay.rows.get(source.generation, [])
        held = () if self._catalog is None else self._catalog.named(source.generation, kind, name)
        old = [row for row in held if row.position < self._held(source)]
        return old + [row for row in new if row.record is not None and getattr(row, kind) == name]

    def _held(self, source: Source) -> int:
        """How many entries of a source the catalog holds as of this view; it may already hold more of an append."""
        if source.generation not in self._committed:
            return 0
        new = self._overlay.rows.get(source.generation)
        return new[0].position if new else source.entries

    def linked(self, sources: Iterable[Source], key: int) -> list[tuple[Source, int]]:
        """The entries of *sources*, by their positions, that have the link *key* (see `links`); a key may lie."""
        found: list[tuple[Source, int]] = []
        wanted = {source.generation: source for source in sources}
        if self._catalog is not None:
            held = [generation for generation in wanted if generation in self._committed]
            for generation, position in self._catalog.linked(held, key):
                if position < self._held(wanted[generation]):
                    found.append((wanted[generation], position))
        for generation, rows in self._overlay.rows.items():
            if generation in wanted:
                found += ((wanted[generation], row.position) for row in rows if key in row.links)
        return found

    # Branches

    def standings(
        self, sources: Iterable[Source], branches: Branches, live: Mapping[str, Live], *, own: bool
    ) -> Standings:
        """How the records of *sources* stand in a branch mode.

        Args:
            sources: Of this view.
            branches: The branch mode.
            live: By path: the host's live branch of its current session.
            own: Whether what Pepys itself wrote is found too.
        """
        return Standings(
            {source.generation: source for source in sources},
            branches,
            live,
            own=own,
            rows=self.rows,
            volatile=self._overlay.rows,
            known=self._known_standings,
        )

    # Search

    def search(
        self, query: Words | Sought, filters: Filters, standings: Standings, wanted: int
    ) -> tuple[int, list[tuple[float, Place]]]:
        """The exact number of matches, and at least the best *wanted* of them, best first.

        Args:
            query: Terms.
            filters: Exact filters.
            standings: By generation: the sources to search, and what of them is not found.
            wanted: Hits needed, from the best one.
        """
        rejected = self._rejected(query, filters, standings)
        total, found = self._committed_hits(query, filters, standings, rejected, wanted)
        extra = self._uncommitted_hits(query, filters, standings)
        return total + len(extra), self._ordered([*found, *extra])

    def places(
        self, query: Runs | Everything, filters: Filters, standings: Standings, most: int
    ) -> tuple[int, list[Place]]:
        """How many records match (before what is hidden is taken away), and up to *most* of those that are found."""
        total, found = 0, []
        if self._engine is not None:
            hits = self._engine.search(query, filters, self._among(standings), most)
            total, found = hits.total, [place for _, place in hits.best]
        shown = [place for place in found if self._shown(place, standings)]
        more = [match.place for match in self._uncommitted_hits(query, filters, standings)]
        return total + len(more), [unpacked(place) for place in (*shown, *more)]

    def total(self, query: Words | Everything | Sought, filters: Filters, standings: Standings) -> int:
        """The exact number of matches that are found."""
        committed = 0
        if self._engine is not None:
            committed = self._engine.search(query, filters, self._among(standings), 0).total
        rejected = self._rejected(query, filters, standings)
        return committed - len(rejected) + len(self._uncommitted_hits(query, filters, standings))

    def _shown(self, place: int, standings: Standings) -> bool:
        generation, position, _ = unpacked(place)
        return standings[generation].finds(place) and position < self._committed[generation].entries

    def _rejected(self, query: Query, filters: Filters, standings: Standings) -> set[int]:
        """Packed places of committed matches that are not found after all."""
        rejected: set[int] = set()
        if self._engine is None:
            return rejected
        # A growing source's documents may be ahead of what this view takes it to hold, however it has read the rest.
        growing = self._growing & standings.sources.keys()
        for some in self._by_size((standings.judged() | growing) & self._committed.keys()):
            places = sorted(self._engine.places(query, filters, Among(frozenset(some))))
            for generation in some:
                rejected.update(standings[generation].rejected(places))
                if self._committed[generation].appending:
                    end = Place(generation, self._committed[generation].entries, 0).packed()
                    following = Place(generation + 1, 0, 0).packed()
                    rejected.update(places[bisect_left(places, end) : bisect_left(places, following)])
        return rejected

    def _by_size(self, generations: Iterable[int]) -> Iterator[list[int]]:
        batch: list[int] = []
        size = 0
        for generation in generations:
            batch.append(generation)
            size += self._committed[generation].records
            if size >= _JUDGED_AT_ONCE:
                yield batch
                batch, size = [], 0
        if batch:
            yield batch

    def _committed_hits(
        self, query: Query, filters: Filters, standings: Standings, rejected: set[int], wanted: int
    ) -> tuple[int, list[_Match]]:
        if self._engine is None:
            return 0, []
        among, limit = self._among(standings), wanted + _SLACK
        while True:
            hits = self._engine.search(query, filters, among, limit)
            kept = [
                _Match(score, time, place)
                for (score, place), time in zip(hits.best, hits.times, strict=True)
                if place not in rejected
            ]
            # Within a tie the engine's order depends on the index's own past. The tie that holds the last hit wanted
            # must therefore be here as a whole, to be ordered by data.
            whole = len(kept) > wanted and kept[wanted - 1].score > hits.best[-1][0]
            if whole or limit >= min(hits.total, _LARGEST_TIE):
                return hits.total - len(rejected), kept
            limit *= 4

    def _uncommitted_hits(self, query: Query, filters: Filters, standings: Standings) -> list[_Match]:
        documents = self._overlay.documents
        if not documents:
            return []
        from pepys.index.engines.scan import Scan

        scan = Scan(documents, self._statistics(query))
        hits = scan.search(query, filters, Among(frozenset(standings.sources)), len(documents))
        found = (_Match(score, time, place) for (score, place), time in zip(hits.best, hits.times, strict=True))
        return [match for match in found if standings[match.place >> GENERATION_SHIFT].finds(match.place)]

    def _statistics(self, query: Query) -> Statistics | None:
        """The committed corpus's statistics, so that a few uncommitted documents are scored on its scale."""
        if self._engine is None or not self._engine.documents or not isinstance(query, Words | Sought):
            return None
        terms = query.terms
        documents = self._engine.documents
        chars: Counter[Field] = Counter()
        for source in self._committed.values():
            chars.update(source.lengths)
        mean: dict[str, float] = {field: chars[field] / documents / _CHARS_A_TOKEN for field in (*FIELDS, "aside")}
        return self._engine.statistics(terms, mean)

    def _ordered(self, matches: list[_Match]) -> list[tuple[float, Place]]:
        """Best first; exact ties newest first, then by session and append position."""

        def key(match: _Match) -> tuple[float, int, str, int]:
            session = self.source(match.place >> GENERATION_SHIFT).session
            return -match.score, -(match.time or 0), session, match.place

        return [(match.score, unpacked(match.place)) for match in sorted(matches, key=key)]

    def _among(self, standings: Standings) -> Among:
        """The committed generations to search, said the shorter way."""
        wanted = frozenset(standings.sources.keys() & self._committed.keys())
        others = (frozenset(self._committed) - wanted) | self._garbage
        return Among(others, inverted=True) if len(others) <= len(wanted) else Among(wanted)
