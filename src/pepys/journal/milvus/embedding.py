"""The embedding model that memsearch's configuration names: vectors of one collection are all of one model.

Nothing is sent anywhere unless that configuration names a provider: memsearch's own default is a remote one, and a file
that says nothing is no consent. What Pepys does not speak is left to memsearch; a search then goes by words alone.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple
from urllib.error import HTTPError, URLError
from urllib.request import HTTPRedirectHandler, Request, build_opener

from pepys.journal.constants import PROBE_MEMORY_MS
from pepys.journal.embedders.base import EmbedderFailed
from pepys.journal.milvus.base import Embedding

BATCH = 64
BATCH_TIMEOUT_S = 60.0

_ERROR_CHARS = 200


class Provider(NamedTuple):
    """One of memsearch's embedding providers."""

    model: str  # by default
    base: str = ""  # address; "": it has none, or Pepys does not speak it
    path: str = "/embeddings"
    key_variable: str = ""
    base_variable: str = ""


PROVIDERS: Mapping[str, Provider] = {
    "openai": Provider(
        "text-embedding-3-small", "https://api.openai.com/v1", "/embeddings", "OPENAI_API_KEY", "OPENAI_BASE_URL"
    ),
    "mistral": Provider("mistral-embed", "https://api.mistral.ai/v1", "/embeddings", "MISTRAL_API_KEY"),
    "ollama": Provider("nomic-embed-text", "http://127.0.0.1:11434", "/api/embed", "", "OLLAMA_HOST"),
    "onnx": Provider("gpahal/bge-m3-onnx-int8"),
    "local": Provider("all-MiniLM-L6-v2"),
    "google": Provider("gemini-embedding-001"),
    "voyage": Provider("voyage-3-lite"),
    "jina": Provider("jina-embeddings-v4"),
}


def named(shared: Mapping[str, Any], env: Mapping[str, str], timeout_s: float = 30.0) -> Embedding:
    """The model that memsearch's configuration *shared* names; a query waits for it for *timeout_s* seconds."""
    name = str(shared.get("embedding.provider") or "")
    if not name:
        return Embedding(
            "none",
            None,
            "memsearch's configuration names no embedding.provider (memsearch config set embedding.provider onnx)",
        )
    provider = PROVIDERS.get(name)
    model = str(shared.get("embedding.model") or (provider.model if provider else "")) or None
    shown = f"{name} {model}" if model else name
    if name == "onnx" and model:
        from pepys.journal.milvus.onnx import Onnx

        return Onnx(shown, model, env)
    if provider is None or not provider.base:
        return Embedding(shown, model, f"Pepys does not speak memsearch's provider {name}; memsearch itself indexes")
    base = str(shared.get("embedding.base_url") or env.get(provider.base_variable) or provider.base).rstrip("/")
    if "://" not in base:
        base = f"http://{base}"  # as OLLAMA_HOST has it
    key = str(shared.get("embedding.api_key") or env.get(provider.key_variable) or "")
    return Remote(shown, model or provider.model, base + provider.path, key, _batch(shared), timeout_s)


class Remote(Embedding):
    """One behind an endpoint. While it is out of order, it is asked twice a minute, and not at every search."""

    def __init__(self, name: str, model: str, url: str, key: str, batch: int, timeout_s: float) -> None:
        super().__init__(name, model)
        self._model, self.url, self._key, self._batch, self._timeout_s = model, url, key, batch, timeout_s
        self._failed: tuple[EmbedderFailed, float] | None = None  # until when it is taken to be so

    def vectors(self, texts: Sequence[str]) -> list[list[float]]:
        """See `Embedding`."""
        made: list[list[float]] = []
        for start in range(0, len(texts), self._batch):
            made += self._some(list(texts[start : start + self._batch]))
        return made

    def _some(self, texts: list[str]) -> list[list[float]]:
        if self._failed and time.monotonic() < self._failed[1]:
            raise self._failed[0]
        try:
            return self._answered(texts)
        except EmbedderFailed as error:
            self._failed = error, time.monotonic() + PROBE_MEMORY_MS / 1000
            raise

    def _answered(self, texts: list[str]) -> list[list[float]]:
        timeout_s = self._timeout_s if len(texts) == 1 else max(self._timeout_s, BATCH_TIMEOUT_S)
        answer = self._posted({"model": self._model, "input": texts}, timeout_s)
        found: list[Any] = []
        match answer:
            case {"data": [*rows]}:  # the OpenAI API's, which others copy
                ordered = sorted((row for row in rows if isinstance(row, dict)), key=lambda row: row.get("index", 0))
                found = [row.get("embedding") for row in ordered]
            case {"embeddings": [*rows]}:  # Ollama's
                found = rows
        if len(found) != len(texts) or not all(map(_is_vector, found)):
            raise EmbedderFailed(f"{self.url} answered without a vector for each text")
        return [[float(value) for value in vector] for vector in found]

    def _posted(self, body: Mapping[str, Any], timeout_s: float) -> Any:
        if not self.url.startswith(("https://", "http://")):
            raise EmbedderFailed(f"embedding.base_url is no web address: {self.url}")
        headers = {
            "Content-Type": "application/json",
            **({"Authorization": f"Bearer {self._key}"} if self._key else {}),
        }
        request = Request(self.url, json.dumps(body).encode("utf-8", "replace"), headers)  # noqa: S310
        try:
            with build_opener(_StaysThere).open(request, timeout=timeout_s) as response:
                return json.load(response)
        except HTTPError as error:
            with error:
                said = " ".join(error.read(2000).decode("utf-8", "replace").split())[:_ERROR_CHARS]
            raise EmbedderFailed(f"{self.url} answered {error.code}: {said}") from None
        except URLError as error:
            raise EmbedderFailed(f"{self.url} cannot be reached: {error.reason}") from None
        except (OSError, ValueError) as error:
            raise EmbedderFailed(f"{self.url} gave no answer that can be read: {error}") from None


class _StaysThere(HTTPRedirectHandler):
    """Follows no redirection: the key would go along, to whatever address an answer names."""

    def redirect_request(self, *_: object) -> None:
        """Refuse."""


def _batch(shared: Mapping[str, Any]) -> int:
    size = shared.get("embedding.batch_size")
    return size if isinstance(size, int) and size > 0 else BATCH


def _is_vector(value: object) -> bool:
    return (
        isinstance(value, list)
        and bool(value)
        and all(isinstance(number, int | float) and math.isfinite(number) for number in value)
    )
