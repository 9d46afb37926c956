"""TOML as text: a table is put at the end, or taken out wherever it is; the rest stays."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from pepys.setup.formats.base import Malformed, newline

_NOTHING = re.compile(r"(?:[ \t\r\n]+|#[^\n]*)*")
_BARE = re.compile(r"[A-Za-z0-9_-]+")
_QUOTED = re.compile(r"'[^'\n]*'|\"(?:[^\"\\\n]|\\.)*\"")
_TEXT = re.compile(r"\"\"\"(?:[^\\]|\\[\s\S])*?\"{3,5}|'''[\s\S]*?'{3,5}|" + _QUOTED.pattern)


class _Statement(NamedTuple):
    """A header or an assignment, from the beginning of its line to that of the next line."""

    keys: tuple[str, ...]  # from the root
    start: int
    end: int
    heads: bool


def read(text: str) -> object:
    """The value of *text*.

    Raises:
        Malformed: It is not TOML.
    """
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise Malformed(str(error)) from error


def put(text: str, keys: Sequence[str], value: Mapping[str, object]) -> str:
    """*text* and, after an empty line, the table *keys*."""
    end = newline(text)
    lines = [f"[{'.'.join(map(_key, keys))}]", *(f"{_key(key)} = {_literal(item)}" for key, item in value.items())]
    before = "" if not text or text.endswith("\n") else end
    return text + before + (end if text else "") + "".join(line + end for line in lines)


def take(text: str, keys: Sequence[str]) -> str:
    """*text* without what is written of the table *keys*, and without one empty line before each of its headers."""
    read(text)
    wanted = tuple(keys)
    for statement in reversed(list(_statements(text))):
        if statement.keys[: len(wanted)] == wanted:
            start = statement.start
            if statement.heads and (blank := re.search(r"(?:\A|(?<=\n))[ \t]*\r?\n\Z", text[:start])):
                start = blank.start()
            text = text[:start] + text[statement.end :]
    return text


def _key(key: str) -> str:
    return key if _BARE.fullmatch(key) else json.dumps(key, ensure_ascii=False)


def _literal(value: object) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
        case int() | float():
            return repr(value)
        case list() | tuple():
            return f"[{', '.join(map(_literal, value))}]"
        case dict():
            return f"{{ {', '.join(f'{_key(key)} = {_literal(item)}' for key, item in value.items())} }}"
        case _:  # dates and times
            return str(value)


def _statements(text: str) -> Iterator[_Statement]:
    """The statements of a valid *text*, in order."""
    table: tuple[str, ...] = ()
    at = _after(_NOTHING, text, 0)
    while at < len(text):
        start = text.rfind("\n", 0, at) + 1
        heads = text[at] == "["
        keys, at = _keys(text, at + (2 if text.startswith("[[", at) else 1) if heads else at)
        end = text.find("\n", at) if heads else _assigned(text, at)
        end = len(text) if end < 0 else end + 1
        table = keys if heads else table
        yield _Statement(keys if heads else table + keys, start, min(end, len(text)), heads)
        at = _after(_NOTHING, text, end)


def _keys(text: str, at: int) -> tuple[tuple[str, ...], int]:
    """The dotted key at *at*, and where it ends."""
    keys: list[str] = []
    while True:
        at = _after(re.compile(r"[ \t]*"), text, at)
        found = _BARE.match(text, at) or _QUOTED.match(text, at)
        if found is None:
            raise Malformed("it has a key that cannot be read")
        keys += tomllib.loads(f"{found.group()} = 0")
        at = _after(re.compile(r"[ \t]*"), text, found.end())
        if not text.startswith(".", at):
            return tuple(keys), at
        at += 1


def _assigned(text: str, at: int) -> int:
    """Where the line ends that a value from *at* on ends in: a newline outside of texts and brackets; -1 for none."""
    deep = 0
    while at < len(text):
        if found := _TEXT.match(text, at):
            at = found.end()
            continue
        match text[at]:
            case "\n" if not deep:
                return at
            case "#":
                at = _after(re.compile(r"[^\n]*"), text, at)
                continue
            case "[" | "{":
                deep += 1
            case "]" | "}":
                deep -= 1
        at += 1
    return -1


def _after(pattern: re.Pattern[str], text: str, at: int) -> int:
    found = pattern.match(text, at)
    return found.end() if found else at
