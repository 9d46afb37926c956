"""Entries to events: what an entry means, which parts of it can be searched, and its canonical text."""

from __future__ import annotations

from pepys.normalise.projection import arguments, event, text

__all__ = ["arguments", "event", "text"]
