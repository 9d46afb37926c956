"""One order out of several lists, and how much a hit has to do with the query (decision 17). Pure functions."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from math import log
from typing import NamedTuple

NEIGHBOUR = 0.1
"""What a chunk gains from the better of the chunks before and after it, as a share of that one's score."""

HELD = 3
"""The rank below which the best hit by words alone never falls."""


class Ranked(NamedTuple):
    """What one way of looking found."""

    weight: float
    scores: Mapping[int, float]  # by chunk; each list on a scale of its own
    absent: float | None = None  # the score of what is not listed; None: the least one that is


def fused(lists: Sequence[Ranked], *, held: int | None = None) -> list[int]:
    """The chunks of all *lists*, best first: by the weighted sum of their scores, each list's stretched to 0 to 1.

    Ranks are not used: they forget how much better the first one is (on LoCoMo, recall@10 0.745 against 0.675).

    Args:
        lists: Chunks are numbered so that neighbours within a file follow each other.
        held: A chunk that comes third at the latest.
    """
    sums: dict[int, float] = {}
    for ranked in lists:
        for chunk, score in _stretched(ranked):
            sums[chunk] = sums.get(chunk, 0.0) + ranked.weight * score
    near = {chunk: max(sums.get(chunk - 1, 0.0), sums.get(chunk + 1, 0.0)) for chunk in sums}
    order = sorted(sums, key=lambda chunk: (-sums[chunk] - NEIGHBOUR * near[chunk], -chunk))
    if held is not None and held not in order[:HELD]:
        order.remove(held)
        order.insert(HELD - 1, held)
    return order


def _stretched(ranked: Ranked) -> Iterable[tuple[int, float]]:
    if not ranked.scores:
        return
    low = min(ranked.scores.values()) if ranked.absent is None else ranked.absent
    span = max(ranked.scores.values()) - low
    for chunk, score in ranked.scores.items():
        yield chunk, (score - low) / span if span > 0 else 1.0


def rarity(documents: int, frequency: int) -> float:
    """How telling a term is that *frequency* of *documents* hold. Unlike BM25's, also where there are few of them."""
    return log(1 + max(documents, frequency) / (frequency + 0.5))


def share(wanted: Mapping[str, float], present: Collection[str]) -> float:
    """How much of a query is in a text, 0 to 1: the share of its terms, each as telling as it is rare."""
    whole = sum(wanted.values())
    return sum(weight for term, weight in wanted.items() if term in present) / whole if whole else 0.0


class Calibration(NamedTuple):
    """What cosines mean in one space: between unrelated texts they are about `low`, of a text and itself 1."""

    low: float  # relevance 0
    even: float  # relevance 0.5, in a store of `SMALL` chunks: so near are few unrelated texts
    growth: float = 0.0  # of `even`, each time that a store is e times as large: among more texts, some are nearer

    def among(self, chunks: int) -> Calibration:
        """The calibration of a store of so many chunks."""
        even = self.even + self.growth * log(max(chunks, SMALL) / SMALL)
        return Calibration(self.low, min(even, MOST_EVEN))


SMALL = 50

MOST_EVEN = 0.9


def calibrated(cosine: float, calibration: Calibration) -> float:
    """The relevance, 0 to 1, that a cosine stands for."""
    low, even, _ = calibration
    if cosine <= even:
        return max(0.0, (cosine - low) / (even - low) / 2)
    return min(1.0, 0.5 + (cosine - even) / (1 - even) / 2)
