"""Which store a session's memory belongs to, and what other agents' tools call it (spec 4, "Memory entries").

The order is memsearch's own, with an opt-in seam in front: the store command, else `MEMSEARCH_DIR`, else the git root,
else the working directory. A store command that fails is an error and never a fallback: memory written to the wrong
store is worse than memory not written.
"""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from pepys.errors import StoreCommandFailed, StoreUnavailable
from pepys.journal.base import Place
from pepys.journal.constants import STORE_COMMAND_TIMEOUT_MS

if TYPE_CHECKING:
    from pepys.model.context import Context

STATE_FILE = ".index-state.json"
TREE = ".memsearch"

FOLDER = "pepys-journal-1"
"""The version of everything that is kept on disk of journals' indexes; a newer one takes a new folder beside it."""

_COLLECTION_CHARS = 40
_LOWER = {ord(letter): ord(letter) + 32 for letter in "ABCDEFGHIJKLMNOPQRSTUVWXYZ"}


class Scope(NamedTuple):
    """Where a session's memory lives. All paths are absolute."""

    session_dir: str  # the session's working directory
    repository: str  # its git root, else itself: where a project's memsearch configuration lies
    directory: str  # the project scope: what the collection is named after
    store: str  # the directory of the daily files; it need not exist
    collection: str
    state_dir: str | None  # what a store command answered to `state-dir`
    state_file: str | None  # where memsearch keeps its index state; None: it writes none for this store


def resolve(session_dir: str, env: Mapping[str, str], command: str = "") -> Scope:
    """The scope of a session that runs in *session_dir*.

    Args:
        session_dir: Absolute.
        env: `MEMSEARCH_DIR` is read from it; a relative one is taken from the repository directory.
        command: The store command; empty: there is none.

    Raises:
        StoreCommandFailed: The command is set and gave no usable answer.
    """
    top = repository(session_dir)
    override = env.get("MEMSEARCH_DIR") or None
    if command:
        store = ask(command, "memory-dir", session_dir, env)
        state_dir = ask(command, "state-dir", session_dir, env) or None
        collection = ask(command, "collection", session_dir, env)
        directory = os.path.dirname(store)
    else:
        state_dir = None
        directory = os.path.normpath(os.path.join(top, override)) if override else top
        store = os.path.join(directory, "memory") if override else os.path.join(directory, TREE, "memory")
        collection = collection_name(directory)
    state_file = _state_file(store, top, state_dir, override, delegated=bool(command))
    return Scope(session_dir, top, directory, store, collection, state_dir, state_file)


def repository(directory: str) -> str:
    """The nearest directory from *directory* upwards that holds `.git` (a linked worktree has a file), else itself."""
    at = directory
    while True:
        if os.path.lexists(os.path.join(at, ".git")):
            return at
        if (parent := os.path.dirname(at)) == at:
            return directory
        at = parent


def collection_name(directory: str) -> str:
    """`ms_<sanitised last component>_<8 hex of SHA-256 of the real path>`: memsearch's derivation.

    Only ASCII letters are lower-cased, as in the shell that the other agents use.
    """
    path = os.path.realpath(directory)
    name = re.sub(r"[^a-z0-9]+", "_", os.path.basename(path).translate(_LOWER)).strip("_")[:_COLLECTION_CHARS]
    return f"ms_{name}_{hashlib.sha256(os.fsencode(path)).hexdigest()[:8]}"


def tree_root(path: str) -> str | None:
    """*path* up to its first component `.memsearch`: as it is written, else with links resolved; None without one."""
    for candidate in (path, os.path.realpath(path)):
        parts = candidate.split(os.sep)  # noqa: PTH206  (joined again as they were)
        if TREE in parts:
            return os.sep.join(parts[: parts.index(TREE) + 1])
    return None


def _state_file(store: str, top: str, state_dir: str | None, override: str | None, *, delegated: bool) -> str | None:
    if state_dir:
        return os.path.join(state_dir, STATE_FILE)
    if override:
        return os.path.join(os.path.normpath(os.path.join(top, override)), STATE_FILE)
    if root := tree_root(store):
        return os.path.join(root, STATE_FILE)
    return None if delegated else os.path.join(os.path.dirname(store), STATE_FILE)


_ANSWERS: dict[tuple[str, str, str], str] = {}
"""Answers of store commands by command, mode and directory, for the life of the process (spec 4). A failure is asked
again: whoever repairs a command should not have to restart the sessions that met it broken."""


def ask(command: str, mode: str, directory: str, env: Mapping[str, str]) -> str:
    """What a store command answers, standing in *directory*; empty only where `state-dir` is declined.

    Raises:
        StoreCommandFailed: It cannot be run, failed, printed nothing, several lines, or a relative path.
    """
    key = (command, mode, directory)
    if key not in _ANSWERS:
        _ANSWERS[key] = _answer(command, mode, directory, env)
    return _ANSWERS[key]


def _answer(command: str, mode: str, directory: str, env: Mapping[str, str]) -> str:
    def failed(why: str) -> StoreCommandFailed:
        return StoreCommandFailed(f"The store command {command} {mode} (PI_MEMSEARCH_STORE_CMD) {why}.")

    try:
        done = subprocess.run(  # noqa: S603  (the user's own command, and no shell)
            [command, mode],
            cwd=directory,
            env=dict(env),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=STORE_COMMAND_TIMEOUT_MS / 1000,
        )
    except subprocess.TimeoutExpired:
        raise failed(f"gave no answer within {STORE_COMMAND_TIMEOUT_MS // 1000} seconds") from None
    except (OSError, ValueError) as error:
        raise failed(f"cannot be run in {directory}: {getattr(error, 'strerror', None) or error}") from error
    if done.returncode:
        said = os.fsdecode(done.stderr).strip()
        raise failed(f"failed in {directory} with status {done.returncode}{': ' + said if said else ''}")
    answer = os.fsdecode(done.stdout).strip()
    if not answer and mode != "state-dir":
        raise failed(f"printed nothing in {directory}")
    if "\n" in answer or "\r" in answer:
        raise failed(f"printed more than one line in {directory}")
    if answer and mode != "collection" and not os.path.isabs(answer):
        raise failed(f"printed a relative path in {directory}: {answer}")
    return answer if mode == "collection" else os.path.normpath(answer) if answer else ""


def of(context: Context) -> Scope:
    """The scope of a call.

    Raises:
        StoreCommandFailed: The store command is set and gave no usable answer.
    """
    return resolve(str(context.cwd), context.env, context.config.journal.store_command)


def to_write(context: Context) -> Scope:
    """The scope of a call that adds memory: nobody's mistyped directory is made.

    Raises:
        StoreUnavailable: The working directory does not exist.
        StoreCommandFailed: The store command is set and gave no usable answer.
    """
    if not os.path.isdir(context.cwd):
        raise StoreUnavailable(f"The directory {context.cwd} does not exist: it has no memory to write to.")
    return of(context)


def place(scope: Scope, context: Context) -> Place:
    """Where the index of a scope's store lives: beside the index of sessions, for neither knows the other's files."""
    return index_place(scope.store, scope.collection, scope.repository, scope.state_dir, context)


def redactions(place: Place) -> str:
    """The file whose time of change tells every process when something of a store was last forgotten; it is empty."""
    return f"{place.directory}.redacted"


def index_place(store: str, collection: str, repository: str, state_dir: str | None, context: Context) -> Place:
    """The place of any store's index. One collection name may stand for several stores, so both name the folder."""
    index_dir = context.index_dir or context.config.memory.index_dir
    mark = hashlib.sha256(os.fsencode(os.path.realpath(store))).hexdigest()[:8]
    folder = os.path.join(index_dir, FOLDER, f"{re.sub(r'[^A-Za-z0-9_-]', '_', collection)[:80]}-{mark}")
    return Place(store, collection, folder, repository, state_dir)
