"""Literal text that every match of a pattern holds, for finding the few records that are worth matching."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from itertools import chain

from pepys.recall.regex.case import equal
from pepys.recall.regex.parse import SPACE, parse
from pepys.recall.regex.ranges import Ranges, holds
from pepys.recall.regex.tree import Alternatives, Anchor, Char, Class, Group, Look, Node, Repeat
from pepys.text import folded


def required(pattern: str) -> tuple[str, ...]:
    """Strings in `text.folded` form: if *pattern* matches a text, the folded text holds each of them.

    Empty when nothing is certain. Folding works on more than one code point at a time (marks join letters), so a
    literal ends where what follows is not known to leave its last letter alone.

    Raises:
        InvalidRegex: As `parse` does.
    """
    found = ("".join(run) for run in _runs(parse(pattern).body))
    return tuple(dict.fromkeys(run for run in found if run))


def _runs(body: Alternatives) -> Iterator[list[str]]:
    run: list[str] = []
    loose = False  # whether the last letter of the run may be changed by what follows it
    for node in _consumed(body):
        letter = _letter(node.code) if isinstance(node, Char) else None
        if letter is not None:
            run.append(letter)
            loose = not _inert(letter)
            continue
        yield run[:-1] if loose and not _begins_apart(node) else run
        run, loose = [], False
        if isinstance(node, Repeat) and node.least:
            yield from _runs(((node.body,),))
    yield run[:-1] if loose else run


def _consumed(body: Alternatives) -> Iterator[Node]:
    """What one sequence of a pattern consumes, piece after piece; a piece of alternatives stays one piece."""
    if len(body) > 1:
        return
    for node in body[0]:
        if isinstance(node, Group) and len(node.body) == 1:
            yield from _consumed(node.body)
        elif not isinstance(node, Anchor | Look):
            yield node


def _letter(code: int) -> str | None:
    """The one folded letter of all code points that match this one; None if they or their neighbours change it."""
    folds = {folded(chr(each)) for each in equal(code)}
    if len(folds) != 1:
        return None
    (letter,) = folds
    return letter if len(letter) == 1 and all(map(_apart, (*equal(code), ord(letter)))) else None


def _apart(code: int) -> bool:
    """Whether a code point never joins the one before it: no mark, no Hangul jamo, nothing unassigned."""
    first = unicodedata.normalize("NFKD", chr(code))[0]
    category = unicodedata.category(first)
    # Precomposed Hangul begins with a leading jamo, which joins nothing before it.
    return (category[0] in "LNPSZ" or category == "Cc") and not 0x1160 <= ord(first) < 0x1200


# Letters of these ranges take no marks into themselves.
_WITHOUT_MARKS: Ranges = ((0x00, 0x3B), (0x3F, 0x40), (0x5B, 0x60), (0x7B, 0x7F), (0x3400, 0x4DBF), (0x4E00, 0x9FFF))


def _inert(letter: str) -> bool:
    return holds(_WITHOUT_MARKS, ord(letter))


def _begins_apart(node: Node) -> bool:
    """Whether whatever a piece consumes begins with a code point that never joins the one before it."""
    match node:
        case Char(code):
            return all(map(_apart, equal(code)))
        case Class(ranges, (), False):
            return all(last < 0x80 or (first, last) in SPACE for first, last in ranges)
        case Repeat(body, least, _, _):
            return least > 0 and _begins_apart(body)
        case Group(body, _):
            return all(bool(sequence) and _begins_apart(sequence[0]) for sequence in body)
    return False


_WORDS: Ranges = ((0x30, 0x39), (0x41, 0x5A), (0x5F, 0x5F), (0x61, 0x7A), (0x17F, 0x17F), (0x212A, 0x212A))


def within_words(pattern: str) -> bool:
    """Whether whatever *pattern* matches in a text lies within one word of it, so that words alone tell.

    False where that is not certain. Words are the runs that `text.tokens` makes, each also taken apart into letters and
    marks; only ASCII letters are looked into. What matches without any letter lies in no word.

    Raises:
        InvalidRegex: As `parse` does.
    """
    body = parse(pattern).body
    return all(map(_within_word, chain.from_iterable(body))) and all(any(map(_consumes, found)) for found in body)


def _consumes(node: Node) -> bool:
    """Whether a piece never matches the empty text."""
    match node:
        case Char() | Class():
            return True
        case Repeat(body, least, _, _):
            return least > 0 and _consumes(body)
        case Group(body, _):
            return all(any(map(_consumes, found)) for found in body)
    return False


def _within_word(node: Node) -> bool:
    match node:
        case Char(code):
            return holds(_WORDS, code)
        case Class(ranges, (), False):
            return all(any(low <= first and last <= high for low, high in _WORDS) for first, last in ranges)
        case Repeat(body, _, _, _):
            return _within_word(body)
        case Group(body, _):
            return all(map(_within_word, chain.from_iterable(body)))
    return False
