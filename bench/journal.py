"""The benchmark of the journal: speed beside memsearch's command line, and what is found.

It fails where the specification's conditions on relevance do not hold on the half of the judged set that was not used
for choosing: more than 2 % of negative controls reach auto-context's floor, the best hit by words falls below rank 3,
or fewer keyword queries are answered first than by words alone.
"""

from __future__ import annotations

import os
import random
import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench import docstrings, memories, timing
from bench.retrieval import SYSTEMS, Asked, figures, mean
from bench.words import Author, vocabulary
from pepys.config import Journal
from pepys.journal import index as engine
from pepys.journal.base import Place
from pepys.journal.constants import AUTO_CONTEXT_SCORE_FLOOR
from pepys.journal.fusion import HELD
from pepys.journal.index import StoreIndex

A_DAY = 50
"""Entries of one daily file."""

MOST_INJECTED = 0.02

_DAY_S = 86_400

Json = dict[str, Any]
Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Options:
    """What is measured."""

    work: Path
    sizes: tuple[int, ...] = (1_000,)  # chunks
    seed: int = 1
    queries: int = 20  # of each kind
    cold: int = 10  # cold processes
    embedder: str = "static"
    memsearch: str | None = None  # its executable
    memsearch_most: int = 10_000  # chunks that it is given
    locomo: Path | None = None
    haystack: int = 500  # docstrings among which the judged set is asked again


def measured(options: Options, say: Say) -> Json:
    """All figures, and the failures; none is what is wanted."""
    say("judged set")
    on_its_own, failures = judged(options, 0)
    made: Json = {"embedder": options.embedder, "judged": on_its_own, "sizes": {}}
    if options.haystack:
        say(f"judged set among {options.haystack} docstrings")
        made["haystack"] = {"docstrings": options.haystack, **judged(options, options.haystack)[0]}
    for size in options.sizes:
        made["sizes"][str(size)] = _speed(options, size, say)
    if options.locomo is not None:
        from bench import locomo

        made["locomo"] = locomo.measured(options.locomo, options.work, opener(options), say)
    return made | {"failures": failures}


def opener(options: Options) -> Callable[[Place], StoreIndex]:
    """What makes indexes of places."""
    settings = Journal(embedder=options.embedder)  # type: ignore[arg-type]
    return lambda place: engine.opened(place, settings, os.environ)


def judged(options: Options, haystack: int) -> tuple[Json, list[Json]]:
    """The figures of the judged set, and which conditions do not hold.

    Docstrings around it tell how they change in a larger store. Some of them do answer a negative control.
    """
    store = options.work / f"judged-{haystack}" / "memory"
    lines = memories.written(store)
    texts = docstrings.paragraphs(haystack, options.seed)
    for number in range(0, len(texts), A_DAY):
        entries = [
            f"### {9 + at // 6:02}:{at % 6}0\n- {text}\n" for at, text in enumerate(texts[number : number + A_DAY])
        ]
        (store / f"{_day(number)}.md").write_text("\n".join(entries), encoding="utf-8")
    index = opener(options)(Place(str(store), "judged", str(store.with_name("index")), str(store.parent)))
    index.refresh()
    named: dict[str, object] = {chunk.id: lines.get((Path(chunk.path).name, chunk.first)) for chunk in index.chunks()}
    made: Json = {}
    failures: list[Json] = []
    for half in ("choose", "report"):
        of_half = [query for query in memories.judged() if query.half == half]
        made[half] = {}
        for kind in ("keyword", "paraphrase", "question", "cjk"):
            asked = [Asked(one.query, frozenset([one.memory])) for one in of_half if one.kind == kind]
            found = figures(index, asked, named, SYSTEMS)
            made[half][kind] = {"n": len(asked), **{system: mean(rows) for system, rows in found.items()}}
        answered = [one for one in of_half if one.memory is not None]
        injected = [query for query in of_half if query.kind == "negative" and _injects(index, query.query)]
        controls = sum(query.kind == "negative" for query in of_half)
        relevant = sum(_injects(index, query.query) for query in answered)
        fallen = [query.query for query in of_half if not _held(index, query.query)]
        made[half]["injected"] = {
            "negative": len(injected) / controls,
            "answerable": round(relevant / len(answered), 3),
        }
        made[half]["best_by_words_below_rank_3"] = len(fallen)
        keyword = made[half]["keyword"]
        if half == "report":
            if len(injected) > MOST_INJECTED * controls:
                failures.append(_failure("negative controls reach the floor", injected[0].query))
            if fallen:
                failures.append(_failure("the best hit by words fell below rank 3", fallen[0]))
            if keyword["default"]["hit@1"] < keyword["bm25"]["hit@1"]:
                failures.append(_failure("keyword queries are answered worse than by words alone", "hit@1"))
    index.close()
    return made, failures


def _failure(condition: str, example: str) -> Json:
    return {"condition": condition, "example": example}


def _injects(index: StoreIndex, query: str) -> bool:
    return any(hit.relevance >= AUTO_CONTEXT_SCORE_FLOOR for hit in index.search(query, 3))


def _held(index: StoreIndex, query: str) -> bool:
    lists = index.finding.lists(query)
    best = next(iter(lists.own), None)
    return best is None or best in index.finding.order(query, lists)[:HELD]


def _speed(options: Options, size: int, say: Say) -> Json:
    project = options.work / f"store-{size}"
    store = project / ".memsearch" / "memory"
    if not store.exists():
        say(f"{size} chunks: writing")
        (project / ".git").mkdir(parents=True, exist_ok=True)
        written(store, size, options.seed)
    queries = [*_queries(options)]
    shape = {"store": str(store), "directory": str(project / "index"), "embedder": options.embedder}
    say(f"{size} chunks: indexing")
    built = timing.probe("journal_build", sampled=True, **shape)
    say(f"{size} chunks: searching")
    searched = timing.probe("journal_search", sampled=True, **shape, queries=queries, passes=3)
    made: Json = {
        "files": len(list(store.iterdir())),
        "build": {**built.value, "rss_mb": built.rss_bytes >> 20, "anonymous_mb": built.anonymous_bytes >> 20},
        "search": {**searched.value, "rss_mb": searched.rss_bytes >> 20},
        "cold": _cold(options, project, queries, say),
    }
    if options.memsearch and size <= options.memsearch_most:
        made["memsearch"] = _memsearch(options, project, store, queries, say)
        theirs, ours = made["memsearch"].get("cold", {}), made["cold"]
        if theirs.get("p50_ms"):
            made["times_faster"] = round(theirs["p50_ms"] / ours["p50_ms"], 1)
    return made


def written(store: Path, chunks: int, seed: int) -> None:
    """Write daily files of so many entries, each of two or three bullets."""
    store.mkdir(parents=True, exist_ok=True)
    draw = random.Random(f"journal {seed}")
    words = vocabulary(seed)
    for number in range(0, chunks, A_DAY):
        author = Author(draw, words)
        lines = ["## Session 09:00", ""]
        for entry in range(min(A_DAY, chunks - number)):
            clock = f"{9 + entry // 6:02}:{entry % 6 * 10:02}"
            lines += [f"### {clock}", f"<!-- session:{number:08x} turn:{entry:08x} transcript:/home/sam/s.jsonl -->"]
            bullets = [" ".join(author.prose(draw.randrange(60, 200)).split()) for _ in range(draw.randrange(2, 4))]
            lines += [*(f"- {bullet}" for bullet in bullets), "", ""]
        (store / f"{_day(number)}.md").write_text("\n".join(lines), encoding="utf-8")


def _day(number: int) -> str:
    """The day that an entry of a generated store is of."""
    return time.strftime("%Y-%m-%d", time.gmtime(number // A_DAY * _DAY_S))


def _queries(options: Options) -> Iterator[tuple[str, str]]:
    draw = random.Random(f"queries {options.seed}")
    words = vocabulary(options.seed)
    author = Author(draw, words)
    for _ in range(options.queries):
        prose = author.prose(400).split()
        yield "word", draw.choice([word for word in prose if len(word) > 5] or prose)
        yield "words", " ".join(draw.sample(prose, 3))
        yield "sentence", " ".join(prose[:12])


def _cold(options: Options, project: Path, queries: list[tuple[str, str]], say: Say) -> Json:
    say("cold processes")
    index_dir = project / "cold"
    command = [*timing.python("-m", "pepys"), "journal", "search", "--cwd", str(project), "--index-dir", str(index_dir)]
    while "pending" in timing.run([*command, "--json", "first"]).value:
        say("indexing")  # a call indexes for half a minute at most
    seconds = []
    for _, query in queries[: options.cold]:
        done = timing.run([*command, "--json", query])
        if done.status:
            return {"failed": done.status}
        seconds.append(done.wall_s)
    bare = [timing.run(timing.python("-c", "pass")).wall_s for _ in range(5)]
    return {**timing.spread(seconds), "bare_python_p50_ms": timing.spread(bare)["p50_ms"]}


def _memsearch(options: Options, project: Path, store: Path, queries: list[tuple[str, str]], say: Say) -> Json:
    """The command line of memsearch over the same files, with an embedder that costs it nearly nothing."""
    from bench.endpoint import Endpoint

    assert options.memsearch is not None
    home = project / "memsearch-home"
    shutil.rmtree(home, ignore_errors=True)
    (home / ".memsearch").mkdir(parents=True)
    with Endpoint() as url:
        (home / ".memsearch" / "config.toml").write_text(
            f'[embedding]\nprovider = "openai"\nmodel = "static"\nbase_url = "{url}"\napi_key = "none"\n'
            f'[milvus]\nuri = "{home / "milvus.db"}"\ncollection = "bench"\n',
            encoding="utf-8",
        )
        command = ["env", f"HOME={home}", options.memsearch]
        say("memsearch: indexing")
        built = timing.run([*command, "index", str(store), "-c", "bench"])
        if built.status:
            return {"failed": f"index exited with {built.status}"}
        say("memsearch: cold processes")
        seconds = []
        for _, query in queries[: options.cold]:
            done = timing.run([*command, "search", "-j", "-k", "5", "-c", "bench", "--", query])
            if done.status:
                return {"failed": f"search exited with {done.status}"}
            seconds.append(done.wall_s)
    return {"build": {"seconds": round(built.wall_s, 2)}, "cold": timing.spread(seconds)}


def found(name: str | None) -> str | None:
    """The executable *name*, or memsearch on the path; None: it is not installed."""
    return shutil.which(name or "memsearch")
