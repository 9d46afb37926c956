"""The command line. `main` is the console script; everything heavier is imported when a command needs it."""

from __future__ import annotations

import sys
from collections.abc import Sequence


def main(argv: Sequence[str] | None = None) -> int:
    """Run `pepys` with *argv* (the process's own arguments by default) and return the exit status."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    if None in (sys.stdin, sys.stdout, sys.stderr):
        _fill_closed()
    if arguments in (["--version"], ["-V"]):
        from pepys import __version__

        try:
            print(f"pepys {__version__}", flush=True)
        except OSError as error:
            from pepys.cli.app import unwritten
            from pepys.cli.output import Output

            return unwritten(Output(sys.stdout, sys.stderr), error)
        return 0
    import gc

    ours = argv is None
    if ours:
        # This process makes many objects and ends soon. Looking for garbage all the time, and through everything
        # once more at the end, would take a sixth of the time of a search.
        gc.set_threshold(50_000)
    from pepys.cli import app

    status = app.run(arguments)
    if ours:
        gc.freeze()
    return status


def _fill_closed() -> None:
    """Let streams that the caller has closed lead nowhere, before a file of ours is opened under their numbers."""
    import os

    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode))  # noqa: SIM115  (as long as the process)
