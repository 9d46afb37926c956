"""How the command line shows what a search of the journal finds."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Pepys


def test_every_hit_in_a_long_line_is_shown_with_its_text(
    home: Path, pepys: Pepys, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = home / "shop" / ".memsearch" / "memory"
    store.mkdir(parents=True)
    (home / "shop" / ".git").mkdir()
    monkeypatch.chdir(home / "shop")
    monkeypatch.delenv("MEMSEARCH_DIR", raising=False)
    line = " ".join(f"The deploy of the shop failed at migration number {number}." for number in range(90))
    (store / "2026-08-13.md").write_text(f"### 10:00\n- {line}\n")

    shown = pepys("journal", "search", "deploy", "shop").stdout.strip()

    blocks = shown.split("\n\n")
    assert len(blocks) > 1
    assert all("migration number" in block.split("\n")[1] for block in blocks)
