"""Snippets and previews: bounded plain text of a fragment, never paraphrased (spec 3, "Presentation and fidelity")."""

from __future__ import annotations

from collections.abc import Sequence

from pepys.events.fragments import Fragment, runs
from pepys.events.language import Query
from pepys.model.context import Context
from pepys.recall import shown
from pepys.redaction import Masked

SNIPPET_CHARS = 240
PREVIEW_CHARS = 120

OMITTED = "\n[…]\n"
"""What stands in a snippet for text that is too much to be searched. No word is in it, so that nothing matches it."""


def snippet(fragment: Fragment, query: Query, context: Context) -> tuple[str, list[list[int]], int]:
    """A window of the fragment around its first match, white space collapsed; where in it the query stands; its masks.

    It begins a third of its length before the match. Spans are code points, half-open.
    """
    # Masks are as long as what they hide, so that the place of a match is the same in both.
    found = _marked(shown.text(fragment.text, context), fragment.gaps)
    whole, start = collapsed(found.text), 0
    if len(whole) > SNIPPET_CHARS:
        spans = _spans(OMITTED.join(runs(fragment.text, fragment.gaps)), query, fragment)
        anchor = _place(found.text, spans[0][0]) if spans else 0
        start = max(0, min(anchor - SNIPPET_CHARS // 3, len(whole) - SNIPPET_CHARS))
    window = whole[start : start + SNIPPET_CHARS]
    return window, [list(span) for span in _spans(window, query, fragment)], _masks(found, start, start + len(window))


def preview(text: str, context: Context) -> tuple[str, int]:
    """The beginning of *text*, white space collapsed, and how many masks are in it."""
    found = shown.text(text, context)
    # White space is rarely most of a text: what a window needs is found in a few times its length.
    made = collapsed(found.text[: PREVIEW_CHARS * 20])[:PREVIEW_CHARS]
    return made, _masks(found, 0, len(made))


def _marked(found: Masked, gaps: Sequence[tuple[int, int]]) -> Masked:
    """Masked text with `OMITTED` in place of its gaps, and the masks that are left."""
    if not gaps:
        return found
    spans = []
    for first, last in found.spans:
        if not any(start < last and first < end for start, end in gaps):
            shift = sum(len(OMITTED) - (end - start) for start, end in gaps if end <= first)
            spans.append((first + shift, last + shift))
    return Masked(OMITTED.join(runs(found.text, gaps)), tuple(spans))


def _spans(text: str, query: Query, fragment: Fragment) -> list[tuple[int, int]]:
    """Where the query stands in *text*, and in nothing that crosses what is left out."""
    if not fragment.gaps:
        return list(query.spans(text))
    found: list[tuple[int, int]] = []
    at = 0
    for run in text.split(OMITTED.strip()):
        found += ((at + start, at + end) for start, end in query.spans(run))
        at += len(run) + len(OMITTED.strip())
    return found


def _place(text: str, at: int) -> int:
    """Where the character *at* of *text* stands once white space is collapsed."""
    return len(collapsed(text[:at] + "|")) - 1


def _masks(found: Masked, start: int, end: int) -> int:
    """How many masks reach into a window of the collapsed text."""
    return sum(_place(found.text, first) < end and _place(found.text, last - 1) >= start for first, last in found.spans)


def collapsed(text: str) -> str:
    """*text* with every run of white space as one space, and none around it."""
    return " ".join(text.split())
