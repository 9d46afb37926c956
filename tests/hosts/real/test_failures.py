"""Whatever becomes of Pepys, the host starts, answers and ends."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import pytest

from tests.hosts.real.machine import Machine, Rpc
from tests.hosts.real.model import Reply
from tests.hosts.real.steps import MODES, asked
from tests.hosts.real.table import Mode

CLASHING = Path(__file__).with_name("clashing.ts")

# What stands in for Pepys; the first line of each reads a request.
CRASHES = """
import json, sys
for line in sys.stdin:
    request = json.loads(line)
    if request["method"] == "tool":
        sys.exit(3)
    answers = {"initialize": {"protocolVersion": 1, "server": {"name": "stand-in", "version": ""}}}
    print(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": answers.get(request["method"], {})}), flush=True)
"""
HANGS = "import time\nwhile True: time.sleep(1)"  # even when it is asked to leave
FREEZES = """
import json, sys, time
request = json.loads(sys.stdin.readline())
result = {"protocolVersion": 1, "server": {"name": "stand-in", "version": ""}}
print(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}), flush=True)
while True: time.sleep(1)
"""
GARBAGE = "import sys\nfor line in sys.stdin: print('Segmentation fault \\x1b[31m', flush=True)"
DIES = "raise SystemExit('no module named nothing')"


def becomes(machine: Machine, script: str) -> None:
    """Put *script* in the place of Pepys."""
    machine.env["PEPYS_COMMAND"] = json.dumps([sys.executable, "-c", script])


@pytest.mark.parametrize("mode", MODES)
def test_a_host_answers_where_pepys_is_not_installed(machine: Machine, mode: Mode) -> None:
    machine.env["PEPYS_COMMAND"] = json.dumps(["/nowhere/python", "-m", "pepys"])
    machine.model.answers("Good morning.", asked="Hello")

    with machine.talk(mode) as conversation:
        shown = conversation.say("Hello?")
        told = conversation.give("/pepys status")

    assert "Good morning." in shown
    assert "Install it" in " ".join(told.split())


@pytest.mark.parametrize(
    ("mode", "script", "within_s"),
    [
        pytest.param("print", DIES, 6, id="print-dies"),
        pytest.param("rpc", DIES, 6, id="rpc-dies"),
        pytest.param("print", GARBAGE, 6, id="print-garbage"),
        pytest.param("rpc", GARBAGE, 6, id="rpc-garbage"),
        pytest.param("print", FREEZES, 12, id="print-freezes"),
        pytest.param("rpc", FREEZES, 12, id="rpc-freezes"),
        pytest.param("print", HANGS, 15, id="print-hangs"),
    ],
)
def test_a_host_answers_whatever_pepys_does(machine: Machine, mode: Mode, script: str, within_s: float) -> None:
    becomes(machine, script)
    machine.model.answers("Good morning.", asked="Hello")

    begun = time.monotonic()
    with machine.talk(mode) as conversation:
        shown = conversation.say("Hello?")
        noise = conversation.noise if isinstance(conversation, Rpc) else []
    took = time.monotonic() - begun

    assert shown.strip() == "Good morning."
    assert took < within_s
    assert noise == []
    assert not machine.left()


@pytest.mark.parametrize("mode", MODES)
def test_a_crash_in_mid_call_is_an_error_of_the_tool(machine: Machine, mode: Mode) -> None:
    becomes(machine, CRASHES)

    with machine.talk(mode) as conversation:
        told = asked(conversation, "session_recall", {"query": "anything"})
        again = asked(conversation, "session_recall", {"query": "anything"})

    assert "Pepys" in told
    assert "3" in told
    assert "Pepys" in again


@pytest.mark.parametrize("theirs_first", [True, False], ids=["theirs-first", "ours-first"])
def test_a_tool_of_another_extension_stays_theirs(machine: Machine, theirs_first: bool) -> None:
    machine.extensions.insert(0 if theirs_first else 1, CLASHING)

    with machine.talk("rpc") as conversation:
        assert isinstance(conversation, Rpc)
        told = asked(conversation, "session_recall", {})
        found = asked(conversation, "session_list", {"scope": "project"})
        notices = conversation.shown()

    assert told == "the other one answers"
    assert "sessions" in found
    assert any("session_recall" in notice for notice in notices)


def test_a_capture_that_takes_too_long_does_not_keep_the_host(machine: Machine) -> None:
    machine.model.answers(Reply("- too late", after_s=60), aside=True)
    cap = {"pi": 20, "omp": 6}[machine.host.agent]

    conversation = machine.talk("rpc")
    conversation.say("Let us see.")
    begun = time.monotonic()
    status = conversation.close()

    assert status == 0
    assert time.monotonic() - begun < cap
