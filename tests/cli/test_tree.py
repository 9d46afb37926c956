"""`pepys tree`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Pepys

HEADER = {"type": "session", "version": 3, "id": "s1", "timestamp": "2026-03-09T09:00:00.000Z", "cwd": "/shop"}


def message(id_: str, parent: str | None, text: str, role: str = "user") -> dict[str, object]:
    content = [{"type": "text", "text": text}]
    return {"type": "message", "id": id_, "parentId": parent, "message": {"role": role, "content": content}}


@pytest.fixture
def branched(home: Path) -> str:
    """A session whose second answer was given up, summarised and labelled."""
    lines: list[dict[str, object]] = [
        HEADER,
        message("a", None, "Why do we oversell?"),
        message("b", "a", "Let us lock\n the row.", "assistant"),
        message("c", "b", "It deadlocks."),
        {"type": "branch_summary", "id": "s", "parentId": "a", "fromId": "a", "summary": "Locking deadlocks."},
        message("d", "s", "A conditional UPDATE, then.", "assistant"),
        *(message(str(number), str(number - 1) if number else "d", f"step {number}") for number in range(9)),
        {"type": "label", "id": "l1", "parentId": "8", "targetId": "4", "label": "it\x1b works"},
        {"type": "label", "id": "l2", "parentId": "l1", "targetId": "a", "label": "gone"},
        {"type": "label", "id": "l3", "parentId": "l2", "targetId": "a"},
    ]
    file = home / "branched.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return str(file)


HERE = ("--cwd", "/shop")


def test_branches_are_drawn_and_what_lies_between_is_counted(pepys: Pepys, branched: str) -> None:
    run = pepys("tree", branched, *HERE)

    assert run.status == 0
    assert run.stdout.splitlines() == [
        "s1",
        "* a  user  Why do we oversell?",
        "|-o b  assistant  Let us lock the row.",
        "| o c  user  It deadlocks.",
        "* s  branchSummary  Locking deadlocks.",
        ": 5 entries",
        "* 4  user  [it\\x1b works]  step 4",
        ": 6 entries",
        "* l3  label  [leaf]",
    ]


def test_every_entry_is_drawn_if_asked_for(pepys: Pepys, branched: str) -> None:
    run = pepys("tree", "--full", branched, *HERE)

    assert len(run.stdout.splitlines()) == 1 + 17


def test_json_has_every_entry_with_its_states(pepys: Pepys, branched: str) -> None:
    made = pepys("tree", branched, "--json", *HERE).json

    entries = {entry["entryId"]: entry for entry in made["entries"]}
    assert (made["sessionId"], made["file"], len(made["entries"])) == ("s1", branched, 17)
    assert entries["b"]["branchState"] == "alternate"
    assert entries["b"]["selectionState"] == "summarized"
    assert entries["b"]["selectionInferred"] is True
    assert entries["4"]["label"] == "it\x1b works"
    assert "label" not in entries["a"]
    assert entries["d"] == {
        "entryId": "d",
        "parentId": "s",
        "entryType": "message",
        "role": "assistant",
        "tool": None,
        "timestamp": None,
        "branchState": "selected",
        "contextRole": "conversation",
        "selectionState": "direct",
        "preview": "A conditional UPDATE, then.",
    }


def test_a_session_that_is_not_there_is_an_error(pepys: Pepys, home: Path) -> None:
    run = pepys("tree", "nowhere")

    assert run.status == 4
    assert run.stdout == ""


@pytest.mark.requirement("events.authorised.alike")
def test_a_session_of_another_workspace_is_not_there(pepys: Pepys, branched: str) -> None:
    foreign, missing = pepys("tree", branched), pepys("tree", "/nowhere.jsonl")

    assert (foreign.status, foreign.stdout) == (4, "")
    assert "--cwd names another" in foreign.stderr
    assert foreign.stderr == missing.stderr


@pytest.mark.parametrize("variable", ["PI_SESSION_FILE", "PI_SESSION_ID", None])
def test_the_current_session_is_drawn_by_that_word(
    pepys: Pepys, branched: str, variable: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = () if variable else ("--session-file", branched)
    if variable:
        monkeypatch.setenv(variable, "s1" if variable == "PI_SESSION_ID" else branched)

    run = pepys("tree", "current", *HERE, "--sessions", str(Path(branched).parent), *options)

    assert (run.status, run.stdout.splitlines()[0]) == (0, "s1")


def test_files_of_one_session_are_listed(pepys: Pepys, branched: str) -> None:
    copy = Path(branched).with_name("copy.jsonl")
    copy.write_text(Path(branched).read_text())

    run = pepys("tree", "s1", *HERE, "--sessions", str(copy.parent))

    assert run.status == 4
    assert run.stderr.splitlines()[-2:] == [f"  {branched}", f"  {copy}"]


def test_sample_sessions_are_drawn_by_their_ids(pepys: Pepys, shop: tuple[str, ...]) -> None:
    listed = pepys("sessions", "--json", *shop).json["sessions"]

    drawings = [pepys("tree", row["id"], *shop).stdout for row in listed]

    assert all(drawing.count("[leaf]") == 1 for drawing in drawings)
    assert any("|-o" in drawing for drawing in drawings)


def test_credentials_are_masked_in_what_people_see(pepys: Pepys, home: Path) -> None:
    token = "ghp_" + "a1B2" * 9
    file = home / "secret.jsonl"
    file.write_text(json.dumps(HEADER) + "\n" + json.dumps(message("a", None, f"use {token} here")) + "\n")

    run = pepys("tree", str(file), *HERE)

    assert token not in run.stdout
    assert "use ****" in run.stdout
    assert run.stderr == "1 credential is masked; --json shows it.\n"
    assert token in pepys("tree", str(file), "--json", *HERE).stdout
