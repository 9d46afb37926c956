"""Entries to events: what an entry means, what of it can be searched, its canonical text, the records it carries."""

from __future__ import annotations

from pepys.normalise.carriers import children
from pepys.normalise.details import Children
from pepys.normalise.passages import arguments, event, text

__all__ = ["Children", "arguments", "children", "event", "text"]
