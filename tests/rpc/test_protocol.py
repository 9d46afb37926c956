"""What is generated from the protocol's messages, and what holds both sides to it."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import get_args

import pytest
from jsonschema import Draft202012Validator

from pepys.actions.table import ACTIONS
from pepys.rpc import protocol, tools
from tests.rpc import tee
from tests.rpc.schema import SCHEMA, Conversation, recorded
from tools.protocol import ERRORS, ROOT, generated

HELLO = {"protocolVersion": 1, "client": {"name": "c"}}


@pytest.mark.parametrize(("path", "text"), generated().items(), ids=lambda given: getattr(given, "name", ""))
def test_what_is_generated_is_up_to_date(path: Path, text: str) -> None:
    assert path.read_text(encoding="utf-8") == text, "run tools/protocol.py"


def test_the_schema_is_one_and_names_every_method() -> None:
    Draft202012Validator.check_schema(SCHEMA)

    methods = SCHEMA["methods"]
    assert set(methods["requests"]) == set(protocol.REQUESTS)
    assert set(methods["callbacks"]) == set(protocol.CALLBACKS)
    assert SCHEMA["errors"] == ERRORS
    assert SCHEMA["version"] == protocol.VERSION


def test_hosts_offer_every_tool_but_those_that_look_at_the_catalog() -> None:
    of_models = {action.tool for action in ACTIONS.values() if action.audience == "model"}

    assert of_models - set(tools.OFFERED) == {action.tool for action in ACTIONS.values() if action.provider == "tools"}


def test_schemas_of_tools_have_nothing_that_only_takes_room() -> None:
    described = json.dumps([tool["parameters"] for tool in tools.described()])

    assert "$schema" not in described
    assert str(2**53 - 1) not in described
    assert len(described) < 16_000


@pytest.mark.parametrize(
    ("side", "line"),
    [
        ("client", "garbage"),
        ("client", "[]"),
        ("client", '{"jsonrpc": "2.0", "id": 1, "method": "unknown", "params": {}}'),
        ("client", '{"jsonrpc": "2.0", "id": "1", "method": "call", "params": {"ref": "memory.recall"}}'),
        ("client", '{"jsonrpc": "2.0", "id": 1, "method": "call", "params": {"reff": "memory.recall"}}'),
        ("client", '{"jsonrpc": "2.0", "id": 1, "method": "call", "params": {"ref": "a.b", "context": {"cwd": 1}}}'),
        ("server", '{"jsonrpc": "2.0", "id": 1, "result": {}}'),
        ("server", '{"jsonrpc": "2.0", "method": "progress", "params": {"id": 1, "done": 1}}'),
        ("server", '{"jsonrpc": "2.0", "id": 1, "error": {"code": 7, "message": "no code of the protocol"}}'),
        ("server", '{"jsonrpc": "2.0", "id": "pepys-1", "method": "complete", "params": {"prompt": "no system"}}'),
    ],
)
def test_a_line_that_is_not_the_protocol_is_a_problem(side: str, line: str) -> None:
    conversation = Conversation()

    conversation.see("client" if side == "client" else "server", line)

    assert len(conversation.problems) == 1


def test_the_page_on_the_protocol_shows_the_protocol() -> None:
    page = (ROOT / "docs" / "reference" / "protocol.md").read_text(encoding="utf-8")
    conversation = Conversation()

    lines = re.findall(r"^([<>]) (\{.*)$", page, re.M)
    for arrow, line in lines:
        conversation.see("client" if arrow == ">" else "server", line.replace("{...}", "{}"))

    assert len(lines) > 8
    assert conversation.problems == []
    assert {int(code) for code in re.findall(r"^\| (-32\d+) \|", page, re.M)} == {*ERRORS.values()}
    assert set(re.findall(r"^\| `(\w+)` \|", page, re.M)) >= {
        *protocol.REQUESTS,
        *protocol.CALLBACKS,
        *protocol.SIGNALS,
        *get_args(protocol.EventName),
    }


def test_an_answer_is_held_to_what_was_asked() -> None:
    conversation = Conversation()
    conversation.see("client", json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": HELLO}))

    conversation.see("server", '{"jsonrpc": "2.0", "id": 1, "result": {"text": "", "details": {}, "isError": false}}')

    assert "no Initialized" in conversation.problems[0]


def test_null_is_what_was_left_out() -> None:
    conversation = Conversation()
    params = {"ref": "a.b", "context": {"cwd": None, "live": {"leafId": None, "entryIds": []}}}

    conversation.see("client", json.dumps({"jsonrpc": "2.0", "id": 1, "method": "call", "params": params}))

    assert conversation.problems == []


def test_a_conversation_is_recorded_as_it_passes(tmp_path: Path) -> None:
    log = tmp_path / "log"
    other = tmp_path / "cat"
    other.write_text("#!/bin/sh\nexec cat\n")
    other.chmod(0o700)
    command = [sys.executable, tee.__file__, str(log), str(other), "serve"]
    lines = '{"jsonrpc": "2.0", "method": "cancel", "params": {"id": 1}}\n\u2028 nonsense\n'

    done = subprocess.run(command, input=lines, capture_output=True, text=True, encoding="utf-8", check=True)

    assert done.stdout == lines
    problems = recorded(log)  # cat answers what it is told
    assert [problem.split(":")[0] for problem in problems] == ["client", "server", "server"]
