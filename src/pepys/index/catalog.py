"""The catalog: sources, and every entry's span and place in the tree. All SQL of the project is here."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, suppress
from itertools import chain
from typing import Any, Literal

from pepys.index.digest import Digest
from pepys.index.source import REPEATED, Exceptions, Row, Source
from pepys.index.transaction import transaction
from pepys.model.entry import FACT, Field
from pepys.model.lineage import Branches, Node
from pepys.model.source import Stamp

SCHEMA = 4

_BUSY_MS = 1_000
"""Writers take turns by a lock of ours; only readers that come and go are ever waited for."""

_TABLES = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE sources (
    path TEXT PRIMARY KEY, host TEXT NOT NULL, root TEXT NOT NULL, agent TEXT, folder TEXT, kind TEXT NOT NULL,
    device INTEGER NOT NULL, inode INTEGER NOT NULL, size INTEGER NOT NULL, mtime_ns INTEGER NOT NULL,
    ctime_ns INTEGER NOT NULL, examined_ns INTEGER NOT NULL, generation INTEGER NOT NULL UNIQUE,
    sha256 TEXT NOT NULL, checkpoint INTEGER NOT NULL, checkpoint_sha256 TEXT NOT NULL,
    entries INTEGER NOT NULL, records INTEGER NOT NULL, active_records INTEGER NOT NULL, own_records INTEGER NOT NULL,
    facts INTEGER NOT NULL, repeats INTEGER NOT NULL,
    session TEXT NOT NULL, cwd TEXT, parent TEXT, name TEXT, created INTEGER, last_time INTEGER,
    leaf TEXT, fingerprint TEXT NOT NULL, cyclic INTEGER NOT NULL,
    derived_ids INTEGER NOT NULL, oversized INTEGER NOT NULL, tier TEXT NOT NULL, policy TEXT NOT NULL,
    longest INTEGER NOT NULL, cut INTEGER NOT NULL, appending INTEGER NOT NULL,
    diagnostics TEXT NOT NULL, duplicates TEXT NOT NULL, lengths TEXT NOT NULL, exceptions TEXT NOT NULL,
    digests TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE entries (
    generation INTEGER NOT NULL, position INTEGER NOT NULL, child INTEGER NOT NULL, record INTEGER,
    start INTEGER NOT NULL, stop INTEGER NOT NULL, id TEXT NOT NULL, parent TEXT, type TEXT NOT NULL,
    role TEXT, tool TEXT, time INTEGER, error INTEGER NOT NULL, active INTEGER NOT NULL, own INTEGER NOT NULL,
    crc INTEGER NOT NULL, ref TEXT, provider TEXT, action TEXT, outcome TEXT, address TEXT, repeated INTEGER NOT NULL,
    target TEXT, silent INTEGER NOT NULL,
    PRIMARY KEY (generation, position, child)
) WITHOUT ROWID;
CREATE INDEX exceptional ON entries (generation, position, child) WHERE active = 0 OR own = 1 OR repeated > 0;
CREATE TABLE digests (
    generation INTEGER NOT NULL, branches TEXT NOT NULL, head TEXT NOT NULL, vocabulary TEXT NOT NULL,
    addresses TEXT NOT NULL, tail TEXT NOT NULL, UNIQUE (generation, branches)
);
-- What entries name beside their parents: see `links`.
CREATE TABLE links (
    generation INTEGER NOT NULL, key INTEGER NOT NULL, position INTEGER NOT NULL,
    PRIMARY KEY (generation, key, position)
) WITHOUT ROWID;
-- Generations that the text index may hold and nobody may find: unfinished or replaced readings.
CREATE TABLE garbage (generation INTEGER PRIMARY KEY);
"""

_SOURCE_COLUMNS = (
    "path, host, root, agent, folder, kind, device, inode, size, mtime_ns, ctime_ns, examined_ns, generation, sha256,"
    " checkpoint, checkpoint_sha256, entries, records, active_records, own_records, facts, repeats, session, cwd,"
    " parent, name, created, last_time, leaf, fingerprint, cyclic, derived_ids, oversized, tier,"
    " policy, longest, cut, appending, diagnostics, duplicates, lengths, exceptions, digests"
)
_ROW_COLUMNS = (
    "position, child, record, start, stop, id, parent, type, role, tool, time, error, active, own, crc,"
    " ref, provider, action, outcome, address, repeated, target, silent"
)
_EXCEPTIONAL = "(active = 0 OR own = 1 OR repeated > 0)"


class Catalog:
    """One connection to the catalog. Reading methods never write."""

    def __init__(self, path: str, *, writable: bool) -> None:
        """Open the catalog.

        Args:
            path: The database file.
            writable: Create or upgrade it. Only for the holder of the index lock.

        Raises:
            sqlite3.Error: It cannot be opened, or is not a catalog of this version.
        """
        if writable:
            # Only if there is none: closing any other handle of the file would give up the locks that SQLite holds in
            # this process, and another process would then take the last reader away from under it.
            with suppress(FileExistsError):
                os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
        self._db = sqlite3.connect(
            f"file:{_quoted(path)}?mode={'rw' if writable else 'ro'}",
            uri=True,
            timeout=_BUSY_MS / 1000,
            isolation_level=None,
            check_same_thread=False,
        )
        try:
            if writable:
                self._create()
            if self.meta("schema") != str(SCHEMA):
                raise sqlite3.DatabaseError("not a catalog of this version")
        except BaseException:
            self._db.close()
            raise

    def close(self) -> None:
        """Close the connection."""
        self._db.close()

    # Reading

    def hold(self) -> None:
        """Let all reads see the catalog as it is now, until `release`."""
        self._db.execute("BEGIN")
        self.meta("schema")  # the first read is what fixes the moment

    def release(self) -> None:
        """Let reads see what is committed; the end of `hold`."""
        if self._db.in_transaction:
            self._db.execute("ROLLBACK")

    def version(self) -> int:
        """Changes whenever another connection has committed something."""
        return int(self._db.execute("PRAGMA data_version").fetchone()[0])

    def meta(self, key: str) -> str | None:
        """A setting of the index as a whole."""
        row = self._db.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
        return None if row is None else str(row[0])

    def sources(self) -> list[Source]:
        """Every source."""
        rows = self._db.execute(f"SELECT {_SOURCE_COLUMNS} FROM sources").fetchall()  # noqa: S608
        # One document for all: a thousand small ones cost a cold start some milliseconds.
        texts = json.loads("[" + ",".join("[" + ",".join(row[-_TEXTS:]) + "]" for row in rows) + "]")
        return [_source(row[:-_TEXTS], *found) for row, found in zip(rows, texts, strict=True)]

    def garbage(self) -> frozenset[int]:
        """Generations whose documents must be ignored, and removed by the next writer."""
        return frozenset(number for (number,) in self._db.execute("SELECT generation FROM garbage"))

    def rows(self, generation: int, first: int = 0, end: int | None = None) -> Iterator[Row]:
        """The rows of a reading in source order, from entry position *first* up to but not including *end*."""
        cursor = self._db.execute(
            f"SELECT {_ROW_COLUMNS} FROM entries WHERE generation = ? AND position >= ? AND position < ?"  # noqa: S608
            " ORDER BY position, child",
            (generation, first, _LAST if end is None else end),
        )
        return map(_row, cursor)

    def row(self, generation: int, position: int, child: int) -> Row | None:
        """One row."""
        found = self._db.execute(
            f"SELECT {_ROW_COLUMNS} FROM entries WHERE generation = ? AND position = ? AND child = ?",  # noqa: S608
            (generation, position, child),
        ).fetchone()
        return None if found is None else _row(found)

    def ranked(self, generation: int, record: int) -> Row | None:
        """The record of a reading with this rank among its records; bisected for, since ranks rise with positions."""
        low, high = 0, self._last_position(generation)
        while low < high:
            middle = (low + high) // 2
            low, high = (middle + 1, high) if self._rank_up_to(generation, middle) < record else (low, middle)
        return next((row for row in self.rows(generation, low, low + 1) if row.record == record), None)

    def _last_position(self, generation: int) -> int:
        found = self._db.execute("SELECT max(position) FROM entries WHERE generation = ?", (generation,)).fetchone()
        return int(found[0] or 0)

    def _rank_up_to(self, generation: int, position: int) -> int:
        """The rank of the last record at or before an entry position; -1 if there is none."""
        found = self._db.execute(
            "SELECT record FROM entries WHERE generation = ? AND position <= ? AND record IS NOT NULL"
            " ORDER BY position DESC, child DESC LIMIT 1",
            (generation, position),
        ).fetchone()
        return -1 if found is None else int(found[0])

    def named(self, generation: int, column: Literal["id", "address"], name: str) -> Iterator[Row]:
        """The records of a reading with this id or address, in source order."""
        cursor = self._db.execute(
            f"SELECT {_ROW_COLUMNS} FROM entries"  # noqa: S608
            f" WHERE generation = ? AND {column} = ? AND record IS NOT NULL ORDER BY position, child",
            (generation, name),
        )
        return map(_row, cursor)

    def linked(self, generations: Iterable[int], key: int) -> Iterator[tuple[int, int]]:
        """The (generation, position) of every entry with this link, as *generations* have them, then in file order."""
        statement = "SELECT position FROM links WHERE generation = ? AND key = ? ORDER BY position"
        for generation in generations:
            for (position,) in self._db.execute(statement, (generation, key)):
                yield generation, position

    def nodes(self, generation: int) -> list[Node]:
        """The tree of a reading, in append order."""
        return list(
            map(
                Node._make,
                self._db.execute(
                    "SELECT position, id, parent FROM entries WHERE generation = ? AND child = 0 ORDER BY position",
                    (generation,),
                ),
            )
        )

    def places(self, generation: int, first: int, end: int) -> Iterator[tuple[Any, ...]]:
        """What of each entry decides its place in the tree, from position *first* up to but not including *end*.

        Yields:
            (position, id, parent, type, role, target, silent)
        """
        return self._db.execute(
            "SELECT position, id, parent, type, role, target, silent FROM entries"
            " WHERE generation = ? AND child = 0 AND position >= ? AND position < ? ORDER BY position",
            (generation, first, end),
        )

    def digest(self, generation: int, branches: Branches) -> Digest | None:
        """The digest of a reading of a cold source."""
        found = self._db.execute(
            "SELECT head, vocabulary, addresses, tail FROM digests WHERE generation = ? AND branches = ?",
            (generation, branches),
        ).fetchone()
        return None if found is None else Digest._make(found)

    def exceptional_rows(self, generation: int) -> Iterator[Row]:
        """The rows that are inactive or our own, in source order."""
        cursor = self._db.execute(
            f"SELECT {_ROW_COLUMNS} FROM entries"  # noqa: S608
            f" WHERE {_EXCEPTIONAL} AND generation = ? ORDER BY position, child",
            (generation,),
        )
        return map(_row, cursor)

    def facts(self, generation: int) -> list[Row]:
        """The records typed out of branch summaries, in source order."""
        cursor = self._db.execute(
            f"SELECT {_ROW_COLUMNS} FROM entries"  # noqa: S608
            " WHERE generation = ? AND type = ? ORDER BY position, child",
            (generation, FACT),
        )
        return list(map(_row, cursor))

    # Writing: only by the holder of the index lock

    def transaction(self) -> AbstractContextManager[None]:
        """All writes of the block, or none."""
        return transaction(self._db)

    def remember(self, key: str, value: str) -> None:
        """Set a setting of the index as a whole."""
        self._db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, value))

    def new_generation(self) -> int:
        """A number never used before; it is garbage until a source points at it."""
        number = int(self.meta("generation") or 0) + 1
        self.remember("generation", str(number))
        self._db.execute("INSERT INTO garbage VALUES (?)", (number,))
        return number

    def put(self, source: Source) -> None:
        """Write a source; its generation is no garbage from now on."""
        marks = ",".join("?" * (_SOURCE_COLUMNS.count(",") + 1))
        self._db.execute(f"INSERT OR REPLACE INTO sources VALUES ({marks})", _columns(source))  # noqa: S608
        self._db.execute("DELETE FROM garbage WHERE generation = ?", (source.generation,))

    def mark_appending(self, paths: Iterable[str]) -> None:
        """Say that documents beyond what these sources' rows tell are about to be in the text index."""
        self._db.executemany("UPDATE sources SET appending = 1 WHERE path = ?", [(path,) for path in paths])

    def discard(self, generation: int) -> None:
        """Make a generation garbage and forget its rows."""
        self._db.execute("INSERT OR IGNORE INTO garbage VALUES (?)", (generation,))
        for table in ("entries", "digests", "links"):
            self._db.execute(f"DELETE FROM {table} WHERE generation = ?", (generation,))  # noqa: S608

    def drop(self, path: str) -> None:
        """Forget a source; its generation becomes garbage."""
        row = self._db.execute("SELECT generation FROM sources WHERE path = ?", (path,)).fetchone()
        if row is not None:
            self._db.execute("DELETE FROM sources WHERE path = ?", (path,))
            self.discard(int(row[0]))

    def swept(self, generations: Iterable[int]) -> None:
        """Note that the text index holds no documents of these generations any more."""
        self._db.executemany("DELETE FROM garbage WHERE generation = ?", [(number,) for number in generations])

    def add_digest(self, generation: int, branches: Branches, digest: Digest) -> None:
        """Keep the digest of a reading."""
        self._db.execute("INSERT INTO digests VALUES (?, ?, ?, ?, ?, ?)", (generation, branches, *digest))

    def add_rows(self, generation: int, rows: Sequence[Row]) -> None:
        """Append rows to a reading, with their links."""
        marks = ",".join("?" * len(Row._fields))
        self._db.executemany(
            f"INSERT INTO entries VALUES ({marks})",  # noqa: S608
            ((generation, *row[:-1]) for row in rows),
        )
        self._db.executemany(
            "INSERT OR IGNORE INTO links VALUES (?, ?, ?)",
            ((generation, key, row.position) for row in rows for key in row.links),
        )

    def set_active(self, generation: int, active: Iterable[int], inactive: Iterable[int]) -> None:
        """Flip the entries at these positions; their child records follow them."""
        statement = "UPDATE entries SET active = ? WHERE generation = ? AND position = ?"
        flips = chain(((1, generation, at) for at in active), ((0, generation, at) for at in inactive))
        self._db.executemany(statement, flips)

    def inactive_positions(self, generation: int) -> set[int]:
        """Entry positions that are not on the persisted active branch."""
        return {
            position
            for (position,) in self._db.execute(
                f"SELECT position FROM entries WHERE generation = ? AND {_EXCEPTIONAL} AND active = 0",  # noqa: S608
                (generation,),
            )
        }

    def set_repeated(self, generation: int, rows: Iterable[Row]) -> None:
        """Mark *rows* as repeated, or not."""
        statement = "UPDATE entries SET repeated = ? WHERE generation = ? AND position = ? AND child = ?"
        self._db.executemany(statement, ((row.repeated, generation, row.position, row.child) for row in rows))

    def record_counts(self, generation: int) -> tuple[int, int, int, int]:
        """(records, active ones, own ones, repeated ones); active ones are not repeated ones."""
        counts: tuple[int, int, int, int] = self._db.execute(
            "SELECT count(*), coalesce(sum(active AND NOT repeated & ?), 0), coalesce(sum(own), 0),"
            " coalesce(sum(repeated & ?), 0) FROM entries WHERE generation = ? AND record IS NOT NULL",
            (REPEATED["active"], REPEATED["all"], generation),
        ).fetchone()
        return counts

    def duplicates(self, generation: int) -> dict[Branches, list[str]]:
        """The coverage reasons that ids and addresses which occur twice among the records are, by branch mode."""
        found: dict[Branches, list[str]] = {}
        for mode, bit in REPEATED.items():
            ids, distinct_ids, addresses, distinct_addresses = self._db.execute(
                "SELECT count(*), count(DISTINCT id), count(address), count(DISTINCT address) FROM entries"
                " WHERE generation = ? AND record IS NOT NULL AND NOT repeated & ? AND (active OR ?)",
                (generation, bit, mode == "all"),
            ).fetchone()
            reasons = ["duplicate_entry_id"] * (distinct_ids < ids)
            reasons += ["duplicate_operation_address"] * (distinct_addresses < addresses)
            if not reasons and mode == "all":
                break  # nor is anything twice in a part of it
            found[mode] = reasons
        return found

    def _create(self) -> None:
        self._db.execute("PRAGMA journal_mode = WAL")
        self._db.execute("PRAGMA synchronous = FULL")
        with self.transaction():
            if not self._db.execute("SELECT 1 FROM sqlite_master WHERE name = 'meta'").fetchone():
                for statement in _TABLES.split(";"):
                    if statement.strip():
                        self._db.execute(statement)
                self.remember("schema", str(SCHEMA))


_LAST = 1 << 40


def _quoted(path: str) -> str:
    return path.replace("%", "%25").replace("?", "%3f").replace("#", "%23")


def _row(columns: Sequence[Any]) -> Row:
    return Row(*columns)


_TEXTS = 5
"""Columns of JSON, at the end."""


def _source(
    columns: Sequence[Any],
    diagnostics: dict[str, int],
    duplicates: dict[Branches, list[str]],
    lengths: dict[Field, int],
    exceptions: list[list[Any]],
    digests: dict[Branches, list[str]],
) -> Source:
    stamp = Stamp._make(columns[6:11])
    runs = tuple(map(Exceptions._make, exceptions))
    fields = (*columns[:6], stamp, *columns[11:], diagnostics, duplicates, lengths, runs, digests)
    return Source(*fields)


def _columns(source: Source) -> tuple[object, ...]:
    return (
        source.path,
        source.host,
        source.root,
        source.agent,
        source.folder,
        source.kind,
        *source.stamp,
        source.examined_ns,
        source.generation,
        source.sha256,
        source.checkpoint,
        source.checkpoint_sha256,
        source.entries,
        source.records,
        source.active_records,
        source.own_records,
        source.facts,
        source.repeats,
        source.session,
        source.cwd,
        source.parent,
        source.name,
        source.created,
        source.last_time,
        source.leaf,
        source.fingerprint,
        source.cyclic,
        source.derived_ids,
        source.oversized,
        source.tier,
        source.policy,
        source.longest,
        source.cut,
        source.appending,
        json.dumps(source.diagnostics),
        json.dumps(source.duplicates),
        json.dumps(source.lengths),
        json.dumps(source.exceptions),
        json.dumps(source.digests),
    )
