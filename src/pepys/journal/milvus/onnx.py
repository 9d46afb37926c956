"""memsearch's provider `onnx`, the usual one of agents: a model that lies in the cache of Hugging Face.

It is never downloaded from here. How a vector comes about is memsearch's own way, as seen from outside: the output of
two dimensions, else the first token's of the first output, as long as one.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pepys import paths
from pepys.journal.embedders.base import EmbedderFailed
from pepys.journal.milvus.base import Embedding

MODEL_FILE, TOKENIZER_FILE = "model_quantized.onnx", "tokenizer.json"

_BATCH = 8  # more of them only take memory
_MOST_TOKENS = 8192


class Onnx(Embedding):
    """Such a model."""

    def __init__(self, name: str, model: str, env: Mapping[str, str]) -> None:
        super().__init__(name, model)
        self._repository, self._env = model, env
        self._loaded: tuple[Any, Any, Any] | None = None

    def vectors(self, texts: Sequence[str]) -> list[list[float]]:
        """See `Embedding`."""
        try:
            return [
                vector for start in range(0, len(texts), _BATCH) for vector in self._some(texts[start : start + _BATCH])
            ]
        except EmbedderFailed:
            raise
        except Exception as error:  # of a runtime that has its own, for files that are damaged
            raise EmbedderFailed(f"{self.name}: {type(error).__name__}: {error}") from error

    def _some(self, texts: Sequence[str]) -> list[list[float]]:
        numpy, tokenizer, session = self._parts()
        encoded = tokenizer.encode_batch([_clean(text) for text in texts])
        ids = numpy.array([one.ids for one in encoded], dtype=numpy.int64)
        given = {
            "input_ids": ids,
            "attention_mask": numpy.array([one.attention_mask for one in encoded], dtype=numpy.int64),
            "token_type_ids": numpy.zeros_like(ids),
        }
        wanted = {one.name for one in session.get_inputs()}
        outputs = session.run(None, {name: value for name, value in given.items() if name in wanted})
        rows = next((output for output in outputs if output.ndim == 2), None)
        return [_unit(row) for row in (outputs[0][:, 0] if rows is None else rows).tolist()]

    def _parts(self) -> tuple[Any, Any, Any]:
        if self._loaded is None:
            try:
                import numpy
                import onnxruntime
                from tokenizers import Tokenizer
            except ImportError as error:
                raise EmbedderFailed(f"{error} (pip install 'pepys[milvus-onnx]')") from None
            tokens, model = self._file(TOKENIZER_FILE), self._file(MODEL_FILE)
            tokenizer = Tokenizer.from_file(tokens)
            tokenizer.enable_padding(pad_id=1, pad_token="<pad>")  # noqa: S106
            tokenizer.enable_truncation(max_length=_MOST_TOKENS)
            options = onnxruntime.SessionOptions()
            options.enable_cpu_mem_arena = False  # which would keep the largest batch's memory for ever
            session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
            self._loaded = numpy, tokenizer, session
        return self._loaded

    def _file(self, name: str) -> str:
        for cache in _caches(self._env):
            repository = cache / f"models--{self._repository.replace('/', '--')}"
            try:
                revision = (repository / "refs" / "main").read_text(encoding="utf-8").strip()
            except OSError:
                continue
            file = repository / "snapshots" / revision / name
            if file.is_file():
                return str(file)
        raise EmbedderFailed(
            f"the model {self._repository} was not downloaded yet; memsearch does that when it indexes"
        )


def _caches(env: Mapping[str, str]) -> Iterator[Path]:
    """Where Hugging Face's libraries keep models, the likeliest first."""
    for name, below in (
        ("HF_HUB_CACHE", ""),
        ("HUGGINGFACE_HUB_CACHE", ""),
        ("HF_HOME", "hub"),
        ("XDG_CACHE_HOME", "huggingface/hub"),
    ):
        if env.get(name):
            yield Path(os.path.join(env[name], below))
    yield paths.home(env) / ".cache" / "huggingface" / "hub"


def _clean(text: str) -> str:
    """*text* without half surrogate pairs, which tokenizers refuse."""
    return text.encode("utf-8", "replace").decode()


def _unit(vector: list[float]) -> list[float]:
    length = math.sqrt(sum(value * value for value in vector)) or 1.0
    return [value / length for value in vector]
