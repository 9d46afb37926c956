"""`pepys tree`: the branches of a session."""

from __future__ import annotations

import argparse

from pepys.cli import options
from pepys.cli.output import Output, Span


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the session."""
    parser.add_argument("session", metavar="SESSION", help="session id, path of its file, or current")
    parser.add_argument("--full", action="store_true", help="draw every entry, and count none together")


def run(args: argparse.Namespace, out: Output) -> int:
    """Draw the session; as JSON, every entry with its place and states."""
    from pepys.events import drawing, outline

    with options.opened(args, out, shows=not out.as_json) as workspace:
        result = outline.outline(workspace.history, workspace.context, args.session)
    if out.as_json:
        out.json(result)
        return 0
    from pepys.cli import drawings, render

    name = result.get("sessionName")
    out.line(Span(str(result["sessionId"]), "bold"), f"  {name}" if name else "")
    drawn = outline.drawn(result)
    if args.full:
        drawn = [entry._replace(stands_out=True) for entry in drawn]
    drawings.show(drawing.session(outline.tree(result), drawn, drawings.paper(out)), out)
    if not drawn:
        out.note("The session has no entries.")
    for line in render.redacted_lines(result.get("redacted", 0), "--json"):
        out.note(*line)
    return 0
