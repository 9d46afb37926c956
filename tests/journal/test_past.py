"""Capture outside of a host: of one exchange, and of all that has been."""

from __future__ import annotations

import os
import shutil
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from pepys.errors import AddressNotFound, ModelUnavailable, StoreUnavailable
from pepys.journal import entries, past, store
from pepys.journal.past import Backfilled
from tests.journal.project import Project, command
from tests.journal.test_capture import Model
from tests.recall.diary import append, called, said, user

pytestmark = pytest.mark.usefixtures("plain")

T1, T2 = "2026-08-10T10:00:00Z", "2026-08-11T10:00:00Z"


def stamp(iso: str) -> datetime:
    return datetime.fromisoformat(iso).astimezone().replace(tzinfo=None)


@pytest.fixture
def two(project: Project) -> Project:
    """Two sessions of this repository, one of another, one of a subdirectory; five exchanges here, one without text."""
    project.session(
        "s1",
        user("u1", None, "one", at=T1),
        said("a1", "u1", "first", at=T1),
        user("u2", "a1", "two", at=T2),
        said("a2", "u2", "second", at=T2),
        user("u3", "a2", "three", at=T2),
        called("a3", "u3", "ls"),
    )
    (project.root / "src").mkdir()
    project.diary.session("s2", user("u1", None, "x"), said("a1", "u1", "sub", at=T2), cwd=str(project.root / "src"))
    project.diary.session("s3", user("u1", None, "x"), said("a1", "u1", "elsewhere"), cwd="/srv/other")
    return project


def run(project: Project, **keywords: Any) -> Backfilled:
    model = keywords.pop("model", None)
    with project.open(**keywords) as workspace:
        return past.backfill(workspace.context, None, model)


def turns(project: Project) -> list[tuple[str, str]]:
    found = []
    for path in sorted(project.store.glob("*.md")):
        for block in entries.blocks(store.read(str(path))):
            assert block.anchor
            found.append((path.stem, block.anchor.session + ":" + block.anchor.turn))
    return found


@pytest.mark.requirement("journal.backfill.store", "journal.backfill.days")
def test_past_exchanges_go_into_their_own_days_and_other_projects_are_left_alone(two: Project) -> None:
    done = run(two)

    one, second = stamp(T1).date().isoformat(), stamp(T2).date().isoformat()
    assert turns(two) == [(one, "s1:a1"), (second, "s1:a2"), (second, "s2:a1")]
    assert done == Backfilled(sessions=2, elsewhere=1, captured=3, before=0, forgotten=0, rejected=1, failed={})
    assert f"### {stamp(T1):%H:%M}\n" in two.day(one).read_text()


@pytest.mark.requirement("journal.backfill.resumable")
def test_a_second_run_captures_nothing_and_a_grown_session_what_is_new(two: Project) -> None:
    run(two)
    again = run(two)
    path = two.diary.folder(str(two.root)) / "s1.jsonl"
    append(path, user("u4", "a3", "four", at=T2), said("a4", "u4", "fourth", at=T2))

    grown = run(two)

    assert (again.captured, grown.captured) == (0, 1)
    assert len(turns(two)) == 4


@pytest.mark.requirement("journal.backfill.resumable")
def test_the_anchors_of_the_store_alone_prove_what_was_captured(two: Project) -> None:
    run(two)
    shutil.rmtree(two.home / ".local")

    done = run(two)

    assert (done.captured, done.before, done.rejected) == (0, 3, 1)


@pytest.mark.requirement("journal.backfill.lost")
@pytest.mark.parametrize("lost", ["store", "day"])
def test_what_a_store_has_lost_is_captured_again(two: Project, lost: str) -> None:
    run(two)
    before = turns(two)
    if lost == "store":
        shutil.rmtree(two.store)
    else:
        two.day(stamp(T2).date().isoformat()).unlink()

    done = run(two)

    assert (done.captured, done.before) == ((3, 0) if lost == "store" else (2, 1))
    assert turns(two) == before


@pytest.mark.requirement("journal.backfill.alone")
def test_a_second_run_at_the_same_time_captures_nothing_and_says_so(two: Project) -> None:
    asked: list[str] = []

    def complete(model: str | None, system: str, prompt: str, seconds: float) -> str:
        with pytest.raises(StoreUnavailable, match="Another run captures") as caught:
            run(two)
        asked.append(caught.value.hint)
        return "- once"

    run(two, complete=complete, model="small")

    assert len(asked) == 3 and all("Wait until it has ended" in hint for hint in asked)
    assert len(turns(two)) == len(set(turns(two))) == 3
    assert run(two).before == 3


@pytest.mark.requirement("journal.backfill.resumable")
def test_what_a_host_captures_while_a_run_is_under_way_is_captured_once(two: Project) -> None:
    path = two.diary.folder(str(two.root)) / "s1.jsonl"
    asked: list[str] = []

    def complete(model: str | None, system: str, prompt: str, seconds: float) -> str:
        if not asked:
            one(two, path, "a2")  # of another process, after the run has looked at the store
        asked.append(prompt)
        return "- once"

    done = run(two, complete=complete, model="small")

    assert (done.captured, done.before, len(asked)) == (2, 1, 2)
    assert len(turns(two)) == len(set(turns(two))) == 3


def test_where_the_lock_cannot_be_made_nothing_is_captured(two: Project) -> None:
    (two.home / ".local").write_text("in the way")

    with pytest.raises(StoreUnavailable, match="keeps runs apart"):
        run(two)
    assert not two.store.exists()


@pytest.mark.requirement("journal.backfill.forgotten")
def test_what_was_forgotten_does_not_come_back(two: Project) -> None:
    path = two.diary.folder(str(two.root)) / "s1.jsonl"
    one(two, path, "a1")  # captured by whatever: not by a run over the past
    forget(two, T1)
    fork = [user("u1", None, "one", at=T1), said("a1", "u1", "first", at=T1)]
    two.session("s4", *fork, user("u9", "a1", "on", at=T2), said("a9", "u9", "ward", at=T2))

    done = run(two)

    assert (done.captured, done.forgotten, done.rejected) == (3, 2, 1)
    assert [turn for _, turn in turns(two) if turn.endswith(":a1")] == ["s2:a1"]
    assert one(two, path, "a1").why == "it was forgotten"


@pytest.mark.requirement("journal.backfill.forgotten")
def test_a_note_that_is_forgotten_does_not_take_its_exchange_along(project: Project) -> None:
    path = project.talk()
    project.write_day(f"### 22:41\n<!-- session:s1 turn:a1 transcript:{path} -->\nNever touch the cache.\n\n")
    project.call("journal.forget", {"date": "2026-08-13", "time": "22:41"})

    assert run(project).captured == 1


def forget(project: Project, at: str) -> None:
    moment = stamp(at)
    project.call("journal.forget", {"date": moment.date().isoformat(), "time": f"{moment:%H:%M}"})


@pytest.mark.requirement("journal.backfill.spends_nothing")
def test_nothing_is_spent_unless_a_model_is_named(two: Project) -> None:
    model = Model()

    run(two, complete=model)
    assert model.asked == []
    assert "(extract)" in two.day(stamp(T1).date().isoformat()).read_text()


def test_a_model_that_is_named_distils(two: Project) -> None:
    model = Model()

    run(two, complete=model, model="small")

    assert [asked for asked, *_ in model.asked] == ["small"] * 3


@pytest.mark.requirement("journal.backfill.resumable")
def test_a_model_that_fails_stops_the_run_which_goes_on_from_there_later(two: Project) -> None:
    with pytest.raises(ModelUnavailable, match="no budget"):
        run(two, complete=Model("- one", RuntimeError("no budget")), model="small")
    assert len(turns(two)) == 1

    run(two, complete=Model("- more"), model="small")

    assert len(turns(two)) == 3


def test_a_model_that_cannot_be_called_is_an_error_before_anything_is_done(two: Project) -> None:
    with pytest.raises(ModelUnavailable, match="small cannot be called"):
        run(two, model="small")

    assert not two.store.exists()


def test_a_session_that_cannot_be_read_is_named_and_the_others_are_captured(two: Project) -> None:
    if os.geteuid() == 0:
        pytest.skip("root reads everything")
    bad = two.session("s4", user("u1", None, "x"), said("a1", "u1", "y"))
    bad.chmod(0)

    done = run(two)

    assert done.captured == 3


def test_a_file_of_the_store_that_cannot_be_read_is_named_and_past_sessions_are_captured(two: Project) -> None:
    (two.store / "notes.md").mkdir(parents=True)

    done = run(two)

    assert done.captured == 3
    assert list(done.failed) == [str(two.store / "notes.md")]


def test_an_exchange_is_captured_although_a_file_of_the_store_cannot_be_read(project: Project) -> None:
    (project.store / "notes.md").mkdir(parents=True)

    outcome = one(project, project.talk())

    assert outcome.captured
    assert [str(project.store / "notes.md") in why for why in outcome.unread] == [True]


@pytest.mark.parametrize("between", [False, True])
def test_what_a_fork_repeats_is_captured_once(project: Project, between: bool) -> None:
    shared = [user("u1", None, "one", at=T1), said("a1", "u1", "first", at=T1)]
    project.session("s1", *shared)
    if between:
        run(project)
    project.session("s2", *shared, user("u2", "a1", "two", at=T2), said("a2", "u2", "second", at=T2))

    done = run(project)

    assert len(turns(project)) == 2
    assert sorted(turn.split(":")[1] for _, turn in turns(project)) == ["a1", "a2"]
    assert (done.captured, done.before) == ((1, 2) if between else (2, 1))


def test_entries_of_one_id_and_minute_are_no_fork_where_they_say_something_else(project: Project) -> None:
    for name in ("s1", "s2"):
        project.session(name, user("u1", None, "one", at=T1), said("a1", "u1", f"of {name}", at=T1))

    assert run(project).captured == 2


@pytest.mark.requirement("journal.backfill.branches")
def test_exchanges_of_abandoned_branches_are_captured_and_what_branches_share_once(project: Project) -> None:
    path = project.session(
        "s1",
        user("u1", None, "one", at=T1),
        said("a1", "u1", "first", at=T1),
        user("u2", "a1", "wrong way", at=T1),
        said("a2", "u2", "tried", at=T1),
        user("u3", "a2", "further", at=T1),  # given up before it was answered
        user("u4", "a1", "right way", at=T2),
        said("a4", "u4", "done", at=T2),
    )

    done = run(project)

    assert [turn for _, turn in turns(project)] == ["s1:a1", "s1:a2", "s1:a4"]
    assert (done.captured, done.rejected) == (3, 0)
    append(path, user("u5", "a2", "back", at=T2), said("a5", "u5", "again", at=T2))
    assert (run(project).captured, [turn for _, turn in turns(project)][-1]) == (1, "s1:a5")


@pytest.mark.requirement("journal.backfill.resumable", "journal.backfill.forgotten")
@pytest.mark.parametrize("forgotten", [False, True])
def test_an_exchange_that_gets_a_command_after_its_answer_is_the_same(project: Project, forgotten: bool) -> None:
    path = project.session("s1", user("u1", None, "one", at=T1), said("a1", "u1", "first", at=T1))
    assert run(project).captured == 1
    command = {"role": "bashExecution", "command": "ls", "output": "a", "exitCode": 0, "timestamp": 1}
    append(path, {"type": "message", "id": "b1", "parentId": "a1", "message": command})
    if forgotten:
        forget(project, T1)

    done = run(project)

    assert (done.captured, done.before, done.forgotten) == (0, int(not forgotten), int(forgotten))


@pytest.mark.requirement("journal.capture.note")
def test_a_note_beside_a_settled_answer_does_not_stand_for_its_exchange(project: Project) -> None:
    path = project.talk()
    project.write_day(f"### 22:41\n<!-- session:s1 turn:a1 transcript:{path} -->\nNever touch the cache.\n\n")

    assert run(project).captured == 1
    assert [turn for _, turn in turns(project)].count("s1:a1") == 2


def test_an_exchange_under_way_is_left_for_later(project: Project) -> None:
    project.session("s1", user("u1", None, "one"), said("a1", "u1", "first"), user("u2", "a1", "two"))

    assert run(project).captured == 1
    assert run(project).captured == 0


def one(project: Project, path: Path, turn: str | None = None, **keywords: Any) -> past.Outcome:
    with project.open(**keywords) as workspace:
        return past.capture_one(workspace.context, workspace.runtime(), str(path), turn)


@pytest.mark.requirement("journal.capture.cli")
def test_the_exchange_of_an_entry_is_captured_into_the_store_of_its_session(two: Project, tmp_path: Path) -> None:
    path = two.diary.folder(str(two.root)) / "s1.jsonl"

    outcome = one(two, path, "u1", cwd=tmp_path)

    assert outcome.captured and outcome.captured.kind == "extract"
    assert [turn for _, turn in turns(two)] == ["s1:a1"]
    again = one(two, path, "a1", cwd=tmp_path)
    assert (again.why, again.path) == ("it was captured before", outcome.captured.path)


def test_the_last_exchange_is_captured_unless_told_otherwise(project: Project) -> None:
    path = project.session("s1", user("u1", None, "one"), said("a1", "u1", "first"))

    assert one(project, path).captured
    with pytest.raises(AddressNotFound, match="no entry zz"):
        one(project, path, "zz")


@pytest.mark.requirement("journal.degrade.store_command")
def test_with_a_store_command_that_fails_nothing_is_captured(two: Project) -> None:
    from pepys.errors import StoreCommandFailed

    cmd = command(two.home / "cmd", memory_dir="!broken")

    with pytest.raises(StoreCommandFailed):
        run(two, **two.config(storeCommand=cmd))

    assert not two.store.exists()
