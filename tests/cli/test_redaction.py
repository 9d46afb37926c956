"""What the command line shows is masked and counted; what it hands on to programs is exact."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pepys.redaction import MASK
from tests.cli.conftest import Pepys
from tests.credentials import TOKENS
from tests.recall.diary import Diary

TOKEN = TOKENS["anthropic"]
HIDDEN = MASK * len(TOKEN)


@pytest.fixture
def options(home: Path) -> tuple[str, ...]:
    """The options that look at a session in which a credential is said twice, the second time far into a record."""
    diary = Diary(home)
    diary.talk("a", f"the harbour has {TOKEN}", "z " * 13_000 + TOKEN)
    return ("--host", "pi", "--agent-dir", str(diary.agent), "--index-dir", str(home / "index"), "--cwd", "/srv/shop")


@pytest.mark.requirement("privacy.masked_where_shown")
def test_recall_masks_and_counts(pepys: Pepys, options: tuple[str, ...]) -> None:
    shown = pepys("recall", "harbour", *options)
    as_json = pepys("recall", "harbour", "--json", *options).json

    assert HIDDEN in shown.stdout and TOKEN not in shown.stdout
    assert "1 credential is masked; `pepys call` shows it." in shown.stderr
    assert as_json["hits"][0]["snippet"] == f"the harbour has {HIDDEN}"
    assert as_json["redacted"] == 1


def test_expand_masks_and_counts_over_all_its_pages(pepys: Pepys, options: tuple[str, ...]) -> None:
    shown = pepys("expand", "a", "--range", "0:1", *options)
    as_json = pepys("expand", "a", "--index", "0", "--json", *options).json

    assert shown.stdout.count(HIDDEN) == 2 and TOKEN not in shown.stdout
    assert "2 credentials are masked; `pepys call` shows them." in shown.stderr
    assert as_json["entries"][0]["text"] == f"the harbour has {HIDDEN}"
    assert as_json["redacted"] == 1


def test_sessions_mask_names(pepys: Pepys, home: Path) -> None:
    diary = Diary(home)
    name = {"type": "session_info", "id": "n", "parentId": None, "timestamp": "2026-01-02T12:00:00Z", "name": TOKEN}
    diary.session("a", name)
    options = ("--host", "pi", "--agent-dir", str(diary.agent), "--index-dir", str(home / "index"))

    shown = pepys("sessions", "--scope", "global", *options)

    assert HIDDEN in shown.stdout and TOKEN not in shown.stdout
    assert "1 credential is masked" in shown.stderr


@pytest.mark.requirement("privacy.masked_where_shown")
def test_call_is_exact_unless_everything_is_masked(
    pepys: Pepys, options: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    request = json.dumps({"query": "harbour", "scope": "global"})

    exact = pepys("call", "memory.recall", request, *options).json
    monkeypatch.setenv("PEPYS_MEMORY_REDACT", "always")
    always = pepys("call", "memory.recall", request, *options).json

    assert exact["hits"][0]["snippet"] == f"the harbour has {TOKEN}"
    assert "redacted" not in exact
    assert (always["hits"][0]["snippet"], always["redacted"]) == (f"the harbour has {HIDDEN}", 1)


def test_redaction_can_be_switched_off(pepys: Pepys, options: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PEPYS_MEMORY_REDACT", "off")

    shown = pepys("recall", "harbour", *options)

    assert TOKEN in shown.stdout
    assert "masked" not in shown.stderr


def test_nothing_is_said_where_nothing_is_masked(pepys: Pepys, shop: tuple[str, ...]) -> None:
    assert "masked" not in pepys("recall", "stock", *shop).stderr
    assert "redacted" not in pepys("recall", "stock", "--json", *shop).json
