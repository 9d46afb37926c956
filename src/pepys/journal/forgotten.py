"""Which exchanges were forgotten: no capture takes them again, of their session or of one that it was forked into.

It cannot be derived, so it lives with the user's state. It names sessions and entries by their ids, and a session's
file to tell a fork; of what was said it holds nothing, and no hash either.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path

from pepys import paths
from pepys.journal import capture
from pepys.journal.entries import Anchor
from pepys.journal.exchange import Exchange
from pepys.journal.sessions import Session

WHY = "it was forgotten"


class Forgotten:
    """What was forgotten, of every store of the user's: a store that moves, or is lost, brings nothing back."""

    def __init__(self, anchors: list[Anchor]) -> None:
        self._turns = {(anchor.session, anchor.turn) for anchor in anchors}
        self._origins: dict[str, list[Anchor]] = {}
        for anchor in anchors:
            self._origins.setdefault(anchor.turn, []).append(anchor)

    def holds(self, session: Session, one: Exchange, read: Callable[[str], Session]) -> bool:
        """Whether *one* was forgotten, or repeats what was; *read* reads the session that it may be a fork of."""
        if any((session.id, end) in self._turns for end in one.ends):
            return True
        return any(capture.is_fork(one, session, origin, read) for origin in self._origins.get(one.last.id or "", ()))


def path(env: Mapping[str, str]) -> Path:
    """The file: an anchor a line."""
    return paths.state_dir(env) / "journal" / "forgotten.jsonl"


def known(env: Mapping[str, str]) -> Forgotten:
    """What was forgotten until now. A line that cannot be understood says nothing."""
    try:
        text = path(env).read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return Forgotten([])
    return Forgotten([anchor for line in text.split("\n") if (anchor := _parsed(line)) is not None])


def add(env: Mapping[str, str], anchor: Anchor) -> None:
    """Have the exchange of *anchor* never captured again.

    Raises:
        OSError: It cannot be written down.
    """
    file = path(env)
    paths.make_private(file.parent)
    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        # One write, so that processes that forget at the same time do not interleave. A line that a crash left open
        # is closed first.
        os.write(descriptor, ("\n" + json.dumps(list(anchor)) + "\n").encode("utf-8"))
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _parsed(line: str) -> Anchor | None:
    try:
        match json.loads(line):
            case [str(session), str(turn), str(transcript)]:
                return Anchor(session, turn, transcript)
    except (ValueError, RecursionError):
        pass
    return None
