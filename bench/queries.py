"""Queries made of a corpus' own words, by how many documents hold them; the same for the same corpus."""

from __future__ import annotations

import os
import random
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from bench.corpus import Corpus
from bench.fragments import documents
from pepys.index.document import Document
from pepys.text import tokens

SAMPLE_BYTES = 16_000_000
"""Source bytes from which document frequencies are estimated."""

COMMON, MIDDLE = (0.05, 0.5), (0.003, 0.01)
"""Shares of the documents; a rare word was seen in one or two documents of the sample."""

_WORD = re.compile(r"[a-z][a-z_]{3,}", re.ASCII)
_SENTENCE = re.compile(r"[a-z]{3,}(?: [a-z]{3,}){2,}", re.ASCII)
_DAY_MS = 86_400_000


@dataclass(frozen=True, slots=True)
class Query:
    """One query, in words that every engine's module translates."""

    kind: str
    terms: tuple[str, ...]
    match: Literal["any", "all", "phrase"] = "any"
    role: str | None = None
    since: int | None = None  # ms, inclusive
    until: int | None = None  # ms, inclusive

    def arguments(self) -> dict[str, Any]:
        """The arguments of `memory.recall`."""
        words = " ".join(self.terms)
        mode = {"queryMode": "phrase"} if self.match == "phrase" else {"queryMatch": self.match}
        filters = {"role": self.role, "since": self.since, "until": self.until}
        given = {name: value for name, value in filters.items() if value is not None}
        return {"query": words, "scope": "global", **mode, **given}


def queries(corpus: Corpus, count: int) -> list[Query]:
    """About *count* queries of each kind."""
    draw = random.Random(f"queries {corpus.shape.seed}")
    paths = corpus.paths()
    draw.shuffle(paths)
    budget, some = SAMPLE_BYTES, []
    for path in paths:
        some.append(path)
        budget -= os.stat(path).st_size
        if budget <= 0:
            break
    sample = [(one, _words(one)) for one in documents(some)]
    return list(_made(draw, sample, count))


def _words(one: Document) -> list[str]:
    return [word for _, text in one.passages for word in tokens(text) if _WORD.fullmatch(word)]


def _made(draw: random.Random, sample: Sequence[tuple[Document, list[str]]], count: int) -> Iterable[Query]:
    frequency = Counter(word for _, words in sample for word in set(words))
    ranked = sorted(frequency)
    common = [word for word in ranked if _within(frequency[word] / len(sample), COMMON)]
    middle = [word for word in ranked if _within(frequency[word] / len(sample), MIDDLE)]
    rare = [word for word in ranked if frequency[word] <= 2]
    dated = [one.time for one, _ in sample if one.time is not None]
    rich = [one for one in sample if len(set(one[1])) >= 3]
    spoken = [text for one, _ in sample for field, text in one.passages if field == "prose" and _SENTENCE.search(text)]
    for _ in range(count):
        three = (draw.choice(common), *draw.sample(middle, 2))
        yield Query("rare", (draw.choice(rare),))
        yield Query("middle", (draw.choice(middle),))
        yield Query("common", (draw.choice(common),))
        yield Query("any3", three)
        yield Query("all3", tuple(draw.sample(sorted(set(draw.choice(rich)[1])), 3)), "all")
        yield Query("phrase", _phrase(draw, draw.choice(spoken)), "phrase")
        yield Query("filtered", three, role=draw.choice(("user", "assistant", "toolResult")))
        since = draw.choice(dated)
        yield Query("dated", three, since=since, until=since + 3 * _DAY_MS)


def _within(share: float, band: tuple[float, float]) -> bool:
    return band[0] <= share <= band[1]


def _phrase(draw: random.Random, text: str) -> tuple[str, ...]:
    words = draw.choice(_SENTENCE.findall(text)).split()
    length = draw.choice((2, 3))
    first = draw.randrange(len(words) - length + 1)
    return tuple(words[first : first + length])
