"""`pepys completion`: print a completion script for a shell."""

from __future__ import annotations

import argparse

from pepys.cli import options
from pepys.cli.output import Output

SHELLS = ("bash", "zsh", "fish", "tcsh")

_DIRECTORIES = {"agent_dir", "sessions", "cwd", "index_dir", "path", "folder"}
_FILES = {"session_file", "file"}


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the shell."""
    parser.add_argument("shell", choices=SHELLS, help="the shell to complete in")


def run(args: argparse.Namespace, out: Output) -> int:
    """Print the script."""
    import shtab

    from pepys.cli.app import COMMANDS

    parser = options.parser(COMMANDS, None)
    pending: list[argparse.ArgumentParser] = [parser]
    while pending:
        for action in pending.pop()._actions:
            if isinstance(action, argparse._SubParsersAction):
                pending += action.choices.values()
            elif action.dest in _DIRECTORIES:
                action.complete = shtab.DIRECTORY  # type: ignore[attr-defined]
            elif action.dest in _FILES:
                action.complete = shtab.FILE  # type: ignore[attr-defined]
    out.text(shtab.complete(parser, shell=args.shell) + "\n")
    return 0
