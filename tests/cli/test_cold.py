"""What the command line shows of cold sessions and of patterns, and whether the commands it prints lead on."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from tests.cli.conftest import Pepys


@pytest.fixture(autouse=True)
def cold(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PEPYS_MEMORY_HOT_SESSIONS", "0")
    monkeypatch.setenv("PEPYS_MEMORY_REGEX_TIMEOUT_MS", "10000")  # machines may be busy


@pytest.mark.parametrize(
    "search",
    [
        ["stock"],
        ["--match", "all", "mail", "promise"],
        ["--phrase", "mail must not"],
        ["--regex", "stoc[k]"],
        ["--tool", "bash"],
    ],
    ids=["words", "all words", "phrase", "pattern", "filter"],
)
def test_a_cold_session_is_shown_with_a_command_that_resolves_it(
    pepys: Pepys, shop: tuple[str, ...], search: list[str]
) -> None:
    found = pepys("recall", *search, *shop)

    commands = [line for line in found.stdout.splitlines() if line.startswith("pepys recall")]
    assert commands
    assert "cold: the session holds" in found.stdout
    resolved = pepys(*shlex.split(commands[0])[1:])
    assert resolved.status == 0
    assert "pepys expand" in resolved.stdout
    assert "pepys recall" not in resolved.stdout


def test_what_is_kept_of_a_session_is_shown_in_words_and_as_json(pepys: Pepys, shop: tuple[str, ...]) -> None:
    session = pepys("sessions", *shop, "--json").json["sessions"][0]["id"]

    digest = pepys("index", "show", session, *shop, "--json").json
    shown = pepys("index", "show", session, *shop).stdout

    assert digest["kind"] == "digest"
    assert digest["vocabulary"]
    assert f"{len(digest['vocabulary'])}: {digest['vocabulary'][0]}" in shown


def test_show_takes_a_session_and_nothing_else_does(pepys: Pepys, shop: tuple[str, ...]) -> None:
    assert [pepys("index", *words, *shop).status for words in (["show"], ["status", "x"], ["delete", "--all"])] == [
        2,
        2,
        2,
    ]


def test_a_pattern_that_cannot_be_used_says_why(pepys: Pepys, shop: tuple[str, ...]) -> None:
    found = pepys("recall", "--regex", "(", *shop)

    assert found.status == 2
    assert "unterminated group at 0" in found.stderr
