"""What the index knows of one source: the row that stands for a file."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from os.path import basename
from typing import NamedTuple

from pepys.index.document import Place
from pepys.index.policy import Tier
from pepys.model.entry import FACT, Field
from pepys.model.lineage import Branches
from pepys.model.source import Kind, Stamp

CLOCK_TICK_NS = 20_000_000
"""File systems stamp in steps of up to 10 ms; a younger stamp proves nothing."""

COARSE_TICK_NS = 2_000_000_000
"""For file systems that keep whole seconds only."""


REPEATED: Mapping[Branches, int] = {"all": 1, "active": 2}
"""Bits of `Row.repeated`, by branch mode."""


class Row(NamedTuple):
    """One record or other entry of a source, as the catalog keeps it."""

    position: int  # append position among the entries of the source
    child: int  # 0: the entry itself; from 1: the records typed out of it
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
    ref: str | None = None  # this and what follows: of child records
    provider: str | None = None
    action: str | None = None
    outcome: str | None = None
    address: str | None = None  # operation address
    repeated: int = 0  # bits of the branch modes in which an earlier branch summary has told the same fact
    target: str | None = None  # of an entry that points at another one: label, compaction, branch summary
    silent: bool = False  # kept from the model, or a branch summary without text
    links: tuple[int, ...] = ()  # `links.keys` of an entry; rows that come out of the catalog are without

    def packed(self, generation: int) -> int:
        """The packed place of this row in a reading."""
        return Place(generation, self.position, self.child).packed()


class Exceptions(NamedTuple):
    """A run of rows that are inactive, our own or repeated, and alike in that; all others need no second look."""

    first: tuple[int, int]  # (position, child)
    last: tuple[int, int]
    record: int  # rank of the first record in the run
    records: int  # how many there are in it
    active: bool
    own: bool
    repeated: int


def exceptions(rows: Iterable[Row]) -> tuple[Exceptions, ...]:
    """The exceptional runs among *rows*, which are in source order."""
    runs: list[Exceptions] = []
    for row in rows:
        if row.active and not row.own and not row.repeated:
            continue
        place = (row.position, row.child)
        kind = (bool(row.active), bool(row.own), row.repeated)
        if runs and runs[-1][4:] == kind and _follows(runs[-1].last, place):
            run = runs.pop()._replace(last=place)
        else:
            run = Exceptions(place, place, 0, 0, *kind)
        if row.record is not None:
            run = run._replace(record=run.record if run.records else row.record, records=run.records + 1)
        runs.append(run)
    return tuple(runs)


def _follows(last: Sequence[int], place: tuple[int, int]) -> bool:
    """Whether no row without exception lies between two: children are inactive, or our own, as their entry is."""
    position, child = last
    return place in ((position, child + 1), (position + 1, 0))


def repetitions(rows: Iterable[Row]) -> Iterator[Row]:
    """The facts among *rows*, marked as repeated where an earlier row, in the same branch mode, tells the same."""
    seen: dict[Branches, set[str]] = {"all": set(), "active": set()}
    for row in rows:
        if row.type != FACT:
            continue
        repeated = 0
        for mode, bit in REPEATED.items():
            if mode == "all" or row.active:
                repeated |= bit * (row.id in seen[mode])
                seen[mode].add(row.id)
        yield row._replace(repeated=repeated)


def on_branch(rows: Sequence[Row], inactive: Container[int]) -> list[Row]:
    """All *rows* of a source as they stand when the entries at the positions *inactive* are off the active branch."""
    placed = [row._replace(active=row.position not in inactive) for row in rows]
    if any(row.type == FACT for row in placed):
        repeated = {(row.position, row.child): row for row in repetitions(placed)}
        placed = [repeated.get((row.position, row.child), row) for row in placed]
    return placed


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
    active_records: int = 0  # without repeated ones
    own_records: int = 0
    facts: int = 0  # records typed out of branch summaries
    repeats: int = 0  # of those: told by an earlier summary, whatever its branch
    session: str = ""
    cwd: str | None = None
    parent: str | None = None
    name: str | None = None
    created: int | None = None  # ms
    last_time: int | None = None  # ms, of the latest entry
    leaf: str | None = None
    fingerprint: str = ""  # of the persisted active branch
    cyclic: bool = False
    derived_ids: bool = False
    oversized: bool = False
    tier: Tier = "hot"
    policy: str = ""  # `Policy.record` under which it was read
    longest: int = 0  # characters of its longest entry, searchable or not
    cut: bool = False  # not all of some entry is searchable
    appending: bool = False  # documents past `entries` may be in the text index: a crash, or a writer at work
    diagnostics: dict[str, int] = field(default_factory=dict)
    duplicates: Mapping[Branches, Sequence[str]] = field(default_factory=dict)  # coverage reasons, by branch mode
    lengths: dict[Field, int] = field(default_factory=dict)  # characters of text by field
    exceptions: tuple[Exceptions, ...] = ()
    digests: Mapping[Branches, Sequence[str]] = field(
        default_factory=dict
    )  # of a cold one: what each is incomplete for

    @property
    def plain(self) -> bool:
        """Whether every record is active and foreign, so that no hit in it needs a second look."""
        return self.active_records == self.records and not self.own_records and not self.appending

    def settled(self) -> bool:
        """Whether the stamp was old enough, when it was taken, to prove that equal means unchanged."""
        return settled(self.stamp, self.examined_ns)


def settled(stamp: Stamp, examined_ns: int) -> bool:
    """Whether *stamp*, taken at *examined_ns*, was old enough to prove that an equal one means unchanged."""
    whole = stamp.mtime_ns % 1_000_000_000 == 0 and stamp.ctime_ns % 1_000_000_000 == 0
    return max(stamp.mtime_ns, stamp.ctime_ns) < examined_ns - (COARSE_TICK_NS if whole else CLOCK_TICK_NS)


def stem(path: str) -> str:
    """The file's name without `.jsonl` or `.jsonl.gz`: the session id where a header names none."""
    return basename(path).removesuffix(".gz").removesuffix(".jsonl")
