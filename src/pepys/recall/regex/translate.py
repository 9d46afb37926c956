r"""A parsed pattern in the words of the `regex` package, with JavaScript's meaning.

Nothing is left to that package's own idea of case, white space, words or lines: every set is spelled out, closed under
simple case folding, and the pattern is compiled as VERSION0 without flags. Case is left to the package for two things
only: runs of ASCII, where it agrees (all letters but `i`) and finds literals a hundred times faster than sets, and
references (`(?i:\1)`), for what a group caught is not known beforehand.
"""

from __future__ import annotations

from itertools import groupby

from pepys.recall.regex import references
from pepys.recall.regex.case import closed, equal
from pepys.recall.regex.parse import WORD, Pattern
from pepys.recall.regex.properties import partners
from pepys.recall.regex.ranges import ALL, Ranges, of, union
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
)


def translate(pattern: Pattern) -> str:
    """The pattern for `regex.compile(…, regex.VERSION0)`.

    Raises:
        InvalidRegex: A reference would keep what its group caught in an earlier round of a repetition, which JavaScript
            forgets at the start of each.
    """
    references.check(pattern)
    return "|".join(_guard(sequence) + _sequence(_eager(sequence), frozenset()) for sequence in pattern.body)


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


def _alternatives(body: Alternatives, inside: frozenset[int]) -> str:
    return "|".join(_sequence(sequence, inside) for sequence in body)


def _sequence(sequence: Sequence, inside: frozenset[int]) -> str:
    parts = []
    for literal, nodes in groupby(sequence, _is_plain):
        if literal:
            parts.append("(?i:" + "".join(_code(node.code) for node in nodes if isinstance(node, Char)) + ")")
        else:
            parts.extend(_node(node, inside) for node in nodes)
    return "".join(parts)


def _is_plain(node: Node) -> bool:
    """Whether the package ignores case in this literal as JavaScript does; it takes the Turkish letters for an i."""
    return isinstance(node, Char) and node.code < 0x80 and chr(node.code) not in "iI"


def _node(node: Node, inside: frozenset[int]) -> str:
    match node:
        case Char(code):
            return _char(code)
        case Class():
            return _class(node)
        case Anchor(kind):
            return _ANCHORS[kind]
        case Reference(number):
            # A group that has caught nothing matches the empty text, and one that is still open has caught nothing.
            return "" if number in inside else f"(?({number})(?i:\\{number}))"
        case Group(body, number):
            own = frozenset[int]() if number is None else {number}
            return f"({'?:' if number is None else ''}{_alternatives(body, inside | own)})"
        case Look(body, ahead, negated):
            return f"(?{'' if ahead else '<'}{'!' if negated else '='}{_alternatives(body, inside)})"
        case Repeat(body, least, most, lazy):
            # Grouped, for a reference may be spelled by several pieces, or by none.
            text = f"(?:{_node(body, inside)})" if isinstance(body, Reference) else _node(body, inside)
            return f"{text}{{{least},{'' if most is None else most}}}{'?' if lazy else ''}"


def _char(code: int) -> str:
    codes = equal(code)
    return _code(code) if len(codes) == 1 else _set(of(codes))


def _class(node: Class) -> str:
    ranges = union(closed(node.ranges), *map(partners, node.properties))
    if any(term._replace(negated=not term.negated) in node.properties for term in node.properties):
        ranges = ALL  # the package takes the reverse of such a set for a set of all, too
    if not ranges and not node.properties:
        return _set(ALL) if node.negated else _NEVER
    if ranges == ALL:
        return _NEVER if node.negated else _set(ALL)
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


_NEVER = "(?!)"
_W = _set(WORD)
_ANCHORS = {
    "start": r"\A",
    "end": r"\Z",
    "boundary": f"(?:(?<={_W})(?!{_W})|(?<!{_W})(?={_W}))",
    "inside": f"(?:(?<={_W})(?={_W})|(?<!{_W})(?!{_W}))",
}
