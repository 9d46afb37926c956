"""Answers in words."""

from __future__ import annotations

import argparse
import io
import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pepys.cli import options, progress, render
from pepys.cli.commands import config
from pepys.cli.output import MATCH, Output, Span
from pepys.config import KEYS, SECTIONS
from pepys.errors import StalePointer
from pepys.jsontext import json_text
from pepys.model.context import Progress
from pepys.text import printable
from tests.cli.conftest import Pepys


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def hit(**fields: Any) -> dict[str, Any]:
    return {
        "kind": "entry",
        "sessionId": "s-1",
        "index": 7,
        "role": "toolResult",
        "tool": "bash",
        "timestamp": None,
        "isError": False,
        "snippet": "the last mug",
        "follow": {"ref": "memory.expand", "args": {"session": "/a/s-1.jsonl", "branches": "active", "indices": [7]}},
        **fields,
    }


def marks(text: str, query: str, *, phrase: bool = False) -> list[str]:
    return [span.text for span in render.marked(text, query, phrase=phrase) if span.style == MATCH]


def test_the_words_of_the_query_are_marked_as_whole_tokens() -> None:
    found = marks("Mugs, MUG, a mug; mug_cup İstanbul", "mug istanbul")

    assert found == ["MUG", "mug"]


def test_a_phrase_is_marked_as_it_stands() -> None:
    found = marks("the Last  mug, the last mug, LAST MUG.", " last mug ", phrase=True)

    assert found == ["last mug", "LAST MUG"]


@given(st.text(max_size=40), st.text(max_size=10), st.booleans())
def test_marking_loses_no_text(text: str, query: str, phrase: bool) -> None:
    spans = render.marked(text, query, phrase=phrase)

    assert "".join(span.text for span in spans) == text


@given(st.text(min_size=1, max_size=12))
def test_the_command_that_opens_a_hit_survives_a_shell(session: str) -> None:
    command = render.open_command(hit(sessionId=session), ["--sessions", "/with space"])

    _, verb, named, *rest = shlex.split(command)
    assert (verb, rest) == ("expand", ["--index", "7", "--sessions", "/with space"])
    assert named == session or (named == "/a/s-1.jsonl" and (session[0] == "-" or printable(session) != session))


def test_the_command_names_the_file_where_the_id_is_not_enough_and_the_branch_mode_where_it_matters() -> None:
    ambiguous = hit(file="/a/copy.jsonl")
    ambiguous["follow"]["args"]["branches"] = "all"

    command = render.open_command(ambiguous, [])

    assert command == "pepys expand /a/copy.jsonl --index 7 --all"


def test_a_reason_is_given_in_words_and_by_name() -> None:
    coverage = {"reasons": ["catching_up", "index_busy"], "subagentSessionsLeftOut": 2}

    lines = [
        "".join(span.text if isinstance(span, Span) else span for span in line)
        for line in render.coverage_lines(coverage)
    ]

    assert lines[0].startswith("Incomplete: the first index is still being built")
    assert lines[0].endswith("(catching_up)")
    assert lines[1].startswith("Note: ")
    assert "--subagents" in lines[2]


@pytest.mark.parametrize("stream", [io.StringIO, Terminal])
def test_text_from_sessions_cannot_steer_a_terminal(stream: type[io.StringIO]) -> None:
    out = Output(stream(), stream(), color=False)

    out.line("a\x1b[2Jb\x07", Span("\u202ec\x9b", "bold"))

    written = out.stdout.getvalue()  # type: ignore[attr-defined]
    assert not {"\x07", "\u202e", "\x9b"} & set(written)
    assert "\x1b[2J" not in written
    assert "a\\x1b[2Jb\\x07" in written


def test_a_terminal_gets_marks_and_a_pipe_gets_plain_text() -> None:
    terminal, pipe = Output(Terminal(), Terminal()), Output(io.StringIO(), io.StringIO())

    for out in (terminal, pipe):
        out.line("the ", Span("mug", MATCH), " [bold]")

    assert pipe.stdout.getvalue() == "the mug [bold]\n"  # type: ignore[attr-defined]
    assert "\x1b[" in terminal.stdout.getvalue()  # type: ignore[attr-defined]
    assert "[bold]" in terminal.stdout.getvalue()  # type: ignore[attr-defined]


def test_progress_is_drawn_on_a_terminal_and_gone_when_it_is_done() -> None:
    out = Output(io.StringIO(), Terminal())

    with progress.shown(out) as update:
        assert update is not None
        update(Progress(0, 100, 0, 2, "a"))
        drawn = out.stderr.getvalue()  # type: ignore[attr-defined]
        update(Progress(100, 100, 2, 2, "b"))
        finished = out.stderr.getvalue()  # type: ignore[attr-defined]

    assert "Indexing" in drawn
    assert finished.endswith("\x1b[2K")
    assert out.stderr.getvalue() == finished  # type: ignore[attr-defined]


def test_without_a_terminal_nobody_is_told_of_progress() -> None:
    with progress.shown(Output(Terminal(), io.StringIO())) as update:
        assert update is None


@given(st.recursive(st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=5))
def test_json_is_exact_and_holds_no_control_characters(value: object) -> None:
    text = json_text(value)

    assert json.loads(text) == value
    assert not {chr(code) for code in (*range(32), *range(0x7F, 0xA0), 0x202E, 0x2066)} & set(text)


def test_an_error_has_one_shape() -> None:
    error = StalePointer("The session went on.", details={"sessionFile": "/a"})
    for_programs = Output(io.StringIO(), io.StringIO(), as_json=True)
    for_people = Output(io.StringIO(), io.StringIO())

    for_programs.error(error)
    for_people.error(error)

    body = {"code": "stale_pointer", "message": "The session went on.", "sessionFile": "/a"}
    assert json.loads(for_programs.stdout.getvalue()) == {"error": body}  # type: ignore[attr-defined]
    assert for_people.stderr.getvalue() == "pepys: The session went on.\n"  # type: ignore[attr-defined]
    assert for_people.stdout.getvalue() == ""  # type: ignore[attr-defined]


def test_config_list_is_a_table_on_a_terminal_and_plain_lines_elsewhere(
    pepys: Pepys, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PEPYS_INDEX_BUDGET_MS", "5")
    monkeypatch.setenv("COLUMNS", "80")
    terminal = Terminal()
    args = argparse.Namespace(**{**vars(options.defaults()), "what": "list"})

    config.run(args, Output(terminal, io.StringIO(), color=False))
    plain = pepys("config", "list").stdout.splitlines()

    lines = re.sub(r"\x1b\[[0-9;]*m", "", terminal.getvalue()).splitlines()
    assert max(map(len, lines)) <= 80
    assert [line for line in lines if line.startswith("[")] == [f"[{section}]" for section in SECTIONS]
    assert any(line.split()[:2] == ["budgetMs", "5"] for line in lines)
    assert "index.budgetMs = 5  (default: 2000; from environment PEPYS_INDEX_BUDGET_MS)" in plain
    assert sum(" = " in line for line in plain) == len(KEYS)


@pytest.mark.parametrize(
    ("count", "words"),
    [
        (0, []),
        (1, ["1 credential is masked; `pepys call` shows it."]),
        (3, ["3 credentials are masked; `pepys call` shows them."]),
    ],
)
def test_masks_are_counted_in_words(count: int, words: list[str]) -> None:
    said = [
        "".join(span if isinstance(span, str) else span.text for span in line) for line in render.redacted_lines(count)
    ]

    assert said == words
