"""A call that takes as long as it likes, waited for as long as we like."""

from __future__ import annotations

import threading
from collections.abc import Callable

_TICK_S = 0.05


class Aborted(Exception):
    """Somebody gave up waiting."""


def within(call: Callable[[], str], timeout_s: float, abort: threading.Event | None = None) -> str:
    """What *call* returns. It goes on in a thread of its own where it takes too long, and its result is dropped.

    Raises:
        TimeoutError: It took longer than *timeout_s*.
        Aborted: *abort* was set meanwhile.
        Exception: Whatever *call* raised.
    """
    done = threading.Event()
    results: list[str] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            results.append(call())
        except BaseException as error:
            errors.append(error)
        finally:
            done.set()

    threading.Thread(target=run, daemon=True).start()
    waited = 0.0
    while not done.wait(min(_TICK_S, timeout_s - waited) if abort else timeout_s):
        waited += _TICK_S if abort else timeout_s
        if abort and abort.is_set():
            raise Aborted
        if waited >= timeout_s:
            raise TimeoutError
    if errors:
        raise errors[0]
    return results[0]
