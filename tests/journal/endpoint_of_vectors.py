"""An embedding endpoint on this machine: vectors that depend on nothing but words, and a log of what was asked."""

from __future__ import annotations

import hashlib
import json
import math
import re
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

DIMENSIONS = 64


def vector(text: str, dimensions: int = DIMENSIONS) -> list[float]:
    """A direction for each word, and their sum for a text."""
    made = [0.0] * dimensions
    for word in re.findall(r"\w+", text.lower()):
        digest = hashlib.sha512(word.encode()).digest()
        for at in range(dimensions):
            made[at] += 1 if digest[at % 64] >> (at // 64 % 8) & 1 else -1
    length = math.sqrt(sum(value * value for value in made)) or 1.0
    return [value / length for value in made]


class Endpoint:
    """It, while it runs.

    Attributes:
        asked: Bodies of requests.
        keys: Their authorizations.
        failing: Answer 503 from now on.
        dimensions: Of the vectors from now on.
        before: Called before each answer.
    """

    def __init__(self) -> None:
        self.asked: list[dict[str, Any]] = []
        self.keys: list[str | None] = []
        self.failing = False
        self.dimensions = DIMENSIONS
        self.before: Callable[[], None] = lambda: None
        endpoint = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                endpoint.before()
                endpoint.asked.append(body)
                endpoint.keys.append(self.headers["Authorization"])
                answer = json.dumps(endpoint._answer(self.path, body)).encode()
                self.send_response(503 if endpoint.failing else 200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    @property
    def texts(self) -> list[str]:
        """Everything that was to be embedded, but the questions for dimensions."""
        found = [text for body in self.asked for text in body["input"]]
        return [text for text in found if text not in ("dim", "dimensions")]

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def _answer(self, path: str, body: dict[str, Any]) -> object:
        if self.failing:
            return {"error": {"message": "out of order"}}
        texts = [body["input"]] if isinstance(body["input"], str) else body["input"]
        made = [vector(text, self.dimensions) for text in texts]
        if path.endswith("/api/embed"):
            return {"model": body["model"], "embeddings": made}
        rows = [{"object": "embedding", "index": at, "embedding": one} for at, one in enumerate(made)]
        usage = {"prompt_tokens": 1, "total_tokens": 1}
        if "encoding_format" not in body:  # Pepys asks, and goes by the index; memsearch goes by the order
            rows.reverse()
        return {"object": "list", "data": rows, "model": body["model"], "usage": usage}
