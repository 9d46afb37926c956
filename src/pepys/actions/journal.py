"""The journal provider's actions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pepys.actions.base import Parts
from pepys.model.journal import ExpandRequest, SearchRequest, StatusRequest, TranscriptRequest, WriteRequest

if TYPE_CHECKING:
    from pepys.journal.runtime import Runtime


def _runtime(parts: Parts) -> Runtime:
    assert parts.runtime is not None, "the journal is called through a workspace"  # noqa: S101
    return parts.runtime()


def search(parts: Parts, request: SearchRequest) -> dict[str, object]:
    """`journal.search`."""
    from pepys.journal.recall import search

    return search(parts.context, _runtime(parts), request)


def expand(parts: Parts, request: ExpandRequest) -> dict[str, object]:
    """`journal.expand`."""
    from pepys.journal.recall import expand

    return expand(parts.context, _runtime(parts), request)


def transcript(parts: Parts, request: TranscriptRequest) -> dict[str, object]:
    """`journal.transcript`."""
    from pepys.journal.transcript import transcript

    return transcript(parts.context, request)


def write(parts: Parts, request: WriteRequest) -> dict[str, object]:
    """`journal.write`."""
    from pepys.journal.write import write

    return write(parts.context, _runtime(parts), request)


def status(parts: Parts, request: StatusRequest) -> dict[str, object]:
    """`journal.status`."""
    from pepys.journal.status import status

    return status(parts.context, _runtime(parts))
