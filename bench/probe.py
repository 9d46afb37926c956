"""What runs in processes of its own, so that time and memory are its own: `python -m bench.probe NAME JSON`."""

from __future__ import annotations

import gc
import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.corpus import session_files
from bench.queries import Query
from bench.timing import by_kind, spread

if TYPE_CHECKING:
    from pepys.workspace import Workspace

LIMIT = 10
"""Hits asked of the bare engine: the default page of `memory.recall`."""

LISTINGS = 20


def decode(agent_dir: str) -> dict[str, Any]:
    """Read the session files and decode every line with msgspec, keeping nothing; the fastest of three times."""
    import msgspec

    decoded = msgspec.json.Decoder().decode
    paths = session_files(Path(agent_dir))
    size = sum(os.stat(path).st_size for path in paths)
    seconds = []
    for _ in range(3):
        started = time.perf_counter()
        for path in paths:
            for line in Path(path).read_bytes().splitlines():
                decoded(line)
        seconds.append(time.perf_counter() - started)
    return {"seconds": min(seconds), "mb_per_s": size / 1e6 / min(seconds)}


def build(agent_dir: str, index_dir: str) -> dict[str, Any]:
    """Index everything."""
    started = time.perf_counter()
    with _opened(agent_dir, index_dir) as workspace:
        done = workspace.history.refresh()
    return {
        "seconds": time.perf_counter() - started,
        "new": done.new,
        "failed": len(done.failed),
        "bytes_read": done.bytes_read,
    }


def recall(agent_dir: str, index_dir: str, queries: str) -> dict[str, Any]:
    """Whole recalls in one process: freshness, search, evidence re-read from the sources."""
    with _opened(agent_dir, index_dir) as workspace:

        def asks(query: Query) -> Callable[[], int]:
            arguments = query.arguments()
            return lambda: _total(workspace.call("memory.recall", arguments))

        asked = _kept(queries)
        started = time.perf_counter()
        asks(asked[0])()
        first_s = time.perf_counter() - started
        kinds = by_kind([(query.kind, asks(query)) for query in asked])
        answer = workspace.call("memory.recall", asked[0].arguments())
        return {"first_ms": first_s * 1e3, "kinds": kinds, "coverage": answer["coverage"]}


def totals(agent_dir: str, index_dir: str, words: list[str]) -> dict[str, Any]:
    """How many hits these words have in all, once the index is up to date, and how many of them raise an error."""
    with _opened(agent_dir, index_dir) as workspace:
        workspace.history.refresh()
        hits, failed = 0, 0
        for word in words:
            try:
                hits += _total(workspace.call("memory.recall", {"query": word, "scope": "global"}))
            except LookupError:
                failed += 1
        return {"hits": hits, "failed": failed}


def engine(index_dir: str, queries: str) -> dict[str, Any]:
    """The bare engine on the product's index: the query that a recall makes, its best places and its exact count."""
    from pepys.index.directory import FOLDER
    from pepys.index.engines.base import Among, Filters, Words
    from pepys.index.engines.tantivy import TantivyEngine
    from pepys.recall import phrase

    text = TantivyEngine(os.path.join(index_dir, FOLDER, "text"), writable=False)
    everything = Among(frozenset(), inverted=True)

    def searches(query: Query) -> Callable[[], int]:
        filters = Filters(role=query.role, since=query.since, until=query.until)
        words = " ".join(query.terms)
        wanted = phrase.candidates(words) if query.match == "phrase" else Words(query.terms, query.match)
        return lambda: text.search(wanted, filters, everything, LIMIT).total

    return {"kinds": by_kind([(query.kind, searches(query)) for query in _kept(queries)]), "documents": text.documents}


def listing(agent_dir: str) -> dict[str, Any]:
    """List the session directories and stat every file, with nothing of the product."""

    def once() -> float:
        started = time.perf_counter()
        for folder in os.scandir(os.path.join(agent_dir, "sessions")):
            for entry in os.scandir(folder.path):
                entry.stat()
        return time.perf_counter() - started

    return spread(once() for _ in range(LISTINGS))


def recheck(agent_dir: str, index_dir: str, passes: int) -> dict[str, Any]:
    """Bring an unchanged index up to date; sources that Python opened meanwhile are counted."""
    opened: list[str] = []
    with _opened(agent_dir, index_dir) as workspace:
        sys.addaudithook(lambda event, args: opened.append(str(args[0])) if event == "open" else None)
        seconds = []
        for _ in range(passes):
            started = time.perf_counter()
            done = workspace.history.refresh()
            seconds.append(time.perf_counter() - started)
        sources = [path for path in opened if path.endswith(".jsonl")]
        return {**spread(seconds), "sources": done.sources, "unchanged": done.unchanged, "opens": len(sources)}


def fts5_build(agent_dir: str, database: str) -> dict[str, Any]:
    """The baseline's index over the same documents, decoding included."""
    from bench import fts5
    from bench.fragments import documents

    started = time.perf_counter()
    count = fts5.build(database, documents(session_files(Path(agent_dir))))
    return {"seconds": time.perf_counter() - started, "documents": count}


def fts5_query(database: str, queries: str) -> dict[str, Any]:
    """The baseline's answers: the ten best and the exact count, and the ten best alone."""
    from bench import fts5

    db = fts5.opened(database)
    asked = _kept(queries)

    def kinds(*, counted: bool) -> Mapping[str, dict[str, Any]]:
        return by_kind([(query.kind, fts5.searches(db, query, counted=counted)) for query in asked])

    return {"kinds": kinds(counted=True), "best_alone": kinds(counted=False)}


def _total(page: Mapping[str, object]) -> int:
    total = page["total"]
    assert isinstance(total, int), page
    assert "error" not in page, page["error"]
    return total


def journal_build(store: str, directory: str, embedder: str) -> dict[str, Any]:
    """Index a store of daily files."""
    with _journal(store, directory, embedder) as index:
        started = time.perf_counter()
        done = index.refresh()
        seconds = time.perf_counter() - started
        return {
            "seconds": round(seconds, 3),
            "chunks": done.chunks,
            "vectors": done.embedded,
            "chunks_per_s": round(done.chunks / seconds),
            "bytes": index.status().bytes,
        }


def journal_search(
    store: str, directory: str, embedder: str, queries: list[tuple[str, str]], passes: int
) -> dict[str, Any]:
    """Searches in one process: by kind, and a refresh that finds nothing to do."""
    with _journal(store, directory, embedder) as index:
        index.search("warm", 5)
        work = [(kind, lambda query=query: len(index.search(query, 5))) for kind, query in queries]
        refreshes = [("refresh", lambda: index.refresh().files)] * 5
        return {**by_kind([*work, *refreshes], passes)}


@contextmanager
def _journal(store: str, directory: str, embedder: str) -> Iterator[Any]:
    from pepys.config import Journal
    from pepys.journal.base import Place
    from pepys.journal.index import opened

    settings = Journal(embedder=embedder)  # type: ignore[arg-type]
    index = opened(Place(store, "bench", directory, str(Path(store).parent)), settings, os.environ)
    try:
        yield index
    finally:
        index.close()


def _opened(agent_dir: str, index_dir: str) -> Workspace:
    import pepys.workspace

    return pepys.workspace.open(host="pi", agent_dir=Path(agent_dir), index_dir=Path(index_dir))


def _kept(queries: str) -> list[Query]:
    return [Query(**{**row, "terms": tuple(row["terms"])}) for row in json.loads(Path(queries).read_text())]


PROBES: Mapping[str, Callable[..., dict[str, Any]]] = {
    probe.__name__: probe
    for probe in (
        decode,
        build,
        recall,
        totals,
        engine,
        listing,
        recheck,
        fts5_build,
        fts5_query,
        journal_build,
        journal_search,
    )
}


def main() -> None:
    """Run one probe and print what it measured."""
    name, arguments = sys.argv[1:]
    gc.collect()
    print(json.dumps(PROBES[name](**json.loads(arguments))))


if __name__ == "__main__":
    main()
