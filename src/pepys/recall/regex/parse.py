"""JavaScript's regular expressions with the flags `iu`, read into a tree.

The grammar is ECMA-262's with `u`: what it refuses is refused here, with the place. What it takes and this does not is
in `docs/reference/regex.md`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from pepys.recall.regex import properties
from pepys.recall.regex.ranges import ALL, LAST, Ranges, complement, union
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

MAX_DEPTH = 100
"""Groups within groups."""

MAX_COUNT = 0xFFFF_FFFE
"""Larger repeat counts are taken as this one: no text is that long."""

SYNTAX = frozenset("^$\\.*+?()[]{}|/")
_CONTROLS = {"f": 0x0C, "n": 0x0A, "r": 0x0D, "t": 0x09, "v": 0x0B}
_ANCHORS = {"^": "start", "$": "end"}
_BOUNDARIES = {"b": "boundary", "B": "inside"}
_HEX = frozenset("0123456789abcdefABCDEF")
_DIGITS = frozenset("0123456789")
_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")

LINE_ENDS: Ranges = ((0x0A, 0x0A), (0x0D, 0x0D), (0x2028, 0x2029))
DIGIT: Ranges = ((0x30, 0x39),)
# With `iu` the long s and the Kelvin sign are word characters: they equal s and k.
WORD: Ranges = ((0x30, 0x39), (0x41, 0x5A), (0x5F, 0x5F), (0x61, 0x7A), (0x17F, 0x17F), (0x212A, 0x212A))
SPACE: Ranges = (
    (0x09, 0x0D),
    (0x20, 0x20),
    (0xA0, 0xA0),
    (0x1680, 0x1680),
    (0x2000, 0x200A),
    (0x2028, 0x2029),
    (0x202F, 0x202F),
    (0x205F, 0x205F),
    (0x3000, 0x3000),
    (0xFEFF, 0xFEFF),
)
_CLASSES: Mapping[str, Ranges] = {
    "d": DIGIT,
    "D": complement(DIGIT),
    "s": SPACE,
    "S": complement(SPACE),
    "w": WORD,
    "W": complement(WORD),
}


class InvalidRegex(ValueError):
    """A pattern that is not one; the message names the place (code points, from 0)."""


class Pattern(NamedTuple):
    """A parsed pattern."""

    body: Alternatives
    groups: int  # how many capture


def parse(pattern: str) -> Pattern:
    """Read a pattern.

    Raises:
        InvalidRegex: It is not valid, or cannot be kept to JavaScript's meaning.
    """
    return _Parser(pattern).pattern()


class _Parser:
    def __init__(self, text: str) -> None:
        self._text, self._at = text, 0
        self._names = dict(_group_names(text))
        self._groups = sum(1 for _ in _captures(text))
        self._opened, self._depth = 0, 0

    def pattern(self) -> Pattern:
        body = self._alternatives()
        if self._at < len(self._text):
            raise self._invalid("unmatched )")
        return Pattern(body, self._opened)

    # Reading

    def _peek(self, count: int = 1) -> str:
        return self._text[self._at : self._at + count]

    def _take(self, wanted: str) -> bool:
        if not self._text.startswith(wanted, self._at):
            return False
        self._at += len(wanted)
        return True

    def _next(self) -> str:
        char = self._peek()
        self._at += len(char)
        return char

    def _run(self, chars: frozenset[str]) -> str:
        start = self._at
        while self._peek() and self._peek() in chars:
            self._at += 1
        return self._text[start : self._at]

    def _invalid(self, what: str, at: int | None = None) -> InvalidRegex:
        return InvalidRegex(f"{what} at {self._at if at is None else at}")

    # Structure

    def _alternatives(self) -> Alternatives:
        found = [self._sequence()]
        while self._take("|"):
            found.append(self._sequence())
        return tuple(found)

    def _sequence(self) -> Sequence:
        nodes: list[Node] = []
        while self._peek() and self._peek() not in "|)":
            nodes.append(self._term())
        return tuple(nodes)

    def _term(self) -> Node:
        start = self._at
        node = self._atom()
        at = self._at
        repeat = self._quantifier()
        if repeat is None:
            return node
        if isinstance(node, Anchor | Look):
            raise self._invalid(f"{self._text[start:at]!r} cannot be repeated: the quantifier", at)
        least, most = repeat
        lazy = self._take("?")
        if self._peek() and self._peek() in "*+?":
            raise self._invalid(f"nothing to repeat before {self._peek()}")
        return Repeat(node, least, most, lazy)

    def _quantifier(self) -> tuple[int, int | None] | None:
        if self._take("*"):
            return 0, None
        if self._take("+"):
            return 1, None
        if self._take("?"):
            return 0, 1
        if self._peek() != "{":
            return None
        start = self._at
        self._at += 1
        least = self._run(_DIGITS)
        most = self._run(_DIGITS) if self._take(",") else least
        if not least or not self._take("}"):
            raise self._invalid("lone {", start)
        low, high = _count(least), _count(most) if most else None
        if high is not None and high < low:
            raise self._invalid("numbers out of order in {}", start)
        return low, high

    def _atom(self) -> Node:
        start = self._at
        char = self._next()
        if char in _ANCHORS:
            return Anchor(_ANCHORS[char])
        if char == ".":
            return Class(LINE_ENDS, negated=True)
        if char == "(":
            return self._group(start)
        if char == "[":
            return self._class(start)
        if char == "\\":
            return self._escape(start)
        if char in "*+?":
            raise self._invalid(f"nothing to repeat before {char}", start)
        if char in "{}]":
            raise self._invalid(f"lone {char}", start)
        return Char(ord(char))

    def _group(self, start: int) -> Node:
        number = None
        look: tuple[bool, bool] | None = None
        if not self._take("?"):
            number = self._capture()
        elif self._take("="):
            look = (True, False)
        elif self._take("!"):
            look = (True, True)
        elif self._take("<="):
            look = (False, False)
        elif self._take("<!"):
            look = (False, True)
        elif self._take("<"):
            self._name(start)
            number = self._capture()
        elif not self._take(":"):
            raise self._invalid(f"unknown group (?{self._peek()}", start)
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise self._invalid(f"groups are nested more than {MAX_DEPTH} deep", start)
        body = self._alternatives()
        self._depth -= 1
        if not self._take(")"):
            raise self._invalid("unterminated group", start)
        return Group(body, number) if look is None else Look(body, *look)

    def _capture(self) -> int:
        self._opened += 1
        return self._opened

    def _name(self, start: int) -> str:
        end = self._text.find(">", self._at)
        name = self._text[self._at : max(end, self._at)]
        # JavaScript's identifiers are Python's, and $.
        if not name.replace("$", "_").replace("\u200c", "_").replace("\u200d", "_").isidentifier():
            raise self._invalid("invalid group name", start)
        if name[0] in "\u200c\u200d":
            raise self._invalid("invalid group name", start)
        self._at = end + 1
        return name

    # Escapes

    def _escape(self, start: int) -> Node:
        char = self._peek()
        if char and char in _BOUNDARIES:
            self._at += 1
            return Anchor(_BOUNDARIES[char])
        if char == "k":
            self._at += 1
            if not self._take("<"):
                raise self._invalid(r"\k without a group name", start)
            name = self._name(start)
            if name not in self._names:
                raise self._invalid(f"no group is named {name}", start)
            return Reference(self._names[name])
        if char and char in "123456789":
            number = int(self._run(_DIGITS)[:9])
            if number > self._groups:
                raise self._invalid(f"no group has the number {number}", start)
            return Reference(number)
        found = self._class_escape(start)
        if isinstance(found, int):
            return Char(found)
        if isinstance(found, Property):
            return Class((), (found,))
        return Class(found)

    def _class_escape(self, start: int) -> int | Ranges | Property:
        """An escape that means one code point or a set; the backslash is read."""
        char = self._next()
        if char and char in _CLASSES:
            return _CLASSES[char]
        if char and char in "pP":
            return self._property(start, negated=char == "P")
        if char in _CONTROLS:
            return _CONTROLS[char]
        if char == "c" and self._peek() and self._peek() in _LETTERS:
            return ord(self._next()) % 32
        if char == "0" and self._peek() not in _DIGITS:
            return 0
        if char == "x":
            return self._hex(2, start)
        if char == "u":
            return self._unicode(start)
        if char and char in SYNTAX:
            return ord(char)
        if not char:
            raise self._invalid("\\ at the end of the pattern", start)
        raise self._invalid(f"invalid escape \\{char}", start)

    def _hex(self, length: int, start: int) -> int:
        digits = self._peek(length)
        if len(digits) < length or not _HEX.issuperset(digits):
            raise self._invalid("invalid escape: too few hexadecimal digits", start)
        self._at += length
        return int(digits, 16)

    def _unicode(self, start: int) -> int:
        if self._take("{"):
            digits = self._run(_HEX)
            if not digits or not self._take("}") or int(digits, 16) > LAST:
                raise self._invalid("invalid Unicode escape", start)
            return int(digits, 16)
        code = self._hex(4, start)
        following = self._text[self._at + 2 : self._at + 6]
        if 0xD800 <= code < 0xDC00 and self._peek(2) == "\\u" and len(following) == 4 and _HEX.issuperset(following):
            low = int(following, 16)
            if 0xDC00 <= low < 0xE000:
                self._at += 6
                return 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00)
        return code

    def _property(self, start: int, *, negated: bool) -> Ranges | Property:
        end = self._text.find("}", self._at)
        if self._peek() != "{" or end < 0:
            raise self._invalid("invalid property name", start)
        name = self._text[self._at + 1 : end]
        self._at = end + 1
        term = properties.named(name)
        if term is None:
            raise self._invalid(f"unknown property {name[:40]}", start)
        if isinstance(term, Property):
            return term._replace(negated=term.negated != negated)
        return complement(term) if negated else term

    # Classes

    def _class(self, start: int) -> Class:
        negated = self._take("^")
        ranges: list[Ranges] = []
        terms: list[Property] = []
        while not self._take("]"):
            if not self._peek():
                raise self._invalid("unterminated character class", start)
            at = self._at
            first = self._member()
            if self._peek() == "-" and self._peek(2) not in ("-", "-]"):
                self._at += 1
                last = self._member()
                if not isinstance(first, int) or not isinstance(last, int):
                    raise self._invalid("a set cannot be the end of a range", at)
                if last < first:
                    raise self._invalid("range out of order in a character class", at)
                ranges.append(((first, last),))
            elif isinstance(first, int):
                ranges.append(((first, first),))
            elif isinstance(first, Property):
                terms.append(first)
            else:
                ranges.append(first)
        if not terms and negated and not ranges:
            return Class(ALL)
        return Class(union(*ranges), tuple(dict.fromkeys(terms)), negated)

    def _member(self) -> int | Ranges | Property:
        start = self._at
        char = self._next()
        if char != "\\":
            return ord(char)
        if self._take("b"):
            return 0x08
        if self._take("-"):
            return ord("-")
        return self._class_escape(start)


def _captures(text: str) -> Iterator[tuple[int, str | None]]:
    """The capturing groups of a pattern in order: where they open, and their names."""
    at, inside = 0, False
    while at < len(text):
        char = text[at]
        if char == "\\":
            at += 1
        elif inside:
            inside = char != "]"
        elif char == "[":
            inside = True
        elif char == "(":
            if not text.startswith("?", at + 1):
                yield at, None
            elif text.startswith("?<", at + 1) and text[at + 3 : at + 4] not in ("=", "!", ""):
                yield at, text[at + 3 :].partition(">")[0]
        at += 1


def _group_names(text: str) -> Iterator[tuple[str, int]]:
    seen = set()
    for number, (at, name) in enumerate(_captures(text), 1):
        if name is None:
            continue
        if name in seen:
            raise InvalidRegex(f"a second group is named {name[:40]} at {at}")
        seen.add(name)
        yield name, number


def _count(digits: str) -> int:
    significant = digits.lstrip("0")
    return MAX_COUNT if len(significant) > 10 else min(int(significant or "0"), MAX_COUNT)
