"""Faults that a new user found, each with the right answer."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from pepys.errors import InvalidArgument, PepysError, StalePointer
from pepys.model.lineage import Live
from pepys.recall import budgets
from pepys.recall.records import record
from tests.recall.diary import Diary, append, branch_summary, entry, said, user

COLD: dict[str, Any] = {"config_overrides": {"memory": {"hotSessions": 0}}}


def digest(diary: Diary, session: str) -> Mapping[str, Any]:
    with diary.open(**COLD) as workspace:
        return record(workspace.history, workspace.context, session, "active").fields


def test_a_digest_holds_records_alone_and_no_prose_of_branch_summaries(diary: Diary) -> None:
    diary.session(
        "one",
        user("a", None, "word"),
        {"type": "session_info", "id": "n", "parentId": "a", "timestamp": 5, "name": "Zanzibar"},
        branch_summary("b", "n", "a", "quokka prose"),
        said("c", "b", "answer"),
    )

    kept = digest(diary, "one")
    answers = {query: diary.recall(query, **COLD)["total"] for query in ("word", "quokka", "zanzibar")}
    during = diary.recall(since=5, until=5, **COLD)

    assert answers == {"word": 1, "quokka": 0, "zanzibar": 0}
    assert kept["entryCount"] == diary.expand(session="one")["entryCount"] == 3
    assert [address[:2] for address in kept["addresses"]] == [[0, "a"], [1, "b"], [2, "c"]]
    assert during["total"] == 0


def test_a_history_without_hot_sessions_goes_on_where_it_was(diary: Diary) -> None:
    one, _ = diary.talk("one", "word"), diary.talk("two", "word")
    with diary.open(**COLD) as workspace:
        workspace.history.refresh()
        append(one, user("x", "one-0", "more"))
        again = workspace.history.refresh()

    assert (again.new, again.failed) == (0, {})


def test_a_budget_of_reading_is_enough_after_some_calls(diary: Diary) -> None:
    for name in "abc":
        diary.talk(name, "word")
    settings: dict[str, Any] = {"config_overrides": {"memory": {"hotSessions": 0, "maxSyncSessions": 1}}}

    indexed = [diary.recall("word", **settings)["coverage"]["indexedSessions"] for _ in range(4)]

    assert indexed[-1] == 3
    assert indexed == sorted(indexed)


def test_an_index_folder_that_is_a_link_is_left_alone(diary: Diary) -> None:
    victim = diary.home / "victim"
    (victim / "inner").mkdir(parents=True)
    (victim / "inner" / "file").write_text("keep")
    (diary.home / "index").mkdir()
    (diary.home / "index" / "pepys-1").symlink_to(victim)
    diary.talk("one", "word")

    page = diary.recall("word")
    with diary.open() as workspace, pytest.raises(PepysError) as refused:
        workspace.history.delete()

    assert page["total"] == 1
    assert page["coverage"]["reasons"] == ["index_unavailable"]
    assert refused.value.code == "index_unavailable"
    assert (victim / "inner" / "file").read_text() == "keep"
    assert [path.name for path in victim.iterdir()] == ["inner"]


def test_an_index_folder_open_to_others_is_closed(diary: Diary) -> None:
    folder = diary.home / "index" / "pepys-1"
    folder.mkdir(parents=True)
    folder.chmod(0o755)
    diary.talk("one", "word")

    diary.recall("word")

    assert folder.stat().st_mode & 0o777 == 0o700


def test_a_named_file_leaves_the_index_when_it_is_gone(diary: Diary) -> None:
    diary.talk("inside", "word")
    outside = diary.session("outside", user("a", None, "pomelo"), folder=diary.home / "elsewhere")
    with diary.open() as workspace:
        workspace.call("memory.recall", {"query": "pomelo", "scope": f"session:{outside}"})
        before = workspace.history.status().sources
        outside.unlink()
        workspace.history.refresh()

        assert (before, workspace.history.status().sources) == (2, 1)


def test_a_file_that_is_no_session_is_not_read_because_it_is_named(diary: Diary) -> None:
    diary.talk("inside", "word")
    secret = diary.home / "passwd"
    secret.write_text("root:x:0:0\n")

    with diary.open() as workspace:
        with pytest.raises(PepysError) as refused:
            workspace.call("memory.expand", {"session": str(secret)})
        assert workspace.history.status().sources <= 1
    assert refused.value.code == "session_not_found"


def test_the_last_page_that_can_be_asked_for_says_that_there_is_more(
    diary: Diary, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(budgets, "ITEMS", 4)
    diary.talk("one", *["word"] * 6)

    first = diary.recall("word", pageSize=2)
    last = diary.recall("word", pageSize=2, offset=2)

    assert (first["coverage"]["complete"], first["next"] is None) == (True, False)
    assert (last["next"], last["coverage"]["reasons"]) == (None, ["candidate_item_budget"])


@pytest.mark.parametrize("live", [Live("b", ()), Live("b", ("a",))])
def test_a_live_branch_without_its_leaf_is_refused(diary: Diary, live: Live) -> None:
    path = diary.session("one", user("a", None, "word"), user("b", "a", "word"))

    with pytest.raises(InvalidArgument):
        diary.recall("word", session_file=path, live=live)


def test_a_live_branch_that_is_ahead_of_its_file_is_incomplete(diary: Diary) -> None:
    path = diary.session("one", user("a", None, "word"))

    behind = diary.recall("word", scope="session", session_file=path, live=Live("a", ("a",)))
    ahead = diary.recall("word", scope="session", session_file=path, live=Live("b", ("a", "b")))

    assert behind["coverage"]["complete"]
    assert (ahead["total"], ahead["coverage"]["reasons"]) == (1, ["live_branch_ahead"])


@pytest.mark.parametrize("words", range(40, 100))
def test_a_digest_has_the_size_that_it_says_in_whatever_way_it_is_printed(diary: Diary, words: int) -> None:
    diary.talk("one", " ".join(f"w{number}" for number in range(words)))
    with diary.open(**COLD) as workspace:
        kept = record(workspace.history, workspace.context, "one", "active")

    printed = json.dumps(kept.fields, ensure_ascii=False, separators=(",", ":"))
    assert kept.fields["cacheBytes"] == len(kept.text.encode()) == len(printed.encode())
    assert kept.fields["cacheSourceRatio"] == pytest.approx(kept.fields["cacheBytes"] / kept.fields["size"], abs=1.5e-6)


def test_a_negative_index_is_out_of_bounds_of_as_many_records_as_there_are(diary: Diary) -> None:
    diary.talk("one", "word", "word")

    with pytest.raises(PepysError) as refused:
        diary.expand(session="one", indices=[-1])

    assert (refused.value.code, refused.value.details["entryCount"]) == ("index_out_of_bounds", 2)


def test_a_stale_call_says_what_has_changed(diary: Diary) -> None:
    path = diary.session("one", user("a", None, "word"))
    follow = diary.recall("word")["hits"][0]["follow"]["args"]
    append(path, entry("b", "a", {"role": "user", "content": "more"}))

    with pytest.raises(StalePointer, match=r"The source and the lineage of .* have changed"):
        diary.call("memory.expand", follow)


def test_a_truncated_index_is_answered_around_in_no_time(diary: Diary) -> None:
    diary.talk("one", "word")
    with diary.open() as holder:
        holder.call("memory.recall", {"query": "word", "scope": "global"})
        for folder, _, names in os.walk(diary.home / "index"):
            for name in names:
                os.truncate(Path(folder, name), 0)

        page = diary.recall("word")

    assert page["total"] == 1
