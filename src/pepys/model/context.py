"""What every call carries, resolved once. Actions never look at the environment or the clock themselves."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from pepys.config import Config
    from pepys.model.journal import Completion
    from pepys.model.lineage import Live


class Context(NamedTuple):
    """The circumstances of a call."""

    host: str  # a name in HOSTS, or "all"
    cwd: Path
    config: Config
    env: Mapping[str, str]
    agent_dir: Path | None = None  # None: each host's own precedence decides
    session_dirs: tuple[Path, ...] = ()  # more session folders, nested or flat
    index_dir: Path | None = None  # None: from configuration
    session_file: Path | None = None  # of the current session
    current_session_id: str | None = None
    live: Live | None = None  # the host's live branch of the current session
    invocation_entry_id: str | None = None
    tool_call_id: str | None = None
    by_hand: bool = False  # no tool makes this call, but a person or a program of theirs
    workspace_root: Path | None = None
    shown: bool = False  # to people, rather than given to a program
    trusted: bool | None = None  # None: not asked; see `config`
    patience_s: float | None = None  # seconds of indexing before an answer; None: until done
    progress: Callable[[Progress], None] | None = None
    complete: Completion | None = None  # a model that the caller provides; None: there is none
    notify: Callable[[str], None] | None = None  # tells the person what goes wrong between calls; None: nobody hears it
    now: datetime | None = None  # local; None: whatever the clock says

    @property
    def moment(self) -> datetime:
        """The local time of the call."""
        return self.now or datetime.now()

    @property
    def redacts(self) -> bool:
        """Whether credentials are masked in text that is quoted from sessions."""
        where = self.config.memory.redact
        return where == "always" or (where == "surfaces" and self.shown)


class Progress(NamedTuple):
    """How far an index run is, in bytes of sources."""

    done_bytes: int
    total_bytes: int
    done_sources: int
    total_sources: int
    path: str  # the source at hand
