"""The third layer: the conversation around a memory."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from pepys.errors import AddressNotFound, AmbiguousAddress, SourceUnavailable
from tests.journal.project import Project
from tests.recall.diary import called, custom, entry, returned, said, thought, user


def texts(answer: dict[str, list[dict[str, str]]]) -> list[str]:
    return [turn["text"] for turn in answer["turns"]]


@pytest.fixture
def forked(project: Project) -> Path:
    """A conversation that was taken up again from its second entry, after it had gone on."""
    return project.session(
        "s1",
        user("u1", None, "one", at="2026-08-13T10:00:00Z"),
        said("a1", "u1", "two"),
        user("u2", "a1", "three"),
        said("a2", "u2", "four"),
        user("u3", "a1", "other way"),
        said("a3", "u3", "other answer"),
    )


@pytest.mark.requirement("journal.l3.branch")
def test_it_follows_the_branch_of_the_memory_past_a_later_fork(project: Project, forked: Path) -> None:
    answer = project.call("journal.transcript", {"transcript_path": str(forked), "turn": "u2"})

    assert texts(answer) == ["one", "two", "three", "four"]
    assert [turn["id"] for turn in answer["turns"] if turn["target"]] == ["u2"]


def test_without_a_turn_it_is_the_newest_of_the_last_branch(project: Project, forked: Path) -> None:
    answer = project.call("journal.transcript", {"transcript_path": str(forked), "limit": 3})

    assert texts(answer) == ["two", "other way", "other answer"]


@pytest.mark.requirement("journal.l3.around")
def test_it_shows_the_turns_around_the_entry(project: Project, forked: Path) -> None:
    answer = project.call("journal.transcript", {"transcript_path": str(forked), "turn": "a1", "context": 1})

    # a1 has two futures: the one that the file ends with is the live one.
    assert texts(answer) == ["one", "two", "other way"]
    assert answer["text"].split("\n\n")[1].startswith("[Assistant] ")
    assert " (target)\ntwo" in answer["text"]


@pytest.mark.requirement("journal.l3.file_only")
def test_it_needs_no_index_and_no_store(project: Project, forked: Path) -> None:
    copy = project.home / "elsewhere with space.jsonl"
    shutil.copy(forked, copy)

    answer = project.call("journal.transcript", {"transcript_path": str(copy).replace(" ", "%20"), "turn": "u2"})

    assert texts(answer) == ["one", "two", "three", "four"]
    assert not (project.home / "index").exists()


def test_calls_are_lines_and_thinking_and_results_are_left_out(project: Project) -> None:
    path = project.session(
        "s1",
        user("u1", None, "go"),
        thought("a1", "u1", "secret thought", "I look."),
        called("a2", "a1", "bash", command="ls  -l\n| wc", timeout=5, cwd="/x", shell=True),
        returned("r1", "a2", "bash", "printed"),
        custom("c1", "r1", "x", "injected"),
        said("a3", "c1", "y" * 2500),
    )

    found = texts(project.call("journal.transcript", {"transcript_path": str(path)}))

    assert found[:3] == ["go", "I look.", "bash(command=ls -l | wc, timeout=5, cwd=/x, …)"]
    assert found[3] == "y" * 2000 + "\n[... turn truncated ...]"
    assert len(found) == 4


def test_a_target_that_is_no_turn_focuses_the_turn_before_it(project: Project) -> None:
    path = project.session("s1", user("u1", None, "go"), called("a1", "u1", "ls"), returned("r1", "a1", "ls", "x"))

    answer = project.call("journal.transcript", {"transcript_path": str(path), "turn": "r1"})

    assert [turn["id"] for turn in answer["turns"] if turn["target"]] == ["a1"]


def test_a_file_that_is_no_session_is_not_read_as_one_without_turns(project: Project) -> None:
    path = project.home / "passwd"
    path.write_text("root:x:0:0:root:/root:/bin/sh\n")

    with pytest.raises(SourceUnavailable, match="is no session"):
        project.call("journal.transcript", {"transcript_path": str(path)})


def test_nothing_to_show_is_said(project: Project) -> None:
    path = project.session("s1", entry("e1", None, {"role": "assistant", "content": []}))

    assert (
        project.call("journal.transcript", {"transcript_path": str(path)})["text"] == f"no renderable turns in {path}"
    )


@pytest.mark.parametrize(
    ("turn", "error", "message"),
    [
        ("zz", AddressNotFound, "begins with zz"),
        ("u", AmbiguousAddress, "3 entries"),
    ],
)
def test_an_entry_that_is_not_there_or_not_one_is_an_error(
    project: Project, forked: Path, turn: str, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        project.call("journal.transcript", {"transcript_path": str(forked), "turn": turn})


def test_a_whole_id_is_not_ambiguous_because_another_begins_with_it(project: Project) -> None:
    path = project.session("s1", user("a", None, "one"), user("ab", "a", "two"))

    assert texts(project.call("journal.transcript", {"transcript_path": str(path), "turn": "a", "context": 0})) == [
        "one"
    ]


def test_a_transcript_that_is_not_there_is_named(project: Project) -> None:
    with pytest.raises(SourceUnavailable, match=r"/nowhere/a\.jsonl"):
        project.call("journal.transcript", {"transcript_path": "/nowhere/a.jsonl"})


def test_a_cycle_of_parents_ends(project: Project) -> None:
    path = project.session("s1", user("a", "b", "one"), user("b", "a", "two"))

    assert sorted(texts(project.call("journal.transcript", {"transcript_path": str(path), "turn": "a"}))) == [
        "one",
        "two",
    ]


def test_a_directory_is_no_transcript_that_is_missing(project: Project) -> None:
    with pytest.raises(SourceUnavailable, match=f"{project.home} is a directory"):
        project.call("journal.transcript", {"transcript_path": str(project.home)})


def test_an_argument_that_is_null_is_shown_as_such(project: Project) -> None:
    path = project.session("s1", user("u1", None, "x"), called("a1", "u1", "read", path="a.py", limit=None, all=False))

    answer = project.call("journal.transcript", {"transcript_path": str(path)})

    assert texts(answer)[-1] == "read(path=a.py, limit=null, all=false)"
