"""Valid details of the two kinds that carry records, their entries, and what can be done to them."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator, MutableMapping, MutableSequence
from typing import Any

from hypothesis import strategies as st

from pepys import normalise
from pepys.model.entry import Block, Entry
from pepys.normalise import Children

Json = dict[str, Any]


def operation(sequence: float = 0, ref: str = "pi.read", **more: Any) -> Json:
    return {
        "type": "call",
        "sequence": sequence,
        "ref": ref,
        "args": {"path": "src/a.py"},
        "outcome": "succeeded",
        **more,
    }


def trace(*operations: Any, **more: Any) -> Json:
    counts = {"droppedValues": 0, "truncatedValues": 1, "redactedValues": 2, "droppedOperations": 0}
    return {
        "kind": "pi-fabric.execution",
        "version": 1,
        "outcome": "succeeded",
        "phases": ["look"],
        "operations": list(operations),
        "counts": counts,
        **more,
    }


def result(given: Any, **more: Any) -> Entry:
    """The result of a program whose trace is *given*."""
    more = {"tool": "fabric_exec", "details": {"trace": given}} | more
    return Entry(10, 20, "outer", "asked", "message", "toolResult", 5, (Block("text", "printed"),), **more)


def fact(kind: str, subordinal: Any = "0", **more: Any) -> Json:
    return {"kind": kind, "entryId": "e1", "subordinal": subordinal, "address": f"e1/{subordinal}", **more}


USER = fact("user", "u", text="Please look")
MESSAGE = fact("customMessage", "m", customType="note", text="seen", display=True)
PHASE = fact("phase", "p", phase="look")
OPERATION = fact("operation", 3, ref="pi.grep", tool="grep", args={"path": "src"}, outcome="failed", result=["hit"])
RUN = fact("fabricRun", "call:c1", name="census", description="counts files", outcome="timed_out")


def summary(*facts: Any, version: Any = 2, **more: Any) -> Json:
    return {
        "kind": "pi-fabric.branch-summary",
        "version": version,
        "source": {"firstEntryId": "e1", "lastEntryId": "e9", "entryCount": 9, "oldLeafId": None},
        "facts": list(facts),
        "omittedFacts": 0,
        "sections": ["Goal"],
        "request": {"text": "Summarise", "sourceBytes": 120, "truncated": False},
        **more,
    }


def left(details: Any, **more: Any) -> Entry:
    """The summary of a branch that was left, with *details*."""
    more = {"type": "branch_summary", "role": "branchSummary", "target": "leaf", "details": details} | more
    return Entry(10, 20, "summary", "fork", time=5, blocks=(Block("summary", "prose of it"),), **more)


def carried(entry: Entry) -> Children:
    return normalise.children(normalise.event(entry))


def nested(depth: int, of: Any = 0) -> Any:
    """A value *depth* levels below the outermost one."""
    for level in range(depth):
        of = {"in": of} if level % 2 else [of]
    return of


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every member of every collection, as the collection and the key or number."""
    if isinstance(value, dict | list):
        for key in list(value) if isinstance(value, dict) else range(len(value)):
            yield value, key
            yield from places(value[key])


ODD = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.sampled_from([0, 1, 2, 10**400, -1, 2**53, 1.0, 0.5, math.nan, math.inf, -0.0]),
    st.text(max_size=3),
    st.sampled_from(["\ud83d", "call", "user", "fabricRun", "failed", "x" * 600_000]),
    st.just({}) | st.just([]),
    st.sampled_from([13, 14, 15, 16, 17]).map(nested),
)
KEYS = st.sampled_from(["kind", "version", "error", "details", "result", "ref", "more", "trace", ""])


@st.composite
def mutated(draw: st.DrawFn, valid: Json) -> Json:
    """*valid* after some changes: members replaced, removed, added, repeated."""
    value = copy.deepcopy(valid)
    for _ in range(draw(st.integers(0, 3))):
        found = list(places(value))
        if not found:
            break
        holder, key = draw(st.sampled_from(found))
        match draw(st.sampled_from(["replace", "remove", "add", "repeat"])):
            case "replace":
                holder[key] = draw(ODD)
            case "remove":
                del holder[key]
            case "add" if isinstance(holder, MutableMapping):
                holder[draw(KEYS)] = draw(ODD)
            case "repeat" if isinstance(holder, MutableSequence):
                holder.append(copy.deepcopy(holder[key]))
            case _:
                pass
    return value
