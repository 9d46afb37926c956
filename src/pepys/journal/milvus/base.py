"""What an embedding model of memsearch's must do for the engine."""

from __future__ import annotations

from collections.abc import Sequence

from pepys.journal.embedders.base import EmbedderFailed


class Embedding:
    """A model, and how to ask it.

    Attributes:
        name: For people.
        model: As chunk ids hold it; None: the configuration names none.
        missing: Why Pepys cannot ask it, in a sentence; "" where it can.
    """

    def __init__(self, name: str, model: str | None, missing: str = "") -> None:
        self.name, self.model, self.missing = name, model, missing

    def vectors(self, texts: Sequence[str]) -> list[list[float]]:
        """A vector for each text, all of one length.

        Raises:
            EmbedderFailed: There are none.
        """
        raise EmbedderFailed(self.missing)

    def dimensions(self) -> int:
        """Of its vectors, which it is asked for.

        Raises:
            EmbedderFailed: It does not say.
        """
        (vector,) = self.vectors(["dimensions"])
        return len(vector)
