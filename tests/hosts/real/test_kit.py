"""The kit itself: hosts start, answer and leave in every mode."""

from __future__ import annotations

import pytest

from tests.hosts.real.machine import Machine, eventually
from tests.hosts.real.model import Call
from tests.hosts.real.table import Mode


@pytest.mark.parametrize("mode", ["print", "rpc", "tui"])
def test_a_host_answers_twice_in_one_session(bare: Machine, mode: Mode) -> None:
    bare.model.answers("The kettle is on.", asked="kettle")
    bare.model.answers("Two sugars, as always.", asked="sugar")

    with bare.talk(mode) as conversation:
        first = conversation.say("Is the kettle on?")
        second = conversation.say("How much sugar?")

    assert "The kettle is on." in first
    assert "Two sugars, as always." in second
    assert len(bare.sessions()) == 1
    assert "Is the kettle on?" in bare.model.turns[-1].text


def test_a_tool_is_called_and_its_result_comes_back(bare: Machine) -> None:
    (bare.project / "note.txt").write_text("the cellar key hangs behind the clock")
    bare.model.answers(Call("read", {"path": "note.txt"}), asked="key")
    bare.model.answers("Behind the clock.", after="read")

    with bare.talk("print") as conversation:
        shown = conversation.say("Where is the key?")

    assert shown == "Behind the clock.\n"
    assert "the cellar key hangs behind the clock" in bare.model.turns[-1].result("read")


def test_a_process_that_is_left_is_seen(bare: Machine) -> None:
    with bare.talk("rpc"):
        assert eventually(lambda: any("rpc" in line for line in bare.left()))
