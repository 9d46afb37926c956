"""Who does what at the same time: each lane is one thread, and does its work in order.

What is open belongs to the thread that opened it. Hooks have a lane of their own, so that none waits for a search;
so has what changes something, because such calls must come one after the other (spec 5: the tool is sequential).
"""

from __future__ import annotations

import os
import queue
import sys
import threading
from collections.abc import Callable
from typing import Literal, NoReturn

from pepys.actions.base import Action

LaneName = Literal["events", "changes", "reads", "people"]

Work = Callable[[], None]


def of(action: Action) -> LaneName:
    """The lane of an action."""
    if action.audience == "host":
        return "events"
    if not action.annotations.read_only or action.annotations.execution_mode == "sequential":
        return "changes"
    return "reads"


def leave(status: int = 0) -> NoReturn:
    """End the process although lanes still work: nobody is there for their answers. Their programs end with it."""
    if "pepys.guest.program" in sys.modules:
        from pepys.guest import program

        program.end_all()
    sys.stderr.flush()
    os._exit(status)


class Lane:
    """A thread that is started with its first work."""

    def __init__(self, name: str, closing: Work) -> None:
        """*closing* is called in the lane's thread when all its work is done."""
        self._name, self._closing = name, closing
        self._work: queue.SimpleQueue[Work | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None

    def do(self, work: Work) -> None:
        """Have *work* done, which must not raise."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name=f"pepys-{self._name}", daemon=True)
            self._thread.start()
        self._work.put(work)

    def close(self) -> None:
        """Let it end after the work that it has."""
        self._work.put(None)

    def join(self, cap_s: float) -> bool:
        """Wait for its end; whether it came in time."""
        if self._thread is None:
            return True
        self._thread.join(cap_s)
        return not self._thread.is_alive()

    def _run(self) -> None:
        while (work := self._work.get()) is not None:
            work()
        self._closing()
