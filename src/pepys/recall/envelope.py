"""The bounds of an answer, and the calls that go on from it."""

from __future__ import annotations

import json
from bisect import bisect_right
from dataclasses import fields

from pepys.model.query import EntryRange, ExpandRequest, RecallRequest
from pepys.spelling import camel

ENVELOPE_CHARS = 30_000
"""Code points of the compact JSON of a whole answer, non-ASCII unescaped."""


MAX_METADATA_CHARS = 512


def size(answer: object) -> int:
    """How much of the envelope *answer* takes."""
    return len(json.dumps(answer, ensure_ascii=False, separators=(",", ":")))


def prefix(text: str, room: int) -> str:
    """The longest beginning of *text* that takes at most *room* of the envelope; escapes take more than they show."""
    quotes = size("")
    lengths = range(1, len(text) + 1)
    return text[: bisect_right(lengths, room + quotes, key=lambda length: size(text[:length]))]


def short(text: str | None) -> str | None:
    """Metadata that cannot fill the envelope."""
    return text if text is None or len(text) <= MAX_METADATA_CHARS else text[:MAX_METADATA_CHARS] + "…"


def call(ref: str, request: RecallRequest | ExpandRequest) -> dict[str, object]:
    """A call token: *request* with everything that is not at its default, under the specs' names."""
    args: dict[str, object] = {}
    for item in fields(request):
        value = getattr(request, item.name)
        if value != item.default:
            args[camel(item.name)] = _plain(value)
    return {"ref": ref, "args": args}


def _plain(value: object) -> object:
    if isinstance(value, EntryRange):
        return {"first": value.first, "last": value.last}
    return list(value) if isinstance(value, tuple) else value
