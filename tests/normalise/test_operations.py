"""Operations of execution traces."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

from pepys import normalise
from pepys.hosts import HOSTS, omp
from pepys.hosts.reading import examine
from pepys.model.entry import Entry, Passage, Record
from pepys.normalise import Children
from tests.hosts.sources import recorded
from tests.normalise.carried import Json, carried, left, mutated, nested, operation, result, summary, trace

READ = operation(result="line one\nline two")
FAILED = operation(
    7, "shell.run", provider="shell", action="run", args={}, outcome="failed", error="no such command", result=None
)


@pytest.mark.requirement("operations.children", "operations.fields")
def test_every_operation_of_a_trace_is_a_record() -> None:
    entry = result(trace(READ, FAILED))

    children = carried(entry)

    first, second = children.events
    assert children.notices == ()
    assert first.entry == Entry(10, 20, "outer/0", "asked", "fabric_operation", "fabricOperation", 5, tool="read")
    assert (first.record, first.role, first.tool, first.ref) == (True, "fabricOperation", "read", "pi.read")
    assert (first.provider, first.action, first.outcome) == ("pi", "read", "succeeded")
    assert (first.address, first.carrier, first.carrier_from) == ("outer/0", "outer", None)
    assert first.files == ("src/a.py",)
    assert (second.entry.id, second.address, second.entry.is_error, second.outcome) == (
        "outer/7",
        "outer/7",
        True,
        "failed",
    )
    assert (second.tool, second.entry.tool, second.files) == ("run", "run", ())


@pytest.mark.requirement("operations.structure")
def test_the_structure_of_an_operation_is_handed_on() -> None:
    first, second = carried(result(trace(READ, FAILED))).events

    assert list((first.payload or {}).items()) == [
        ("address", "outer/0"),
        ("parentEntryId", "outer"),
        ("sequence", 0),
        ("tool", "read"),
        ("ref", "pi.read"),
        ("provider", "pi"),
        ("action", "read"),
        ("args", {"path": "src/a.py"}),
        ("outcome", "succeeded"),
        ("result", "line one\nline two"),
    ]
    assert second.payload == {
        "address": "outer/7",
        "parentEntryId": "outer",
        "sequence": 7,
        "tool": "run",
        "ref": "shell.run",
        "provider": "shell",
        "action": "run",
        "args": {},
        "outcome": "failed",
        "error": "no such command",
        "result": None,
    }


def test_an_operations_text_is_its_ref_and_its_json_with_strings_as_they_are() -> None:
    first, second = carried(result(trace(READ, FAILED))).events

    assert normalise.text(first) == (
        "Fabric operation pi.read\n"
        '{"address":"outer/0","parentEntryId":"outer","sequence":0,"tool":"read","ref":"pi.read","provider":"pi",'
        '"action":"read","args":{"path":"src/a.py"},"outcome":"succeeded","result":"line one\nline two"}'
    )
    ref, _, printed = normalise.text(second).partition("\n")
    assert ref == "Fabric operation shell.run"
    assert printed == json.dumps(second.payload, separators=(",", ":"))


@pytest.mark.requirement("privacy.output_off")
def test_without_tool_output_an_operations_result_is_left_out_and_all_else_stays() -> None:
    first, second = carried(result(trace(operation(result="secret"), FAILED))).events

    assert normalise.text(first, output=False) == normalise.text(first).replace(',"result":"secret"', "")
    assert "no such command" in normalise.text(second, output=False)
    assert first.passages[2] == Passage("output", ',"result":"secret"', "operation.result::0")
    assert [(passage.field, passage.fragment) for passage in first.passages] == [
        ("label", None),
        ("call", "operation.call::0"),
        ("output", "operation.result::0"),
        ("label", None),
    ]


def test_an_operation_without_a_result_has_none_in_its_text() -> None:
    (child,) = carried(result(trace(operation()))).events

    assert [passage.field for passage in child.passages] == ["label", "call", "label"]
    assert not {"result", "resultOmitted"} & (child.payload or {}).keys()


@pytest.mark.parametrize("fits", [True, False])
def test_the_result_of_an_operation_over_96_kib_is_dropped_and_said_to_be(fits: bool) -> None:
    (small,) = carried(result(trace(operation(result="")))).events
    room = 96 * 1024 - len(json.dumps(small.payload, separators=(",", ":")))

    (child,) = carried(result(trace(operation(result="é" * (room // 2) + "e" * (room % 2 + (not fits)))))).events

    payload = child.payload or {}
    assert ("result" in payload, payload.get("resultOmitted")) == ((True, None) if fits else (False, True))
    assert ('"resultOmitted":true}' in normalise.text(child)) is not fits


@pytest.mark.parametrize(
    ("ref", "given", "provider", "action", "tool"),
    [
        ("pi.read", {}, "pi", "read", "read"),
        ("a.b.c", {}, "a", "b.c", "b.c"),
        ("bare", {}, None, None, "bare"),
        (".b", {}, None, None, ".b"),
        ("a.", {}, None, None, "a."),
        ("", {}, None, None, ""),
        ("a.b", {"provider": "p"}, "p", "b", "b"),
        ("a.b", {"action": "x"}, "a", "x", "x"),
        ("bare", {"provider": "p"}, "p", None, "bare"),
        ("bare", {"provider": "p", "action": "x"}, "p", "x", "x"),
    ],
)
def test_a_missing_provider_or_action_comes_from_the_first_dot_of_the_ref(
    ref: str, given: Json, provider: str | None, action: str | None, tool: str
) -> None:
    (child,) = carried(result(trace(operation(0, ref, **given)))).events

    assert (child.ref, child.provider, child.action, child.tool) == (ref, provider, action, tool)
    assert child.payload is not None
    assert (child.payload.get("provider"), child.payload.get("action")) == (provider, action)


@pytest.mark.parametrize(
    ("ref", "args", "files"),
    [
        ("pi.read", {"path": " a ", "file": "b"}, ("a",)),
        ("pi.grep", {"file": "b", "dir": "c"}, ("b",)),
        ("pi.find", {"dir": "c"}, ("c",)),
        ("pi.ls", {"path": "", "dir": "c"}, ("c",)),
        ("pi.edit", {"path": 3, "file": "b"}, ("b",)),
        ("pi.write", {"files": ["a"], "filePath": "b"}, ()),
        ("pi.bash", {"path": "a"}, ()),
        ("other.read", {"path": "a"}, ()),
        ("read", {"path": "a"}, ()),
        ("pi.read", {}, ()),
    ],
)
def test_files_are_those_of_the_hosts_own_file_tools(ref: str, args: Json, files: tuple[str, ...]) -> None:
    (child,) = carried(result(trace(operation(0, ref, args=args)))).events

    assert child.files == files


@pytest.mark.parametrize("outcome", ["succeeded", "failed", "aborted", "timed_out"])
def test_whatever_did_not_succeed_is_an_error_however_the_program_ended(outcome: str) -> None:
    (child,) = carried(result(trace(operation(outcome=outcome), outcome="failed"), is_error=True)).events

    assert (child.outcome, child.entry.is_error) == (outcome, outcome != "succeeded")


def test_what_a_child_is_written_by_its_carrier_says() -> None:
    details = {"trace": trace(operation()), "pepys": 1}

    assert [child.own for child in carried(result(None, details=details)).events] == [True]
    assert [child.own for child in carried(result(trace(operation()))).events] == [False]


def test_what_is_noticed_of_a_carrier_is_not_said_again_of_its_operations() -> None:
    (child,) = carried(result(trace(operation()), notice="unknown_shape")).events

    assert child.entry.notice is None


@pytest.mark.parametrize(
    "valid",
    [
        trace(),
        trace(operation(), error="stopped", outcome="timed_out"),
        trace(operation(3), operation(2**53 - 1), phases=[]),
        trace(operation(failureStage="guard", resultTruncated=True, result=[1.5, None, False, {"a": []}])),
        trace(operation(args={"in": nested(13)}, result=nested(14))),
        trace(operation(0.0), version=1.0),
        trace(operation(result="\ud83d")),
    ],
)
def test_a_valid_trace_gives_as_many_records_as_it_has_operations(valid: Json) -> None:
    children = carried(result(valid))

    assert children.notices == ()
    assert len(children.events) == len(valid["operations"])


COUNTS = trace()["counts"]

INVALID: dict[str, Any] = {
    "no object": [trace()],
    "text": "trace",
    "false": False,
    "empty": {},
    "another kind": trace(kind="pi-fabric.branch-summary"),
    "another version": trace(version=2),
    "a boolean version": trace(version=True),
    "an extra key": trace(audits=[]),
    "an unknown outcome": trace(outcome="done"),
    "an outcome of no kind": trace(outcome=["succeeded"]),
    "phases that are no list": trace(phases="look"),
    "a phase that is no text": trace(phases=["look", None]),
    "an error that is no text": trace(error=None),
    "operations that are no list": trace() | {"operations": {}},
    "counts that are no object": trace(counts=[0, 0, 0, 0]),
    "an extra count": trace(counts=COUNTS | {"more": 0}),
    "a missing count": trace(counts={"droppedValues": 0}),
    "a negative count": trace(counts=COUNTS | {"droppedValues": -1}),
    "a boolean count": trace(counts=COUNTS | {"droppedValues": True}),
    "a fraction": trace(counts=COUNTS | {"droppedValues": 0.5}),
    "an unsafe count": trace(counts=COUNTS | {"droppedValues": 2**53}),
    "a count that is no number": trace(counts=COUNTS | {"droppedValues": math.nan}),
    "an operation that is no object": trace(operation(), None),
    "an extra key of an operation": trace(operation(address="outer/0")),
    "another type": trace(operation(type="result")),
    "a negative sequence": trace(operation(-1)),
    "a boolean sequence": trace(operation(False)),
    "an unsafe sequence": trace(operation(2**53)),
    "a sequence of text": trace() | {"operations": [operation() | {"sequence": "0"}]},
    "a repeated sequence": trace(operation(1), operation(1)),
    "a falling sequence": trace(operation(2), operation(1)),
    "a ref that is no text": trace(operation() | {"ref": None}),
    "arguments that are no object": trace(operation(args=["a"])),
    "a provider that is no text": trace(operation(provider=None)),
    "an action that is no text": trace(operation(action=1)),
    "an operation's error that is no text": trace(operation(error={})),
    "an operation's unknown outcome": trace(operation(outcome="ok")),
    "an unknown stage": trace(operation(failureStage="compile")),
    "no stage": trace(operation(failureStage=None)),
    "a truncation that is no boolean": trace(operation(resultTruncated=1)),
    "arguments that are nested too deep": trace(operation(args={"in": nested(14)})),
    "a result that is nested too deep": trace(operation(result=nested(15))),
    "a result without bounds": trace(operation(result=nested(100_000))),
    "an endless number": trace(operation(result=[math.inf])),
    "no number": trace(operation(args={"n": math.nan})),
    "an integer that overflows": trace(operation(result=10**400)),
    **{f"no {key}": {k: v for k, v in trace().items() if k != key} for key in trace()},
    **{f"an operation without {key}": trace({k: v for k, v in operation().items() if k != key}) for key in operation()},
}


@pytest.mark.requirement("operations.invalid")
@pytest.mark.parametrize("given", INVALID.values(), ids=INVALID)
def test_a_trace_that_is_not_valid_gives_no_records_and_says_so(given: Any) -> None:
    assert carried(result(given)) == Children((), ("rejected_trace",))


@pytest.mark.parametrize(("letter", "bytes_"), [("e", 1), ("é", 2), ("記", 3), ("\n", 2), ("\ud83d", 6)])
def test_a_trace_may_have_512_kib_of_json(letter: str, bytes_: int) -> None:
    room = 512 * 1024 - len(json.dumps(trace(error=""), separators=(",", ":")))
    full = letter * (room // bytes_) + "e" * (room % bytes_)

    assert carried(result(trace(error=full))) == Children()
    assert carried(result(trace(error=full + "e"))).notices == ("rejected_trace",)


@pytest.mark.requirement("operations.no_prose")
@pytest.mark.parametrize(
    "entry",
    [
        result(None, details=None),
        result(None),
        result(None, details={}),
        result(None, details={"audits": [{"ref": "pi.read"}]}),
        result(None, details={"kind": "pi-fabric.execution"}),
        result(None, details={"xdev": {"tool": "fabric_exec", "inner": None}}),
        result(None, details={"xdev": "fabric_exec"}),
        result(trace(operation()), tool="other"),
        result(trace(operation()), tool=None),
        result(trace(operation()))._replace(role="assistant"),
        result(trace(operation()))._replace(id=None),
        left({"trace": trace(operation())}),
        result(None, details=summary()),
    ],
)
def test_without_a_trace_of_the_tool_there_are_no_operations_and_nothing_to_say(entry: Entry) -> None:
    assert carried(entry) == Children()


def test_the_trace_of_a_tool_behind_a_device_is_in_the_devices_details() -> None:
    line = {
        "type": "message",
        "id": "outer",
        "parentId": "asked",
        "message": {
            "role": "toolResult",
            "toolName": "write",
            "content": [],
            "details": {"xdev": {"tool": "fabric_exec", "mode": "execute", "inner": {"trace": trace(READ)}}},
        },
    }
    entry = omp.decode(Record(0, 1, line))
    assert isinstance(entry, Entry)

    assert [child.address for child in carried(entry).events] == ["outer/0"]
    line["message"]["details"]["xdev"]["inner"]["trace"]["version"] = 3  # type: ignore[index]
    assert carried(entry) == Children((), ("rejected_trace",))


@given(mutated(trace(READ, FAILED, operation(9, args={"a": [{"b": 1}]}, result={"c": [1.5]}))))
def test_any_trace_gives_its_operations_or_says_that_it_does_not(changed: Json) -> None:
    children = carried(result(changed))

    if children.notices:
        assert children == Children((), ("rejected_trace",))
    else:
        assert [child.payload and child.payload["sequence"] for child in children.events] == [
            call["sequence"] for call in changed["operations"]
        ]
        for child in children.events:
            assert normalise.text(child).startswith(f"Fabric operation {child.ref}\n{{")


@pytest.mark.parametrize(("name", "path"), recorded("pi") + recorded("omp"))
def test_recorded_sessions_give_what_their_details_hold_and_reject_none(name: str, path: Path) -> None:
    entries = [item for item in examine(HOSTS[name], str(path)).items() if isinstance(item, Entry)]

    for entry in entries:
        children = carried(entry)
        details = entry.details or {}
        assert children.notices == ()
        if details.get("kind") == "pi-fabric.branch-summary":
            assert len(children.events) == len(details["facts"])
        elif entry.tool == "fabric_exec" and "trace" in details:
            assert len(children.events) == len(details["trace"]["operations"])
        else:
            assert children.events == ()
