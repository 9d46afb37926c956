"""The memory provider's actions."""

from __future__ import annotations

from pepys.actions.base import Parts
from pepys.model.query import ExpandRequest, RecallRequest, SessionsRequest


def recall(parts: Parts, request: RecallRequest) -> dict[str, object]:
    """`memory.recall`."""
    from pepys.recall import search

    return search.recall(parts.history, parts.context, request)


def sessions(parts: Parts, request: SessionsRequest) -> dict[str, object]:
    """`memory.sessions`."""
    from pepys.recall import sessions

    return sessions.sessions(parts.history, parts.context, request)


def expand(parts: Parts, request: ExpandRequest) -> dict[str, object]:
    """`memory.expand`."""
    from pepys.recall import expand

    return expand.expand(parts.history, parts.context, request)
