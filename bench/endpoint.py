"""An endpoint that embeds as OpenAI's does, by the static embedder: memsearch needs a model to be measured with."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from pepys.config import Journal
from pepys.journal.embedders import static


class Endpoint:
    """Serves within a `with` block, which is given its address."""

    def __enter__(self) -> str:
        embedder = static.opened(Journal(), {})

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                texts = [asked["input"]] if isinstance(asked["input"], str) else asked["input"]
                rows = [[float(x) for x in memoryview(vector).cast("b")] for vector in embedder.documents(texts)]
                data = [{"object": "embedding", "index": at, "embedding": row} for at, row in enumerate(rows)]
                said = json.dumps(
                    {
                        "object": "list",
                        "data": data,
                        "model": "static",
                        "usage": {"prompt_tokens": 0, "total_tokens": 0},
                    }
                ).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(said)))
                self.end_headers()
                self.wfile.write(said)

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever)
        self._thread.start()
        return f"http://127.0.0.1:{self._server.server_port}/v1"

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
