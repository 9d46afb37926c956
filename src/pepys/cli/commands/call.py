"""`pepys call`: call an action with JSON, and print JSON."""

from __future__ import annotations

import argparse
import sys

from pepys.actions.wire import Call, read_call
from pepys.cli import options
from pepys.cli.output import Output
from pepys.errors import InvalidArgument


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the ways to name a call."""
    parser.add_argument(
        "ref",
        nargs="?",
        metavar="REF",
        help="an action such as memory.recall; or a whole call, hit or page as JSON; or -",
    )
    parser.add_argument("args", nargs="?", metavar="JSON", help="its arguments as JSON, or - to read them from stdin")
    parser.add_argument(
        "--lines",
        action="store_true",
        help='calls from stdin, one {"id","ref","args","context"} a line; answers likewise',
    )


def run(args: argparse.Namespace, out: Output) -> int:
    """Print the result; the exit status of the error that it carries."""
    from pepys.cli.exits import page_status

    if args.lines:
        if args.ref is not None:
            raise InvalidArgument("--lines reads its calls from stdin; leave out REF and JSON.")
        from pepys.cli import lines

        return lines.serve(args, sys.stdin.buffer, out)
    call = _call(args)
    with options.opened(args, out) as workspace:
        result = workspace.call(call.ref, call.args)
    out.json(result)
    return page_status(result)


def _call(args: argparse.Namespace) -> Call:
    from pepys.jsontext import read_json

    if args.ref is None:
        raise InvalidArgument("Name an action, or - to read a call from stdin.", hint="See `pepys call --help`.")
    if args.ref == "-" or args.ref.lstrip().startswith("{"):
        if args.args is not None:
            raise InvalidArgument("A whole call takes no arguments beside it.")
        return read_call(read_json(sys.stdin.buffer.read() if args.ref == "-" else args.ref, "the call"))
    text = "{}" if args.args is None else sys.stdin.buffer.read() if args.args == "-" else args.args
    given = read_json(text, "the arguments")
    if not isinstance(given, dict):
        raise InvalidArgument(f"Invalid arguments for {args.ref}: they must be a JSON object")
    return Call(args.ref, given)
