"""Matching within bounds: what is looked at is counted, and a worker does it that is killed when its time is over.

The calling process never evaluates a pattern (spec 1, "Bounded regular expressions").
"""

from __future__ import annotations

import os
import signal
import socket
import struct
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from itertools import chain
from types import MappingProxyType
from typing import NamedTuple

from pepys.recall.regex import worker
from pepys.recall.regex.parse import InvalidRegex, parse
from pepys.recall.regex.translate import translate

TRANSFER_SECONDS = 30.0
"""Longest wait for a worker that is not matching: to start, to take texts, to hand over what it found."""

MEMORY_BYTES = 512 << 20
"""Address space of a worker, beside what its texts may take."""

CPU_SECONDS = 10
"""A worker ends itself after so much work beyond its timeout, should nobody be left to kill it."""

SENT_AT_ONCE_BYTES = 1 << 16


class Limits(NamedTuple):
    """The four limits of spec 1, "Bounded regular expressions"."""

    pattern_bytes: int
    items: int
    item_bytes: int  # of all items together, UTF-8
    timeout_ms: int  # of compiling and matching; the worker's start and the transfer are not counted


class Matches(NamedTuple):
    """What a pattern matched."""

    found: Mapping[int, int]  # the number of an item, in the order given, to the code point offset of its first match
    reasons: frozenset[str]  # rows of `model.coverage.REASONS`
    error: Mapping[str, str] | None  # code and message; then nothing is found


def check(pattern: str, limits: Limits) -> Mapping[str, str] | None:
    """The error that *pattern* makes before anything is matched: code and message; None if it can be tried."""
    try:
        _translated(pattern, limits)
    except _Refused as refused:
        return refused.error
    return None


def match(pattern: str, items: Iterable[str], limits: Limits) -> Matches:
    """Match *pattern* against items, as JavaScript's flags `iu` would.

    Items are taken one by one, up to and with the first that is over a limit; those before it are matched. Nothing is
    taken of an iterable if the pattern is refused. What the iterable raises is not caught.
    """
    taken = _Taken(items, limits)
    found: Mapping[int, int] = {}
    try:
        translated = _translated(pattern, limits)
        texts = iter(taken)
        first = next(texts, None)
        if first is not None:
            with _worker(limits) as channel:
                found = _ask(channel, translated, chain([first], texts), limits)
    except _Refused as refused:
        return Matches(MappingProxyType({}), frozenset((refused.error["code"],)), refused.error)
    return Matches(MappingProxyType(found), frozenset(taken.reasons), None)


def _translated(pattern: str, limits: Limits) -> str:
    size = len(_encoded(pattern))
    if size > limits.pattern_bytes:
        raise _Refused("regex_pattern_too_large", f"The pattern has {size} bytes, more than {limits.pattern_bytes}.")
    try:
        return translate(parse(pattern))
    except InvalidRegex as error:
        raise _Refused("invalid_regex", _INVALID.format(error)) from None


_INVALID = "Invalid regular expression: {}."


class _Refused(Exception):
    """There is no answer: why, as code and message."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.error: Mapping[str, str] = MappingProxyType({"code": code, "message": message})


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


class _Taken:
    """Encoded items within the limits, and why not all of them."""

    def __init__(self, items: Iterable[str], limits: Limits) -> None:
        self._items, self._limits = items, limits
        self.reasons: set[str] = set()

    def __iter__(self) -> Iterator[bytes]:
        left = self._limits.item_bytes
        for number, item in enumerate(self._items):
            if number >= self._limits.items:
                self.reasons.add("regex_max_haystack_terms")
                return
            data = _encoded(item)
            left -= len(data)
            if left < 0:
                self.reasons.add("regex_max_haystack_bytes")
                return
            yield data


# The worker


@contextmanager
def _worker(limits: Limits) -> Iterator[_Channel]:
    """A running worker's channel. On leaving, whatever it is doing, it is killed and waited for."""
    try:
        ours, theirs = socket.socketpair()
    except OSError as error:
        raise _failure(error) from None
    with ours:
        with theirs:
            process = _started(theirs, limits)
        try:
            yield _Channel(ours)
        finally:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
            process.kill()
            process.wait()


def _started(end: socket.socket, limits: Limits) -> subprocess.Popen[bytes]:
    memory = MEMORY_BYTES + 8 * limits.item_bytes
    cpu_seconds = limits.timeout_ms // 1000 + CPU_SECONDS
    spec = find_spec("regex")
    packages = os.path.dirname(os.path.dirname(spec.origin)) if spec is not None and spec.origin else ""
    try:
        return subprocess.Popen(  # noqa: S603 - our own interpreter and program
            [sys.executable, "-I", worker.__file__, str(memory), str(cpu_seconds), packages],
            stdin=end.fileno(),
            stdout=end.fileno(),
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
    except OSError as error:
        raise _failure(error) from None


def _failure(cause: object) -> _Refused:
    return _Refused("regex_worker_error", f"The worker failed: {cause}.")


def _ask(channel: _Channel, pattern: str, texts: Iterable[bytes], limits: Limits) -> dict[int, int]:
    pending = bytearray()
    for data in chain([pattern.encode()], texts):
        pending += struct.pack(">I", len(data))
        pending += data
        if len(pending) >= SENT_AT_ONCE_BYTES:
            channel.send(pending)
            pending.clear()
    channel.send(pending + struct.pack(">I", worker.END))
    status = channel.receive(1)
    if status == worker.READY:
        channel.send(worker.GO)
        try:
            status = channel.receive(1, limits.timeout_ms / 1000)
        except TimeoutError:
            message = f"The pattern took more than {limits.timeout_ms} ms, and its worker was killed."
            raise _Refused("regex_timeout", message) from None
    (count,) = struct.unpack(">I", channel.receive(4))
    if status == worker.MATCHED:
        return dict(struct.iter_unpack(">II", channel.receive(8 * count)))
    message = channel.receive(count).decode("utf-8")
    raise _Refused("invalid_regex", _INVALID.format(message)) if status == worker.REFUSED else _failure(message)


class _Channel:
    """Our end of the socket to a worker."""

    def __init__(self, end: socket.socket) -> None:
        self._end = end

    def send(self, data: bytes | bytearray) -> None:
        self._end.settimeout(TRANSFER_SECONDS)
        try:
            self._end.sendall(data)
        except OSError as error:
            raise _failure(error) from None

    def receive(self, count: int, seconds: float | None = None) -> bytes:
        """Exactly *count* bytes.

        Raises:
            TimeoutError: They have not come after *seconds*.
        """
        self._end.settimeout(TRANSFER_SECONDS if seconds is None else seconds)
        data = bytearray()
        while len(data) < count:
            try:
                part = self._end.recv(min(count - len(data), 1 << 20))
            except TimeoutError as error:
                raise error if seconds is not None else _failure(error) from None
            except OSError as error:
                raise _failure(error) from None
            if not part:
                raise _failure("it ended early")
            data += part
        return bytes(data)
