"""Bytes to JSON objects, for every host that writes one object a line.

Two decoders give the same values. `bulk` is for whole histories (msgspec, some 450 MB/s, 25 ms to import), `decode`
for the few lines that an answer quotes (standard library). What msgspec refuses, `decode` judges.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any, BinaryIO, NamedTuple

MAX_LINE_BYTES = 32 << 20
"""A longer line is never held in memory and never decoded."""

CHUNK_BYTES = 1 << 20

_MARK = b"\xef\xbb\xbf"

# One of: an escaped backslash (so that what follows it is no escape), a surrogate pair, a lone surrogate.
_SURROGATE = re.compile(
    r"(\\\\|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2})|\\u[dD][89a-fA-F][0-9a-fA-F]{2}"
)


class Decoded(NamedTuple):
    """What one line holds."""

    value: dict[str, Any] | None  # None: no object, and `codes` say why
    codes: tuple[str, ...] = ()  # of `DIAGNOSTICS`


Decode = Callable[[bytes], Decoded]


def decode(line: bytes) -> Decoded:
    """Decode one non-blank line, with what had to be repaired or refused.

    Invalid UTF-8 and escapes of lone surrogates become U+FFFD, raw NUL bytes are left out. NaN and Infinity are not
    JSON; a number beyond a double's range is infinite, as in JavaScript.
    """
    codes: list[str] = []
    unreadable = "malformed_record"
    if line.startswith(_MARK):
        line = line.removeprefix(_MARK)
        codes.append("byte_order_mark")
        if not line.strip():
            return Decoded(None, tuple(codes))
    if b"\0" in line:
        line = line.replace(b"\0", b"")
        unreadable = "nul_run"
    try:
        text = line.decode("utf-8")
    except UnicodeDecodeError:
        text = line.decode("utf-8", "replace")
        codes.append("invalid_utf8")
    if r"\ud" in text or r"\uD" in text:
        text = _SURROGATE.sub(lambda match: match[1] or r"\ufffd", text)
    try:
        value = json.loads(text, parse_constant=_refused)
    except (ValueError, RecursionError):
        return Decoded(None, (*codes, unreadable))
    if unreadable == "nul_run":
        codes.append("nul_bytes")
    if not isinstance(value, dict):
        return Decoded(None, (*codes, "not_an_object"))
    return Decoded(value, tuple(codes))


def bulk() -> Decode:
    """A fast `decode`."""
    import msgspec

    fast = msgspec.json.Decoder().decode
    refusals = (msgspec.MsgspecError, ValueError, RecursionError)

    def decode_fast(line: bytes) -> Decoded:
        try:
            value = fast(line)
        except refusals:
            return decode(line)
        return Decoded(value) if isinstance(value, dict) else _NOT_AN_OBJECT

    return decode_fast


_NOT_AN_OBJECT = Decoded(None, ("not_an_object",))


def _refused(constant: str) -> None:
    raise ValueError(constant)


class Line(NamedTuple):
    """One line of a stream."""

    start: int  # byte span, newline included
    end: int
    data: bytes | None  # without its newline; None: longer than `MAX_LINE_BYTES`
    torn: bool = False  # the stream ends before a newline


def lines(stream: BinaryIO, start: int, seen: Callable[[bytes], object]) -> Iterator[Line]:
    """Split a stream at line feeds only: U+2028, U+2029 and U+0085 are text, a carriage return is JSON's white space.

    Args:
        stream: Read once, to its end, in chunks.
        start: The offset of its first byte in the source.
        seen: Told every chunk before the lines that end in it.
    """
    pieces: list[bytes] = []  # of a line that began in an earlier chunk; emptied when it grows too long
    held = 0
    while chunk := stream.read(CHUNK_BYTES):
        seen(chunk)
        *complete, rest = chunk.split(b"\n")
        for data in complete:
            held += len(data)
            end = start + held + 1
            if held > MAX_LINE_BYTES:
                yield Line(start, end, None)
            else:
                yield Line(start, end, b"".join((*pieces, data)) if pieces else data)
            start, held = end, 0
            pieces.clear()
        held += len(rest)
        if held > MAX_LINE_BYTES:
            pieces.clear()
        elif rest:
            pieces.append(rest)
    if held:
        yield Line(start, start + held, b"".join(pieces) if held <= MAX_LINE_BYTES else None, torn=True)
