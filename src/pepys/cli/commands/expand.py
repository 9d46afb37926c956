"""`pepys expand`: read full records of a session."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any

from pepys.cli import options
from pepys.cli.output import Output
from pepys.errors import InvalidArgument


def configure(parser: argparse.ArgumentParser) -> None:
    """Add what `memory.expand` takes."""
    parser.add_argument("session", metavar="SESSION", help="session id, or path of its file")
    parser.add_argument("--index", type=int, action="append", metavar="N", help="index of a record; repeatable")
    parser.add_argument("--entry", action="append", metavar="ID", help="id of an entry; repeatable")
    parser.add_argument("--range", metavar="A:B", help="records A to B, both included")
    parser.add_argument("--before", type=int, metavar="N", help="records before the one selected")
    parser.add_argument("--after", type=int, metavar="N", help="records after the one selected")
    parser.add_argument("--max-chars", type=int, metavar="N", help="most characters, 256 to 24000; default: all")
    options.add_branches(parser)


def run(args: argparse.Namespace, out: Output) -> int:
    """Print the records; without a selector, how many there are."""
    from pepys.cli.exits import page_status

    request = arguments(args)
    with options.opened(args, out) as workspace:
        page: Mapping[str, Any] = workspace.call("memory.expand", request)
        if out.as_json:
            out.json(page)
            return page_status(page)
        first = True
        while True:
            _show(page, out, first=first)
            first = False
            # Whoever names a limit wants one page; everybody else wants the text.
            if page["next"] is None or args.max_chars is not None:
                break
            page = workspace.call(page["next"]["ref"], page["next"]["args"])
    if page["next"] is not None:
        out.note("There is more; --json prints the call that continues.")
    return 0


def arguments(args: argparse.Namespace) -> dict[str, object]:
    """The arguments of `memory.expand` that the options stand for.

    Raises:
        InvalidArgument: `--range` is not two numbers.
    """
    given: dict[str, object] = {
        "session": args.session,
        "branches": args.branches,
        "indices": args.index,
        "entryIds": args.entry,
        "entryRange": _range(args.range),
        "before": args.before,
        "after": args.after,
        "maxChars": args.max_chars,
    }
    return {name: value for name, value in given.items() if value is not None}


def _show(page: Mapping[str, Any], out: Output, *, first: bool) -> None:
    from pepys.cli import render
    from pepys.cli.exits import error_of

    if page.get("error"):
        raise error_of(page["error"])
    if first and not page["entries"]:
        out.line(f"{page['entryCount']} records; choose with --index N, --entry ID or --range A:B")
    for entry in page["entries"]:
        for number, line in enumerate(render.entry_lines(entry)):
            if number == 0 and not first and len(line) > 1:
                out.line()
            out.line(*line)
        first = False


def _range(text: str | None) -> dict[str, int] | None:
    if text is None:
        return None
    first, colon, last = text.partition(":")
    try:
        if colon:
            return {"first": int(first), "last": int(last)}
    except ValueError:
        pass
    raise InvalidArgument(f"--range: {text} is not A:B.", hint="Write two indices, such as 3:7.")
