"""References that mean the same in JavaScript and in the `regex` package.

JavaScript forgets what the groups of a repetition caught at the start of each round; the package remembers it. A group
is *fresh* where both know the same of it, and a reference to one that is not is refused rather than answered wrongly.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce

from pepys.recall.regex.parse import InvalidRegex, Pattern
from pepys.recall.regex.tree import Alternatives, Group, Look, Node, Reference, Repeat, nodes

Groups = frozenset[int]


def check(pattern: Pattern) -> None:
    """Refuse references to groups that are not fresh.

    Raises:
        InvalidRegex: There is one.
    """
    _alternatives(pattern.body, frozenset(range(1, pattern.groups + 1)), frozenset(), behind=False)


def _alternatives(body: Alternatives, fresh: Groups, inside: Groups, *, behind: bool) -> Groups:
    """The fresh groups after *body*, given those before it. Lookbehinds are matched from their end."""

    def after(sequence: tuple[Node, ...]) -> Groups:
        nodes = reversed(sequence) if behind else iter(sequence)
        return reduce(lambda known, node: _node(node, known, inside, behind=behind), nodes, fresh)

    return frozenset.intersection(*map(after, body))


def _node(node: Node, fresh: Groups, inside: Groups, *, behind: bool) -> Groups:
    match node:
        case Reference(number) if number not in fresh and number not in inside:
            raise InvalidRegex(
                f"the reference to group {number} could meet what the group caught in an earlier round of a repetition"
            )
        case Group(body, None):
            return _alternatives(body, fresh, inside, behind=behind)
        case Group(body, int(number)):
            return _alternatives(body, fresh, inside | {number}, behind=behind) | {number}
        case Look(body, ahead, negated):
            after = _alternatives(body, fresh, inside, behind=not ahead)
            return fresh if negated else after
        case Repeat(body, least, most, _):
            before = fresh if most is not None and most <= 1 else fresh - set(_captured(body))
            after = _node(body, before, inside, behind=behind)
            return after if least else after & fresh
    return fresh


def _captured(node: Node) -> Iterator[int]:
    return (each.number for each in nodes(((node,),)) if isinstance(each, Group) and each.number is not None)
