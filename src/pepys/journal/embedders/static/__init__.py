"""The default embedder: a table of one vector a word piece, distilled from all-MiniLM-L6-v2 (`tools/distil.py`).

A text's vector is the weighted mean of its pieces' vectors. In documents, a piece weighs as much as it is rare in the
language, which never changes; in a query, as much as its word is rare in the index that is asked. The table is English;
of other languages it knows little more than which words are the same.

No numeric library is needed: 256 coordinates are summed at once, in lanes of one number of arbitrary length.
"""

from __future__ import annotations

import mmap
import os
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
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
_MOST_PIECES = 1 << 15  # so many of the greatest weight still fit into a lane


def opened(settings: Journal, env: Mapping[str, str]) -> Embedder:
    """The embedder."""
    return _Static()


class _Static:
    name = "static"
    space = "static-1"
    weight = 0.3
    calibration = Calibration(0.1, 0.38, 0.05)

    def __init__(self) -> None:
        with open(os.path.join(os.path.dirname(__file__), "vectors.bin"), "rb") as file:
            self._rows = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        self._lanes = lru_cache(1 << 13)(self._laned)

    def documents(self, texts: Sequence[str]) -> list[bytes]:
        return [self._pooled((piece, common(piece)) for piece in wordpiece.pieces(text)) for text in texts]

    def query(self, text: str, rarity: Rarity) -> bytes | None:
        weighed = [(word, rarity(word)) for word in wordpiece.words(text)]
        most = max((weight for _, weight in weighed), default=0.0)
        pieces = [(piece, weight / most) for word, weight in weighed if most for piece in wordpiece.of_word(word)]
        return self._pooled(pieces) if pieces else None

    def _pooled(self, weighed: Iterable[tuple[int, float]]) -> bytes:
        total = weights = 0
        for number, (piece, weight) in enumerate(weighed):
            if number == _MOST_PIECES:
                break
            whole = round(weight * _MOST_WEIGHT)
            total += self._lanes(piece) * whole
            weights += whole
        lanes = memoryview(total.to_bytes(DIMENSIONS * _LANE_BYTES, "little")).cast("I")
        return packed([lane - 128 * weights for lane in lanes])

    def _laned(self, piece: int) -> int:
        row = self._rows[piece * DIMENSIONS : (piece + 1) * DIMENSIONS].translate(_UNSIGNED)
        wide = bytearray(DIMENSIONS * _LANE_BYTES)
        wide[::_LANE_BYTES] = row
        return int.from_bytes(wide, "little")


@lru_cache(1 << 13)
def common(piece: int) -> float:
    """How rare a piece is in the language, 0 to 1, by its place in the vocabulary (Zipf's law)."""
    rank = piece - wordpiece.vocabulary()["the"]
    if rank < 0:
        return LETTER
    return RARE / (RARE + 1 / (HARMONIC * (rank + 2.7)))
