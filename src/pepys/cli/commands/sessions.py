"""`pepys sessions`: list sessions, newest first."""

from __future__ import annotations

import argparse

from pepys.cli import options
from pepys.cli.output import Output


def configure(parser: argparse.ArgumentParser) -> None:
    """Add what `memory.sessions` takes."""
    parser.add_argument("--scope", default="project", help="session, project (default), global or session:<id-or-path>")
    options.add_branches(parser)
    parser.add_argument("--limit", type=int, metavar="N", help="most rows")
    parser.add_argument("--subagents", action="store_true", help="also sessions of sub-agents")


def run(args: argparse.Namespace, out: Output) -> int:
    """Print one line a session: time of its last change, entries, id, host, project if there may be several, name."""
    from pepys.cli import render
    from pepys.cli.exits import error_of, page_status

    given = {"scope": args.scope, "branches": args.branches, "limit": args.limit, "subagents": args.subagents or None}
    with options.opened(args, out, shows=True) as workspace:
        page = workspace.call("memory.sessions", {name: value for name, value in given.items() if value is not None})
    if out.as_json:
        out.json(page)
        return page_status(page)
    if page.get("error"):
        raise error_of(page["error"])
    rows, coverage = page["sessions"], page["coverage"]
    for row in rows:
        out.line(*render.session_line(row, place=args.scope != "project"))
    if not rows:
        out.note("No sessions.")
        for line in render.no_sessions_lines(args.scope, coverage):
            out.note(*line)
    for line in (*render.redacted_lines(page.get("redacted", 0)), *render.coverage_lines(coverage)):
        out.note(*line)
    return 0
