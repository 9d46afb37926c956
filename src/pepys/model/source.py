"""Sources: files on disk, and what was seen of them without reading them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple


class Stamp(NamedTuple):
    """What `stat` said of a source; equal stamps prove "unchanged" unless the stamp is young."""

    device: int
    inode: int
    size: int  # bytes
    mtime_ns: int
    ctime_ns: int


Layout = Literal["folders", "flat", "mixed", "archive"]
Kind = Literal["session", "subagent", "archived"]


class Root(NamedTuple):
    """One directory that a host keeps session files in."""

    host: str
    path: str  # absolute
    layout: Layout  # folders: one level of project folders; flat: files of several projects side by side; mixed: both
    agent: str | None  # the agent directory it belongs to; None for a folder outside of every agent directory


class Found(NamedTuple):
    """One source seen in a listing."""

    host: str
    path: str
    root: str  # Root.path
    agent: str | None  # Root.agent
    folder: str | None  # the project folder's name; None in a flat root
    kind: Kind
    stamp: Stamp


class Listing(NamedTuple):
    """Everything seen under some roots. Absence proves nothing below a directory that could not be listed."""

    found: Mapping[str, Found]  # by path
    roots: tuple[Root, ...]  # those that were asked for
    unlisted: Mapping[str, str]  # directory -> reason; a root that does not exist is listed (and empty), not unlisted


class Header(NamedTuple):
    """What a session says of itself before its first entry."""

    session: str | None  # None: no header was found; callers fall back to the file's stem
    cwd: str | None
    version: int
    time: int | None  # ms since the epoch
    parent: str | None  # the host's own reference to a parent session: a path or an id
    title: str | None


class Title(NamedTuple):
    """A later (or, in a slot, better) name for the session; None clears it."""

    text: str | None


class Diagnostic(NamedTuple):
    """Something in a source that could not be read as it should; counted in coverage, never an error."""

    start: int  # byte offset
    code: str
    loses: bool  # whether content was lost to search, so that an empty answer is no proof


DIAGNOSTICS: Mapping[str, tuple[bool, str]] = {
    # code: (loses content, what it means)
    "torn_tail": (True, "the last line has no newline yet and is not read"),
    "malformed_record": (True, "a line is not valid JSON"),
    "nul_run": (True, "a line of raw NUL bytes, as after a power failure, or unreadable because of them"),
    "nul_bytes": (False, "a line holds raw NUL bytes beside a readable record, which is kept"),
    "not_an_object": (False, "a line is valid JSON but no object"),
    "byte_order_mark": (False, "a line, as a rule the first, starts with a byte order mark"),
    "invalid_utf8": (False, "a line holds bytes that are not UTF-8; each became U+FFFD"),
    "record_too_large": (True, "a line is over 32 MiB and is not decoded"),
    "unknown_record_type": (True, "a record type that this version does not know; it counts for the tree only"),
    "unknown_shape": (True, "a known record type whose content has an unknown shape"),
    "rejected_trace": (True, "an execution trace is not valid; its operations are no records"),
    "rejected_branch_summary": (True, "details of a branch summary are not valid; their facts are no records"),
    "duplicate_branch_fact_address": (True, "details of a branch summary name an address twice and are rejected"),
    "duplicate_operation_address": (True, "one of those addresses is an operation's"),
    "missing_header": (False, "no session header; the id is the file's stem and the project is unknown"),
    "repeated_header": (False, "a second session header; the first one counts"),
}


def diagnostic(start: int, code: str) -> Diagnostic:
    """The diagnostic *code*, one of `DIAGNOSTICS`, at byte *start*."""
    return Diagnostic(start, code, DIAGNOSTICS[code][0])
