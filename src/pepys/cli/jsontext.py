"""JSON from outside, strictly: no NaN, no bottomless nesting."""

from __future__ import annotations

import json
from typing import NoReturn

from pepys.errors import InvalidArgument


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
