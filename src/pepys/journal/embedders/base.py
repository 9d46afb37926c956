"""What an embedder must do."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from pepys.journal.fusion import Calibration

Rarity = Callable[[str], float]
"""How telling a word of a query is in this index: its inverse document frequency, at least 0."""


class EmbedderFailed(Exception):
    """It gave no vectors this time, and may the next; what is indexed meanwhile is found by its words alone."""


class Embedder(Protocol):
    """Text in, vectors out. Vectors are packed as `journal.vectors` packs them, all of one length."""

    weight: float  # in the fusion, 0 to 1; the rest is shared by the lists of words
    calibration: Calibration

    @property
    def name(self) -> str:
        """For people."""
        ...

    @property
    def space(self) -> str:
        """Vectors are compared only with vectors of the same space: model and version."""
        ...

    def documents(self, texts: Sequence[str]) -> list[bytes]:
        """A vector for each text. The same text has the same vector, whatever else is in the index.

        Raises:
            EmbedderFailed: There are none.
        """
        ...

    def query(self, text: str, rarity: Rarity) -> bytes | None:
        """The vector of a query; None where nothing in it has one.

        Raises:
            EmbedderFailed: There is none.
        """
        ...
