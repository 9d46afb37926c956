"""The words under which a chunk is found, and those of a query: lightly stemmed, identifiers also by their parts.

Chinese, Japanese and Korean are written without spaces, or with endings: runs of them are taken as pairs of characters,
which rank well and find any two characters that stand together.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING

from pepys.text import CJK, bounded, canonical, plain

if TYPE_CHECKING:
    from tantivy import TextAnalyzer

_RUN = re.compile(r"\w+")
_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_STEMMED = re.compile("[a-z]{3,}")

# Words that say nothing of what is looked for. They count in no query that has another word.
_STOP = frozenset(
    word
    for line in (
        "a about after all also am an and any are as at be been before being but by can could did do does",
        "doing for from had has have having he her here him his how i if in into is it its just let me my no",
        "not of on or our out over she should so some than that the their them then there these they this",
        "those to too up us use used using very was we were what when where which who whom why will with",
        "would you your s t d ll re ve m",
    )
    for word in line.split()
)


# Characters that mark how words hang together, in Chinese; in Japanese the whole of hiragana is used so.
_FUNCTION = re.compile("[的了是在和与或也就都而及着过把被让我你您他她它们这那哪什么为怎吗呢吧谁有没不几\u3041-\u3096]")

LITTLE = 0.2
"""What a pair of characters with such a one says of what is looked for."""


def telling(term: str, frequency: int) -> float:
    """What a term of a query says beside how rare it is, 0 to 1.

    Pairs of characters overlap, so that one which nothing in the index holds may well be the end of a word and the
    beginning of the next: such a pair is missed half as much as a word.
    """
    if term.isascii() or not _scripts().match(term):
        return 1.0
    return (LITTLE if _FUNCTION.search(term) else 1.0) * (1.0 if frequency else 0.5)


def form(text: str) -> str:
    """How terms are compared: in small letters, without marks, `ß` as `ss`."""
    return plain(text).casefold()


def indexed(text: str) -> list[str]:
    """The terms of *text*, repeated ones included."""
    return [term for run in _RUN.findall(canonical(text)) for term in _terms(run)]


def asked(text: str) -> tuple[str, ...]:
    """The distinct terms of a query, in first-seen order, without stop words if it has other ones."""
    runs = _RUN.findall(canonical(text))
    telling = [run for run in runs if run.lower() not in _STOP]
    return tuple(dict.fromkeys(term for run in telling or runs for term in _wanted(run)))


def words(text: str) -> Iterator[str]:
    """The runs of letters and numbers in *text*, as they are written."""
    yield from _RUN.findall(canonical(text))


def _wanted(run: str) -> list[str]:
    """As `_terms`, but a single character of a longer CJK run is no term of its own."""
    if run.isascii() or not any(len(part) > 1 for part in _scripts().findall(run)):
        return list(_terms(run))
    return [term for term in _terms(run) if len(term) > 1 or not _scripts().match(term)]


@lru_cache(1 << 16)
def _terms(run: str) -> tuple[str, ...]:
    found: list[str] = []
    for number, piece in enumerate([run] if run.isascii() else _scripts().split(run)):
        if number % 2:
            found += piece
            found += map("".join, pairwise(piece))
        elif piece.strip("_"):
            found.append(_stem(form(piece)))
            parts = _PARTS.findall(piece) if piece.isascii() else list(filter(None, piece.split("_")))
            if len(parts) > 1:
                found += [_stem(form(part)) for part in parts]
    return tuple(map(bounded, found))


@lru_cache(1)
def _scripts() -> re.Pattern[str]:
    """Runs of CJK characters. Compiled when it is needed: that takes longer than a search."""
    return re.compile(f"([{CJK}]+)")


def _stem(word: str) -> str:
    if not _STEMMED.fullmatch(word):
        return word
    analysed: list[str] = _stemmer().analyze(word)
    return analysed[0] if analysed else word


@lru_cache(1)
def _stemmer() -> TextAnalyzer:
    import tantivy

    whole = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.whitespace())
    return whole.filter(tantivy.Filter.stemmer("english")).build()
