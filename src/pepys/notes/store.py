"""One store of notes on disk: read within bounds, written whole or not at all, by one process at a time.

A store is a regular file of at most 256 KiB where it is expected; a symbolic link there is refused, wherever it leads
(spec 5, "Security"). Nothing in a file is lost for not being UTF-8: such bytes come as lone surrogates, and go back.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from pepys.errors import NotesUnavailable
from pepys.notes import markdown

MAX_BYTES = 256 * 1024
"""Largest store that is read, and therefore that is written."""

LOCK_WAIT_S = 10.0

YOUNG_NS = 2_000_000_000
"""A stamp that was this young when the file was read proves nothing: some file systems count seconds."""

_OPEN = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)


class Stamp(NamedTuple):
    """What `stat` says of a store; `NO_FILE` where there is none."""

    mtime_ns: int
    size: int  # bytes
    inode: int


NO_FILE = Stamp(0, 0, 0)


class View(NamedTuple):
    """A store as it was when it could last be read."""

    notes: tuple[str, ...] = ()
    stamp: Stamp = NO_FILE
    read_ns: int = 0  # when it was read, since 1970
    trouble: str = ""  # why it cannot be read now

    @property
    def proven(self) -> bool:
        """Whether an equal stamp proves that the file is unchanged."""
        return not self.trouble and self.stamp.mtime_ns < self.read_ns - YOUNG_NS


def look(path: Path, last: View | None = None, *, anew: bool = False) -> View:
    """The store as it is now; one that cannot be read keeps the notes of the *last* view, and says why.

    Args:
        anew: Read the file whatever its stamp.
    """
    try:
        if last is not None and last.proven and not anew and _stamp(path) == last.stamp:
            return last
        read_ns = time.time_ns()
        text, stamp = _read(path)
    except NotesUnavailable as error:
        return (last or View())._replace(trouble=error.message)
    return View(markdown.notes(text), stamp, read_ns)


def size(path: Path) -> int:
    """Bytes of the file, whether or not it may be read as a store; 0 where there is none."""
    try:
        seen = os.lstat(path)
    except OSError:
        return 0
    return seen.st_size if stat.S_ISREG(seen.st_mode) else 0


def read(path: Path) -> str:
    """The text of the store; empty where there is no file.

    Raises:
        NotesUnavailable: It is a symbolic link, no regular file, over 256 KiB, or cannot be read.
    """
    return _read(path)[0]


def change(path: Path, edit: Callable[[str], str]) -> bool:
    """Replace the text of the store by what *edit* makes of it, while no other process changes it.

    What *edit* raises leaves the store untouched, as does an *edit* that changes nothing.

    Returns:
        Whether the store was written.

    Raises:
        NotesUnavailable: As for `read`; the new text is over 256 KiB; or the store is locked or cannot be written.
    """
    from pepys.index.lock import exclusive

    if not path.parent.is_dir():
        if edit(read(path)) == "":
            return False  # no folder is made for nothing
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise _unavailable(path, "written", error) from error
    lock = path.with_name(f".{path.name}.lock")
    read(path)  # what is refused is not locked either
    try:
        with exclusive(str(lock), LOCK_WAIT_S) as obtained:
            if not obtained:
                raise NotesUnavailable(f"{path} is being changed by another process.", hint="Try again.")
            try:
                before = read(path)
                after = edit(before)
                if after != before:
                    _write(path, after)
                return after != before
            finally:
                # Only the holder may; whoever waits for it notices (`index.lock`). A project stays clean of it.
                with suppress(OSError):  # Windows removes no open file
                    lock.unlink()
    except OSError as error:
        raise _unavailable(path, "changed", error) from error


def _read(path: Path) -> tuple[str, Stamp]:
    try:
        seen = _lstat(path)
        if seen is None:
            return "", NO_FILE
        descriptor = os.open(path, _OPEN)
        with open(descriptor, "rb") as file:
            at = os.fstat(descriptor)  # what is written from now on changes the stamp
            data = file.read(MAX_BYTES + 1)
    except FileNotFoundError:  # gone since
        return "", NO_FILE
    except OSError as error:
        raise _unavailable(path, "read", error) from error
    if len(data) > MAX_BYTES:
        raise NotesUnavailable(
            f"{path} is over 256 KiB and is not read.",
            hint="Shorten it in an editor of your own: Pepys neither reads nor changes it.",
        )
    return data.decode("utf-8", "surrogateescape"), Stamp(at.st_mtime_ns, at.st_size, at.st_ino)


def _lstat(path: Path) -> os.stat_result | None:
    """What is at *path*; None for nothing.

    Raises:
        NotesUnavailable: Something that is no regular file.
        OSError: It cannot be told.
    """
    try:
        seen = os.lstat(path)
    except FileNotFoundError:
        return None
    if stat.S_ISLNK(seen.st_mode):
        raise NotesUnavailable(f"{path} is a symbolic link.", hint="Put a file in its place.")
    if not stat.S_ISREG(seen.st_mode):
        raise NotesUnavailable(f"{path} is no regular file.", hint="Put a file in its place.")
    return seen


def _stamp(path: Path) -> Stamp:
    try:
        seen = _lstat(path)
    except OSError as error:
        raise _unavailable(path, "read", error) from error
    return NO_FILE if seen is None else Stamp(seen.st_mtime_ns, seen.st_size, seen.st_ino)


def _write(path: Path, text: str) -> None:
    data = _encoded(text)
    if len(data) > MAX_BYTES:
        raise NotesUnavailable(f"{path} would be over 256 KiB.", hint="Forget notes, or shorten the file.")
    # A writer that was killed left its file behind. None lives now: the lock is ours.
    for leftover in path.parent.glob(f".{path.name}.*.tmp"):
        leftover.unlink(missing_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}-{os.urandom(6).hex()}.tmp")
    seen = _lstat(path)
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    try:
        with open(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(descriptor)
        if seen is not None:
            temporary.chmod(stat.S_IMODE(seen.st_mode))
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


_NO_BYTES = "".join(map(chr, (*range(0xD800, 0xDC80), *range(0xDD00, 0xE000))))
_REPLACED = str.maketrans(dict.fromkeys(_NO_BYTES, "\ufffd"))


def _encoded(text: str) -> bytes:
    """*text* in UTF-8, bytes that were none as they were; other lone surrogates, which no file has, become U+FFFD."""
    return text.translate(_REPLACED).encode("utf-8", "surrogateescape")


def _unavailable(path: Path, done: str, error: OSError) -> NotesUnavailable:
    return NotesUnavailable(f"{path} cannot be {done}: {error.strerror or error}.")
