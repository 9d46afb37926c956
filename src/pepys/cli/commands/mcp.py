"""`pepys mcp`: an MCP server over stdio."""

from __future__ import annotations

import argparse
import os
import signal
import sys

from pepys.cli import options
from pepys.cli.output import Output
from pepys.errors import McpUnavailable


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the choice of tools."""
    parser.add_argument(
        "--tools",
        metavar="NAME,...",
        help="what to offer: all, or names of tools or actions; default: recall, events and memory, eight tools",
    )


def run(args: argparse.Namespace, out: Output) -> int:
    """Serve until stdin ends; stdout carries the protocol and nothing else."""
    keywords = options.keywords(args, os.environ)
    try:
        from pepys.mcp import tools
        from pepys.mcp.server import Server
        from pepys.rpc import lanes
    except ImportError as error:
        raise McpUnavailable(f"The MCP server needs the package mcp: {error}") from error
    server = Server(keywords, os.environ, tools.chosen(args.tools))
    if sys.stdin.isatty():
        out.note("pepys mcp speaks MCP with a client that starts it. It ends with the end of its input (^D).")
    # Of a client at a terminal, ^C reaches the whole process group, and is meant for the client.
    signal.signal(signal.SIGINT, signal.SIG_DFL if sys.stdin.isatty() else signal.SIG_IGN)
    # Clients end a server so that does not end by itself; what it has started would outlive it.
    signal.signal(signal.SIGTERM, lambda *_: lanes.leave(128 + signal.SIGTERM))
    server.run()
    return 0
