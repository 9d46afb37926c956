"""`journal.forget`: one entry leaves its file, the index and every snapshot; no copy is kept (spec 4, "Redaction").

Session transcripts and git history are outside of what can be promised. The answer that shows what was removed is the
only record; that its exchange is not captured again rests on the ids of `forgotten`.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
from datetime import date
from pathlib import Path

from pepys.errors import AmbiguousMemory, IndexUnavailable, InvalidArgument, MemoryChanged, MemoryNotFound
from pepys.journal import capture, entries, forgotten, live, scope, store
from pepys.journal.base import BackendMissing, Chunk, NeverIndexed, Place
from pepys.journal.entries import Block
from pepys.journal.recall import named
from pepys.journal.runtime import Runtime
from pepys.model.context import Context
from pepys.model.journal import ForgetRequest
from pepys.paths import make_private


def forget(context: Context, runtime: Runtime, request: ForgetRequest) -> dict[str, object]:
    """Remove exactly one entry, or one compaction's block.

    Raises:
        InvalidArgument: It is not addressed by a chunk hash alone or by date and time together; nothing was changed.
        MemoryNotFound: There is no such entry.
        AmbiguousMemory: There are several; nothing was changed.
        MemoryChanged: The file is being changed; nothing was changed.
        IndexUnavailable: A chunk hash cannot be looked up; nothing was changed.
        StoreUnavailable: The file cannot be read or written; nothing was changed.
        StoreCommandFailed: The store command gave no usable answer.
    """
    by_hash = _by_hash(request)
    found = scope.of(context)
    place = scope.place(found, context)
    if by_hash:
        try:
            path, block = _of_chunk(context, runtime, place, request.chunk_hash or "")
        except BackendMissing as error:
            raise IndexUnavailable(
                f"Nothing was removed: a chunk_hash needs the index ({error.reason}).",
                hint=f"Address the entry by its date and time, which need none. {error.steps}",
            ) from error
    else:
        path, block = _of_time(place, request.date or "", request.time or "")
    # Before it goes: whoever is interrupted in between may not find that a capture has brought it back.
    remembered = _remembered(context, block)
    gone = store.remove(path, block)
    pending = _pending(runtime, place)
    _mark(place)
    for session in live.of_store(place.store):
        session.snapshot = None  # a checkpoint: made anew before the next prompt
    what = "Memory entry" if block.kind == "entry" else "Memory compact block"
    with_file = " (the file had no other entries and was deleted)" if gone else ""
    later = "".join(
        f"\n\n{name}: {why}" for name, why in (("purge_pending", pending), ("may_return", remembered)) if why
    )
    return {
        "text": f"{what} redacted from {path}{with_file}:\n\n{block.text}{later}",
        "file": path,
        "removed": block.text,
        "kind": block.kind,
        "fileDeleted": gone,
        "purgePending": bool(pending),
        **({"mayReturn": True} if remembered else {}),
    }


def _remembered(context: Context, block: Block) -> str:
    """Have the exchange behind *block* never captured again; "" once that is sure, else why it is not."""
    anchor = capture.origin_of(block)
    if anchor is None:
        return ""
    try:
        forgotten.add(context.env, anchor)
    except OSError as error:
        file = forgotten.path(context.env)
        return f"{file} cannot be written ({error.strerror or error}): a capture of the session can bring it back."
    return ""


def _by_hash(request: ForgetRequest) -> bool:
    given = (request.chunk_hash is not None, request.date is not None, request.time is not None)
    if given == (True, False, False):
        if not (request.chunk_hash or "").strip():
            raise InvalidArgument("chunk_hash is empty.")
        return True
    if given != (False, True, True):
        raise InvalidArgument("Address one entry: by chunk_hash alone, or by date and time together.")
    try:
        valid = date.fromisoformat(request.date or "").isoformat() == request.date
    except ValueError:
        valid = False
    if not valid:
        raise InvalidArgument(f"date must be a day as YYYY-MM-DD, not {request.date!r}.")
    if not re.fullmatch(r"([01]\d|2[0-3]):[0-5]\d", request.time or "", re.ASCII):
        raise InvalidArgument(f"time must be HH:MM, not {request.time!r}.")
    return False


def _of_time(place: Place, day: str, time: str) -> tuple[str, Block]:
    path = store.day_file(place.store, date.fromisoformat(day))
    text = store.read(path)
    if not text:
        raise MemoryNotFound(f"There is no memory of {day}: {path} does not exist, or is empty.")
    found = [block for block in entries.blocks(text) if block.kind == "entry" and block.time == time]
    if not found:
        raise MemoryNotFound(f"{path} has no entry at {time}.")
    if len(found) > 1:
        raise AmbiguousMemory(f"{path} has {len(found)} entries at {time}.", hint="Address one by chunk_hash.")
    return path, found[0]


def _of_chunk(context: Context, runtime: Runtime, place: Place, id_: str) -> tuple[str, Block]:
    chunk = named(runtime, place, id_, context)
    inside, path = os.path.realpath(place.store), os.path.realpath(chunk.path)
    if not path.startswith(inside + os.sep):
        raise MemoryNotFound(f"{chunk.path} does not lie in the store {place.store}; nothing of it is removed.")
    text = store.read(chunk.path)
    if not text:
        raise MemoryNotFound(f"{chunk.path} is gone; the index follows with the next search.")
    return chunk.path, _block(chunk, text)


def _block(chunk: Chunk, text: str) -> Block:
    """The one block that holds *chunk*: where the index saw it, else where its text stands now."""
    wanted = "\n".join(line.rstrip() for line in entries.split(chunk.text.strip()))
    holding = [block for block in entries.blocks(text) if _holds(block, wanted)]
    at = chunk.first - 1
    if there := [block for block in holding if block.first <= at < block.last]:
        return there[0]
    if len(holding) == 1:
        return holding[0]
    if holding:
        raise AmbiguousMemory(f"{chunk.path} has {len(holding)} entries that hold this text, and is being changed.")
    if wanted in "\n".join(line.rstrip() for line in entries.split(text)):
        raise MemoryNotFound(f"The chunk at {chunk.path}:{chunk.first} is no memory entry, but text of its own.")
    raise MemoryChanged(f"{chunk.path} changed since it was indexed.")


def _holds(block: Block, wanted: str) -> bool:
    return wanted in "\n".join(line.rstrip() for line in block.text.split("\n"))


def _pending(runtime: Runtime, place: Place) -> str:
    """Take what was removed out of the index; "" once that is done, else what prevents it and what ends that."""
    try:
        if runtime.index(place).purge():
            return ""
    except NeverIndexed:
        return ""
    except BackendMissing as error:
        # What cannot be rewritten can still be removed: everything there is derived.
        shutil.rmtree(place.directory, ignore_errors=True)
        if not os.path.lexists(place.directory):
            return ""
        return (
            f"the removed text may still lie in the index {place.directory}, which cannot be changed "
            f"({error.__cause__ or error.reason}); make it writable, or remove it."
        )
    return "a reader keeps the index open; the next call removes its last traces."


def _mark(place: Place) -> None:
    """Tell other processes that show snapshots of this store. Nothing of what was removed is told."""
    path = Path(scope.redactions(place))
    with contextlib.suppress(OSError):  # where nothing can be written, nobody can be told
        make_private(path.parent)
        path.touch(mode=0o600)
        os.utime(path)
