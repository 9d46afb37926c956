"""What the index is asked for a query of events: a superset of what matches, which is then read and judged."""

from __future__ import annotations

import re

from pepys.events.language import Part, Query
from pepys.index.engines.base import Wanted
from pepys.text import CJK, plain, tokens

_WORD = re.compile(f"[^\\W_{CJK}]+")


def wanted(query: Query) -> tuple[Wanted, ...]:
    """What every match of *query* holds."""
    return tuple(map(_wanted, query.parts))


def _wanted(part: Part) -> Wanted:
    if part.cjk:
        return Wanted(part.words, part.cjk)
    # Words that touch without `_` between them, as in `e\u0301t\u00e9`, are one token in the index; then both differ.
    words, written = tuple(_WORD.findall(plain(part.text))), tuple(tokens(part.text))
    return Wanted(part.words, phrases=tuple(dict.fromkeys((words, written))))
