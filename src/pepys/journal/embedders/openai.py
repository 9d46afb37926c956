"""Any endpoint that speaks OpenAI's embeddings, a local one too. Used only where the user has named one.

Text of the journal is sent there; nothing else of Pepys sends any.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pepys.journal.base import BackendMissing
from pepys.journal.embedders.base import EmbedderFailed
from pepys.journal.fusion import Calibration
from pepys.journal.vectors import packed

if TYPE_CHECKING:
    from pepys.config import Journal
    from pepys.journal.embedders.base import Embedder, Rarity

BATCH = 64
TIMEOUT_S = 20.0
MOST_BYTES = 64 << 20  # of an answer


def opened(settings: Journal, env: Mapping[str, str]) -> Embedder:
    """The embedder.

    Raises:
        BackendMissing: Address or model are not configured.
    """
    if not settings.embedding_url or not settings.embedding_model:
        raise BackendMissing(
            "embedder openai is not configured",
            "The memory index is unavailable: set journal.embeddingUrl and journal.embeddingModel, or set "
            "journal.embedder to static. Memory is still written to the daily files and can be searched later.",
        )
    url = settings.embedding_url.rstrip("/")
    return _OpenAI(url, settings.embedding_model, env.get(settings.embedding_key_variable, ""))


class _OpenAI:
    name = "openai"
    weight = 0.45
    calibration = Calibration(0.15, 0.45, 0.03)

    def __init__(self, url: str, model: str, key: str) -> None:
        self._url, self._model, self._key = url, model, key

    @property
    def space(self) -> str:
        import hashlib

        # The address may hold a password, and is kept in the index.
        return f"openai {hashlib.sha256(self._url.encode()).hexdigest()[:12]} {self._model}"

    def documents(self, texts: Sequence[str]) -> list[bytes]:
        return [packed(vector) for at in range(0, len(texts), BATCH) for vector in self._asked(texts[at : at + BATCH])]

    def query(self, text: str, rarity: Rarity) -> bytes | None:
        return packed(self._asked([text])[0])

    def _asked(self, texts: Sequence[str]) -> list[list[float]]:
        import urllib.request

        body = json.dumps({"model": self._model, "input": list(texts), "encoding_format": "float"}).encode()
        headers = {"Content-Type": "application/json"}
        if self._key:
            headers["Authorization"] = f"Bearer {self._key}"
        try:
            request = urllib.request.Request(f"{self._url}/embeddings", body, headers)  # noqa: S310  (the user's own)
            with urllib.request.urlopen(request, timeout=TIMEOUT_S) as answer:  # noqa: S310
                value: Any = json.loads(answer.read(MOST_BYTES))
            rows = sorted(value["data"], key=lambda row: row.get("index", 0))
            found = [[float(number) for number in row["embedding"]] for row in rows]
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise EmbedderFailed(_said(error)) from None  # the error itself may hold the address
        sizes = {len(vector) for vector in found}
        if len(found) != len(texts) or len(sizes) != 1 or not all(map(math.isfinite, (x for v in found for x in v))):
            raise EmbedderFailed("the endpoint's answer has not one vector for each text")
        return found


def _said(error: Exception) -> str:
    """What went wrong, without the address, which may hold a key, and without the text that was sent."""
    code = getattr(error, "code", None)
    if code:
        error.close()  # type: ignore[attr-defined]  # of an HTTPError: it is the answer, too
    return f"the endpoint answered {code}" if code else f"the endpoint gave no usable answer ({type(error).__name__})"
