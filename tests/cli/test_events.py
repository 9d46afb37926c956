"""`pepys events`."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from tests.cli.conftest import Pepys, Run

HEADER = {"type": "session", "version": 3, "id": "s1", "timestamp": "2026-03-09T09:00:00.000Z", "cwd": "/shop"}


def message(id_: str, parent: str | None, role: str, *content: dict[str, object], at: int = 0) -> dict[str, object]:
    body = {"role": role, "content": list(content)}
    time = f"2026-03-09T09:{at:02}:00.000Z"
    return {"type": "message", "id": id_, "parentId": parent, "timestamp": time, "message": body}


def text(words: str) -> dict[str, object]:
    return {"type": "text", "text": words}


LONG = "begin " + "filler words here " * 900 + "end"
CALL: dict[str, object] = {"type": "toolCall", "id": "call-1", "name": "edit", "arguments": {"path": "src/stock.py"}}


@pytest.fixture
def shop_sessions(home: Path) -> tuple[str, ...]:
    """One session in /shop and one elsewhere, and the options that look at the first."""
    folder = home / "more"
    folder.mkdir()
    lines = [
        HEADER,
        message("a", None, "user", text("Why do we oversell?"), at=1),
        message("b", "a", "assistant", text("Let us lock write_file."), CALL, at=2),
        message("c", "a", "assistant", text("Rather a conditional UPDATE."), at=3),
        message("d", "c", "user", text(LONG), at=4),
    ]
    (folder / "one.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    other = [{**HEADER, "id": "s2", "cwd": "/elsewhere"}, message("z", None, "user", text("oversell elsewhere"))]
    (folder / "two.jsonl").write_text("".join(json.dumps(line) + "\n" for line in other))
    return ("--sessions", str(folder), "--cwd", "/shop")


def opened(run: Run) -> list[str]:
    """The arguments of the commands that a run offers."""
    return shlex.split(next(line for line in run.stdout.splitlines() if line.startswith("pepys ")))[1:]


def test_a_hit_is_shown_with_the_command_that_opens_it(pepys: Pepys, shop_sessions: tuple[str, ...]) -> None:
    run = pepys("events", "search", "conditional", "update", *shop_sessions)

    lines = run.stdout.splitlines()
    assert run.status == 0
    assert lines[0].split("  ", 1)[1] == "assistant.text  s1"
    assert lines[1] == "Rather a conditional UPDATE."
    assert "Rather a conditional UPDATE." in pepys(*opened(run)).stdout


def test_where_an_event_stands_is_told(pepys: Pepys, shop_sessions: tuple[str, ...]) -> None:
    run = pepys(*shop_sessions, "events", "search", "file")

    assert "assistant.text  [alternate] s1" in run.stdout


def test_other_workspaces_are_not_searched(pepys: Pepys, shop_sessions: tuple[str, ...]) -> None:
    hits = pepys("events", "search", "oversell", "--json", *shop_sessions).json["hits"]

    assert [hit["entryId"] for hit in hits] == ["a"]
    assert pepys("events", "read", "s2", "z", *shop_sessions).status == 4


@pytest.mark.parametrize(
    ("options", "found"),
    [
        (("stock", "--file", "src/stock.py"), ["b"]),
        (("stock", "--file", "src", "--changed"), ["b"]),
        (("stock", "--file", "src/stock.py", "--read"), []),
        (("oversell", "--role", "user"), ["a"]),
        (("oversell", "--role", "assistant", "--role", "tool"), []),
        (("lock", "--branch", "selected"), []),
        (("lock", "--branch", "alternate", "--state", "not-selected"), ["b"]),
        (("lock", "--kind", "assistant.text", "--type", "message", "--tool", "edit"), []),
        (("stock", "--tool", "edit"), ["b"]),
        (("conditional", "--since", "2026-03-09T09:03:00+00:00", "--until", "2026-03-09T09:03:00+00:00"), ["c"]),
        (("conditional", "--until", "2026-03-08"), []),
        (("conditional", "--errors"), []),
        (("conditional", "--session", "s1", "--in", "/shop"), ["c"]),
        (("conditional", "--in", "/shop/src"), []),
        (("a", "conditional", "--phrase"), ["c"]),
        (("conditional", "a", "--phrase"), []),
        (('"a conditional"', "rather"), ["c"]),
        (("conditional", "--include-own", "--subagents"), ["c"]),
    ],
)
def test_filters_are_passed_on(
    pepys: Pepys, shop_sessions: tuple[str, ...], options: tuple[str, ...], found: list[str]
) -> None:
    hits = pepys("events", "search", *options, "--json", *shop_sessions).json["hits"]

    assert [hit["entryId"] for hit in hits] == found


def test_when_nothing_is_found_it_says_why(pepys: Pepys, shop_sessions: tuple[str, ...]) -> None:
    run = pepys("events", "search", "conditional", "nowhere", *shop_sessions)

    notes = run.stderr.splitlines()
    assert (run.status, run.stdout) == (0, "")
    assert notes[:3] == ["No hits.", "      1 event holds conditional", "      0 events hold nowhere"]
    retry = shlex.split(notes[4].removeprefix("This finds more: "))
    assert [hit["entryId"] for hit in pepys(*retry[1:]).json["hits"]] == ["c"]


@pytest.mark.parametrize(
    "words",
    [
        ("search", '"open'),
        ("search", "a", "--since", "someday"),
        ("search", "a", "--changed"),
        ("search", 'a"', "--phrase"),
        ("search",),
        ("read", "s1"),
        ("read", "s1", "a", "--full", "--offset", "1"),
        ("read", "s1", "a", "--before", "-1"),
        ("remember", "a"),
        (),
    ],
)
def test_what_is_not_understood_is_refused(
    pepys: Pepys, shop_sessions: tuple[str, ...], words: tuple[str, ...]
) -> None:
    run = pepys("events", *words, *shop_sessions)

    assert (run.status, run.stdout) == (2, "")
    assert run.stderr.startswith("pepys: ")


def test_an_event_is_read_between_its_neighbours(pepys: Pepys, shop_sessions: tuple[str, ...]) -> None:
    run = pepys("events", "read", "s1", "c", *shop_sessions)

    lines = run.stdout.splitlines()
    assert lines[0] == "before  a  message  Why do we oversell?"
    assert lines[1].startswith("c  message  assistant  ")
    assert lines[2:4] == ["assistant.text", "Rather a conditional UPDATE."]
    assert lines[4].startswith("after   d  message  begin filler")
    assert lines[5] == "fork    at a: b, c; on to c"


def test_neighbours_may_be_those_in_the_file(pepys: Pepys, shop_sessions: tuple[str, ...]) -> None:
    run = pepys("events", "read", "s1", "c", "--append", "--before", "2", "--after", "0", *shop_sessions)

    assert [line.split()[1] for line in run.stdout.splitlines() if line.startswith("before")] == ["a", "b"]
    assert "after" not in run.stdout


def test_a_long_text_is_shown_in_part_or_as_a_whole(pepys: Pepys, shop_sessions: tuple[str, ...]) -> None:
    part = pepys("events", "read", "s1", "d", *shop_sessions).stdout
    window = pepys("events", "read", "s1", "d", "--offset", "6", "--window", "12", *shop_sessions).stdout
    whole = pepys("events", "read", "s1", "d", "--full", *shop_sessions).stdout

    assert f"of {len(LONG)} characters; --full shows all" in part
    assert LONG not in part
    assert "\nfiller words\n" in window
    assert LONG in whole
    assert "characters" not in whole


def test_one_part_of_an_event_is_read_alone(pepys: Pepys, shop_sessions: tuple[str, ...]) -> None:
    run = pepys("events", "read", "s1", "b", "--fragment", "b::tool.call::0", *shop_sessions)

    assert "tool.call edit" in run.stdout
    assert "assistant.text" not in run.stdout


def test_a_trace_is_drawn(pepys: Pepys, shop_sessions: tuple[str, ...]) -> None:
    run = pepys("events", "trace", "s1", "b", *shop_sessions)

    assert run.stdout.splitlines() == [
        "* a  message  Why do we oversell?",
        "|-* c  message  Rather a conditional UPDATE.",
        "`-o b  message  [this event]  Let us lock write_file.",
        "file-changed -> /shop/src/stock.py  edit  (derived)",
    ]


def test_json_is_the_answer_itself(pepys: Pepys, shop_sessions: tuple[str, ...]) -> None:
    for action, args in (("read", {"sessionId": "s1", "entryId": "b"}), ("trace", {"sessionId": "s1", "entryId": "b"})):
        shown = pepys("events", action, "s1", "b", "--json", *shop_sessions).json
        called = pepys("call", f"events.{action}", json.dumps(args), *shop_sessions).json

        for made in (shown, called):
            made["coverage"].pop("lastReconciled")
        assert shown == called


def test_an_event_that_is_not_there_and_one_that_is_not_ours_look_the_same(
    pepys: Pepys, shop_sessions: tuple[str, ...]
) -> None:
    missing = pepys("events", "trace", "s9", "z", *shop_sessions)
    foreign = pepys("events", "trace", "s2", "z", *shop_sessions)

    assert (missing.status, missing.stderr) == (foreign.status, foreign.stderr) == (4, missing.stderr)


@pytest.mark.requirement("events.current.cutoff")
@pytest.mark.parametrize("variable", ["PI_SESSION_FILE", "PI_SESSION_ID", None])
@pytest.mark.parametrize("session", ["current", "s1"])
def test_the_current_session_is_known_at_a_command_line_and_all_of_it_is_older(
    pepys: Pepys,
    shop_sessions: tuple[str, ...],
    home: Path,
    variable: str | None,
    session: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    file = str(home / "more" / "one.jsonl")
    options = shop_sessions if variable else (*shop_sessions, "--session-file", file)
    if variable:
        monkeypatch.setenv(variable, "s1" if variable == "PI_SESSION_ID" else file)

    found = pepys("events", "search", "oversell", "--session", session, "--json", *options).json["hits"]

    assert [hit["entryId"] for hit in found] == ["a"]
    assert pepys("events", "read", session, "d", *options).status == 0
    assert pepys("events", "trace", session, "d", *options).status == 0
    assert pepys("events", "search", "oversell", *options).stdout == ""


def test_the_current_session_is_not_known_from_nothing(pepys: Pepys, shop_sessions: tuple[str, ...]) -> None:
    run = pepys("events", "read", "current", "a", *shop_sessions)

    assert run.status == 2
    assert "not available" in run.stderr


def test_options_of_every_command_stand_anywhere(pepys: Pepys, shop_sessions: tuple[str, ...], home: Path) -> None:
    (home / "empty").mkdir()
    folder = shop_sessions[1]

    run = pepys(
        "--sessions",
        str(home / "empty"),
        "events",
        "--cwd",
        "/shop",
        "search",
        "oversell",
        "--sessions",
        folder,
        "--json",
    )

    assert [hit["entryId"] for hit in run.json["hits"]] == ["a"]
    assert pepys("events", "search", "--help").status == 0


def lines_of(*records: dict[str, object]) -> str:
    return "".join(json.dumps(record) + "\n" for record in records)


def test_a_parent_session_is_led_to_and_a_child_is_led_from(
    pepys: Pepys, shop_sessions: tuple[str, ...], home: Path
) -> None:
    (home / "more" / "three.jsonl").write_text(
        lines_of({**HEADER, "id": "s3", "parentSession": "s1"}, message("x", None, "user", text("copied")))
    )

    run = pepys("events", "trace", "s3", "x", *shop_sessions)

    assert "session-parent -> s1" in run.stdout.splitlines()


def test_masks_in_a_trace_are_told(pepys: Pepys, shop_sessions: tuple[str, ...], home: Path) -> None:
    token = "ghp_" + "a1B2" * 9
    (home / "more" / "three.jsonl").write_text(
        lines_of({**HEADER, "id": "s3"}, message("x", None, "user", text(f"use {token}")))
    )

    run = pepys("events", "trace", "s3", "x", *shop_sessions)

    assert token not in run.stdout
    assert "1 credential is masked; `pepys call` shows it." in run.stderr


def test_files_of_one_session_that_differ_are_listed(pepys: Pepys, shop_sessions: tuple[str, ...], home: Path) -> None:
    other = home / "more" / "three.jsonl"
    other.write_text(lines_of(HEADER, message("a", None, "user", text("something else"))))

    run = pepys("events", "read", "s1", "a", *shop_sessions)

    assert run.status == 4
    assert run.stderr.splitlines()[-2:] == [f"  {home}/more/one.jsonl", f"  {other}"]


def test_a_query_without_a_word_is_told(pepys: Pepys, shop_sessions: tuple[str, ...]) -> None:
    run = pepys("events", "search", "!!!", *shop_sessions)

    assert run.stderr.splitlines()[:2] == ["No hits.", "The query has no word: only letters, digits and CJK are found."]


def test_a_folder_that_removes_everything_is_told(pepys: Pepys, shop_sessions: tuple[str, ...]) -> None:
    run = pepys("events", "search", "conditional", "--in", "/shop/src", *shop_sessions)

    notes = run.stderr.splitlines()
    assert notes[1] == "      0 of 1 found without filters pass --in"
    retry = shlex.split(notes[-1].removeprefix("This finds more: "))
    assert [hit["entryId"] for hit in pepys(*retry[1:]).json["hits"]] == ["c"]


@pytest.mark.parametrize("side", ["--before", "--after"])
def test_more_neighbours_than_there_can_be_are_told(pepys: Pepys, shop_sessions: tuple[str, ...], side: str) -> None:
    notes = {number: pepys("events", "read", "s1", "c", side, number, *shop_sessions).stderr for number in "59"}

    assert f"{side} shows at most 5." in notes["9"]
    assert "at most" not in notes["5"]
