"""The registry: finding an action, and what stands between a call and its function."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pytest

from pepys import actions, config
from pepys.actions.base import Action, Annotations, Parts
from pepys.actions.table import ACTIONS
from pepys.errors import Disabled, InvalidArgument, UnknownAction
from pepys.model.context import Context
from pepys.model.query import SessionsRequest


def parts(tmp_path: Path, **overrides: dict[str, object]) -> Parts:
    env = {"HOME": str(tmp_path)}
    return Parts(Context("all", tmp_path, config.load(env, tmp_path, overrides), env), cast(Any, "the history"))


def answer(given: Parts, request: SessionsRequest) -> dict[str, object]:
    """Stand in for an action's function: show what it was given."""
    return {"history": given.history, "request": request}


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> str:
    row = Action(
        "memory.shown",
        "session_shown",
        "Shown",
        "Shows its arguments.",
        f"{__name__}:answer",
        "pepys.model.query:SessionsRequest",
        Annotations(True, False, True),
    )
    monkeypatch.setitem(cast(dict[str, Action], ACTIONS), row.ref, row)
    return row.ref


def test_a_call_parses_its_arguments_for_the_function(shown: str, tmp_path: Path) -> None:
    result = actions.call(parts(tmp_path), shown, {"max": "3", "scope": "global"})

    assert result == {"history": "the history", "request": SessionsRequest(scope="global", limit=3)}


def test_a_call_with_wrong_arguments_names_the_action(shown: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidArgument, match=r"Invalid arguments for memory\.shown: limit must be at least 1"):
        actions.call(parts(tmp_path), shown, {"limit": 0})


@pytest.mark.requirement("config.enabled")
def test_a_provider_that_is_switched_off_refuses_and_says_how_to_enable_it(shown: str, tmp_path: Path) -> None:
    with pytest.raises(Disabled, match=r"memory\.enabled is false") as caught:
        actions.call(parts(tmp_path, memory={"enabled": False}), shown, {})

    assert "Set memory.enabled to true" in caught.value.hint


@pytest.mark.parametrize("ref", ["memory.recal", "recall", "session_recall"])
def test_an_unknown_action_names_the_nearest_one(ref: str) -> None:
    with pytest.raises(UnknownAction) as caught:
        actions.find(ref)

    assert "memory.recall" in cast(list[str], caught.value.details["nearest"])


@pytest.mark.parametrize("ref", ["nope", "nope.x", "notes.mov.e", "x" * 5000, "", "tools", "notes.move.x", "snapsho"])
def test_an_unknown_action_suggests_only_what_models_may_call_and_what_resembles_it(ref: str) -> None:
    with pytest.raises(UnknownAction) as caught:
        actions.find(ref)

    nearest = cast(list[str], caught.value.details["nearest"])
    assert all(ACTIONS[name].audience == "model" for name in nearest)
    assert all(name.split(".")[0] == ref.split(".")[0] for name in nearest)
    assert not any(action.ref in caught.value.hint for action in ACTIONS.values() if action.audience != "model")
    assert len(caught.value.message) < 200


def test_what_resembles_no_action_gets_the_providers() -> None:
    with pytest.raises(UnknownAction) as caught:
        actions.find("nope")

    assert caught.value.hint == "Providers: events, guest, journal, memory, notes, tools; tools.list has their actions."


def test_an_unknown_action_of_a_provider_gets_what_that_has() -> None:
    with pytest.raises(UnknownAction) as caught:
        actions.find("memory.zzz")

    assert caught.value.details["nearest"] == ["memory.expand", "memory.recall", "memory.sessions"]


@pytest.mark.parametrize("action", ACTIONS.values(), ids=lambda action: action.ref)
def test_every_row_is_complete(action: Action) -> None:
    request = actions.load(action.request)

    assert isinstance(request, type)
    assert "\n" not in action.description
    assert 40 < len(action.description) < 300
    assert len({each.tool for each in ACTIONS.values()}) == len(ACTIONS)
