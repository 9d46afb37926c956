"""How many columns of a terminal a text takes, and what of it fits. No character is cut, as people see characters."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from typing import NamedTuple

from pepys.text import printable

ELLIPSIS = "…"

_JOINER, _EMOJI_STYLE = "\u200d", "\ufe0f"
_SKIN = range(0x1F3FB, 0x1F400)
_FLAG = range(0x1F1E6, 0x1F200)
_JAMO = (*range(0x1160, 0x1200), *range(0xD7B0, 0xD800))
"""Vowels and finals of Hangul, which stand in the two columns of the consonant before them."""


class Cell(NamedTuple):
    """A character as people see it: a letter with its marks, a joined emoji, a flag."""

    text: str
    width: int  # columns, 0 to 2, or more where a control character is shown by its escape
    shown: str  # the text itself, or that escape


def cells(text: str) -> list[Cell]:
    """The characters of *text* as people see them."""
    if text.isascii() and text.isprintable():
        return [Cell(character, 1, character) for character in text]
    found: list[str] = []
    for character in text:
        if found and _continues(found[-1], character) and found[-1] + character == printable(found[-1] + character):
            found[-1] += character
        else:
            found.append(character)
    return [_cell(cell) for cell in found]


def width(text: str) -> int:
    """Columns that *text* takes."""
    return len(text) if text.isascii() and text.isprintable() else sum(cell.width for cell in cells(text))


def fit(text: str, columns: int) -> str:
    """*text* for at most so many *columns*; where it is cut, it ends in an ellipsis."""
    whole = cells(text)
    if sum(cell.width for cell in whole) <= columns:
        return "".join(cell.shown for cell in whole)
    kept, left = [], columns - 1
    for cell in whole:
        if cell.width > left:
            break
        kept.append(cell.shown)
        left -= cell.width
    return "".join(kept) + ELLIPSIS if columns > 0 else ""


def wrap(text: Iterable[Cell], columns: int) -> list[list[Cell]]:
    """Lines of at most so many *columns*, broken between words where that is possible; together they are *text*."""
    lines: list[list[Cell]] = [[]]
    for cell in text:
        lines[-1].append(cell)
        while len(line := lines[-1]) > 1 and sum(other.width for other in line) > columns:
            begin = next((at for at in range(len(line) - 1, 0, -1) if _breaks(line[at - 1], line[at])), len(line) - 1)
            lines[-1:] = [line[:begin], line[begin:]]
    return lines


def _breaks(one: Cell, other: Cell) -> bool:
    """Whether a line may end between two characters: at a space, which can hold the cursor too, and at wide ones."""
    return " " in (one.text, other.text) or 2 in (one.width, other.width)


def _continues(cell: str, character: str) -> bool:
    code = ord(character)
    return (
        cell[-1] == _JOINER
        or unicodedata.category(character) in ("Mn", "Me")
        or character in (_JOINER, _EMOJI_STYLE)
        or code in _SKIN
        or code in _JAMO
        or (code in _FLAG and len(cell) == 1 and ord(cell) in _FLAG)
    )


def _cell(text: str) -> Cell:
    shown = printable(text)
    if shown != text:
        return Cell(text, sum(map(_columns, shown)), shown)
    wide = _EMOJI_STYLE in text or (len(text) > 1 and ord(text[1]) in _FLAG)
    return Cell(text, 2 if wide else _columns(text[0]), text)


def _columns(character: str) -> int:
    if unicodedata.east_asian_width(character) in "WF":
        return 2
    # A soft hyphen is shown by terminals, unlike everything else that only formats.
    return 0 if unicodedata.category(character) in ("Mn", "Me", "Cf") and character != "\xad" else 1
