"""What an answer shows of what it quotes: credentials are masked where the context says so, and counted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pepys.model.context import Context
from pepys.model.entry import Event
from pepys.redaction import Masked, masked, masked_values


def text(whole: str, context: Context) -> Masked:
    """A text as it is shown. The whole of it is asked for, before it is cut: half a credential is not recognised."""
    return masked(whole) if context.redacts else Masked(whole)


def payload(event: Event, context: Context) -> tuple[Event, int]:
    """*event* with its structure as it is shown, and how many masks are in that."""
    if event.payload is None or not context.redacts:
        return event, 0
    structure, masks = masked_values(event.payload)
    return event._replace(payload=structure), masks


def redacted(parts: Sequence[Mapping[str, object]]) -> dict[str, object]:
    """What an answer says of the masks in its *parts*: hits, records, sessions. Nothing where there are none."""
    count = sum(masks for part in parts if isinstance(masks := part.get("redacted"), int))
    return {"redacted": count} if count else {}
