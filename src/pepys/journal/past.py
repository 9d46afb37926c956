"""Capture of what has been: one exchange that is named, or all past sessions of a store.

Day and heading are those of the exchange itself, not of today. Nothing is spent on a model unless one is named.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from pepys import paths
from pepys.errors import AddressNotFound, ModelUnavailable, SourceUnavailable
from pepys.hosts import HOSTS
from pepys.hosts.base import surroundings
from pepys.hosts.discovery import listing
from pepys.journal import capture, exchange, scope, sessions
from pepys.journal.capture import Capture, Captured
from pepys.journal.distil import Failed
from pepys.journal.entries import Anchor
from pepys.journal.exchange import Exchange
from pepys.journal.runtime import Runtime
from pepys.journal.scope import Scope
from pepys.journal.sessions import Session
from pepys.model.context import Context, Progress
from pepys.model.source import Found

_SAVE_S = 2.0


class Outcome(NamedTuple):
    """What became of one exchange that was named."""

    captured: Captured | None
    why: str = ""  # where it was not
    unread: tuple[str, ...] = ()  # why daily files could not be read: it may stand in one of them already


def capture_one(context: Context, runtime: Runtime, path: str, turn: str | None) -> Outcome:
    """Capture the exchange that *turn* belongs to, else the session's last one, into the store of its session.

    Raises:
        SourceUnavailable: The session cannot be read.
        AddressNotFound: It has no such entry, or the entry belongs to no exchange.
        StoreCommandFailed: The store command gave no usable answer.
        StoreUnavailable: The entry cannot be written, or neither the session's directory nor the call's exists.
    """
    if not Path(path).is_file():
        raise SourceUnavailable(f"There is no session {path}.")
    session = sessions.read(path, context)
    if turn is not None and turn not in session.entries:
        raise AddressNotFound(f"{path} has no entry {turn}.")
    found = exchange.since(session, session.leaf(), None) if turn is None else exchange.holding(session, turn)
    if found is None:
        raise AddressNotFound(f"{path} has no exchange{'' if turn is None else f' with the entry {turn}'}.")
    here = _scope(session.cwd, context)
    if why := found.rejected:
        return Outcome(None, why)
    known = capture.captured(here.store)
    if known.holds(session, found):
        return Outcome(None, "it was captured before")
    made = Capture(session, found, capture.settled(found, context.moment), here.store)
    done = made.run(context.complete, lambda: None)
    runtime.written(scope.place(here, context))
    return Outcome(done, unread=tuple(known.unread.values()))


class Backfilled(NamedTuple):
    """What a run over past sessions did."""

    sessions: int  # of this store
    elsewhere: int  # sessions of other stores, which were left alone
    captured: int
    before: int  # exchanges that were captured before, of a session or of one that it is a fork of
    rejected: int  # exchanges that do not pass the gates
    failed: dict[str, str]  # sessions and daily files that could not be read -> why


def backfill(
    context: Context, progress: Callable[[Progress], None] | None = None, model: str | None = None
) -> Backfilled:
    """Capture every settled exchange of past sessions whose directory resolves to the call's store, oldest first.

    Of each session, the exchanges of all branches: what was abandoned was an exchange too (spec 4, "Capture").

    It can be interrupted and taken up again at any point: an exchange that has its anchor in the store is never
    captured twice, and one that a former run captured does not come back when it was forgotten.

    Args:
        model: Distils; None: entries are extracts, and nothing is spent.

    Raises:
        ModelUnavailable: A model is named and there is none, or it fails; what was captured so far stays.
        StoreCommandFailed: The store command gave no usable answer.
        StoreUnavailable: The working directory does not exist, or an entry cannot be written.
    """
    if model is not None and context.complete is None:
        raise ModelUnavailable(
            f"{model} cannot be called: no endpoint is configured.", hint="Set journal.modelApi and journal.model."
        )
    here = scope.to_write(context)
    known = capture.captured(here.store)
    cursor = Cursor(here, context)
    counts = {"sessions": 0, "elsewhere": 0, "captured": 0, "before": 0, "rejected": 0}
    failed = dict(known.unread)
    found = _sources(context)
    total = sum(each.stamp.size for each in found)
    done = 0
    try:
        for number, source in enumerate(found):
            if progress is not None:
                progress(Progress(done, total, number, len(found), source.path))
            done += source.stamp.size
            try:
                if not _belongs(source, here, context):
                    counts["elsewhere"] += 1
                    continue
                counts["sessions"] += 1
                if cursor.unchanged(source):
                    continue
                session = sessions.read(source.path, context)
            except (OSError, SourceUnavailable) as error:
                failed[source.path] = str(error)
                continue
            for one in _past(session, cursor.last(source)):
                moment = capture.settled(one, context.moment)
                alike = known.alike(one, moment)
                if known.holds(session, one) or any(_is_fork(one, session, origin, context) for origin in alike):
                    counts["before"] += 1
                elif one.rejected:
                    counts["rejected"] += 1
                else:
                    made = Capture(session, one, moment, here.store)
                    _capture(made, context, model)
                    known.add(made.anchor, capture.minute(moment))
                    counts["captured"] += 1
                cursor.reached(source, one.last.id, whole=False)
            cursor.reached(source, None, whole=True)
    finally:
        cursor.save()
    if progress is not None and found:
        progress(Progress(total, total, len(found), len(found), ""))
    return Backfilled(**counts, failed=failed)


def _capture(made: Capture, context: Context, model: str | None) -> None:
    if model is None:
        made.run(None, lambda: None)
        return
    assert context.complete is not None  # noqa: S101  (asked before)
    try:
        made.distilled(context.complete, model)
    except Failed as error:
        # A marker an exchange would be of no use to anybody who can simply run this again.
        raise ModelUnavailable(f"{model} failed: {error}.", hint="Run the command again to go on from here.") from error


def _is_fork(one: Exchange, session: Session, origin: Anchor, context: Context) -> bool:
    """Whether *one* is the exchange that *origin* names: a fork of a session repeats what came before, id for id.

    An id and a minute prove nothing by themselves, for some hosts count their entries.
    """
    if origin.file() == session.path:
        return False
    try:
        first = sessions.read(origin.file(), context).entries.get(origin.turn)
    except (OSError, SourceUnavailable):
        return False
    return first is not None and (first.time, exchange.said(first)) == (one.last.time, exchange.said(one.last))


def _past(session: Session, last: str | None) -> Iterator[Exchange]:
    """The exchanges that are not under way and were answered after the entry *last*."""
    places = {id_: at for at, id_ in enumerate(session.entries)}
    done = places.get(last or "", -1)
    yield from (one for one in exchange.past(session) if places[one.ends[0]] > done)


def _sources(context: Context) -> list[Found]:
    around = surroundings(context)
    names = list(HOSTS) if context.host == "all" else [context.host]
    found = listing([root for name in names for root in HOSTS[name].roots(around)]).found.values()
    return sorted((each for each in found if each.kind != "subagent"), key=lambda each: each.stamp.mtime_ns)


def _belongs(source: Found, here: Scope, context: Context) -> bool:
    header = sessions.header(source.path, context)
    if header is None or header.cwd is None:
        return False
    if not Path(header.cwd).is_dir() and context.config.journal.store_command:
        return False  # a store command cannot stand in a directory that is gone
    theirs = scope.resolve(header.cwd, context.env, context.config.journal.store_command)
    return os.path.realpath(theirs.store) == os.path.realpath(here.store)


def _scope(cwd: str | None, context: Context) -> Scope:
    if cwd is None or not Path(cwd).is_dir():
        return scope.to_write(context)
    return scope.resolve(cwd, context.env, context.config.journal.store_command)


class Cursor:
    """How far former runs came, a session file each. It cannot be derived, so it lives with the user's state.

    It names sessions and entries, and holds nothing of what they say.
    """

    def __init__(self, here: Scope, context: Context) -> None:
        name = os.path.basename(scope.place(here, context).directory)
        self._path = paths.state_dir(context.env) / "journal" / f"{name}.json"
        self._at: dict[str, list[object]] = self._read()
        self._saved = time.monotonic()

    def last(self, source: Found) -> str | None:
        """The last entry of the last exchange that was looked at."""
        at = self._at.get(source.path)
        return at[0] if at and isinstance(at[0], str) else None

    def unchanged(self, source: Found) -> bool:
        """Whether the file is the one that was read to its end."""
        at = self._at.get(source.path)
        return at is not None and at[1:] == [source.stamp.size, source.stamp.mtime_ns]

    def reached(self, source: Found, last: str | None, *, whole: bool) -> None:
        """An exchange that ends with *last* was looked at; *whole*: all of the file was."""
        stamp: list[object] = [source.stamp.size, source.stamp.mtime_ns] if whole else [0, 0]
        self._at[source.path] = [last or self.last(source), *stamp]
        if time.monotonic() - self._saved > _SAVE_S:
            self.save()

    def save(self) -> None:
        """Write it down, best effort: anchors in the store prove most of it anyway."""
        self._saved = time.monotonic()
        with contextlib.suppress(OSError):
            paths.write_private(self._path, json.dumps(self._at) + "\n")

    def _read(self) -> dict[str, list[object]]:
        try:
            found = json.loads(self._path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
        if not isinstance(found, dict):
            return {}
        return {path: at for path, at in found.items() if isinstance(at, list) and len(at) == 3}
