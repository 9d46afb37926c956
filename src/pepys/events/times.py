"""Instants as event search reads and writes them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from pepys.errors import InvalidEventArgument
from pepys.hosts.shapes import time_ms

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def instant(text: str | None, name: str) -> int | None:
    """Milliseconds since the epoch of an ISO 8601 text; a date is its first moment, and UTC unless it says otherwise.

    Raises:
        InvalidEventArgument: It is no instant; *name* is the parameter.
    """
    if text is None:
        return None
    found = time_ms(text.strip())
    if found is None:
        raise InvalidEventArgument(f"{name} must be an ISO 8601 instant, such as 2026-01-31T09:00:00+01:00.")
    return found


def iso(time: int | None) -> str | None:
    """The ISO 8601 text, in UTC, of milliseconds since the epoch; None also for what no calendar holds."""
    if time is None:
        return None
    try:
        moment = _EPOCH + timedelta(milliseconds=time)
    except OverflowError:
        return None
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
