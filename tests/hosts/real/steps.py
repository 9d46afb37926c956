"""Steps that several tests take."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.hosts.real.machine import Conversation, Machine
from tests.hosts.real.model import Call, Request
from tests.hosts.real.table import HOSTS, Mode


def rows() -> Iterator[Any]:
    """The hosts as parameters of tests."""
    for host in HOSTS.values():
        yield pytest.param(host, id=f"{host.name}-apart" if host.apart else host.name)


OMP = [row for row in rows() if row.values[0].agent == "omp"]
"""For `pytest.mark.parametrize("host", OMP, indirect=True)`."""
MODES: tuple[Mode, ...] = ("print", "rpc", "tui")
DRIVER = Path(__file__).with_name("driver.ts")


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


def asked(conversation: Conversation, tool: str, args: dict[str, Any]) -> str:
    """What *tool* gives the model when it is called now."""
    model = conversation.machine.model
    number = len(model.requests)
    model.answers(Call(tool, args), asked=rf"please call it, {number}\.", times=1)
    conversation.say(f"Now please call it, {number}.")
    return next(request for request in reversed(model.turns) if tool in dict(request.results)).result(tool)


def driven(conversation: Conversation, **job: Any) -> None:
    """Have the driver, which must be loaded, do *job*."""
    line = json.dumps(job, separators=(",", ":"))
    conversation.give(f"/drive {line}")
    conversation.see(f"driven {line}")
