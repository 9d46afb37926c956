"""Operations of an execution trace: the calls that one program made, each a record of its own (spec 1).

A trace is valid as a whole or not at all. Operations are never guessed from what a program printed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any

from pepys.model.entry import OPERATION, Event, Passage
from pepys.normalise.details import Children, has, nodes, outcome, printed, route, size, whole

TOOL = "fabric_exec"
"""The tool whose results carry traces."""

_KIND = "pi-fabric.execution"
_MAX_TRACE_BYTES = 512 * 1024
_MAX_OPERATION_BYTES = 96 * 1024
_MAX_DEPTH = 14

_COUNTS = frozenset({"droppedValues", "truncatedValues", "redactedValues", "droppedOperations"})
_TRACE = frozenset({"kind", "version", "outcome", "phases", "operations", "counts"})
_TRACE_OPTIONAL = frozenset({"error"})
_OPERATION = frozenset({"type", "sequence", "ref", "args", "outcome"})
_OPERATION_OPTIONAL = frozenset({"provider", "action", "failureStage", "error", "result", "resultTruncated"})
_STAGES = ("resolve", "prepare", "validate", "approve", "invoke", "guard")

_FILE_ACTIONS = frozenset({"read", "grep", "find", "ls", "edit", "write"})
_FILE_KEYS = ("path", "file", "dir")


def operations(event: Event) -> Children:
    """The operations of the trace that a result of `TOOL` carries; of one without a trace, none."""
    details = event.entry.details
    trace = None if details is None else _trace(details)
    if trace is None:
        return Children()
    if not _valid(trace):
        return Children(notices=("rejected_trace",))
    return Children(tuple(_child(event, operation) for operation in trace["operations"]))


def _trace(details: Mapping[str, Any]) -> Any:
    """Directly in the details, or in those of the tool behind a device."""
    if (trace := details.get("trace")) is not None:
        return trace
    device = details.get("xdev")
    inner = device.get("inner") if isinstance(device, dict) else None
    return inner.get("trace") if isinstance(inner, dict) else None


def _valid(trace: object) -> bool:
    if not isinstance(trace, dict) or not has(trace, _TRACE, _TRACE_OPTIONAL):
        return False
    phases, counts, calls = trace["phases"], trace["counts"], trace["operations"]
    return (
        trace["kind"] == _KIND
        and whole(trace["version"]) == 1
        and outcome(trace["outcome"]) is not None
        and isinstance(trace.get("error", ""), str)
        and isinstance(phases, list)
        and all(isinstance(phase, str) for phase in phases)
        and isinstance(counts, dict)
        and has(counts, _COUNTS)
        and all(whole(count) is not None for count in counts.values())
        and isinstance(calls, list)
        and all(map(_valid_operation, calls))
        and _rising(calls)
        and size(trace) <= _MAX_TRACE_BYTES  # last: only now its nesting is known to have a bound
    )


def _valid_operation(call: object) -> bool:
    return (
        isinstance(call, dict)
        and has(call, _OPERATION, _OPERATION_OPTIONAL)
        and call["type"] == "call"
        and whole(call["sequence"]) is not None
        and isinstance(call["ref"], str)
        and outcome(call["outcome"]) is not None
        and all(isinstance(call.get(key, ""), str) for key in ("provider", "action", "error"))
        and call.get("failureStage", _STAGES[0]) in _STAGES
        and isinstance(call.get("resultTruncated", False), bool)
        and isinstance(call["args"], dict)
        and nodes(call["args"], _MAX_DEPTH) is not None
        and nodes(call.get("result"), _MAX_DEPTH) is not None
    )


def _rising(calls: list[dict[str, Any]]) -> bool:
    return all(before["sequence"] < after["sequence"] for before, after in pairwise(calls))


def _child(event: Event, call: dict[str, Any]) -> Event:
    """The record of one call of a valid trace."""
    carrier, ended = event.entry, outcome(call["outcome"])
    provider, action = route(call["ref"], call.get("provider"), call.get("action"))
    tool = action if action is not None else call["ref"]
    address = f"{carrier.id}/{whole(call['sequence'])}"
    payload = _payload(call, address, carrier.id, tool, provider, action)
    head, result = printed(payload)
    return Event(
        carrier._replace(
            id=address,
            type=OPERATION,
            role="fabricOperation",
            tool=tool,
            is_error=ended != "succeeded",
            blocks=(),
            details=None,
            notice=None,
        ),
        record=True,
        role="fabricOperation",
        tool=tool,
        passages=tuple(passages("Fabric operation ", f"{call['ref']}\n{head}", result, "operation")),
        files=_files(provider, action, call["args"]),
        own=event.own,
        ref=call["ref"],
        provider=provider,
        action=action,
        outcome=ended,
        address=address,
        carrier=carrier.id,
        payload=payload,
    )


def _payload(
    call: dict[str, Any], address: str, parent: str | None, tool: str, provider: str | None, action: str | None
) -> dict[str, Any]:
    """The operation as callers get it. One that is too large goes without its result."""
    made = {
        "address": address,
        "parentEntryId": parent,
        "sequence": whole(call["sequence"]),
        "tool": tool,
        "ref": call["ref"],
    }
    if provider is not None:
        made["provider"] = provider
    if action is not None:
        made["action"] = action
    made |= {key: call[key] for key in ("args", "outcome", "error") if key in call}
    if "result" in call:
        with_result = made | {"result": call["result"]}
        return with_result if size(with_result) <= _MAX_OPERATION_BYTES else made | {"resultOmitted": True}
    return made


def passages(lead: str, call: str, result: str, kind: str) -> Iterator[Passage]:
    """The text of an operation: *call* and *result* as `details.printed` gives them, and the brace that ends them."""
    yield Passage("label", lead)
    yield Passage("call", call, f"{kind}.call::0")
    if result:
        yield Passage("output", result, f"{kind}.result::0")
    yield Passage("label", "}")


def _files(provider: str | None, action: str | None, args: dict[str, Any]) -> tuple[str, ...]:
    """The file or directory that one of the host's own file tools was given."""
    if provider == "pi" and action in _FILE_ACTIONS:
        for key in _FILE_KEYS:
            if isinstance(path := args.get(key), str) and (path := path.strip()):
                return (path,)
    return ()
