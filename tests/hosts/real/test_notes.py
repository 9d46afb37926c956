"""Durable notes: kept through the tool and the picker, put beside prompts, and shown to people in every mode."""

from __future__ import annotations

import pytest

from tests.hosts.real.machine import Machine, Rpc, Terminal, eventually
from tests.hosts.real.steps import MODES, OMP, asked
from tests.hosts.real.table import Mode


@pytest.fixture(autouse=True)
def quiet(machine: Machine) -> None:
    """No captures here."""
    machine.env["PI_MEMSEARCH_CAPTURE"] = "off"


def noted(machine: Machine, *notes: str) -> None:
    (machine.agent_dir / "memory.md").write_text("".join(f"- {note}\n" for note in notes))


@pytest.mark.parametrize("mode", MODES)
def test_a_note_that_a_model_makes_stands_beside_the_next_prompt_only(machine: Machine, mode: Mode) -> None:
    with machine.talk(mode) as conversation:
        asked(conversation, "memory", {"action": "add", "scope": "global", "text": "The user prefers tabs."})
        conversation.say("One.")
        conversation.say("Two.")

    assert "The user prefers tabs." in (machine.agent_dir / "memory.md").read_text()
    last = machine.model.turns[-1]
    assert any("The user prefers tabs." in text for text in last.asked)
    injections = [text for text in (_user(last)) if "The user prefers tabs." in text]
    assert len(injections) == 1  # the newest; older ones are taken out


def _user(request: object) -> list[str]:
    messages = request.messages  # type: ignore[attr-defined]
    parts = [message["content"] for message in messages if message["role"] == "user"]
    return [part if isinstance(part, str) else "".join(block.get("text", "") for block in part) for part in parts]


def test_notes_are_made_and_forgotten_with_the_pickers_keys(machine: Machine) -> None:
    noted(machine, "The user drinks tea.")

    with machine.talk("tui") as conversation:
        assert isinstance(conversation, Terminal)
        conversation.submit(machine.host.notes)
        conversation.wait("The user drinks tea.")
        conversation.keys("s", "s")  # project, global
        conversation.keys("a")
        conversation.type("The user has a dog.")
        conversation.wait("The user has a dog.")
        conversation.keys("Enter")
        eventually(lambda: "The user has a dog." in (machine.agent_dir / "memory.md").read_text())
        conversation.keys("d")
        conversation.keys("y")
        eventually(lambda: (machine.agent_dir / "memory.md").read_text().count("\n- ") == 0)
        conversation.keys("Escape")
        eventually(lambda: "Memory" not in conversation.screen())
        conversation.say("Are you there?")


@pytest.mark.parametrize("mode", MODES)
def test_notes_are_listed_in_every_mode(machine: Machine, mode: Mode) -> None:
    noted(machine, "The user drinks tea.")

    with machine.talk(mode) as conversation:
        shown = conversation.give(f"{machine.host.notes} list")

    assert "The user drinks tea." in shown
    assert not machine.model.requests


@pytest.mark.parametrize("verb", ["edit", "clear"])
def test_print_mode_says_that_nobody_can_be_asked(machine: Machine, verb: str) -> None:
    noted(machine, "The user drinks tea.")

    with machine.talk("print") as conversation:
        shown = conversation.give(f"{machine.host.notes} {verb} global")

    assert f"{machine.host.notes} {verb} needs" in shown
    assert "The user drinks tea." in (machine.agent_dir / "memory.md").read_text()


def test_notes_are_cleared_where_a_person_says_yes(machine: Machine) -> None:
    noted(machine, "The user drinks tea.")

    with machine.talk("rpc") as conversation:
        assert isinstance(conversation, Rpc)
        conversation.answers["confirm"] = {"confirmed": False}
        conversation.give(f"{machine.host.notes} clear global")
        kept = (machine.agent_dir / "memory.md").read_text()
        conversation.answers["confirm"] = {"confirmed": True}
        conversation.give(f"{machine.host.notes} clear global")

    assert "tea" in kept
    assert "tea" not in (machine.agent_dir / "memory.md").read_text()


@pytest.mark.parametrize("host", OMP, indirect=True)
def test_omp_changes_no_notes_while_it_plans(machine: Machine) -> None:
    with machine.talk("tui") as conversation:
        assert isinstance(conversation, Terminal)
        conversation.submit("/plan")
        conversation.wait("Plan mode enabled")
        told = asked(conversation, "memory", {"action": "add", "scope": "global", "text": "The user prefers tabs."})

    assert "plan mode" in told
    assert not (machine.agent_dir / "memory.md").exists()
