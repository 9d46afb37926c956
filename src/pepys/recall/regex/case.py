"""Which code points are one when case is ignored, as JavaScript's flags `iu` have it.

That is simple case folding, one code point for one: `s` is the long s, `k` the Kelvin sign, but `ß` is not `ss`, and
the Turkish letters i are only themselves. Code points have one simple folding exactly if they have one full folding.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping
from functools import cache

from pepys.recall.regex.ranges import Ranges, of, union

# Between these there are ideographs and Hangul, and beyond them more: none of them has case (a test looks at all).
_SCRIPTS_WITH_CASE = (range(0x3400), range(0xA640, 0xAC00), range(0xFB00, 0x1F000))


@cache
def cased() -> Mapping[int, tuple[int, ...]]:
    """Every code point that equals another one, with all that are equal to it, itself included."""
    unfolded: dict[str, list[int]] = {}
    for code in (code for codes in _SCRIPTS_WITH_CASE for code in codes):
        char = chr(code)
        fold = char.casefold()
        if fold != char:
            unfolded.setdefault(fold, []).append(code)
    return dict(_classes(unfolded))


def _classes(unfolded: Mapping[str, list[int]]) -> Iterator[tuple[int, tuple[int, ...]]]:
    for fold, codes in unfolded.items():
        equal = tuple(sorted({*codes, ord(fold)} if len(fold) == 1 else codes))
        if len(equal) > 1:
            yield from ((code, equal) for code in equal)


def equal(code: int) -> tuple[int, ...]:
    """All code points that match *code*, itself included."""
    return cased().get(code, (code,))


def closed(ranges: Ranges) -> Ranges:
    """*ranges* and all that equals one of their code points."""
    codes = _ordered()
    within = (codes[bisect_left(codes, first) : bisect_right(codes, last)] for first, last in ranges)
    return union(ranges, of(other for some in within for code in some for other in equal(code)))


@cache
def _ordered() -> list[int]:
    return sorted(cased())
