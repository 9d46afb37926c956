r"""A parsed pattern in the words of the `regex` package, with JavaScript's meaning.

Nothing is left to that package's own idea of case, white space, words or lines: every set is spelled out, closed under
simple case folding, and the pattern is compiled as VERSION0 without flags. Case is left to the package for two things
only: runs of ASCII, where it agrees (all letters but `i`) and finds literals a hundred times faster than sets, and
references (`(?i:\1)`), for what a group caught is not known beforehand.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import groupby

from pepys.recall.regex import references
from pepys.recall.regex.case import closed, equal
from pepys.recall.regex.parse import WORD, Pattern
from pepys.recall.regex.properties import partners
from pepys.recall.regex.ranges import ALL, Ranges, complement, of, union
from pepys.recall.regex.tree import (
    Alternatives,
    Anchor,
    Char,
    Class,
    Group,
    Look,
    Node,
    Property,
    Reference,
    Repeat,
    Sequence,
    nodes,
)


def translate(pattern: Pattern) -> str:
    """The pattern for `regex.compile(…, regex.VERSION0)`.

    Raises:
        InvalidRegex: A reference would keep what its group caught in an earlier round of a repetition, which JavaScript
            forgets at the start of each.
    """
    references.check(pattern)
    words = _Words(pattern)
    return "|".join(_guard(each) + words.sequence(_eager(each), frozenset()) for each in pattern.body)


def _guard(sequence: Sequence) -> str:
    """What spares most starts: a match that begins with any number out of a set never begins right after one of it.

    It would have been found one earlier. Without this, `.*x` takes time that grows with the square of a line.
    """
    match sequence:
        case (Repeat(Class() as members, _, None, _), *_):
            return f"(?<!{_class(members)})"
    return ""


def _eager(sequence: Sequence) -> Sequence:
    """*sequence* without laziness at its start, which decides where a match ends, not where it begins, and is slow."""
    match sequence:
        case (Repeat(Class(), _, None, True) as first, *rest):
            return (first._replace(lazy=False), *rest)
    return sequence


class _Words:
    """The package's words for the nodes of one pattern."""

    def __init__(self, pattern: Pattern) -> None:
        # Where literals that ignore case may begin a match beside sets that do not, the package tests the first code
        # point against all of them with case ignored as it understands it. That sees too much of a positive set, which
        # is harmless, and too little of the reverse of a property.
        self._plain_runs = not any(isinstance(node, Class) and node.properties for node in nodes(pattern.body))

    def alternatives(self, body: Alternatives, inside: frozenset[int]) -> str:
        return "|".join(self.sequence(each, inside) for each in body)

    def sequence(self, sequence: Sequence, inside: frozenset[int]) -> str:
        parts = []
        for plain, run in groupby(sequence, self._is_plain):
            if plain:
                parts.append("(?i:" + "".join(_code(node.code) for node in run if isinstance(node, Char)) + ")")
            else:
                parts.extend(self._node(node, inside) for node in run)
        return "".join(parts)

    def _is_plain(self, node: Node) -> bool:
        """Whether the package ignores case in a literal as JavaScript does; it takes the Turkish letters for an i."""
        return self._plain_runs and isinstance(node, Char) and node.code < 0x80 and chr(node.code) not in "iI"

    def _node(self, node: Node, inside: frozenset[int]) -> str:
        match node:
            case Char(code):
                codes = equal(code)
                return _code(code) if len(codes) == 1 else _set(of(codes))
            case Class():
                return _class(node)
            case Anchor(kind):
                return _ANCHORS[kind]
            case Reference(number):
                # A group that has caught nothing matches the empty text, and one that is open has caught nothing.
                return "" if number in inside else f"(?({number})(?i:\\{number}))"
            case Group(body, number):
                own = frozenset[int]() if number is None else {number}
                return f"({'?:' if number is None else ''}{self.alternatives(body, inside | own)})"
            case Look(body, ahead, negated):
                return f"(?{'' if ahead else '<'}{'!' if negated else '='}{self.alternatives(body, inside)})"
            case Repeat(body, least, most, lazy):
                # Grouped, for a reference may be spelled by several pieces, or by none.
                text = self._node(body, inside)
                text = f"(?:{text})" if isinstance(body, Reference) else text
                return f"{text}{{{least},{'' if most is None else most}}}{'?' if lazy else ''}"


@lru_cache(maxsize=256)  # a pattern may repeat a set that takes a while to close
def _class(node: Class) -> str:
    ranges = union(closed(node.ranges), *map(partners, node.properties))
    if any(term._replace(negated=not term.negated) in node.properties for term in node.properties):
        ranges = ALL  # the package takes the reverse of such a set for a set of all, too
    if not node.properties or ranges == ALL:
        ranges = complement(ranges) if node.negated else ranges
        return _set(ranges) if ranges else "(?!)"
    return _set(ranges, node.properties, negated=node.negated)


def _set(ranges: Ranges, properties: tuple[Property, ...] = (), *, negated: bool = False) -> str:
    terms = (f"\\{'P' if term.negated else 'p'}{{{term.name}}}" for term in properties)
    spans = (_code(first) if first == last else f"{_code(first)}-{_code(last)}" for first, last in ranges)
    return f"[{'^' if negated else ''}{''.join(terms)}{''.join(spans)}]"


def _code(code: int) -> str:
    char = chr(code)
    if char.isascii() and char.isalnum():
        return char
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


_W = _set(WORD)
_ANCHORS = {
    "start": r"\A",
    "end": r"\Z",
    "boundary": f"(?:(?<={_W})(?!{_W})|(?<!{_W})(?={_W}))",
    "inside": f"(?:(?<={_W})(?={_W})|(?<!{_W})(?!{_W}))",
}
