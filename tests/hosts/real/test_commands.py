"""What a person types after a slash, in every mode."""

from __future__ import annotations

import pytest

from tests.hosts.real.machine import Machine
from tests.hosts.real.steps import MODES
from tests.hosts.real.table import Mode


@pytest.mark.parametrize("mode", MODES)
def test_recall_has_the_model_look(machine: Machine, mode: Mode) -> None:
    machine.model.answers("Nothing is remembered about it.", asked="memory_search")

    with machine.talk(mode) as conversation:
        shown = conversation.say("/recall the blue teapot")

    assert "Nothing is remembered about it." in shown
    assert any('"the blue teapot"' in text for text in machine.model.turns[-1].asked)


@pytest.mark.parametrize("mode", MODES)
def test_pepys_tells_how_it_is_doing(machine: Machine, mode: Mode) -> None:
    with machine.talk(mode) as conversation:
        conversation.say("Hello there.")
        asked = len(machine.model.turns)
        status = conversation.give("/pepys status")
        doctor = conversation.give("/pepys doctor")
        tree = conversation.give("/pepys tree")

    assert "Daily memory" in status
    assert "ok " in doctor
    assert "Hello there." in tree
    assert len(machine.model.turns) == asked
