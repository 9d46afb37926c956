"""Files and directories that cannot be read: the tests may run as root, whom no mode keeps out."""

from __future__ import annotations

import builtins
import errno
import io
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest


def unreadable(monkeypatch: pytest.MonkeyPatch, path: Path) -> None:
    """From now on *path* is as after `chmod 000`: it is there, and neither it nor what lies in it can be read."""

    def refused(name: Any, *, itself: bool) -> bool:
        if isinstance(name, int):
            return False
        inside = Path(os.fsdecode(name))
        return path in inside.parents or (itself and path == inside)

    def guarded(real: Callable[..., Any], *, itself: bool) -> Callable[..., Any]:
        def call(name: Any = ".", *args: Any, **more: Any) -> Any:
            if refused(name, itself=itself):
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(name))
            return real(name, *args, **more)

        return call

    opened = guarded(io.open, itself=True)
    for module, name, patched in (
        (builtins, "open", opened),
        (io, "open", opened),
        (os, "scandir", guarded(os.scandir, itself=True)),
        (os, "listdir", guarded(os.listdir, itself=True)),
        (os, "stat", guarded(os.stat, itself=False)),
    ):
        monkeypatch.setattr(module, name, patched)
    access = os.access
    monkeypatch.setattr(os, "access", lambda name, mode: not refused(name, itself=True) and access(name, mode))
