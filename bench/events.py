"""The benchmark of events: build, appends against the size of the corpus, search, read and trace beside FTS5.

FTS5 gets the same fragments, one row each, without text or durability, and is asked for the twenty best rows: no
authorisation, no reading of sources, no states. Everything is measured in one run, so that its ratios hold anywhere.
"""

from __future__ import annotations

import random
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.corpus import Corpus, Shape, corpus
from bench.queries import Query, queries
from bench.timing import by_kind, spread

if TYPE_CHECKING:
    from pepys.workspace import Workspace

PARTS = 4
"""Appends are measured in a corpus of this part of the size, and in the whole one."""

_LIMIT = 20


@dataclass(frozen=True, slots=True)
class Options:
    """What is measured."""

    shape: Shape
    work: Path
    per_kind: int = 20  # queries
    appends: int = 20


def measured(options: Options, say: Callable[[str], None]) -> dict[str, Any]:
    """All figures."""
    shape = options.shape
    part = Shape(shape.seed, max(1, shape.megabytes // PARTS), max(1, shape.files // PARTS))
    figures: dict[str, Any] = {}
    for name, one in (("part", part), ("whole", shape)):
        made = corpus(options.work / f"events-{one.megabytes}mb-{one.files}-{one.seed}", one, say)
        say(f"{name}: indexing")
        with _opened(made, options.work / f"index-events-{name}") as workspace:
            figures[name] = {"corpus": {"bytes": made.size, "sources": len(made.paths())}, **_built(workspace, made)}
            say(f"{name}: appending")
            figures[name]["append"] = _appended(workspace, made, options.appends)
            if name == "whole":
                say("searching, reading, tracing")
                asked = _asked(made, options.per_kind)
                figures["search"] = by_kind([(one.kind, _search(workspace, one)) for one in asked])
                hits = _hits(workspace, asked)
                figures["read"] = spread(_timed(workspace, "events.read", hits))
                figures["trace"] = spread(_timed(workspace, "events.trace", hits))
                say("FTS5: indexing and searching")
                figures["fts5"] = _fts5(made, options.work / "fts5-fragments.sqlite", asked)
    return figures


def _opened(made: Corpus, index: Path) -> Workspace:
    import shutil

    import pepys

    shutil.rmtree(index, ignore_errors=True)
    return pepys.open(
        host="pi",
        agent_dir=made.directory,
        cwd="/",
        index_dir=index,
        workspace_root="/",
        env={"HOME": "/nonexistent"},
    )


def _built(workspace: Workspace, made: Corpus) -> dict[str, Any]:
    started = time.perf_counter()
    workspace.history.refresh()
    seconds = time.perf_counter() - started
    size = workspace.history.status().index_bytes
    built = {"seconds": seconds, "mb_per_s": made.size / 1e6 / seconds}
    return {"build": built, "index": {"bytes": size, "of_source": size / made.size}}


def _appended(workspace: Workspace, made: Corpus, times: int) -> dict[str, float]:
    """Append a prompt to a session and find it; the sessions are put back at the end."""
    from bench.recall import appended

    draw = random.Random(f"append {made.shape.seed}")
    seconds = []
    with ExitStack() as all_of_them:
        for number, path in enumerate(draw.sample(made.paths(), min(times, len(made.paths())))):
            word = f"appended{number}{draw.getrandbits(40):010x}"
            all_of_them.enter_context(appended(Path(path), word))
            started = time.perf_counter()
            found = workspace.events.search(query=word)
            seconds.append(time.perf_counter() - started)
            if len(found["hits"]) != 1:
                raise RuntimeError("An event that was appended was not found.")
    workspace.history.refresh()
    return spread(seconds)


def _asked(made: Corpus, count: int) -> list[Query]:
    """Queries that all words, or a phrase, must answer."""
    kinds = ("rare", "middle", "common", "all3", "phrase")
    return [one for one in queries(made, count) if one.kind in kinds]


def _text(query: Query) -> str:
    words = " ".join(query.terms)
    return f'"{words}"' if query.match == "phrase" else words


def _search(workspace: Workspace, query: Query) -> Callable[[], int]:
    return lambda: len(workspace.events.search(query=_text(query))["hits"])


def _hits(workspace: Workspace, asked: Sequence[Query]) -> list[dict[str, Any]]:
    found = [hit for query in asked for hit in workspace.events.search(query=_text(query))["hits"][:2]]
    return [{name: hit["follow"]["args"][name] for name in ("sessionId", "entryId")} for hit in found]


def _timed(workspace: Workspace, ref: str, calls: Sequence[dict[str, Any]]) -> Iterator[float]:
    for args in calls:
        started = time.perf_counter()
        workspace.call(ref, args)
        yield time.perf_counter() - started


# The baseline


def _fts5(made: Corpus, path: Path, asked: Sequence[Query]) -> dict[str, Any]:
    path.unlink(missing_ok=True)
    started = time.perf_counter()
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.executescript(
            "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -65536;"
            "CREATE VIRTUAL TABLE fragments USING fts5(text, content='', tokenize='unicode61');"
        )
        db.execute("BEGIN")
        for number, text in enumerate(_fragments(made.paths()), 1):
            db.execute("INSERT INTO fragments(rowid, text) VALUES (?, ?)", (number, text))
        db.execute("COMMIT")
        seconds = time.perf_counter() - started
        size = path.stat().st_size
        found = by_kind([(one.kind, _fts5_search(db, one)) for one in asked])
    return {
        "build": {"seconds": seconds, "mb_per_s": made.size / 1e6 / seconds},
        "index": {"bytes": size, "of_source": size / made.size},
        "search": found,
    }


def _fragments(paths: Sequence[str]) -> Iterator[str]:
    from pepys import normalise
    from pepys.events.fragments import fragments
    from pepys.hosts import HOSTS
    from pepys.hosts.reading import examine
    from pepys.model.entry import Entry

    for path in paths:
        for item in examine(HOSTS["pi"], path, None).items():
            if isinstance(item, Entry):
                for fragment in fragments(normalise.event(item)):
                    yield fragment.text


def _fts5_search(db: sqlite3.Connection, query: Query) -> Callable[[], int]:
    joint = " + " if query.match == "phrase" else " AND "
    expression = joint.join(f'"{term}"' for term in query.terms)
    statement = f"SELECT rowid FROM fragments WHERE fragments MATCH ? ORDER BY rank LIMIT {_LIMIT}"
    return lambda: len(db.execute(statement, (expression,)).fetchall())
