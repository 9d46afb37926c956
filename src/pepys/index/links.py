"""What entries name beside their parents, as numbers under which the catalog finds them again.

A key is a checksum: it leads to the entries that may name something, and who follows it reads them again to be sure.
So relations cost an append the same whatever the history's size, and take little room (spec 3, "Relationships").
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from typing import Literal

from pepys.model.entry import Event

Kind = Literal["entry", "call"]
"""entry: a label, compaction or branch summary names it. call: a call has this id, or a result answers it."""


def key(kind: Kind, name: str) -> int:
    """The key of what is named."""
    return zlib.crc32(f"{kind}:{name}".encode("utf-8", "surrogatepass"))


def keys(event: Event) -> tuple[int, ...]:
    """The keys of all that *event*'s entry names."""
    entry = event.entry
    if not (entry.blocks or entry.target or entry.call or entry.also):
        return ()
    return tuple(dict.fromkeys(key(kind, name) for kind, name in _names(event)))


def _names(event: Event) -> Iterator[tuple[Kind, str]]:
    entry = event.entry
    for target in (entry.target, *entry.also):
        if target is not None:
            yield "entry", target
    if entry.call is not None:
        yield "call", entry.call
    for block in entry.blocks:
        if block.kind == "call" and block.call is not None:
            yield "call", block.call
