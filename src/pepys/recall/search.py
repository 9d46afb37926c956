"""`memory.recall`: one ranked stream of entries, re-read from their sources, with the calls that go on from it."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import NamedTuple

from pepys import normalise
from pepys.errors import InvalidArgument, OutOfBounds, PepysError
from pepys.index.document import Place
from pepys.index.engines.base import EVEN, WEIGHTS, Everything, Filters, Words
from pepys.index.history import History
from pepys.index.source import Row, Source
from pepys.index.standing import Standing
from pepys.index.view import View
from pepys.model.context import Context
from pepys.model.coverage import Coverage
from pepys.model.entry import Event
from pepys.model.query import EntryRange, ExpandRequest, RecallRequest
from pepys.recall import bindings, envelope, evidence, phrase, scope, shown, snippet
from pepys.text import folded, query_terms

MAX_ITEMS = 10_000
"""Paging ends here, with `candidate_item_budget` (spec 1)."""

MAX_CANDIDATES = 50_000
"""Candidates of one phrase that are verified, with `candidate_entry_budget` beyond (spec 1)."""

VERIFIED_AT_ONCE = 500

FARTHEST_MS = 1 << 62
"""No entry is as far from 1970; the index can be asked for no time that is much farther."""


def recall(history: History, context: Context, request: RecallRequest) -> dict[str, object]:
    """Answer a recall request; the spec's errors are part of the page.

    Raises:
        InvalidArgument: The request contradicts itself.
    """
    name = scope.named(request.scope)
    _check(request, name)
    try:
        return history.answer(lambda view: _Recall(view, context, request, name).page(), scope.files(name, context))
    except InvalidArgument:
        raise
    except PepysError as error:
        return _refused(error)


def _check(request: RecallRequest, name: str) -> None:
    if request.query_match == "all" and request.query_mode != "literal":
        raise InvalidArgument("queryMatch goes with queryMode literal only.")
    if name.startswith(scope.SESSION):
        return
    if request.expected_source_hash is not None or request.expected_lineage_fingerprint is not None:
        raise InvalidArgument("expectedSourceHash and expectedLineageFingerprint need scope session:<id-or-path>.")
    if request.entry_range is not None:
        raise InvalidArgument("entryRange needs scope session:<id-or-path>.")


def _refused(error: PepysError) -> dict[str, object]:
    coverage = Coverage(reasons={error.code}).as_json()
    return {"total": 0, "hits": [], "next": None, "coverage": coverage, "error": error.as_json()}


class _Matches(NamedTuple):
    """What a query found."""

    total: int
    page: Sequence[tuple[float, Place]]  # from the requested offset on


class _Recall:
    """One request over one view."""

    def __init__(self, view: View, context: Context, request: RecallRequest, name: str) -> None:
        self._view, self._context, self._request = view, context, request
        self._selection = scope.select(view, name, context, subagents=request.subagents)
        self._filters = _filters(request)
        # Who names a tool or an operation asks for what it says, whoever wrote it.
        self._own = request.include_own or self._filters.names_operations
        sources = self._selection.sources
        live = scope.live_branches(self._selection, context)
        self._standings = view.standings(sources, request.branches, live, own=self._own)
        self._coverage = scope.coverage(view, self._selection, self._standings, request.branches, own=self._own)
        self._only = sources[0] if self._selection.explicit and sources else None
        self._policy = context.config.memory
        self._start = min(request.offset, MAX_ITEMS)
        self._end = min(request.offset + request.page_size, MAX_ITEMS)
        if self._policy.hot_sessions != "auto":
            self._coverage.reasons.add("hot_sessions_not_followed")
        counts = Counter(source.session for source in sources)
        self._shared = frozenset(session for session, count in counts.items() if count > 1)
        if self._shared:
            self._hide_copies()

    def page(self) -> dict[str, object]:
        request = self._request
        if self._only is not None:
            standing = self._standings[self._only.generation]
            bindings.check(self._only, standing, request.expected_source_hash, request.expected_lineage_fingerprint)
            if request.entry_range is not None:
                self._narrow(self._only, standing, request.entry_range)
        matches = self._matches()
        if request.offset + request.page_size > MAX_ITEMS and matches.total > MAX_ITEMS:
            self._coverage.reasons.add("candidate_item_budget")
        hits = list(self._hits(matches.page))
        return self._bounded(matches.total, hits)

    def _narrow(self, source: Source, standing: Standing, within: EntryRange) -> None:
        """Find nothing outside of the range; indices are never clamped."""
        if not 0 <= within.first <= within.last < standing.records:
            raise OutOfBounds(
                f"entryRange {within.first}..{within.last} is not within the session's {standing.records} records.",
                details={"entryCount": standing.records},
            )
        outside = [
            row
            for row in self._view.rows(source)
            if standing.holds(row) and not within.first <= standing.rank(row) <= within.last
        ]
        self._standings.hide(source.generation, outside)

    def _hide_copies(self) -> None:
        """Of identical entries in several files of one session, find the one in the newest file."""
        seen: dict[tuple[str, str], set[tuple[int | None, int]]] = {}
        for source in self._selection.sources:
            if source.session not in self._shared:
                continue
            standing = self._standings[source.generation]
            copies = []
            for row in filter(standing.shows, self._view.rows(source)):
                known = seen.setdefault((source.session, row.id), set())
                if (row.time, row.crc) in known:
                    copies.append(row)
                known.add((row.time, row.crc))
            self._standings.hide(source.generation, copies)

    # Matching

    def _matches(self) -> _Matches:
        request = self._request
        text = request.query.strip()
        if not text:
            return self._browsed()
        if request.query_mode == "phrase":
            return self._phrased(folded(text), text)
        terms = query_terms(text)
        if not terms:
            self._coverage.reasons.add("query_has_no_terms")
            return _Matches(0, ())
        words = Words(terms, request.query_match, EVEN if self._filters.structural else None)
        total, ranked = self._view.search(words, self._filters, self._standings, self._end)
        return _Matches(total, ranked[self._start : self._end])

    def _phrased(self, wanted: str, text: str) -> _Matches:
        weights = EVEN if self._filters.structural else WEIGHTS
        total, places = self._view.places(phrase.candidates(text), self._filters, self._standings, MAX_CANDIDATES)
        if total > MAX_CANDIDATES:
            self._coverage.reasons.add("candidate_entry_budget")
        scored = []
        for start in range(0, len(places), VERIFIED_AT_ONCE):
            some = places[start : start + VERIFIED_AT_ONCE]
            for place, _, _, event in self._events(some):
                if isinstance(event, str):
                    self._coverage.reasons.add(event)
                else:
                    score = phrase.weight(event, self._text(event), wanted, weights)
                    if score is not None:
                        scored.append((score, event.entry.time or 0, place))
        scored.sort(key=lambda hit: (-hit[0], -hit[1], self._view.source(hit[2].generation).session, hit[2]))
        return _Matches(len(scored), [(score, place) for score, _, place in scored[self._start : self._end]])

    def _browsed(self) -> _Matches:
        """Newest session first, each from its beginning."""
        score = 1.0 if self._filters.structural else 0.0
        if self._filters:
            listed = self._filtered_places()
        else:
            sizes = {generation: self._size(generation) for generation in self._standings.sources}
            listed = (sum(sizes.values()), self._in_order(sizes, self._start))
        total, places = listed
        return _Matches(total, [(score, place) for place in islice(places, self._end - self._start)])

    def _size(self, generation: int) -> int:
        """Records of one source that browsing shows."""
        source, standing = self._view.source(generation), self._standings[generation]
        if not standing.hidden and not standing.removed:
            return standing.records
        return sum(1 for _ in self._shown(source))

    def _shown(self, source: Source) -> Iterator[Row]:
        return filter(self._standings[source.generation].shows, self._view.rows(source))

    def _in_order(self, sizes: Mapping[int, int], offset: int) -> Iterator[Place]:
        for source in self._selection.sources:
            if offset >= sizes[source.generation]:
                offset -= sizes[source.generation]
                continue
            for row in islice(self._shown(source), offset, None):
                yield Place(source.generation, row.position, row.child)
            offset = 0

    def _filtered_places(self) -> tuple[int, Iterator[Place]]:
        total, places = self._view.places(Everything(), self._filters, self._standings, MAX_CANDIDATES)
        if total <= MAX_CANDIDATES:
            rank = {source.generation: at for at, source in enumerate(self._selection.sources)}
            places.sort(key=lambda place: (rank[place.generation], place))
            return len(places), islice(places, self._start, None)
        exact = self._view.total(Everything(), self._filters, self._standings)
        return exact, islice(self._filtered_rows(), self._start, None)

    def _filtered_rows(self) -> Iterator[Place]:
        for source in self._selection.sources:
            for row in self._shown(source):
                if self._filters.passes(row):
                    yield Place(source.generation, row.position, row.child)

    # Evidence

    def _events(self, places: Sequence[Place]) -> Iterator[tuple[Place, Source, Row, Event | str]]:
        located = []
        for place in places:
            row = self._view.row(place)
            if row is not None:
                located.append((place, self._view.source(place.generation), row))
        found = evidence.events([(source, row) for _, source, row in located])
        for (place, source, row), event in zip(located, found, strict=True):
            yield place, source, row, event

    def _text(self, event: Event) -> str:
        return normalise.text(event, thinking=self._policy.index_thinking, output=self._policy.index_tool_output)

    def _hits(self, page: Sequence[tuple[float, Place]]) -> Iterator[dict[str, object]]:
        scores = {place: score for score, place in page}
        for place, source, row, event in self._events([place for _, place in page]):
            part, truncated, masks = "", False, 0
            if isinstance(event, str):
                self._coverage.reasons.add(event)
            else:
                text = self._text(event)
                start, end = snippet.window(len(text), self._anchor(text), self._request.snippet_chars)
                whole = shown.text(text, self._context)
                part, truncated = snippet.cut(whole.text, start, end), end - start < len(text)
                masks = whole.masks(start, end)
            yield self._hit(source, row, scores[place], part, truncated, masks)

    def _anchor(self, text: str) -> int:
        query = self._request.query.strip()
        if not query or len(text) <= self._request.snippet_chars:
            return 0
        if self._request.query_mode == "phrase":
            return snippet.phrase_anchor(text, query)
        return snippet.term_anchor(text, query_terms(query))

    def _hit(self, source: Source, row: Row, score: float, part: str, truncated: bool, masks: int) -> dict[str, object]:
        standing = self._standings[source.generation]
        index = standing.rank(row)
        follow = ExpandRequest(
            session=source.path,
            branches=self._request.branches,
            indices=(index,),
            expected_source_hash=source.sha256,
            expected_lineage_fingerprint=standing.fingerprint,
        )
        token = envelope.call("memory.expand", follow)
        token["args"] = {"branches": self._request.branches, **_args(token)}
        hit: dict[str, object] = {
            "kind": "entry",
            "sessionId": envelope.short(source.session),
            "tier": "hot",
            "index": index,
            "entryId": envelope.short(row.id),
            "parentId": envelope.short(row.parent),
            "operationAddress": envelope.short(row.address),
            "type": envelope.short(row.type),
            "role": envelope.short(row.role),
            "tool": envelope.short(row.tool),
            "ref": envelope.short(row.ref),
            "provider": envelope.short(row.provider),
            "action": envelope.short(row.action),
            **({} if row.outcome is None else {"outcome": row.outcome}),
            "timestamp": row.time,
            "isError": bool(row.error),
            "score": round(score, 6),
            "snippet": part,
            "truncated": truncated,
            "follow": token,
        }
        if source.name:
            name = shown.text(source.name, self._context)
            hit["name"], masks = envelope.short(name.text), masks + len(name.spans)
        if masks:
            hit["redacted"] = masks
        if source.kind != "session":
            hit["sessionKind"] = source.kind
        if source.session in self._shared:
            hit["file"] = source.path
        return hit

    def _bounded(self, total: int, hits: list[dict[str, object]]) -> dict[str, object]:
        """The page within its envelope: trailing hits are left to the next one, the first is cut."""
        sizes = [envelope.size(hit) + 1 for hit in hits]
        while True:
            page = {
                "total": total,
                "hits": hits,
                "next": self._next(total, len(hits)),
                "coverage": self._coverage.as_json(),
                **shown.redacted(hits),
            }
            over = envelope.size({**page, "hits": []}) + sum(sizes[: len(hits)]) - envelope.ENVELOPE_CHARS
            if over <= 0 or not hits:
                return page
            if len(hits) == 1:
                return {**page, "hits": [_smaller(hits[0], over)]}
            hits = hits[:-1]

    def _next(self, total: int, returned: int) -> dict[str, object] | None:
        request = self._request
        offset = request.offset + returned
        if not returned or offset >= min(total, MAX_ITEMS):
            return None
        following = replace(request, offset=offset)
        if self._only is not None:
            following = replace(
                following,
                scope=scope.SESSION + self._only.path,
                expected_source_hash=self._only.sha256,
                expected_lineage_fingerprint=self._standings[self._only.generation].fingerprint,
            )
        return envelope.call("memory.recall", following)


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


def _smaller(hit: dict[str, object], over: int) -> dict[str, object]:
    """A hit that takes *over* less of the envelope, as far as its snippet can give."""
    window = str(hit["snippet"])
    return {**hit, "snippet": envelope.prefix(window, envelope.size(window) - over - 3) + "…", "truncated": True}


def _args(token: Mapping[str, object]) -> Mapping[str, object]:
    args = token["args"]
    return args if isinstance(args, Mapping) else {}
