"""A home, a trusted project, and workspaces that look at them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import pepys
from pepys.model.notes import Scope

Json = dict[str, Any]


class Desk:
    """One person's machine, with one project.

    Attributes:
        workspace: A session that goes on from call to call.
    """

    def __init__(self, directory: Path, **circumstances: Any) -> None:
        self.home, self.project = directory / "home", directory / "shop"
        for folder in (self.home, self.project):
            folder.mkdir(exist_ok=True)
        self.env = {"HOME": str(self.home)}
        self.circumstances = {"cwd": self.project, "trusted": True, **circumstances}
        self.workspace = self.open()

    def open(self, **circumstances: Any) -> pepys.Workspace:
        """Another session."""
        return pepys.open(env=self.env, **{**self.circumstances, **circumstances})

    def path(self, scope: Scope = "project") -> Path:
        """Where the store is expected, whether or not it is there."""
        return self.project / ".pi" / "memory.md" if scope == "project" else self.home / ".pi" / "agent" / "memory.md"

    def write(self, text: str | bytes, scope: Scope = "project") -> Path:
        """Write a store by hand."""
        path = self.path(scope)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return path

    def text(self, scope: Scope = "project") -> str:
        """The store as it is on disk."""
        return self.path(scope).read_bytes().decode("utf-8", "surrogateescape")

    def memory(self, action: str, text: str | None = None, **more: Any) -> Json:
        """Call the tool."""
        given = {"action": action, **({} if text is None else {"text": text}), **more}
        return self.workspace.call("notes.memory", given)

    def listed(self, scope: Scope = "project") -> list[str]:
        """The notes of a scope."""
        notes: list[str] = self.memory("list")[scope]
        return notes


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    made = Desk(tmp_path)
    yield made
    made.workspace.close()
