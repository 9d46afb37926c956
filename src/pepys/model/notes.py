"""Requests of the actions on durable notes (spec 5). See `model.query` for how they are read."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from pepys.model.query import about

Scope = Literal["project", "global"]
"""Whose notes: the project's, or the user's."""

SCOPES: tuple[Scope, ...] = ("project", "global")

MEMORY_ACTIONS = ("add", "update", "forget", "list")


@dataclass(frozen=True, slots=True)
class MemoryRequest:
    """What `notes.memory` is asked. What is wrong with it is said in the result, beside the unchanged notes."""

    action: str = field(metadata=about("What to do with the notes.", enum=list(MEMORY_ACTIONS)))
    text: str | None = field(
        default=None,
        metadata=about("The note to add, or the exact note to update or to forget: one line, at most 500 characters."),
    )
    to: str | None = field(default=None, metadata=about("With update: the note that replaces it."))
    scope: str | None = field(
        default=None,
        metadata=about("Which notes to change: this project's (default), or those for all projects.", enum=[*SCOPES]),
    )


@dataclass(frozen=True, slots=True)
class MemoryFailure:
    """What stands in a result of `notes.memory` for which nothing was changed."""

    code: str = field(metadata=about("Which error it is."))
    message: str = field(metadata=about("What is wrong."))
    hint: str | None = field(default=None, metadata=about("What to do about it."))


@dataclass(frozen=True, slots=True)
class MemoryResult:
    """What `notes.memory` answers: never made, only declared (spec 5, "Tool")."""

    action: Literal["add", "update", "forget", "list"] = field(
        metadata=about("What was asked; list, where that was no action.")
    )
    scope: Scope = field(metadata=about("Which notes were meant."))
    project: tuple[str, ...] = field(metadata=about("This project's notes, as they are now."))
    global_: tuple[str, ...] = field(
        metadata={**about("The notes for all projects, as they are now."), "name": "global"}
    )
    changed: bool = field(metadata=about("Whether anything was written."))
    entry: str | None = field(default=None, metadata=about("The note that was added, updated or forgotten."))
    to: str | None = field(default=None, metadata=about("The note that replaces it."))
    existing: str | None = field(
        default=None, metadata=about("The stored note for which nothing was added: the same one, or a near-duplicate.")
    )
    error: MemoryFailure | None = field(default=None, metadata=about("Why nothing was changed."))
    warnings: tuple[str, ...] | None = field(default=None, metadata=about("Why notes cannot be read now."))


@dataclass(frozen=True, slots=True)
class NothingRequest:
    """What `notes.path`, `notes.reload`, `notes.doctor` and `notes.injection` are asked: nothing."""


@dataclass(frozen=True, slots=True)
class ScopeRequest:
    """What `notes.read` and `notes.clear` are asked."""

    scope: Scope = field(default="project", metadata=about("Which store."))


@dataclass(frozen=True, slots=True)
class SaveRequest:
    """What `notes.save` is asked."""

    text: str = field(metadata=about("The whole file."))
    revision: str = field(metadata=about("The revision that was edited, as notes.read gave it.", minLength=1))
    scope: Scope = field(default="project", metadata=about("Which store."))
    exact: bool = field(
        default=False,
        metadata=about("Take the text as it is; else the file keeps its line endings and its final newline."),
    )


@dataclass(frozen=True, slots=True)
class MergeRequest:
    """What `notes.merge` is asked."""

    first: str = field(metadata=about("The note that is replaced."))
    second: str = field(metadata=about("The note that is dropped."))
    text: str = field(metadata=about("What the first note becomes: at most 500 characters."))
    scope: Scope = field(default="project", metadata=about("Which store both are in."))


@dataclass(frozen=True, slots=True)
class MoveRequest:
    """What `notes.move` is asked."""

    text: str = field(metadata=about("The note to move to the other store."))
    scope: Scope = field(default="project", metadata=about("Which store it is in."))


@dataclass(frozen=True, slots=True)
class PickerRequest:
    """What `notes.picker` is asked: one step of it."""

    state: Mapping[str, Any] | None = field(
        default=None, metadata=about("The state that the step before gave; without it, the picker opens.")
    )
    key: str | None = field(
        default=None,
        metadata=about("A key that was pressed: enter, escape, tab, up, down, pageup, pagedown, home, end, left, ..."),
    )
    text: str | None = field(default=None, metadata=about("Text that was typed or pasted, if no key."))
    width: int = field(default=80, metadata=about("Columns of the screen.", minimum=1, maximum=1000))
    height: int = field(default=24, metadata=about("Lines of the screen.", minimum=1, maximum=1000))
