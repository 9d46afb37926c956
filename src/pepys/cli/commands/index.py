"""`pepys index`: build, watch, show or delete the index."""

from __future__ import annotations

import argparse
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING

from pepys.cli import options
from pepys.cli.output import Output, Span
from pepys.errors import InvalidArgument
from pepys.model.coverage import REASONS
from pepys.spelling import counted, size

if TYPE_CHECKING:
    from pepys.index.refreshed import Refreshed
    from pepys.index.status import Status

WATCH_INTERVAL_S = 2.0

WORDS_SHOWN = 8
"""Of a list; --json has all of them."""

_STYLES: Mapping[str, str] = {"trouble": "bold red", "note": "yellow"}


def configure(parser: argparse.ArgumentParser) -> None:
    """Add what can be done with the index."""
    parser.add_argument(
        "what",
        nargs="?",
        choices=["status", "show", "delete"],
        help="its state, what it keeps of one session, or delete it; nothing: bring it up to date",
    )
    parser.add_argument("session", nargs="?", metavar="SESSION", help="of `show`: session id, or path of its file")
    options.add_branches(parser)
    parser.add_argument("--rebuild", action="store_true", help="read every session again")
    parser.add_argument("--watch", action="store_true", help="go on until interrupted, looking every two seconds")


def run(args: argparse.Namespace, out: Output) -> int:
    """Do it, and say what was done."""
    if args.what and (args.rebuild or args.watch):
        raise InvalidArgument(f"`pepys index {args.what}` takes neither --rebuild nor --watch.")
    if (args.session is not None) != (args.what == "show") or (args.branches and args.what != "show"):
        raise InvalidArgument("`pepys index show SESSION` takes a session and branches, nothing else does.")
    with options.opened(args, out) as workspace:
        history = workspace.history
        if args.what == "status":
            status = history.status()
            if out.as_json:
                out.json(status.as_json())
            else:
                _describe(status, out)
        elif args.what == "show":
            from pepys.recall.records import record

            kept = record(history, workspace.context, args.session, args.branches or "active")
            out.json(kept.fields) if out.as_json else _list(kept.fields, out)
        elif args.what == "delete":
            deleted = history.delete()
            if out.as_json:
                out.json({"deleted": deleted})
            else:
                out.note("The index is deleted; the next search builds it again." if deleted else "There is no index.")
        else:
            _show(history.refresh(rebuild=args.rebuild), out, stream=args.watch)
            while args.watch:
                time.sleep(WATCH_INTERVAL_S)
                refreshed = history.refresh()
                if refreshed.new or refreshed.grown or refreshed.rebuilt or refreshed.removed:
                    _show(refreshed, out, stream=True)
    return 0


def _describe(status: Status, out: Output) -> None:
    if not status.exists and not status.trouble:
        out.line(f"There is no index in {status.directory} yet; the first search, or `pepys index`, builds it.")
        return
    for name, told in status.told():
        out.line(Span(f"{name:<11}", _STYLES.get(name, "bold")), told)


def _list(kept: Mapping[str, object], out: Output) -> None:
    for name, value in kept.items():
        if isinstance(value, list):
            few = ", ".join(map(str, value[:WORDS_SHOWN]))
            value = f"{len(value)}" + (f": {few}" if few else "") + (", …" if len(value) > WORDS_SHOWN else "")
        elif isinstance(value, dict):
            value = ", ".join(f"{key} {item}" for key, item in value.items())
        out.line(Span(f"{name:<19} ", "bold"), str(value))


def _show(refreshed: Refreshed, out: Output, *, stream: bool) -> None:
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
            },
            stream=stream,
        )
    else:
        if not refreshed.sources and not any(counts.values()):
            out.note("No sessions were found; `pepys doctor` says where they were looked for.")
            return
        done = ", ".join(f"{count} {name}" for name, count in counts.items() if count) or "nothing changed"
        effort = f" ({size(refreshed.bytes_read)} in {refreshed.seconds:.1f} s)" if refreshed.bytes_read else ""
        out.line(f"{counted(refreshed.sources, 'session')}: {done}{effort}")
        for path, reason in refreshed.failed.items():
            out.note(f"{path}: {REASONS[reason][1] if reason in REASONS else reason}")
    out.flush()
