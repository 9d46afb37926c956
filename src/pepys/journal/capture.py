"""Every settled exchange becomes one entry, or a marker in its place: none is ever dropped (spec 4, "Capture")."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Literal, NamedTuple

from pepys.errors import PepysError, SourceUnavailable
from pepys.journal import distil, store
from pepys.journal.entries import Anchor, Block, blocks
from pepys.journal.exchange import Exchange, said
from pepys.journal.models import NoModel
from pepys.journal.sessions import Session
from pepys.model.journal import Completion

Kind = Literal["distilled", "extract", "marker"]


class Captured(NamedTuple):
    """An entry that was written."""

    path: str
    kind: Kind
    why: str = ""  # of a marker: why there are no bullets


class Capture:
    """One exchange on its way into the store. Gates were passed and the moment is fixed; the bullets are still to come.

    Exactly one entry is written: bullets, or a marker that says why there are none.
    """

    def __init__(self, session: Session, exchange: Exchange, moment: datetime, directory: str) -> None:
        """*moment* is when the exchange settled, local: it decides day and heading, however long the model takes."""
        self.anchor = Anchor(session.id, exchange.last.id or "", session.path)
        self._session, self._exchange = session, exchange
        self._moment, self._store = moment, directory
        self._abort = threading.Event()

    def run(self, complete: Completion | None, choose: Callable[[], str | None]) -> Captured:
        """Distil, and write the entry.

        Args:
            complete: None: there is no model at all, and the entry is an extract.
            choose: Names the model to ask; where there is none (`NoModel`), a marker is written.

        Raises:
            StoreUnavailable: The entry cannot be written.
        """
        if complete is None:
            return self._written(distil.extracted(self._exchange, self._session.cwd), "extract")
        try:
            return self.distilled(complete, choose())
        except (distil.Failed, NoModel) as error:
            return self._written(distil.marker(str(error)), "marker", str(error))

    def distilled(self, complete: Completion, model: str | None) -> Captured:
        """Distil with *model*, and write the entry.

        Raises:
            Failed: It gave nothing usable; nothing was written.
            StoreUnavailable: The entry cannot be written.
        """
        return self._written(distil.distilled(complete, model, self._exchange, self._abort), "distilled")

    def abort(self) -> None:
        """Wait no longer for the model; the marker is written in the place of its bullets."""
        self._abort.set()

    def _written(self, content: str, kind: Kind, why: str = "") -> Captured:
        return Captured(store.append(self._store, self._moment, content, self.anchor), kind, why)


class Known:
    """What a store says was captured."""

    def __init__(self) -> None:
        self.unread: dict[str, str] = {}  # daily files that could not be read, whose anchors are not known -> why
        self._turns: dict[tuple[str, str], str] = {}  # (session, entry) of every anchor -> its daily file
        self._alike: dict[tuple[str, str], list[Anchor]] = {}  # by entry and local minute

    def file(self, session: Session, one: Exchange) -> str:
        """The daily file that has the entry of *one*; empty where there is none."""
        return next((path for end in one.ends if (path := self._turns.get((session.id, end)))), "")

    def alike(self, one: Exchange, moment: datetime) -> list[Anchor]:
        """The anchors that an entry of *one* would have, had it been captured at *moment* in another session."""
        return self._alike.get((one.last.id or "", minute(moment)), [])

    def read(self, path: Path, naming: Sequence[str] = ("",)) -> None:
        """Take up what a daily file holds now, if it names one of *naming*; one that is not there holds nothing."""
        try:
            text = store.read(str(path))
        except (OSError, PepysError) as error:
            self.unread[str(path)] = str(error)
            return
        for block in blocks(text) if any(name in text for name in naming) else ():
            if origin := origin_of(block):
                self.add(origin, f"{path.stem} {block.time}", str(path))

    def add(self, anchor: Anchor, minute: str, path: str) -> None:
        """Take up an entry that capture wrote, or is about to, into the file *path* under the day and time *minute*."""
        self._turns[anchor.session, anchor.turn] = path
        alike = self._alike.setdefault((anchor.turn, minute), [])
        if anchor not in alike:
            alike.append(anchor)


def captured(directory: str) -> Known:
    """What must not be captured again: the anchors in a store.

    They are derived from the daily files, so that no index that is deleted makes anything be captured twice. A file
    that cannot be read is passed over: an exchange that is captured twice is better than one that is lost.
    """
    known = Known()
    folder = Path(directory)
    for path in sorted(folder.glob("*.md")) if folder.is_dir() else ():
        known.read(path)
    return known


def origin_of(block: Block) -> Anchor | None:
    """The anchor of the exchange that *block* is the entry of; None where it is of none.

    Without a bullet it is a note that somebody wrote beside an answer, not what the exchange came to.
    """
    return block.anchor if distil.BULLET.search(block.text) else None


def is_fork(one: Exchange, session: Session, origin: Anchor, read: Callable[[str], Session]) -> bool:
    """Whether *one* is the exchange that *origin* names: a fork of a session repeats what came before, id for id.

    An id and a minute prove nothing by themselves, for some hosts count their entries.
    """
    if origin.file() == session.path:
        return False
    try:
        first = read(origin.file()).entries.get(origin.turn)
    except (OSError, SourceUnavailable):
        return False
    return first is not None and (first.time, said(first)) == (one.last.time, said(one.last))


def settled(one: Exchange, otherwise: datetime) -> datetime:
    """When an exchange settled, local, as its session says; *otherwise* where it does not."""
    times = [entry.time for entry in one.messages if entry.time is not None]
    try:
        return datetime.fromtimestamp(times[-1] / 1000) if times else otherwise
    except (OverflowError, OSError, ValueError):
        return otherwise


def minute(moment: datetime) -> str:
    """A local moment as its day file and its heading name it."""
    return f"{moment:%Y-%m-%d %H:%M}"
