"""Typed edges between events, files and sessions (spec 3, "Relationships").

What an entry names is recorded in it, and read from it. What names an entry is found through the index's links, and
read again before it is told. Nothing is inferred but what is marked as derived.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from pepys.events.corpus import Corpus
from pepys.events.states import Tree
from pepys.index import links
from pepys.index.document import Place
from pepys.index.source import Row, Source
from pepys.model.entry import Event
from pepys.normalise.touched import touched
from pepys.recall import evidence


class Entry(NamedTuple):
    """An end of an edge: an entry of a session."""

    session: str
    id: str


class File(NamedTuple):
    """An end of an edge: a file or folder, by its normalised path."""

    path: str


class Session(NamedTuple):
    """An end of an edge: a session as a whole."""

    id: str


End = Entry | File | Session


class Relation(NamedTuple):
    """One edge."""

    type: str
    from_: End
    to: End
    recorded: bool
    detail: str | None = None


class Here(NamedTuple):
    """The event whose relations are asked for."""

    source: Source
    tree: Tree
    row: Row
    event: Event
    cutoff: int | None


def related(corpus: Corpus, here: Here) -> Iterator[Relation]:
    """The relations of an event in either direction: its own first, then those that name it, then its session's."""
    yield from _outgoing(corpus, here)
    yield from _incoming(corpus, here)
    yield from _files(here)
    yield from _parent_session(corpus, here)


def parent(corpus: Corpus, source: Source) -> Source | None:
    """The visible source that a session's header names as its parent: by session id, else by file."""
    named = source.parent
    if not named:
        return None
    visible = [other for other in corpus.visible() if other.path != source.path]
    found = [other for other in visible if other.session == named]
    if not found and os.path.isabs(named):
        found = [other for other in visible if other.path == named or _is(other.path, named)]
    return max(found, key=lambda other: (other.stamp.mtime_ns, other.path), default=None)


def children(corpus: Corpus, source: Source) -> list[Source]:
    """The visible sources whose parent is this one, by session and path."""
    found = [
        other
        for other in corpus.visible()
        if other.path != source.path
        and other.parent
        and (other.parent in (source.session, source.path) or _is(source.path, other.parent))
    ]
    kept = [other for other in found if (its := parent(corpus, other)) is not None and its.path == source.path]
    return sorted(kept, key=lambda other: (other.session, other.path))


def _is(path: str, named: str) -> bool:
    """Whether *named* is another name of the file *path*."""
    # Resolving links costs a look at the disk for every directory on the way: files of other names are left alone.
    return (
        os.path.basename(named) == os.path.basename(path)
        and os.path.isabs(named)
        and os.path.realpath(named) == os.path.realpath(path)
    )


def _outgoing(corpus: Corpus, here: Here) -> Iterator[Relation]:
    source, row, entry = here.source, here.row, here.event.entry
    own = Entry(source.session, row.id)

    def to(id_: str) -> Entry:
        return Entry(source.session, id_)

    if entry.role == "toolResult" and entry.call:
        owner = _owner(corpus, here, entry.call)
        if owner is not None:
            yield Relation("tool-result-for", own, to(owner.id), recorded=True, detail=entry.call)
    for type_, id_ in _named(here.event):
        node = here.tree.find(id_)
        if node is not None and node.position != row.position and _seen(here, node.position):
            yield Relation(type_, own, to(id_), recorded=True)


def _named(event: Event) -> Iterator[tuple[str, str]]:
    """The entries that an entry names beside its parent, and what that means."""
    entry = event.entry
    if entry.type == "compaction":
        for id_ in dict.fromkeys((*entry.also, entry.target)):
            if id_ is not None:
                yield "compacts", id_
    elif entry.type == "branch_summary" and entry.target is not None:
        yield "branch-summary-from", entry.target
    elif entry.type == "label" and entry.target is not None:
        yield "labels", entry.target


def _owner(corpus: Corpus, here: Here, call: str) -> Row | None:
    """The last entry but this one that holds the call; of what is not cut off."""
    owners = [
        row
        for row, event in _linked(corpus, here, "call", call)
        if any(block.kind == "call" and block.call == call for block in event.entry.blocks)
    ]
    return owners[-1] if owners else None


def _incoming(corpus: Corpus, here: Here) -> Iterator[Relation]:
    session, own = here.source.session, Entry(here.source.session, here.row.id)
    for call in dict.fromkeys(block.call for block in here.event.entry.blocks if block.kind == "call" and block.call):
        for row, event in _linked(corpus, here, "call", call):
            if (
                event.entry.role == "toolResult"
                and event.entry.call == call
                and _is_last_owner(corpus, here, row, call)
            ):
                yield Relation("tool-result-for", Entry(session, row.id), own, recorded=True, detail=call)
    for row, event in _linked(corpus, here, "entry", here.row.id):
        for type_, id_ in _named(event):
            if id_ == here.row.id:
                yield Relation(type_, Entry(session, row.id), own, recorded=True)


def _is_last_owner(corpus: Corpus, here: Here, result: Row, call: str) -> bool:
    answering = here._replace(row=result)
    owner = _owner(corpus, answering, call)
    return owner is not None and owner.position == here.row.position


def _linked(corpus: Corpus, here: Here, kind: links.Kind, name: str) -> Iterator[tuple[Row, Event]]:
    """The other entries of the session that may name something, read again, in the order of the file."""
    view = corpus.view
    rows = []
    for source, position in view.linked([here.source], links.key(kind, name)):
        row = view.row(Place(source.generation, position, 0))
        if row is not None and position != here.row.position and _seen(here, position):
            rows.append(row)
    for row, event in zip(rows, evidence.events([(here.source, row) for row in rows]), strict=True):
        if not isinstance(event, str):
            yield row, event


def _files(here: Here) -> Iterator[Relation]:
    own = Entry(here.source.session, here.row.id)
    for file in touched(here.event.entry, here.source.cwd):
        type_ = "file-read" if file.access == "read" else "file-changed"
        yield Relation(type_, own, File(file.path), file.recorded, file.tool)


def _parent_session(corpus: Corpus, here: Here) -> Iterator[Relation]:
    found = parent(corpus, here.source)
    if found is not None:
        yield Relation("session-parent", Session(here.source.session), Session(found.session), recorded=True)


def _seen(here: Here, position: int) -> bool:
    return here.cutoff is None or position < here.cutoff


def distinct(relations: Iterable[Relation]) -> Sequence[Relation]:
    """Each relation once."""
    return list(dict.fromkeys(relations))
