"""One writer at a time: a lock that the kernel gives back when its holder dies, however it dies."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pepys.paths import make_private

_POLL_S = 0.01


@contextmanager
def exclusive(path: str, wait_s: float) -> Iterator[bool]:
    """Hold the lock file *path* for the length of the block.

    Args:
        path: Created with mode 0600, missing directories with 0700. Only the holder of the lock may remove it.
        wait_s: How long to wait for another holder, seconds.

    Yields:
        Whether the lock was obtained. Without it, the block must not write.

    Raises:
        OSError: The lock file cannot be opened.
    """
    deadline = time.monotonic() + wait_s
    while True:
        make_private(Path(path).parent)
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        except FileNotFoundError:  # whoever deletes the index has just taken the directory along
            if time.monotonic() >= deadline:
                raise
            continue
        try:
            obtained = _obtained(descriptor, deadline)
            # Whoever deleted the index took the lock file with it; a lock on a file without a name locks nobody out.
            if obtained and not _named(descriptor, path):
                continue
            yield obtained
            return
        finally:
            os.close(descriptor)


def _obtained(descriptor: int, deadline: float) -> bool:
    while not _try(descriptor):
        if time.monotonic() >= deadline:
            return False
        time.sleep(_POLL_S)
    return True


def _named(descriptor: int, path: str) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), os.stat(path))
    except FileNotFoundError:
        return False


try:
    import fcntl
except ImportError:  # Windows, best effort
    import msvcrt

    def _try(descriptor: int) -> bool:
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined,unused-ignore]
        except OSError:
            return False
        return True

else:

    def _try(descriptor: int) -> bool:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True
