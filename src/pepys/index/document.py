"""What the engines are given: one document a record, and the number that leads back to it."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from typing import NamedTuple

from pepys import normalise
from pepys.model.entry import Event, Field

MAX_PASSAGE_CHARS = 1 << 20
"""Text beyond this is searchable in its head and tail only, with the reason `oversized_text`."""

_POSITION_BITS, _CHILD_BITS = 28, 12
GENERATION_SHIFT = _POSITION_BITS + _CHILD_BITS
"""A packed place shifted right by this is its generation."""


class Place(NamedTuple):
    """A record's place in the index. Internal: addresses that callers see are (session, entry)."""

    generation: int  # one reading of one source; a rewritten source gets a new generation
    position: int  # append position among the entries of the source
    child: int  # 0 for the entry itself, from 1 for the records typed out of it

    def packed(self) -> int:
        """The place in 64 bits, in the same order."""
        return (self.generation << _POSITION_BITS | self.position) << _CHILD_BITS | self.child


def unpacked(number: int) -> Place:
    """The place that `Place.packed` gave *number* for."""
    return Place(
        number >> GENERATION_SHIFT,
        number >> _CHILD_BITS & (1 << _POSITION_BITS) - 1,
        number & (1 << _CHILD_BITS) - 1,
    )


class Policy(NamedTuple):
    """What may enter the index (spec 1, "Local-cache privacy"). A change of policy rebuilds it."""

    thinking: bool = False
    output: bool = True

    def __str__(self) -> str:
        return f"thinking:{int(self.thinking)};tool-output:{int(self.output)}"


class Document(NamedTuple):
    """One record as the engines see it."""

    place: Place
    role: str | None
    tool: str | None
    time: int | None  # ms since the epoch; None passes every time filter
    passages: tuple[tuple[Field, str], ...]
    ref: str | None = None
    provider: str | None = None
    action: str | None = None
    outcome: str | None = None


def document(place: Place, event: Event, *, thinking: bool, output: bool) -> Document:
    """The document of *event* under the privacy policy."""
    passages = tuple(
        (passage.field, passage.text)
        for passage in event.passages
        if passage.text and (thinking or passage.field != "thinking") and (output or passage.field != "output")
    )
    operation = (event.ref, event.provider, event.action, event.outcome)
    return Document(place, event.role, event.tool, event.entry.time, passages, *operation)


def pieces(text: str) -> Iterator[str]:
    """What of *text* is searchable: all of it, or its head and its tail.

    The two are separate values in the engine, so that no phrase crosses what lies between them.
    """
    if len(text) <= MAX_PASSAGE_CHARS:
        yield text
    else:
        half = MAX_PASSAGE_CHARS // 2
        yield text[:half]
        yield text[-half:]


def oversized(event: Event) -> bool:
    """Whether some text of *event* is only partly searchable."""
    return any(len(passage.text) > MAX_PASSAGE_CHARS for passage in event.passages)


def text_crc(event: Event) -> int:
    """CRC-32 of the whole text of a record."""
    whole = normalise.text(event, thinking=True, output=True)
    return zlib.crc32(whole.encode("utf-8", "surrogatepass"))
