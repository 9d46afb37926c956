"""What the index knows of one source: the row that stands for a file."""

from __future__ import annotations

from dataclasses import dataclass, field
from os.path import basename
from typing import NamedTuple

from pepys.index.document import Place
from pepys.model.entry import Field
from pepys.model.source import Kind, Stamp

CLOCK_TICK_NS = 20_000_000
"""File systems stamp in steps of up to 10 ms; a younger stamp proves nothing (decisions 37)."""

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
    appending: bool = False  # documents past `entries` may be in the text index: a crash, or a writer at work

    @property
    def plain(self) -> bool:
        """Whether every record is active and foreign, so that no hit in it needs a second look."""
        return self.active_records == self.records and not self.own_records and not self.appending

    @property
    def recency(self) -> tuple[int, str]:
        """Sort key: newest first, then path."""
        return -self.stamp.mtime_ns, self.path

    def settled(self) -> bool:
        """Whether the stamp was old enough, when it was taken, to prove that equal means unchanged."""
        youngest = max(self.stamp.mtime_ns, self.stamp.ctime_ns)
        whole = self.stamp.mtime_ns % 1_000_000_000 == 0 and self.stamp.ctime_ns % 1_000_000_000 == 0
        return youngest < self.examined_ns - (COARSE_TICK_NS if whole else CLOCK_TICK_NS)


def stem(path: str) -> str:
    """The file's name without `.jsonl` or `.jsonl.gz`: the session id where a header names none."""
    return basename(path).removesuffix(".gz").removesuffix(".jsonl")
