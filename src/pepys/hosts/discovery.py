"""Which session files there are: directories are listed, files are neither opened nor read."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator, Sequence

from pepys.hosts import HOSTS
from pepys.model.source import Found, Kind, Listing, Root, Stamp

ARCHIVED = ".jsonl.gz"


def listing(roots: Sequence[Root]) -> Listing:
    """List *roots*, with one `stat` a session file.

    Links below a root are not followed and hidden names are ignored. A file under two roots belongs to the first,
    unless the other one's host can tell by its first bytes that it is its own; only for that is a file opened.
    """
    found: dict[str, Found] = {}
    unlisted: dict[str, str] = {}
    for root in roots:
        for seen in _Walk(root, unlisted).sources():
            other = found.setdefault(seen.path, seen)
            if other.host != seen.host and HOSTS[seen.host].wrote(_head(seen.path)):
                found[seen.path] = seen
    return Listing(found, tuple(roots), unlisted)


def locate(path: str, roots: Sequence[Root], default_host: str) -> Found | None:
    """One file that a user or a host names; None when it is no regular file.

    It may lie anywhere. Outside of *roots* its root is its own directory, and *default_host* is taken for its writer.
    """
    path = os.path.abspath(path)  # noqa: PTH100  (resolving links would give another path than a listing does)
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return None
    if not stat.S_ISREG(status.st_mode):
        return None
    archived = path.endswith(ARCHIVED)
    inside = [root for root in roots if path.startswith(_prefix(root.path))]
    if not inside:
        kind: Kind = "archived" if archived else "session"
        return Found(default_host, path, os.path.dirname(path), None, None, kind, stamp(status))
    root = max(inside, key=lambda root: len(root.path))
    below = os.path.relpath(os.path.dirname(path), root.path)
    parts = [] if below == "." else below.split(os.sep)  # noqa: PTH206
    folder = parts[0] if parts and root.layout != "flat" else None
    deeper = len(parts) > (folder is not None)
    kind = "archived" if archived else "subagent" if deeper and HOSTS[root.host].nested() else "session"
    return Found(root.host, path, root.path, root.agent, folder, kind, stamp(status))


def stamp(status: os.stat_result) -> Stamp:
    """What a source's `stat` says of its content, in numbers that 63 bits hold: file systems may take more for them."""
    parts = (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
    return Stamp(*(max(-_MOST, min(part, _MOST)) for part in parts))


_MOST = (1 << 63) - 1


class _Walk:
    """The listing of one root."""

    def __init__(self, root: Root, unlisted: dict[str, str]) -> None:
        self._root, self._unlisted = root, unlisted
        self._host = HOSTS[root.host]

    def sources(self) -> Iterator[Found]:
        root = self._root
        if root.layout == "archive":
            for folder in self._directories(self._entries(root.path)):
                yield from self._files(self._entries(folder.path), folder.name, "archived", _is_archived)
            return
        entries = self._entries(root.path)
        beside = set()
        if root.layout != "folders":
            yield from self._files(entries, None, "session", self._host.takes)
            # Sub-agents lie in a directory beside a session's file; in a mixed root all others are project folders.
            beside = {entry.name.removesuffix(".jsonl") for entry in entries if self._host.takes(entry.name)}
        for directory in self._directories(entries):
            if directory.name in beside:
                yield from self._subagents(directory, None)
            elif root.layout != "flat":
                yield from self._project(directory)

    def _project(self, folder: os.DirEntry[str]) -> Iterator[Found]:
        entries = self._entries(folder.path)
        yield from self._files(entries, folder.name, "session", self._host.takes)
        for directory in self._directories(entries):
            yield from self._subagents(directory, folder.name)

    def _subagents(self, directory: os.DirEntry[str], folder: str | None) -> Iterator[Found]:
        if not self._host.nested():
            return
        waiting = [directory]
        while waiting:
            entries = self._entries(waiting.pop().path)
            yield from self._files(entries, folder, "subagent", self._host.takes)
            waiting += self._directories(entries)

    def _entries(self, path: str) -> list[os.DirEntry[str]]:
        try:
            with os.scandir(path) as entries:
                return [entry for entry in entries if not entry.name.startswith(".")]
        except FileNotFoundError:
            return []
        except (OSError, ValueError) as error:
            self._unlisted[path] = getattr(error, "strerror", None) or str(error)
            return []

    def _directories(self, entries: list[os.DirEntry[str]]) -> list[os.DirEntry[str]]:
        return [entry for entry in entries if entry.is_dir(follow_symlinks=False)]

    def _files(
        self, entries: list[os.DirEntry[str]], folder: str | None, kind: Kind, takes: Callable[[str], bool]
    ) -> Iterator[Found]:
        root = self._root
        for entry in entries:
            if not takes(entry.name) or not entry.is_file(follow_symlinks=False):
                continue
            try:
                entry.path.encode()
                status = entry.stat(follow_symlinks=False)
            except UnicodeEncodeError:
                self._unlisted[os.fsencode(entry.path).decode("utf-8", "replace")] = "the name is not UTF-8"
            except FileNotFoundError:
                continue  # gone since the directory was listed
            except OSError as error:
                self._unlisted[entry.path] = error.strerror or str(error)
            else:
                yield Found(root.host, entry.path, root.path, root.agent, folder, kind, stamp(status))


def _head(path: str) -> bytes:
    try:
        with open(path, "rb", buffering=0) as file:
            return file.read(64)
    except OSError:
        return b""


def _is_archived(name: str) -> bool:
    return name.endswith(ARCHIVED)


def _prefix(directory: str) -> str:
    return directory.rstrip(os.sep) + os.sep
