"""The directory of one store's index: what lies in it, opened when it is needed, and as of one commit for who reads.

    ledger.sqlite     a row a file: ids and vectors of its chunks
    text-N            the words; N changes when they are made anew, so that what was forgotten leaves the disk
    lock              one writer at a time

All of it is derived, and may be removed at any time.
"""

from __future__ import annotations

import os
from bisect import bisect_right
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from pepys.index.lock import exclusive
from pepys.journal import vectors
from pepys.journal.ledger import OWNER_BYTES, Known, Ledger, place
from pepys.paths import make_private

if TYPE_CHECKING:
    from pepys.journal.lexicon import Lexicon


class Directory:
    """Many may read it; one, holding the lock, writes. Nothing is created before somebody writes."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._ledger: Ledger | None = None
        self._file: tuple[int, int] | None = None  # which file the ledger was when it was opened
        self._lexicon: tuple[str, Lexicon] | None = None
        self._known: tuple[tuple[int, int], dict[str, Known]] | None = None
        self._scanned: tuple[tuple[int, int], Scanned] | None = None
        self._read: tuple[int, int] | None = None  # version of the ledger as of which the words were read

    def exists(self) -> bool:
        """Whether there is an index; what another process has made anew, or removed, is let go of.

        Whoever answers a call asks it once: an open file tells nobody that another one has taken its place.
        """
        found = self._there()
        if found != self._file:
            self.close()
        return found is not None

    def ledger(self) -> Ledger:
        """The rows; created where there are none."""
        if self._ledger is None:
            make_private(Path(self.path))
            before = self._there()
            self._ledger = Ledger(self._of("ledger.sqlite"))
            after = self._there()
            self._file = after if before in (None, after) else None  # replaced just then: the next call opens it anew
        return self._ledger

    def known(self) -> dict[str, Known]:
        """The files that are indexed, by path relative to the store."""
        if self._ledger is None and self._there() is None:
            return {}
        version = self.ledger().version()
        if self._known is None or self._known[0] != version:
            self._known = version, self.ledger().files()
        return self._known[1]

    def scanned(self, space: str) -> Scanned:
        """The signs of all vectors of *space*."""
        version = self.ledger().version()
        if self._scanned is None or self._scanned[0] != version:
            self._scanned = version, Scanned.of(self.ledger(), space)
        return self._scanned[1]

    def words(self) -> Lexicon:
        """The words as of the last commit, which changes the ledger too."""
        version = self.ledger().version()
        lexicon = self._words(self.text())
        if self._read != version:
            lexicon.reload()
            self._read = version
        return lexicon

    def holds_words(self) -> bool:
        """Whether no chunk lacks its words; more than chunks there are those of readings that were replaced.

        Without the lock only yes is sure: another process may be between words and rows.
        """
        if not (known := self.known()):
            return True
        try:
            return self.words().documents >= count(known)
        except ValueError:
            return False

    # -- for the holder of the lock

    @contextmanager
    def writing(self, wait_s: float) -> Iterator[bool]:
        """The lock, for a block; false where it was not to be had in *wait_s* seconds."""
        with exclusive(self._of("lock"), wait_s) as obtained:
            try:
                yield obtained
            except BaseException:
                if self._lexicon is not None:
                    self._lexicon[1].abandon()
                raise

    def written_words(self, name: str | None = None) -> Lexicon:
        """The words to write to, created where there are none, in the directory *name*; None: the one in force."""
        return self._words(name or self.text(), create=True)

    def text(self) -> str:
        """The name of the directory of the words in force."""
        return self.ledger().noted("text") or "text-1"

    def fresh_text(self) -> str:
        """Another name, under which nothing lies."""
        fresh = f"text-{int(self.text().removeprefix('text-')) + 1}"
        self._remove(fresh)  # of a purge that did not end
        return fresh

    def remove_old_words(self) -> bool:
        """Remove all words but the ones in force; whether nothing kept any."""
        kept = [name for name in self._texts() if name != self.text() and not self._remove(name)]
        return not kept

    def discard(self) -> None:
        """Remove everything but the lock."""
        self.close()
        for name in os.listdir(self.path):
            if name.startswith("ledger.sqlite"):
                os.remove(self._of(name))
        for name in self._texts():
            self._remove(name)

    def close(self) -> None:
        """Let go of files and memory."""
        if self._ledger is not None:
            self._ledger.close()
        self._ledger = self._file = self._lexicon = self._known = self._scanned = self._read = None

    def bytes(self) -> int:
        """What all of it takes on disk."""
        return sum(file.stat().st_size for file in Path(self.path).rglob("*") if file.is_file())

    def _of(self, name: str) -> str:
        return os.path.join(self.path, name)

    def _there(self) -> tuple[int, int] | None:
        try:
            found = os.stat(self._of("ledger.sqlite"))
        except OSError:
            return None
        return found.st_dev, found.st_ino

    def _words(self, name: str, *, create: bool = False) -> Lexicon:
        """The words in the directory *name*. Only who holds the lock creates: readers may know an old name."""
        from pepys.journal.lexicon import Lexicon

        if self._lexicon is None or self._lexicon[0] != name or create:
            self._lexicon = name, Lexicon(self._of(name), create=create)
        return self._lexicon[1]

    def _texts(self) -> list[str]:
        return [name for name in os.listdir(self.path) if name.startswith("text-")]

    def _remove(self, name: str) -> bool:
        import shutil

        shutil.rmtree(self._of(name), ignore_errors=True)
        return not Path(self._of(name)).exists()


class Scanned(NamedTuple):
    """The signs of all vectors of one space, and whose they are."""

    signs: bytes
    ends: list[int]  # the number of the first row after each file
    files: list[int]
    owners: list[bytes]

    @staticmethod
    def of(ledger: Ledger, space: str) -> Scanned:
        """Those of *ledger*."""
        found = ledger.signs(space)
        ends, total = [], 0
        for one in found:
            total += len(one.signs) // vectors.SIGN_BYTES
            ends.append(total)
        signs = b"".join(one.signs for one in found)
        return Scanned(signs, ends, [one.file for one in found], [one.owners for one in found])

    def at(self, row: int) -> tuple[int, int, int]:
        """The file of a row, its number within the file's vectors, and the place of its chunk."""
        at = bisect_right(self.ends, row)
        number = row - (self.ends[at - 1] if at else 0)
        owner = int.from_bytes(self.owners[at][number * OWNER_BYTES : (number + 1) * OWNER_BYTES], "little")
        return self.files[at], number, place(self.files[at], owner)


def count(known: dict[str, Known]) -> int:
    """How many chunks files have."""
    return sum(one.chunks for one in known.values())
