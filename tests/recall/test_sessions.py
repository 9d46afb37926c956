"""`memory.sessions`: the sessions of a scope."""

from __future__ import annotations

from pathlib import Path

import pytest

from pepys.errors import InvalidArgument, PepysError
from pepys.model.lineage import Live
from tests.recall.diary import NOON, Diary, user


@pytest.mark.requirement("branches.identified", "branches.counts")
def test_a_row_has_the_specs_fields(diary: Diary) -> None:
    path = diary.session("one", user("a", None, "1"), user("b", "a", "2"), user("c", "a", "3"))

    answer = diary.call("memory.sessions", {"scope": "project"})

    row = answer["sessions"][0]
    assert (answer["scope"], answer["branches"], answer["total"]) == ("project", "active", 1)
    assert row | {"lineageFingerprint": ""} == {
        "id": "one",
        "file": str(path),
        "cwd": "/srv/shop",
        "mtime": NOON + 1000,
        "entryCount": 2,
        "tier": "hot",
        "branches": "active",
        "lineageFingerprint": "",
        "host": "pi",
        "kind": "session",
    }
    assert len(row["lineageFingerprint"]) == 64


@pytest.mark.requirement("lineage.fingerprint", "branches.counts")
@pytest.mark.parametrize("branches", ["active", "all"])
def test_a_row_agrees_with_expansion(diary: Diary, branches: str) -> None:
    diary.session("one", user("a", None, "1"), user("b", "a", "2"), user("c", "a", "3"))

    row = diary.call("memory.sessions", {"scope": "project", "branches": branches})["sessions"][0]
    expanded = diary.expand(session="one", branches=branches)

    assert row["entryCount"] == expanded["entryCount"] == (2 if branches == "active" else 3)
    assert row["lineageFingerprint"] == expanded["lineageFingerprint"]


def test_rows_are_newest_first_and_by_path_at_one_time(diary: Diary) -> None:
    import os

    paths = [diary.talk(name, "word") for name in ("c", "b", "a")]
    for path in paths[:2]:
        os.utime(path, (1_000_000_000,) * 2)

    rows = diary.call("memory.sessions", {"scope": "project"})["sessions"]

    assert [row["id"] for row in rows] == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("scope", "found"),
    [
        (None, ["two"]),
        ("session", ["two"]),
        ("project", ["two", "one"]),
        ("global", ["far", "two", "one"]),
        ("session:one", ["one"]),
    ],
)
def test_scopes_are_those_of_recall(diary: Diary, scope: str | None, found: list[str]) -> None:
    diary.talk("one", "word")
    diary.talk("two", "word")
    diary.talk("far", "word", cwd="/srv/other")

    rows = diary.call("memory.sessions", {} if scope is None else {"scope": scope})["sessions"]

    assert [row["id"] for row in rows] == found


@pytest.mark.requirement("budget.listing", "budget.discovery")
def test_a_limit_cuts_the_list_and_total_tells_how_many_there_are(diary: Diary) -> None:
    for at in range(5):
        diary.talk(f"s{at}", "word")

    limited = diary.call("memory.sessions", {"scope": "project", "limit": 2})
    with diary.open(config_overrides={"memory": {"maxSessions": 3}}) as workspace:
        configured = workspace.call("memory.sessions", {"scope": "project", "limit": 4})
        searched = workspace.call("memory.recall", {"query": "word", "scope": "project"})

    assert [len(answer["sessions"]) for answer in (limited, configured)] == [2, 3]
    assert limited["total"] == configured["total"] == searched["total"] == 5


@pytest.mark.requirement("branches.argument")
@pytest.mark.parametrize("args", [{"limit": 0}, {"scope": "everything"}, {"branches": "x"}, {"query": "word"}])
def test_senseless_arguments_are_refused(diary: Diary, args: dict[str, object]) -> None:
    with pytest.raises(InvalidArgument):
        diary.call("memory.sessions", args)


def test_a_session_that_does_not_exist_is_an_error(diary: Diary) -> None:
    with pytest.raises(PepysError) as refused:
        diary.call("memory.sessions", {"scope": "session:nobody"})

    assert refused.value.code == "session_not_found"


def test_the_live_branch_is_counted(diary: Diary) -> None:
    path: Path = diary.session("one", user("a", None, "1"), user("b", "a", "2"), user("c", "b", "3"))

    with diary.open(session_file=path, live=Live("a", ("a",))) as workspace:
        row = workspace.call("memory.sessions")["sessions"][0]

    assert row["entryCount"] == 1
