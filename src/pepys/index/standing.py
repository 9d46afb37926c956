"""How the records of a source stand in a branch mode: which of them are in it, and which may be found."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from pepys.index.document import Place
from pepys.index.source import REPEATED, Exceptions, Row, Source, exceptions, on_branch
from pepys.model.lineage import Branches, Live, Node
from pepys.normalise import lineage


class Standing(NamedTuple):
    """How the records of one source stand in one branch mode."""

    generation: int
    fingerprint: str
    records: int  # in this mode
    hidden: tuple[tuple[int, int], ...]  # runs of packed places that are not found, half-open, ascending
    skipped: tuple[tuple[int, int, int], ...]  # runs of records not in this mode: (first, end, how many before)
    cyclic: bool = False
    removed: frozenset[int] = frozenset()  # more packed places that are not found
    ahead: bool = False  # the host's live branch holds entries that are not in the source yet

    def rank(self, row: Row) -> int:
        """The index of a record in this mode."""
        record = row.record or 0
        at = bisect_right(self.skipped, (record, _BEYOND, 0)) - 1
        if at < 0:
            return record
        first, end, before = self.skipped[at]
        return record - before - (min(end, record) - first)

    def record(self, index: int) -> int:
        """The rank among all records of the record with this index in this mode: what `rank` is the inverse of."""
        at = bisect_right(self.skipped, index, key=lambda run: run[0] - run[2]) - 1
        if at < 0:
            return index
        first, end, before = self.skipped[at]
        return index + before + (end - first)

    def holds(self, row: Row) -> bool:
        """Whether a record is in this mode."""
        if row.record is None:
            return False
        at = bisect_right(self.skipped, (row.record, _BEYOND, 0)) - 1
        return at < 0 or row.record >= self.skipped[at][1]

    def finds(self, place: int) -> bool:
        """Whether the record at a packed place may be found."""
        at = bisect_right(self.hidden, (place, _BEYOND)) - 1
        return (at < 0 or place >= self.hidden[at][1]) and place not in self.removed

    def shows(self, row: Row) -> bool:
        """Whether a record is in this mode and may be found."""
        return self.holds(row) and self.finds(row.packed(self.generation))

    def rejected(self, places: Sequence[int]) -> Iterator[int]:
        """Those of *places*, which are sorted, that are not found. Work is proportional to them, not to *places*."""
        for first, end in self.hidden:
            yield from places[bisect_left(places, first) : bisect_left(places, end)]
        if self.removed:
            yield from self.removed.intersection(places)

    def removing(self, rows: Iterable[Row]) -> Standing:
        """The same, but that *rows* are not found either."""
        return self._replace(removed=self.removed.union(row.packed(self.generation) for row in rows))


_BEYOND = 1 << 80


Known = dict[tuple[int, Branches, bool, Live | None], Standing]
"""Standings of committed readings: by generation, branch mode, whether our own records are found, and live branch."""


class Standings:
    """The standings of some sources, worked out when they are asked for: most sources of a search are never hit."""

    def __init__(
        self,
        sources: Mapping[int, Source],
        branches: Branches,
        live: Mapping[str, Live],
        *,
        own: bool,
        rows: Callable[[Source], Iterable[Row]],
        volatile: Container[int],
        known: Known,
    ) -> None:
        """See `View.standings`.

        Args:
            sources: By generation.
            rows: All rows of a source.
            volatile: Generations of which more was read than is committed.
            known: Standings of committed readings that still hold, to be added to.
        """
        self.sources = sources
        self._branches, self._live, self._own = branches, live, own
        self._rows, self._volatile, self._known = rows, volatile, known
        self._special: dict[int, Standing] = {}

    def __getitem__(self, generation: int) -> Standing:
        """The standing of the source with this generation."""
        special = self._special.get(generation)
        if special is not None:
            return special
        source = self.sources[generation]
        live = self._live.get(source.path) if self._branches == "active" else None
        if generation in self._volatile:
            standing = self._special[generation] = self._standing(source, live)
            return standing
        key = (generation, self._branches, self._own, live)
        if key not in self._known:
            self._known[key] = self._standing(source, live)
        return self._known[key]

    def _standing(self, source: Source, live: Live | None) -> Standing:
        if live is not None:
            return self._on_live_branch(source, live)
        return _standing(source, source.exceptions, self._branches, own=self._own)

    def ahead(self, source: Source) -> bool:
        """Whether the host's live branch of a source holds entries that are not in it yet."""
        return source.path in self._live and self[source.generation].ahead

    def hide(self, generation: int, rows: Iterable[Row]) -> None:
        """Let *rows* of a source not be found, in these standings only."""
        self._special[generation] = self[generation].removing(rows)

    def judged(self) -> set[int]:
        """Generations that may have matches which are not found."""
        every = self._branches == "all"
        return {
            generation
            for generation, source in self.sources.items()
            if source.appending
            or (source.own_records and not self._own)
            or (source.repeats if every else source.active_records != source.records or source.path in self._live)
        } | self._special.keys()

    def _on_live_branch(self, source: Source, live: Live) -> Standing:
        rows = list(self._rows(source))
        branch = lineage.live([Node(row.position, row.id, row.parent) for row in rows if not row.child], live)
        inactive = {row.position for row in rows} - branch.positions
        standing = _standing(source, exceptions(on_branch(rows, inactive)), "active", own=self._own)
        ahead = not {row.id for row in rows if not row.child}.issuperset(live.entries)
        return standing._replace(fingerprint=branch.fingerprint, cyclic=branch.cyclic, ahead=ahead)


def _standing(source: Source, found: Iterable[Exceptions], branches: Branches, *, own: bool) -> Standing:
    every = branches == "all"
    hidden: list[tuple[int, int]] = []
    skipped: list[tuple[int, int, int]] = []
    absent = 0
    for span in found:
        away = bool(span.repeated & REPEATED[branches]) or not (span.active or every)
        if away and span.records:
            skipped.append((span.record, span.record + span.records, absent))
            absent += span.records
        if away or (span.own and not own):
            first, last = (Place(source.generation, *place).packed() for place in (span.first, span.last))
            hidden.append((first, last + 1))
    # With all branches there is nothing to select: only the source hash protects such a token.
    fingerprint = lineage.every(()).fingerprint if every else source.fingerprint
    cyclic = bool(source.cyclic) and not every
    return Standing(source.generation, fingerprint, source.records - absent, tuple(hidden), tuple(skipped), cyclic)
