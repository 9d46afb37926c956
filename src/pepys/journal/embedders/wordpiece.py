"""Text in the word pieces of BERT's uncased vocabulary, which MiniLM and the table distilled from it share."""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import chain

from pepys.text import CJK

UNKNOWN, START, END = 100, 101, 102

_LONGEST = 100  # characters; a longer word is none
_ASCII_WORD = re.compile("[a-z0-9]+")


def words(text: str) -> Iterator[str]:
    """The words of *text*, as the vocabulary has them: in small letters, without marks."""
    if text.isascii():
        return iter(_ASCII_WORD.findall(text.lower()))
    return iter(_patterns()[0].findall(_normal(text)))


def pieces(text: str) -> Iterator[int]:
    """The numbers of the pieces of all words; a word with characters that the vocabulary lacks has none."""
    return chain.from_iterable(map(of_word, words(text)))


def symbols(text: str) -> Iterator[str]:
    """Words, and punctuation between them."""
    return iter(_patterns()[1].findall(_normal(text)))


def encoded(text: str, most: int) -> list[int]:
    """*text* as the model is given it: marks of its start and end, punctuation, at most *most* numbers."""
    body = [piece for symbol in symbols(text) for piece in of_word(symbol) or (UNKNOWN,)]
    return [START, *body[: most - 2], END]


FRAGMENT = 2
"""Pieces of fewer characters, on the average, do not tell what a word means: they are little more than letters."""


def meant(word: str) -> tuple[int, ...]:
    """The pieces of a word of a query; none where they are mere fragments, which are near to anything.

    So it is with what is no word, and with single characters. Text that holds the word itself is found by its words.
    """
    found = of_word(word)
    return found if len(word) >= FRAGMENT * len(found) else ()


@lru_cache(1 << 15)
def of_word(word: str) -> tuple[int, ...]:
    """The pieces of a word: each the longest that the vocabulary has."""
    known = vocabulary()
    if len(word) > _LONGEST:
        return ()
    found: list[int] = []
    start = 0
    while start < len(word):
        for end in range(len(word), start, -1):
            piece = known.get(("##" if start else "") + word[start:end])
            if piece is not None:
                break
        else:
            return ()
        found.append(piece)
        start = end
    return tuple(found)


@lru_cache(1)
def vocabulary() -> Mapping[str, int]:
    """Every piece and its number. Words stand in about the order of how common they are."""
    with open(os.path.join(os.path.dirname(__file__), "static", "tokens.txt"), encoding="utf-8") as lines:
        tokens = lines.read().split("\n")[:-1]
    return dict(zip(tokens, range(len(tokens)), strict=True))


@lru_cache(1)
def _patterns() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Words, and words or punctuation. Compiled when they are needed: that takes longer than a search."""
    letters = rf"[{CJK}]|[^\W_{CJK}]+"
    return re.compile(letters), re.compile(rf"{letters}|[^\w\s]|_")


def _normal(text: str) -> str:
    if text.isascii():
        return text.lower()
    return "".join(
        letter for letter in unicodedata.normalize("NFD", text.lower()) if unicodedata.category(letter) != "Mn"
    )
