"""Snippets and previews: bounded plain text of a fragment, never paraphrased (spec 3, "Presentation and fidelity")."""

from __future__ import annotations

from pepys.events.fragments import Fragment
from pepys.events.language import Query
from pepys.model.context import Context
from pepys.recall import shown
from pepys.redaction import Masked

SNIPPET_CHARS = 240
PREVIEW_CHARS = 120


def snippet(fragment: Fragment, query: Query, context: Context) -> tuple[str, list[list[int]], int]:
    """A window of the fragment around its first match, white space collapsed; where in it the query stands; its masks.

    It begins a third of its length before the match. Spans are code points, half-open.
    """
    # Masks are as long as what they hide, so that the place of a match is the same in both.
    found = shown.text(fragment.text, context)
    whole, start = collapsed(found.text), 0
    if len(whole) > SNIPPET_CHARS:
        spans = query.spans(fragment.text)
        anchor = _place(found.text, spans[0][0]) if spans else 0
        start = max(0, min(anchor - SNIPPET_CHARS // 3, len(whole) - SNIPPET_CHARS))
    window = whole[start : start + SNIPPET_CHARS]
    return window, [list(span) for span in query.spans(window)], _masks(found, start, start + len(window))


def preview(text: str, context: Context) -> tuple[str, int]:
    """The beginning of *text*, white space collapsed, and how many masks are in it."""
    found = shown.text(text, context)
    # White space is rarely most of a text: what a window needs is found in a few times its length.
    made = collapsed(found.text[: PREVIEW_CHARS * 20])[:PREVIEW_CHARS]
    return made, _masks(found, 0, len(made))


def _place(text: str, at: int) -> int:
    """Where the character *at* of *text* stands once white space is collapsed."""
    return len(collapsed(text[:at] + "|")) - 1


def _masks(found: Masked, start: int, end: int) -> int:
    """How many masks reach into a window of the collapsed text."""
    return sum(_place(found.text, first) < end and _place(found.text, last - 1) >= start for first, last in found.spans)


def collapsed(text: str) -> str:
    """*text* with every run of white space as one space, and none around it."""
    return " ".join(text.split())
