"""`memory.recall`: one ranked stream of entries, re-read from their sources, with the calls that go on from it."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import NamedTuple

from pepys.errors import InvalidArgument, OutOfBounds, PepysError
from pepys.index import document
from pepys.index.digest import Digest
from pepys.index.document import Place
from pepys.index.engines.base import EVEN, WEIGHTS, Everything, Filters, Runs, Words
from pepys.index.history import History
from pepys.index.source import Row, Source
from pepys.index.standing import Standing
from pepys.index.view import View
from pepys.model.context import Context
from pepys.model.coverage import Coverage
from pepys.model.entry import Event
from pepys.model.query import EntryRange, ExpandRequest, RecallRequest
from pepys.recall import bindings, cold, envelope, evidence, phrase, scope, shown, snippet
from pepys.recall.cold import Candidate
from pepys.text import folded, query_terms

MAX_ITEMS = 10_000
"""Paging ends here, with `candidate_item_budget` (spec 1)."""

MAX_CANDIDATES = 50_000
"""Entries of one search that are looked at one by one, with `candidate_entry_budget` beyond (spec 1)."""

MAX_DIGESTS = 10_000
"""Cold sessions that are candidates of one search, with `candidate_digest_budget` beyond (spec 1)."""

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
    page: Sequence[tuple[float, Place | Candidate]]  # from the requested offset on


class _Recall:
    """One request over one view."""

    def __init__(self, view: View, context: Context, request: RecallRequest, name: str) -> None:
        self._view, self._context, self._request = view, context, request
        self._policy = view.policy
        self._selection = scope.select(view, name, context, subagents=request.subagents)
        live = scope.live_branches(self._selection, context)
        if name.startswith(scope.SESSION) or live:
            # Named explicitly, or on a branch that no digest knows: its entries are wanted, whatever its tier.
            found = [view.resolved(source, searchable=True) for source in self._selection.sources]
            self._selection.sources[:] = found
        self._filters = _filters(request)
        # Who names a tool or an operation asks for what it says, whoever wrote it.
        self._own = request.include_own or self._filters.names_operations
        sources = self._selection.sources
        standings = view.standings(sources, request.branches, live, own=self._own)
        self._coverage = scope.coverage(view, self._selection, standings, request.branches, own=self._own)
        self._read = [source for source in sources if view.reads(source)]
        self._cold = [source for source in sources if not view.reads(source)]
        self._standings = view.standings(self._read, request.branches, live, own=self._own)
        self._only = self._read[0] if self._selection.explicit and self._read else None
        self._start = min(request.offset, MAX_ITEMS)
        self._end = min(request.offset + request.page_size, MAX_ITEMS)
        counts = Counter(source.session for source in sources)
        self._shared = frozenset(session for session, count in counts.items() if count > 1)
        if self._shared:
            self._hide_copies()
        self._offsets: dict[Place, int] = {}  # where a pattern matched first

    def page(self) -> dict[str, object]:
        request = self._request
        if self._only is not None:
            standing = self._standings[self._only.generation]
            bindings.check(self._only, standing, request.expected_source_hash, request.expected_lineage_fingerprint)
            if request.entry_range is not None:
                self._narrow(self._only, standing, request.entry_range)
        if self._policy.hot_sessions is not None:
            self._keep_to_budget()
        matches = self._matches()
        beyond = request.offset + request.page_size > MAX_ITEMS or self._policy.hot_sessions is not None
        if beyond and matches.total > MAX_ITEMS:
            self._coverage.reasons.add("candidate_item_budget")
            if self._policy.hot_sessions is not None:
                matches = matches._replace(total=MAX_ITEMS)
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

    def _keep_to_budget(self) -> None:
        """Find nothing beyond the 50,000th entry that passes the filters, in the order of the sessions (spec 1)."""
        sources = self._read
        held = sum(self._standings[source.generation].records for source in sources)
        if held <= MAX_CANDIDATES or self._view.total(Everything(), self._filters, self._standings) <= MAX_CANDIDATES:
            return
        self._coverage.reasons.add("candidate_entry_budget")
        left = MAX_CANDIDATES
        for source in sources:
            passing = [row for row in self._shown(source) if self._filters.passes(row)]
            self._standings.hide(source.generation, passing[max(left, 0) :])
            left -= len(passing)

    def _hide_copies(self) -> None:
        """Of identical entries in several files of one session, find the one in the newest file."""
        seen: dict[tuple[str, str], set[tuple[int | None, int]]] = {}
        for source in self._read:
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
        match request.query_mode:
            case "phrase":
                return self._phrased(folded(text), text)
            case "regex":
                return self._patterned(text)
        terms = query_terms(text)
        if not terms:
            self._coverage.reasons.add("query_has_no_terms")
            return _Matches(0, ())
        every = request.query_match == "all"
        words = Words(terms, request.query_match, EVEN if self._filters.structural else None)
        total, ranked = self._view.search(words, self._filters, self._standings, self._end)
        found = self._candidates(cold.literal(terms, every=every))
        if found and every and len(terms) > 1:
            self._coverage.reasons.add("cold_all_terms_requires_hydration")
        return self._merged(total, ranked, found)

    def _candidates(self, wanted: cold.Wanted) -> list[Candidate]:
        return self._within_budget(cold.candidates(self._digests(), wanted, self._filters))

    def _within_budget(self, found: list[Candidate]) -> list[Candidate]:
        if found and self._filters and self._request.query.strip():
            self._coverage.reasons.add("cold_structural_filter_requires_hydration")
        if len(found) > MAX_DIGESTS:
            self._coverage.reasons.add("candidate_digest_budget")
        return found[:MAX_DIGESTS]

    def _digests(self) -> Iterator[tuple[Source, Digest]]:
        for source in self._cold:
            digest = self._view.digest(source, self._request.branches)
            if digest is not None:
                yield source, digest

    def _merged(self, total: int, ranked: Sequence[tuple[float, Place]], found: Sequence[Candidate]) -> _Matches:
        """One stream, best first; of equal scores, entries before sessions and newer sessions first."""
        stream: list[tuple[float, Place | Candidate]] = [*ranked, *((one.score, one) for one in found)]
        if found:
            stream.sort(key=lambda hit: -hit[0])
        return _Matches(total + len(found), stream[self._start : self._end])

    def _phrased(self, wanted: str, text: str) -> _Matches:
        weights = EVEN if self._filters.structural else WEIGHTS
        runs = phrase.candidates(text)
        scored = []
        for place, event in self._verifiable(runs):
            score = phrase.weight(event, self._text(event), wanted, weights)
            if score is not None:
                scored.append((score, place, event))
        found = self._candidates(cold.phrase(runs.runs))
        if found:
            self._coverage.reasons.add("cold_phrase_requires_hydration")
        return self._merged(len(scored), self._by_weight(scored), found)

    def _patterned(self, pattern: str) -> _Matches:
        """Records that a regular expression matches, then cold sessions with words that it matches."""
        from pepys.recall import patterns, regex

        memory = self._context.config.memory
        matching = patterns.Matching(
            pattern,
            regex.Limits(
                memory.regex_max_pattern_bytes,
                memory.regex_max_haystack_terms,
                memory.regex_max_haystack_bytes,
                memory.regex_timeout_ms,
            ),
        )
        events = self._verifiable(matching.candidates(), in_order=True) if matching.error is None else ()
        digests = self._digests() if matching.error is None else ()
        result = matching.run(((place, event, self._text(event)) for place, event in events), digests)
        self._coverage.reasons |= result.reasons
        self._coverage.error = result.error
        weights = EVEN if self._filters.structural else WEIGHTS
        scored = []
        for place, event, offset in result.records:
            self._offsets[place] = offset
            scored.append((weights[document.field_at(event, self._policy, offset)], place, event))
        found = []
        for source, digest, terms in result.digests:
            structural = cold.passing(digest, self._filters)
            if structural is not None:
                found.append(Candidate(source, digest, float(terms), terms, structural))
        if self._cold and result.error is None and not matching.within_words:
            self._coverage.reasons.add("cold_regex_requires_hydration")
        return self._merged(len(scored), self._by_weight(scored), self._within_budget(found))

    def _verifiable(self, runs: Runs, *, in_order: bool = False) -> Iterator[tuple[Place, Event]]:
        """The events of records that may hold what is sought, lazily; of the newest session first if asked."""
        total, places = self._view.places(runs, self._filters, self._standings, MAX_CANDIDATES)
        if total > MAX_CANDIDATES:
            self._coverage.reasons.add("candidate_entry_budget")
        if in_order:
            rank = {source.generation: at for at, source in enumerate(self._selection.sources)}
            places.sort(key=lambda place: (rank[place.generation], place))
        for start in range(0, len(places), VERIFIED_AT_ONCE):
            for place, _, _, event in self._events(places[start : start + VERIFIED_AT_ONCE]):
                if isinstance(event, str):
                    self._coverage.reasons.add(event)
                else:
                    yield place, event

    def _by_weight(self, scored: Iterable[tuple[float, Place, Event]]) -> list[tuple[float, Place]]:
        """Best first; ties newest first, then by session and append position."""
        ordered = sorted(
            ((score, event.entry.time or 0, place) for score, place, event in scored),
            key=lambda hit: (-hit[0], -hit[1], self._view.source(hit[2].generation).session, hit[2]),
        )
        return [(score, place) for score, _, place in ordered]

    def _browsed(self) -> _Matches:
        """Newest session first, each from its beginning; what is cold is older than what is hot."""
        score = 1.0 if self._filters.structural else 0.0
        if self._filters:
            listed = self._filtered_places()
        else:
            sizes = {generation: self._size(generation) for generation in self._standings.sources}
            listed = (sum(sizes.values()), self._in_order(sizes, self._start))
        total, places = listed
        sessions = (
            Candidate(source, digest, score, 0, structural)
            for source, digest in self._digests()
            if (structural := cold.passing(digest, self._filters)) is not None
        )
        found = self._within_budget(list(sessions))
        page: list[tuple[float, Place | Candidate]] = [(score, place) for place in islice(places, self._wanted)]
        page += [(score, one) for one in found[max(self._start - total, 0) :]]
        return _Matches(total + len(found), page[: self._wanted])

    @property
    def _wanted(self) -> int:
        return self._end - self._start

    def _size(self, generation: int) -> int:
        """Records of one source that browsing shows."""
        source, standing = self._view.source(generation), self._standings[generation]
        if not standing.hidden and not standing.removed:
            return standing.records
        return sum(1 for _ in self._shown(source))

    def _shown(self, source: Source) -> Iterator[Row]:
        return filter(self._standings[source.generation].shows, self._view.rows(source))

    def _in_order(self, sizes: Mapping[int, int], offset: int) -> Iterator[Place]:
        for source in self._read:
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
        for source in self._read:
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
        return document.text(event, self._policy)

    def _hits(self, page: Sequence[tuple[float, Place | Candidate]]) -> Iterator[dict[str, object]]:
        entries = iter(self._events([place for _, place in page if isinstance(place, Place)]))
        for score, found in page:
            if isinstance(found, Candidate):
                yield self._session(found)
                continue
            following = next(entries, None)
            if following is None:
                continue
            place, source, row, event = following
            part, truncated, masks = "", False, 0
            if isinstance(event, str):
                self._coverage.reasons.add(event)
            else:
                text, entire = self._text(event), document.text(event, self._policy.of_whole_entries())
                start, end = snippet.window(len(text), self._anchor(place, text), self._request.snippet_chars)
                whole = shown.text(entire, self._context)
                part, truncated = snippet.cut(whole.text[: len(text)], start, end), end - start < len(entire)
                masks = whole.masks(start, end)
            yield self._hit(source, row, score, part, truncated, masks)

    def _anchor(self, place: Place, text: str) -> int:
        query = self._request.query.strip()
        if not query or len(text) <= self._request.snippet_chars:
            return 0
        match self._request.query_mode:
            case "phrase":
                return snippet.phrase_anchor(text, query)
            case "regex":
                return self._offsets[place]
        return snippet.term_anchor(text, query_terms(query))

    def _session(self, found: Candidate) -> dict[str, object]:
        """A cold session (spec 1, "Compact results"): evidence of the session only, and a call that resolves it."""
        source, request = found.source, self._request
        standing = self._view.standings([source], request.branches, {}, own=True)[source.generation]
        resolving = replace(
            request,
            scope=scope.SESSION + source.path,
            offset=0,
            entry_range=None,
            expected_source_hash=source.sha256,
            expected_lineage_fingerprint=standing.fingerprint,
        )
        return {
            "kind": "session",
            "sessionId": envelope.short(source.session),
            "tier": "cold",
            "cwd": envelope.short(source.cwd or ""),
            "lastTimestamp": cold.last_time(found.digest),
            "score": round(found.score, 6),
            "matchedTerms": found.terms,
            "matchedStructuralEntries": found.structural,
            **({"name": envelope.short(source.name)} if source.name else {}),
            "follow": envelope.call("memory.recall", resolving),
        }

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
            "tier": source.tier,
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
