"""Which projects a search across repositories visits, and what each one is called (spec 4, "Cross-repo recall").

Reading only: no store and no collection of another project is ever written; an index of ours is, in our own directory.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from pepys import paths
from pepys.errors import InvalidArgument, MemoryNotFound, StoreUnavailable
from pepys.journal import scope, state
from pepys.journal.base import Hit, Place
from pepys.journal.scope import STATE_FILE, TREE, Scope
from pepys.model.context import Context

VARIABLE = "PI_MEMSEARCH_SCAN_ROOTS"

_NOTHING_THERE = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP)


class Project(NamedTuple):
    """A project with a journal."""

    directory: str  # what hits are labelled with, and `memory_expand` takes back
    place: Place


class Projects(NamedTuple):
    """What a search across projects visits."""

    searched: tuple[Project, ...]  # this one first, then by path
    collapsed: tuple[str, ...]  # directories whose collection is that of a project before them
    unreadable: tuple[str, ...] = ()  # directories that may hold a journal and cannot be looked into


def projects(context: Context, here: Scope) -> Projects:
    """The projects under the scan roots, the call's own first.

    Raises:
        InvalidArgument: No scan roots are set, or one of them cannot be listed; nothing was searched.
        StoreCommandFailed: The store command gave no usable answer for one of them.
    """
    discovered, unreadable = _discovered(context)
    found = [here.directory, *discovered]
    seen: set[str] = set()
    named: dict[str, Project] = {}
    collapsed = []
    for directory in found:
        real = os.path.realpath(directory)
        if real in seen:
            continue  # the same directory twice is nothing to tell
        seen.add(real)
        project = Project(directory, place(directory, context, here))
        if project.place.collection in named:
            collapsed.append(directory)
        else:
            named[project.place.collection] = project
    return Projects(tuple(named.values()), tuple(collapsed), tuple(unreadable))


def place(directory: str, context: Context, here: Scope) -> Place:
    """The index of the project in *directory*, by the one rule that searching and expanding share.

    The session's own directory is the session's own project. Any other is named from itself: by the store command, by
    what its state file records, or by its path; never by this session's `MEMSEARCH_DIR`, and without a walk upwards.

    Raises:
        MemoryNotFound: It holds no store.
        StoreUnavailable: Whether it does cannot be seen.
        StoreCommandFailed: The store command is set and gave no usable answer.
    """
    if os.path.realpath(directory) == os.path.realpath(here.directory):
        return scope.place(here, context)
    try:
        store = _store(directory)
    except OSError as error:
        raise StoreUnavailable(f"{directory} cannot be looked into: {error.strerror or error}.") from error
    if store is None:
        raise MemoryNotFound(
            f"{directory} holds no memory store.", hint="Pass the project that a hit was labelled with, verbatim."
        )
    command = context.config.journal.store_command
    if command:
        collection = scope.ask(command, "collection", directory, context.env)
    else:
        collection = _recorded(store) or scope.collection_name(directory)
    # Its own configuration says how it is indexed: with each session's own, one index would be made anew by each.
    found = scope.index_place(store, collection, directory, here.state_dir, context)
    return found._replace(foreign=True)


def merged(lists: Iterable[tuple[Project, Sequence[Hit]]], k: int) -> list[tuple[Project, Hit]]:
    """The *k* best hits of several projects: by relevance between them, each project's own in its own order."""
    waiting = [(project, list(hits)) for project, hits in lists if hits]
    made: list[tuple[Project, Hit]] = []
    while waiting and len(made) < k:
        best = max(waiting, key=lambda each: each[1][0].relevance)
        made.append((best[0], best[1].pop(0)))
        if not best[1]:
            waiting.remove(best)
    return made


def _discovered(context: Context) -> tuple[list[str], list[str]]:
    """The directories under the scan roots that hold a store, and those of which that cannot be seen."""
    roots = context.config.journal.scan_roots
    if not roots:
        raise InvalidArgument(
            f"No scan roots are set, so there are no other projects to search: {VARIABLE} is empty.",
            hint=f"Set {VARIABLE}, or journal.scanRoots, to the directories that hold your projects.",
        )
    made: list[str] = []
    unreadable: list[str] = []
    for root in roots:
        directory = str(paths.expand(root, context.env, context.cwd))
        try:
            names = sorted(os.listdir(directory))
        except OSError as error:
            raise InvalidArgument(
                f"The scan root {directory} cannot be listed: {error.strerror}.", hint=f"Correct {VARIABLE}."
            ) from error
        for path in (os.path.join(directory, name) for name in names):
            try:
                made += [path] if _store(path) else []
            except OSError:
                unreadable.append(path)
    return made, unreadable


def _store(directory: str) -> str | None:
    """The store of a project directory: below its `.memsearch`, or directly in it where it lies outside the repos.

    Raises:
        OSError: It cannot be looked into.
    """
    for store in (os.path.join(directory, TREE, "memory"), os.path.join(directory, "memory")):
        try:
            if stat.S_ISDIR(os.stat(store).st_mode):
                return store
        except OSError as error:
            if error.errno not in _NOTHING_THERE:
                raise
    return None


def _recorded(store: str) -> str | None:
    """The name that the store was last indexed under. A bad state file of one project fails no search over others."""
    try:
        known = state.read(os.path.join(os.path.dirname(store), STATE_FILE))
    except state.Drift:
        return None
    return known.collection if known else None
