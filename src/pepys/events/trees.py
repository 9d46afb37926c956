"""The trees of sources, made of the index's rows; those of committed readings are kept, and grow as they do."""

from __future__ import annotations

from collections.abc import Iterator

from pepys.events.states import Node, Tree
from pepys.index.source import Source
from pepys.index.view import View

_KEPT = 500_000
"""Entries of all trees that one process keeps."""


def tree(view: View, source: Source) -> Tree:
    """The tree of a source in *view*."""
    kept = view.trees.get(source.generation)
    if not view.committed(source):
        # Rows that no commit holds may be others at the next look.
        return Tree(_nodes(view, source, 0))
    if not isinstance(kept, Tree) or len(kept.nodes) > source.entries:
        made = Tree(_nodes(view, source, 0))
        if sum(len(one.nodes) for one in view.trees.values() if isinstance(one, Tree)) + len(made.nodes) > _KEPT:
            view.trees.clear()
        view.trees[source.generation] = made
        return made
    if len(kept.nodes) < source.entries:
        for node in _nodes(view, source, len(kept.nodes)):
            kept.append(node)
    return kept


def _nodes(view: View, source: Source, first: int) -> Iterator[Node]:
    for position, id_, parent, type_, role, target, silent in view.places_in(source, first):
        yield Node(position, id_, parent, type_, role, target, bool(silent))
