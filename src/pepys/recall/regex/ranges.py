"""Sets of code points, as sorted, disjoint, inclusive ranges."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

Ranges = tuple[tuple[int, int], ...]

LAST = 0x10FFFF

ALL: Ranges = ((0, LAST),)


def union(*some: Iterable[tuple[int, int]]) -> Ranges:
    """All code points of *some*, whose ranges may overlap."""
    merged: list[tuple[int, int]] = []
    for first, last in sorted(each for one in some for each in one):
        if merged and first <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(last, merged[-1][1]))
        else:
            merged.append((first, last))
    return tuple(merged)


def complement(ranges: Ranges) -> Ranges:
    """All code points that are not in *ranges*."""
    return tuple(_gaps(ranges))


def _gaps(ranges: Ranges) -> Iterator[tuple[int, int]]:
    start = 0
    for first, last in ranges:
        if start < first:
            yield start, first - 1
        start = last + 1
    if start <= LAST:
        yield start, LAST


def of(codes: Iterable[int]) -> Ranges:
    """The set of single code points."""
    return union((code, code) for code in codes)


def holds(ranges: Ranges, code: int) -> bool:
    """Whether *code* is in *ranges*."""
    return any(first <= code <= last for first, last in ranges)
