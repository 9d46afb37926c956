"""The options that every command takes, and what they mean for the workspace."""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, Protocol, cast

from pepys import paths
from pepys.errors import InvalidArgument

if TYPE_CHECKING:
    from pepys.cli.output import Output
    from pepys.workspace import Workspace


class Command(Protocol):
    """A module of `pepys.cli.commands`."""

    def configure(self, parser: argparse.ArgumentParser) -> None:
        """Add the command's own arguments."""

    def run(self, args: argparse.Namespace, out: Output) -> int:
        """Do it, and return the exit status."""
        ...


class _Formatter(argparse.HelpFormatter):
    """Help as wide as the terminal. argparse makes a formatter for every option, and would load shutil to ask."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, width=_columns() - 2)


@cache
def _columns() -> int:
    for stream in (sys.__stdout__, sys.__stderr__):
        try:
            return max(os.get_terminal_size(stream.fileno()).columns, 20)  # type: ignore[union-attr]
        except (AttributeError, ValueError, OSError):
            continue
    return 80


_COMPLAINT = re.compile(r"argument (?P<names>[^:]+): (?P<what>.*)", re.DOTALL)
_WRONG = re.compile(r"invalid (?P<type>int|float) value: (?P<value>.*)", re.DOTALL)
_CHOICE = re.compile(r"invalid choice: '(?P<value>.*)' \(choose from (?P<choices>.*)\)", re.DOTALL)
_WRONG_TYPES = {"int": "a whole number", "float": "a number"}
"""What argparse says of an argument."""


class Parser(argparse.ArgumentParser):
    """A parser whose complaints are errors like all others."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**{"allow_abbrev": False, "formatter_class": _Formatter, **kwargs})
        self._given: Sequence[str] = ()

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """What argparse does, which tells `error` nothing of the words that it was given."""
        self._given = args or ()
        return super().parse_known_args(args, namespace)

    def error(self, message: str) -> NoReturn:
        """Raise what argparse would print, in the words of other errors."""
        text = self._worded(message) or f"{message[:1].upper()}{message[1:]}"
        more = "; put -- before words that begin with a dash" if self._takes_for_option(message) else ""
        raise InvalidArgument(text, hint=f"See `{self.prog} --help`{more}.")

    def _takes_for_option(self, message: str) -> bool:
        """Whether a word that begins with a dash, and is no option, may be what *message* complains of."""
        if message.startswith("unrecognized arguments: "):
            return any(word.startswith("-") for word in message.split()[2:])
        options = (word.partition("=")[0] for word in self._given if word.startswith("-"))
        return "required" in message and any(word not in self._option_string_actions for word in options)

    def _worded(self, message: str) -> str:
        if not (complaint := _COMPLAINT.fullmatch(message)):
            return ""
        names, what = complaint["names"], complaint["what"]
        if wrong := _WRONG.fullmatch(what):
            return f"{names} must be {_WRONG_TYPES[wrong['type']]}, not {paths.shortened(wrong['value'])}."
        if chosen := _CHOICE.fullmatch(what):
            choices = chosen["choices"].replace("'", "").split(", ")
            from pepys.spelling import suggestion

            return (
                f"{names} must be one of {', '.join(choices)}, not '{paths.shortened(chosen['value'])}'"
                + suggestion(chosen["value"], choices)
                + "."
            )
        if what == "expected one argument":
            action = self._option_string_actions.get(names.split("/")[0])
            if action is not None and action.help:
                return f"{names} needs {action.metavar or 'a value'}: {action.help}."
        return f"{names}: {what}."


class _Collect(argparse.Action):
    """A repeatable option that may stand before and after the command's name."""

    def __init__(self, option_strings: Sequence[str], dest: str, **kwargs: Any) -> None:
        super().__init__(option_strings, dest, **kwargs)
        self.collected: list[Any] = []

    def __call__(
        self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, values: object, option: str | None = None
    ) -> None:
        # argparse gives each command a fresh namespace that overwrites the outer one.
        self.collected.append(values)
        setattr(namespace, self.dest, self.collected)


def command(name: str) -> Command:
    """The module of the command *name*."""
    return cast(Command, import_module(f"pepys.cli.commands.{name}"))


def parser(commands: Mapping[str, str], arguments: Sequence[str] | None) -> Parser:
    """The parser of the whole command line.

    Args:
        commands: Their names and summaries.
        arguments: Only commands named in them get their own options; None: every command does.
    """
    from pepys import __version__

    common = _common()
    top = Parser(
        prog="pepys",
        description="The diary that coding agents keep: search the sessions of Pi and OMP, with evidence.",
        parents=[common],
    )
    top.add_argument("-V", "--version", action="version", version=f"pepys {__version__}")
    subparsers = top.add_subparsers(dest="command", metavar="COMMAND", required=True, prog="pepys")
    for name, summary in commands.items():
        if arguments is None or name in arguments:
            description = f"{summary[:1].upper()}{summary[1:]}."
            command(name).configure(
                subparsers.add_parser(name, help=summary, description=description, parents=[common])
            )
        else:
            subparsers.add_parser(name, help=summary, add_help=False)
    return top


def defaults() -> argparse.Namespace:
    """What holds where an option of `_common` is not given: those suppress their own defaults."""
    return argparse.Namespace(
        host="all",
        agent_dir=None,
        sessions=[],
        cwd=None,
        index_dir=None,
        session_file=None,
        json=False,
        no_color=False,
        trust_project=False,
    )


def _common() -> Parser:
    common = Parser(add_help=False, argument_default=argparse.SUPPRESS)
    group = common.add_argument_group("options of every command")
    group.add_argument("--host", choices=["pi", "omp", "all"], help="whose sessions; default: all")
    group.add_argument("--agent-dir", metavar="PATH", help="agent directory of the host (with --host)")
    group.add_argument("--sessions", metavar="DIR", action=_Collect, help="another folder of sessions; repeatable")
    group.add_argument("--cwd", metavar="PATH", help="the project; default: the working directory")
    group.add_argument("--index-dir", metavar="PATH", help="directory of the index")
    group.add_argument("--session-file", metavar="PATH", help="the current session's file")
    group.add_argument("--json", action="store_true", help="print JSON")
    group.add_argument("--no-color", action="store_true", help="no colours (also: NO_COLOR)")
    group.add_argument("--trust-project", action="store_true", help="use the project's .pepys.toml this once")
    return common


def add_branches(parser: argparse.ArgumentParser) -> None:
    """Add `--branches` and its short form `--all`."""
    parser.add_argument("--branches", choices=["active", "all"], help="the selected branch, or every branch")
    parser.add_argument(
        "--all", dest="branches", action="store_const", const="all", help="every branch: --branches all"
    )


def keywords(args: argparse.Namespace, env: Mapping[str, str]) -> dict[str, Any]:
    """The keywords for `workspace.open` that the options of every command stand for."""
    cwd = paths.working_directory()

    def path(option: str, text: str | None) -> Path | None:
        return None if text is None else paths.expand(paths.named(text, option), os.environ, cwd)

    def resolved(option: str, text: str) -> Path:
        # Path's own methods raise where links form a circle, or nobody has that name.
        return Path(os.path.realpath(cwd / os.path.expanduser(paths.named(text, option))))

    def folder(option: str, text: str) -> Path:
        # A mistyped folder must not look like one without hits.
        expanded = paths.expand(paths.named(text, option), os.environ, cwd)
        if os.path.isdir(expanded):
            return expanded
        raise InvalidArgument(f"{option}: there is no folder {paths.shortened(str(expanded))}.")

    # Pi tells the commands that its tools run which session they belong to.
    told = env if args.session_file is None else {}
    return {
        "host": args.host,
        "cwd": cwd if args.cwd is None else resolved("--cwd", args.cwd),  # hosts store it resolved
        "agent_dir": None if args.agent_dir is None else folder("--agent-dir", args.agent_dir),
        "session_dirs": tuple(folder("--sessions", text) for text in args.sessions),
        "index_dir": path("--index-dir", args.index_dir),
        "session_file": path("--session-file", args.session_file or told.get("PI_SESSION_FILE") or None),
        "current_session_id": told.get("PI_SESSION_ID") or None,
        "trusted": True if args.trust_project else None,
    }


@contextmanager
def opened(args: argparse.Namespace, out: Output, *, shows: bool = False) -> Iterator[Workspace]:
    """The workspace that the options describe; indexing is waited for, with its progress on a terminal.

    Args:
        shows: Whether the command shows people what it is answered, and does not hand it on to programs as it is.
    """
    from pepys import workspace
    from pepys.cli.progress import shown

    with (
        shown(out) as progress,
        workspace.open(
            **keywords(args, os.environ), env=os.environ, by_hand=True, shown=shows, progress=progress
        ) as opened_workspace,
    ):
        yield opened_workspace


def given(args: argparse.Namespace) -> list[str]:
    """The options that another command needs to see the same sessions."""
    words = [] if args.host == "all" else ["--host", args.host]
    for option in ("--agent-dir", "--index-dir", "--session-file"):
        value = getattr(args, option[2:].replace("-", "_"))
        words += [option, value] if value is not None else []
    for directory in args.sessions:
        words += ["--sessions", directory]
    return words
