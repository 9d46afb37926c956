"""`events.search`: the events that hold a query in one of their fragments, best first (spec 3, "Retrieval").

The index gives candidates by words; each is read from its source again and judged, fragment by fragment. What is shown
is therefore what the source holds now, or it is not shown.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import islice
from typing import NamedTuple

from pepys.events import candidates, explanation, language
from pepys.events.corpus import Corpus, Selection, files
from pepys.events.coverage import Coverage
from pepys.events.files import Wanted as File
from pepys.events.files import wanted as wanted_file
from pepys.events.fragments import KINDS, Fragment, fragments, role, roles
from pepys.events.identity import Labels, follow
from pepys.events.snippet import snippet
from pepys.events.states import State
from pepys.events.times import instant, iso
from pepys.events.trees import tree
from pepys.index import links
from pepys.index.document import ERROR, Place, components
from pepys.index.engines.base import EVENT_FIELDS, Filters, Sought, Wanted
from pepys.index.history import History
from pepys.index.source import Row, Source
from pepys.index.view import View
from pepys.model.context import Context
from pepys.model.entry import Event
from pepys.model.events import SearchRequest
from pepys.normalise.touched import touched
from pepys.recall import evidence, shown

MAX_EVENTS = 20
MAX_READ = 2_000
"""Candidates that one call reads, with `fragment_budget` beyond."""

_BATCHES = (24, 100)
_FIRST_CANDIDATES, _CANDIDATES_TIMES = 64, 16

_OWN_SERVER = "mcp__pepys__"


def search(history: History, context: Context, request: SearchRequest) -> dict[str, object]:
    """Answer a search.

    Raises:
        InvalidQuery: The query is blank, or a quote in it is not closed.
        EventNotFound: A session is named that is not there, or not for this caller.
        InvalidEventArgument: A time is none, or the caller's own session cannot be told or cut off.
    """
    query = language.parse(request.query)
    within = Within(*(instant(end, name) for end, name in _ends(request)))
    return history.answer(
        lambda view: _Search(view, context, request, query, within).answer(), files(context, request.session_id)
    )


class Within(NamedTuple):
    """An interval of time, ms; None: open."""

    since: int | None
    until: int | None

    def holds(self, time: int | None) -> bool:
        """Whether a time is within; an unknown one is within no interval."""
        if self == (None, None):
            return True
        return time is not None and not (
            (self.since is not None and time < self.since) or (self.until is not None and time > self.until)
        )


class Match(NamedTuple):
    """An event that holds the query."""

    source: Source
    row: Row
    strongest: Fragment
    fragments: int  # how many of them hold it


def _ends(request: SearchRequest) -> tuple[tuple[str | None, str], ...]:
    time = request.time
    return ((time.from_ if time else None, "time.from"), (time.to if time else None, "time.to"))


class _Search:
    """One request over one view."""

    def __init__(
        self, view: View, context: Context, request: SearchRequest, query: language.Query, within: Within
    ) -> None:
        self._view, self._context, self._request = view, context, request
        self._query, self._within = query, within
        self._corpus = Corpus(view, context)
        self._own = request.include_own or bool(request.tool_names)
        self._selection = self._select()
        self._coverage = Coverage(self._corpus, self._selection, own=self._own)
        sources = [source for source in self._selection.sources if view.reads(source)]
        self._standings = view.standings(sources, "all", {}, own=True)
        self._labels = Labels(sources)
        self._files = tuple(_files(request.files, context))
        self._output = context.config.memory.index_tool_output
        self._read = 0
        self.own_matches = 0  # events that hold the query only in what Pepys itself wrote

    def _select(self) -> Selection:
        return self._corpus.select(self._request.session_id, self._request.cwd, subagents=self._request.subagents)

    def answer(self) -> dict[str, object]:
        wanted = candidates.wanted(self._query)
        found = list(islice(self._matches(wanted, self._request), MAX_EVENTS + 1))
        hits = [self._hit(match) for match in found[:MAX_EVENTS]]
        result: dict[str, object] = {"hits": hits, "more": len(found) > MAX_EVENTS}
        if not hits:
            result |= self._explained(wanted)
        return {**result, **shown.redacted(hits), "coverage": self._coverage.as_json()}

    # Matching

    def _matches(self, wanted: tuple[Wanted, ...], request: SearchRequest) -> Iterator[Match]:
        """Events that hold the query and pass the filters of *request*, best first."""
        judged = self._judged(self._places(wanted, request), request)
        for size in _sizes():
            batch = list(islice(judged, size))
            if not batch:
                return
            self._read += len(batch)
            for (source, row), event in zip(batch, evidence.events(batch), strict=True):
                if isinstance(event, str):
                    self._coverage.reasons.add(event)
                elif (match := self._match(source, row, event, request)) is not None and self._counts(match):
                    yield match
            if self._read >= MAX_READ:
                if next(judged, None) is not None:
                    self._coverage.reasons.add("fragment_budget")
                return

    def _places(self, wanted: tuple[Wanted, ...], request: SearchRequest) -> Iterator[Place]:
        """Where the index has candidates, best first: those that hold whole words before those that hold parts."""
        if not wanted or (request.files and not self._files):
            return
        seen: set[Place] = set()
        filters = Filters(since=self._within.since, until=self._within.until) if request.time else Filters()
        for loose in (False, True) if any(one.reaches for one in wanted) else (False,):
            sought = self._sought(wanted, request, loose=loose)
            most, total = _FIRST_CANDIDATES, None
            while total is None or most // _CANDIDATES_TIMES < total:
                total, ranked = self._view.search(sought, filters, self._standings, most)
                for _, place in ranked:
                    if place not in seen:
                        seen.add(place)
                        yield place
                most *= _CANDIDATES_TIMES

    def _sought(self, wanted: tuple[Wanted, ...], request: SearchRequest, *, loose: bool) -> Sought:
        kinds = [KINDS[kind] for kind in request.kinds if kind in KINDS]
        fields = {field for _, some in kinds for field in some} if request.kinds else set(EVENT_FIELDS)
        among = roles(request.roles) if request.roles else None
        if request.kinds and all(some for some, _ in kinds):
            of_kinds = frozenset(one for some, _ in kinds for one in some)
            among = of_kinds if among is None else frozenset(one for one in among if one in of_kinds)
        named = None if among is None or None in among else frozenset(one for one in among if one is not None)
        traits = [frozenset({ERROR})] if request.error_only else []
        if request.entry_types and "message" not in request.entry_types:
            traits.append(frozenset(request.entry_types))
        return Sought(
            wanted,
            tuple(field for field in EVENT_FIELDS if field in fields),
            loose,
            roles=named,
            traits=tuple(traits),
            tools=frozenset(request.tool_names) or None,
            paths=tuple(frozenset(components(file.path)) for file in self._files) if request.files else None,
        )

    def _judged(self, places: Iterable[Place], request: SearchRequest) -> Iterator[tuple[Source, Row]]:
        """The candidates that pass whatever can be told without reading them."""
        for place in places:
            row = self._view.row(place)
            if row is None:
                continue
            source = self._view.source(place.generation)
            cutoff = self._selection.cutoffs.get(place.generation)
            if cutoff is not None and row.position >= cutoff:
                continue
            if self._passes(source, row, request) and not self._labels.is_copy(self._view, source, row):
                yield source, row

    def _passes(self, source: Source, row: Row, request: SearchRequest) -> bool:
        if request.entry_types and row.type not in request.entry_types:
            return False
        if request.roles and role(row.role, row.type) not in request.roles:
            return False
        if request.time and not self._within.holds(row.time):
            return False
        if not (request.branch_states or request.selection_states):
            return True
        state = self._state(source, row)
        return (not request.branch_states or state.branch in request.branch_states) and (
            not request.selection_states or state.selection in request.selection_states
        )

    def _match(self, source: Source, row: Row, event: Event, request: SearchRequest) -> Match | None:
        if request.files and not self._touches(source, event, request):
            return None
        found = [
            fragment
            for fragment in fragments(event, output=self._output)
            if _wanted_fragment(fragment, request) and self._query.holds(fragment.texts)
        ]
        kept = found if self._own else [one for one in found if not self._is_own(source, row, one)]
        self.own_matches += bool(found) and not kept
        return Match(source, row, max(kept, key=self._strength), len(kept)) if kept else None

    def _counts(self, match: Match) -> bool:
        """Whether an entry is the one that its id stands for: what `follow` would read."""
        return tree(self._view, match.source).counts(match.row.position)

    def _touches(self, source: Source, event: Event, request: SearchRequest) -> bool:
        return any(
            file.holds(one.path) and request.file_access in ("any", one.access)
            for one in touched(event.entry, source.cwd)
            for file in self._files
        )

    def _strength(self, fragment: Fragment) -> float:
        """How much of a fragment is about the query: occurrences, less for its length, as BM25 has it."""
        spans = sum(len(self._query.spans(text)) for text in fragment.texts)
        return spans / (spans + 1.2 * (0.25 + 0.75 * sum(map(len, fragment.texts)) / 1000))

    def _is_own(self, source: Source, row: Row, fragment: Fragment) -> bool:
        """Whether Pepys wrote it, or it is a call of Pepys: known by the call's server, or by what its result says."""
        if row.own:
            return True
        if fragment.kind != "tool.call" or fragment.call is None:
            return False
        if (fragment.tool or "").startswith(_OWN_SERVER):
            return True
        answers = self._view.linked([source], links.key("call", fragment.call))
        rows = (self._view.row(Place(source.generation, position, 0)) for _, position in answers)
        return any(answer is not None and answer.own for answer in rows)

    # Answers

    def _state(self, source: Source, row: Row) -> State:
        return tree(self._view, source).state(row.position)

    def _hit(self, match: Match) -> dict[str, object]:
        source, row, strongest, count = match
        state = self._state(source, row)
        window, spans, masks = snippet(strongest, self._query, self._context)
        session = self._labels.session(source)
        hit: dict[str, object] = {
            "sessionId": source.session,
            "cwd": source.cwd,
            "entryId": row.id,
            "entryType": row.type,
            "role": role(row.role, row.type),
            "timestamp": iso(row.time),
            "branchState": state.branch,
            "selectionState": state.selection,
            "matchingFragmentId": strongest.id,
            "semanticKind": strongest.kind,
            "snippet": window,
            "matches": spans,
            "matchingFragmentCount": count,
            "follow": follow("events.read", session, row.id, fragmentId=strongest.id),
        }
        if source.name:
            name = shown.text(source.name, self._context)
            hit["sessionName"] = name.text
            masks += len(name.spans)
        if masks:
            hit["redacted"] = masks
        if strongest.tool:
            hit["toolName"] = strongest.tool
        if strongest.is_error:
            hit["isError"] = True
        if state.inferred:
            hit["selectionInferred"] = True
        if session != source.session:
            hit["file"] = source.path
        return hit

    def _explained(self, wanted: tuple[Wanted, ...]) -> Mapping[str, object]:
        """Why nothing was found, in data, and a call that would find more."""
        bare = explanation.unfiltered(self._request)
        if self._request.cwd is not None:
            # What is in other folders must be looked at, to be counted.
            wide = _Search(self._view, self._context, replace(self._request, cwd=None), self._query, self._within)
            return wide._explained_as(self._request, bare, wanted, self.own_matches)
        return self._explained_as(self._request, bare, wanted, self.own_matches)

    def _explained_as(
        self, asked: SearchRequest, bare: SearchRequest, wanted: tuple[Wanted, ...], own_matches: int
    ) -> Mapping[str, object]:
        """Why *asked* found nothing, over the sources of this search."""
        counts = [(part, self._count(one, bare)) for part, one in zip(self._query.parts, wanted, strict=True)]
        passing: dict[str, int] = {}
        others = 0
        if bare != asked:
            self._read = 0
            loose = list(islice(self._matches(wanted, bare), explanation.MAX_MATCHES))
            others = len(loose)
            for name, only in explanation.filters(asked):
                passing[name] = sum(self._keeps(match, only) for match in loose)
        return explanation.explained(asked, counts, others, passing, own_matches)

    def _count(self, wanted: Wanted, bare: SearchRequest) -> int:
        """How many events may hold one part of the query; of the caller's own session, without what is cut off."""
        if self._selection.cutoffs:
            return sum(1 for _ in self._judged(self._places((wanted,), bare), bare))
        return self._view.total(Sought((wanted,)), Filters(), self._standings)

    def _keeps(self, match: Match, only: SearchRequest) -> bool:
        """Whether a match passes the one filter of *only*."""
        if not self._passes(match.source, match.row, only) or not self._corpus.in_folder([match.source], only.cwd):
            return False
        (event,) = evidence.events([(match.source, match.row)])
        return not isinstance(event, str) and self._match(match.source, match.row, event, only) is not None


def _sizes() -> Iterator[int]:
    yield _BATCHES[0]
    while True:
        yield _BATCHES[1]


def _files(paths: Iterable[str], context: Context) -> Iterator[File]:
    for path in paths:
        if (file := wanted_file(path, str(context.cwd))) is not None:
            yield file


def _wanted_fragment(fragment: Fragment, request: SearchRequest) -> bool:
    return (
        (not request.kinds or fragment.kind in request.kinds)
        and (not request.tool_names or fragment.tool in request.tool_names)
        and (not request.error_only or fragment.is_error)
    )
