"""Which files an entry read or changed: by the arguments of known tools, and by what summaries record (spec 3)."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal, NamedTuple

from pepys.model.entry import Block, Entry

Access = Literal["read", "changed"]

READS = frozenset(
    {"read", "read_file", "open_file", "list_files", "ls", "find", "glob", "grep"}
    | {"search_file", "search_content", "read_lints"}
)
CHANGES = frozenset({"write", "write_file", "create_file", "edit", "edit_file", "delete_file", "apply_patch"})

_KEYS = ("filePath", "file_path", "file", "path", "to", "from", "target", "target_file")
_LISTS = ("files", "paths")

# Patches name their files in a text: `*** Update File: a.py`, and in OMP's edits `[a.py#5EF9]`.
_PATCHED = re.compile(r"^\*\*\* (?:(?:Add|Update|Delete) File|Move to): (.+)$", re.MULTILINE)
_EDITED = re.compile(r"^\[([^\]\n]+?)(?:#\w+)?\]$", re.MULTILINE)

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
_MAX_CHARS = 4096


class Touched(NamedTuple):
    """A file, or a folder, that an entry names as read or changed."""

    path: str  # absolute and normalised wherever the session's directory is known
    access: Access
    recorded: bool  # the entry says so itself; else it is derived from a tool's arguments
    tool: str | None = None


def touched(entry: Entry, cwd: str | None) -> tuple[Touched, ...]:
    """What *entry* read or changed, in the order in which it says so; of what it says twice, once.

    Args:
        entry: A message with calls, a summary, or a mention of files.
        cwd: The session's directory, from which relative paths are taken.
    """
    found: dict[Touched, None] = {}
    for path, access, recorded, tool in _named(entry):
        if (placed := normalised(path, cwd)) is not None:
            found[Touched(placed, access, recorded, tool)] = None
    return tuple(found)


def normalised(path: str, cwd: str | None) -> str | None:
    """A path as it is compared; None for what names no file: other schemes, texts, nothing.

    A pattern stands for the folder that it looks in. The file need not exist, and links are not followed: a session
    speaks of the past, and often of another machine.
    """
    path = path.strip()
    if path.startswith("file://"):
        from urllib.parse import unquote, urlsplit

        path = unquote(urlsplit(path).path)
    if not path or len(path) > _MAX_CHARS or _SCHEME.match(path) or any(char in path for char in "\n\r\0"):
        return None
    if "*" in path:
        path = posixpath.dirname(path[: path.index("*")]) or "."
    if cwd is not None and cwd.startswith("/") and path != "~" and not path.startswith("~/"):
        path = posixpath.join(cwd, path)
    made = posixpath.normpath(path)
    return made[1:] if made.startswith("//") else made


def _named(entry: Entry) -> Iterator[tuple[str, Access, bool, str | None]]:
    for block in entry.blocks:
        if block.kind == "call" and block.name in READS | CHANGES:
            access: Access = "read" if block.name in READS else "changed"
            for path in _paths(block):
                yield path, access, False, block.name
        elif entry.role == "fileMention" and block.kind == "text":
            yield block.text.removeprefix("@"), "read", True, None
    if entry.type in ("compaction", "branch_summary") and entry.details is not None:
        for path in _strings(entry.details.get("readFiles")):
            yield path, "read", True, None
        for path in _strings(entry.details.get("modifiedFiles")):
            yield path, "changed", True, None


def _paths(call: Block) -> Iterator[str]:
    """The paths in the arguments of a tool that is known to work on files."""
    given: Any = call.arguments
    if isinstance(given, str):
        given = {"input": given} if call.name == "apply_patch" else {"path": given}
    if not isinstance(given, Mapping):
        return
    for key in _KEYS:
        if isinstance(given.get(key), str):
            yield given[key]
    for key in _LISTS:
        yield from _strings(given.get(key))
    if call.name == "apply_patch":
        for text in _strings(list(given.values())):
            yield from _PATCHED.findall(text)
    elif call.name == "edit" and isinstance(given.get("input"), str):
        yield from _EDITED.findall(given["input"])


def _strings(values: object) -> Iterable[str]:
    return [value for value in values if isinstance(value, str)] if isinstance(values, list) else ()
