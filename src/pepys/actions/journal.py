"""The journal provider's actions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pepys.actions.base import Parts
from pepys.model.journal import (
    CompactRequest,
    EventRequest,
    ExpandRequest,
    ForgetRequest,
    PromptRequest,
    SearchRequest,
    SettledRequest,
    StatusRequest,
    TranscriptRequest,
    WriteRequest,
)

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


def forget(parts: Parts, request: ForgetRequest) -> dict[str, object]:
    """`journal.forget`."""
    from pepys.journal.forget import forget

    return forget(parts.context, _runtime(parts), request)


def compact(parts: Parts, request: CompactRequest) -> dict[str, object]:
    """`journal.compact`."""
    from pepys.journal.compact import compact

    return compact(parts.context, _runtime(parts))


def status(parts: Parts, request: StatusRequest) -> dict[str, object]:
    """`journal.status`."""
    from pepys.journal.status import status

    return status(parts.context, _runtime(parts))


def start(parts: Parts, request: EventRequest) -> dict[str, object]:
    """`journal.start`."""
    from pepys.journal import hooks

    return hooks.start(parts.context, _runtime(parts))


def snapshot(parts: Parts, request: EventRequest) -> dict[str, object]:
    """`journal.snapshot`."""
    from pepys.journal import hooks

    return hooks.current(parts.context)


def auto_context(parts: Parts, request: PromptRequest) -> dict[str, object]:
    """`journal.autoContext`."""
    from pepys.journal import hooks

    return hooks.auto_context(parts.context, request)


def settled(parts: Parts, request: SettledRequest) -> dict[str, object]:
    """`journal.settled`."""
    from pepys.journal import hooks

    return hooks.settled(parts.context, _runtime(parts), request)


def compacted(parts: Parts, request: EventRequest) -> dict[str, object]:
    """`journal.compacted`."""
    from pepys.journal import hooks

    return hooks.compacted(parts.context)


def shutdown(parts: Parts, request: EventRequest) -> dict[str, object]:
    """`journal.shutdown`."""
    from pepys.journal import hooks

    return hooks.shutdown(parts.context, _runtime(parts))
