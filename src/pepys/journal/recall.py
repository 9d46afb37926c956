"""The first two layers of recall: chunks that bear on a query, and the section behind one with its anchor."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from pepys.errors import InvalidArgument, MemoryNotFound, StoreUnavailable
from pepys.journal import entries, fan_out, scope, store
from pepys.journal.base import BackendMissing, Chunk, Hit, NeverIndexed, Place
from pepys.journal.constants import PROJECT_INDEX_BUDGET_MS
from pepys.journal.entries import Anchor
from pepys.journal.fan_out import Project
from pepys.journal.files import linked
from pepys.journal.runtime import Runtime
from pepys.model.context import Context
from pepys.model.journal import ExpandRequest, SearchRequest
from pepys.spelling import counted

Json = dict[str, Any]

CATCHING_UP = "The index is still being built: more may be found by the next search."


def search(context: Context, runtime: Runtime, request: SearchRequest) -> Json:
    """The chunks that bear on a query, best first. Without a backend: what to do about it, not an error.

    Raises:
        InvalidArgument: The query is blank, or a search over all projects has no usable scan roots.
        StoreCommandFailed: The store command gave no usable answer.
    """
    if not request.query.strip():
        raise InvalidArgument("query is empty.")
    here = scope.of(context)
    try:
        if request.scope == "all":
            return _across(context, runtime, request, fan_out.projects(context, here))
        found = _found(runtime, scope.place(here, context), request, budget_s(context))
    except BackendMissing as error:
        return {**unavailable(error), "hits": []}
    except NeverIndexed:
        found = _Found([], pending=False)
    if found.hits:
        text = f"{counted(len(found.hits), 'memory chunk')}, best first:\n\n{printed(found.hits)}"
    else:
        text = f'No memories found for "{request.query}".'
    unread = _unread(here.store)
    return {
        "text": "\n\n".join((text, *([CATCHING_UP] if found.pending else []), *not_read(unread))),
        "hits": [as_json(hit) for hit in found.hits],
        **({"pending": True} if found.pending else {}),
        **({"unread": unread} if unread else {}),
    }


def expand(context: Context, runtime: Runtime, request: ExpandRequest) -> Json:
    """The whole section behind a chunk hash, as the file has it now, and where it comes from.

    Raises:
        MemoryNotFound: No chunk has this hash, its file is gone, or *project* holds no store.
        StoreUnavailable: No file that can be read has it, and some cannot be read.
        StoreCommandFailed: The store command gave no usable answer.
    """
    here = scope.of(context)
    if request.project:
        place = fan_out.place(os.path.normpath(os.path.join(context.cwd, request.project)), context, here)
    else:
        place = scope.place(here, context)
    try:
        found = section(runtime, place, request.chunk_hash, context)
    except BackendMissing as error:
        return unavailable(error)
    text = f"{found.path}:{found.first}-{found.last} | {found.heading}\n\n{found.text}"
    anchor = found.anchor
    if anchor:
        text += f"\n\norigin: session {anchor.session} entry {anchor.turn}\ntranscript: {anchor.file()}"
    return {
        "text": text,
        "source": found.path,
        "start_line": found.first,
        "end_line": found.last,
        "heading": found.heading,
        "content": found.text,
        "anchor": anchor and {"session": anchor.session, "turn": anchor.turn, "transcript": anchor.file()},
        "follow": anchor
        and {
            "ref": "journal.transcript",
            "args": {"transcript_path": anchor.file(), **({"turn": anchor.turn} if anchor.turn else {})},
        },
    }


class Section(NamedTuple):
    """What a chunk is a part of."""

    path: str
    heading: str
    first: int  # lines from 1, inclusive
    last: int
    text: str

    @property
    def anchor(self) -> Anchor | None:
        """Where it comes from; what stands under a heading within it is another section's."""
        return entries.anchor(_INNER_HEADING.split(self.text, 1)[0])


_INNER_HEADING = re.compile(r"\n#{1,6}\s")


def section(runtime: Runtime, place: Place, id_: str, context: Context) -> Section:
    """The section behind a chunk id: its whole entry, or else what stands below its heading.

    Raises:
        MemoryNotFound: There is no such chunk, or its file is gone.
        StoreUnavailable: Its file cannot be read, or there is none in what can be.
        BackendMissing: There is nothing to look it up in.
    """
    chunk = named(runtime, place, id_, context)
    text = store.read(chunk.path)
    if not text:
        raise MemoryNotFound(f"Source file not found: {chunk.path}.", hint="Search again.")
    return _section(chunk, text)


def named(runtime: Runtime, place: Place, id_: str, context: Context) -> Chunk:
    """The chunk with an id, of an index that is brought up to date for it.

    Raises:
        MemoryNotFound: There is no such chunk.
        StoreUnavailable: There is none in what of the store can be read.
        BackendMissing: There is nothing to look it up in.
    """
    index = runtime.index(place)
    try:
        index.refresh(budget_s(context))
        chunk = index.chunk(id_.strip())
    except NeverIndexed:
        raise MemoryNotFound(
            f"The collection {place.collection} was never indexed on this machine.", hint="Search it first."
        ) from None
    if chunk is not None:
        return chunk
    if unread := store.unread(place.store):
        listed = ", ".join(f"{path} ({why})" for path, why in unread.items())
        raise StoreUnavailable(
            f"No file that can be read holds the chunk {id_}; it may stand in what cannot: {listed}.",
            hint="Make that readable, and try again.",
        )
    raise MemoryNotFound(f"Chunk not found: {id_}.", hint="Its text changed or is gone; search again.")


def _section(chunk: Chunk, text: str) -> Section:
    at = chunk.first - 1
    for block in entries.blocks(text):
        if block.kind == "entry" and block.first <= at < block.last:
            lines = block.text.count("\n")
            return Section(chunk.path, block.time, block.first + 1, block.first + 1 + lines, block.text)
    lines_ = entries.split(text)
    at = min(at, len(lines_) - 1)
    first = next((number for number in range(at, -1, -1) if 0 < entries.level(lines_[number]) <= chunk.level), 0)
    last = next(
        (number for number in range(at + 1, len(lines_)) if 0 < entries.level(lines_[number]) <= (chunk.level or 6)),
        len(lines_),
    )
    body = "\n".join(lines_[first:last]).rstrip()
    return Section(chunk.path, chunk.heading, first + 1, first + 1 + body.count("\n"), body.strip("\n"))


class _Found(NamedTuple):
    hits: list[Hit]
    pending: bool  # some files are not in the index yet


def _found(runtime: Runtime, place: Place, request: SearchRequest, seconds: float) -> _Found:
    index = runtime.index(place)
    pending = index.refresh(seconds).pending
    return _Found(index.search(request.query, request.top_k), pending)


def _across(context: Context, runtime: Runtime, request: SearchRequest, found: fan_out.Projects) -> Json:
    lists, skipped, pending, unread = [], list(found.unreadable), [], dict[str, str]()
    for number, project in enumerate(found.searched):
        # The call's own project is waited for; each other gets a moment, and the answer says where it was too short.
        seconds = budget_s(context) if number == 0 else PROJECT_INDEX_BUDGET_MS / 1000
        try:
            if not os.access(project.place.store, os.R_OK | os.X_OK):
                skipped.append(project.directory)
                continue
            hits_, late = _found(runtime, project.place, request, seconds)
            lists.append((project, hits_))
            pending += [project.directory] if late else []
        except NeverIndexed:
            skipped.append(project.directory)
        except BackendMissing as error:
            if number == 0:
                raise
            skipped.append(project.directory)  # by its own configuration
            unread[project.directory] = error.reason
    hits = fan_out.merged(lists, request.top_k)
    for project, _ in lists:
        unread |= _unread(project.place.store)
    account = f"{counted(len(lists), 'project')} searched, {len(skipped)} skipped"
    if found.collapsed:
        account += f", {len(found.collapsed)} collapsed"
    if hits:
        blocks = printed([hit for _, hit in hits], [project for project, _ in hits])
        text = f"{counted(len(hits), 'memory chunk')}, {account}, best first:\n\n{blocks}"
    else:
        text = f'No memories found for "{request.query}" across {account}.'
    if skipped:
        text += f"\n\nskipped (no readable memory on this machine): {', '.join(skipped)}"
    if found.collapsed:
        text += f"\n\ncollapsed (same collection as a project already searched): {', '.join(found.collapsed)}"
    if pending:
        text += f"\n\n{CATCHING_UP} ({', '.join(pending)})"
    return {
        "text": "\n\n".join((text, *not_read(unread))),
        "hits": [as_json(hit, project) for project, hit in hits],
        **({"pending": pending} if pending else {}),
        "searched": [project.directory for project, _ in lists],
        "skipped": skipped,
        "collapsed": list(found.collapsed),
        **({"unread": unread} if unread else {}),
    }


def printed(hits: Sequence[Hit], projects: Sequence[Project] = ()) -> str:
    """Hits as blocks for people and models, numbered from 1; each chunk's hash opens it in `memory_expand`."""
    blocks = []
    for number, hit in enumerate(hits):
        chunk = hit.chunk
        label = f" | {projects[number].directory}" if projects else ""
        blocks.append(
            f"{number + 1}. score {hit.relevance:.3f} | chunk {chunk.id}{label} | "
            f"{chunk.path}:{chunk.first}-{chunk.last}\n{chunk.text}"
        )
    return "\n\n".join(blocks)


def as_json(hit: Hit, project: Project | None = None) -> Json:
    """A hit in memsearch's own words, and the call that opens it."""
    chunk = hit.chunk
    args = {"chunk_hash": chunk.id, **({"project": project.directory} if project else {})}
    return {
        "chunk_hash": chunk.id,
        "content": chunk.text,
        "source": chunk.path,
        "heading": chunk.heading,
        "heading_level": chunk.level,
        "start_line": chunk.first,
        "end_line": chunk.last,
        "score": round(hit.relevance, 6),
        **({"project": project.directory} if project else {}),
        "follow": {"ref": "journal.expand", "args": args},
    }


def _unread(directory: str) -> dict[str, str]:
    """What of a store no search looks into though memory may stand there, and why."""
    return store.unread(directory) | linked(directory)


def not_read(unread: Mapping[str, str]) -> list[str]:
    """The paragraph about what of a store could not be read; none where everything was."""
    if not unread:
        return []
    listed = ", ".join(f"{path} ({why})" for path, why in unread.items())
    return [f"Could not be read, and may hold more: {listed}"]


def unavailable(error: BackendMissing) -> Json:
    """What is answered where nothing can be looked up."""
    return {"text": error.steps, "unavailable": error.reason}


def budget_s(context: Context) -> float:
    """How long a call may spend on bringing the index up to date."""
    longest = context.config.journal.search_timeout_ms / 1000
    return longest if context.patience_s is None else min(longest, context.patience_s)
