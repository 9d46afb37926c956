"""When the index follows the daily files: some seconds after the first write of a burst, at once at a session's start.

Agents of other tools write too, so a search brings the index up to date itself. This keeps that short, and keeps
writers from waiting.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from pepys.errors import told
from pepys.journal.base import Place
from pepys.journal.constants import INDEX_DEBOUNCE_MS

Run = Callable[[], object]


class Indexers:
    """One schedule a store, for the life of the process.

    A write that comes while a run waits joins it, and never puts it off: an endless stream of writes cannot starve
    the index. One that comes while a run is under way causes another.
    """

    def __init__(self, delay_s: float = INDEX_DEBOUNCE_MS / 1000) -> None:
        self._delay_s = delay_s
        self._lock = threading.Lock()
        self._waiting: dict[Place, threading.Timer] = {}
        self._running: dict[Place, threading.Thread] = {}
        self.failures: dict[str, str] = {}  # store -> why its last run failed; a later success takes it away

    def note(self, place: Place, run: Run, *, at_once: bool = False) -> None:
        """A store was written to, or a session began: *run*, which brings its index up to date, is due."""
        with self._lock:
            if place in self._waiting:
                if not at_once:
                    return
                self._waiting.pop(place).cancel()
            timer = threading.Timer(0 if at_once else self._delay_s, self._go, [place, run])
            timer.daemon = True  # what is left undone is done at the next session's start
            self._waiting[place] = timer
            timer.start()

    def settle(self, place: Place, cap_s: float) -> bool:
        """Run what waits now, and wait for what runs; whether it was done within *cap_s* seconds."""
        with self._lock:
            if timer := self._waiting.pop(place, None):
                timer.cancel()
            thread = self._running.get(place)
        if timer is not None:
            thread = threading.Thread(target=self._go, args=timer.args, daemon=True)
            thread.start()
        if thread is not None:
            thread.join(cap_s)
        return thread is None or not thread.is_alive()

    def _go(self, place: Place, run: Run) -> None:
        me = threading.current_thread()
        with self._lock:
            before = self._running.get(place)
            self._running[place] = me
            if self._waiting.get(place) is me:
                del self._waiting[place]  # a write from now on is a reason for another run
        if before is not None:
            before.join()
        try:
            run()
            self.failures.pop(place.store, None)
        except Exception as error:
            # Nothing listens here; `journal.status` tells.
            self.failures[place.store] = told(error)
        finally:
            with self._lock:
                if self._running.get(place) is me:
                    del self._running[place]
