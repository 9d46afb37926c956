"""A snapshot gives what can be read."""

from __future__ import annotations

import pytest

from pepys.journal import snapshot
from tests.journal.project import Project, entry
from tests.journal.unreadable import unreadable

pytestmark = pytest.mark.usefixtures("plain")


@pytest.mark.requirement("journal.snapshot.budgets")
@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("a" * 50 + "\n456", "aaaa\n456"),  # from a line's beginning, little would be left
        ("a" * 50 + "\n4567", "4567"),
        ("aa\nb\n- 4567", "b\n- 4567"),  # it begins with a line
        ("aaaa\n- 4567", "- 4567"),
    ],
)
def test_a_long_line_costs_the_tail_no_more_than_half(text: str, kept: str) -> None:
    assert snapshot.tail(text, 8) == f"[earlier entries truncated]\n{kept}"


@pytest.mark.requirement("journal.snapshot.parts")
@pytest.mark.parametrize(("hidden", "shown"), [("2026-08-13", "2026-08-12"), ("2026-08-12", "2026-08-13")])
def test_a_day_that_cannot_be_read_is_said_and_costs_the_other_nothing(
    project: Project, monkeypatch: pytest.MonkeyPatch, hidden: str, shown: str
) -> None:
    for day in (hidden, shown):
        project.write_day(entry("10:00", f"of {day}"), day)
    unreadable(monkeypatch, project.day(hidden))

    text = project.call("journal.snapshot")["snapshot"]

    assert text.startswith(snapshot.USAGE)
    assert f"- of {shown}" in text
    assert f"({hidden})\n\n[cannot be read: {project.day(hidden)}: Permission denied]" in text
