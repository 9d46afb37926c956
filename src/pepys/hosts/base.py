"""The seam between hosts and everything else: what a host module must know, and nothing more.

A host is a module with one row in `hosts.HOSTS`. It never opens files and never touches the environment; reading
is `hosts.reading`'s, listing is `hosts.discovery`'s, and both are the same for every host.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, Protocol

from pepys.model.context import Context
from pepys.model.entry import Entry, Record
from pepys.model.source import Diagnostic, Header, Root, Title


class Surroundings(NamedTuple):
    """What a host's own precedence of flags, environment, settings and defaults is decided from."""

    env: Mapping[str, str]  # HOME included
    cwd: str  # absolute
    agent_dir: str | None  # explicit; wins over environment and defaults
    session_dirs: tuple[str, ...] = ()  # explicit additional folders
    tmp: str = "/tmp"  # noqa: S108  (what the host takes for the system's temporary directory)


def surroundings(context: Context) -> Surroundings:
    """The surroundings of a call."""
    return Surroundings(
        context.env,
        str(context.cwd),
        None if context.agent_dir is None else str(context.agent_dir),
        tuple(map(str, context.session_dirs)),
        context.env.get("TMPDIR", "/tmp"),  # noqa: S108
    )


class Host(Protocol):
    """One agent whose session files Pepys reads."""

    name: str

    def agent_dir(self, around: Surroundings) -> str:
        """The agent directory in force, by the host's own precedence."""
        ...

    def roots(self, around: Surroundings) -> tuple[Root, ...]:
        """Where this host keeps sessions. Settings files of the host are read here, best effort."""
        ...

    def folders(self, cwd: str, around: Surroundings) -> tuple[str, ...]:
        """Names that the project folder of *cwd* may have under a root with layout `folders`."""
        ...

    def takes(self, name: str) -> bool:
        """Whether a file of this name under one of its roots is a session file."""
        ...

    def nested(self) -> bool:
        """Whether directories beside session files hold sessions of sub-agents."""
        ...

    def wrote(self, head: bytes) -> bool:
        """Whether a file that begins with *head* was written by this host and can be no other's."""
        ...

    def decode(self, record: Record) -> Header | Title | Entry | Diagnostic | None:
        """One record in our words; None for what is known and neither entry nor header."""
        ...
