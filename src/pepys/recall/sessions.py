"""`memory.sessions`: the sessions of a scope, newest first."""

from __future__ import annotations

from pepys.index.history import History
from pepys.index.source import Source
from pepys.index.standing import Standing
from pepys.index.view import View
from pepys.model.context import Context
from pepys.model.query import SessionsRequest
from pepys.recall import scope, shown


def sessions(history: History, context: Context, request: SessionsRequest) -> dict[str, object]:
    """List the sessions of a scope.

    Raises:
        SessionNotFound: An explicit session matches nothing.
        AmbiguousSession: An explicit id belongs to several files.
    """
    name = scope.named(request.scope)
    return history.answer(lambda view: _rows(view, context, request, name), scope.files(name, context))


def _rows(view: View, context: Context, request: SessionsRequest, name: str) -> dict[str, object]:
    selection = scope.select(view, name, context, subagents=request.subagents)
    live = scope.live_branches(selection, context)
    standings = view.standings(selection.sources, request.branches, live, own=True)
    most = min(request.limit or context.config.memory.max_sessions, context.config.memory.max_sessions)
    listed = selection.sources[:most]
    rows = [_row(source, standings[source.generation], context, request) for source in listed]
    return {
        "scope": name,
        "branches": request.branches,
        "sessions": rows,
        "total": len(selection.found),
        "coverage": scope.coverage(view, selection, standings, request.branches, own=True).as_json(),
        **shown.redacted(rows),
    }


def _row(source: Source, standing: Standing, context: Context, request: SessionsRequest) -> dict[str, object]:
    row: dict[str, object] = {
        "id": source.session,
        "file": source.path,
        "cwd": source.cwd or "",
        "mtime": source.stamp.mtime_ns / 1_000_000,
        "entryCount": standing.records,
        "tier": source.tier,
        "branches": request.branches,
        "lineageFingerprint": standing.fingerprint,
        "host": source.host,
        "kind": source.kind,
    }
    if source.name:
        name = shown.text(source.name, context)
        row |= {"name": name.text, **({"redacted": len(name.spans)} if name.spans else {})}
    return row
