"""What `pepys setup` writes is what the hosts find; what `--remove` leaves is a host without Pepys."""

from __future__ import annotations

import json
import sys

import pytest

from tests.hosts.real.machine import Machine
from tests.hosts.real.model import Call
from tests.hosts.real.steps import past
from tests.hosts.real.table import HOSTS


def setup(machine: Machine, *options: str) -> None:
    done = machine.run(sys.executable, "-m", "pepys", "setup", machine.host.agent, "--yes", *options)
    assert done.returncode == 0, done.stderr


@pytest.fixture
def set_up(bare: Machine) -> Machine:
    """A machine whose host was set up, and has no other way to Pepys."""
    del bare.env["PEPYS_COMMAND"]
    setup(bare)
    return bare


def test_a_host_that_was_set_up_recalls_an_earlier_session(set_up: Machine) -> None:
    past(set_up, "Why did we leave varnish?", "Because varnish leaked memory, about a gigabyte a day.")
    model = set_up.model
    model.answers(Call("session_recall", {"query": "varnish gigabyte", "scope": "project"}), asked="remember the cache")
    model.answers("It leaked memory.", after="session_recall")

    with set_up.talk("print") as conversation:
        shown = conversation.say("Do you remember the cache?")

    assert "It leaked memory." in shown
    assert "> Because varnish leaked memory" in model.turns[-1].result("session_recall")
    assert str(set_up.agent_dir / "skills" / "recall" / "SKILL.md") in model.turns[-1].system or (
        set_up.host.agent == "omp" and "recall" in model.turns[-1].system
    )


@pytest.mark.parametrize("also", [False, True], ids=["only for another agent", "for both"])
@pytest.mark.parametrize("host", [HOSTS["omp-18.2.3"]], ids=["omp-18.2.3"], indirect=True)
def test_a_host_that_starts_other_agents_servers_does_not_have_the_tools_twice(bare: Machine, also: bool) -> None:
    started = bare.root / "started"
    entry = {"command": "sh", "args": ["-c", f"touch {started}; cat"]}
    (bare.project / ".mcp.json").write_text(json.dumps({"mcpServers": {"pepys": entry}}))
    if also:
        setup(bare)

    with bare.talk("print") as conversation:
        conversation.say("Hello.")

    assert started.exists() is not also
    assert ("session_recall" in bare.model.turns[-1].tools) is also


def test_a_host_from_which_pepys_was_taken_out_is_as_before(set_up: Machine) -> None:
    setup(set_up, "--remove")

    with set_up.talk("print") as conversation:
        conversation.say("Hello.")

    assert not {"session_recall", "memory_search"} & set_up.model.turns[-1].tools.keys()
    assert "SKILL.md" not in set_up.model.turns[-1].system
    assert not (set_up.agent_dir / "extensions").exists()
