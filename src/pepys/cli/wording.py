"""Errors of actions in the words of the command line: its options for parameters, its commands for refs."""

from __future__ import annotations

import argparse
import re
from collections.abc import Mapping

from pepys.errors import EventNotFound, InvalidArgument, PepysError

NAMES: Mapping[str, str] = {
    # parameter: the option or argument that it is given by, where that is spelled otherwise
    "query": "WORD",
    "pageSize": "--limit",
    "queryMatch": "--match",
    "session": "SESSION",
    "indices": "--index",
    "entryIds": "--entry",
    "operationAddresses": "--operation",
    "entryRange": "--range",
    "program": "PROGRAM",
    "timeoutMs": "--timeout",
    "sessionId": "SESSION",
    "entryId": "ENTRY",
    "fragmentId": "--fragment",
    "windowChars": "--window",
    "kinds": "--kind",
    "entryTypes": "--type",
    "roles": "--role",
    "toolNames": "--tool",
    "time.from": "--since",
    "time.to": "--until",
    "branchStates": "--branch",
    "selectionStates": "--state",
    "files": "--file",
    "cwd": "--in",
    "content": "TEXT",
    "transcript_path": "FILE",
    "chunk_hash": "HASH",
}

_PHRASES = (
    # what actions say to everybody, and how it is said here
    (re.compile(r"^List sessions with memory\.sessions \((`[^`]+`)\)\.$"), r"\1 lists them."),
    (re.compile(r'\bbranches: "all"'), "--all"),
    (re.compile(r'\bscope "(project|global)"'), r"--scope \1"),
)

_INVALID = re.compile(r"Invalid arguments for [\w.]+: ")


def said_here(error: PepysError, args: argparse.Namespace) -> PepysError:
    """*error*, changed to what a person who wrote *args* knows the names of."""
    if isinstance(error, InvalidArgument) and (prefix := _INVALID.match(error.message)):
        problems = error.message[prefix.end() :].split("; ")
        error.message = "; ".join(_begins_here(problem, args) for problem in problems) + "."
    error.message, error.hint = _phrased(error.message), _phrased(error.hint)
    if isinstance(error, EventNotFound):
        error.hint = "Only sessions of this workspace are shown; --cwd names another."
    return error


def _begins_here(problem: str, args: argparse.Namespace) -> str:
    """A problem, which begins with the name of a parameter."""
    name, space, rest = problem.partition(" ")
    bare = re.sub(r"\[\d+\]", "", name)
    option = NAMES.get(bare) or NAMES.get(bare.split(".")[0])
    if option is None:
        words = re.sub(r"(?<=[a-z])([A-Z])", r"_\1", bare).lower()
        option = f"--{words.replace('_', '-')}" if hasattr(args, words) else name
    return f"{option}{space}{rest}"


def _phrased(text: str) -> str:
    for pattern, here in _PHRASES:
        text = pattern.sub(here, text)
    return re.sub(r"\b[a-z]+[A-Z]\w*\b", lambda match: NAMES.get(match[0], match[0]), text)
