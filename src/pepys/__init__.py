"""Pepys: the diary that coding agents keep."""

from __future__ import annotations

from typing import TYPE_CHECKING

__version__ = "0.1.0"

if TYPE_CHECKING:
    from pepys.workspace import Workspace, open  # noqa: A004

__all__ = ["Workspace", "__version__", "open"]


def __getattr__(name: str) -> object:
    # `pepys --version` must not pay for what it does not use.
    if name in {"open", "Workspace"}:
        from pepys import workspace

        return getattr(workspace, name)
    raise AttributeError(f"module 'pepys' has no attribute {name!r}")
