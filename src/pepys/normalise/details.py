"""What the details of an entry are made of: shapes of values that another program wrote, which may be anything.

Nothing here raises, nor recurses as deeply as a value may be nested.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Set
from typing import Any, NamedTuple, get_args

from pepys.model.entry import Event, Outcome
from pepys.normalise.passages import arguments

_OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)
_MAX_WHOLE = 2**53 - 1  # beyond it, the programs that write sessions cannot tell integers apart
_MAX_FINITE = sys.float_info.max


class Children(NamedTuple):
    """The child records of one entry in their order, and the `DIAGNOSTICS` codes of details that were rejected."""

    events: tuple[Event, ...] = ()
    notices: tuple[str, ...] = ()


def has(value: Mapping[str, Any], required: Set[str], optional: Set[str] = frozenset()) -> bool:
    """Whether an object has all *required* keys, and no others than the *optional* ones."""
    return value.keys() >= required and value.keys() <= required | optional


def whole(value: object) -> int | None:
    """*value* if it is an integer, at least zero, that is exact in JavaScript too."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= _MAX_WHOLE:
        return None
    return int(value) if value == int(value) else None


def outcome(value: object) -> Outcome | None:
    """*value* if it is one of the ways in which an operation ends."""
    return next((known for known in _OUTCOMES if value == known), None)


def nodes(value: object, depth: int, members: int = sys.maxsize) -> int | None:
    """How many JSON values *value* is made of, itself included.

    None if that is no JSON: numbers must be finite, no value may stand deeper than *depth* levels below the outermost
    one, and no collection may have more than *members*.
    """
    count = 0
    level: list[object] = [value]
    for _ in range(depth + 1):
        count += len(level)
        below: list[object] = []
        for item in level:
            if isinstance(item, dict) and len(item) <= members:
                below += item.values()
            elif isinstance(item, list) and len(item) <= members:
                below += item
            elif not _scalar(item):
                return None
        if not below:
            return count
        level = below
    return None


def size(value: object) -> int:
    """Bytes of a JSON value, compact, in UTF-8; a half of a surrogate pair is written as its escape.

    Its nesting must have been looked at.
    """
    return len(json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "backslashreplace"))


def route(ref: str, provider: str | None, action: str | None) -> tuple[str | None, str | None]:
    """Provider and action of what was called; those that were not given are the two sides of *ref*'s first dot."""
    before, _, after = ref.partition(".")
    if before and after:
        return provider if provider is not None else before, action if action is not None else after
    return provider, action


def printed(value: Mapping[str, Any]) -> tuple[str, str]:
    """An object as `arguments` prints it, without its closing brace, in two parts: its result, and all before that."""
    call = arguments({key: member for key, member in value.items() if key != "result"}).removesuffix("}")
    return call, f',"result":{arguments(value["result"]) or "null"}' if "result" in value else ""


def _scalar(value: object) -> bool:
    if isinstance(value, (int, float)):
        return -_MAX_FINITE <= value <= _MAX_FINITE
    return value is None or isinstance(value, str)
