"""Sessions that run now: their snapshots, what of them was captured, and the captures that are under way.

Their life is this process's, not a workspace's: a host talks to one process, in contexts that come and go.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING

from pepys.errors import told
from pepys.journal.capture import Capture, Captured, Known
from pepys.journal.snapshot import Snapshot

if TYPE_CHECKING:
    from pepys.journal.sidecar import AutoContext
    from pepys.model.context import Context

Finish = Callable[[Capture], Captured]
Tell = Callable[[str], None]


class LiveSession:
    """One session of a host, from its start to its shutdown.

    Attributes:
        snapshot: As of the last checkpoint; None before the first one.
        looked_at: The last message that capture looked at, whether it passed the gates or not; None: none yet.
        seen: What the store held when this process first looked, and what it captured since; None: it has not looked.
        failures: Why captures could not be written, or what of the store could not be read, the newest last.
        auto_context: Its search beside prompts; None while that is off, or no prompt has come yet.
    """

    def __init__(self) -> None:
        self.snapshot: Snapshot | None = None
        self.looked_at: str | None = None
        self.seen: Known | None = None
        self.failures: deque[str] = deque(maxlen=5)
        self.auto_context: AutoContext | None = None
        self._lock = threading.Lock()
        self._waiting: deque[tuple[Capture, Finish, Tell | None]] = deque()
        self._current: Capture | None = None
        self._worker: threading.Thread | None = None

    def capture(self, capture: Capture, finish: Finish, tell: Tell | None = None) -> None:
        """Have *finish* called on *capture* in the background, one after another.

        The process waits for what is under way before it ends: an exchange is never dropped.

        Args:
            tell: Told at once why it could not be done; `failures` has it in any case.
        """
        with self._lock:
            self._waiting.append((capture, finish, tell))
            if self._worker is None:
                self._worker = threading.Thread(target=self._work, daemon=False)
                self._worker.start()

    def flush(self, cap_s: float) -> bool:
        """Wait for the captures; past *cap_s* seconds give up on the models, whose exchanges get their markers.

        Returns:
            Whether all of them were done in time.
        """
        deadline = time.monotonic() + cap_s
        with self._lock:
            worker = self._worker
        if worker is None:
            return True
        worker.join(max(0.0, deadline - time.monotonic()))
        if not worker.is_alive():
            return True
        with self._lock:
            for capture in [self._current, *(waiting[0] for waiting in self._waiting)]:
                if capture is not None:
                    capture.abort()
        worker.join()  # only files are written from here on
        return False

    def _work(self) -> None:
        while True:
            with self._lock:
                if not self._waiting:
                    self._current = self._worker = None
                    return
                self._current, finish, tell = self._waiting.popleft()
                capture = self._current
            try:
                finish(capture)
            except Exception as error:
                why = told(error)
                self.failures.append(why)
                if tell is not None:
                    tell(why)


SESSIONS: dict[tuple[str, str], LiveSession] = {}
"""By store and session (its file, else its id, else nothing: then all of a store's callers share one)."""


def key(context: Context) -> str:
    """What tells the caller's session from others of its store."""
    return str(context.session_file or context.current_session_id or "")


def session(store: str, key: str) -> LiveSession:
    """The live session of that key, begun where there is none."""
    return SESSIONS.setdefault((store, key), LiveSession())


def of_store(store: str) -> list[LiveSession]:
    """Every live session of a store."""
    return [live for (of, _), live in list(SESSIONS.items()) if of == store]


def ended(store: str, key: str, session: LiveSession) -> None:
    """Forget a session that has shut down, but not one that began meanwhile under the same key."""
    if SESSIONS.get((store, key)) is session:
        del SESSIONS[store, key]
