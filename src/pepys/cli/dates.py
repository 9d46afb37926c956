"""Points in time as people write them."""

from __future__ import annotations

import re
from datetime import datetime, timedelta

from pepys.errors import InvalidArgument

_AGO = re.compile(r"(\d{1,6})([mhdw])")
_UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


def moment(text: str, now: datetime, *, end: bool = False) -> int:
    """The point in time *text* as ms since 1970.

    Args:
        text: `7d`, `12h`, `30m`, `2w` (so long ago), `today`, `yesterday`, or an ISO date or time; without an offset
            it is local time.
        now: Local, with its offset.
        end: A day stands for its last millisecond, not its first.

    Raises:
        InvalidArgument: It is none of these.
    """
    word = text.strip().lower()
    ago = _AGO.fullmatch(word)
    try:
        if ago:
            return _ms(now - timedelta(**{_UNITS[ago[2]]: int(ago[1])}))
        if word in ("today", "yesterday"):
            day = now.replace(hour=0, minute=0, second=0, microsecond=0, tzinfo=None)
            start = day - timedelta(days=word == "yesterday")
            whole_day = True
        else:
            start = datetime.fromisoformat(text.strip())
            whole_day = len(text.strip()) <= len("2026-01-31")
        return _ms(start + timedelta(days=1)) - 1 if whole_day and end else _ms(start)
    except (ValueError, OverflowError, OSError) as error:
        raise InvalidArgument(
            f"{text} is no date.", hint="Write 2026-01-31, 2026-01-31T09:30, 7d, 12h, 30m, 2w, today or yesterday."
        ) from error


def local(ms: float) -> str:
    """A point in time for people: local, to the minute."""
    try:
        return datetime.fromtimestamp(ms / 1000).strftime("%Y-%m-%d %H:%M")
    except (ValueError, OverflowError, OSError):
        return f"{ms} ms"


def _ms(time: datetime) -> int:
    return round(time.timestamp() * 1000)
