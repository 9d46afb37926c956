"""`pepys run`: run a guest program and print its value as JSON."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from pepys import paths
from pepys.cli import options
from pepys.cli.output import Output
from pepys.errors import InvalidArgument, PepysError

MAX_PROGRAM_BYTES = 1024 * 1024
MAX_SECONDS = 1e6  # more than any configuration allows


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the program and its limit."""
    parser.add_argument("program", metavar="PROGRAM", help="a file of Python, or - to read it from stdin")
    parser.add_argument(
        "--timeout", type=float, metavar="SECONDS", help="longest run, if that is less than guest.timeoutMs"
    )


def run(args: argparse.Namespace, out: Output) -> int:
    """Print the value on stdout, and on stderr what the program printed and where it failed."""
    given: dict[str, object] = {"program": _source(args.program), "name": _name(args.program)}
    if args.timeout is not None:
        if not 0 < args.timeout < MAX_SECONDS:
            raise InvalidArgument("--timeout must be a number of seconds above 0.")
        given["timeoutMs"] = max(round(args.timeout * 1000), 1)
    with options.opened(args, out) as workspace:
        try:
            result = workspace.call("guest.run", given)
        except PepysError as error:
            _printed(out, error.details)
            if not out.as_json and (trace := error.details.get("traceback")):
                out.note(str(trace))
            raise
    _printed(out, result)
    out.json(result["value"])
    return 0


def _source(named: str) -> str:
    if named == "-":
        data = sys.stdin.buffer.read(MAX_PROGRAM_BYTES + 1)
    else:
        path = paths.expand(paths.named(named, "PROGRAM"), os.environ, paths.working_directory())
        try:
            with path.open("rb") as file:
                data = file.read(MAX_PROGRAM_BYTES + 1)
        except OSError as error:
            raise InvalidArgument(f"{path} cannot be read: {error.strerror}.") from error
    if len(data) > MAX_PROGRAM_BYTES:
        raise InvalidArgument("A program has at most 1 MiB.")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidArgument(f"The program is not UTF-8: {error}.") from error


def _name(named: str) -> str:
    return "<stdin>" if named == "-" else Path(named).name[:200]


def _printed(out: Output, result: object) -> None:
    """Show what the program printed, as it is in *result*."""
    if not isinstance(result, dict) or not result.get("output"):
        return
    out.note(str(result["output"]).removesuffix("\n"))
    if result.get("outputTruncated"):
        out.note("… the program printed more; see guest.outputChars.")
