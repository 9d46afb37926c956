"""`pepys journal`: the journal for people."""

from __future__ import annotations

import json
import shlex
from datetime import datetime
from pathlib import Path

import pytest

from pepys.journal import engines, live, store
from tests.cli.conftest import Pepys
from tests.journal.project import entry
from tests.recall.diary import Diary, said, user


@pytest.fixture
def shop(home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository, which is the working directory."""
    monkeypatch.setitem(engines.ENGINES, "pepys", "tests.journal.plain")
    monkeypatch.setattr(store, "_HEADED", {})
    monkeypatch.setattr(live, "SESSIONS", {})
    monkeypatch.delenv("MEMSEARCH_DIR", raising=False)
    root = home / "shop"
    (root / ".git").mkdir(parents=True)
    monkeypatch.chdir(root)
    return root


def day(shop: Path) -> Path:
    (path,) = (shop / ".memsearch" / "memory").glob("*.md")
    return path


def test_what_is_written_is_found_opened_and_forgotten(shop: Path, pepys: Pepys) -> None:
    written = pepys("journal", "write", "the", "cache", "is", "Redis")
    hit = pepys("journal", "search", "cache", "--json").json["hits"][0]
    opened = pepys("journal", "expand", hit["chunk_hash"])
    forgotten = pepys("journal", "forget", hit["chunk_hash"])

    assert written.stdout.startswith("Memory saved to ")
    assert hit["content"].endswith("- the cache is Redis")
    assert "- the cache is Redis" in opened.stdout
    assert forgotten.stdout.startswith("Memory entry redacted from ")
    assert pepys("journal", "search", "cache").stdout == 'No memories found for "cache".\n'


def test_text_comes_from_stdin_as_it_is(shop: Path, pepys: Pepys) -> None:
    pepys("journal", "write", "-", stdin="- one\n- two\n")

    assert day(shop).read_text().endswith("- one\n- two\n\n")


def test_bytes_that_are_no_text_are_replaced_and_said(shop: Path, pepys: Pepys) -> None:
    done = pepys("journal", "write", "-", stdin=b"- caf\xe9 \xff\n")

    assert day(shop).read_text().endswith("- caf\ufffd \ufffd\n\n")
    assert done.stdout == f"Memory saved to {day(shop)}\n"
    assert done.stderr == "2 bytes that are not UTF-8 were stored as U+FFFD.\n"


@pytest.mark.parametrize("text", ["", "   ", "\u200b", "-", "*"])
def test_what_says_nothing_is_no_entry(shop: Path, pepys: Pepys, text: str) -> None:
    for done in (pepys("journal", "write", text, stdin=text), pepys("journal", "write", "-", stdin=text)):
        assert (done.status, done.stderr) == (2, "pepys: content is empty: there is nothing to remember.\n")
    assert not (shop / ".memsearch").exists()


def test_an_entry_is_forgotten_by_day_and_time(shop: Path, pepys: Pepys) -> None:
    memory = shop / ".memsearch" / "memory"
    memory.mkdir(parents=True)
    (memory / "2026-08-13.md").write_text(entry("10:00", "one") + entry("10:05", "two"))

    assert pepys("journal", "forget", "--date", "2026-08-13").status == 2
    assert pepys("journal", "forget", "--date", "2026-08-13", "--time", "11:00").status == 4
    assert pepys("journal", "forget", "--date", "2026-08-13", "--time", "10:05").status == 0
    assert day(shop).read_text() == entry("10:00", "one")


def test_capture_and_backfill_say_what_they_did(home: Path, shop: Path, pepys: Pepys) -> None:
    agent = home / ".pi"
    agent.mkdir()
    diary = Diary(agent)
    at = "2026-08-10T10:00:00Z"
    path = diary.session("s1", user("u1", None, "one", at=at), said("a1", "u1", "first", at=at), cwd=str(shop))
    diary.session("s2", user("u1", None, "two", at=at), said("a1", "u1", "second", at=at), cwd=str(shop))

    captured = pepys("journal", "capture", "--session", str(path))
    again = pepys("journal", "capture", "--session", str(path))
    filled = pepys("journal", "backfill", "--json")

    assert captured.stdout.endswith("as an extract: there is no model\n")
    file = captured.stdout.removeprefix("Captured into ").partition(" as an extract")[0]
    assert again.stderr == f"Nothing was captured: it was captured before, into {file}.\n"
    assert (filled.json["captured"], filled.json["before"]) == (1, 1)
    assert datetime.fromisoformat(day(shop).stem)


def test_a_conversation_is_read(home: Path, shop: Path, pepys: Pepys) -> None:
    diary = Diary(home)
    path = diary.session("s1", user("u1", None, "one"), said("a1", "u1", "first"), cwd=str(shop))

    shown = pepys("journal", "transcript", str(path), "--turn", "a1", "--context", "0")

    assert shown.stdout.endswith(" (target)\nfirst\n")


def test_status_and_snapshot_are_printed(shop: Path, pepys: Pepys) -> None:
    assert f"store: {shop}/.memsearch/memory\n" in pepys("journal", "status").stdout
    assert pepys("journal", "snapshot").stdout.startswith("## Project memory\n")


def test_a_store_command_that_fails_is_an_error_everywhere(
    shop: Path, pepys: Pepys, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PI_MEMSEARCH_STORE_CMD", "/nowhere/cmd")

    for doing in (["status"], ["snapshot"], ["write", "x"], ["search", "x"], ["backfill"], ["compact"]):
        assert pepys("journal", *doing).status == 2
    assert not (shop / ".memsearch").exists()


def test_compaction_without_a_model_says_where_one_could_be(shop: Path, pepys: Pepys) -> None:
    pepys("journal", "write", "x y")

    failed = pepys("journal", "compact")

    assert failed.status == 8
    assert "journal.modelApi" in failed.stderr


def test_hits_are_shown_without_anchors_and_with_the_command_that_opens_them(shop: Path, pepys: Pepys) -> None:
    memory = shop / ".memsearch" / "memory"
    memory.mkdir(parents=True)
    (memory / "2026-08-13.md").write_text(entry("10:00", "the cache is Redis"))

    shown = pepys("journal", "search", "cache")

    assert shown.stdout.startswith("2026-08-13 10:00  1.00\n- the cache is Redis\npepys journal expand ")


def test_projects_that_were_searched_are_counted(
    home: Path, shop: Path, pepys: Pepys, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = home / "other place" / "memory"
    other.mkdir(parents=True)
    (other / "2026-08-12.md").write_text(entry("09:00", "their cache"))
    monkeypatch.setenv("PI_MEMSEARCH_SCAN_ROOTS", str(home))

    across = pepys("journal", "search", "--all", "their", "cache")
    words = shlex.split(across.stdout.splitlines()[-1])

    assert across.stderr == "1 project searched.\nSkipped, no readable memory: " + f"{shop}\n"
    assert "their cache" in pepys(*words[1:]).stdout


def test_a_host_drives_a_session_over_lines(home: Path, shop: Path, pepys: Pepys) -> None:
    agent = home / ".pi"
    agent.mkdir()
    path = Diary(agent).session("s1", user("u1", None, "one"), said("a1", "u1", "first answer"), cwd=str(shop))
    context = {"cwd": str(shop), "sessionFile": str(path), "host": "pi"}
    calls = [
        {"id": number, "ref": f"journal.{name}", "args": {}, "context": {**context, "toolCallId": str(number)}}
        for number, name in enumerate(["start", "settled", "snapshot", "shutdown", "start"])
    ]

    answers = pepys("call", "--lines", stdin="".join(json.dumps(call) + "\n" for call in calls)).stdout.splitlines()

    start, settled, snapshot, shutdown, again = (json.loads(answer)["result"] for answer in answers)
    assert settled == {"captured": True, "kind": "pending"}
    assert snapshot["snapshot"] == start["snapshot"]  # each call came in a context, and a workspace, of its own
    assert (shutdown["captured"], shutdown["failures"]) == (True, [])
    assert "(extract) the user asked: one" in again["snapshot"]
