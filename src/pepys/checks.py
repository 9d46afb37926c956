"""What `pepys doctor` looks at: hosts, sessions, index and configuration. Surfaces print it."""

from __future__ import annotations

import os
import platform
import shlex
import stat
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Literal, NamedTuple

from pepys import config
from pepys.errors import PepysError
from pepys.model.source import DIAGNOSTICS, Kind
from pepys.spelling import counted, size

if TYPE_CHECKING:
    from pepys.index.history import History


class Check(NamedTuple):
    """One thing that was looked at."""

    subject: str
    state: Literal["ok", "note", "action"]
    finding: str
    step: str = ""  # what to do about it


_KINDS: Mapping[Kind, tuple[str, str]] = {  # what one is called, and what others are
    "session": ("session", "sessions"),
    "subagent": ("of sub-agents", "of sub-agents"),
    "archived": ("archived", "archived"),
}

_HARMLESS = "Nothing to do: nothing was lost."
_DAMAGED = "All other lines are searchable. Pepys never mends session files; restore the file if you have a copy of it."
_UNKNOWN = "All else is searchable. A newer Pepys may know it."
_STEPS: Mapping[str, str] = {
    # what to do about a diagnostic that loses content
    "torn_tail": "Nothing to do: it is read when the host has finished it.",
    "malformed_record": _DAMAGED,
    "nul_run": _DAMAGED,
    "record_too_large": "All other lines are searchable. Look at this one with another program.",
    "unknown_record_type": _UNKNOWN,
    "unknown_shape": _UNKNOWN,
}


def made(load: Callable[[], config.Config], opened: Callable[[], History]) -> list[Check]:
    """Everything that is looked at.

    Args:
        load: Gives the configuration, or raises what is wrong with it.
        opened: Gives the history; not called where the configuration cannot be used.
    """
    checks = [_versions(), *_configuration(load)]
    if needs_action(checks):
        return [*checks, Check("sessions", "note", "not looked at", "First mend the configuration.")]
    history = opened()
    return [*checks, *_roots(history), *_index(history)]


def needs_action(checks: Iterable[Check]) -> bool:
    """Whether something needs the user."""
    return any(check.state == "action" for check in checks)


def _versions() -> Check:
    import sqlite3
    from importlib.metadata import version

    from pepys import __version__

    return Check(
        "versions",
        "ok",
        f"pepys {__version__}, Python {platform.python_version()}, tantivy {version('tantivy')}, "
        f"SQLite {sqlite3.sqlite_version}",
    )


def _configuration(load: Callable[[], config.Config]) -> Iterator[Check]:
    try:
        resolved = load()
    except PepysError as error:
        step = error.hint or f"Mend what is named there. The keys are {', '.join(config.KEYS)}."
        yield Check("configuration", "action", error.message, step)
        return
    changed = ", ".join(f"{name} ({origin})" for name, origin in resolved.origins.items())
    yield Check("configuration", "ok", changed or "every key has its default")
    if resolved.ignored is not None:
        step = f"`pepys trust {resolved.ignored.parent}` lets it take effect."
        yield Check("configuration", "note", f"{resolved.ignored} is ignored: its project is not trusted", step)


def _roots(history: History) -> Iterator[Check]:
    from pepys.hosts.discovery import listing

    seen = listing(history.roots)
    counts = Counter((found.root, found.host, found.kind) for found in seen.found.values())
    for root in history.roots:
        found = {words: counts[root.path, root.host, kind] for kind, words in _KINDS.items()}
        kinds = [counted(count, *words) for words, count in found.items() if count]
        there = ", ".join(kinds) or ("no sessions" if os.path.isdir(root.path) else "not there")
        # A folder that a host has not made is no finding; that there is nothing anywhere is one, below.
        yield Check(f"{root.host} sessions", "ok", f"{root.path}: {there}")
    for directory, reason in sorted(seen.unlisted.items()):
        yield Check("sessions", "action", f"{directory} cannot be listed: {reason}", _listable(directory))
    unreadable = sorted(path for path in seen.found if not os.access(path, os.R_OK))
    if unreadable:
        more = f", nor can {len(unreadable) - 1} more" if unreadable[1:] else ""
        step = f"Give yourself access: chmod u+r {shlex.quote(unreadable[0])}"
        yield Check("sessions", "action", f"{unreadable[0]} cannot be read{more}", step)
    if not seen.found:
        step = "Name a folder with --sessions DIR, or see what Pepys does with `pepys demo`."
        yield Check("sessions", "note", "no sessions were found", step)


def _listable(path: str) -> str:
    """How a folder of sessions that cannot be listed may become one that can."""
    if os.path.isdir(path):
        return f"Give yourself access: chmod u+rx {shlex.quote(path)}"
    if os.access(path, os.F_OK):
        return "Name the folder of sessions itself, or put it there."
    return "Look at where it leads: a link in a circle leads nowhere."


def _index(history: History) -> Iterator[Check]:
    from pepys.index.status import refusal

    directory = history.directory
    if refused := refusal(directory):
        step = "Choose another directory with --index-dir or memory.indexDir; until then answers come by scanning."
        yield Check("index", "action", refused, step)
        return
    if not os.path.isdir(directory):
        yield Check(
            "index", "note", f"{directory} does not exist yet", "The first search, or `pepys index`, builds it."
        )
        return
    if os.name == "posix" and stat.S_IMODE(os.stat(directory).st_mode) & 0o077:
        yield Check("index", "action", f"{directory} is open to other users", f"chmod 700 {shlex.quote(directory)}")
    status = history.status()
    if status.trouble:
        yield Check("index", "note", f"{directory} {status.trouble}", "`pepys index` rebuilds it now.")
    else:
        sizes = f"{size(status.index_bytes)} for {size(status.source_bytes)} of sessions"
        yield Check(
            "index", "ok", f"{counted(status.sources, 'session')}, {counted(status.records, 'record')}; {sizes}"
        )
    if status.interrupted:
        yield Check("index", "note", "a run was interrupted", "The next search, or `pepys index`, finishes it.")
    for code, count in sorted(status.diagnostics.items()):
        meaning = DIAGNOSTICS[code][1] if code in DIAGNOSTICS else code
        yield Check(
            "session files", "note", f"{meaning} ({code}, {counted(count, 'time')})", _STEPS.get(code, _HARMLESS)
        )
