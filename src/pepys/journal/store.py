"""The daily files: one append an entry, whole files only when something is taken out.

Several processes write one file at the same time, other agents' tools among them, and nobody takes a lock. Each entry
is one `write` to a file opened with O_APPEND, so that entries neither interleave nor get lost (spec 4, "Degradation").
"""

from __future__ import annotations

import errno
import os
import re
import stat
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date, datetime
from io import FileIO
from pathlib import Path

from pepys.errors import MemoryChanged, PepysError, StoreUnavailable
from pepys.journal import entries
from pepys.journal.entries import Anchor, Block

try:
    import fcntl
except ImportError:  # Windows, best effort
    fcntl = None  # type: ignore[assignment]

_HEADED: dict[tuple[str, str], tuple[int, bytes]] = {}
"""(file, session) that this process gave an entry, below the session's heading -> where its last one ends, and it.

Where that does not stand there any more, somebody has taken something out, and the heading may have gone along.
"""

_WRITING = threading.Lock()

_NO_FILE = "Not a regular file"

_LATE_WRITE_S = 0.02
"""Agents open, write and close a file in one go: this much later, none has a replaced file still open."""


def day_file(store: str, day: date) -> str:
    """The daily memory file of a local date."""
    return os.path.join(store, f"{day.isoformat()}.md")


def own(path: str) -> bool:
    """Whether a file lies in its directory, or is a link that stays there.

    A store comes with a repository, and a repository from anywhere: a link in it must neither make memory of a file of
    the user's, nor write memory into one. The store itself may be a link; that is how a mesh shares one.
    """
    return os.path.dirname(os.path.realpath(path)) == os.path.realpath(os.path.dirname(path))


@contextmanager
def _appending(path: str) -> Iterator[FileIO]:
    with _usable(path):
        if not own(path):
            raise OSError(errno.ELOOP, "a daily file must not be a link to a file elsewhere")
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        _ensure_file(path)
        with open(path, "a+b", buffering=0) as file:
            yield file


def _ensure_file(path: str) -> None:
    """Refuse what is there and is no file of text: to open a pipe would wait for whoever writes into it.

    Raises:
        OSError: It is a pipe, a socket or a device. What a directory is, opening it says.
    """
    try:
        mode = os.stat(path).st_mode
    except FileNotFoundError:
        return
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        raise OSError(errno.EINVAL, _NO_FILE)


@contextmanager
def _usable(path: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise _unavailable(path, error) from error


def _unavailable(path: str, error: OSError) -> PepysError:
    if isinstance(error, FileNotFoundError):
        return MemoryChanged(f"{path} is gone.")
    if isinstance(error, NotADirectoryError | FileExistsError):
        blocking = next((each for each in Path(path).parents if each.exists() and not each.is_dir()), Path(path))
        return StoreUnavailable(
            f"{blocking} is a file where a directory of daily files should be.",
            hint="Move it away, or name another store.",
        )
    return StoreUnavailable(f"{path}: {error.strerror or error}")


def append(store: str, moment: datetime, content: str, origin: Anchor | None = None) -> str:
    """Append one entry to its day's file, and return the file's path.

    Args:
        store: Created where it is missing.
        moment: Local; decides file and heading.
        content: Markdown; see `entries.whole`.
        origin: Where it comes from; None when the session is not known.

    Raises:
        StoreUnavailable: It cannot be written. A heading that was not written is not taken for written.
    """
    path = day_file(store, moment.date())
    session = (path, origin.session if origin else "")
    # Threads of this process would otherwise both find that the heading is missing.
    with _WRITING, _appending(path) as file:
        heading = not _is_headed(session, file.fileno()) and not _has_heading(read(path), session[1])
        text = entries.printed(f"{moment:%H:%M}", content, origin, heading=heading)
        if not _ends_with(file.fileno(), b"\n"):
            text = "\n" + text  # somebody's editor left the last line open
        if not heading and not _ends_with(file.fileno(), b"\n\n"):
            text = "\n" + text  # after a block that is not ours, such as a summary
        data = _encoded(text)
        _write(file.fileno(), data)
        _HEADED[session] = (os.lseek(file.fileno(), 0, os.SEEK_CUR), data)
    return path


def append_text(store: str, day: date, text: str) -> str:
    """Append *text*, which is whole lines, to a day's file as it is, and return the file's path.

    Raises:
        StoreUnavailable: It cannot be written.
    """
    path = day_file(store, day)
    with _appending(path) as file:
        _write(file.fileno(), _encoded(text))
    return path


HALVES = re.compile("[\ud800-\udfff]")
"""Halves of characters, which no file of text can hold; they are stored as U+FFFD."""


def _encoded(text: str) -> bytes:
    return HALVES.sub("\ufffd", text).encode("utf-8")


def _is_headed(session: tuple[str, str], descriptor: int) -> bool:
    end, data = _HEADED.get(session, (0, b""))
    return bool(data) and os.pread(descriptor, len(data), end - len(data)) == data


def _has_heading(text: str, session: str) -> bool:
    # Without a session there is nothing to recognise its heading by: any one will do.
    return f"session:{session}" in text if session else "## Session " in text


def _ends_with(descriptor: int, end: bytes) -> bool:
    """Whether a file ends so; one without anything ends as it should."""
    size = os.fstat(descriptor).st_size
    return size == 0 or os.pread(descriptor, len(end), max(0, size - len(end))) == end


def _write(descriptor: int, data: bytes) -> None:
    # A file takes all of it at once, but for a disk that fills up just then: the rest is tried, or the error raised.
    while data:
        data = data[os.write(descriptor, data) :]


def read(path: str) -> str:
    """The text of a daily file; "" when there is none. Bytes that are not UTF-8 are U+FFFD.

    A link to a file elsewhere is none.

    Raises:
        StoreUnavailable: It is there and cannot be read.
    """
    if not own(path):
        return ""
    try:
        _ensure_file(path)
        return Path(path).read_bytes().decode("utf-8", "replace")
    except FileNotFoundError:
        return ""
    except OSError as error:
        raise _unavailable(path, error) from error


def unread(store: str) -> dict[str, str]:
    """What of a store cannot be read, by path, and why: what is not found may stand there. No store is nothing."""
    found: dict[str, str] = {}

    def failed(error: OSError) -> None:
        if not isinstance(error, FileNotFoundError):
            found[str(error.filename or store)] = error.strerror or str(error)

    for directory, below, names in os.walk(store, onerror=failed):
        below[:] = sorted(name for name in below if not name.startswith("."))
        for name in sorted(names):
            path = os.path.join(directory, name)
            memory = name.lower().endswith((".md", ".markdown")) and not name.startswith(".")
            if memory and own(path) and (why := _unreadable(path)):
                found[path] = why
    return found


def _unreadable(path: str) -> str:
    """Why the file at *path* cannot be read; empty where it can, or is gone."""
    try:
        _ensure_file(path)
    except OSError as error:
        return error.strerror or str(error)
    return "" if os.access(path, os.R_OK) or not os.path.lexists(path) else os.strerror(errno.EACCES)


def remove(path: str, block: Block) -> bool:
    """Take *block* out of the daily file *path*; whether the file went with it, having held nothing else.

    The file is rewritten whole or not at all. What others append meanwhile is kept: whoever opened the old file just
    before it was replaced writes into it within moments, and that is carried over.

    Raises:
        MemoryChanged: *block* is not there any more as it was read.
        StoreUnavailable: It cannot be written; the file is as it was.
    """
    with _usable(path), _WRITING, _alone(path) as old:
        data = old.read()
        if block not in entries.blocks(data.decode("utf-8", "replace")):
            raise MemoryChanged(f"{path} changed since it was read.")
        left = entries.without(data.decode("utf-8", "surrogateescape"), block)
        for key in [key for key in _HEADED if key[0] == path]:
            del _HEADED[key]  # the session's heading may have gone along
        if left is None:
            Path(path).unlink()
        else:
            _replace(path, left)
        for pause_s in (0, _LATE_WRITE_S):
            time.sleep(pause_s)
            if late := old.read():
                with open(path, "ab", buffering=0) as new:
                    _write(new.fileno(), late)
                left = left or ""
        return left is None


@contextmanager
def _alone(path: str) -> Iterator[FileIO]:
    """The daily file *path*, open for reading, while nobody else removes anything from it.

    Two that replaced it at the same time would each bring back what the other one removed.
    """
    while True:
        _ensure_file(path)
        with open(path, "rb", buffering=0) as file:
            if fcntl is not None:
                fcntl.flock(file.fileno(), fcntl.LOCK_EX)
            # Whoever held the lock before has put another file in its place.
            if os.path.samestat(os.fstat(file.fileno()), os.stat(path)):
                yield file
                return


def _replace(path: str, text: str) -> None:
    mode = os.stat(path).st_mode & 0o777
    handle, temporary = tempfile.mkstemp(dir=os.path.dirname(path), prefix=".", suffix=".md.part")
    try:
        with open(handle, "wb") as file:
            file.write(text.encode("utf-8", "surrogateescape"))
            file.flush()
            os.fsync(file.fileno())
        Path(temporary).chmod(mode)
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink()
        raise
