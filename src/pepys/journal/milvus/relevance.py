"""What a hit of a Milvus collection is worth, absolutely (decision 17), whatever model its vectors are of. Pure.

A shared collection may be of any model, and what a cosine means differs from one to the next: unrelated texts are at
0.1 in one space and at 0.75 in another. So cosines are judged by their fellows: the query's cosines with all the other
chunks say what being unrelated looks like here.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import log, sqrt
from statistics import median

from pepys.journal.fusion import Calibration

FEW = 8
"""Fewer cosines than this say nothing about each other."""

UNKNOWN = Calibration(0.3, 0.85)
"""For a collection of too few chunks: in no common space are unrelated texts nearer than that."""

_BEYOND = 1.0
_UNSURE = 10  # of few cosines, the spread is known badly: 1 % of negative controls pass at 8, 0.5 % at 30
_SPREAD = 1.4826  # of the median of deviations, to be the standard deviation of what is normally distributed
_LEAST_SPREAD = 0.01


def calibration(cosines: Sequence[float]) -> Calibration:
    """What cosines with one query mean, out of those of all chunks.

    The best of n unrelated chunks lies about sqrt(2 ln n) standard deviations above the middle. Even odds are one
    deviation above that: where the nearest chunk of a store without an answer hardly ever comes.

    Args:
        cosines: Of the whole collection, in any order.
    """
    if len(cosines) < FEW:
        return UNKNOWN
    middle = median(cosines)
    spread = max(_LEAST_SPREAD, _SPREAD * median(abs(cosine - middle) for cosine in cosines))
    even = middle + spread * (sqrt(2 * log(len(cosines))) + _BEYOND) * (1 + _UNSURE / len(cosines))
    return Calibration(middle, max(middle + _LEAST_SPREAD, min(even, 0.99)))
