"""Forks across sessions: where a session goes on otherwise than the one that its entries were copied from (spec 3).

Hosts fork a session by copying entries with their ids into a new file whose header names the old one. Labels are not
copied but made again, under new ids and elsewhere, and become parents; names are too. They are no continuation of
anything, and the tree is read as if they were not there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from pepys.errors import InvalidEventArgument
from pepys.events import relations
from pepys.events.corpus import Corpus
from pepys.events.states import Node, Tree
from pepys.events.trees import tree
from pepys.index.source import Row, Source

_PASSED_OVER = frozenset({"label", "session_info", "title_change"})


class Candidate(NamedTuple):
    """One way on from a fork."""

    source: Source
    node: Node

    @property
    def identity(self) -> relations.Entry:
        """Session and entry."""
        return relations.Entry(self.source.session, self.node.id)


class SessionFork(NamedTuple):
    """Where sessions part."""

    at: relations.Entry  # in the session that was copied from
    candidates: tuple[Candidate, ...]  # at least two: of that session first, then by session and entry id


class Continuation(NamedTuple):
    """What a copy goes on with."""

    anchor: str  # id of the last entry in common
    first: int  # position of the first entry of its own, in the copy


def forks(corpus: Corpus, source: Source) -> list[SessionFork]:
    """The forks that a session takes part in, as copy or as original; of what the caller may see."""
    found: list[SessionFork] = []
    above = relations.parent(corpus, source)
    for original in (source,) if above is None else (source, above):
        found += _forks(corpus, original, source)
    return found


def _forks(corpus: Corpus, original: Source, concerned: Source) -> Iterator[SessionFork]:
    """The forks of the copies of *original*, as far as they concern one of all these sessions."""
    copies = relations.children(corpus, original)
    if not copies or not (concerned is original or any(copy.path == concerned.path for copy in copies)):
        return
    view = corpus.view
    known = _entries(view.rows(original))
    made = tree(view, original)
    grouped: dict[str, list[Candidate]] = {}
    concerning: set[str] = set()
    for copy in copies:
        its = tree(view, copy)
        parted = continuation(known, [row for row in view.rows(copy) if not row.child], its)
        if parted is not None:
            grouped.setdefault(parted.anchor, []).append(Candidate(copy, its.nodes[parted.first]))
            concerning |= {parted.anchor} if concerned is original or copy.path == concerned.path else set()
    for anchor in concerning:
        node = made.find(anchor)
        own = [] if node is None else [Candidate(original, child) for child in ways_on(made, node.position)]
        own = [candidate for candidate in own if _seen(corpus, candidate)]
        others = sorted(filter(lambda one: _seen(corpus, one), grouped[anchor]), key=lambda one: one.identity)
        if len(own) + len(others) > 1:
            own.sort(key=lambda one: one.identity)
            yield SessionFork(relations.Entry(original.session, anchor), (*own, *others))


def continuation(known: Mapping[str, Row], copy: Iterable[Row], its: Tree) -> Continuation | None:
    """Where a copy leaves its original; None if it does not, or if the two have different entries under one id.

    Args:
        known: The entries of the original, by id.
        copy: Those of the copy, in the order of the file.
        its: The tree of the copy.
    """
    shared: set[str] = set()
    first: Row | None = None
    for row in copy:
        other = known.get(row.id)
        if other is not None:
            if (other.type, other.time, other.crc) != (row.type, row.time, row.crc):
                return None
            shared.add(row.id)
        elif first is None and shared and row.type not in _PASSED_OVER:
            first = row
    if first is None:
        return None
    for above in its.ancestors(first.position):
        if above.id in shared:
            return Continuation(above.id, first.position)
        if above.type not in _PASSED_OVER:
            return None
    return None


def ways_on(made: Tree, position: int) -> Iterator[Node]:
    """The children of an entry, in append order; in place of a label or name, its children."""
    waiting = list(reversed(made.children(position)))
    passed: set[int] = set()
    while waiting:
        node = waiting.pop()
        if node.position in passed:
            continue
        passed.add(node.position)
        if node.type in _PASSED_OVER:
            waiting += reversed(made.children(node.position))
        else:
            yield node


def onward(made: Tree, position: int) -> Iterator[Node]:
    """What a path goes on with after an entry, up to and with the first that is no label or name."""
    for node in made.onward(position):
        yield node
        if node.type not in _PASSED_OVER:
            return


def _entries(rows: Iterable[Row]) -> dict[str, Row]:
    return {row.id: row for row in rows if not row.child}


def _seen(corpus: Corpus, candidate: Candidate) -> bool:
    try:
        cutoff = corpus.cutoff(candidate.source)
    except InvalidEventArgument:  # the caller's own session, of which nothing may be seen without a cutoff
        return False
    return cutoff is None or candidate.node.position < cutoff
