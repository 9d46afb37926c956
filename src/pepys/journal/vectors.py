"""Vectors as signed bytes, and the nearest ones of many, without a numeric library.

Importing one takes longer than the whole search may (`bench journal`). What it is needed for, whole numbers do: a
vector is scanned by the signs of its first 256 coordinates, thousands at a time in one number of arbitrary length, and
the few that are near are compared exactly.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from operator import mul

SIGN_BYTES = 32
_SIGNS = 8 * SIGN_BYTES

_SIGN = bytes(ord("0") + (byte < 128) for byte in range(256))
_BITS = bytes(byte.bit_count() for byte in range(256))
_AT_ONCE = 512  # rows; more of them no longer fit into the processor's nearest caches


def packed(values: Sequence[float]) -> bytes:
    """A vector of any length, as one in signed bytes: its direction is kept, its length is not."""
    most = max(map(abs, values), default=0)
    scale = 127 / most if most else 0.0
    return bytes([round(value * scale) & 255 for value in values])


def signs(vector: bytes) -> bytes:
    """The signs of a packed vector. The last one is left out, so that a sum of differences fits into a byte."""
    digits = vector[: _SIGNS - 1].translate(_SIGN).ljust(_SIGNS, b"0")
    return int(digits, 2).to_bytes(SIGN_BYTES, "big")


def nearest(query: bytes, rows: bytes, limit: int) -> list[int]:
    """The numbers of the *limit* rows whose signs differ least from *query*'s, nearest first.

    Args:
        query: Of `signs`.
        rows: Of `signs`, one after the other.
        limit: At most this many.
    """
    differences = _differences(query, rows)
    found: list[int] = []
    for difference in range(_SIGNS):
        at = differences.find(difference)
        while at >= 0:
            if len(found) == limit:
                return found
            found.append(at)
            at = differences.find(difference, at + 1)
    return found


def _differences(query: bytes, rows: bytes) -> bytes:
    """In how many signs each row differs, a byte a row."""
    found = []
    step = SIGN_BYTES * _AT_ONCE
    repeated = query * _AT_ONCE
    for start in range(0, len(rows), step):
        block = rows[start : start + step]
        size = len(block)
        differing = int.from_bytes(block, "little") ^ int.from_bytes(repeated[:size], "little")
        counts = int.from_bytes(differing.to_bytes(size, "little").translate(_BITS), "little")
        # Every byte takes up the sum of those after it: of one, then three, until a row's first byte has all of its.
        for shift in (8, 16, 32, 64, 128):
            counts += counts >> shift
        found.append(counts.to_bytes(size + 1, "little")[:size:SIGN_BYTES])
    return b"".join(found)


def cosine(one: bytes, two: bytes) -> float:
    """The cosine of the angle between two packed vectors of one space; 0 where one of them is nothing."""
    return cosines(one, [two])[0]


def cosines(one: bytes, others: Sequence[bytes]) -> list[float]:
    """The cosines of the angles between a packed vector and others of its space."""
    left = memoryview(one).cast("b")
    length = _product(left, left)
    found = []
    for other in others:
        right = memoryview(other).cast("b")
        lengths = math.sqrt(length * _product(right, right))
        found.append(_product(left, right) / lengths if lengths else 0.0)
    return found


def _product(one: memoryview[int], two: memoryview[int]) -> int:
    return sum(map(mul, one, two))
