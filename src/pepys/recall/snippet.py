"""Snippets: a bounded window of the original text around the match."""

from __future__ import annotations

import re
from collections.abc import Sequence

from pepys.text import folded, token_spans


def snippet(text: str, anchor: int, chars: int) -> tuple[str, bool]:
    """A window of *chars* code points of *text*, and whether anything was cut.

    It begins a third of the window before *anchor*, is moved back at the end of the text, and has `…` at each cut side.
    """
    if len(text) <= chars:
        return text, False
    start = max(0, min(anchor - chars // 3, len(text) - chars))
    end = start + chars
    return ("…" if start else "") + text[start:end] + ("…" if end < len(text) else ""), True


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
