"""A client of `pepys serve` as a child process. Whatever both sides send is held to the schema."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any

from tests.rpc.schema import Conversation

Json = dict[str, Any]

SOURCE = Path(__file__).parents[2] / "src"
MARK = "PEPYS_TEST_PROCESS"
PATIENCE_S = 20.0
"""How long anything may take that is to come at all: the machine may be busy."""


class Failed(Exception):
    """A request was answered by an error."""

    def __init__(self, error: Json) -> None:
        super().__init__(error)
        self.code: int = error["code"]
        self.message: str = error["message"]
        self.data: Any = error.get("data")


class Serving:
    """A server with its client.

    Attributes:
        callbacks: What the client does when it is asked: by method, from parameters to an answer. An exception is an
            answer too. It is never answered where there is nothing.
        asked: Methods and parameters that the server asked for, in order.
        signals: Methods and parameters that it told.
    """

    def __init__(self, home: Path, cwd: Path, *, code: str = "", **env: str) -> None:
        """*code*: Python that runs in the server's process before it serves."""
        self.callbacks: dict[str, Callable[[Json], Json]] = {}
        self.asked: list[tuple[str, Json]] = []
        self.signals: list[tuple[str, Json]] = []
        self.conversation = Conversation()
        self._answers: dict[object, Json] = {}
        self._came = threading.Condition()
        self._ended = False
        self._ids = iter(range(1, 1_000_000))
        self._lock = threading.Lock()
        self.mark = uuid.uuid4().hex
        self.env = {"HOME": str(home), "PATH": os.environ["PATH"], "PYTHONPATH": str(SOURCE), MARK: self.mark, **env}
        program = f"import sys\n{code}\nfrom pepys.cli import main; sys.exit(main(['serve']))"
        self.process = subprocess.Popen(
            [sys.executable, *(["-c", program] if code else ["-m", "pepys", "serve"])],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=cwd,
            env=self.env,
        )
        assert self.process.stdin and self.process.stdout
        self._stdin, self._stdout = self.process.stdin, self.process.stdout
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def __enter__(self) -> Serving:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if kind is None:
                if not self._ended:
                    assert self.leave() == 0, self.process.stderr and self.process.stderr.read()
                assert self.conversation.problems == []
        finally:
            if self.process.poll() is None:
                self.process.kill()
                self.process.wait()
            for stream in (self._stdin, self._stdout, self.process.stderr):
                if stream is not None:
                    stream.close()

    # Requests

    def initialize(self, *capabilities: str) -> Json:
        """Shake hands."""
        return self.ask(
            "initialize", protocolVersion=1, client={"name": "tests", "version": "1"}, capabilities=[*capabilities]
        )

    def ask(self, method: str, /, within_s: float = PATIENCE_S, **params: Any) -> Json:
        """The answer to a request."""
        return self.answer(self.request(method, **params), within_s)

    def request(self, method: str, /, **params: Any) -> int:
        """Ask, and wait for nothing: the id of the request."""
        id_ = next(self._ids)
        self.send({"id": id_, "method": method, "params": params})
        return id_

    def answer(self, id_: object, within_s: float = PATIENCE_S) -> Json:
        """The answer to the request of that id.

        Raises:
            Failed: It is an error.
        """
        message = self.message(id_, within_s)
        if "error" in message:
            raise Failed(message["error"])
        result: Json = message["result"]
        return result

    def message(self, id_: object, within_s: float = PATIENCE_S) -> Json:
        """The whole line that answers a request."""
        with self._came:
            assert self._came.wait_for(lambda: id_ in self._answers, within_s), f"{id_!r} was not answered"
            return self._answers.pop(id_)

    def answered(self, id_: object) -> bool:
        """Whether a request has been answered yet."""
        with self._came:
            return id_ in self._answers

    def cancel(self, id_: int) -> None:
        """Want no answer any more."""
        self.send({"method": "cancel", "params": {"id": id_}})

    def send(self, message: Json) -> None:
        """Send a message."""
        line = json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n"
        with self._lock:
            self.conversation.see("client", line)
            self._stdin.write(line)
            self._stdin.flush()

    def raw(self, data: bytes) -> None:
        """Send what is not held to the schema."""
        with self._lock:
            self._stdin.write(data)
            self._stdin.flush()

    def forgive(self) -> None:
        """Hold nothing against the client so far: what it sent was wrong on purpose."""
        self.conversation.problems.clear()

    def wait(self, happened: Callable[[], bool], within_s: float = PATIENCE_S) -> None:
        """Wait until the server has sent what makes it so."""
        with self._came:
            assert self._came.wait_for(happened, within_s)

    # The end

    def leave(self, within_s: float = PATIENCE_S) -> int:
        """Close its input; its exit status."""
        with self._lock:
            if not self._stdin.closed:
                self._stdin.close()
        return self.ended(within_s)

    def ended(self, within_s: float = PATIENCE_S) -> int:
        """Wait for its end; no process of it is left."""
        status = self.process.wait(within_s)
        self._reader.join(within_s)
        until = time.monotonic() + 5
        while (left := self.left()) and time.monotonic() < until:
            time.sleep(0.05)
        assert left == []
        self._ended = True
        return status

    def signal(self, number: signal.Signals) -> None:
        """Send it a signal."""
        self.process.send_signal(number)

    def left(self) -> list[int]:
        """Processes that it started and that still run."""
        found = []
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                environment = (folder / "environ").read_bytes()
            except OSError:
                continue
            if f"{MARK}={self.mark}".encode() in environment.split(b"\0"):
                found.append(int(folder.name))
        return found

    # The other way

    def _read(self) -> None:
        for line in self._stdout:
            with self._lock:
                self.conversation.see("server", line)
            message = json.loads(line)
            with self._came:
                if "method" not in message:
                    assert message["id"] not in self._answers, "answered twice"
                    self._answers[message["id"]] = message
                elif "id" in message:
                    self.asked.append((message["method"], message["params"]))
                    threading.Thread(target=self._reply, args=(message,), daemon=True).start()
                else:
                    self.signals.append((message["method"], message["params"]))
                self._came.notify_all()

    def _reply(self, message: Json) -> None:
        reply = self.callbacks.get(message["method"])
        if reply is None:
            return
        try:
            answer: Json = {"result": reply(message["params"])}
        except Exception as error:
            answer = {"error": {"code": -32000, "message": str(error)}}
        self.send({"id": message["id"], **answer})
