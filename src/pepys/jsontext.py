"""JSON as text: read strictly (no NaN, no bottomless nesting), and written so that a terminal may print it."""

from __future__ import annotations

import json
import re
from typing import Any, NoReturn

from pepys.errors import InvalidArgument

# JSON leaves these as they are, and a terminal would obey them. Their escapes are the same JSON.
_STEERING = "[\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]"


def read_json(text: str | bytes, what: str) -> object:
    """The value of *text*.

    Raises:
        InvalidArgument: It is not JSON in UTF-8; the message names *what* it should have been.
    """
    try:
        decoded = text if isinstance(text, str) else text.decode("utf-8")
        return json.loads(decoded, parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise InvalidArgument(f"Cannot read {what} as JSON: {error}") from error


def _refuse(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def json_text(value: object, indent: int | None = None) -> str:
    """*value* as JSON with non-ASCII characters as they are, but for those that steer a terminal."""
    separators: Any = (",", ":") if indent is None else None
    text = json.dumps(value, ensure_ascii=False, indent=indent, separators=separators)
    return re.sub(_STEERING, lambda match: f"\\u{ord(match.group()):04x}", text)
