"""What callers outside of Python send."""

from __future__ import annotations

from pathlib import Path

import pytest

from pepys.actions import wire
from pepys.errors import InvalidArgument
from pepys.model.lineage import Live

TOKEN = {"ref": "memory.expand", "args": {"session": "s"}}


@pytest.mark.parametrize(
    "value", [TOKEN, {"kind": "entry", "ref": None, "follow": TOKEN}, {"total": 3, "hits": [], "next": TOKEN}]
)
def test_a_token_a_hit_or_a_page_is_a_call(value: object) -> None:
    call = wire.read_call(value)

    assert call == ("memory.expand", {"session": "s"})


def test_a_hit_that_names_an_operation_is_followed_all_the_same() -> None:
    # The `ref` of an operation hit is the operation's own, not a call.
    hit = {"kind": "entry", "ref": "pi.grep", "follow": TOKEN}

    call = wire.read_call(hit)

    assert call.ref == "memory.expand"


@pytest.mark.parametrize("value", [None, [], "memory.recall", {}, {"ref": 1}, {"ref": "x", "args": []}])
def test_anything_else_is_refused(value: object) -> None:
    with pytest.raises(InvalidArgument, match="Expected a call"):
        wire.read_call(value)


def test_the_last_page_has_nothing_to_follow() -> None:
    with pytest.raises(InvalidArgument, match="the last one"):
        wire.read_call({"total": 1, "hits": [], "next": None})


def test_a_context_becomes_keywords_with_paths_from_its_own_cwd() -> None:
    given = {
        "host": "pi",
        "cwd": "/srv/shop",
        "agentDir": "agent",
        "sessionDirs": ["~/a", "b/../c"],
        "live": {"leafId": "9", "entryIds": ["1", "9"]},
        "config": {"memory": {"indexThinking": True}},
        "shown": True,
        "trusted": False,
    }

    keywords = wire.read_context(given, Path("/elsewhere"), {"HOME": "/home/kim"})

    assert keywords == {
        "host": "pi",
        "cwd": Path("/srv/shop"),
        "agent_dir": Path("/srv/shop/agent"),
        "session_dirs": (Path("/home/kim/a"), Path("/srv/shop/c")),
        "live": Live("9", ("1", "9")),
        "shown": True,
        "trusted": False,
        "config_overrides": {"memory": {"indexThinking": True}},
    }


@pytest.mark.parametrize("value", [{"cwdd": "/x"}, {"live": {"leaf": "x", "ids": []}}, {"host": "vim"}, [], "x"])
def test_a_context_with_anything_unknown_is_refused(value: object) -> None:
    with pytest.raises(InvalidArgument, match="Invalid arguments for context"):
        wire.read_context(value, Path("/"), {})
