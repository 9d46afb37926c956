"""`journal.write`: what an agent, or a person, decides to remember."""

from __future__ import annotations

from pepys.errors import InvalidArgument
from pepys.journal import scope, store
from pepys.journal.origin import origin
from pepys.journal.runtime import Runtime
from pepys.model.context import Context
from pepys.model.journal import WriteRequest


def write(context: Context, runtime: Runtime, request: WriteRequest) -> dict[str, object]:
    """Append one entry to today's file. The index follows; the stable snapshot does not (spec 4).

    Raises:
        StoreCommandFailed: The store command gave no usable answer; nothing is written.
        SessionNotPersisted: The caller names a session that an anchor could not point at; nothing is written.
        StoreUnavailable: The working directory does not exist, or the file cannot be written.
    """
    if not request.content.strip():
        raise InvalidArgument("content is empty: there is nothing to remember.")
    found = scope.to_write(context)
    anchor = origin(context)
    path = store.append(found.store, context.moment, request.content, anchor)
    runtime.written(scope.place(found, context))
    halves = len(store.HALVES.findall(request.content))
    lost = f" ({halves} halves of characters, which no file can hold, were stored as U+FFFD)" if halves else ""
    return {"text": f"Memory saved to {path}{lost}", "file": path, "anchored": anchor is not None}
