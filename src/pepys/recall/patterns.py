"""Regular expressions over records and digests: one haystack within its limits (spec 1, "Bounded regular expressions").

A record's haystack is its searchable text, a cold session's are the single words of its vocabulary.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from pepys.index.digest import Digest
from pepys.index.document import Place
from pepys.index.engines.base import Run, Runs
from pepys.index.source import Source
from pepys.model.entry import Event
from pepys.recall import cold, phrase, regex
from pepys.text import GIANT, folded

MIN_LITERAL_CHARS = 3
"""Shorter literals stand in most records: asking the index for them costs more than it saves."""

MAX_LITERALS = 4


class Matched(NamedTuple):
    """What a pattern matched."""

    records: tuple[tuple[Place, Event, int], ...]  # with the code point where the first match begins
    digests: tuple[tuple[Source, Digest, int], ...]  # with how many words matched
    reasons: frozenset[str]
    error: Mapping[str, str] | None


class Matching:
    """One pattern and the limits it is matched within."""

    def __init__(self, pattern: str, limits: regex.Limits) -> None:
        self._pattern, self._limits = pattern, limits
        self.error = regex.check(pattern, limits)
        self._literals = () if self.error is not None else regex.required(pattern)
        self.within_words = self.error is None and regex.within_words(pattern)

    def candidates(self) -> Runs:
        """What documents must hold to be matched at all; nothing is lost by looking at no others."""
        useful = sorted((one for one in self._literals if len(one) >= MIN_LITERAL_CHARS), key=len, reverse=True)
        runs: dict[Run, None] = {}
        for literal in useful[:MAX_LITERALS]:
            runs.update(dict.fromkeys(phrase.candidates(literal).runs))
        return Runs(tuple(runs))

    def run(self, records: Iterable[tuple[Place, Event, str]], digests: Iterable[tuple[Source, Digest]]) -> Matched:
        """Match *records* (with their searchable texts), then the words of *digests*, as far as the limits go.

        Both are taken lazily. What lacks a literal that every match holds does not count against the limits.
        """
        if self.error is not None:
            return Matched((), (), frozenset((self.error["code"],)), self.error)
        taken: list[tuple[Place, Event] | tuple[Source, Digest, str]] = []

        def haystack() -> Iterator[str]:
            for place, event, text in records:
                if self._possible(folded(text)):
                    taken.append((place, event))
                    yield text
            for source, digest in digests:
                for word in cold.words(digest):
                    for form in filter(self._possible, _forms(word)):
                        taken.append((source, digest, word))
                        yield form
                    if word.startswith(GIANT):
                        self.within_words = False  # what it stands for is not known

        matches = regex.match(self._pattern, haystack(), self._limits)
        found: list[tuple[Place, Event, int]] = []
        words: dict[int, set[str]] = {}
        held: dict[int, tuple[Source, Digest]] = {}
        for number, offset in matches.found.items():
            match taken[number]:
                case (Place() as place, Event() as event):
                    found.append((place, event, offset))
                case (Source() as source, Digest() as digest, str() as word):
                    words.setdefault(source.generation, set()).add(word)
                    held[source.generation] = (source, digest)
        sessions = tuple((*held[generation], len(matched)) for generation, matched in words.items())
        return Matched(tuple(found), sessions, matches.reasons, matches.error)

    def _possible(self, text: str) -> bool:
        return all(literal in text for literal in self._literals)


def _forms(word: str) -> tuple[str, ...]:
    """A word, and the letters and marks that it may have been composed of: a text holds the one or the other."""
    return (word,) if word.isascii() else tuple(dict.fromkeys((word, unicodedata.normalize("NFKD", word))))
