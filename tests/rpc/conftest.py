"""A home with a repository and sessions in it, and servers that look at them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.journal.project import Project
from tests.rpc.process import Json, Serving


class Machine:
    """One person's machine, and the servers on it."""

    def __init__(self, directory: Path, stack: ExitStack) -> None:
        self.project = Project(directory)
        self.home = directory
        self._stack = stack

    def serve(self, *capabilities: str, **keywords: Any) -> Serving:
        """A server that has shaken hands. It ends with the test, which fails where it does not end well."""
        serving = self.start(**keywords)
        serving.initialize(*capabilities)
        return serving

    def start(self, **keywords: Any) -> Serving:
        """The same before the handshake."""
        return self._stack.enter_context(Serving(self.home, self.project.root, **keywords))

    def context(self, **more: Any) -> Json:
        """The circumstances of a call in the project."""
        return {
            "host": "pi",
            "agentDir": str(self.project.diary.agent),
            "cwd": str(self.project.root),
            "indexDir": str(self.home / "index"),
            "trusted": True,
            **more,
        }


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    with ExitStack() as stack:
        yield Machine(tmp_path, stack)
