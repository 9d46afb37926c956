"""Snippets: a bounded window of the original text around the match."""

from __future__ import annotations

import re
from collections.abc import Sequence

from pepys.text import folded, token_spans


def window(length: int, anchor: int, chars: int) -> tuple[int, int]:
    """Where *chars* code points of a text of *length* are cut out.

    They begin a third of the window before *anchor*, and are moved back at the end of the text.
    """
    start = max(0, min(anchor - chars // 3, length - chars))
    return start, min(start + chars, length)


def cut(text: str, start: int, end: int) -> str:
    """The part of *text*, with `…` at each side that is cut."""
    return ("…" if start else "") + text[start:end] + ("…" if end < len(text) else "")


def term_anchor(text: str, terms: Sequence[str]) -> int:
    """Where the longest term stands in *text* as a token (ties alphabetical); 0 where none does."""
    ranked = sorted(terms, key=lambda term: (-len(term), term))
    if text.isascii():
        for term in ranked:
            match = re.search(rf"(?<!\w){re.escape(term)}(?!\w)", text, re.IGNORECASE)
            if match:
                return match.start()
        return 0
    first: dict[str, int] = {}
    wanted = frozenset(terms)
    for token, start, _ in token_spans(text):
        if token in wanted and token not in first:
            first[token] = start
            if token == ranked[0]:
                break
    return next((first[term] for term in ranked if term in first), 0)


def phrase_anchor(text: str, phrase: str) -> int:
    """Where *phrase* begins in the raw *text*, which holds it in folded form; 0 where it does not."""
    place = folded(text).find(folded(phrase))
    if place <= 0 or text.isascii():
        return max(place, 0)
    # Folding can change lengths: find the shortest raw prefix whose folded form reaches the place.
    low, high = 0, len(text)
    while low < high:
        middle = (low + high) // 2
        if len(folded(text[:middle])) < place:
            low = middle + 1
        else:
            high = middle
    return low
