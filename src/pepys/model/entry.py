"""Records in the host's words, entries and events in ours."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

# These are made once a line over whole histories. NamedTuple costs a fifth of a frozen dataclass to build.


class Record(NamedTuple):
    """One line of a source: its byte span (newline included) and its decoded JSON object, in the host's words."""

    start: int
    end: int
    value: dict[str, Any]


BlockKind = Literal["text", "thinking", "call", "command", "output", "error", "summary"]


class Block(NamedTuple):
    """One part of an entry's content. What is not text (images, provider data) is left out by the host."""

    kind: BlockKind
    text: str  # of a call: empty; `normalise.arguments` prints its arguments
    name: str | None = None  # the tool of a call
    call: str | None = None  # the id of a call
    arguments: Any = None  # of a call: the decoded arguments, for file evidence


class Entry(NamedTuple):
    """One persisted node of a session, decoded. Identity is (session, `id`), never a line number.

    `id` is None only while a host decodes a line that has none; `hosts.reading` then derives one from the line's
    bytes and chains such entries in file order, as hosts do when they upgrade version 1 files.
    """

    start: int  # byte span in the source (of an archive: in the decompressed stream); newline included
    end: int
    id: str | None
    parent: str | None
    type: str  # the host's own record type: message, compaction, custom_message, label, ...
    role: str | None = None  # the host's own role, by spec 1's names; None where an entry has none
    time: int | None = None  # ms since the epoch; None when the source has no usable timestamp
    blocks: tuple[Block, ...] = ()
    tool: str | None = None  # of a result or a user's command: the tool
    call: str | None = None  # of a result: the id of the call it answers
    is_error: bool = False
    exit_code: int | None = None
    custom_type: str | None = None
    target: str | None = None  # label targetId, branch_summary fromId, compaction firstKeptEntryId, ...
    details: Mapping[str, Any] | None = None  # the host's own details object, for operations, facts, file evidence
    notice: str | None = None  # a `DIAGNOSTICS` code to count with this entry
    silent: bool = False  # kept from the model: what a user ran with `!!`
    also: tuple[str, ...] = ()  # of a compaction: other entries that it names
    title: str | None = None  # of an entry that renames the session; "" clears the name
    stop: str | None = None  # of a model's message: why it ended, in the host's word, such as aborted


Field = Literal["prose", "call", "output", "thinking", "label", "aside"]
"""Kinds of text, which are fields of the text engine, so that provenance weights are field boosts.

prose: what a person or a model wrote. call: tool names and arguments. output: what tools printed. thinking: private
reasoning, indexed only by policy. label: the words with which entry text names its parts (`Tool:`, `toolResult`).
aside: what only event search finds (spec 3) and no record's text has: summaries of branches, names of sessions."""


class Passage(NamedTuple):
    """One run of an event's text in one field. A passage with a fragment id is a searchable semantic part."""

    field: Field
    text: str
    fragment: str | None = None  # `<semantic kind>::<n>`, local to the event and deterministic
    lead: str = ""  # separator, emitted only after earlier text


Outcome = Literal["succeeded", "failed", "aborted", "timed_out"]

OPERATION, FACT = "fabric_operation", "fabric_branch_fact"
"""Types of child records: operations of an execution trace, and facts of a branch summary (spec 1)."""


class Event(NamedTuple):
    """What an entry, or a child record of it, means. One event an entry.

    The text of a record is its passages in order, each after its lead (spec 1's normalized text).
    """

    entry: Entry
    record: bool  # whether spec 1 counts it as a normalized record
    role: str | None
    tool: str | None
    passages: tuple[Passage, ...] = ()
    files: tuple[str, ...] = ()  # distinct paths named by tool arguments, in order
    own: bool = False  # written by Pepys itself; not found again unless asked for
    # What follows is known of child records only: operations and facts, typed out of an entry's details. Their `entry`
    # is the carrier with the id, type, role, tool and error of the child.
    ref: str | None = None  # what was called
    provider: str | None = None
    action: str | None = None
    outcome: Outcome | None = None
    address: str | None = None  # of an operation or a run: its stable address
    carrier: str | None = None  # id of the entry that holds it
    carrier_from: str | None = None  # of a fact: `fromId` of the branch summary that holds it
    payload: Mapping[str, Any] | None = None  # the structure it was typed out of, without what is too large
