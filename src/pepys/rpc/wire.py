"""Lines in, lines out: JSON-RPC's shapes and error codes, and nothing of what the messages are about."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, fields, is_dataclass
from typing import Any, BinaryIO

from pepys.errors import InvalidArgument, PepysError
from pepys.jsontext import json_text, read_json
from pepys.spelling import camel

MAX_LINE_BYTES = 16 * 1024 * 1024

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
FAILED = -32000
"""An error of ours; `data` has it in the one shape that it has on every surface."""
NOT_INITIALIZED = -32002
CANCELLED = -32800

Json = dict[str, Any]


class Refused(Exception):
    """A message that is answered by an error of the protocol."""

    def __init__(self, code: int, message: str, id_: object = None) -> None:
        super().__init__(message)
        self.code, self.message, self.id = code, message, id_


class Writer:
    """The way to the client. Threads share it: a message is one line, and lines never mix."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._lock = threading.Lock()

    def send(self, message: Mapping[str, object]) -> None:
        """Write one message. Nobody may be there any more: then it is lost, and the end of stdin tells why."""
        line = json_text({"jsonrpc": "2.0", **message}).encode("utf-8", "backslashreplace") + b"\n"
        with self._lock:
            try:
                self._stream.write(line)
                self._stream.flush()
            except (OSError, ValueError):
                pass

    def answer(self, id_: object, result: object) -> None:
        """Answer a request."""
        self.send({"id": id_, "result": result})

    def refuse(self, id_: object, code: int, message: str, data: object = None) -> None:
        """Answer it with an error."""
        error: Json = {"code": code, "message": message}
        if data is not None:
            error["data"] = data
        self.send({"id": id_, "error": error})

    def fail(self, id_: object, error: PepysError) -> None:
        """Answer it with one of ours."""
        self.refuse(id_, FAILED, error.message, error.as_json())


def messages(stream: BinaryIO) -> Iterator[Json | Refused]:
    """The messages of *stream* until it ends, and in their places what cannot be one."""
    while line := stream.readline(MAX_LINE_BYTES + 1):
        if line.isspace():
            continue
        if len(line) > MAX_LINE_BYTES:
            while line and not line.endswith(b"\n"):
                line = stream.readline(MAX_LINE_BYTES)
            yield Refused(INVALID_REQUEST, "A line is over 16 MiB.")
            continue
        try:
            value = read_json(line, "the line")
        except InvalidArgument as error:
            yield Refused(PARSE_ERROR, error.message)
            continue
        yield value if isinstance(value, dict) else Refused(INVALID_REQUEST, "A message is an object; no batches.")


def as_json(value: object) -> Any:
    """A message of `pepys.rpc.protocol` under its JSON names. What it does not say is left out."""
    if is_dataclass(value) and not isinstance(value, type):
        return {
            item.metadata.get("name") or camel(item.name): as_json(given)
            for item in fields(value)
            if (given := getattr(value, item.name)) != item.default or item.default is MISSING
        }
    if isinstance(value, tuple):
        return [as_json(item) for item in value]
    return value
