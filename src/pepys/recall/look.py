"""What one recall looks at: the sources of its scope, what of them may be found, and what was not looked at."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence

from pepys.errors import OutOfBounds
from pepys.index import document
from pepys.index.digest import Digest
from pepys.index.document import Place
from pepys.index.engines.base import Everything, Filters
from pepys.index.source import Row, Source
from pepys.index.view import View
from pepys.model.context import Context
from pepys.model.entry import Event
from pepys.model.query import EntryRange, RecallRequest
from pepys.recall import bindings, budgets, evidence, invocation, scope
from pepys.spelling import counted

FARTHEST_MS = 1 << 62
"""No entry is as far from 1970; the index can be asked for no time that is much farther."""


class Look:
    """One recall over one view.

    Attributes:
        filters: Exact filters.
        read: Sources whose records are searched, newest first.
        only: The one source that the call is about, if it is about one.
        standings: Of `read`: which of their records may be found.
        coverage: Reasons are added while the answer is made.
        shared: Ids of sessions that have several files here.
        start: The first hit wanted, from 0.
        end: The one after the last.
    """

    def __init__(self, view: View, context: Context, request: RecallRequest, name: str) -> None:
        """Look at the scope *name*.

        Raises:
            SessionNotFound: An explicit session matches nothing.
            AmbiguousSession: An explicit id belongs to several files.
            StalePointer: The source or its lineage is not the one that the request is bound to.
            OutOfBounds: The range of indices is not within the session.
        """
        self.view, self.context, self.request, self.policy = view, context, request, view.policy
        selection = scope.select(view, name, context, subagents=request.subagents)
        live = scope.live_branches(selection, context)
        explicit = name.startswith(scope.SESSION)
        # Named explicitly, or on a branch that no digest knows: its entries are wanted, whatever its tier.
        selection.sources = sources = [
            view.resolved(source, searchable=True) if explicit or source.path in live else source
            for source in selection.sources
        ]
        self.filters = _filters(request)
        # Who names a tool or an operation asks for what it says, whoever wrote it.
        own = request.include_own or self.filters.names_operations
        every = view.standings(sources, request.branches, live, own=own)
        self.coverage = scope.coverage(view, selection, every, request.branches, own=own)
        self.read = [source for source in sources if view.reads(source)]
        self._cold = [source for source in sources if not view.reads(source)]
        self.standings = view.standings(self.read, request.branches, live, own=own)
        self.only = self.read[0] if selection.explicit and self.read else None
        self.start = min(request.offset, budgets.ITEMS)
        self.end = min(request.offset + request.page_size, budgets.ITEMS)
        counts = Counter(source.session for source in sources)
        self.shared = frozenset(session for session, count in counts.items() if count > 1)
        self._hide_copies()
        self._hide_invocation()
        if self.only is not None:
            standing = self.standings[self.only.generation]
            bindings.check(self.only, standing, request.expected_source_hash, request.expected_lineage_fingerprint)
            if request.entry_range is not None:
                self._narrow(self.only, request.entry_range)
        if self.policy.hot_sessions is not None:
            self._keep_to_budget()

    # Records

    def shown(self, source: Source) -> Iterator[Row]:
        """The records of one of the sources that may be found, in source order."""
        return filter(self.standings[source.generation].shows, self.view.rows(source))

    def in_order(self, places: Sequence[Place]) -> list[Place]:
        """*places* by session, newest first, and by index."""
        rank = {source.generation: at for at, source in enumerate(self.read)}
        return sorted(places, key=lambda place: (rank[place.generation], place))

    def events(self, places: Sequence[Place]) -> Iterator[tuple[Place, Source, Row, Event | str]]:
        """What the records at *places* say now, or the coverage reason why it cannot be told."""
        located = [(place, row) for place in places if (row := self.view.row(place)) is not None]
        records = [(self.view.source(place.generation), row) for place, row in located]
        for (place, row), (source, _), event in zip(located, records, evidence.events(records), strict=True):
            yield place, source, row, event

    def text(self, event: Event) -> str:
        """What of an event is searched."""
        return document.text(event, self.policy)

    # Cold sessions

    @property
    def has_cold(self) -> bool:
        """Whether some of the sessions are known by their digests only."""
        return bool(self._cold)

    def digests(self) -> Iterator[tuple[Source, Digest]]:
        """The digests of cold sessions, newest first."""
        for source in self._cold:
            digest = self.view.digest(source, self.request.branches)
            if digest is not None:
                yield source, digest

    # What may be found

    def _narrow(self, source: Source, within: EntryRange) -> None:
        """Find nothing outside of the range; indices are never clamped."""
        standing = self.standings[source.generation]
        if not 0 <= within.first <= within.last < standing.records:
            records = counted(standing.records, "record")
            raise OutOfBounds(
                f"entryRange {within.first}..{within.last} is not within the session's {records}.",
                details={"entryCount": standing.records},
            )
        outside = [
            row
            for row in self.view.rows(source)
            if standing.holds(row) and not within.first <= standing.rank(row) <= within.last
        ]
        self.standings.hide(source.generation, outside)

    def _keep_to_budget(self) -> None:
        """Find nothing beyond the 50,000th entry that passes the filters, in the order of the sessions (spec 1)."""
        held = sum(self.standings[source.generation].records for source in self.read)
        if held <= budgets.ENTRIES or self.view.total(Everything(), self.filters, self.standings) <= budgets.ENTRIES:
            return
        self.coverage.reasons.add("candidate_entry_budget")
        left = budgets.ENTRIES
        for source in self.read:
            passing = [row for row in self.shown(source) if self.filters.passes(row)]
            self.standings.hide(source.generation, passing[max(left, 0) :])
            left -= len(passing)

    def _hide_invocation(self) -> None:
        """Do not find the message that makes this very call: its arguments hold whatever is looked for."""
        if self.context.tool_call_id is None:
            return
        current = str(self.context.session_file)
        for source in self.read:
            if source.path != current:
                continue
            for call in invocation.enclosing(self.context.tool_call_id):
                self.standings.hide(source.generation, invocation.messages(self.view, source, call))

    def _hide_copies(self) -> None:
        """Of identical entries in several files of one session, find the one in the newest file."""
        seen: dict[tuple[str, str], set[tuple[int | None, int]]] = {}
        for source in self.read:
            if source.session not in self.shared:
                continue
            copies = []
            for row in self.shown(source):
                known = seen.setdefault((source.session, row.id), set())
                if (row.time, row.crc) in known:
                    copies.append(row)
                known.add((row.time, row.crc))
            self.standings.hide(source.generation, copies)


def _filters(request: RecallRequest) -> Filters:
    return Filters(
        request.role,
        request.tool or None,
        None if request.since is None else _within_index(math.ceil(request.since)),
        None if request.until is None else _within_index(math.floor(request.until)),
        request.ref,
        request.provider,
        request.action,
        request.outcome,
    )


def _within_index(time_ms: int) -> int:
    return max(-FARTHEST_MS, min(time_ms, FARTHEST_MS))
