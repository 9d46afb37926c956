"""How the records of a source stand in a branch mode: which of them are in it, and which may be found."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from pepys.index.document import Place
from pepys.index.source import Row, Source
from pepys.model.lineage import Branches, Live, Node
from pepys.normalise import lineage


class Exceptional(NamedTuple):
    """A row that is inactive or our own; all others need no second look."""

    position: int
    child: int
    record: int | None
    active: bool
    own: bool


def exceptional(rows: Iterable[Row]) -> Iterator[Exceptional]:
    """The exceptional ones of *rows*."""
    for row in rows:
        if not row.active or row.own:
            yield Exceptional(row.position, row.child, row.record, row.active, row.own)


class Standing(NamedTuple):
    """How the records of one source stand in one branch mode."""

    generation: int
    fingerprint: str
    records: int  # in this mode
    hidden: frozenset[int]  # packed places of records that are not found
    skipped: tuple[int, ...]  # ranks, among all records, of those that are not in this mode; ascending
    cyclic: bool = False

    def rank(self, row: Row) -> int:
        """The index of a record in this mode (decisions 2)."""
        record = row.record or 0
        return record - bisect_left(self.skipped, record)

    def holds(self, row: Row) -> bool:
        """Whether a record is in this mode."""
        at = bisect_left(self.skipped, row.record or 0)
        return row.record is not None and not (at < len(self.skipped) and self.skipped[at] == row.record)

    def shows(self, row: Row) -> bool:
        """Whether a record is in this mode and may be found."""
        return self.holds(row) and row.packed(self.generation) not in self.hidden

    def hiding(self, rows: Iterable[Row]) -> Standing:
        """The same, but that *rows* are not found either."""
        return self._replace(hidden=self.hidden.union(row.packed(self.generation) for row in rows))


Known = dict[tuple[int, Branches, bool], Standing]
"""Standings of committed readings, by generation, branch mode, and whether what Pepys itself wrote is found."""


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
        exceptions: Callable[[Sequence[Source]], Mapping[int, Iterable[Exceptional]]],
        volatile: Container[int],
        known: Known,
    ) -> None:
        """See `View.standings`.

        Args:
            sources: By generation.
            rows: All rows of a source.
            exceptions: The exceptional rows of some sources, by generation.
            volatile: Generations of which more was read than is committed.
            known: Standings of committed readings that still hold, to be added to.
        """
        self.sources = sources
        self._branches, self._live, self._own = branches, live, own
        self._rows, self._exceptions, self._known = rows, exceptions, known
        self._volatile = volatile
        self._special: dict[int, Standing] = {}
        self._new: Known = {}

    def __getitem__(self, generation: int) -> Standing:
        """The standing of the source with this generation."""
        special = self._special.get(generation)
        if special is not None:
            return special
        self.prepare([generation])
        return self._special.get(generation) or self._kept(generation)[self._key(generation)]

    def prepare(self, generations: Iterable[int]) -> None:
        """Work out the standings of several sources at once."""
        needed = []
        for generation in generations:
            source = self.sources[generation]
            if generation in self._special or self._key(generation) in self._kept(generation):
                continue
            if self._branches == "active" and source.path in self._live:
                self._special[generation] = self._on_live_branch(source, self._live[source.path])
            elif source.plain:
                self._keep(source, ())
            else:
                needed.append(source)
        if needed:
            exceptions = self._exceptions(needed)
            for source in needed:
                self._keep(source, exceptions[source.generation])

    def _keep(self, source: Source, exceptions: Iterable[Exceptional]) -> None:
        standing = _standing(source, exceptions, self._branches, own=self._own)
        self._kept(source.generation)[self._key(source.generation)] = standing

    def _kept(self, generation: int) -> Known:
        return self._new if generation in self._volatile else self._known

    def _key(self, generation: int) -> tuple[int, Branches, bool]:
        return generation, self._branches, self._own

    def hide(self, generation: int, rows: Iterable[Row]) -> None:
        """Let *rows* of a source not be found, in these standings only."""
        self._special[generation] = self[generation].hiding(rows)

    def judged(self) -> set[int]:
        """Generations that may have matches which are not found."""
        every = self._branches == "all"
        return {
            generation
            for generation, source in self.sources.items()
            if source.appending
            or (source.own_records and not self._own)
            or (not every and (source.active_records != source.records or source.path in self._live))
        } | self._special.keys()

    def _on_live_branch(self, source: Source, live: Live) -> Standing:
        rows = list(self._rows(source))
        branch = lineage.live([Node(row.position, row.id, row.parent) for row in rows if not row.child], live)
        placed = exceptional(row._replace(active=row.position in branch.positions) for row in rows)
        standing = _standing(source, placed, "active", own=self._own)
        return standing._replace(fingerprint=branch.fingerprint, cyclic=branch.cyclic)


def _standing(source: Source, exceptions: Iterable[Exceptional], branches: Branches, *, own: bool) -> Standing:
    every = branches == "all"
    hidden, skipped = [], []
    for row in exceptions:
        absent = not row.active and not every
        if absent and row.record is not None:
            skipped.append(row.record)
        if absent or (row.own and not own):
            hidden.append(Place(source.generation, row.position, row.child).packed())
    # With all branches there is nothing to select: only the source hash protects such a token.
    fingerprint = lineage.every(()).fingerprint if every else source.fingerprint
    records = source.records - len(skipped)
    cyclic = bool(source.cyclic) and not every
    return Standing(source.generation, fingerprint, records, frozenset(hidden), tuple(skipped), cyclic)
