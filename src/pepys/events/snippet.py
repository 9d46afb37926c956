"""Snippets and previews: bounded plain text of a fragment, never paraphrased (spec 3, "Presentation and fidelity")."""

from __future__ import annotations

from pepys.events.fragments import Fragment
from pepys.events.language import Query

SNIPPET_CHARS = 240
PREVIEW_CHARS = 120


def snippet(fragment: Fragment, query: Query) -> tuple[str, list[list[int]]]:
    """A window of the fragment around its first match, white space collapsed, and where in it the query stands.

    It begins a third of its length before the match. Spans are code points, half-open.
    """
    whole = collapsed(fragment.text)
    if len(whole) > SNIPPET_CHARS:
        for text in fragment.texts:
            found = collapsed(text)
            spans = query.spans(found)
            if spans:
                start = max(0, min(spans[0][0] - SNIPPET_CHARS // 3, len(found) - SNIPPET_CHARS))
                whole = found[start : start + SNIPPET_CHARS]
                break
        whole = whole[:SNIPPET_CHARS]
    return whole, [list(span) for span in query.spans(whole)]


def preview(text: str) -> str:
    """The beginning of *text*, white space collapsed."""
    # White space is rarely most of a text: what a window needs is found in a few times its length.
    return collapsed(text[: PREVIEW_CHARS * 20])[:PREVIEW_CHARS]


def collapsed(text: str) -> str:
    """*text* with every run of white space as one space, and none around it."""
    return " ".join(text.split())
