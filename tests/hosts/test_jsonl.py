from __future__ import annotations

import io
import json
import math
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pepys.hosts.jsonl import CHUNK_BYTES, MAX_LINE_BYTES, Decode, Decoded, Line, bulk, decode, lines

DECODERS = {"light": decode, "bulk": bulk()}


@pytest.fixture(params=sorted(DECODERS))
def decoder(request: pytest.FixtureRequest) -> Decode:
    return DECODERS[request.param]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(codec=None)),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(st.characters(codec=None)), inner, max_size=4),
    max_leaves=12,
)


@given(st.dictionaries(st.text(), JSON, max_size=4) | JSON, st.booleans())
def test_both_decoders_give_the_same_for_any_value(value: Any, escaped: bool) -> None:
    line = json.dumps(value, ensure_ascii=escaped).encode("utf-8", "surrogatepass")

    light, fast = decode(line), DECODERS["bulk"](line)

    assert repr(light) == repr(fast)


@given(st.binary(max_size=60) | st.text('{}[]":,\\ud8dc0123eE+-.NanInfity\x00\ufeff\u2028 \r').map(str.encode))
@example(b'{"a":1e400}')
@example(b'{"a":-0}')
@example(b'{"a":1' + b"0" * 5000 + b"}")
@example(b'{"a":12345678901234567890123}')
@example(b"[" * 20_000 + b"]" * 20_000)
@example(b'{"a":"\xed\xa0\xbd"}')
def test_both_decoders_give_the_same_for_any_bytes(line: bytes) -> None:
    light, fast = decode(line), DECODERS["bulk"](line)

    assert repr(light) == repr(fast)


@given(st.binary(max_size=60).filter(bytes.strip))
def test_a_line_is_an_object_or_there_is_a_reason(line: bytes) -> None:
    decoded = decode(line)

    assert decoded.value is not None or decoded.codes


@pytest.mark.parametrize(
    ("line", "value", "codes"),
    [
        (b'{"a":1}\r', {"a": 1}, ()),
        (b' {"a":"\xe2\x80\xa8"}', {"a": "\u2028"}, ()),
        (b'\xef\xbb\xbf{"a":1}', {"a": 1}, ("byte_order_mark",)),
        (b"\xef\xbb\xbf", None, ("byte_order_mark",)),
        (b'{"a":"\xff!"}', {"a": "\ufffd!"}, ("invalid_utf8",)),
        (b'\0\0{"a":1}\0', {"a": 1}, ("nul_bytes",)),
        (b"\0\0\0", None, ("nul_run",)),
        (b'\0\0"a":1}', None, ("nul_run",)),
        (b'{"a":', None, ("malformed_record",)),
        (b'{"a":NaN}', None, ("malformed_record",)),
        (b'{"a":-Infinity}', None, ("malformed_record",)),
        (b"null", None, ("not_an_object",)),
        (b"17", None, ("not_an_object",)),
        (b"[{}]", None, ("not_an_object",)),
        (rb'{"a":"x\ud83d y"}', {"a": "x\ufffd y"}, ()),
        (rb'{"\uDE00":["\ud83d\ud83d\ude00"]}', {"\ufffd": ["\ufffd\U0001f600"]}, ()),
        (rb'{"a":"\\ud83d"}', {"a": "\\ud83d"}, ()),
        (rb'{"a":"\u0000\u001b"}', {"a": "\0\x1b"}, ()),
        (b'{"a":1e400}', {"a": math.inf}, ()),
        (b'{"a":1,"a":2}', {"a": 2}, ()),
    ],
)
def test_damage_is_repaired_or_named(decoder: Decode, line: bytes, value: Any, codes: tuple[str, ...]) -> None:
    decoded = decoder(line)

    assert decoded == Decoded(value, codes)


def split(data: bytes) -> list[Line]:
    return list(lines(io.BytesIO(data), 0, lambda _: None))


@given(st.lists(st.binary(max_size=20).map(lambda line: line.replace(b"\n", b"\r")), max_size=8), st.binary(max_size=5))
def test_lines_are_cut_at_line_feeds_and_cover_every_byte(complete: list[bytes], tail: bytes) -> None:
    tail = tail.replace(b"\n", b"\x85")
    data = b"".join(line + b"\n" for line in complete) + tail

    found = split(data)

    assert [line.data for line in found] == [*complete, *([tail] if tail else [])]
    assert [line.torn for line in found] == [False] * len(complete) + [True] * bool(tail)
    assert b"".join(data[line.start : line.end] for line in found) == data


def test_a_line_may_reach_over_many_chunks() -> None:
    long = b"x" * (3 * CHUNK_BYTES + 5)

    found = split(b"a\n" + long + b"\nb\n")

    assert [line.data for line in found] == [b"a", long, b"b"]
    assert found[1][:2] == (2, 3 + len(long))


@pytest.mark.parametrize("end", [b"\n", b""])
def test_a_line_over_the_limit_is_passed_over_without_being_held(end: bytes) -> None:
    too_long = MAX_LINE_BYTES + 1
    stream = _Zeros(too_long, end + b"b\n" if end else b"")

    held = list(lines(stream, 0, lambda _: None))  # type: ignore[arg-type]

    assert held[0] == Line(0, too_long + len(end), None, torn=not end)
    assert [line.data for line in held[1:]] == ([b"b"] if end else [])


def test_a_line_at_the_limit_is_held() -> None:
    found = list(lines(_Zeros(MAX_LINE_BYTES, b"\n"), 0, lambda _: None))  # type: ignore[arg-type]

    assert found[0].data is not None
    assert len(found[0].data) == MAX_LINE_BYTES


class _Zeros:
    """A stream of so many zeros and then some bytes."""

    def __init__(self, zeros: int, rest: bytes) -> None:
        self._zeros, self._rest = zeros, io.BytesIO(rest)

    def read(self, size: int) -> bytes:
        taken = min(size, self._zeros)
        self._zeros -= taken
        return b"0" * taken + self._rest.read(size - taken)
