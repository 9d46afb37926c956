"""What the engines are given: one document a record, and the number that leads back to it."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from typing import NamedTuple

from pepys import normalise
from pepys.index.policy import Policy
from pepys.model.entry import Event, Field
from pepys.normalise.touched import touched

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


ASIDE = "aside"
"""The trait of a document that is no record: only event search finds it."""

CHILD = "child"
"""The trait of a record that was typed out of an entry: event search knows entries only."""

ERROR = "error"
"""The trait of an event that reports an error somewhere."""


class Document(NamedTuple):
    """One record, or another event with text, as the engines see it."""

    place: Place
    role: str | None
    tool: str | None
    time: int | None  # ms since the epoch; None passes every time filter
    passages: tuple[tuple[Field, str], ...]
    ref: str | None = None
    provider: str | None = None
    action: str | None = None
    outcome: str | None = None
    files: tuple[str, ...] = ()  # touched; not searched
    touched: tuple[str, ...] = ()  # distinct components of the paths that an event read or changed (spec 3)
    traits: tuple[str, ...] = ()  # `ASIDE`, `CHILD`, `ERROR`, and the type of an entry that is no message


def document(place: Place, event: Event, policy: Policy, cwd: str | None = None) -> Document:
    """The document of *event* under the policy; relative paths in it are taken from *cwd*, the session's."""
    operation = (event.ref, event.provider, event.action, event.outcome)
    passages = tuple(_passages(event, policy))
    return Document(
        place,
        event.role,
        event.tool,
        event.entry.time,
        passages,
        *operation,
        event.files,
        _components(place, event, cwd),
        tuple(_traits(place, event)),
    )


def _components(place: Place, event: Event, cwd: str | None) -> tuple[str, ...]:
    entry = event.entry
    if place.child or not (
        entry.details or any(block.arguments for block in entry.blocks) or entry.role == "fileMention"
    ):
        return ()
    return tuple(dict.fromkeys(name for file in touched(entry, cwd) for name in components(file.path)))


def components(path: str) -> list[str]:
    """The names along a path."""
    return [name for name in path.split("/") if name]


def _traits(place: Place, event: Event) -> Iterator[str]:
    entry = event.entry
    if place.child:
        yield CHILD
        return
    if not event.record:
        yield ASIDE
    if entry.is_error or entry.exit_code or any(block.kind == "error" for block in entry.blocks):
        yield ERROR
    if entry.type != "message":
        yield entry.type


def text(event: Event, policy: Policy) -> str:
    """What of the canonical text of *event* is searchable under the policy."""
    return normalise.text(event, thinking=policy.thinking, output=policy.output)[: policy.entry_chars]


def field_at(event: Event, policy: Policy, offset: int) -> Field:
    """The kind of text that stands at *offset* of `text`."""
    begun = False
    for passage in event.passages:
        if (passage.field == "thinking" and not policy.thinking) or (passage.field == "output" and not policy.output):
            continue
        if passage.field == "aside":
            continue
        offset -= len(passage.lead) * begun + len(passage.text)
        if offset < 0:
            return passage.field
        begun = begun or bool(passage.text)
    return "label"


def _passages(event: Event, policy: Policy) -> Iterator[tuple[Field, str]]:
    room = policy.entry_chars
    begun = False
    for passage in event.passages:
        if (passage.field == "thinking" and not policy.thinking) or (passage.field == "output" and not policy.output):
            continue
        if room is not None:
            room -= len(passage.lead) * begun
            if room <= 0:
                return
        begun = begun or bool(passage.text)
        if passage.text:
            yield passage.field, passage.text[:room]
        if room is not None:
            room -= len(passage.text)


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
    """CRC-32 of the whole text of a record, or of what else event search finds in an entry."""
    whole = normalise.text(event, thinking=True, output=True)
    whole += "".join(passage.text for passage in event.passages if passage.field == "aside")
    return zlib.crc32(whole.encode("utf-8", "surrogatepass"))
