"""The baseline: SQLite's FTS5 over the same documents, contentless, with the same weights.

Contentless, because the product does not store text either. Durability is switched off while building, which favours
the baseline. It asks for the ten best and for the exact count, as the product does.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable
from contextlib import closing

from bench.queries import Query
from pepys.index.document import Document
from pepys.index.engines.base import FIELDS, WEIGHTS

LIMIT = 10

_TABLES = f"""
PRAGMA journal_mode = OFF;
PRAGMA synchronous = OFF;
PRAGMA cache_size = -65536;
CREATE VIRTUAL TABLE text USING fts5(
    {", ".join(FIELDS)}, content='', tokenize="unicode61 remove_diacritics 0 tokenchars '_'"
);
INSERT INTO text(text, rank) VALUES ('rank', 'bm25({", ".join(str(WEIGHTS[field]) for field in FIELDS)})');
CREATE TABLE documents (id INTEGER PRIMARY KEY, place INTEGER, role TEXT, tool TEXT, time INTEGER);
"""


def build(path: str, documents: Iterable[Document]) -> int:
    """Make the database; how many documents it holds."""
    marks = ", ".join("?" * (len(FIELDS) + 1))
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.executescript(_TABLES)
        db.execute("BEGIN")
        number = 0
        for number, one in enumerate(documents, 1):
            row = (number, one.place.packed(), one.role, one.tool, one.time)
            db.execute("INSERT INTO documents VALUES (?, ?, ?, ?, ?)", row)
            texts = ("\n".join(text for field, text in one.passages if field == wanted) for wanted in FIELDS)
            db.execute(f"INSERT INTO text(rowid, {', '.join(FIELDS)}) VALUES ({marks})", (number, *texts))
        db.execute("COMMIT")
    return number


def searches(db: sqlite3.Connection, query: Query, *, counted: bool) -> Callable[[], int]:
    """A search for the ten best of *query*; with *counted*, for the exact number of matches too."""
    expression, conditions, values = _translated(query)
    source = "text JOIN documents ON documents.id = text.rowid" if conditions else "text"
    where = " AND ".join(["text MATCH ?", *conditions])
    best = f"SELECT text.rowid, text.rank FROM {source} WHERE {where} ORDER BY text.rank LIMIT {LIMIT}"
    total = f"SELECT count(*) FROM {source} WHERE {where}"

    def search() -> int:
        found = db.execute(best, (expression, *values)).fetchall()
        return int(db.execute(total, (expression, *values)).fetchone()[0]) if counted else len(found)

    return search


def opened(path: str) -> sqlite3.Connection:
    """The database, for reading."""
    db = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    db.execute("PRAGMA cache_size = -65536")
    db.execute(f"PRAGMA mmap_size = {1 << 31}")
    return db


def _translated(query: Query) -> tuple[str, list[str], list[object]]:
    quoted = [f'"{term}"' for term in query.terms]
    joint = {"any": " OR ", "all": " AND ", "phrase": " + "}[query.match]
    filters = {"role = ?": query.role, "time >= ?": query.since, "time <= ?": query.until}
    given = {condition: value for condition, value in filters.items() if value is not None}
    return joint.join(quoted), [f"documents.{condition}" for condition in given], list(given.values())
