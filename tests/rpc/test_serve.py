"""`pepys serve`, spoken to as an extension speaks to it."""

from __future__ import annotations

import json
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.rpc.conftest import Machine
from tests.rpc.process import Failed, Json, Serving

FOREVER = "while True:\n    pass"
"""A guest program that keeps the lane of readers until its time is over."""

SLOW_S = 2.0


PIPES: Any = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}


def slowly(serving: Serving, machine: Machine, seconds: float = SLOW_S) -> int:
    """A request that keeps the lane of readers busy for so long."""
    args = {"program": FOREVER, "timeoutMs": int(seconds * 1000)}
    return serving.request("tool", name="pepys_run", args=args, context=machine.context())


# The handshake


def test_a_handshake_tells_who_speaks_which_version(machine: Machine) -> None:
    answer = machine.start().initialize("complete")

    assert answer["protocolVersion"] == 1
    assert answer["server"]["name"] == "pepys"
    assert answer["server"]["version"]


def test_another_version_is_refused_with_what_to_do_whatever_else_it_says(machine: Machine) -> None:
    serving = machine.start()
    serving.raw(b'{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": 2, "who": "?"}}\n')

    with pytest.raises(Failed, match=r"speaks version 1 of the protocol.*version 2.*pepys setup") as refused:
        serving.answer(1)

    assert refused.value.code == -32602


def test_nothing_is_done_before_the_handshake(machine: Machine) -> None:
    serving = machine.start()

    with pytest.raises(Failed, match="The first request is initialize") as refused:
        serving.ask("call", ref="memory.sessions", args={}, context=machine.context())

    assert refused.value.code == -32002


# Requests


def test_an_action_is_called_with_its_arguments_in_its_context(machine: Machine) -> None:
    machine.project.diary.talk("earlier", "port 8080 is taken", cwd=str(machine.project.root))
    args = {"query": "8080", "scope": "project"}

    page = machine.serve().ask("call", ref="memory.recall", args=args, context=machine.context())

    assert [hit["snippet"] for hit in page["hits"]] == ["port 8080 is taken"]
    assert page["coverage"]["complete"] is True


def test_a_tool_answers_with_text_for_the_model_and_a_mark_for_the_host(machine: Machine) -> None:
    machine.project.diary.talk("earlier", "port 8080 is taken", cwd=str(machine.project.root))
    args = {"query": "8080", "scope": "project"}

    told = machine.serve().ask("tool", name="session_recall", args=args, context=machine.context())

    assert "> port 8080 is taken" in told["text"]
    assert (told["details"], told["isError"]) == ({"pepys": {"ref": "memory.recall"}}, False)


def test_a_tool_that_fails_or_is_unknown_says_so_to_the_model(machine: Machine) -> None:
    serving = machine.serve()

    wrong = serving.ask("tool", name="session_recall", args={"pageSize": "many"}, context=machine.context())
    unknown = serving.ask("tool", name="notes_clear", args={}, context=machine.context())

    assert wrong["isError"] is unknown["isError"] is True
    assert "pageSize must be an integer" in wrong["text"]
    assert unknown["details"] == {"pepys": {"tool": "notes_clear", "error": "unknown_action"}}


def test_an_error_has_the_shape_that_it_has_everywhere(machine: Machine) -> None:
    with pytest.raises(Failed) as failed:
        machine.serve().ask("call", ref="memory.expand", args={"session": "none"}, context=machine.context())

    assert failed.value.code == -32000
    assert failed.value.data["code"] == "session_not_found"
    assert failed.value.data["message"] == failed.value.message


def test_an_event_gives_what_the_host_is_to_do(machine: Machine) -> None:
    machine.project.write_day("## Session 09:00\n\n### 09:00\n- the cache is Redis\n", _today())
    store = machine.project.root / ".pi" / "memory.md"
    store.parent.mkdir()
    store.write_text("- run tests with bun\n")
    serving = machine.serve()

    begun = serving.ask("event", name="start", context=machine.context())
    prompted = serving.ask("event", name="prompt", prompt="hello", context=machine.context())

    assert "the cache is Redis" in begun["systemPrompt"]
    assert prompted["systemPrompt"] == begun["systemPrompt"]
    assert [message["customType"] for message in prompted["messages"]] == ["pepys-notes"]
    assert "run tests with bun" in prompted["messages"][0]["content"]


def test_an_event_whose_context_is_wrong_is_answered_by_one_notice(machine: Machine) -> None:
    serving = machine.serve()

    prompted = serving.ask("event", name="prompt", prompt="hello", context={"cwdd": "/"})

    serving.forgive()
    assert [notice["level"] for notice in prompted["notices"]] == ["error"]
    assert "unknown parameter cwdd" in prompted["notices"][0]["text"]


def test_a_command_is_answered_with_notices(machine: Machine) -> None:
    answer = machine.serve().ask("command", name="memory", args="list", context=machine.context())

    assert answer == {"notices": [{"level": "info", "text": "0 project, 0 global."}]}


def test_a_reading_anew_is_one_for_hooks_and_commands(machine: Machine) -> None:
    store = machine.project.root / ".pi" / "memory.md"
    store.parent.mkdir()
    store.write_text("- one\n")
    serving = machine.serve()
    serving.ask("event", name="prompt", prompt="hello", context=machine.context())
    store.write_text("- one\n- two\n")

    reloaded = serving.ask("command", name="memory", args="reload", context=machine.context())

    assert "2 notes, 1 added" in reloaded["notices"][0]["text"]


# What is no request


@pytest.mark.parametrize(
    ("line", "code"),
    [
        (b"Traceback (most recent call last):", -32700),
        (b'{"jsonrpc": "2.0", "id": 7, "method": "call", "params": NaN}', -32700),
        (b'"\xff\xfe"', -32700),
        (b"[" * 100_000, -32700),
        (b'[{"jsonrpc": "2.0", "id": 7, "method": "ping"}]', -32600),
        (b'{"jsonrpc": "2.0", "id": 7}', -32600),
        (b'{"jsonrpc": "2.0", "id": "seven", "method": "ping"}', -32600),
        (b'{"jsonrpc": "2.0", "id": true, "method": "ping"}', -32600),
        (b'{"jsonrpc": "2.0", "id": 7, "method": "memory.recall"}', -32601),
        (b'{"jsonrpc": "2.0", "id": 7, "method": "call", "params": []}', -32602),
        (b'{"jsonrpc": "2.0", "id": 7, "method": "event", "params": {"name": "born"}}', -32602),
        (b'{"jsonrpc": "2.0", "id": 7, "method": "call", "params": {"context": {}}}', -32602),
        (b'{"jsonrpc": "2.0", "id": 7, "method": "call", "params": {"ref": "' + b"x" * 17_000_000 + b'"}}', -32600),
    ],
    ids=lambda given: str(given)[:60],
)
def test_what_is_no_request_is_refused_and_the_next_one_answered(machine: Machine, line: bytes, code: int) -> None:
    serving = machine.serve()

    serving.raw(line + b"\n")
    serving.ask("ping")

    refused = [
        message for id_ in (None, 7, "seven", True) if serving.answered(id_) for message in [serving.message(id_)]
    ]
    assert [message["error"]["code"] for message in refused] == [code]


def test_what_nobody_waits_for_is_dropped(machine: Machine) -> None:
    serving = machine.serve()

    serving.raw(b'\n{"jsonrpc": "2.0", "id": "pepys-99", "result": {}}\n{"jsonrpc": "2.0", "method": "unknown"}\n')
    serving.raw(b'{"jsonrpc": "2.0", "method": "cancel", "params": {"id": 12345}}\n')

    assert serving.ask("ping") == {}


def test_an_id_that_is_in_use_is_refused(machine: Machine) -> None:
    serving = machine.serve()
    first = slowly(serving, machine)
    serving.raw(b'{"jsonrpc": "2.0", "id": %d, "method": "ping"}\n' % first)

    with pytest.raises(Failed, match="that no other request has"):
        serving.answer(first)

    assert serving.answer(first)["isError"] is True  # the program's own end
    serving.forgive()


# Cancelling


def test_a_request_that_waits_is_cancelled_at_once_and_the_lane_goes_on(machine: Machine) -> None:
    serving = machine.serve()
    first = slowly(serving, machine)
    second = serving.request("call", ref="memory.sessions", args={}, context=machine.context())
    third = serving.request("call", ref="memory.sessions", args={}, context=machine.context())

    serving.cancel(second)

    with pytest.raises(Failed) as cancelled:
        serving.answer(second, within_s=SLOW_S / 2)
    assert cancelled.value.code == -32800
    assert not serving.answered(first)
    assert serving.answer(first)["isError"] is True
    assert serving.answer(third)["sessions"] == []


def test_a_request_under_way_is_answered_at_once_when_it_is_cancelled(machine: Machine) -> None:
    serving = machine.serve()
    under_way = slowly(serving, machine)

    serving.cancel(under_way)

    with pytest.raises(Failed) as cancelled:
        serving.answer(under_way, within_s=SLOW_S / 2)
    assert cancelled.value.code == -32800


def test_a_request_that_waits_for_a_model_is_cancelled_and_its_lane_goes_on(machine: Machine) -> None:
    machine.project.write_day("### 09:00\n- the cache is Redis\n")
    serving = machine.serve("complete")
    waiting = serving.request("tool", name="memory_compact", args={}, context=machine.context())
    serving.wait(lambda: [method for method, _ in serving.asked] == ["complete"])

    serving.cancel(waiting)

    with pytest.raises(Failed) as cancelled:
        serving.answer(waiting, within_s=2)
    assert cancelled.value.code == -32800
    args = {"content": "- written after it"}
    written = serving.ask("tool", 2, name="memory_write", args=args, context=machine.context())
    assert written["isError"] is False


# Progress


def test_whoever_waits_for_the_first_index_is_told_how_far_it_is(machine: Machine) -> None:
    for number in range(4):
        texts = [f"session {number} step {step} " + "words of a long talk " * 50 for step in range(300)]
        machine.project.diary.talk(f"s{number}", *texts, cwd=str(machine.project.root))
    serving = machine.serve()

    id_ = serving.request("call", ref="memory.sessions", args={"scope": "project"}, context=machine.context())
    serving.answer(id_)

    told = [params for method, params in serving.signals if method == "progress"]
    assert {params["id"] for params in told} == {id_}
    assert [params["done"] for params in told] == sorted(params["done"] for params in told)
    assert 0 < told[-1]["done"] <= told[-1]["total"]


# Asking the client


def settled(machine: Machine, **more: object) -> Json:
    """Parameters of a settled run of one exchange."""
    file = machine.project.talk()
    models = [{"provider": "p", "id": "cheap", "input": 1, "output": 1}, {"provider": "p", "id": "dear", "input": 9}]
    context = machine.context(sessionFile=str(file), currentSessionId="s1")
    return {"name": "settled", "context": context, "models": models, "provider": "p", "model": "p/dear", **more}


def captured(machine: Machine) -> str:
    """What the store holds."""
    return "".join(path.read_text() for path in sorted(machine.project.store.glob("*.md")))


def test_a_settled_exchange_is_distilled_by_the_cheapest_model_of_the_host(machine: Machine) -> None:
    serving = machine.serve("complete")
    serving.callbacks["complete"] = lambda asked: {"text": f"- distilled by {asked['model']}"}

    effects = serving.ask("event", **settled(machine, wait=True))

    assert effects == {}
    assert "- distilled by p/cheap" in captured(machine)
    [(_, asked)] = serving.asked
    assert asked["session"] == "s1"
    assert "Move the cache." in asked["prompt"]


def test_a_settled_exchange_holds_nothing_up(machine: Machine) -> None:
    serving = machine.serve("complete")
    answered = threading.Event()

    def late(asked: Json) -> Json:
        answered.wait(20)
        return {"text": "- distilled late"}

    serving.callbacks["complete"] = late
    serving.ask("event", 2, **settled(machine))
    serving.ask("event", 2, name="prompt", prompt="on", context=machine.context())
    answered.set()

    ended = serving.ask("event", name="shutdown", context=settled(machine)["context"])

    assert ended == {}
    assert "- distilled late" in captured(machine)


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ({"error": {"code": -32000, "message": "no credit\x1b[2J left"}}, "distillation failed: no credit"),
        ({"result": {"text": "   "}}, "distillation returned no text"),
        ({"result": {"txt": "- misspelt"}}, "the host gave no text"),
        ({"result": None}, "the host gave no text"),
    ],
)
def test_a_model_that_fails_leaves_a_marker_with_the_reason(machine: Machine, answer: Json, why: str) -> None:
    serving = machine.serve("complete")
    id_ = serving.request("event", **settled(machine, wait=True))
    serving.wait(lambda: bool(serving.asked))
    serving.raw(json.dumps({"jsonrpc": "2.0", "id": "pepys-1", **answer}).encode() + b"\n")

    serving.answer(id_)

    assert why in captured(machine)
    assert re.search(r"<!-- session:s1 turn:a1 transcript:.* -->\n- \[pepys\]", captured(machine))
    serving.forgive()


def test_a_model_that_never_answers_is_waited_for_no_longer_than_its_time(machine: Machine) -> None:
    machine.project.write_day("### 09:00\n- the cache is Redis\n")
    serving = machine.serve("complete")
    context = machine.context(config={"journal": {"compactTimeoutMs": 300}})

    began = time.monotonic()
    told = serving.ask("tool", name="memory_compact", args={}, context=context)

    assert told["isError"] is True
    assert "Error model_unavailable" in told["text"]
    assert time.monotonic() - began < 5
    [(_, asked)] = serving.asked
    assert 0 < asked["timeoutMs"] <= 300
    serving.raw(b'{"jsonrpc": "2.0", "id": "pepys-1", "result": {"text": "much too late"}}\n')
    assert serving.ask("ping") == {}


def test_a_client_without_models_is_not_asked_for_one(machine: Machine) -> None:
    serving = machine.serve()

    serving.ask("event", **settled(machine, wait=True))

    assert serving.asked == []
    assert "(extract) the user asked: Move the cache." in captured(machine)


def test_a_person_is_asked_before_notes_are_cleared(machine: Machine) -> None:
    store = machine.project.root / ".pi" / "memory.md"
    store.parent.mkdir()
    store.write_text("- one\n")
    serving = machine.serve("confirm")
    answers = iter([False, True])
    serving.callbacks["confirm"] = lambda asked: {"confirmed": next(answers)}

    def clear() -> str:
        context = machine.context()
        answer = serving.ask("command", name="memory", args="clear", context=context, mode="rpc", hasUi=True)
        return str(answer["notices"][0]["text"])

    assert (clear(), store.read_text()) == ("Nothing was removed.", "- one\n")
    assert clear().startswith("Removed 1 note from project memory.")
    assert store.read_text() == ""


def test_what_a_client_cannot_be_asked_is_a_notice(machine: Machine) -> None:
    answer = machine.serve().ask("command", name="memory", args="edit", context=machine.context(), hasUi=True)

    assert answer["notices"] == [{"level": "error", "text": "The host could not ask: the host has no edit"}]


def test_a_capture_that_cannot_be_written_is_told_when_it_happens(machine: Machine) -> None:
    machine.project.store.parent.mkdir(parents=True)
    serving = machine.serve("complete", "notify")
    given = settled(machine)

    def late(asked: Json) -> Json:
        machine.project.store.write_text("a file where the store should be")
        return {"text": "- never written"}

    serving.callbacks["complete"] = late

    serving.ask("event", **given)

    serving.wait(lambda: bool(serving.signals))
    [(method, told)] = serving.signals
    assert (method, told["level"], told["session"]) == ("notify", "error", "s1")
    assert str(machine.project.store) in told["text"]


# Side by side


@pytest.mark.parametrize(
    ("method", "params"),
    [("event", {"name": "prompt", "prompt": "hello"}), ("call", {"ref": "journal.snapshot", "args": {}})],
)
def test_a_hook_waits_for_no_search(machine: Machine, method: str, params: Json) -> None:
    serving = machine.serve()
    search = slowly(serving, machine)

    serving.ask(method, SLOW_S / 2, **params, context=machine.context())

    assert not serving.answered(search)
    serving.answer(search)


def test_hooks_and_searches_wait_for_no_model(machine: Machine) -> None:
    machine.project.write_day("### 09:00\n- the cache is Redis\n")
    serving = machine.serve("complete")
    model = threading.Event()
    serving.callbacks["complete"] = lambda asked: {"text": "condensed"} if model.wait(20) else {}
    compacting = serving.request("tool", name="memory_compact", args={}, context=machine.context())
    serving.wait(lambda: bool(serving.asked))

    serving.ask("event", 5, name="prompt", prompt="hello", context=machine.context())
    found = serving.ask("tool", 5, name="memory_search", args={"query": "cache"}, context=machine.context())
    commanded = serving.ask("command", 5, name="memory", args="path", context=machine.context())

    assert "Redis" in found["text"]
    assert commanded["notices"]
    assert not serving.answered(compacting)
    model.set()
    assert "condensed" in serving.answer(compacting)["text"]


def test_a_person_who_thinks_keeps_nothing_waiting(machine: Machine) -> None:
    serving = machine.serve("edit")
    command = serving.request("command", name="memory", args="edit global", context=machine.context(), hasUi=True)
    serving.wait(lambda: bool(serving.asked))

    serving.ask("tool", 5, name="memory", args={"action": "list"}, context=machine.context())
    serving.cancel(command)

    with pytest.raises(Failed) as cancelled:
        serving.answer(command, within_s=2)
    assert cancelled.value.code == -32800


def test_notes_are_changed_in_the_order_in_which_it_was_asked(machine: Machine) -> None:
    serving = machine.serve()

    ids = [
        serving.request("tool", name="memory", args={"action": "add", "text": f"note {at}"}, context=machine.context())
        for at in range(25)
    ]
    told = [serving.answer(id_) for id_ in ids]

    assert told[-1]["details"]["project"] == [f"note {at}" for at in range(25)]
    assert [len(one["details"]["project"]) for one in told] == list(range(1, 26))


# The end


def test_requests_from_a_file_are_all_answered(machine: Machine) -> None:
    machine.project.diary.talk("earlier", "port 8080 is taken", cwd=str(machine.project.root))
    serving = machine.serve()
    ids = [
        serving.request("call", ref="memory.recall", args={"query": "8080", "scope": "project"}, context=context)
        for context in [machine.context()] * 5
    ]

    assert serving.leave() == 0

    assert [len(serving.answer(id_)["hits"]) for id_ in ids] == [1] * 5


def test_the_end_of_input_ends_it_whatever_runs(machine: Machine) -> None:
    serving = machine.serve()
    running = slowly(serving, machine, seconds=60)
    waiting = serving.request("call", ref="memory.sessions", args={}, context=machine.context())

    began = time.monotonic()
    assert serving.leave() == 0

    assert time.monotonic() - began < 8
    for id_ in (running, waiting):
        with pytest.raises(Failed) as cancelled:
            serving.answer(id_)
        assert cancelled.value.code == -32800


@pytest.mark.parametrize("how", ["eof", "SIGTERM"])
def test_what_was_captured_when_the_host_ended_is_in_the_daily_file(machine: Machine, how: str) -> None:
    serving = machine.serve("complete")  # and it never answers
    serving.ask("event", **settled(machine))
    serving.wait(lambda: bool(serving.asked))

    began = time.monotonic()
    if how == "SIGTERM":
        serving.signal(signal.SIGTERM)
        assert serving.ended() == 128 + signal.SIGTERM
    else:
        assert serving.leave() == 0

    assert time.monotonic() - began < 5
    assert "[pepys] distillation failed: the host is gone" in captured(machine)


def test_a_model_of_somebody_else_is_not_waited_for_either(machine: Machine) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:  # takes calls, and answers none
        address = f"http://127.0.0.1:{silent.getsockname()[1]}/v1"
        endpoint = {"PEPYS_JOURNAL_MODEL_API": "openai", "PEPYS_JOURNAL_MODEL_URL": address, "PEPYS_JOURNAL_MODEL": "m"}
        serving = machine.serve(**endpoint)
        serving.ask("event", **settled(machine))

        began = time.monotonic()
        assert serving.leave() == 0

    assert time.monotonic() - began < 8
    assert "[pepys] distillation failed: aborted" in captured(machine)


def test_a_client_that_is_gone_without_a_word_ends_it(machine: Machine) -> None:
    hello = {"protocolVersion": 1, "client": {"name": "c"}}
    with subprocess.Popen([sys.executable, "-m", "pepys", "serve"], **PIPES, env=machine.serve().env) as process:
        assert process.stdin and process.stdout
        process.stdin.write(json.dumps({"id": 1, "method": "initialize", "params": hello}).encode() + b"\n")
        process.stdin.flush()
        process.stdout.readline()
        process.stdout.close()
        for id_ in (2, 3):
            call = {"ref": "memory.sessions", "context": machine.context()}
            process.stdin.write(json.dumps({"id": id_, "method": "call", "params": call}).encode() + b"\n")
        process.stdin.close()

        assert process.wait(10) == 0


@pytest.mark.parametrize("name", ["SIGINT", "SIGHUP"])
def test_signals_that_reach_the_whole_terminal_are_for_the_host(machine: Machine, name: str) -> None:
    serving = machine.serve()

    serving.signal(signal.Signals[name])

    assert serving.ask("ping") == {}


def test_what_is_printed_by_mistake_breaks_no_message(machine: Machine) -> None:
    code = """
import os, subprocess
from pepys.rpc import tools
made = tools.call
def call(*given):
    print("printed")
    os.write(1, b"written\\n")
    subprocess.run(["echo", "by a child"])
    return made(*given)
tools.call = call
"""
    serving = machine.serve(code=code)

    told = serving.ask("tool", name="memory", args={"action": "list"}, context=machine.context())

    assert told["isError"] is False


def test_a_defect_is_an_error_of_one_request(machine: Machine) -> None:
    serving = machine.serve(code="from pepys.rpc import tools; tools.call = None")

    with pytest.raises(Failed, match="TypeError") as failed:
        serving.ask("tool", name="memory", args={"action": "list"}, context=machine.context())

    assert (failed.value.code, failed.value.data["code"]) == (-32603, "internal_error")
    assert serving.ask("ping") == {}


def test_a_result_that_is_no_json_is_an_error_of_one_request(machine: Machine) -> None:
    code = "from pepys.rpc import tools; tools.call = lambda *given: {'text': {1, 2}}"
    serving = machine.serve(code=code)

    for _ in range(2):  # the lane goes on
        with pytest.raises(Failed, match="cannot be sent"):
            serving.ask("tool", name="memory", args={"action": "list"}, context=machine.context())


def test_terminal_escapes_never_reach_the_host_raw(machine: Machine) -> None:
    machine.project.diary.talk("earlier", "red \x1b[31m 8080 \x9b1m \u202e", cwd=str(machine.project.root))
    serving = machine.serve()
    args = {"query": "8080", "scope": "project"}

    told = serving.ask("tool", name="session_recall", args=args, context=machine.context())

    assert "\\x1b[31m 8080 \\x9b1m \\u202e" in told["text"]


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_an_idle_server_is_small(machine: Machine, record_property: Callable[[str, object], None]) -> None:
    machine.project.diary.talk("earlier", "port 8080 is taken", cwd=str(machine.project.root))
    serving = machine.serve()
    args = {"query": "8080", "scope": "project"}
    serving.ask("call", ref="memory.recall", args=args, context=machine.context())
    serving.ask("event", name="prompt", prompt="hello", context=machine.context())

    status = Path(f"/proc/{serving.process.pid}/status").read_text()

    resident_kb = int(re.findall(r"^VmRSS:\s*(\d+) kB", status, re.M)[0])
    record_property("resident_kb", resident_kb)
    assert resident_kb < 60 * 1024


def _today() -> str:
    return time.strftime("%Y-%m-%d")
