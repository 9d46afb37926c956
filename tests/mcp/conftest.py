"""A machine with the sample sessions, and an MCP client that starts `pepys mcp` there."""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp.client.session import ClientSession
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp_types import CallToolResult, TextContent

from pepys import samples

SOURCE = Path(samples.__file__).parents[2]


@dataclass
class Machine:
    """A home of its own, in which servers are started; what they print on stderr goes to `log`."""

    home: Path
    project: Path
    log: Path
    env: dict[str, str] = field(default_factory=dict)

    def command(self, *options: str) -> list[str]:
        """A command line that begins to serve."""
        return [sys.executable, "-m", "pepys", "mcp", *options]

    def environment(self) -> dict[str, str]:
        """That of servers: nothing of whoever runs the tests."""
        path = {"PATH": os.environ["PATH"], "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        return {"HOME": str(self.home), **path, **self.env}

    @asynccontextmanager
    async def connected(self, *options: str, cwd: Path | None = None, **client: Any) -> AsyncIterator[ClientSession]:
        """A session with a server of the sample project, initialized."""
        command, *args = self.command(*(options or ("--cwd", str(samples.PROJECT))))
        server = StdioServerParameters(command=command, args=args, env=self.environment(), cwd=cwd or self.project)
        with self.log.open("a") as log:
            async with stdio_client(server, log) as (read, write), ClientSession(read, write, **client) as session:
                await session.initialize()
                yield session

    def session(self, use: Callable[[ClientSession], Awaitable[Any]], *options: str, **more: Any) -> Any:
        """What *use* makes of a session. Whatever the server says on stderr is a failure."""

        async def run() -> Any:
            with anyio.fail_after(60):
                async with self.connected(*options, **more) as session:
                    return await use(session)

        result = anyio.run(run)
        assert self.log.read_text() == ""
        return result

    def call(self, tool: str, args: dict[str, Any], *options: str, **more: Any) -> CallToolResult:
        """One call."""
        found = self.session(partial(_called, tool, args), *options, **more)
        assert isinstance(found, CallToolResult)
        return found


async def _called(tool: str, args: dict[str, Any], session: ClientSession) -> CallToolResult:
    return await session.call_tool(tool, args)


def text(result: CallToolResult) -> str:
    """What a model reads that is shown text only."""
    (content,) = result.content
    assert isinstance(content, TextContent)
    return content.text


def names(tools: Sequence[Any]) -> list[str]:
    return [tool.name for tool in tools]


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    home, project = tmp_path / "home", tmp_path / "shop"
    for directory in (home, project):
        directory.mkdir()
    (project / ".git").mkdir()
    log = tmp_path / "stderr"
    log.touch()
    samples.install(home)
    return Machine(home, project, log)
