"""Both stores, as one call sees and changes them. All changes of notes are made here."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, MutableMapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from pepys.errors import InvalidArgument, NoteNotFound, NotesChanged, NotesUnavailable, UntrustedProject
from pepys.events.authorisation import homes
from pepys.model.notes import SCOPES, Scope
from pepys.notes import markdown, places, store
from pepys.notes.settings import FILE, Settings, settings
from pepys.notes.store import View

if TYPE_CHECKING:
    from pepys.model.context import Context

Views = MutableMapping[Path, View]
"""The stores as they were last read: what a caller keeps from call to call."""


class Added(NamedTuple):
    """What became of a note that was to be added."""

    changed: bool
    existing: str | None = None  # the stored note that stands for it


class Text(NamedTuple):
    """A store as an editor is given it."""

    text: str  # bytes that are not UTF-8 as lone surrogates
    revision: str  # proves, on saving, that nobody has changed it since


class Stores:
    """The stores of the project and of the user, in the circumstances of one call.

    Whatever changes a store raises, before anything is written:

    - `InvalidArgument`: A note is blank, or over 500 code points once it is clean.
    - `UntrustedProject`: It is the project's store, and the project is not trusted.
    - `NoteNotFound`: No note is the one that was named.
    - `NotesUnavailable`: The working directory of a project's store does not exist; or a store cannot be read, locked
      or written, or would grow over 256 KiB.

    Attributes:
        root: Of the project.
        trusted: Whether the project's store may be used.
    """

    def __init__(self, context: Context, views: Views) -> None:
        self.root = places.root(context.cwd, homes(context.env))
        self.trusted = places.is_trusted(context, self.root)
        self._paths: dict[Scope, Path] = {
            "project": places.project_store(self.root),
            "global": places.global_store(context),
        }
        self._context = context
        self._views = views

    def path(self, scope: Scope) -> Path:
        """The store's file, which need not exist."""
        return self._paths[scope]

    def usable(self, scope: Scope) -> bool:
        """Whether the store may be read and written at all."""
        return scope == "global" or self.trusted

    def last(self, scope: Scope) -> View | None:
        """The store as it was last seen; None where it was not."""
        return self._views.get(self.path(scope))

    def view(self, scope: Scope, *, anew: bool = False) -> View:
        """The store as it is now; empty where it may not be used. See `store.look`."""
        if not self.usable(scope):
            return View()
        path, last = self.path(scope), self.last(scope)
        try:
            self._check_directory(scope)
            self._check_folder(scope)
            seen = store.look(path, last, anew=anew)
        except NotesUnavailable as error:
            seen = (last or View())._replace(trouble=error.message)
        self._views[path] = seen
        return seen

    def views(self, *, anew: bool = False) -> dict[Scope, View]:
        """Both stores as they are now."""
        return {scope: self.view(scope, anew=anew) for scope in SCOPES}

    def settings(self) -> Settings:
        """What holds for the injection."""
        files = [self.path("global").with_name(FILE)]
        if self.trusted:
            files += [folder / places.FOLDER / FILE for folder in (self.root, self._context.cwd)]
        return settings(self._context.config, *files)

    def add(self, scope: Scope, text: str) -> Added:
        """Add a note, unless the store holds it or a near-duplicate of it."""
        return self._add(scope, storable(text))

    def update(self, scope: Scope, text: str, to: str) -> bool:
        """Replace every note that is *text*; false where *to* is the same."""
        note, new = markdown.clean(text), storable(to)
        return self._change(scope, lambda before: markdown.update(_holding(before, note, scope), note, new))

    def forget(self, scope: Scope, text: str) -> bool:
        """Remove every note that is *text*."""
        note = markdown.clean(text)
        return self._change(scope, lambda before: markdown.forget(_holding(before, note, scope), note))

    def merge(self, scope: Scope, first: str, second: str, to: str) -> bool:
        """Put *to* in the place of *first*, and drop *second*, in one write."""
        one, other, new = markdown.clean(first), markdown.clean(second), storable(to)

        def edit(before: str) -> str:
            return markdown.merge(_holding(_holding(before, one, scope), other, scope), one, other, new)

        return self._change(scope, edit)

    def move(self, scope: Scope, text: str) -> Added:
        """Add the note *text* of *scope* to the other store, and only then remove it here.

        Raises:
            NotesUnavailable: Also where only the first of the two writes was made; then the message says so.
        """
        note, target = markdown.clean(text), other(scope)
        for each in (scope, target):
            self._check(each)
        _holding(store.read(self.path(scope)), note, scope)
        added = self._add(target, note)
        try:
            # Somebody else may have forgotten it meanwhile; that is what is wanted.
            self._change(scope, lambda before: markdown.forget(before, note))
        except NotesUnavailable as error:
            raise NotesUnavailable(
                f"{error.message} The note is in both stores now.",
                hint=f"`pepys notes doctor` shows it; forget it in {scope} memory when that can be written.",
            ) from error
        return added

    def clear(self, scope: Scope) -> int:
        """Remove all notes, and nothing else; how many there were."""
        removed = 0

        def edit(before: str) -> str:
            nonlocal removed
            removed = len(markdown.notes(before))
            return markdown.clear(before)

        self._change(scope, edit)
        return removed

    def text(self, scope: Scope) -> Text:
        """The whole file, for an editor.

        Raises:
            UntrustedProject: As for what changes it.
            NotesUnavailable: It cannot be read.
        """
        self._check(scope)
        text = store.read(self.path(scope))
        return Text(text, _revision(text))

    def save(self, scope: Scope, text: str, revision: str, *, exact: bool = False) -> bool:
        """Replace the whole file by what an editor made of *revision*; false where nothing changed.

        Args:
            exact: Take *text* as it is. Else the file keeps its line endings, and its final newline: editors in dialogs
                tend to lose both.

        Raises:
            NotesChanged: The store is at another revision.
        """

        def edit(before: str) -> str:
            if _revision(before) != revision:
                raise NotesChanged(
                    f"{self.path(scope)} has changed since it was read.", hint="Read it again, and redo the edit."
                )
            return text if exact else _as_kept(text, before)

        return self._change(scope, edit)

    def _add(self, scope: Scope, note: str) -> Added:
        existing: str | None = None

        def edit(before: str) -> str:
            nonlocal existing
            existing = markdown.held(note, markdown.notes(before))
            return before if existing is not None else markdown.add(before, note)

        changed = self._change(scope, edit)
        return Added(changed, existing)

    def _change(self, scope: Scope, edit: Callable[[str], str]) -> bool:
        self._check(scope)
        return store.change(self.path(scope), edit)

    def _check(self, scope: Scope) -> None:
        self._check_directory(scope)
        if not self.usable(scope):
            raise UntrustedProject(
                "Project memory is used only in a trusted project, and this one is not trusted.",
                hint=f'Use scope "global", or trust the project: pepys trust {self.root}',
            )
        self._check_folder(scope)

    def _check_directory(self, scope: Scope) -> None:
        """Refuse a project that is not there: nobody's directory is made for a note."""
        cwd = self._context.cwd
        if scope == "project" and not cwd.is_dir():
            raise NotesUnavailable(
                f"{cwd} is no directory: it has no project memory.",
                hint='Name a directory that exists, or use scope "global".',
            )

    def _check_folder(self, scope: Scope) -> None:
        """Refuse a folder of the project's that leads out of the project."""
        folder = self.path(scope).parent
        if scope == "project" and not Path(os.path.realpath(folder)).is_relative_to(self.root):
            raise NotesUnavailable(f"{folder} is a symbolic link that leads out of the project.")


def other(scope: Scope) -> Scope:
    """The scope that a note is moved to."""
    return "global" if scope == "project" else "project"


def storable(text: str) -> str:
    """*text* as a note.

    Raises:
        InvalidArgument: It is blank, or has over 500 code points.
    """
    note = markdown.clean(text)
    if not note:
        raise InvalidArgument("A note must not be blank.")
    if len(note) > markdown.MAX_CHARS:
        raise InvalidArgument(f"A note has at most {markdown.MAX_CHARS} characters; this one has {len(note)}.")
    return note


def _holding(text: str, note: str, scope: Scope) -> str:
    """*text*, which must hold the *note*."""
    if note not in markdown.notes(text):
        raise NoteNotFound(f"No {scope} memory note matches: {note}")
    return text


def _revision(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _as_kept(text: str, before: str) -> str:
    """*text* with the line endings and the final newline of the file it replaces."""
    if "\r\n" in before and "\n" not in before.replace("\r\n", "") and "\r\n" not in text:
        text = text.replace("\n", "\r\n")
    if text and not text.endswith("\n") and (not before or before.endswith("\n")):
        text += "\r\n" if before.endswith("\r\n") else "\n"
    return text
