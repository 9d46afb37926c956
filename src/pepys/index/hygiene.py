"""What has no business in the index directory is removed (spec 1, "Cache V6", "Tiers, refresh, and work budgets")."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

_OURS = frozenset(
    ("lock", "text", "catalog.sqlite", "catalog.sqlite-wal", "catalog.sqlite-shm", "catalog.sqlite-journal")
)


def strays(directory: str, most: int) -> tuple[list[str], bool]:
    """Names in the index directory that are not the index's own, and whether all were looked at.

    Args:
        directory: Of the index alone.
        most: How many names may be looked at.
    """
    try:
        with os.scandir(directory) as entries:
            names = [entry.name for _, entry in zip(range(most + 1), entries, strict=False)]
    except OSError:
        return [], True
    return [name for name in names[:most] if name not in _OURS], len(names) <= most


def sweep(directory: str, names: list[str]) -> None:
    """Remove *names*, best effort; what a link points at is not ours. Only for the holder of the index lock."""
    import shutil

    for name in names:
        path = os.path.join(directory, name)
        with contextlib.suppress(OSError):
            if os.path.isdir(path) and not Path(path).is_symlink():
                shutil.rmtree(path)
            else:
                os.remove(path)
