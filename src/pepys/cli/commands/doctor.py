"""`pepys doctor`: check hosts, sessions, index and configuration."""

from __future__ import annotations

import argparse
import os
import platform
import shlex
import stat
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Literal, NamedTuple

from pepys import config
from pepys.cli import options
from pepys.cli.output import Output, Span
from pepys.errors import PepysError
from pepys.model.source import DIAGNOSTICS, Kind

if TYPE_CHECKING:
    from pepys.index.history import History

NEEDS_ACTION = 1


class Check(NamedTuple):
    """One thing that was looked at."""

    subject: str
    state: Literal["ok", "note", "action"]
    finding: str
    step: str = ""  # what to do about it


_KINDS: Mapping[Kind, str] = {"session": "session(s)", "subagent": "of sub-agents", "archived": "archived"}

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

_STYLES = {"ok": "green", "note": "yellow", "action": "bold red"}


def configure(parser: argparse.ArgumentParser) -> None:
    """Nothing beyond the options of every command."""


def run(args: argparse.Namespace, out: Output) -> int:
    """Print what was found; 1 when something needs the user."""
    checks = [*_versions(), *_configuration(args)]
    if any(check.state == "action" for check in checks):
        checks.append(Check("sessions", "note", "not looked at", "First mend the configuration."))
    else:
        with options.opened(args, out) as workspace:
            checks += [*_roots(workspace.history), *_index(workspace.history)]
    if out.as_json:
        out.json({"checks": [check._asdict() for check in checks]})
    else:
        for check in checks:
            out.line(Span(f"{check.state:6}", _STYLES[check.state]), f"  {check.subject}: {check.finding}")
            if check.step:
                out.line(f"        {check.step}")
    return NEEDS_ACTION if any(check.state == "action" for check in checks) else 0


def _versions() -> Iterator[Check]:
    import sqlite3
    from importlib.metadata import version

    from pepys import __version__

    yield Check(
        "versions",
        "ok",
        f"pepys {__version__}, Python {platform.python_version()}, tantivy {version('tantivy')}, "
        f"SQLite {sqlite3.sqlite_version}",
    )


def _configuration(args: argparse.Namespace) -> Iterator[Check]:
    keywords = options.keywords(args, os.environ)
    try:
        resolved = config.load(os.environ, keywords["cwd"], trusted=keywords["trusted"])
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
        kinds = [f"{count} {words}" for words, count in found.items() if count]
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
        from pepys.cli.render import size

        sizes = f"{size(status.index_bytes)} for {size(status.source_bytes)} of sessions"
        yield Check("index", "ok", f"{status.sources} sessions, {status.records} records; {sizes}")
    if status.interrupted:
        yield Check("index", "note", "a run was interrupted", "The next search, or `pepys index`, finishes it.")
    for code, count in sorted(status.diagnostics.items()):
        meaning = DIAGNOSTICS[code][1] if code in DIAGNOSTICS else code
        yield Check("session files", "note", f"{meaning} ({code}, {count} times)", _STEPS.get(code, _HARMLESS))
