"""The events of a session: what a host calls, and what it never gets."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import datetime
from typing import Any

import pytest

from pepys.journal import live, snapshot
from pepys.journal.constants import INDEX_DEBOUNCE_MS
from pepys.journal.indexer import Indexers
from tests.journal.plain import Plain
from tests.journal.project import Project, command, entry

Json = dict[str, Any]

pytestmark = pytest.mark.usefixtures("plain")


def append(project: Project, text: str) -> None:
    with project.day().open("a") as file:
        file.write(text)


@pytest.mark.requirement("journal.snapshot.parts")
def test_the_snapshot_is_usage_today_and_yesterday(project: Project) -> None:
    project.write_day(entry("10:00", "today"))
    project.write_day(entry("09:00", "before"), "2026-08-12")
    project.write_day(entry("09:00", "long ago"), "2026-08-11")

    text = project.call("journal.start")["snapshot"]

    assert text.startswith("## Project memory\n\n")
    assert text.endswith(
        f"\n\n### Today (2026-08-13)\n\n{entry('10:00', 'today').strip()}"
        f"\n\n### Yesterday (2026-08-12)\n\n{entry('09:00', 'before').strip()}"
    )
    assert len(snapshot.USAGE) < 1000


def test_a_day_without_text_has_no_section(project: Project) -> None:
    project.write_day(" \n\n")

    assert project.call("journal.start")["snapshot"] == snapshot.USAGE


@pytest.mark.requirement("journal.snapshot.budgets")
def test_a_long_day_is_cut_to_its_tail_from_the_beginning_of_a_line() -> None:
    text = "".join(f"- line {number:04}\n" for number in range(1000))

    cut = snapshot.tail(text, 3000)

    first, rest = cut.split("\n", 1)
    assert first == "[earlier entries truncated]"
    assert rest.startswith("- line ")
    assert rest.endswith("- line 0999")
    assert 3000 - 12 <= len(rest) <= 3000


@pytest.mark.parametrize(
    ("text", "budget", "cut"),
    [
        ("abc", 3, "abc"),
        ("abcd", 3, "[earlier entries truncated]\nbcd"),  # no line begins in it: the hard cut stays
        ("a\nbcd", 3, "[earlier entries truncated]\nbcd"),
        ("ab\ncd", 3, "[earlier entries truncated]\ncd"),
        ("\n\n abc \n", 3, "abc"),
    ],
)
def test_a_tail_is_cut_exactly(text: str, budget: int, cut: str) -> None:
    assert snapshot.tail(text, budget) == cut


def test_both_budgets_are_the_specs(project: Project) -> None:
    project.write_day("x" * 5000)
    project.write_day("y" * 5000, "2026-08-12")

    text = project.call("journal.start")["snapshot"]

    assert (text.count("xxx" * 1000), "x" * 3001 in text, "y" * 2000 in text, "y" * 2001 in text) == (
        1,
        False,
        True,
        False,
    )


@pytest.mark.requirement("journal.snapshot.stable", "journal.snapshot.not_by_writes")
def test_between_checkpoints_the_snapshot_is_the_same_bytes(project: Project) -> None:
    path = project.talk()
    first = project.call("journal.start", session_file=path)["snapshot"]
    project.call("journal.write", {"content": "- by a tool"}, session_file=path)
    append(project, entry("10:00", "by another agent"))
    project.call("journal.settled", {"wait": True}, session_file=path)

    later = [project.call("journal.snapshot", session_file=path)["snapshot"] for _ in range(2)]

    assert later == [first, first]


@pytest.mark.requirement("journal.backfill.forgotten")
def test_a_session_that_goes_on_does_not_bring_back_its_last_exchange_that_was_forgotten(project: Project) -> None:
    path = project.talk()
    assert project.call("journal.settled", {"wait": True}, session_file=path)["captured"]
    project.call("journal.forget", {"date": "2026-08-13", "time": "22:41"})
    live.SESSIONS.clear()  # as in another process

    project.call("journal.start", session_file=path)
    settled = project.call("journal.settled", {"wait": True}, session_file=path)

    assert settled == {"captured": False, "why": "it was forgotten"}
    assert not project.day().exists()


@pytest.mark.requirement("journal.snapshot.checkpoints", "journal.hooks.session_compact")
def test_a_compaction_of_the_host_is_a_checkpoint(project: Project) -> None:
    path = project.talk()
    project.call("journal.start", session_file=path)
    project.write_day(entry("10:00", "new"))

    project.call("journal.compacted", session_file=path)

    assert "- new" in project.call("journal.snapshot", session_file=path)["snapshot"]


@pytest.mark.requirement("journal.snapshot.rollover", "journal.hooks.before_agent_start")
def test_another_local_day_is_a_checkpoint(project: Project) -> None:
    path = project.talk()
    project.write_day(entry("22:00", "late"))
    project.call("journal.start", session_file=path)

    text = project.call("journal.snapshot", session_file=path, now=datetime(2026, 8, 14, 0, 1))["snapshot"]

    assert "### Yesterday (2026-08-13)\n\n### 22:00" in text


@pytest.mark.requirement("journal.snapshot.checkpoints", "journal.forget.snapshot")
def test_a_redaction_is_a_checkpoint_and_nothing_of_it_stays_in_the_prompt(project: Project) -> None:
    path = project.talk()
    project.write_day(entry("10:00", "keep") + entry("10:05", "password is hunter2"))
    assert "hunter2" in project.call("journal.start", session_file=path)["snapshot"]

    project.call("journal.forget", {"date": "2026-08-13", "time": "10:05"})

    text = project.call("journal.snapshot", session_file=path)["snapshot"]
    assert "hunter2" not in text
    assert "- keep" in text


@pytest.mark.requirement("journal.forget.snapshot")
def test_a_redaction_by_another_process_is_a_checkpoint_too(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    from pepys.journal import live

    path = project.talk()
    project.write_day(entry("10:00", "keep") + entry("10:05", "password is hunter2"))
    project.call("journal.start", session_file=path)
    with monkeypatch.context() as elsewhere:
        elsewhere.setattr(live, "SESSIONS", {})
        project.call("journal.forget", {"date": "2026-08-13", "time": "10:05"})

    assert "hunter2" not in project.call("journal.snapshot", session_file=path)["snapshot"]


def test_the_snapshot_can_be_switched_off(project: Project) -> None:
    env = {**project.env, "PI_MEMSEARCH_SNAPSHOT": "off"}

    assert project.call("journal.start", env=env)["snapshot"] == ""


def test_sessions_of_one_store_have_snapshots_of_their_own(project: Project) -> None:
    one, two = project.talk("s1"), project.talk("s2")
    project.call("journal.start", session_file=one)
    project.write_day(entry("10:00", "new"))

    project.call("journal.start", session_file=two)

    assert "- new" in project.call("journal.snapshot", session_file=two)["snapshot"]
    assert "- new" not in project.call("journal.snapshot", session_file=one)["snapshot"]


@pytest.mark.requirement("journal.hooks.session_start")
def test_a_session_that_begins_gets_its_scope_and_the_index_catches_up(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    indexed = threading.Event()
    monkeypatch.setattr(Plain, "refresh", lambda self, budget_s=None: indexed.set())
    project.write_day(entry("10:00", "x"))

    answer = project.call("journal.start")

    assert (answer["scope"], answer["store"], answer["autoContext"]) == (str(project.root), str(project.store), False)
    assert indexed.wait(10)


def test_without_a_store_nothing_is_indexed(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    refreshed: list[str] = []
    monkeypatch.setattr(Plain, "refresh", lambda self, budget_s=None: refreshed.append(self.place.store))

    with project.open() as workspace:
        workspace.call("journal.start")
        workspace.call("journal.shutdown")

    assert str(project.store) not in refreshed  # runs of other tests may be late


@pytest.mark.requirement("journal.hooks.never_raise", "journal.hooks.notice_once")
def test_a_store_command_that_fails_is_told_once_and_raised_into_no_hook(project: Project) -> None:
    cmd = command(project.home / "cmd", memory_dir="!broken")
    path = project.talk()
    refs = ["journal.start", "journal.snapshot", "journal.settled", "journal.compacted", "journal.shutdown"]

    answers = [project.call(ref, {}, session_file=path, **project.config(storeCommand=cmd)) for ref in refs]

    assert {answer["error"]["code"] for answer in answers} == {"store_command_failed"}
    assert [answer["notice"] is not None for answer in answers] == [True, False, False, False, False]
    assert not project.store.exists()


@pytest.mark.requirement("journal.hooks.never_raise")
def test_a_defect_is_raised_into_no_hook(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pepys.journal.snapshot.build", lambda *_: 1 / 0)

    answer = project.call("journal.start")

    assert answer["error"]["code"] == "internal_error"


def test_hooks_are_no_tools_for_models(project: Project) -> None:
    with project.open() as workspace:
        refs = {action["ref"] for action in workspace.tools.list(provider="journal")}

    assert refs == {
        f"journal.{name}" for name in ("search", "expand", "transcript", "write", "forget", "compact", "status")
    }


def place(project: Project) -> Any:
    from pepys.journal import scope

    with project.open() as workspace:
        return scope.place(scope.of(workspace.context), workspace.context)


@pytest.mark.requirement("journal.index.debounce")
def test_a_burst_of_writes_costs_one_run_and_an_endless_one_starves_nothing(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    timers: list[Timer] = []

    class Timer:
        """One that never runs out by itself."""

        daemon = False

        def __init__(self, seconds: float, function: Callable[..., None], args: list[object]) -> None:
            self.seconds, self.function, self.args, self.cancelled = seconds, function, args, False
            timers.append(self)

        def start(self) -> None:
            pass

        def cancel(self) -> None:
            self.cancelled = True

    monkeypatch.setattr("pepys.journal.indexer.threading.Timer", Timer)
    runs: list[int] = []
    indexers, at = Indexers(), place(project)

    for _ in range(50):
        indexers.note(at, lambda: runs.append(1))

    assert [(timer.seconds, timer.cancelled) for timer in timers] == [(INDEX_DEBOUNCE_MS / 1000, False)]
    assert INDEX_DEBOUNCE_MS == 5000
    assert indexers.settle(at, 10)
    assert runs == [1]


@pytest.mark.requirement("journal.index.debounce")
def test_a_write_during_a_run_causes_another(project: Project) -> None:
    indexers, at = Indexers(delay_s=0), place(project)
    started, release, again = threading.Event(), threading.Event(), threading.Event()

    def slow() -> None:
        started.set()
        release.wait(10)

    indexers.note(at, slow)
    assert started.wait(10)
    indexers.note(at, again.set)
    assert not again.wait(0.05)  # one at a time
    release.set()

    assert again.wait(10)


@pytest.mark.requirement("journal.shutdown.settles")
def test_shutdown_runs_what_waits_for_its_debounce(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    refreshed: list[str] = []
    monkeypatch.setattr(Plain, "refresh", lambda self, budget_s=None: refreshed.append(self.place.store))
    with project.open() as workspace:
        workspace.call("journal.write", {"content": "- x"})
        assert str(project.store) not in refreshed

        answer = workspace.call("journal.shutdown")

    assert answer["indexed"] is True
    assert refreshed.count(str(project.store)) == 1


@pytest.mark.requirement("journal.status.last_run")
def test_a_failed_run_is_told_by_the_status_until_one_succeeds(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(Plain, "refresh", lambda self, budget_s=None: 1 / 0)
        project.call("journal.write", {"content": "- x"})
        project.call("journal.shutdown")
        assert "last index run: failed (ZeroDivisionError: division by zero)" in project.call("journal.status")["text"]

    project.call("journal.write", {"content": "- x"})
    project.call("journal.shutdown")

    assert "last index run" not in project.call("journal.status")["text"]


@pytest.mark.requirement("journal.forget.snapshot")
def test_where_no_mark_can_be_left_a_redaction_is_still_a_checkpoint_in_its_own_process(project: Project) -> None:
    path = project.talk()
    project.write_day(entry("10:00", "keep") + entry("10:05", "password is hunter2"))
    blocked = project.home / "blocked"
    blocked.write_text("no directory")
    project.call("journal.start", session_file=path, index_dir=blocked)

    project.call("journal.forget", {"date": "2026-08-13", "time": "10:05"}, index_dir=blocked)

    text = project.call("journal.snapshot", session_file=path, index_dir=blocked)["snapshot"]
    assert "hunter2" not in text
