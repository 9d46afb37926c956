"""`journal.write`: what an agent, or a person, decides to remember."""

from __future__ import annotations

import re
from unicodedata import category

from pepys.errors import InvalidArgument
from pepys.journal import scope, store
from pepys.journal.origin import origin
from pepys.journal.runtime import Runtime
from pepys.model.context import Context
from pepys.model.journal import WriteRequest
from pepys.spelling import counted


def write(context: Context, runtime: Runtime, request: WriteRequest) -> dict[str, object]:
    """Append one entry to today's file. The index follows; the stable snapshot does not (spec 4).

    Raises:
        InvalidArgument: The content is empty.
        StoreCommandFailed: The store command gave no usable answer; nothing is written.
        SessionNotPersisted: The caller names a session that an anchor could not point at; nothing is written.
        StoreUnavailable: The working directory does not exist, or the file cannot be written.
    """
    if not _says_something(request.content):
        raise InvalidArgument("content is empty: there is nothing to remember.")
    found = scope.to_write(context)
    anchor = origin(context)
    path = store.append(found.store, context.moment, request.content, anchor)
    runtime.written(scope.place(found, context))
    halves = len(store.HALVES.findall(request.content))
    what = counted(halves, "half of a character", "halves of characters")
    lost = f" ({what}, which no file can hold, stored as U+FFFD)" if halves else ""
    return {"text": f"Memory saved to {path}{lost}", "file": path, "anchored": anchor is not None}


_UNSEEN = ("Zs", "Zl", "Zp", "Cc", "Cf")  # separators, controls, and formats such as a space without width

_MARKER = re.compile(r"(?:[-*+]|\d+[.)])?")


def _says_something(content: str) -> bool:
    """Whether there is more in *content* than the marks of empty items, white space, and what cannot be seen."""
    lines = ("".join(char for char in line if category(char) not in _UNSEEN) for line in content.splitlines())
    return any(not _MARKER.fullmatch(line) for line in lines)
