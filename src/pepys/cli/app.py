"""From arguments to a command, and from whatever it raises to an exit status."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence

from pepys.cli import options
from pepys.cli.output import Output
from pepys.errors import OutputLost, PepysError

COMMANDS: Mapping[str, str] = {
    # name, which is also the module's: what it does
    "recall": "search sessions",
    "sessions": "list sessions, newest first",
    "expand": "read full records of a session",
    "events": "search, read and trace single events of a workspace",
    "tree": "draw the branches of a session",
    "run": "run a program over sessions, in a sandbox",
    "call": "call an action with JSON, and print JSON",
    "serve": "speak JSON-RPC with an extension inside a host",
    "mcp": "serve agents that speak MCP, over stdin and stdout",
    "journal": "daily memory: search, read, write, forget, capture",
    "notes": "durable notes: pick, list, change, check",
    "index": "build, watch, show or delete the index",
    "doctor": "check hosts, sessions, index, configuration and agents",
    "config": "show every configuration key, its value and where it comes from",
    "setup": "set Pepys up in agents, or take it out again",
    "trust": "let a project's .pepys.toml take effect",
    "completion": "print a completion script for a shell",
    "demo": "try Pepys on sample sessions, without touching anything",
}

INTERNAL_ERROR = 1
INTERRUPTED = 130


def run(arguments: Sequence[str]) -> int:
    """Run the command that *arguments* name; errors are printed, never raised."""
    os.umask(0o077)
    for stream in (sys.stdout, sys.stderr):
        # Lone surrogates become \udXXX, which inside JSON is exactly their escape.
        reconfigure: Callable[..., None] | None = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(encoding="utf-8", errors="backslashreplace")
    # A guess, for the case that the arguments cannot be parsed.
    out = Output(sys.stdout, sys.stderr, as_json="--json" in arguments or arguments[:1] == ["call"])
    try:
        status = _status(arguments, out)
        out.flush()
    except BrokenPipeError as error:
        return unwritten(out, error)
    return unwritten(out, out.lost) if out.lost else status


def unwritten(out: Output, why: OSError) -> int:
    """Stdout did not take what it was given: say so, unless its reader has gone."""
    _abandon_stdout()
    if isinstance(why, BrokenPipeError):
        return 0
    error = OutputLost(f"The output could not be written: {why.strerror or why}.")
    out.as_json = False  # stdout takes nothing
    out.error(error)
    return error.exit_status


def _status(arguments: Sequence[str], out: Output) -> int:
    try:
        return _command(arguments, out)
    except PepysError as error:
        out.error(error)
        return error.exit_status
    except KeyboardInterrupt:
        if sys.stderr.isatty():
            out.note()  # the terminal has just echoed ^C
        return INTERRUPTED
    except BrokenPipeError:
        raise
    except Exception as error:
        # A defect of ours: the traceback is for the report, the one shape of errors for the program that called.
        import traceback

        traceback.print_exc(file=sys.stderr)
        out.error(PepysError(f"{type(error).__name__}: {error}", hint="This is a defect in Pepys; please report it."))
        return INTERNAL_ERROR


def _abandon_stdout() -> None:
    """Let what is still to be written go nowhere: the reader has seen enough, and Python flushes once more at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _command(arguments: Sequence[str], out: Output) -> int:
    try:
        args = options.parser(COMMANDS, arguments).parse_args(arguments or ["--help"], options.defaults())
    except SystemExit as leave:  # --help and --version
        out.flush()
        return int(leave.code or 0)
    out.as_json = args.json or args.command == "call"
    out.color = not (args.no_color or os.environ.get("NO_COLOR"))
    try:
        status: int = options.command(args.command).run(args, out)
    except PepysError as error:
        if args.command != "call":
            from pepys.cli.wording import said_here

            said_here(error, args)
        raise
    out.flush()
    return status
