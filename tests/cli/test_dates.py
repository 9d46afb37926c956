"""Points in time as people write them."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

import pytest

from pepys.cli.dates import local, moment
from pepys.errors import InvalidArgument

NOW = datetime(2026, 3, 9, 12, 0, tzinfo=timezone(timedelta(0)))
HOUR = 3_600_000


def ms(text: str) -> int:
    return round(datetime.fromisoformat(text).timestamp() * 1000)


@pytest.mark.parametrize(("text", "hours"), [("30m", 0.5), ("12h", 12), ("7d", 168), ("2w", 336), (" 7D ", 168)])
def test_a_span_counts_back_from_now(text: str, hours: float) -> None:
    found = moment(text, NOW)

    assert found == NOW.timestamp() * 1000 - hours * HOUR


@pytest.mark.parametrize(
    ("text", "start"),
    [
        ("2026-01-31", "2026-01-31T00:00:00"),
        ("today", "2026-03-09T00:00:00"),
        ("yesterday", "2026-03-08T00:00:00"),
    ],
)
def test_a_day_begins_and_ends_in_local_time(text: str, start: str) -> None:
    first, last = moment(text, NOW), moment(text, NOW, end=True)

    assert first == ms(start)
    assert last == first + 24 * HOUR - 1


def test_a_time_stands_for_itself() -> None:
    found = moment("2026-01-31T09:30+01:00", NOW, end=True)

    assert found == ms("2026-01-31T09:30+01:00")


@pytest.mark.parametrize("text", ["", "soon", "7y", "2026-13-01", "999999w", "-7d"])
def test_anything_else_is_refused_with_examples(text: str) -> None:
    with pytest.raises(InvalidArgument, match="is no date") as caught:
        moment(text, NOW)

    assert "7d" in caught.value.hint


def test_a_time_out_of_every_calendar_is_still_shown() -> None:
    shown = local(1e20)

    assert shown == "1e+20 ms"
