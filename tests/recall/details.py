"""Entries whose details carry child records (spec 1): results of programs, and summaries of branches that were left."""

from __future__ import annotations

from typing import Any

from tests.recall.diary import NOON, branch_summary, returned

Json = dict[str, Any]


def operation(sequence: int, ref: str = "pi.read", outcome: str = "succeeded", **more: Any) -> Json:
    """A call within a program, as a trace has it."""
    return {"type": "call", "sequence": sequence, "ref": ref, "args": {}, "outcome": outcome, **more}


def executed(id_: str, parent: str | None, *operations: Json, text: str = "done", **trace: Any) -> Json:
    """The result of a program whose trace has *operations*; keywords replace members of the trace."""
    counts = dict.fromkeys(("droppedValues", "truncatedValues", "redactedValues", "droppedOperations"), 0)
    found: Json = {"kind": "pi-fabric.execution", "version": 1, "outcome": "succeeded", "phases": [], "counts": counts}
    result = returned(id_, parent, "fabric_exec", text)
    result["timestamp"] = NOON
    result["message"]["details"] = {"trace": {**found, "operations": list(operations), **trace}}
    return result


def fact(kind: str, entry: str, subordinal: int | str, **more: Any) -> Json:
    """A fact about *entry* of a branch that was left."""
    return {"kind": kind, "entryId": entry, "subordinal": subordinal, "address": f"{entry}/{subordinal}", **more}


def called(entry: str, subordinal: int | str, ref: str = "pi.edit", outcome: str = "succeeded", **more: Any) -> Json:
    """The fact that *ref* was called."""
    tool = ref.rpartition(".")[2]
    return fact("operation", entry, subordinal, ref=ref, tool=tool, outcome=outcome, **{"args": {}, **more})


def ran(entry: str, subordinal: str, name: str, outcome: str = "succeeded", **more: Any) -> Json:
    """The fact that a named program was run."""
    return fact("fabricRun", entry, subordinal, name=name, outcome=outcome, **more)


def summarised(
    id_: str, parent: str | None, from_id: str, *facts: Json, prose: str = "left", version: int = 2, **more: Any
) -> Json:
    """The summary of a branch that was left at *from_id*; keywords replace members of its details."""
    details = {
        "kind": "pi-fabric.branch-summary",
        "version": version,
        "source": {"firstEntryId": "first", "lastEntryId": from_id, "entryCount": 3},
        "facts": list(facts),
        "omittedFacts": 0,
        "sections": [],
        "request": {"text": "", "sourceBytes": 0, "truncated": False},
        **more,
    }
    return {**branch_summary(id_, parent, from_id, prose), "details": details}
