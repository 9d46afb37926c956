"""Runs a program in the sandbox: a worker process without files, network, environment or other processes.

The program reaches the host only by suspending: for an action, which `bridge` answers, or for something that it
does not get. Every turn of the worker runs in a thread, so that a deadline or an interrupt ends it at once.
"""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any, NamedTuple

from pydantic_monty import (
    FunctionSnapshot,
    Monty,
    MontyComplete,
    MontyCrashedError,
    MontyError,
    MontyRuntimeError,
    MontySession,
    MontySyntaxError,
    NameLookupSnapshot,
)

from pepys.config import Guest
from pepys.errors import GuestUnavailable, PepysError, ProgramFailed, ProgramStopped
from pepys.guest import bridge
from pepys.spelling import counted

MAX_DEPTH = 1000
"""Nested function calls of a program."""

MESSAGE_CHARS, TRACEBACK_CHARS = 2000, 8000

GRACE_S = 0.25
"""How long after its deadline a worker is killed: before, it may say itself where it was."""

_PRELUDE = Path(__file__).with_name("prelude.py")
_WORKERS: set[int | None] = set()
"""Processes of programs that are running now."""

_FEEDS = ("<python-input-0>", "<python-input-1>")
"""What the sandbox calls the prelude and the program in tracebacks."""

_LIMITS = {
    "MemoryError": "guest.memoryBytes",
    "TimeoutError: feed time limit exceeded": "guest.timeoutMs",
    "RecursionError": "recursion",
    "RuntimeError: suspension limit": "guest.maxCalls",
}
"""How the sandbox's errors begin that come of a limit."""


class Outcome(NamedTuple):
    """What came of a program."""

    value: Any  # JSON; None with an error
    output: str  # what it printed
    output_truncated: bool
    calls: int
    error: PepysError | None = None


def run(
    program: str,
    call: bridge.Call,
    modules: Mapping[str, Sequence[str]],
    limits: Guest,
    name: str = "program.py",
) -> Outcome:
    """Run *program*, Python source whose value is what it returns, or its last expression.

    Args:
        call: Runs an action; what it refuses, a program does not reach.
        modules: Names of actions by module: `{"memory": ["recall", ...]}`.
        name: What tracebacks call the program.

    Raises:
        GuestUnavailable: The sandbox does not start.
    """
    this = _Run(call, limits, name)
    value, error = None, None
    try:
        value = this.value(program, modules)
    except GuestUnavailable:
        raise
    except PepysError as raised:
        error = raised
    return Outcome(value, this.printed.text(), this.printed.truncated, this.calls, error)


def end_all() -> None:
    """End every program at once: for a process that ends without waiting for the threads that run them."""
    for worker in list(_WORKERS):
        _kill(worker)


class _Printed:
    """What a program printed, as far as there is room."""

    def __init__(self, room: int) -> None:
        self._pieces: list[str] = []
        self._room = room
        self.truncated = False

    def take(self, stream: str, text: str) -> None:
        """Keep *text*; standard error is no different from standard output."""
        self.truncated |= len(text) > self._room
        self._pieces.append(text[: self._room])
        self._room -= min(len(text), self._room)

    def text(self) -> str:
        return "".join(self._pieces)


class _Run:
    """One run of one program."""

    def __init__(self, call: bridge.Call, limits: Guest, name: str) -> None:
        self._call, self._limits, self._name = call, limits, name
        self._deadline = time.monotonic() + limits.timeout_ms / 1000 + GRACE_S
        self._awaited: dict[int, bridge.Answer] = {}  # by the sandbox's id of a call
        self._refs: set[str] = set()  # of the actions that there are
        self.printed = _Printed(limits.output_chars)
        self.calls = 0

    def value(self, program: str, modules: Mapping[str, Sequence[str]]) -> Any:
        """What the program gives.

        Raises:
            PepysError: It gives nothing.
        """
        with ExitStack() as stack:
            self._turns = stack.enter_context(ThreadPoolExecutor(1))
            try:
                pool = stack.enter_context(Monty(max_processes=1))
                session = stack.enter_context(pool.checkout(**self._checkout()))
            except (MontyError, OSError, RuntimeError) as error:
                raise GuestUnavailable(f"The sandbox does not start: {error}") from error
            worker = session.worker_pid
            _WORKERS.add(worker)
            try:
                functions = {module: _functions(module, names) for module, names in modules.items()}
                self._refs = {f"{module}.{name}" for module, names in modules.items() for name in names}
                prelude = _PRELUDE.read_text("utf-8") + "\n_modules, _walked\n"
                made, walked = self._fed(session, prelude, {"_actions": functions}, {})
                value = self._json(self._fed(session, program, made, made))
                if not self._fed(session, "_walked.all()", {"_walked": walked}, {}):
                    raise ProgramFailed("memory.walk was called without await, and visited nothing.", hint=_AWAIT)
                return value
            except MontyError as error:
                raise self._failure(error) from error
            finally:
                # It may be in the middle of a turn for which nobody waits any more.
                _kill(worker)
                _WORKERS.discard(worker)

    def _checkout(self) -> dict[str, Any]:
        limits = {
            "max_memory": self._limits.memory_bytes,
            # Also ends a worker whose host has died.
            "max_feed_duration_secs": self._limits.timeout_ms / 1000,
            "max_recursion_depth": MAX_DEPTH,
            # A call that is awaited suspends twice, and so do names and imports.
            "max_suspensions": self._limits.max_calls * 3 + 1000,
        }
        return {"limits": limits, "os_policy": {"sleep": "zero"}}

    def _fed(self, session: MontySession, code: str, inputs: Mapping[str, Any], modules: Mapping[str, Any]) -> Any:
        """The value of *code*, whose suspensions are answered as they come."""
        snapshot = self._turn(session.feed_start, code, inputs=dict(inputs), print_callback=self.printed.take)
        while not isinstance(snapshot, MontyComplete):
            if isinstance(snapshot, FunctionSnapshot):
                snapshot = self._answered(snapshot, modules)
            elif isinstance(snapshot, NameLookupSnapshot):
                snapshot = self._turn(snapshot.resume)
            else:
                answers = {id_: self._awaited.pop(id_) for id_ in snapshot.pending_call_ids}
                snapshot = self._turn(snapshot.resume, answers)
        return snapshot.output

    def _answered(self, snapshot: FunctionSnapshot, modules: Mapping[str, Any]) -> Any:
        if snapshot.is_os_function:
            if snapshot.function_name == "import" and snapshot.args[0] in modules:
                return self._turn(snapshot.resume, {"return_value": modules[snapshot.args[0]]})
            return self._turn(snapshot.resume_not_handled)
        ref, args, keywords = snapshot.function_name, snapshot.args, snapshot.kwargs
        if ref not in self._refs:
            # The sandbox asks the host for every function that it does not know.
            unknown = {"exc_type": "NameError", "message": f"name '{ref}' is not defined"}
            return self._turn(snapshot.resume, unknown)
        self.calls += 1
        if self.calls > self._limits.max_calls:
            raise _stopped("guest.maxCalls", f"The program made more than {counted(self._limits.max_calls, 'call')}.")
        answer = bridge.answer(self._call, ref, args, keywords, self._limits.result_chars)
        if snapshot.allow_eager_await:
            # The program wrote `await memory.recall(...)`, which is as good as the call alone.
            self._awaited[snapshot.call_id] = answer
            answer = {"future": ...}
        return self._turn(snapshot.resume, answer)

    def _turn(self, function: Callable[..., Any], *args: Any, **keywords: Any) -> Any:
        left = self._deadline - time.monotonic()
        try:
            return self._turns.submit(function, *args, **keywords).result(max(left, 0))
        except TimeoutError as error:
            raise self._late() from error

    def _json(self, value: Any) -> Any:
        try:
            found = bridge.as_json(value)
        except ValueError as error:
            raise ProgramFailed(f"The program's value is no JSON: {error}.") from error
        size, most = len(json.dumps(found, ensure_ascii=False, separators=(",", ":"))), self._limits.output_chars
        if size > most:
            text = f"The program's value has {size} characters of JSON; at most {most} are returned."
            raise _stopped("guest.outputChars", text, "Return less: count, cut or choose in the program.")
        return found

    # What went wrong

    def _failure(self, error: MontyError) -> PepysError:
        if isinstance(error, MontyCrashedError):
            if time.monotonic() >= self._deadline - GRACE_S:
                return self._late()
            return ProgramStopped("The sandbox's worker died.", hint="Run the program again, with less at a time.")
        if not isinstance(error, (MontyRuntimeError, MontySyntaxError)):
            return ProgramFailed(str(error)[:MESSAGE_CHARS])
        lines = [frame.line for frame in error.traceback() if frame.filename == _FEEDS[1]]
        place = {"line": lines[-1]} if lines else {}
        where = f" ({self._name}, line {lines[-1]})" if lines else ""
        message = f"{error.display('type-msg')[:MESSAGE_CHARS]}{where}"
        for beginning, limit in _LIMITS.items():
            if message.startswith(beginning):
                message = f"{self._late().message[:-1]}{where}." if limit == "guest.timeoutMs" else message
                return ProgramStopped(message, details={"limit": limit, **place})
        return ProgramFailed(message, hint=_hint(message), details={**place, "traceback": self._traceback(error)})

    def _traceback(self, error: MontyRuntimeError | MontySyntaxError) -> str:
        text = error.display("traceback").replace(_FEEDS[1], self._name).replace(_FEEDS[0], "pepys")
        return text if len(text) <= TRACEBACK_CHARS else text[:TRACEBACK_CHARS] + "…"

    def _late(self) -> ProgramStopped:
        return _stopped("guest.timeoutMs", f"The program ran longer than {self._limits.timeout_ms} ms.")


def _functions(module: str, names: Sequence[str]) -> dict[str, Callable[[], None]]:
    """Actions as the sandbox gets them: functions by name, of which only the name of each, its ref, comes back."""

    def function(ref: str) -> Callable[[], None]:
        def suspends() -> None: ...

        suspends.__name__ = ref
        return suspends

    return {name: function(f"{module}.{name}") for name in names}


def _stopped(limit: str, message: str, hint: str = "") -> ProgramStopped:
    return ProgramStopped(message, hint=hint, details={"limit": limit})


_AWAIT = "memory.walk must be awaited: `await memory.walk(...)`."

_HINTS = {
    # part of a message: the next step
    "'coroutine' object": _AWAIT,
    "'dict' object can't be awaited": "Among several tasks, as in asyncio.gather, calls are written without await.",
    "exceptions can only be called with": 'Exceptions take one text: `raise ValueError("...")`.',
    "No module named": "There are json, re, math, datetime, collections, itertools, functools and a few more.",
    "does not yet support": "Programs have no yield, del, inheritance or properties, and no files.",
}


def _hint(message: str) -> str:
    return next((hint for part, hint in _HINTS.items() if part in message), "")


def _kill(worker: int | None) -> None:
    if worker is not None:
        with suppress(OSError):
            os.kill(worker, getattr(signal, "SIGKILL", signal.SIGTERM))
