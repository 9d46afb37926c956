"""The folder on disk that the index has to itself: its lock, its size, its end."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path

from pepys.errors import IndexUnavailable
from pepys.index.lock import exclusive

FOLDER = "pepys-1"
"""The version of everything on disk. A newer one takes a new folder beside it; nothing outside it is ours."""

TRIES = 8
PROBE_BYTES = 4 << 20


class Directory:
    """The folder of one index. It need not exist."""

    def __init__(self, parent: str) -> None:
        """*parent*: the index directory, in which Pepys has a folder of its own."""
        self.path = os.path.join(parent, FOLDER)

    def file(self, name: str) -> str:
        """The path of what has this name in it."""
        return os.path.join(self.path, name)

    def exists(self) -> bool:
        """Whether there is anything at its path, or that cannot be known."""
        try:
            return os.path.isdir(self.path) or bool(os.lstat(self.path))
        except (FileNotFoundError, NotADirectoryError):
            return False
        except OSError:
            return True

    def is_link(self) -> bool:
        """Whether what stands in its place leads elsewhere: that is nobody's to open or to empty."""
        return os.path.islink(self.path)  # noqa: PTH114  (Path's own raises where it may not look)

    def size(self) -> int:
        """Bytes of all files in it."""
        return sum(_size(os.path.join(parent, name)) for parent, _, names in os.walk(self.path) for name in names)

    @contextlib.contextmanager
    def lock(self, wait_s: float) -> Iterator[bool]:
        """Be its only writer for the length of the block; see `index.lock.exclusive`.

        Raises:
            OSError: It cannot be made or locked.
        """
        if self.is_link():
            # What it leads to may be anybody's, and the holder of the lock removes what is not the index's own.
            raise OSError(f"{self.path} is a symbolic link")
        with exclusive(self.file("lock"), wait_s) as obtained:
            with contextlib.suppress(OSError):
                if os.stat(self.path).st_mode & 0o077:  # an older one may be open to others
                    Path(self.path).chmod(0o700)
            yield obtained

    def takes_bytes(self) -> bool:
        """Whether the disk can be written to."""
        probe = self.file("probe")
        try:
            with open(probe, "wb") as file:
                file.write(bytes(PROBE_BYTES))
        except OSError:
            return False
        finally:
            with contextlib.suppress(OSError):
                os.remove(probe)
        return True

    def wipe(self) -> None:
        """Remove everything but the lock, which other processes may be waiting on. Only for the lock's holder."""
        for name in os.listdir(self.path):
            if name != "lock":
                path = self.file(name)
                with contextlib.suppress(FileNotFoundError):  # the last reader to go takes SQLite's own files along
                    _remove_tree(path) if os.path.isdir(path) else os.remove(path)

    def remove(self, wait_s: float) -> bool:
        """Remove it; whether there was one.

        Raises:
            IndexUnavailable: It cannot be removed, or another process is writing for longer than *wait_s* seconds.
        """
        try:
            if not stat.S_ISDIR(os.stat(self.path).st_mode):
                return False
        except (FileNotFoundError, NotADirectoryError):
            return False
        except OSError as error:
            raise _undeletable(self.path, error) from error
        try:
            with self.lock(wait_s) as obtained:
                if not obtained:
                    raise IndexUnavailable("Another process is indexing.", hint="Wait for it, or stop it.")
                self.wipe()
                os.remove(self.file("lock"))
        except OSError as error:
            raise _undeletable(self.path, error) from error
        with contextlib.suppress(OSError):  # another process has begun to make it anew
            os.rmdir(self.path)
        return True


def _undeletable(directory: str, error: OSError) -> IndexUnavailable:
    denied = isinstance(error, PermissionError)
    hint = "Give yourself access to it, or remove it as a user who may." if denied else "Look at what is there."
    return IndexUnavailable(f"{directory} cannot be removed: {error.strerror or error}.", hint=hint)


def _size(path: str) -> int:
    try:
        return os.lstat(path).st_size
    except OSError:  # gone since it was listed, or not for this user
        return 0


def _remove_tree(path: str) -> None:
    import shutil

    for _ in range(TRIES):
        with contextlib.suppress(OSError):  # a reader that opens the text index leaves its own lock file in it
            shutil.rmtree(path)
            return
    shutil.rmtree(path)
