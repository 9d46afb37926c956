"""Cold sessions: which of them may hold what is asked, told from their digests (spec 1, "Cache V6").

A digest knows words without their places. So what is found is a session, never an entry.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from pepys.index.digest import Digest
from pepys.index.engines.base import Filters, Run
from pepys.index.source import Source


class Candidate(NamedTuple):
    """A cold session that may hold what is asked."""

    source: Source
    digest: Digest
    score: float
    terms: int  # distinct query terms, or words that a pattern matches, in its vocabulary
    structural: int  # addresses that pass the filters; 0 without filters


class Address(NamedTuple):
    """The structural identity of one record, as a digest keeps it."""

    rank: int  # the record's index
    id: str
    address: str | None
    role: str | None
    tool: str | None
    time: int | None
    ref: str | None
    provider: str | None
    action: str | None
    outcome: str | None


class Wanted(NamedTuple):
    """Words that a vocabulary is asked for, each as it would stand in the JSON of one that holds it."""

    words: tuple[str, ...]
    every: bool  # all of them, or any


def literal(terms: Sequence[str], *, every: bool) -> Wanted:
    """Exact terms."""
    return Wanted(tuple(map(_quoted, terms)), every)


def phrase(runs: Iterable[Run]) -> Wanted:
    """What a vocabulary holds if some text holds all *runs*: at an open edge, a longer word."""
    found: dict[str, None] = {}
    for run in runs:
        for at, token in enumerate(run.tokens):
            left = run.open_left and at == 0
            right = run.open_right and at == len(run.tokens) - 1
            found[_quoted(token)[left : -1 if right else None]] = None
    return Wanted(tuple(found), every=True)


def candidates(digests: Iterable[tuple[Source, Digest]], wanted: Wanted, filters: Filters) -> list[Candidate]:
    """The sessions whose vocabulary holds what is wanted and, with filters, that hold an entry which passes them.

    The score is the sum of the rarities of the words found, over all digests that were asked; no provenance weighs.
    """
    asked = 0
    found: list[tuple[Candidate, tuple[bool, ...]]] = []
    frequency = [0] * len(wanted.words)
    for source, digest in digests:
        asked += 1
        held = tuple(word in digest.vocabulary for word in wanted.words)
        frequency = [count + one for count, one in zip(frequency, held, strict=True)]
        if (all(held) if wanted.every else any(held)) and (structural := passing(digest, filters)) is not None:
            found.append((Candidate(source, digest, 0.0, sum(held), structural), held))
    rarity = [math.log(1 + (asked - count + 0.5) / (count + 0.5)) for count in frequency]
    return [
        one._replace(score=sum(value for value, is_in in zip(rarity, held, strict=True) if is_in))
        for one, held in found
    ]


def passing(digest: Digest, filters: Filters) -> int | None:
    """How many of a session's records pass the filters; 0 without filters, None if there is none."""
    if not filters:
        return 0
    return sum(map(filters.passes, _addresses(digest))) or None


def words(digest: Digest) -> list[str]:
    """The vocabulary."""
    found: list[str] = json.loads(digest.vocabulary)
    return found


def last_time(digest: Digest) -> int | None:
    """When the latest of the session's records was made, ms."""
    found: int | None = json.loads(digest.head)["lastTs"]
    return found


def _addresses(digest: Digest) -> Iterator[Address]:
    return map(Address._make, json.loads(digest.addresses))


def _quoted(word: str) -> str:
    return json.dumps(word, ensure_ascii=False)
