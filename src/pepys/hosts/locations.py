"""Paths as hosts take them from options, environment and settings."""

from __future__ import annotations

import os
from collections.abc import Iterable

from pepys.hosts.base import Surroundings
from pepys.model.source import Root


def absolute(path: str, around: Surroundings) -> str:
    """*path* with a leading `~` expanded, from the working directory, without `.` and `..`."""
    if path == "~" or path.startswith("~/"):
        path = around.env.get("HOME", "") + path[1:]
    return os.path.normpath(os.path.join(around.cwd, path))


def distinct(roots: Iterable[Root]) -> tuple[Root, ...]:
    """*roots* in order, of each path the first; not the folder of a project within one that has folders of projects."""
    found: dict[str, Root] = {}
    for root in roots:
        around = found.get(os.path.dirname(root.path))
        if around is None or around.layout != "folders":
            found.setdefault(root.path, root)
    return tuple(found.values())
