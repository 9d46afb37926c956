"""The warm process of auto-context: it holds the embedder, and answers within a prompt's patience or is not waited for.

One a session, so that a search that hangs can be left behind, and killed. Lines of JSON on its standard input and
output:

    in, once   {"place": ..., "settings": ..., "env": ...}
    out, once  {"event": "ready", "embedder": name}
    in         {"id": n, "query": text, "top_k": n}
    out        {"id": n, "hits": [...], "memory": bytes}, or {"id": n, "error": "Type: text"}

It ends with its input. Lines that say something else are ignored on both sides, as are answers that come too late.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NamedTuple

from pepys.journal import auto_context
from pepys.journal.auto_context import Counters, Health, Outcome
from pepys.journal.base import Chunk, Hit, NeverIndexed, Place
from pepys.journal.constants import AUTO_CONTEXT_CAP_MS, AUTO_CONTEXT_TOP_K, SHUTDOWN_GRACE_MS

if TYPE_CHECKING:
    from pepys.config import Journal


COMMAND = (sys.executable, "-P", "-m", "pepys.journal.sidecar")
"""-P: a repository's own files are no modules of ours, though the process is started in one."""


class Injected(NamedTuple):
    """What one prompt came to."""

    outcome: Outcome
    text: str  # to be put beside it; "" where nothing is
    ms: int


class AutoContext:
    """Auto-context of one session: its process, its health and its counters."""

    def __init__(self, place: Place, settings: Journal, env: Mapping[str, str]) -> None:
        """Start the process; nobody waits for it to be warm."""
        self._place, self._settings, self._env = place, settings, env
        self.health = Health()
        self.counters = Counters()
        self._process = Process(place, settings, env)

    def prompt(self, prompt: str, snapshot: str, *, began: float | None = None) -> Injected:
        """Look for what bears on *prompt*, for as long as a prompt may wait, and no longer.

        One prompt after another.

        Args:
            prompt: As the user wrote it.
            snapshot: What of the memory the model has already.
            began: When the prompt's time began, by `time.monotonic`; None: now.
        """
        began = time.monotonic() if began is None else began
        outcome, text = self._looked(auto_context.query(prompt), snapshot, began + AUTO_CONTEXT_CAP_MS / 1000)
        ms = round((time.monotonic() - began) * 1000)
        self.counters = self.counters.after(outcome, ms)
        return Injected(outcome, text, ms)

    def describe(self) -> Iterator[str]:
        """Lines for `memory_status`."""
        self._look_after()
        known = self.counters
        memory = f", {self._process.memory >> 20} MB" if self._process.memory else ""
        embedder = f", embedder {self._process.embedder}" if self._process.embedder else ""
        yield f"auto-context: on ({self.health.state}{embedder}{memory})"
        yield (
            f"auto-context prompts: {known.prompts} seen, {known.injected} injected, "
            f"{known.skippedBudget} skipped-budget, {known.skippedEmpty} skipped-empty, "
            f"{known.skippedError} skipped-error"
        )
        if known.last_injection_ms is not None:
            yield f"auto-context last injection: {known.last_injection_ms}ms"

    def close(self) -> None:
        """End the process: its input ends, and after the grace it is killed."""
        self._process.close(SHUTDOWN_GRACE_MS / 1000)

    def _looked(self, query: str, snapshot: str, until: float) -> tuple[Outcome, str]:
        self._look_after()
        if self.health.state == "crashed":
            self._process = Process(self._place, self._settings, self._env)
            self.health = self.health.respawned()
        if self.health.state == "gave up":
            return "skippedError", ""
        if not query.strip():
            return "skippedEmpty", ""
        try:
            hits = self._process.ask(query, AUTO_CONTEXT_TOP_K, until)
        except TimeoutError:
            self.health = self.health.missed()
            if self.health.state in ("crashed", "gave up"):
                self._process.kill()
            return "skippedBudget", ""
        except Failed:
            self.health = self.health.ready().served()
            return "skippedError", ""
        except OSError:
            self.health = self.health.died()
            self._process.kill()
            return "skippedError", ""
        self.health = self.health.ready().served()
        text = auto_context.message(hits, snapshot)
        return ("injected", text) if text else ("skippedEmpty", "")

    def _look_after(self) -> None:
        """Notice that it is warm, or that it ended."""
        if self.health.state in ("warming", "warm"):
            if not self._process.alive:
                self.health = self.health.died()
                self._process.kill()
            elif self._process.embedder:
                self.health = self.health.ready()


class Failed(Exception):
    """The process answered that it could not search."""


class Process:
    """The process, seen from outside.

    Attributes:
        embedder: The name of its embedder, once it is warm.
        memory: The most that it has needed, in bytes; 0: not told yet.
    """

    def __init__(self, place: Place, settings: Journal, env: Mapping[str, str]) -> None:
        self.embedder, self.memory = "", 0
        self._answers: dict[int, dict[str, Any]] = {}
        self._changed = threading.Condition()
        self._asked = 0
        self._ended = False
        packages = str(Path(__file__).resolve().parents[2])
        search = os.pathsep.join(filter(None, (packages, env.get("PYTHONPATH", ""))))
        self._child = subprocess.Popen(  # noqa: S603
            COMMAND,
            cwd=place.repository if os.path.isdir(place.repository) else None,
            env={**env, "PYTHONPATH": search},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,  # a trace may hold memory
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        with suppress(OSError):
            # Whoever is locked out has to say so while the prompt still waits.
            hurried = replace(settings, search_timeout_ms=AUTO_CONTEXT_CAP_MS // 2)
            self._send({"place": place._asdict(), "settings": asdict(hurried), "env": dict(env)})

    @property
    def alive(self) -> bool:
        """Whether it still runs."""
        return not self._ended and self._child.poll() is None

    def ask(self, query: str, top_k: int, until: float) -> list[Hit]:
        """What it finds.

        Args:
            query: In words.
            top_k: At most so many.
            until: By `time.monotonic`.

        Raises:
            TimeoutError: It has not answered by then; a later answer is dropped.
            Failed: It could not search.
            OSError: It has ended.
        """
        # Nothing is sent before it is warm: it would answer old prompts first, and a full pipe would be waited for.
        self._wait(lambda: bool(self.embedder), until)
        self._asked += 1
        id_ = self._asked
        self._send({"id": id_, "query": query, "top_k": top_k})
        self._wait(lambda: id_ in self._answers, until)
        answer = self._answers.pop(id_)
        if "hits" not in answer:
            raise Failed(str(answer.get("error")))
        return [Hit(Chunk(*hit["chunk"]), float(hit["relevance"])) for hit in answer["hits"]]

    def kill(self) -> None:
        """End it at once. The prompt at hand does not wait for that."""
        self._child.kill()
        threading.Thread(target=self.close, args=[0], daemon=True).start()

    def close(self, grace_s: float) -> None:
        """End it: its input ends, and it is killed when that did not do within *grace_s* seconds."""
        stdin, stdout = self._child.stdin, self._child.stdout
        with suppress(OSError):
            if stdin is not None:
                stdin.close()
        try:
            self._child.wait(grace_s)
        except subprocess.TimeoutExpired:
            self._child.kill()
            self._child.wait()
        self._reader.join()
        if stdout is not None:
            stdout.close()

    def _wait(self, done: Callable[[], bool], until: float) -> None:
        with self._changed:
            self._changed.wait_for(lambda: done() or self._ended, max(0.0, until - time.monotonic()))
            if not done():
                raise BrokenPipeError("the auto-context process has ended") if self._ended else TimeoutError

    def _send(self, line: Mapping[str, Any]) -> None:
        stdin = self._child.stdin
        assert stdin is not None  # noqa: S101
        try:
            stdin.write(json.dumps(line).encode() + b"\n")
            stdin.flush()
        except ValueError:
            raise BrokenPipeError("the auto-context process was ended") from None

    def _read(self) -> None:
        stdout = self._child.stdout
        assert stdout is not None  # noqa: S101
        for line in stdout:
            match _parsed(line):
                case {"event": "ready", "embedder": str(embedder)}:
                    with self._changed:
                        self.embedder = embedder or "none"
                        self._changed.notify_all()
                case {"id": int(id_)} as answer:
                    with self._changed:
                        if id_ == self._asked:
                            self._answers[id_] = answer
                        self.memory = int(answer.get("memory", self.memory))
                        self._changed.notify_all()
        with self._changed:
            self._ended = True
            self._changed.notify_all()


def serve(lines: IO[bytes], out: IO[bytes]) -> None:
    """The process, seen from inside: answer every line of *lines* until they end."""

    def say(line: Mapping[str, Any]) -> None:
        out.write(json.dumps(line).encode() + b"\n")
        out.flush()

    import msgspec

    from pepys.config import Journal
    from pepys.journal import engines

    first = _parsed(lines.readline())
    if not isinstance(first, dict):
        return
    place, journal = Place(**first["place"]), msgspec.convert(first["settings"], Journal)
    index = engines.opened(journal.engine, place, journal, first["env"])
    with suppress(Exception):
        index.search("warm up", 1)  # whatever is wrong, the first question tells
    say({"event": "ready", "embedder": index.status().embedder})
    for line in lines:
        match _parsed(line):
            case {"id": id_, "query": str(query), "top_k": int(top_k)}:
                try:
                    hits = index.search(query, top_k)
                except NeverIndexed:
                    hits = []
                except Exception as error:
                    say({"id": id_, "error": f"{type(error).__name__}: {error}"})
                    continue
                told = [{"chunk": list(hit.chunk), "relevance": hit.relevance} for hit in hits]
                say({"id": id_, "hits": told, "memory": _memory()})


def _memory() -> int:
    """The most memory that this process has needed, in bytes; 0: the platform does not say."""
    try:
        # Linux's getrusage counts what the parent needed before this program was loaded into its copy.
        with open("/proc/self/status", "rb") as lines:
            return next(int(line.split()[1]) << 10 for line in lines if line.startswith(b"VmHWM:"))
    except (OSError, StopIteration):
        pass
    try:
        import resource
    except ImportError:
        return 0
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else most << 10


def _parsed(line: bytes) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None


if __name__ == "__main__":
    serve(sys.stdin.buffer, sys.stdout.buffer)
