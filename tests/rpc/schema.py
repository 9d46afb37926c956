"""Whether what two sides sent each other is the protocol: every line is held to `protocol/rpc.schema.json`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, Literal

from jsonschema import Draft202012Validator
from jsonschema.exceptions import best_match

Side = Literal["client", "server"]

SCHEMA: dict[str, Any] = json.loads(
    (Path(__file__).parents[2] / "protocol" / "rpc.schema.json").read_text(encoding="utf-8")
)

_LINES = {"client": "fromClient", "server": "fromServer"}
_OTHER: dict[Side, Side] = {"client": "server", "server": "client"}
_ANSWERED = {"client": SCHEMA["methods"]["requests"], "server": SCHEMA["methods"]["callbacks"]}
"""By who asks: the methods that want an answer."""


class Conversation:
    """The lines of one connection, as they come.

    Attributes:
        problems: What was wrong with them; none if both sides keep to the protocol.
    """

    def __init__(self) -> None:
        self.problems: list[str] = []
        self._asked: dict[tuple[Side, object], str] = {}  # by who asks

    def see(self, side: Side, line: str | bytes) -> None:
        """Judge one line that *side* sent."""
        try:
            message = json.loads(line)
        except ValueError as error:
            self.problems.append(f"{side}: no JSON: {error}: {line[:200]!r}")
            return
        self.problems += [f"{side}: {what}: {line[:300]!r}" for what in self._wrong(side, message)]

    def _wrong(self, side: Side, message: Any) -> Iterator[str]:
        yield from _unlike(_LINES[side], message)
        if not isinstance(message, dict) or "id" not in message:
            return
        id_ = message["id"]
        if "method" in message:
            self._asked[side, id_] = str(message["method"])
            return
        method = self._asked.pop((_OTHER[side], id_), None)
        if method is None and "result" in message:
            yield "an answer to nothing that was asked, or a second one"
        elif method in _ANSWERED[_OTHER[side]] and "result" in message:
            named = _ANSWERED[_OTHER[side]][method].get("result")
            if named is not None:
                yield from _unlike(named, message["result"])


def recorded(path: Path) -> list[str]:
    """What was wrong with a conversation that `tests/rpc/tee.py` recorded, or with several, one after the other."""
    problems: list[str] = []
    conversation = Conversation()
    for line in path.read_text(encoding="utf-8").splitlines():
        record = json.loads(line)
        if record["from"] == "start":
            problems += conversation.problems
            conversation = Conversation()
        else:
            conversation.see(record["from"], record["line"])
    return problems + conversation.problems


def _unlike(name: str, value: object) -> Iterator[str]:
    """What is wrong with *value*, which is to be what the schema calls *name*."""
    error = best_match(_validator(name).iter_errors(value))
    if error is not None:
        yield f"no {name}: {error.json_path}: {error.message[:300]}"


@cache
def _validator(name: str) -> Draft202012Validator:
    return Draft202012Validator({"$ref": f"#/$defs/{name}", "$defs": SCHEMA["$defs"]})
