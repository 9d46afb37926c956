"""The searchable semantic parts of one event, and what is left out of them (spec 3, "Semantic projection")."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from pepys.index.document import MAX_PASSAGE_CHARS
from pepys.model.entry import Block, Event, Field
from pepys.normalise import arguments

_TOOL, _CONVERSATION = "tool", "custom"
_ROLES: Mapping[str | None, str] = {
    "user": "user",
    "assistant": "assistant",
    "toolResult": _TOOL,
    "bashExecution": _TOOL,
    "pythonExecution": _TOOL,
    "compaction": "summary",
    "compactionSummary": "summary",
    "branchSummary": "summary",
    "custom": _CONVERSATION,
    "developer": _CONVERSATION,
    "fileMention": _CONVERSATION,
}

KINDS: Mapping[str, tuple[frozenset[str], tuple[Field, ...]]] = {
    # kind: the roles of events that have it (none: no role), and the fields that its text is in
    "user.text": (frozenset({"user"}), ("prose",)),
    "assistant.text": (frozenset({"assistant"}), ("prose",)),
    "assistant.error": (frozenset({"assistant"}), ("output",)),
    "tool.call": (frozenset({"assistant"}), ("call",)),
    "tool.result": (frozenset({"toolResult"}), ("call", "output")),
    "bash.command": (frozenset({"bashExecution"}), ("call",)),
    "bash.output": (frozenset({"bashExecution"}), ("output",)),
    "python.command": (frozenset({"pythonExecution"}), ("call",)),
    "python.output": (frozenset({"pythonExecution"}), ("output",)),
    "custom.message": (frozenset({"custom"}), ("call", "prose")),
    "developer.text": (frozenset({"developer"}), ("output",)),
    "file.mention": (frozenset({"fileMention"}), ("call", "output")),
    "summary.compaction": (frozenset({"compaction", "compactionSummary"}), ("prose",)),
    "summary.branch": (frozenset({"branchSummary"}), ("aside",)),
    "session.name": (frozenset(), ("aside",)),
}


class Fragment(NamedTuple):
    """One part of an event."""

    id: str  # `<entry id>::<semantic kind>::<n>`; opaque to callers
    kind: str
    text: str  # whole, as it is shown
    texts: tuple[str, ...]  # what of it is searched: runs of text that no phrase crosses
    gaps: tuple[tuple[int, int], ...] = ()  # of the text: what is too much to be searched
    tool: str | None = None
    is_error: bool = False
    custom_type: str | None = None
    call: str | None = None  # the id of a call, or of the call that a result answers


def role(host_role: str | None, type_: str) -> str:
    """The role of an event, in the words of spec 3."""
    if type_ in ("custom", "custom_message"):
        return _CONVERSATION
    return _ROLES.get(host_role, "metadata")


def roles(wanted: Iterable[str]) -> frozenset[str | None]:
    """The hosts' roles of events that may have one of the *wanted* roles; None: events without one are among them."""
    among = set(wanted)
    found: set[str | None] = {host for host, made in _ROLES.items() if made in among}
    if among & {"metadata", "custom", "summary"}:  # also of types that have no role
        found.add(None)
    return frozenset(found)


def fragments(event: Event, *, output: bool = True) -> tuple[Fragment, ...]:
    """The parts of *event* in their order, private reasoning left out.

    Args:
        event: Of an entry.
        output: Whether what tools printed is searched; it is part of the fragments in any case.
    """
    grouped: dict[str, list[tuple[Field, str]]] = {}
    for passage in event.passages:
        if passage.fragment is not None and passage.field != "thinking":
            grouped.setdefault(passage.fragment, []).append((passage.field, passage.text))
    calls = [block for block in event.entry.blocks if block.kind == "call"]
    return tuple(_fragment(event, local, passages, calls, grouped, output) for local, passages in grouped.items())


def _fragment(
    event: Event,
    local: str,
    passages: list[tuple[Field, str]],
    calls: list[Block],
    grouped: Mapping[str, object],
    output: bool,
) -> Fragment:
    entry = event.entry
    kind, _, number = local.rpartition("::")
    parts: list[tuple[Field, str]] = passages
    if kind == "tool.call":
        block = calls[int(number)]
        parts = [("call", part) for part in (block.name, arguments(block.arguments)) if part]
    elif kind == "custom.message":
        parts = [("call", entry.custom_type or ""), *(part for part in passages if part[0] != "call")]
    text, gaps = _joined([part for _, part in parts])
    searched = (text, gaps) if output else _joined([part for field, part in parts if field != "output"])
    made = Fragment(f"{entry.id}::{local}", kind, text, tuple(runs(*searched)), gaps)
    match kind:
        case "tool.call":
            return made._replace(tool=block.name, call=block.call)
        case "tool.result":
            return made._replace(tool=entry.tool, is_error=entry.is_error, call=entry.call)
        case "bash.command" | "python.command":
            # Where nothing was printed, the command is what failed.
            alone = kind.replace("command", "output") + "::0" not in grouped
            return made._replace(tool=entry.tool, is_error=alone and _failed(event))
        case "bash.output" | "python.output":
            return made._replace(tool=entry.tool, is_error=_failed(event))
        case "assistant.error":
            return made._replace(is_error=True)
        case "custom.message":
            return made._replace(custom_type=entry.custom_type)
        case _:
            return made


def _joined(parts: Iterable[str]) -> tuple[str, tuple[tuple[int, int], ...]]:
    """*parts* as one text, and the middles of those that are too long to be searched, as the index cuts them."""
    text, gaps = "", []
    for number, part in enumerate(parts):
        text += "\n" * bool(number)
        if len(part) > MAX_PASSAGE_CHARS:
            half = MAX_PASSAGE_CHARS // 2
            gaps.append((len(text) + half, len(text) + len(part) - half))
        text += part
    return text, tuple(gaps)


def runs(text: str, gaps: Iterable[tuple[int, int]]) -> Iterator[str]:
    """What of *text* lies before, between and after *gaps*."""
    at = 0
    for start, end in gaps:
        yield text[at:start]
        at = end
    yield text[at:]


def _failed(event: Event) -> bool:
    return event.entry.is_error or bool(event.entry.exit_code)
