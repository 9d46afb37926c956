"""`pepys index`: build, watch, show or delete the index."""

from __future__ import annotations

import argparse
import time
from typing import TYPE_CHECKING

from pepys.cli import options
from pepys.cli.output import Output, Span
from pepys.errors import InvalidArgument
from pepys.model.coverage import REASONS

if TYPE_CHECKING:
    from pepys.index.refreshed import Refreshed

WATCH_INTERVAL_S = 2.0


def configure(parser: argparse.ArgumentParser) -> None:
    """Add what can be done with the index."""
    parser.add_argument(
        "what",
        nargs="?",
        choices=["status", "delete"],
        help="show its state, or delete it; nothing: bring it up to date",
    )
    parser.add_argument("--rebuild", action="store_true", help="read every session again")
    parser.add_argument("--watch", action="store_true", help="go on until interrupted, looking every two seconds")


def run(args: argparse.Namespace, out: Output) -> int:
    """Do it, and say what was done."""
    if args.what and (args.rebuild or args.watch):
        raise InvalidArgument(f"`pepys index {args.what}` takes neither --rebuild nor --watch.")
    with options.opened(args, out) as workspace:
        history = workspace.history
        if args.what == "status":
            status = history.status().as_json()
            if out.as_json:
                out.json(status)
            else:
                for name, value in status.items():
                    out.line(Span(f"{name}: ", "bold"), _words(value))
        elif args.what == "delete":
            deleted = history.delete()
            if out.as_json:
                out.json({"deleted": deleted})
            else:
                out.note("The index is deleted; the next search builds it again." if deleted else "There is no index.")
        else:
            _show(history.refresh(rebuild=args.rebuild), out)
            while args.watch:
                time.sleep(WATCH_INTERVAL_S)
                refreshed = history.refresh()
                if refreshed.new or refreshed.grown or refreshed.rebuilt or refreshed.removed:
                    _show(refreshed, out)
    return 0


def _show(refreshed: Refreshed, out: Output) -> None:
    counts = {name: getattr(refreshed, name) for name in ("new", "grown", "rebuilt", "removed")}
    counts["failed"] = len(refreshed.failed)
    if out.as_json:
        out.json(
            {
                "sources": refreshed.sources,
                **counts,
                "failed": refreshed.failed,
                "unchanged": refreshed.unchanged,
                "bytesRead": refreshed.bytes_read,
                "seconds": round(refreshed.seconds, 3),
                "reasons": list(refreshed.reasons),
            }
        )
    else:
        done = ", ".join(f"{count} {name}" for name, count in counts.items() if count) or "nothing changed"
        out.line(
            f"{refreshed.sources} sessions: {done} ({refreshed.bytes_read / 1e6:.1f} MB in {refreshed.seconds:.1f} s)"
        )
        for path, reason in refreshed.failed.items():
            out.note(f"{path}: {REASONS[reason][1] if reason in REASONS else reason}")
    out.flush()


def _words(value: object) -> str:
    if isinstance(value, (dict, list)):
        from pepys.cli.output import json_text

        return json_text(value)
    return str(value)
