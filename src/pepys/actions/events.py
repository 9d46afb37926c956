"""The events provider's actions."""

from __future__ import annotations

from pepys.actions.base import Parts
from pepys.model.events import ReadRequest, SearchRequest, TraceRequest


def search(parts: Parts, request: SearchRequest) -> dict[str, object]:
    """`events.search`."""
    from pepys.events import search

    return search.search(parts.history, parts.context, request)


def read(parts: Parts, request: ReadRequest) -> dict[str, object]:
    """`events.read`."""
    from pepys.events import read

    return read.read(parts.history, parts.context, request)


def trace(parts: Parts, request: TraceRequest) -> dict[str, object]:
    """`events.trace`."""
    from pepys.events import trace

    return trace.trace(parts.history, parts.context, request)
