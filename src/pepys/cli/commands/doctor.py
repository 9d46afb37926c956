"""`pepys doctor`: check hosts, sessions, index, configuration and the agents that Pepys is set up in."""

from __future__ import annotations

import argparse
import os
from contextlib import ExitStack

from pepys import checks, config
from pepys.cli import options
from pepys.cli.output import Output, Span
from pepys.setup import checks as targets
from pepys.setup import standing

NEEDS_ACTION = 1

_STYLES = {"ok": "green", "note": "yellow", "action": "bold red"}


def configure(parser: argparse.ArgumentParser) -> None:
    """Nothing beyond the options of every command."""


def run(args: argparse.Namespace, out: Output) -> int:
    """Print what was found; 1 when something needs the user."""
    keywords = options.keywords(args, os.environ)
    with ExitStack() as open_:
        found = checks.made(
            lambda: config.load(os.environ, keywords["cwd"], trusted=keywords["trusted"]),
            lambda: open_.enter_context(options.opened(args, out)).history,
        )
    found += targets.made(standing.machine(os.environ, keywords["cwd"], keywords["agent_dir"]))
    if out.as_json:
        out.json({"checks": [check._asdict() for check in found]})
    else:
        for check in found:
            out.line(Span(f"{check.state:6}", _STYLES[check.state]), f"  {check.subject}: {check.finding}")
            if check.step:
                out.line(f"        {check.step}")
    return NEEDS_ACTION if checks.needs_action(found) else 0
