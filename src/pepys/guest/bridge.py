"""What crosses between a program and the host: calls one way, JSON and errors the other."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping
from typing import Any

from pepys.actions.wire import read_call
from pepys.errors import PepysError

Call = Callable[[str, Mapping[str, object]], Any]
"""Runs the action with this ref and these arguments.

Raises:
    PepysError: Whatever the action raises.
"""

RESULT_CODES = frozenset(
    {
        "session_not_found",
        "ambiguous_session",
        "source_unavailable",
        "stale_pointer",
        "index_out_of_bounds",
        "text_offset_out_of_bounds",
        "address_not_found",
        "ambiguous_address",
    }
)
"""Errors that a program gets as a result with `error`: what it asked for is not there, which it can act on."""

_EXCEPTIONS = {"invalid_argument": "ValueError", "unknown_action": "LookupError"}
"""What other codes are raised as in the program."""

_EMPTY: Mapping[str, Mapping[str, object]] = {
    "memory.expand": {"entries": [], "next": None},
    "memory.sessions": {"sessions": []},
}
"""What a result with `error` holds besides, so that a loop over it, or over its pages, ends."""

PREVIEW_CHARS = 2000

MAX_DEPTH = 100
"""Of what crosses: JSON may be nested deeper, but nobody's is."""

Answer = dict[str, Any]
"""In the sandbox's words: `return_value`, or `exc_type` with `message`."""


def answer(call: Call, ref: str, args: tuple[Any, ...], keywords: Mapping[str, Any], result_chars: int) -> Answer:
    """What a program gets for calling *ref* with one dict, or with keywords, or with both."""
    if len(args) > 1 or not all(isinstance(arg, dict) for arg in args):
        return _raised("TypeError", f"{ref} takes one dict, or keywords")
    try:
        given = {**(args[0] if args else {}), **keywords}
        # Of each alone: texts such as "{...}" are worth asking for.
        given = {name: as_json(item, str(name), 1) for name, item in given.items()}
    except ValueError as error:
        return _raised("TypeError", f"{ref}: the arguments are no JSON: {error}")
    try:
        result = call(ref, given)
    except PepysError as error:
        if error.code not in RESULT_CODES:
            text = f"{error.code}: {error.message} {error.hint}".rstrip()
            return _raised(_EXCEPTIONS.get(error.code, "RuntimeError"), text)
        result = {**_EMPTY.get(_called(ref, given), {}), "error": error.as_json()}
    return {"return_value": sendable(result, result_chars)}


def _called(ref: str, given: Mapping[str, object]) -> str:
    """The action that *ref* is in the end, of a call that could be made."""
    while ref == "tools.call":
        ref, given = read_call(given)
    return ref


def sendable(result: Any, most_chars: int) -> Any:
    """*result* as a program can get it.

    Where its JSON is longer than *most_chars*, a preview stands for it. The sandbox's text cannot hold lone
    surrogates: each becomes U+FFFD, so that lengths stay.
    """
    text = json.dumps(result, ensure_ascii=False, separators=(",", ":"))
    if len(text) > most_chars:
        return {"resultTruncated": True, "chars": len(text), "preview": _replaced(text[:PREVIEW_CHARS])}
    return _replaced(result) if _LONE.search(text) else result


_LONE = re.compile("[\ud800-\udfff]")


def _replaced(value: Any) -> Any:
    if isinstance(value, str):
        return _LONE.sub("\ufffd", value)
    if isinstance(value, Mapping):
        return {_replaced(key): _replaced(item) for key, item in value.items()}
    return [_replaced(item) for item in value] if isinstance(value, (list, tuple)) else value


def as_json(value: Any, where: str = "", depth: int = 0, within: frozenset[str] = frozenset()) -> Any:
    """*value* as JSON has it: tuples become lists, whole numbers that are keys become text.

    Args:
        where: Its place, for messages.
        within: What the sandbox would give for a container around it that it holds itself.

    Raises:
        ValueError: Some part of it is no JSON, is too large, holds itself, or is nested too deep; names the place.
    """
    if depth > MAX_DEPTH:
        raise ValueError(f"it is nested deeper than {MAX_DEPTH}")
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        if abs(value) > LARGEST:
            raise ValueError(f"{where or 'it'} is a number of more than {MAX_DIGITS} digits")
        return value
    if isinstance(value, str):
        if foreign := _FOREIGN.fullmatch(value):
            raise ValueError(f"{where or 'it'} is {_FOREIGN_WORDS[foreign[1] or foreign[2]]}")
        if value in within:
            raise ValueError(f'{where} holds itself, or is the text "{value}", which the sandbox gives for that')
        return value
    if isinstance(value, float) and math.isfinite(value):
        return value
    if type(value) in (list, tuple):
        inner = within | {_ITSELF[type(value)]}
        return [as_json(item, f"{where}[{at}]", depth + 1, inner) for at, item in enumerate(value)]
    if type(value) is dict:
        return _object(value, where, depth, within | {_ITSELF[dict]})
    raise ValueError(f"{where or 'it'} is {_in_words(value)}")


MAX_DIGITS = 4300
"""Of a whole number: what Python, and therefore the sandbox, writes and reads as text."""

LARGEST = 10**MAX_DIGITS - 1

_ITSELF: Mapping[type, str] = {list: "[...]", tuple: "(...)", dict: "{...}"}
"""What the sandbox gives, as text, for a container in itself. It cannot be told from a text of the program's own."""

_FOREIGN = re.compile(r"<(?:(coroutine object) [^\n>]*|(function) '[^\n]*' at 0x[0-9a-f]+)>")
_FOREIGN_WORDS = {
    "coroutine object": "a coroutine: await it, as in `await memory.walk(...)`",
    "function": "a function",
}
"""What the sandbox gives as text, and what it is."""


def _object(value: Mapping[Any, Any], where: str, depth: int, within: frozenset[str]) -> dict[str, Any]:
    named: dict[str, Any] = {}
    for key, item in value.items():
        if not isinstance(key, (str, int)) or isinstance(key, bool):
            raise ValueError(f"{where or 'it'} has a key of type {type(key).__name__}")
        if isinstance(key, int):
            as_json(key, f"a key of {where}" if where else "a key")
        if (name := str(key)) in named:
            raise ValueError(f"{where or 'it'} has the key {name} twice, as a number and as text")
        named[name] = as_json(item, f"{where}.{name}" if where else name, depth + 1, within)
    return named


def _in_words(value: object) -> str:
    if isinstance(value, float):
        return str(value)
    kind = type(value).__name__
    if kind in ("set", "frozenset"):
        return "a set: give a list, as in `sorted(...)`"
    return {"MontyClassProxy": "an object", "MontyStdTypeProxy": "a function"}.get(kind, f"of type {kind}")


def _raised(kind: str, message: str) -> Answer:
    return {"exc_type": kind, "message": message}
