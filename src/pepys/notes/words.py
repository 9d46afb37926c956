"""Answers about notes in words, for people and for a model's transcript. Every surface takes them from here."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from pepys.model.notes import SCOPES
from pepys.spelling import counted, form, size

Json = Mapping[str, Any]


class Row(NamedTuple):
    """A line that begins with a name, which surfaces line up."""

    name: str
    text: str


# Notes


def counts(result: Json) -> str:
    """`2 project, 1 global`."""
    return ", ".join(f"{len(result[scope])} {scope}" for scope in SCOPES)


def listing(result: Json) -> Iterator[Row]:
    """Every note, of a result that has the notes."""
    return (Row(scope, note) for scope in SCOPES for note in result[scope])


def outcome(result: Json) -> Iterator[str]:
    """What a change did, and how many notes there are now; of a result without an error."""
    scope, entry = result["scope"], result.get("entry", "")
    match result["action"]:
        case "add" if result["changed"]:
            yield f"Added to {scope} memory: {entry}"
        case "add":
            yield f"Already in {scope} memory: {result['existing']}"
        case "update" if result["changed"]:
            yield f"Updated in {scope} memory: {result['to']}"
        case "update":
            yield f"Nothing to update in {scope} memory: both texts are the same."
        case "forget":
            yield f"Removed from {scope} memory: {entry}"
    yield now(result)


def now(result: Json) -> str:
    """How many notes there are after a change."""
    return f"Now {counts(result)}."


def saved(result: Json) -> str:
    """What saving an edited file did."""
    return "Saved." if result["changed"] else "Nothing was changed."


def clearing(count: int, scope: str) -> str:
    """The question before *count* notes of a scope are removed."""
    return f"Remove {form(count, 'the only note', f'all {count} notes')} of {scope} memory?"


def cleared(result: Json) -> str:
    """What clearing a scope did."""
    return f"Removed {counted(result['removed'], 'note')} from {result['scope']} memory."


NOT_CLEARED = "Nothing was removed."


# Stores


def places(where: Json) -> Iterator[Row]:
    """The files of the notes, of `notes.path`."""
    return (Row(scope, where[scope]) for scope in SCOPES)


def trust(where: Json) -> str:
    """Whether the project's notes count, of `notes.path`."""
    return f"The project is {'' if where['trusted'] else 'not '}trusted: {where['root']}"


def unread(where: Json) -> Iterator[str]:
    """Why the project's notes are missing in a listing, of `notes.path`."""
    if not where["trusted"]:
        yield f"The project is not trusted: its notes are not read (`pepys trust {where['root']}`)."


def changes(result: Json) -> Iterator[Row]:
    """What reading the stores again has found, of `notes.reload`."""
    for scope in SCOPES:
        found = result[scope]
        told = "".join(f", {len(found[name])} {name}" for name in ("added", "removed") if found[name])
        read = f"{counted(found['notes'], 'note')}{told}" if found["read"] else "not read"
        yield Row(scope, f"{read}{_trouble(found)}")


def health(report: Json) -> Iterator[Row]:
    """The stores, the injection, and what is wrong with them, of `notes.doctor`."""
    for scope in SCOPES:
        found = report[scope]
        state = "" if found.get("trusted", True) else "; the project is not trusted"
        read = counted(found["notes"], "note") if found["read"] else "not read"
        yield Row(scope, f"{read}, {size(found['bytes'])} in {found['path']}{state}{_trouble(found)}")
    told = report["injection"]
    off = "" if told["inject"] else "; switched off (memory.inject)"
    yield Row("injection", f"{told['bytes']} of {told['maxBytes']} bytes{off}")
    for note in told["omitted"]:
        yield Row(OMITTED, f"{note['scope']}: {note['text']}")
    for pair in report["duplicates"]:
        yield Row(DUPLICATE, " = ".join(f"{note['scope']}: {note['text']}" for note in pair))


OMITTED, DUPLICATE = "omitted", "duplicate"
"""Names of the rows of `health` that somebody may want to do something about."""


def _trouble(found: Json) -> str:
    return f"; {found['trouble']}" if "trouble" in found else ""
