"""A parsed pattern: what JavaScript's grammar says, without its spelling."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from pepys.recall.regex.ranges import Ranges


class Property(NamedTuple):
    r"""A term of `\p{…}`, by its checked name: `gc=Lu`, `sc=Greek`, `scx=Greek`, `Uppercase`."""

    name: str
    negated: bool


class Char(NamedTuple):
    """One literal code point."""

    code: int


class Class(NamedTuple):
    r"""One code point out of a set: `[…]`, `.`, `\d`, `\p{…}`."""

    ranges: Ranges
    properties: tuple[Property, ...] = ()
    negated: bool = False  # the set is taken away from all code points after case was ignored in it


class Anchor(NamedTuple):
    """A place between code points: `start`, `end`, `boundary` or `inside` (the reverse of boundary)."""

    kind: str


class Reference(NamedTuple):
    """What group *number* caught."""

    number: int


class Group(NamedTuple):
    """A group; *number* is None where it does not capture."""

    body: Alternatives
    number: int | None


class Look(NamedTuple):
    """A condition on what follows (*ahead*) or precedes."""

    body: Alternatives
    ahead: bool
    negated: bool


class Repeat(NamedTuple):
    """*least* to *most* (None: any number) times."""

    body: Node
    least: int
    most: int | None
    lazy: bool


Node = Char | Class | Anchor | Reference | Group | Look | Repeat
Sequence = tuple[Node, ...]
Alternatives = tuple[Sequence, ...]


def nodes(body: Alternatives) -> Iterator[Node]:
    """Every node of *body*, in order, however deep."""
    for sequence in body:
        for node in sequence:
            yield node
            if isinstance(node, Group | Look):
                yield from nodes(node.body)
            elif isinstance(node, Repeat):
                yield from nodes(((node.body,),))
