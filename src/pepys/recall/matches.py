"""What a query finds: one stream of records and cold sessions, best first (spec 1, "Exact lexical queries")."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import NamedTuple

from pepys.index import document
from pepys.index.document import Place
from pepys.index.engines.base import EVEN, WEIGHTS, Everything, Runs, Words
from pepys.index.source import Source
from pepys.model.entry import Event, Field
from pepys.recall import budgets, cold, phrase
from pepys.recall.cold import Candidate
from pepys.recall.look import Look
from pepys.text import folded, query_terms

VERIFIED_AT_ONCE = 500


class Found(NamedTuple):
    """One hit on its way to a page."""

    score: float
    at: Place | Candidate
    offset: int | None = None  # where in the record's text a pattern matched first


class Matches(NamedTuple):
    """What a query found."""

    total: int
    page: Sequence[Found]  # from the requested offset on


def matches(look: Look) -> Matches:
    """What the query of a recall finds. Reasons why that may not be all go to the look's coverage."""
    request, text = look.request, look.request.query.strip()
    if not text:
        return _browsed(look)
    match request.query_mode:
        case "phrase":
            return _phrased(look, text)
        case "regex":
            return _patterned(look, text)
    terms = query_terms(text)
    if not terms:
        look.coverage.reasons.add("query_has_no_terms")
        return Matches(0, ())
    every = request.query_match == "all"
    words = Words(terms, request.query_match, EVEN if look.filters.structural else None)
    total, ranked = look.view.search(words, look.filters, look.standings, look.end)
    candidates = _candidates(look, cold.literal(terms, every=every))
    if candidates and every and len(terms) > 1:
        look.coverage.reasons.add("cold_all_terms_requires_hydration")
    return _merged(look, total, [Found(score, place) for score, place in ranked], candidates)


# By the text of records


def _phrased(look: Look, text: str) -> Matches:
    wanted, runs, weights = folded(text), phrase.candidates(text), _weights(look)
    scored = []
    for place, event in _verifiable(look, runs):
        score = phrase.weight(event, look.text(event), wanted, weights)
        if score is not None:
            scored.append(_Scored(score, event.entry.time or 0, place, None))
    candidates = _candidates(look, cold.phrase(runs.runs))
    if candidates:
        look.coverage.reasons.add("cold_phrase_requires_hydration")
    return _merged(look, len(scored), _by_weight(look, scored), candidates)


def _patterned(look: Look, pattern: str) -> Matches:
    """Records that a regular expression matches, then cold sessions with words that it matches."""
    from pepys.recall import patterns, regex

    memory = look.context.config.memory
    limits = regex.Limits(
        memory.regex_max_pattern_bytes,
        memory.regex_max_haystack_terms,
        memory.regex_max_haystack_bytes,
        memory.regex_timeout_ms,
    )
    matching = patterns.Matching(pattern, limits)
    if matching.error is None:
        events = _verifiable(look, matching.candidates(), in_order=True)
        result = matching.run(((place, event, look.text(event)) for place, event in events), look.digests())
    else:
        result = matching.run((), ())
    look.coverage.reasons |= result.reasons
    look.coverage.error = result.error
    if look.has_cold and result.error is None and not matching.within_words:
        look.coverage.reasons.add("cold_regex_requires_hydration")
    weights = _weights(look)
    scored = [
        _Scored(weights[document.field_at(event, look.policy, offset)], event.entry.time or 0, place, offset)
        for place, event, offset in result.records
    ]
    candidates = [
        Candidate(source, digest, float(words), words, structural)
        for source, digest, words in result.digests
        if (structural := cold.passing(digest, look.filters)) is not None
    ]
    return _merged(look, len(scored), _by_weight(look, scored), _within_budget(look, candidates))


def _weights(look: Look) -> Mapping[Field, float]:
    return EVEN if look.filters.structural else WEIGHTS


def _verifiable(look: Look, runs: Runs, *, in_order: bool = False) -> Iterator[tuple[Place, Event]]:
    """The events of records that may hold what is sought, lazily; of the newest session first if asked."""
    total, places = look.view.places(runs, look.filters, look.standings, budgets.ENTRIES)
    if total > budgets.ENTRIES:
        look.coverage.reasons.add("candidate_entry_budget")
    if in_order:
        places = look.in_order(places)
    for start in range(0, len(places), VERIFIED_AT_ONCE):
        for place, _, _, event in look.events(places[start : start + VERIFIED_AT_ONCE]):
            if isinstance(event, str):
                look.coverage.reasons.add(event)
            else:
                yield place, event


class _Scored(NamedTuple):
    """A verified record."""

    score: float
    time: int  # ms
    place: Place
    offset: int | None


def _by_weight(look: Look, scored: Iterable[_Scored]) -> list[Found]:
    """Best first; ties newest first, then by session and append position."""

    def key(hit: _Scored) -> tuple[float, int, str, Place]:
        return -hit.score, -hit.time, look.view.source(hit.place.generation).session, hit.place

    return [Found(hit.score, hit.place, hit.offset) for hit in sorted(scored, key=key)]


# Cold sessions


def _candidates(look: Look, wanted: cold.Wanted) -> list[Candidate]:
    return _within_budget(look, cold.candidates(look.digests(), wanted, look.filters))


def _within_budget(look: Look, candidates: list[Candidate]) -> list[Candidate]:
    if candidates and look.filters and look.request.query.strip():
        look.coverage.reasons.add("cold_structural_filter_requires_hydration")
    if len(candidates) > budgets.DIGESTS:
        look.coverage.reasons.add("candidate_digest_budget")
    return candidates[: budgets.DIGESTS]


def _merged(look: Look, total: int, ranked: Sequence[Found], candidates: Sequence[Candidate]) -> Matches:
    """One stream, best first; of equal scores, entries before sessions and newer sessions first."""
    stream = [*ranked, *(Found(one.score, one) for one in candidates)]
    if candidates:
        stream.sort(key=lambda found: -found.score)
    return Matches(total + len(candidates), stream[look.start : look.end])


# Without a query


def _browsed(look: Look) -> Matches:
    """Newest session first, each from its beginning; what is cold is older than what is hot."""
    score = 1.0 if look.filters.structural else 0.0
    if look.filters:
        total, places = _filtered(look)
    else:
        sizes = {source.generation: _size(look, source) for source in look.read}
        total, places = sum(sizes.values()), _from(look, sizes, look.start)
    candidates = _within_budget(
        look,
        [
            Candidate(source, digest, score, 0, structural)
            for source, digest in look.digests()
            if (structural := cold.passing(digest, look.filters)) is not None
        ],
    )
    wanted = look.end - look.start
    page = [Found(score, place) for place in islice(places, wanted)]
    page += [Found(score, one) for one in candidates[max(look.start - total, 0) :]]
    return Matches(total + len(candidates), page[:wanted])


def _size(look: Look, source: Source) -> int:
    """Records of one source that browsing shows."""
    standing = look.standings[source.generation]
    if not standing.hidden and not standing.removed:
        return standing.records
    return sum(1 for _ in look.shown(source))


def _filtered(look: Look) -> tuple[int, Iterator[Place]]:
    """How many records pass the filters, and their places from the requested offset on."""
    total, places = look.view.places(Everything(), look.filters, look.standings, budgets.ENTRIES)
    if total <= budgets.ENTRIES:
        return len(places), islice(look.in_order(places), look.start, None)
    exact = look.view.total(Everything(), look.filters, look.standings)
    passing = (
        Place(source.generation, row.position, row.child)
        for source in look.read
        for row in look.shown(source)
        if look.filters.passes(row)
    )
    return exact, islice(passing, look.start, None)


def _from(look: Look, sizes: Mapping[int, int], offset: int) -> Iterator[Place]:
    for source in look.read:
        if offset >= sizes[source.generation]:
            offset -= sizes[source.generation]
            continue
        for row in islice(look.shown(source), offset, None):
            yield Place(source.generation, row.position, row.child)
        offset = 0
