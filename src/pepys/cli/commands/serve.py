"""`pepys serve`: JSON-RPC over stdio, for the extensions inside hosts."""

from __future__ import annotations

import argparse
import os
import signal
import sys

from pepys.cli import options
from pepys.cli.output import Output


def configure(parser: argparse.ArgumentParser) -> None:
    """Nothing beyond the options of every command."""


def run(args: argparse.Namespace, out: Output) -> int:
    """Serve until stdin ends; stdout carries messages and nothing else."""
    from pepys.rpc.server import Server

    if sys.stdin.isatty():
        out.note("pepys serve speaks JSON-RPC with an extension inside a host. It ends with the end of its input (^D).")
    # ^C and a terminal that goes away are for the host to answer, and reach its whole process group.
    for name in ("SIGINT", "SIGHUP"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))  # by way of leaving
    stdout = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # whatever is printed by mistake breaks no message
    Server(sys.stdin.buffer, stdout, os.environ, options.keywords(args, {})).run()
    return 0
