"""`pepys expand`: read full records of a session."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from pepys.cli import options
from pepys.cli.exits import error_of, page_status
from pepys.cli.output import Output
from pepys.errors import InvalidArgument
from pepys.spelling import counted

if TYPE_CHECKING:
    from pepys.workspace import Workspace


def configure(parser: argparse.ArgumentParser) -> None:
    """Add what `memory.expand` takes."""
    parser.add_argument("session", metavar="SESSION", help="session id, or path of its file")
    parser.add_argument("--index", type=int, action="append", metavar="N", help="index of a record; repeatable")
    parser.add_argument("--entry", action="append", metavar="ID", help="id of an entry; repeatable")
    parser.add_argument("--operation", action="append", metavar="ADDRESS", help="address of an operation; repeatable")
    parser.add_argument("--range", metavar="A:B", help="records A to B, both included")
    parser.add_argument("--before", type=int, metavar="N", help="records before the one selected")
    parser.add_argument("--after", type=int, metavar="N", help="records after the one selected")
    parser.add_argument("--max-chars", type=int, metavar="N", help="most characters, 256 to 24000; default: all")
    options.add_branches(parser)


def run(args: argparse.Namespace, out: Output) -> int:
    """Print the records; without a selector, how many there are."""
    from pepys.cli import render

    request = arguments(args)
    with options.opened(args, out, shows=True) as workspace:
        page: Mapping[str, Any] = workspace.call("memory.expand", request)
        if out.as_json:
            out.json(page)
            return page_status(page)
        # Whoever names a limit wants one page; everybody else wants the text.
        one_page = args.max_chars is not None
        masks = 0
        for number, entry in enumerate(_entries(page, None if one_page else workspace)):
            masks += entry.get("redacted", 0)
            if number:
                out.line()
            for line in render.entry_lines(entry):
                out.line(*line)
    if not page["entries"]:
        records = counted(page["entryCount"], "record")
        out.line(f"{records}; choose with --index N, --entry ID, --operation ADDRESS or --range A:B")
    elif one_page and page["next"] is not None:
        out.note("There is more; --json prints the call that continues.")
    for line in render.redacted_lines(masks):
        out.note(*line)
    return 0


def _entries(page: Mapping[str, Any], workspace: Workspace | None) -> Iterator[dict[str, Any]]:
    """The records of *page*, and of those that follow it when there is a workspace to ask; texts put together again.

    Raises:
        PepysError: A page carries an error.
    """
    partial: dict[str, Any] = {}
    while True:
        if page.get("error"):
            raise error_of(page["error"])
        for chunk in page["entries"]:
            entry = {**chunk, **partial, "text": partial.get("text", "") + chunk["text"]}
            partial = {} if chunk["textRange"]["complete"] else entry
            if not partial:
                yield entry
        if page["next"] is None or workspace is None:
            break
        page = workspace.call(page["next"]["ref"], page["next"]["args"])
    if partial:
        yield partial


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
        "operationAddresses": args.operation,
        "entryRange": _range(args.range),
        "before": args.before,
        "after": args.after,
        "maxChars": args.max_chars,
    }
    return {name: value for name, value in given.items() if value is not None}


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
