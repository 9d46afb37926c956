"""The default embedder: a table of one vector a word piece, distilled from all-MiniLM-L6-v2 (`tools/distil.py`).

A text's vector is the weighted mean of its pieces' vectors. In documents, a piece weighs as much as it is rare in the
language, which never changes; in a query, as much as its word is rare in the index that is asked. The table is English;
of other languages it knows little more than which words are the same.

No numeric library is needed: 256 coordinates are summed at once, in lanes of one number of arbitrary length.
"""

from __future__ import annotations

import mmap
import os
from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING

from pepys.journal.embedders import wordpiece
from pepys.journal.fusion import Calibration
from pepys.journal.vectors import packed

if TYPE_CHECKING:
    from pepys.config import Journal
    from pepys.journal.embedders.base import Embedder, Rarity

DIMENSIONS = 256

RARE = 1e-3
"""A piece that is this share of all text weighs half of what the rarest one does (Arora et al. 2017)."""

HARMONIC = 10.0
"""What makes the shares of all ranks sum up to about 1."""

LETTER = 0.5
"""What single characters weigh, which the vocabulary has in the order of their codes."""

_LANE_BYTES = 4
_UNSIGNED = bytes((byte + 128) & 255 for byte in range(256))
_MOST_WEIGHT = 255
_MOST_PIECES = 1 << 14  # so many words of the greatest weight still fit into a lane


def opened(settings: Journal, env: Mapping[str, str]) -> Embedder:
    """The embedder."""
    return _Static()


class _Static:
    name = "static"
    space = "static-1"
    weight = 0.3
    calibration = Calibration(0.1, 0.4, 0.13)

    def __init__(self) -> None:
        with open(os.path.join(os.path.dirname(__file__), "vectors.bin"), "rb") as file:
            self._rows = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        self._lanes = lru_cache(1 << 12)(self._laned)
        self._weighted = lru_cache(1 << 13)(self._in_documents)

    def documents(self, texts: Sequence[str]) -> list[bytes]:
        made = []
        for text in texts:
            pieces = list(islice(wordpiece.pieces(text), _MOST_PIECES))
            made.append(_packed(sum(map(self._weighted, pieces)), sum(map(_whole, pieces))))
        return made

    def query(self, text: str, rarity: Rarity) -> bytes | None:
        weighed = [(word, rarity(word)) for word in wordpiece.words(text)]
        most = max((weight for _, weight in weighed), default=0.0)
        total = weights = 0
        for word, weight in weighed[:_MOST_PIECES]:
            whole = round(weight / most * _MOST_WEIGHT) if most else 0
            for piece in wordpiece.meant(word):
                total += self._lanes(piece) * whole
                weights += whole
        return _packed(total, weights) if weights else None

    def _in_documents(self, piece: int) -> int:
        return self._laned(piece) * _whole(piece)

    def _laned(self, piece: int) -> int:
        row = self._rows[piece * DIMENSIONS : (piece + 1) * DIMENSIONS].translate(_UNSIGNED)
        wide = bytearray(DIMENSIONS * _LANE_BYTES)
        wide[::_LANE_BYTES] = row
        return int.from_bytes(wide, "little")


def _packed(total: int, weights: int) -> bytes:
    """The vector that a sum of lanes stands for, whose weights sum up to *weights*."""
    lanes = memoryview(total.to_bytes(DIMENSIONS * _LANE_BYTES, "little")).cast("I")
    bias = 128 * weights
    return packed([lane - bias for lane in lanes])


@lru_cache(1 << 13)
def _whole(piece: int) -> int:
    return round(common(piece) * _MOST_WEIGHT)


def common(piece: int) -> float:
    """How rare a piece is in the language, 0 to 1, by its place in the vocabulary (Zipf's law)."""
    rank = piece - wordpiece.vocabulary()["the"]
    if rank < 0:
        return LETTER
    return RARE / (RARE + 1 / (HARMONIC * (rank + 2.7)))
