"""What an index knows of each daily file, a row a file: its stamp, and its chunks' ids and vectors, packed.

No text and no hash of a whole chunk is in it. A row is written and removed as one, so a file is never half indexed, and
what is removed is overwritten (decision 14).
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import NamedTuple

from pepys.index.transaction import transaction
from pepys.model.source import Stamp

SCHEMA = "3"

_BUSY_MS = 10_000
_READER_MS = 500  # readers are done within milliseconds, or have forgotten to end

_TABLES = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE files (
    id INTEGER PRIMARY KEY AUTOINCREMENT, path TEXT NOT NULL UNIQUE, stamp TEXT NOT NULL, examined_ns INTEGER NOT NULL,
    sha256 TEXT NOT NULL, cut TEXT NOT NULL, chunks INTEGER NOT NULL, ids BLOB NOT NULL, space TEXT NOT NULL,
    owners BLOB NOT NULL, keys BLOB NOT NULL, signs BLOB NOT NULL, vectors BLOB NOT NULL
);
"""

ID_BYTES = KEY_BYTES = 8
OWNER_BYTES = 4

_NUMBER_BITS = 24


def place(file: int, number: int) -> int:
    """Where a chunk is in an index: its file's id and its number there, as one number that the words are kept under."""
    return file << _NUMBER_BITS | number


def file_of(place: int) -> int:
    """The file of a place."""
    return place >> _NUMBER_BITS


def number_of(place: int) -> int:
    """The number of a place's chunk in its file."""
    return place & ((1 << _NUMBER_BITS) - 1)


class Known(NamedTuple):
    """A file as it was when it was indexed."""

    id: int  # of this reading: a file that changed gets another
    path: str  # relative to the store
    stamp: Stamp
    examined_ns: int  # when the stamp was taken
    sha256: str  # of its bytes
    cut: str  # how its chunks were made; see `chunk.Cut`
    space: str  # of its vectors; "" while it has none
    chunks: int


class Reading(NamedTuple):
    """A file that was just read and cut."""

    path: str
    stamp: Stamp
    examined_ns: int
    sha256: str
    cut: str
    ids: bytes  # ID_BYTES a chunk, in order
    space: str
    owners: bytes  # OWNER_BYTES a vector: the number of its chunk in the file
    keys: bytes  # KEY_BYTES a vector: a hash of what was embedded
    signs: bytes  # see `vectors.signs`
    vectors: bytes  # see `vectors.packed`


class Signs(NamedTuple):
    """The vectors of a file, as they are scanned."""

    file: int
    owners: bytes
    signs: bytes


class Ledger:
    """The rows of one store's index. Whoever writes holds the store's lock."""

    def __init__(self, path: str | None) -> None:
        """Open, or create, the ledger at *path*; None: one in memory.

        Raises:
            sqlite3.Error: It cannot be opened or is none.
        """
        if path is not None and not Path(path).exists():
            os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))  # SQLite gives its other files the same mode
        self._db = sqlite3.connect(
            path or ":memory:", timeout=_BUSY_MS / 1000, isolation_level=None, check_same_thread=False
        )
        self._db.execute("PRAGMA secure_delete = ON")
        self._db.execute("PRAGMA journal_mode = WAL")
        self._db.execute("PRAGMA synchronous = NORMAL")  # it can be derived again
        if not self._db.execute("SELECT 1 FROM sqlite_schema").fetchone():
            with self.transaction():
                if not self._db.execute("SELECT 1 FROM sqlite_schema").fetchone():
                    for statement in filter(str.strip, _TABLES.split(";")):
                        self._db.execute(statement)
                    self.note("schema", SCHEMA)
        if self.noted("schema") != SCHEMA:
            self._db.close()
            raise sqlite3.DatabaseError("another version of the ledger")

    def transaction(self) -> AbstractContextManager[None]:
        """All of a block, or nothing of it."""
        return transaction(self._db)

    def version(self) -> tuple[int, int]:
        """Another one whenever anybody has written."""
        return int(self._db.execute("PRAGMA data_version").fetchone()[0]), self._db.total_changes

    def noted(self, key: str) -> str:
        """What was noted under *key*; "" if nothing was."""
        row = self._db.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
        return str(row[0]) if row else ""

    def note(self, key: str, value: str) -> None:
        """Keep *value* under *key*."""
        self._db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, value))

    def files(self) -> dict[str, Known]:
        """Every file, by path."""
        rows = self._db.execute(
            "SELECT id, path, stamp, examined_ns, sha256, cut, space, chunks FROM files ORDER BY path"
        )
        return {row[1]: Known(row[0], row[1], Stamp(*json.loads(row[2])), *row[3:]) for row in rows}

    def put(self, readings: Iterable[tuple[int, Reading]]) -> None:
        """Take up *readings* under their new ids, each in the place of what was known of its file."""
        for file, reading in readings:
            self._db.execute("DELETE FROM files WHERE path = ?", (reading.path,))
            self._db.execute(
                "INSERT INTO files VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    *(file, reading.path, json.dumps(reading.stamp), reading.examined_ns, reading.sha256),
                    *(
                        reading.cut,
                        len(reading.ids) // ID_BYTES,
                        reading.ids,
                        reading.space,
                        reading.owners,
                        reading.keys,
                    ),
                    *(reading.signs, reading.vectors),
                ),
            )

    def seen(self, path: str, stamp: Stamp, examined_ns: int) -> None:
        """The file holds what it held, under another stamp."""
        self._db.execute(
            "UPDATE files SET stamp = ?, examined_ns = ? WHERE path = ?", (json.dumps(stamp), examined_ns, path)
        )

    def drop(self, paths: Iterable[str]) -> None:
        """Forget files."""
        self._db.executemany("DELETE FROM files WHERE path = ?", [(path,) for path in paths])

    def fresh(self) -> int:
        """An id that no reading has had."""
        row = self._db.execute("SELECT seq FROM sqlite_sequence WHERE name = 'files'").fetchone()
        return int(row[0]) + 1 if row else 1

    def holding(self, id_: bytes) -> list[str]:
        """The paths of the files that have a chunk with this id."""
        rows = self._db.execute("SELECT path, ids FROM files WHERE instr(ids, ?) ORDER BY path", (id_,)).fetchall()
        return [
            path for path, ids in rows if any(ids[at : at + ID_BYTES] == id_ for at in range(0, len(ids), ID_BYTES))
        ]

    def ids(self, file: int) -> list[bytes]:
        """The ids of a file's chunks, in order."""
        row = self._db.execute("SELECT ids FROM files WHERE id = ?", (file,)).fetchone()
        return [row[0][at : at + ID_BYTES] for at in range(0, len(row[0]), ID_BYTES)] if row else []

    def id_at(self, file: int, number: int) -> str:
        """The id of a file's chunk, as it is printed; "" where it is gone."""
        row = self._db.execute(
            "SELECT substr(ids, ?, ?) FROM files WHERE id = ?", (number * ID_BYTES + 1, ID_BYTES, file)
        ).fetchone()
        return bytes(row[0]).hex() if row else ""

    def signs(self, space: str) -> list[Signs]:
        """Every vector of *space*, by file."""
        rows = self._db.execute("SELECT id, owners, signs FROM files WHERE space = ? ORDER BY id", (space,))
        return [Signs(*row) for row in rows]

    def vectors(self, wanted: Mapping[int, Iterable[int]], dimensions: int) -> dict[tuple[int, int], bytes]:
        """Vectors by file and number; without those that are gone.

        Args:
            wanted: Numbers by file. A file's vectors are opened once: to ask for each would read all of them each time.
            dimensions: Of a vector, in bytes.
        """
        found: dict[tuple[int, int], bytes] = {}
        for file, numbers in wanted.items():
            try:
                packed = self._db.blobopen("files", "vectors", file, readonly=True)
            except sqlite3.OperationalError:
                if self._db.execute("SELECT 1 FROM files WHERE id = ?", (file,)).fetchone():
                    raise
                continue  # gone
            with packed:
                for number in sorted(numbers):
                    if (number + 1) * dimensions <= len(packed):
                        packed.seek(number * dimensions)
                        found[file, number] = packed.read(dimensions)
        return found

    def kept(self, files: Sequence[int], space: str) -> dict[bytes, bytes]:
        """The vectors of *files* by the hash of what was embedded: what moves needs not be embedded again."""
        found: dict[bytes, bytes] = {}
        for file in files:
            row = self._db.execute(
                "SELECT keys, vectors FROM files WHERE id = ? AND space = ?", (file, space)
            ).fetchone()
            if row and row[0]:
                keys, vectors = row
                dimensions = len(vectors) * KEY_BYTES // len(keys)
                for number in range(len(keys) // KEY_BYTES):
                    key = keys[number * KEY_BYTES : (number + 1) * KEY_BYTES]
                    found[key] = vectors[number * dimensions : (number + 1) * dimensions]
        return found

    def emptied(self) -> bool:
        """Overwrite and cut the log of changes; whether no reader prevented it."""
        self._db.execute(f"PRAGMA busy_timeout = {_READER_MS}")
        busy, *_ = self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        self._db.execute(f"PRAGMA busy_timeout = {_BUSY_MS}")
        return not busy

    def close(self) -> None:
        """Let go of the file."""
        self._db.close()
