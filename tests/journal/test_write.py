"""What an agent decides to remember."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pepys.errors import InvalidArgument, SessionNotPersisted, StoreCommandFailed, StoreUnavailable
from pepys.model.lineage import Live
from tests.journal.project import Project, command, entry
from tests.recall.diary import called, user


@pytest.mark.requirement("journal.write.entry")
def test_what_is_written_stands_in_todays_file_with_its_anchor(project: Project) -> None:
    session = project.talk()

    answer = project.call("journal.write", {"content": "- the user wants tabs"}, session_file=session)

    assert answer["text"] == f"Memory saved to {project.day()}"
    assert project.day().read_text() == "\n## Session 22:41\n\n" + entry(
        "22:41", "the user wants tabs", session="s1", turn="u1", path=str(session)
    )


def test_the_anchor_names_the_entry_that_makes_the_call(project: Project) -> None:
    project.call("journal.write", {"content": "- x"}, session_file=project.talk(), invocation_entry_id="u1")

    assert "turn:u1 " in project.day().read_text()


@pytest.mark.parametrize("named", [{}, {"invocation_entry_id": "a1"}, {"live": Live("a1", ("u1", "a1"))}])
def test_what_is_written_beside_a_settled_answer_does_not_stand_for_its_exchange(
    project: Project, named: dict[str, Any]
) -> None:
    session = project.talk()

    project.call("journal.write", {"content": "- x"}, session_file=session, **named)
    answer = project.call("journal.settled", {"wait": True}, session_file=session)

    assert answer["captured"] is True
    assert project.day().read_text().count("turn:u1 ") == 1
    assert project.day().read_text().count("turn:a1 ") == 1


def test_an_answer_that_calls_is_no_end_and_keeps_its_anchor(project: Project) -> None:
    call = called("a1", "u1", "ls")
    call["message"]["stopReason"] = "toolUse"
    session = project.session("s1", user("u1", None, "go"), call)

    project.call("journal.write", {"content": "- x"}, session_file=session)

    assert "turn:a1 " in project.day().read_text()


def test_without_a_session_there_is_no_anchor(project: Project) -> None:
    answer = project.call("journal.write", {"content": "- x"})

    assert answer["anchored"] is False
    assert project.day().read_text() == "\n## Session 22:41\n\n### 22:41\n- x\n\n"


@pytest.mark.requirement("journal.write.not_persisted")
@pytest.mark.parametrize("exists", [False, True])
def test_a_session_that_is_not_on_disk_yet_writes_nothing(project: Project, exists: bool) -> None:
    path = project.session("empty") if exists else project.home / "later.jsonl"

    with pytest.raises(SessionNotPersisted):
        project.call("journal.write", {"content": "- x"}, session_file=path)

    assert not project.store.exists()


def test_nothing_is_nothing_to_remember(project: Project) -> None:
    with pytest.raises(InvalidArgument, match="empty"):
        project.call("journal.write", {"content": " \n"})


@pytest.mark.requirement("journal.degrade.store_command")
def test_with_a_store_command_that_fails_nothing_is_written(project: Project) -> None:
    cmd = command(project.home / "cmd", memory_dir="!broken")

    with pytest.raises(StoreCommandFailed):
        project.call("journal.write", {"content": "- x"}, **project.config(storeCommand=cmd))

    assert not project.store.exists()


@pytest.mark.parametrize("name", ["typo", "deeper/typo"])
def test_no_directory_is_made_of_a_mistyped_one(project: Project, name: str) -> None:
    with pytest.raises(StoreUnavailable, match=f"{name} does not exist"):
        project.call("journal.write", {"content": "- x"}, cwd=project.home / name)
    with pytest.raises(StoreUnavailable, match=f"{name} does not exist"):
        project.call("journal.write", {"content": "- x"}, cwd=project.root / name)

    assert not (project.home / name).exists()
    assert [path.name for path in project.root.iterdir()] == [".git"]


@pytest.mark.requirement("journal.store_command.answers")
def test_a_store_outside_the_repository_is_written_to(project: Project, tmp_path: Path) -> None:
    cmd = command(project.home / "cmd", memory_dir=str(tmp_path / "mesh" / "shop"), collection="c", state_dir="")

    project.call("journal.write", {"content": "- x"}, env={**project.env, "PI_MEMSEARCH_STORE_CMD": cmd})

    assert [path.name for path in (tmp_path / "mesh" / "shop").iterdir()] == ["2026-08-13.md"]


def test_own_headings_in_the_content_do_not_break_the_file(project: Project) -> None:
    session = project.session("s1", user("u1", None, "x"))

    project.call("journal.write", {"content": "# Big\n```sh\n# ls\n```"}, session_file=session)

    assert project.day().read_text().endswith("-->\n\\# Big\n```sh\n # ls\n```\n\n")


def test_half_a_character_is_stored_as_what_stands_for_one_and_is_said(project: Project) -> None:
    answer = project.call("journal.write", {"content": "- one \ud83d and \udc80 two 😀"})

    assert project.day().read_text().endswith("- one \ufffd and \ufffd two 😀\n\n")
    assert answer["text"].startswith(f"Memory saved to {project.day()} (2 halves of characters")
    assert project.call("journal.write", {"content": "- whole"})["text"] == f"Memory saved to {project.day()}"
    assert "1 half of a character, which" in project.call("journal.write", {"content": "- \ud83d x"})["text"]


@pytest.mark.parametrize("content", ["", " \n\t", "\u200b", "-", "- ", "- \u200b\n* \n1. \n", "\u3000"])
def test_content_without_anything_to_remember_is_refused(project: Project, content: str) -> None:
    with pytest.raises(InvalidArgument, match="content is empty"):
        project.call("journal.write", {"content": content})
    assert not project.store.exists()


@pytest.mark.parametrize("content", ["---", "0", "\u2713", "- x"])
def test_little_content_is_content(project: Project, content: str) -> None:
    assert project.call("journal.write", {"content": content})["file"] == str(project.day())
