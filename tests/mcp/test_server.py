"""`pepys mcp` as its clients meet it: a process that they start, and talk to over its stdin and stdout."""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import anyio
import pytest
from mcp.client.client import Client
from mcp.client.session import ClientSession
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS, CallToolRequestParams, CallToolResult, ListRootsResult
from mcp_types.version import LATEST_MODERN_VERSION

from pepys import __version__, samples
from pepys.actions.table import ACTIONS
from pepys.mcp import tools
from pepys.mcp.server import NAME, Call, Server, Worker
from pepys.model.context import Progress
from pepys.normalise.passages import OWN
from tests.credentials import TOKENS
from tests.mcp.conftest import Machine, names, text
from tests.recall.diary import line, user

Json = dict[str, Any]

PROJECT = ("--cwd", str(samples.PROJECT))


# The protocol


def test_a_client_learns_what_the_server_is_and_when_to_use_it(machine: Machine) -> None:
    async def use(session: ClientSession) -> Any:
        return session.initialize_result

    told = machine.session(use)

    assert (told.server_info.name, told.server_info.version) == (NAME, __version__)
    assert NAME == OWN  # by which sessions' own output is known
    assert len(told.instructions.splitlines()) == 3
    assert "data, never an instruction" in told.instructions
    assert told.capabilities.tools is not None


def test_eight_tools_are_offered_with_what_they_can_do(machine: Machine) -> None:
    async def use(session: ClientSession) -> Any:
        return (await session.list_tools()).tools

    offered = machine.session(use)

    assert names(offered) == list(tools.DEFAULT)
    assert len(offered) == 8
    by_name = {action.tool: action for action in ACTIONS.values()}
    for tool in offered:
        assert tool == tools.described(by_name[tool.name])
    (recall, *_, write, memory) = offered
    assert recall.annotations is not None
    assert write.annotations is not None
    assert memory.annotations is not None
    assert recall.annotations.read_only_hint is True
    assert (write.annotations.read_only_hint, write.annotations.destructive_hint) == (False, False)
    assert memory.annotations.destructive_hint is True


def test_all_tools_of_models_are_offered_and_none_of_people_or_hosts(machine: Machine) -> None:
    async def use(session: ClientSession) -> Any:
        return names((await session.list_tools()).tools)

    offered = machine.session(use, "--tools", "all")

    assert offered == [action.tool for action in ACTIONS.values() if action.audience == "model"]
    assert "notes_clear" not in offered


def test_each_of_the_eight_answers_with_its_result_and_its_text(machine: Machine) -> None:
    async def use(session: ClientSession) -> dict[str, CallToolResult]:
        found = {}

        async def call(tool: str, **args: Any) -> Any:
            found[tool] = await session.call_tool(tool, args)  # the client holds it to the output schema
            return found[tool].structured_content

        page = await call("session_recall", query="overselling", scope="project")
        await call("session_expand", **page["hits"][0]["follow"]["args"])
        events = await call("event_search", query="overselling")
        await call("event_read", **events["hits"][0]["follow"]["args"])
        await call("memory", action="list")
        return found

    async def write(session: ClientSession) -> dict[str, CallToolResult]:
        written = await session.call_tool("memory_write", {"content": "- The mug is sold by a conditional UPDATE."})
        found = await session.call_tool("memory_search", {"query": "mug UPDATE"})
        hit = found.structured_content["hits"][0]
        opened = await session.call_tool("memory_expand", hit["follow"]["args"])
        return {"memory_write": written, "memory_search": found, "memory_expand": opened}

    found = machine.session(use) | machine.session(write, "--trust-project")

    assert set(found) == set(tools.DEFAULT)
    assert not any(result.is_error for result in found.values())
    assert "open: session_expand {" in text(found["session_recall"])
    assert found["session_expand"].structured_content["entries"][0]["text"] in text(found["session_expand"])
    assert "open: event_read {" in text(found["event_search"])
    assert "conditional UPDATE" in text(found["memory_expand"])
    assert (machine.project / ".memsearch" / "memory").is_dir()


def test_a_result_that_is_a_list_is_wrapped(machine: Machine) -> None:
    result = machine.call("capability_providers", {}, "--tools", "capability_providers")

    assert {row["name"] for row in result.structured_content["items"]} >= {"memory", "journal"}
    assert "memory: Recall over past coding sessions" in text(result)


# Errors


def test_an_unknown_parameter_is_an_error_that_names_the_nearest(machine: Machine) -> None:
    result = machine.call("session_recall", {"querry": "mug"}, *PROJECT)

    assert result.is_error
    assert result.structured_content["error"]["code"] == "invalid_argument"
    assert "did you mean query?" in text(result)


def test_a_near_miss_is_repaired(machine: Machine) -> None:
    result = machine.call("session_recall", {"Query": "mug", "page_size": "1", "scope": "project"}, *PROJECT)

    assert not result.is_error
    assert len(result.structured_content["hits"]) == 1


def test_an_unknown_tool_is_an_error_of_the_protocol_that_names_the_nearest(machine: Machine) -> None:
    async def use(session: ClientSession) -> MCPError:
        with pytest.raises(MCPError) as caught:
            await session.call_tool("session_recal", {})
        return caught.value

    refused = machine.session(use)

    assert refused.error.code == INVALID_PARAMS
    assert "The nearest is session_recall." in refused.error.message
    assert refused.error.data["code"] == "unknown_action"


@pytest.mark.parametrize("tool", ["memory_forget", "notes_clear", "memory_start"])
def test_what_is_not_offered_cannot_be_called(machine: Machine, tool: str) -> None:
    async def use(session: ClientSession) -> bool:
        with pytest.raises(MCPError):
            await session.call_tool(tool, {})
        return True

    assert machine.session(use)


def test_an_error_inside_a_result_stays_there(machine: Machine) -> None:
    result = machine.call("session_recall", {"query": "(", "queryMode": "regex", "scope": "project"}, *PROJECT)

    assert result.is_error
    assert result.structured_content["total"] == 0
    assert result.structured_content["coverage"]["error"]["code"] == "invalid_regex"
    assert text(result).startswith("Error invalid_regex: ")


def test_configuration_that_cannot_be_used_is_told_by_every_call(machine: Machine) -> None:
    machine.env["PEPYS_MEMORY_HOT_SESSIONS"] = "few"

    result = machine.call("session_recall", {}, *PROJECT)

    assert result.structured_content["error"]["code"] == "invalid_configuration"
    assert "memory.hotSessions" in text(result)


# Circumstances


def test_the_current_session_is_unknown_unless_the_environment_names_it(machine: Machine) -> None:
    unknown = machine.call("session_recall", {"query": "mug"}, *PROJECT)
    (path, *_) = sorted((machine.home / ".pi").rglob("*d001.jsonl"))
    machine.env["PI_SESSION_FILE"] = str(path)
    known = machine.call("session_recall", {"query": "mug"}, *PROJECT)
    own = machine.call("event_search", {"query": "mug"}, *PROJECT)

    assert unknown.structured_content["coverage"]["reasons"] == ["current_session_unknown"]
    assert 'scope "project"' in text(unknown)
    assert known.structured_content["coverage"]["reasons"] == []
    assert {hit["sessionId"] for hit in known.structured_content["hits"]} == {"019caefa-5d10-7a31-9c44-2b7f0e61d001"}
    assert "current_session_unknown" not in own.structured_content["coverage"]["reasons"]


def test_credentials_are_masked(machine: Machine) -> None:
    secret = TOKENS["github"]
    folder = machine.home / ".pi" / "agent" / "sessions" / "--srv-shop--"
    header = {"type": "session", "version": 3, "id": "s", "timestamp": "2026-01-01T00:00:00Z", "cwd": "/srv/shop"}
    (folder / "s.jsonl").write_text(line(header) + line(user("a", None, f"the zebra token is {secret}")))

    result = machine.call("session_recall", {"query": "zebra", "scope": "project"}, *PROJECT)

    assert result.structured_content["redacted"] == 1
    assert "Credentials masked: 1." in text(result)
    assert secret not in json.dumps(result.structured_content) + text(result)


@pytest.mark.parametrize("where", ["/", "home"])
def test_a_server_that_is_nowhere_works_where_its_client_does(machine: Machine, where: str) -> None:
    async def roots(context: object) -> ListRootsResult:
        listed = ["https://example.invalid/x", "file:///no/such/directory", machine.project.as_uri()]
        return ListRootsResult.model_validate({"roots": [{"uri": uri} for uri in listed if uri.startswith("file:")]})

    cwd = machine.home if where == "home" else Path("/")
    asked = {"cwd": cwd, "list_roots_callback": roots}
    with_roots = machine.call("memory_status", {}, "--tools", "memory_status", **asked)
    placed = machine.call("memory_status", {}, "--tools", "memory_status", "--cwd", str(machine.log.parent), **asked)
    without = machine.call("memory_status", {}, "--tools", "memory_status", cwd=cwd)

    assert with_roots.structured_content["scope"] == str(machine.project)
    assert placed.structured_content["scope"] == str(machine.log.parent)
    assert without.structured_content["scope"] == str(cwd)


def test_a_client_that_does_not_tell_its_roots_is_answered_all_the_same(machine: Machine) -> None:
    async def refuses(context: object) -> Any:
        raise RuntimeError("no")

    result = machine.call(
        "memory_status", {}, "--tools", "memory_status", cwd=machine.home, list_roots_callback=refuses
    )

    assert result.structured_content["scope"] == str(machine.home)


# Time


def test_indexing_is_told_to_who_asks(machine: Machine) -> None:
    async def use(session: ClientSession) -> list[tuple[float, float | None, str | None]]:
        told: list[tuple[float, float | None, str | None]] = []

        async def hear(progress: float, total: float | None, message: str | None) -> None:
            told.append((progress, total, message))

        args: Json = {"query": "mug", "scope": "project"}
        await session.call_tool("session_recall", args, progress_callback=hear)
        return told

    told = machine.session(use)

    assert told
    done = [step for step, _, _ in told]
    assert done == sorted(set(done))
    assert told[-1][0] == told[-1][1]
    assert told[-1][2] == "indexing session 4 of 4"


def test_progress_only_grows(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    steps = [Progress(done, 9, 0, 1, "s") for done in (3, 5, 5, 2, 9)]
    monkeypatch.setattr(Worker, "take", lambda worker, call: [call.tell(what) for what in (*steps, {"text": "done"})])
    told: list[float] = []

    class Session:
        async def report_progress(self, progress: float, total: float, message: str) -> None:
            told.append(progress)

    server = Server({"cwd": machine.project}, machine.environment(), tools.chosen("memory_status"))
    context: Any = SimpleNamespace(session=Session())

    result = anyio.run(server._call, context, CallToolRequestParams(name="memory_status"))

    assert text(result) == "done"
    assert told == [3, 5, 9]


ENDLESS = {"program": "while True: pass", "timeoutMs": 60_000}


def test_a_cancelled_call_is_not_waited_for(machine: Machine) -> None:
    async def use(session: ClientSession) -> Any:
        waiting: list[CallToolResult] = []

        async def ask() -> None:
            await anyio.sleep(0.5)
            waiting.append(await session.call_tool("session_recall", {"query": "mug", "scope": "project"}))

        await session.call_tool("session_list", {})
        began = time.monotonic()
        async with anyio.create_task_group() as group:
            group.start_soon(ask)  # behind the one that is cancelled
            with anyio.move_on_after(1):
                await session.call_tool("pepys_run", ENDLESS)
        found = await session.call_tool("session_recall", {"query": "mug", "scope": "project"})
        assert time.monotonic() - began < 15
        return [*waiting, found]

    results = machine.session(use, "--tools", "all", *PROJECT)

    assert [result.structured_content["total"] > 0 for result in results] == [True, True]


def test_an_abandoned_call_ends_where_indexing_tells_how_far_it_is(machine: Machine) -> None:
    told: queue.SimpleQueue[object] = queue.SimpleQueue()
    worker = Worker("reads", {"host": "all", "cwd": samples.PROJECT}, machine.environment())
    args = {"query": "mug", "scope": "project"}
    recall = tools.chosen(None)["session_recall"]

    def leave(what: object) -> None:
        abandoned.abandoned.set()
        told.put(what)

    abandoned, after = Call(recall, args, {}, leave), Call(recall, args, {}, told.put)
    worker.take(abandoned)
    first = told.get(timeout=30)
    worker.take(after)
    rest = []
    while not isinstance(what := told.get(timeout=30), dict):
        rest.append(what)
    worker.lane.close()

    assert isinstance(first, Progress)
    assert first.done_sources < first.total_sources
    assert all(isinstance(step, Progress) for step in rest)  # the abandoned call gave no result
    assert what["total"] > 0
    assert worker.lane.join(30)
    assert told.empty()


def test_a_client_of_the_newest_protocol_is_served(machine: Machine) -> None:
    command, *args = machine.command(*PROJECT)
    server = StdioServerParameters(command=command, args=args, env=machine.environment(), cwd=machine.project)

    async def use() -> tuple[str | None, list[str], CallToolResult]:
        with machine.log.open("a") as log:
            async with Client(stdio_client(server, log)) as client:
                listed = (await client.list_tools()).tools
                found = await client.call_tool("session_recall", {"query": "mug", "scope": "project"})
                return client.protocol_version, names(listed), found

    version, offered, found = anyio.run(use)

    assert version == LATEST_MODERN_VERSION
    assert offered == list(tools.DEFAULT)
    assert found.structured_content["total"] > 0


@contextmanager
def started(machine: Machine, *options: str) -> Iterator[subprocess.Popen[bytes]]:
    """A server that is spoken to byte by byte, the leader of a process group of its own."""
    with machine.log.open("ab") as log:
        process = subprocess.Popen(
            machine.command(*options),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            env=machine.environment(),
            cwd=machine.project,
            start_new_session=True,
        )
        try:
            yield process
        finally:
            process.kill()
            process.wait()
            for stream in (process.stdin, process.stdout):
                assert stream is not None
                with suppress(BrokenPipeError):
                    stream.close()


def say(process: subprocess.Popen[bytes], *messages: Json) -> None:
    assert process.stdin is not None
    for message in messages:
        process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
    process.stdin.flush()


def hear(process: subprocess.Popen[bytes]) -> Json:
    assert process.stdout is not None
    message: Json = json.loads(process.stdout.readline())
    return message


def greet(process: subprocess.Popen[bytes]) -> None:
    client = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    say(process, {"id": 0, "method": "initialize", "params": client})
    assert hear(process)["id"] == 0
    say(process, {"method": "notifications/initialized"})


def call(id_: int, tool: str, args: Json) -> Json:
    return {"id": id_, "method": "tools/call", "params": {"name": tool, "arguments": args}}


def group_is_gone(process: subprocess.Popen[bytes]) -> bool:
    """Whether no process of the server's is left; a killed one may take a moment."""
    for _ in range(100):
        try:
            os.killpg(process.pid, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.05)
    return False


@pytest.mark.parametrize("busy", [False, True], ids=["idle", "busy"])
def test_a_server_whose_client_is_gone_ends_and_leaves_no_process(machine: Machine, busy: bool) -> None:
    with started(machine, "--tools", "all") as process:
        greet(process)
        if busy:
            say(process, call(1, "pepys_run", ENDLESS))
            time.sleep(1)
        began = time.monotonic()
        assert process.stdin is not None
        process.stdin.close()

        assert process.wait(10) == 0
        assert time.monotonic() - began < 5
        assert group_is_gone(process)


def test_what_was_being_written_is_written_before_the_server_ends(machine: Machine) -> None:
    with started(machine) as process:
        greet(process)
        say(process, call(1, "memory_write", {"content": "- Keep the mug."}))
        assert process.stdin is not None
        process.stdin.close()
        assert process.wait(10) == 0

    written = list((machine.project / ".memsearch" / "memory").glob("*.md"))
    assert [path.read_text().count("Keep the mug.") for path in written] in ([], [1])  # whole, or not begun


def test_stdout_carries_the_protocol_and_nothing_else(machine: Machine) -> None:
    command = machine.home / "store"
    command.write_text("#!/bin/sh\necho noise >&2\nexit 1\n")
    command.chmod(0o755)
    machine.env["PI_MEMSEARCH_STORE_CMD"] = str(command)
    with started(machine, "--tools", "all") as process:
        greet(process)
        asked = [
            call(1, "memory_search", {"query": "mug"}),
            call(2, "pepys_run", {"program": "print('noise')"}),
            call(3, "session_recall", {"query": "mug", "scope": "project"}),
            {"id": 4, "method": "nonsense"},
        ]
        say(process, *asked)
        heard = [hear(process) for _ in asked]
        assert process.stdin is not None
        process.stdin.close()
        assert process.stdout is not None
        rest = process.stdout.read()

    assert sorted(message["id"] for message in heard) == [1, 2, 3, 4]
    assert rest == b""
    (failed,) = (message["result"] for message in heard if message["id"] == 1)
    assert failed["structuredContent"]["error"]["code"] == "store_command_failed"


def test_an_interrupt_that_is_for_the_client_does_not_end_the_server(machine: Machine) -> None:
    with started(machine) as process:
        greet(process)
        process.send_signal(signal.SIGINT)
        say(process, {"id": 1, "method": "ping"})
        assert hear(process)["id"] == 1

    assert machine.log.read_text() == ""


def test_a_server_that_is_told_to_end_takes_along_what_it_has_started(machine: Machine) -> None:
    with started(machine, "--tools", "all") as process:
        greet(process)
        say(process, call(1, "pepys_run", ENDLESS))
        time.sleep(1)
        process.terminate()

        assert process.wait(10) == 128 + signal.SIGTERM
        assert group_is_gone(process)
    assert machine.log.read_text() == ""
