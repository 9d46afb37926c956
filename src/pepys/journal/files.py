"""The daily files of a store as they are now: which there are, and the chunks that they are cut into.

What is left out, and how long chunks are, is memsearch's configuration of the project (`memsearch.indexing`). It is
read whenever the files are listed, so that a process that runs for days follows it.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from pepys.index.source import settled
from pepys.journal import chunk as cutting
from pepys.journal import ignored
from pepys.journal.base import Chunk
from pepys.journal.chunk import Cut, Piece
from pepys.journal.ignored import Rule
from pepys.journal.memsearch import Indexing
from pepys.journal.store import own
from pepys.model.source import Stamp

KEPT = 64
"""How many files are kept cut into chunks."""


class Files:
    """The markdown files of one store, by path relative to it."""

    def __init__(self, store: str, configured: Callable[[], Indexing] = Indexing) -> None:
        self._store, self._configured = store, configured
        self._indexing: Indexing | None = None
        self._cut: dict[str, _Kept] = {}

    @property
    def cut(self) -> Cut:
        """How they are cut, as of the last listing."""
        if self._indexing is None:
            self._indexing = self._configured()
        return self._indexing.cut

    def listed(self) -> dict[str, Stamp] | None:
        """What is to be indexed, sorted; None: the store cannot be listed, which proves nothing."""
        self._indexing = self._configured()
        try:
            return dict(markdown(self._store, self._indexing))
        except OSError:
            return None

    def absolute(self, path: str) -> str:
        """Where the file *path* is."""
        return os.path.join(self._store, path)

    def bytes(self, path: str) -> int:
        """The size of a file; 0 where it is gone."""
        try:
            return os.stat(self.absolute(path)).st_size
        except OSError:
            return 0

    def pieces(self, path: str) -> list[tuple[str, Piece]]:
        """The chunks of a file as it is now, with their ids; none where it cannot be read."""
        try:
            now, examined_ns = stamp(os.stat(self.absolute(path))), time.time_ns()
            kept = self._cut.get(path)
            if kept and kept.settled and (kept.stamp, kept.cut) == (now, self.cut):
                return kept.made
            with open(self.absolute(path), "rb") as file:
                data = file.read()
        except OSError:
            return []
        # The stamp of a file that was just written, or whose clock is ahead, proves nothing: its bytes do.
        sha256 = hashlib.sha256(data).digest()
        if kept and (kept.sha256, kept.cut) == (sha256, self.cut):
            made = kept.made
        else:
            found = list(cutting.pieces(data.decode("utf-8", "replace"), *self.cut))
            made = list(zip(cutting.ids(path, found), found, strict=True))
        if len(self._cut) >= KEPT and path not in self._cut:
            self._cut.pop(next(iter(self._cut)))
        self._cut[path] = _Kept(now, settled(now, examined_ns), sha256, self.cut, made)
        return made

    def found(self, path: str, number: int, id_: str) -> Found | None:
        """The chunk *id_* of a file, which was the one at *number*, as it stands there now; None: it is gone."""
        pieces = self.pieces(path)
        if not (number < len(pieces) and pieces[number][0] == id_):
            number = next((at for at, (other, _) in enumerate(pieces) if other == id_), -1)
        if number < 0:
            return None
        return Found(self.chunk(path, *pieces[number]), pieces[number - 1][1].text if number else "")

    def chunk(self, path: str, id_: str, piece: Piece) -> Chunk:
        """A piece of a file as a chunk."""
        return Chunk(id_, self.absolute(path), piece.heading, piece.level, piece.first, piece.last, piece.text)

    def forget(self) -> None:
        """Keep no text."""
        self._cut.clear()


class _Kept(NamedTuple):
    """A file cut into chunks."""

    stamp: Stamp
    settled: bool  # whether an equal stamp means that nothing changed
    sha256: bytes
    cut: Cut
    made: list[tuple[str, Piece]]


class Found(NamedTuple):
    """A chunk as it stands in its file now."""

    chunk: Chunk
    before: str  # the text of the chunk before it


def markdown(store: str, indexing: Indexing) -> Iterator[tuple[str, Stamp]]:
    """The markdown files of *store* that are to be indexed, hidden ones apart, sorted; each real file once.

    Raises:
        OSError: A directory, or a file of rules in it, cannot be read.
    """
    yield from _below(store, "", indexing, ())


LINKED = "a link out of the store, which is not followed"


def linked(store: str) -> dict[str, str]:
    """The links to files and directories elsewhere that would be memory if they were followed, and why they are not."""
    found: dict[str, str] = {}
    for directory, below, names in os.walk(store):
        below[:] = sorted(name for name in below if not name.startswith("."))
        memory = [name for name in names if _memory(name)]
        for path in (Path(directory, name) for name in (*below, *sorted(memory))):
            if path.is_symlink() and path.exists() and not path.resolve().is_relative_to(Path(store).resolve()):
                found[str(path)] = LINKED
    return found


def _memory(name: str) -> bool:
    return not name.startswith(".") and name.lower().endswith((".md", ".markdown"))


class _Rules(NamedTuple):
    directory: str  # relative to the store, with a slash at its end; "": the store
    rules: tuple[Rule, ...]


def _below(store: str, directory: str, indexing: Indexing, above: tuple[_Rules, ...]) -> Iterator[tuple[str, Stamp]]:
    here = os.path.join(store, directory)
    found = (_Rules(directory, _read(os.path.join(here, name))) for name in indexing.ignore_files)
    given = (*above, *(one for one in found if one.rules))
    with os.scandir(here) as entries:
        names = sorted(entries, key=lambda entry: entry.name)
    for entry in names:
        if entry.name.startswith(".") or (entry.is_symlink() and not own(entry.path)):
            continue
        if not entry.name.isprintable():
            continue  # a name that is no text: nobody's tool writes daily files so, and no row could hold it
        path = os.path.join(directory, entry.name)
        folder = entry.is_dir(follow_symlinks=False)
        memory = not folder and _memory(entry.name) and entry.is_file()
        if not (folder or memory) or _left_out(path, (*given, _Rules("", indexing.exclude)), directory=folder):
            continue
        if folder:
            yield from _below(store, os.path.join(path, ""), indexing, given)
        else:
            yield path, stamp(entry.stat())


def _left_out(path: str, given: tuple[_Rules, ...], *, directory: bool) -> bool:
    """What the innermost rules say that say anything; last come the ones of the configuration."""
    left = False
    for each in given:
        said = ignored.verdict(each.rules, path.removeprefix(each.directory).replace(os.sep, "/"), directory=directory)
        left = left if said is None else said
    return left


def _read(path: str) -> tuple[Rule, ...]:
    try:
        return ignored.rules(Path(path).read_bytes().decode("utf-8", "replace").splitlines())
    except (FileNotFoundError, IsADirectoryError):
        return ()


def stamp(status: os.stat_result) -> Stamp:
    """What `stat` said of a file."""
    return Stamp(status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
