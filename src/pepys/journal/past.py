"""Capture of what has been: one exchange that is named, or all past sessions of a store.

Day and heading are those of the exchange itself, not of today. Nothing is spent on a model unless one is named.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from pepys import paths
from pepys.errors import AddressNotFound, ModelUnavailable, SourceUnavailable, StoreUnavailable
from pepys.hosts import HOSTS
from pepys.hosts.base import surroundings
from pepys.hosts.discovery import listing
from pepys.index.lock import exclusive
from pepys.journal import capture, exchange, forgotten, scope, sessions, store
from pepys.journal.capture import Capture, Captured
from pepys.journal.distil import Failed
from pepys.journal.runtime import Runtime
from pepys.journal.scope import Scope
from pepys.journal.sessions import Session
from pepys.model.context import Context, Progress
from pepys.model.source import Found


class Outcome(NamedTuple):
    """What became of one exchange that was named."""

    captured: Captured | None
    why: str = ""  # where it was not
    path: str = ""  # the daily file that has it already, where that is why
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
    if forgotten.known(context.env).holds(session, found, lambda other: sessions.read(other, context)):
        return Outcome(None, forgotten.WHY)
    if before := known.file(session, found):
        return Outcome(None, "it was captured before", before)
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
    forgotten: int  # exchanges that were captured before, and are not again
    rejected: int  # exchanges that do not pass the gates
    failed: dict[str, str]  # sessions and daily files that could not be read -> why


def backfill(
    context: Context, progress: Callable[[Progress], None] | None = None, model: str | None = None
) -> Backfilled:
    """Capture every settled exchange of past sessions whose directory resolves to the call's store, oldest first.

    Of each session, the exchanges of all branches: what was abandoned was an exchange too (spec 4, "Capture").

    It can be interrupted and taken up again at any point: an exchange that has its anchor in the store is not captured
    twice, and one that was forgotten does not come back. What is neither is captured, also where it was before.

    Args:
        model: Distils; None: entries are extracts, and nothing is spent.

    Raises:
        ModelUnavailable: A model is named and there is none, or it fails; what was captured so far stays.
        StoreCommandFailed: The store command gave no usable answer.
        StoreUnavailable: The working directory does not exist, an entry cannot be written, or another run is under way.
    """
    if model is not None and context.complete is None:
        raise ModelUnavailable(
            f"{model} cannot be called: no endpoint is configured.", hint="Set journal.modelApi and journal.model."
        )
    here = scope.to_write(context)
    with _alone(here, context):
        return _backfilled(here, context, progress, model)


def _backfilled(
    here: Scope, context: Context, progress: Callable[[Progress], None] | None, model: str | None
) -> Backfilled:
    known, gone = capture.captured(here.store), forgotten.known(context.env)
    counts = {"sessions": 0, "elsewhere": 0, "captured": 0, "before": 0, "forgotten": 0, "rejected": 0}
    failed = dict(known.unread)
    found = _sources(context)
    total = sum(each.stamp.size for each in found)
    done = 0

    @lru_cache(maxsize=1)  # the exchanges that a fork repeats are all of one session
    def read(path: str) -> Session:
        return sessions.read(path, context)

    for number, source in enumerate(found):
        if progress is not None:
            progress(Progress(done, total, number, len(found), source.path))
        done += source.stamp.size
        try:
            if not _belongs(source, here, context):
                counts["elsewhere"] += 1
                continue
            counts["sessions"] += 1
            session = sessions.read(source.path, context)
        except (OSError, SourceUnavailable) as error:
            failed[source.path] = str(error)
            continue
        for one in exchange.past(session):
            moment = capture.settled(one, context.moment)
            if not known.file(session, one):
                # A host whose session goes on may have captured it since.
                known.read(Path(store.day_file(here.store, moment.date())), one.ends)
            alike = known.alike(one, moment)
            if gone.holds(session, one, read):
                counts["forgotten"] += 1
            elif known.file(session, one) or any(capture.is_fork(one, session, origin, read) for origin in alike):
                counts["before"] += 1
            elif one.rejected:
                counts["rejected"] += 1
            else:
                made = Capture(session, one, moment, here.store)
                written = _capture(made, context, model)
                known.add(made.anchor, capture.minute(moment), written.path)
                counts["captured"] += 1
    if progress is not None and found:
        progress(Progress(total, total, len(found), len(found), ""))
    return Backfilled(**counts, failed=failed)


@contextmanager
def _alone(here: Scope, context: Context) -> Iterator[None]:
    """While no other run captures the past of this store: each would write what the other one does."""
    name = os.path.basename(scope.place(here, context).directory)
    path = paths.state_dir(context.env) / "journal" / f"{name}.lock"
    with ExitStack() as held:
        try:
            obtained = held.enter_context(exclusive(str(path), 0))
        except OSError as error:
            raise StoreUnavailable(
                f"{path}, which keeps runs apart, cannot be written: {error.strerror or error}."
            ) from error
        if not obtained:
            raise StoreUnavailable(
                f"Another run captures the past sessions of {here.store}.",
                hint="Wait until it has ended; if it was interrupted, run the command again to go on from there.",
            )
        yield


def _capture(made: Capture, context: Context, model: str | None) -> Captured:
    if model is None:
        return made.run(None, lambda: None)
    assert context.complete is not None  # noqa: S101  (asked before)
    try:
        return made.distilled(context.complete, model)
    except Failed as error:
        # A marker an exchange would be of no use to anybody who can simply run this again.
        raise ModelUnavailable(f"{model} failed: {error}.", hint="Run the command again to go on from here.") from error


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
