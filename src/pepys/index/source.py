"""What the index knows of one source: the row that stands for a file."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from os.path import basename
from typing import NamedTuple

from pepys.index.document import Place
from pepys.model.entry import Field
from pepys.model.source import Kind, Stamp

CLOCK_TICK_NS = 20_000_000
"""File systems stamp in steps of up to 10 ms; a younger stamp proves nothing."""

COARSE_TICK_NS = 2_000_000_000
"""For file systems that keep whole seconds only."""


class Row(NamedTuple):
    """One record or other entry of a source, as the catalog keeps it."""

    position: int  # append position among the entries of the source
    child: int  # 0: the entry itself
    record: int | None  # rank among the records of all branches; None when it is no record
    start: int  # byte span
    end: int
    id: str
    parent: str | None
    type: str
    role: str | None
    tool: str | None
    time: int | None  # ms
    error: bool
    active: bool  # on the persisted active branch
    own: bool
    crc: int  # CRC-32 of the record's whole text: proves that what is quoted is what was indexed

    def packed(self, generation: int) -> int:
        """The packed place of this row in a reading."""
        return Place(generation, self.position, self.child).packed()


class Exceptions(NamedTuple):
    """A run of entries that are inactive or our own; all others need no second look."""

    first: int  # entry positions, half-open
    end: int
    record: int  # rank of the first record in the run
    records: int  # how many there are in it
    active: bool
    own: bool


def exceptions(rows: Iterable[Row]) -> tuple[Exceptions, ...]:
    """The exceptional runs among *rows*, which are in source order."""
    runs: list[Exceptions] = []
    for row in rows:
        if row.active and not row.own:
            continue
        last = runs[-1] if runs else None
        if last is not None and row.position <= last.end and (last.active, last.own) == (row.active, row.own):
            run = runs.pop()._replace(end=row.position + 1)
        else:
            run = Exceptions(row.position, row.position + 1, 0, 0, bool(row.active), bool(row.own))
        if row.record is not None:
            run = run._replace(record=run.record if run.records else row.record, records=run.records + 1)
        runs.append(run)
    return tuple(runs)


@dataclass(slots=True)
class Source:
    """A source as of its last reading."""

    path: str
    host: str
    root: str
    agent: str | None
    folder: str | None
    kind: Kind
    stamp: Stamp
    examined_ns: int  # the clock before the stamp was taken
    generation: int
    sha256: str = ""
    checkpoint: int = 0  # bytes that are indexed
    checkpoint_sha256: str = ""
    entries: int = 0
    records: int = 0
    active_records: int = 0
    own_records: int = 0
    session: str = ""
    cwd: str | None = None
    parent: str | None = None
    name: str | None = None
    created: int | None = None  # ms
    last_time: int | None = None  # ms, of the latest entry
    leaf: str | None = None
    fingerprint: str = ""  # of the persisted active branch
    cyclic: bool = False
    duplicates: bool = False  # an id occurs twice among the records of all branches
    derived_ids: bool = False
    oversized: bool = False
    diagnostics: dict[str, int] = field(default_factory=dict)
    lengths: dict[Field, int] = field(default_factory=dict)  # characters of text by field
    exceptions: tuple[Exceptions, ...] = ()
    appending: bool = False  # documents past `entries` may be in the text index: a crash, or a writer at work

    @property
    def plain(self) -> bool:
        """Whether every record is active and foreign, so that no hit in it needs a second look."""
        return self.active_records == self.records and not self.own_records and not self.appending

    def settled(self) -> bool:
        """Whether the stamp was old enough, when it was taken, to prove that equal means unchanged."""
        youngest = max(self.stamp.mtime_ns, self.stamp.ctime_ns)
        whole = self.stamp.mtime_ns % 1_000_000_000 == 0 and self.stamp.ctime_ns % 1_000_000_000 == 0
        return youngest < self.examined_ns - (COARSE_TICK_NS if whole else CLOCK_TICK_NS)


def stem(path: str) -> str:
    """The file's name without `.jsonl` or `.jsonl.gz`: the session id where a header names none."""
    return basename(path).removesuffix(".gz").removesuffix(".jsonl")
