"""`pepys trust`: let a project's `.pepys.toml` take effect."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from pepys import paths, trust
from pepys.cli.output import Output
from pepys.errors import InvalidArgument


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the directory and the way back."""
    parser.add_argument("path", nargs="?", metavar="PATH", help="a project directory; nothing: list those trusted")
    parser.add_argument("--revoke", action="store_true", help="no longer trust it")


def run(args: argparse.Namespace, out: Output) -> int:
    """Change the list, and print it when no directory is named or JSON is asked for."""
    if args.path is not None:
        directory = Path(os.path.realpath(paths.named(args.path, "PATH")))
        if args.revoke:
            if not trust.revoke(directory, os.environ):
                told = "Pi's list trusts it: use /trust in Pi." if trust.by_pi(directory, os.environ) else ""
                raise InvalidArgument(
                    f"{directory} is not on Pepys's list.", hint=told or "`pepys trust` lists what is trusted."
                )
        elif os.path.isdir(directory):
            trust.grant(directory, os.environ)
        else:
            raise InvalidArgument(f"{paths.shortened(str(directory))} is no directory.")
    elif args.revoke:
        raise InvalidArgument("--revoke needs a PATH.")
    listed = [str(directory) for directory in trust.trusted(os.environ)]
    if out.as_json:
        out.json({"trusted": listed})
    elif args.path is None:
        for directory_name in listed:
            out.line(directory_name)
        if trust.pi_trusts(os.environ):
            out.note(f"What Pi was told to trust counts too: {trust.pi_store(os.environ)}")
        elif not listed:
            out.note("No project is trusted; `pepys trust PATH` trusts one.")
    else:
        out.note(f"{directory} is {'no longer ' if args.revoke else ''}trusted.")
    return 0
