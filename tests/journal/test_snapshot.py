"""A snapshot gives what can be read."""

from __future__ import annotations

import pytest

from pepys.journal import snapshot
from tests.journal.project import Project, entry
from tests.journal.unreadable import unreadable

pytestmark = pytest.mark.usefixtures("plain")


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
