"""Sessions and events: found by a model's tools in another session, opened, and cut off where the asking begins."""

from __future__ import annotations

import json
import re

import pytest

from tests.hosts.real.machine import Machine
from tests.hosts.real.model import Call, Request
from tests.hosts.real.table import Mode

MODES: tuple[Mode, ...] = ("print", "rpc", "tui")


def opened(request: Request, tool: str) -> Call:
    """The call that opens the first hit of what *tool* gave."""
    found = re.search(r"^open: (\w+) (\{.*\})$", request.result(tool), re.MULTILINE)
    assert found, request.result(tool)
    return Call(found[1], json.loads(found[2]))


def past(machine: Machine, prompt: str, answer: str) -> None:
    """A session in which something was said once."""
    machine.model.answers(answer, asked=re.escape(prompt))
    with machine.talk("print") as conversation:
        conversation.say(prompt)


@pytest.mark.parametrize("mode", MODES)
def test_an_earlier_session_is_recalled_and_a_hit_of_it_opened(machine: Machine, mode: Mode) -> None:
    past(machine, "Why did we leave varnish?", "Because varnish leaked memory under load, about a gigabyte a day.")
    model = machine.model
    model.answers(Call("session_recall", {"query": "varnish gigabyte", "scope": "project"}), asked="remember the cache")
    model.answers(lambda request: opened(request, "session_recall"), after="session_recall")
    model.answers("It leaked memory.", after="session_expand")

    with machine.talk(mode) as conversation:
        shown = conversation.say("Do you remember the cache?")

    assert "It leaked memory." in shown
    assert "leaked memory under load, about a gigabyte a day." in model.turns[-1].result("session_expand")
