"""The session file behind a memory: its entries, and the branches of its tree. Read by the hosts' own readers."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import NamedTuple

from pepys.errors import SourceUnavailable
from pepys.hosts import HOSTS
from pepys.hosts.base import Host, surroundings
from pepys.hosts.discovery import locate
from pepys.hosts.reading import examine
from pepys.index.source import stem
from pepys.model.context import Context
from pepys.model.entry import Entry
from pepys.model.source import Header


class Session(NamedTuple):
    """One session file, read whole."""

    path: str
    id: str
    cwd: str | None
    entries: dict[str, Entry]  # by id, in file order; of a duplicated id the last line counts

    def branch(self, tip: str | None) -> list[Entry]:
        """The entries from the root to *tip*. Links that form a cycle, or lead nowhere, end it."""
        path: dict[str, Entry] = {}
        while tip and tip not in path and (entry := self.entries.get(tip)) is not None:
            path[tip] = entry
            tip = entry.parent
        return list(reversed(path.values()))

    def leaf(self) -> str | None:
        """The last entry of the file."""
        return next(reversed(self.entries), None)

    def tip(self, id_: str) -> str:
        """The last entry of the file that descends from *id_*: the end of the branch that a memory lies on."""
        descends = {id_: True}
        last = id_
        for name in self.entries:
            if self._descends(name, descends):
                last = name
        return last

    def _descends(self, id_: str, known: dict[str, bool]) -> bool:
        path: list[str] = []
        at: str | None = id_
        while at and at not in known and (entry := self.entries.get(at)) is not None:
            known[at] = False  # a cycle descends from nothing
            path.append(at)
            at = entry.parent
        found = bool(at) and known.get(at or "", False)
        known.update(dict.fromkeys(path, found))
        return known.get(id_, False)


def read(path: str, context: Context) -> Session:
    """The session in the file at *path*.

    Raises:
        SourceUnavailable: It is not there, or cannot be read.
    """
    try:
        entries: dict[str, Entry] = {}
        header = None
        for item in _items(path, context):
            if isinstance(item, Header):
                header = item
            elif isinstance(item, Entry) and item.id is not None:
                entries.pop(item.id, None)  # a duplicate counts where it stands last
                entries[item.id] = item
    except OSError as error:
        raise SourceUnavailable(f"The transcript {path} cannot be read: {error.strerror or error}") from error
    return Session(path, (header and header.session) or stem(path), header.cwd if header else None, entries)


def header(path: str, context: Context) -> Header | None:
    """What the session in the file at *path* says of itself; None when it says nothing, or cannot be read."""
    try:
        return next((item for item in _items(path, context) if isinstance(item, Header)), None)
    except OSError:
        return None


def _items(path: str, context: Context) -> Iterator[object]:
    with examine(_host(path, context), path) as reading:
        yield from reading.items()


def _host(path: str, context: Context) -> Host:
    """The host that wrote a file: by its first bytes, by where it lies, else the call's own."""
    with open(path, "rb") as file:
        head = file.read(64)
    for host in HOSTS.values():
        if host.wrote(head):
            return host
    around = surroundings(context)
    default = context.host if context.host in HOSTS else next(iter(HOSTS))
    roots = [root for host in HOSTS.values() for root in host.roots(around)]
    found = locate(os.path.abspath(path), roots, default)  # noqa: PTH100  (links stay as they were named)
    return HOSTS[found.host if found else default]
