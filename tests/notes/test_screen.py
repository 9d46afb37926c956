"""The picker on a terminal: a thin screen over `notes.picker`."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from pepys.errors import PepysError
from tests.notes.conftest import Desk

pytest.importorskip("textual")

from pepys.tui.notes import Picker


@pytest.fixture
def picker(desk: Desk) -> Iterator[Picker]:
    yield Picker(lambda given: desk.workspace.call("notes.picker", given))


def shown(picker: Picker) -> list[str]:
    """The lines of the terminal, as it has them."""
    return [
        "".join(segment.text for segment in picker.screen._compositor.render_strips()[y]).rstrip()
        for y in range(picker.size.height)
    ]


@pytest.mark.requirement("notes.picker_screen")
def test_keys_paste_and_resizing_reach_the_picker(desk: Desk, picker: Picker) -> None:
    from textual import events

    desk.write("- one\n- 日本語のメモ\n")
    seen: list[list[str]] = []

    async def use() -> None:
        async with picker.run_test(size=(60, 16)) as pilot:
            await pilot.press("a", *"use", "space", *"bun")
            picker.post_message(events.Paste(" and\nnpm"))
            await pilot.press("enter")
            seen.append(shown(picker))
            await pilot.resize_terminal(24, 12)
            seen.append(shown(picker))
            await pilot.press("up", "d", "y", "tab")
            seen.append(shown(picker))
            await pilot.press("escape")

    asyncio.run(use())

    assert seen[0][:7] == [
        "─ Memory " + "─" * 51,
        "All · 3 project, 0 global",
        "",
        "   project one",
        "   project 日本語のメモ",
        "❯  project use bun and npm",
        "",
    ]
    assert seen[1][4:6] == ["   project 日本語のメモ", "❯  project use bun and …"]
    assert seen[2][1].startswith("Project")
    assert desk.listed() == ["one", "use bun and npm"]
    assert not picker.is_running


def test_what_ends_the_picker_is_kept_for_whoever_opened_it() -> None:
    def failing(given: dict[str, Any]) -> dict[str, Any]:
        raise PepysError("no list of trusted projects")

    picker = Picker(failing)

    async def use() -> None:
        async with picker.run_test(size=(60, 16)):
            pass

    asyncio.run(use())

    assert picker.failure is not None
    assert picker.failure.message == "no list of trusted projects"
