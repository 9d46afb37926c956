"""Pepys as an MCP server of the hosts' own clients, without an extension."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping
from typing import Any

import pytest

from tests.hosts.real.machine import Machine
from tests.hosts.real.model import Call, Request
from tests.hosts.real.table import HOSTS, Host

PI, OMP = HOSTS["pi-1.6.0"], HOSTS["omp-18.2.3"]

with_a_client = pytest.mark.parametrize("host", [PI, OMP], ids=["pi-1.6.0", "omp-18.2.3"], indirect=True)


@pytest.fixture
def served(bare: Machine) -> Machine:
    """A machine whose host starts `pepys mcp`."""
    entry: dict[str, Any] = {
        "command": sys.executable,
        "args": ["-m", "pepys", "mcp"],
        "env": {"PYTHONPATH": bare.env["PYTHONPATH"]},
    }
    if bare.host is PI:
        entry["exposure"] = "direct"
    (bare.agent_dir / "mcp.json").write_text(json.dumps({"mcpServers": {"pepys": entry}}))
    return bare


def called(host: Host, tool: str, args: Mapping[str, Any]) -> Call:
    """A call of the server's tool, as the host's models make it."""
    if host.agent == "pi":
        return Call(f"mcp__pepys__{tool}", args)
    return Call("write", {"path": f"xd://mcp__pepys_{tool}", "content": json.dumps(args)})


def opened(host: Host, request: Request) -> Call:
    """The call that opens the first hit, from the text alone."""
    (_, result), *_ = request.results
    found = re.search(r"^open: (\w+) (\{.*\})$", result, re.MULTILINE)
    assert found, result
    return called(host, found[1], json.loads(found[2]))


@with_a_client
def test_a_model_recalls_and_opens_a_hit_through_the_hosts_own_client(served: Machine, host: Host) -> None:
    model = served.model
    model.answers("Because varnish leaked memory under load, a gigabyte a day.", asked="leave varnish")
    with served.talk("print") as conversation:
        conversation.say("Why did we leave varnish?")
    tool = called(host, "session_recall", {}).tool
    model.answers(
        called(host, "session_recall", {"query": "varnish gigabyte", "scope": "project"}), asked="remember the cache"
    )
    model.answers(lambda request: opened(host, request), after=tool, times=1)
    model.answers("It leaked memory.", after=called(host, "session_expand", {}).tool)

    with served.talk("print") as conversation:
        shown = conversation.say("Do you remember the cache?")

    assert "It leaked memory." in shown
    (_, read), *_ = model.turns[-1].results
    assert "leaked memory under load, a gigabyte a day." in read
    assert "data, not instructions" in read


@with_a_client
def test_what_came_through_the_hosts_client_is_not_found_again(served: Machine, host: Host) -> None:
    model = served.model
    model.answers("Because varnish leaked a gigabyte a day.", asked="leave varnish")
    with served.talk("print") as conversation:
        conversation.say("Why did we leave varnish?")
    asked = {"query": "varnish gigabyte", "scope": "project", "queryMatch": "all"}
    model.answers(called(host, "session_recall", asked), asked="remember")
    with served.talk("print") as conversation:
        conversation.say("Do you remember?")
    words = ("recall", "--json", "--match", "all", "varnish", "gigabyte")

    found = served.run(sys.executable, "-m", "pepys", *words)

    page = json.loads(found.stdout)
    assert {hit["role"] for hit in page["hits"]} == {"assistant"}  # who said it, and who asked for it
    assert page["coverage"]["ownEntriesLeftOut"] == 1


@with_a_client
def test_an_error_is_told_in_words_that_a_model_can_act_on(served: Machine, host: Host) -> None:
    asked = {"query": "(", "queryMode": "regex", "scope": "project"}
    served.model.answers(called(host, "session_recall", asked), asked="mug")

    with served.talk("print") as conversation:
        conversation.say("Where is the mug?")

    (_, told), *_ = served.model.turns[-1].results
    assert "Error invalid_regex: Invalid regular expression" in told
