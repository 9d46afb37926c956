"""The tree of a session and the branch that is selected in it."""

from __future__ import annotations

from typing import Literal, NamedTuple

Branches = Literal["active", "all"]


class Node(NamedTuple):
    """An entry's place in the tree."""

    position: int  # append position among the entries of the source, from 0
    id: str
    parent: str | None


class Lineage(NamedTuple):
    """The selected root-to-leaf path."""

    branches: Branches
    leaf: str | None
    positions: frozenset[int]  # of the entries on the path; of a duplicated id only the last line is
    fingerprint: str  # SHA-256 hex over branch mode, leaf and path ids
    cyclic: bool = False  # the parent links form a cycle; the walk stopped there


class Live(NamedTuple):
    """The branch that a running host shows right now, for its own current session."""

    leaf: str | None
    entries: tuple[str, ...]  # ids, root to leaf
