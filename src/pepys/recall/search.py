"""`memory.recall`: one ranked stream of entries and cold sessions, in pages that lead on."""

from __future__ import annotations

from dataclasses import replace

from pepys.errors import InvalidArgument, PepysError
from pepys.index.history import History
from pepys.index.view import View
from pepys.model.context import Context
from pepys.model.coverage import Coverage
from pepys.model.query import RecallRequest
from pepys.recall import budgets, envelope, scope, shown
from pepys.recall.hits import Json, hits
from pepys.recall.look import Look
from pepys.recall.matches import matches


def recall(history: History, context: Context, request: RecallRequest) -> Json:
    """Answer a recall request; the spec's errors are part of the page.

    Raises:
        InvalidArgument: The request contradicts itself.
    """
    name = scope.named(request.scope)
    _check(request, name)
    try:
        return history.answer(lambda view: _page(view, context, request, name), scope.files(name, context))
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


def _refused(error: PepysError) -> Json:
    coverage = Coverage(reasons={error.code}).as_json()
    return {"total": 0, "hits": [], "next": None, "coverage": coverage, "error": error.as_json()}


def _page(view: View, context: Context, request: RecallRequest, name: str) -> Json:
    look = Look(view, context, request, name)
    total, page = matches(look)
    budgeted = look.policy.hot_sessions is not None
    if total > budgets.ITEMS and (budgeted or request.offset + request.page_size >= budgets.ITEMS):
        look.coverage.reasons.add("candidate_item_budget")
        if budgeted:
            total = budgets.ITEMS  # unknown omitted candidates stay outside the totals (spec 1)
    return _bounded(look, total, list(hits(look, page)))


def _bounded(look: Look, total: int, found: list[Json]) -> Json:
    """The page within its envelope: trailing hits are left to the next one, the first is cut."""
    sizes = [envelope.size(hit) + 1 for hit in found]
    while True:
        page: Json = {
            "total": total,
            "hits": found,
            "next": _next(look, total, len(found)),
            "coverage": look.coverage.as_json(),
            **shown.redacted(found),
        }
        over = envelope.size({**page, "hits": []}) + sum(sizes[: len(found)]) - envelope.ENVELOPE_CHARS
        if over <= 0 or not found:
            return page
        if len(found) == 1:
            return {**page, "hits": [_smaller(found[0], over)]}
        found = found[:-1]


def _smaller(hit: Json, over: int) -> Json:
    """A hit that takes *over* less of the envelope, as far as its snippet can give."""
    window = str(hit.get("snippet", ""))
    if not window:
        return hit
    return {**hit, "snippet": envelope.prefix(window, envelope.size(window) - over - 3) + "…", "truncated": True}


def _next(look: Look, total: int, returned: int) -> Json | None:
    offset = look.request.offset + returned
    if not returned or offset >= min(total, budgets.ITEMS):
        return None
    following = replace(look.request, offset=offset)
    if look.only is not None:
        following = replace(
            following,
            scope=scope.SESSION + look.only.path,
            expected_source_hash=look.only.sha256,
            expected_lineage_fingerprint=look.standings[look.only.generation].fingerprint,
        )
    return envelope.call("memory.recall", following)
