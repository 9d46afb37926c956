"""One entry to one event.

The passages of an event in their order are its canonical text, whole; nothing is cut here. Those with a fragment id are
its searchable parts; passages that share an id are one part (a tool result is the tool's name and what it printed).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from pepys.model.entry import Block, BlockKind, Entry, Event, Field, Passage

OWN = "pepys"
"""Prefix of our custom types, marker key in our `details`, and name of our MCP server."""

_RECORDS = frozenset(
    {"message", "compaction", "branch_summary", "custom_message"}
    | {"user", "assistant", "tool_result", "bash", "bashExecution"}  # messages of an older shape
)
_PATH_KEYS = ("file", "files", "path", "paths")


def event(entry: Entry) -> Event:
    """What *entry* means, with the record text of spec 1 as passages."""
    role, tool = entry.role, entry.tool
    if role == "assistant":
        tool = next((block.name for block in entry.blocks if block.kind == "call"), None)
    passages = tuple(_passages(entry))
    calls = (block.arguments for block in entry.blocks if block.kind == "call")
    record = entry.type in _RECORDS and (role is not None or any(passage.text.strip() for passage in passages))
    return Event(entry, record, role, tool, passages, files(calls), _own(entry))


def text(event: Event, *, thinking: bool = False, output: bool = True) -> str:
    """The canonical text of *event*, with or without private reasoning and what tools printed."""
    left_out: set[Field] = {"aside"}
    if not thinking:
        left_out.add("thinking")
    if not output:
        left_out.add("output")
    made = ""
    for passage in event.passages:
        if passage.field not in left_out:
            made += passage.lead + passage.text if made else passage.text
    return made


def arguments(value: object) -> str:
    """Tool arguments as compact JSON in their own key order, but with the text of strings as it is.

    Code in an argument can thus be found and read as it was written, instead of under backslashes. For the same reason
    it is no JSON that a program could parse. None, for a call without arguments, is empty.
    """
    if value is None:
        return ""
    made: list[str] = []
    waiting: list[object] = [value]  # what is still to print, last first; no recursion, for nesting has no bound
    while waiting:
        item = waiting.pop()
        if isinstance(item, _Printed):
            made.append(item)
        elif isinstance(item, str):
            made.append(f'"{item}"')
        elif isinstance(item, dict):
            parts: list[object] = []
            for key, member in item.items():
                parts += (_Printed(f',"{key}":' if parts else f'{{"{key}":'), member)
            waiting.append(_Printed("}" if parts else "{}"))
            waiting += reversed(parts)
        elif isinstance(item, list):
            parts = []
            for member in item:
                parts += (_Printed("," if parts else "["), member)
            waiting.append(_Printed("]" if parts else "[]"))
            waiting += reversed(parts)
        else:
            made.append(json.dumps(item))
    return "".join(made)


def files(values: Iterable[object]) -> tuple[str, ...]:
    """Distinct strings, also in arrays, of keys of tool arguments that end in file, files, path or paths."""
    found: dict[str, None] = {}
    waiting: list[tuple[bool, object]] = [(False, value) for value in values]
    waiting.reverse()
    while waiting:
        named, value = waiting.pop()
        if isinstance(value, dict):
            members = [(key.lower().endswith(_PATH_KEYS), member) for key, member in value.items()]
            waiting += reversed(members)
        elif isinstance(value, list):
            waiting += [(named, member) for member in reversed(value)]
        elif named and isinstance(value, str) and (path := value.strip()):
            found[path] = None
    return tuple(found)


class _Printed(str):
    """Text that is printed as it is."""

    __slots__ = ()


def _passages(entry: Entry) -> Iterator[Passage]:
    match entry.role:
        case "user":
            yield from _body(entry, "prose", "user.text::0")
        case "assistant":
            yield from _answer(entry.blocks)
        case "toolResult":
            yield Passage("label", "toolResult(")
            if entry.tool is not None:
                yield Passage("call", entry.tool, "tool.result::0")
            yield Passage("label", ") [error]: " if entry.is_error else "): ")
            yield from _body(entry, "output", "tool.result::0")
        case "bashExecution":
            yield from _execution(entry, "bash$ ", "bash")
        case "pythonExecution":
            yield from _execution(entry, "python> ", "python")
        case "custom":
            body = tuple(_body(entry, "prose", "custom.message::0"))
            # What speaks is named like the tool of a result.
            yield Passage("call", f"[{entry.custom_type or ''}] ", "custom.message::0" if body else None)
            yield from body
        case "compaction" | "compactionSummary":
            yield Passage("label", "compaction: ")
            yield from _body(entry, "prose", "summary.compaction::0", "summary")
        case "developer":
            yield from _body(entry, "output", "developer.text::0")
        case "fileMention":
            for number, block in enumerate(entry.blocks):
                field: Field = "output" if block.kind == "output" else "call"
                yield Passage(field, block.text, f"file.mention::{number}", lead="\n")
        case "branchSummary":
            yield from _body(entry, "aside", "summary.branch::0", "summary")  # recall must not find it (spec 1)
        case None if entry.title and entry.title.split():
            yield Passage("aside", " ".join(entry.title.split()), "session.name::0")
        case _:
            pass


def _body(entry: Entry, field: Field, fragment: str, kind: BlockKind = "text") -> Iterator[Passage]:
    """The text blocks of an entry as one fragment."""
    body = "\n".join(block.text for block in entry.blocks if block.kind == kind)
    if body:
        yield Passage(field, body, fragment)


def _answer(blocks: Iterable[Block]) -> Iterator[Passage]:
    """A model's message: each block is a fragment, numbered within its kind."""
    counts = {"text": 0, "thinking": 0, "call": 0}
    for block in blocks:
        number = counts.get(block.kind, 0)
        counts[block.kind] = number + 1
        if block.kind == "call":
            yield Passage("label", "Tool: ", lead="\n")
            yield Passage("call", f"{block.name or ''}({arguments(block.arguments)})", f"tool.call::{number}")
        elif block.kind == "error":
            yield Passage("output", f"Error: {block.text}", f"assistant.error::{number}", lead="\n")
        elif block.text:
            field: Field = "thinking" if block.kind == "thinking" else "prose"
            yield Passage(field, block.text, f"assistant.{block.kind}::{number}", lead="\n")


def _execution(entry: Entry, prompt: str, kind: str) -> Iterator[Passage]:
    """What a user ran, and what it printed."""
    yield Passage("label", prompt)
    for block in entry.blocks:
        if block.kind == "command" and block.text:
            yield Passage("call", block.text, f"{kind}.command::0")
    if entry.exit_code:
        yield Passage("label", f" [exit {entry.exit_code}]")
    for block in entry.blocks:
        if block.kind == "output" and block.text:
            yield Passage("output", block.text, f"{kind}.output::0", lead="\n")


def _own(entry: Entry) -> bool:
    """Whether Pepys wrote it. A tool's bare name proves nothing: anybody may call a tool so."""
    if entry.custom_type is not None and entry.custom_type.startswith(OWN):
        return True
    details = entry.details
    if details is None:
        return False
    inner = _behind_device(details)
    return OWN in details or OWN in inner or OWN in (details.get("server"), inner.get("serverName"))


def _behind_device(details: Mapping[str, Any]) -> Mapping[str, Any]:
    """The details of the tool that was called through a device of OMP's."""
    device = details.get("xdev")
    inner = device.get("inner") if isinstance(device, dict) else None
    return inner if isinstance(inner, dict) else {}
