"""`pepys mcp` as a command: what it offers, and what it says where it cannot serve."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from pepys.errors import InvalidArgument, UnknownAction
from pepys.mcp import place, tools
from tests.cli.conftest import Pepys, home, pepys  # noqa: F401  (fixtures)


def test_without_the_sdk_the_command_says_what_to_install(
    pepys: Pepys,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in [name for name in sys.modules if name.startswith(("mcp", "mcp_types", "pepys.mcp"))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "mcp", None)
    monkeypatch.setitem(sys.modules, "mcp_types", None)

    run = pepys("mcp")

    assert run.status == 7
    assert "pip install 'pepys[mcp]'" in run.stderr
    assert run.stdout == ""


def test_an_unknown_tool_is_refused_before_anything_is_served(pepys: Pepys) -> None:  # noqa: F811
    run = pepys("mcp", "--tools", "session_recal")

    assert run.status == 2
    assert "session_recal" in run.stderr
    assert "memory.recall" in run.stderr


@pytest.mark.parametrize(
    ("names", "offered"),
    [
        (None, list(tools.DEFAULT)),
        ("memory_forget", ["memory_forget"]),
        ("events.trace, session_list,", ["event_trace", "session_list"]),
        ("memory.recall,session_recall", ["session_recall"]),
    ],
)
def test_tools_are_chosen_by_their_names_or_refs(names: str | None, offered: list[str]) -> None:
    assert list(tools.chosen(names)) == offered


@pytest.mark.parametrize("name", ["notes.clear", "notes_clear", "journal.start"])
def test_what_is_for_people_or_hosts_is_no_tool(name: str) -> None:
    with pytest.raises(UnknownAction, match=r"exists, but it is for (people|hosts)"):
        tools.chosen(name)


def test_the_guide_lists_what_is_offered_by_default() -> None:
    guide = (Path(__file__).parents[2] / "docs" / "how-to" / "mcp.md").read_text(encoding="utf-8")

    listed = re.findall(r"^\| `(\w+)` \| `([\w.]+)` \|", guide, re.MULTILINE)

    assert listed == [(action.tool, action.ref) for action in tools.chosen(None).values()]


def test_no_names_are_an_error() -> None:
    with pytest.raises(InvalidArgument, match="names no tool"):
        tools.chosen(" , ")


def test_a_home_and_a_root_are_no_project(tmp_path: Path) -> None:
    env = {"HOME": str(tmp_path)}
    (tmp_path / "link").symlink_to(tmp_path)

    assert place.is_nowhere(Path("/"), env)
    assert place.is_nowhere(tmp_path, env)
    assert place.is_nowhere(tmp_path / "link", env)
    assert not place.is_nowhere(tmp_path / "shop", env)


def test_the_first_root_that_is_a_directory_here_is_the_project(tmp_path: Path) -> None:
    shop = tmp_path / "a shop"
    shop.mkdir()
    (tmp_path / "file").touch()
    no = [
        "https://x.invalid/",
        f"untitled://{shop}",
        "file://elsewhere" + str(shop),
        "file:///no/such",
        (tmp_path / "file").as_uri(),
    ]

    assert place.of_roots([*no, shop.as_uri(), tmp_path.as_uri()]) == str(shop)
    assert place.of_roots(no) is None
