"""The message of a model that makes the call that is answered, in the caller's own session: no call finds itself."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from pepys.index import links
from pepys.index.document import Place
from pepys.index.source import Row, Source
from pepys.index.view import View


def enclosing(call: str | None) -> Iterator[str]:
    """A call and those that it is made within: hosts number what a program calls, as `<call>/1` and `<call>/1/2`."""
    while call:
        yield call
        outer, _, number = call.rpartition("/")
        call = outer if number.isdecimal() else None


def named(view: View, source: Source, call: str) -> list[int]:
    """The positions of the entries that name a call."""
    return [position for _, position in view.linked([source], links.key("call", call))]


def rows(view: View, source: Source, positions: Iterable[int]) -> list[Row]:
    """The entries at *positions*."""
    found = (view.row(Place(source.generation, position, 0)) for position in positions)
    return [row for row in found if row is not None]


def messages(view: View, source: Source, call: str) -> list[Row]:
    """The model's messages with a call, in source order. A result names the call too, and is none of them."""
    return [row for row in rows(view, source, named(view, source, call)) if row.role == "assistant"]
