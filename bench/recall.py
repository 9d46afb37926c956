"""The benchmark of recall: everything is measured in one run, so that its ratios hold on any machine."""

from __future__ import annotations

import json
import os
import platform
import random
import shutil
import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from bench.corpus import Corpus, Shape, corpus
from bench.queries import queries
from bench.ripgrep import scanned
from bench.targets import judged
from bench.timing import Outcome, probe, python, run, spread

SMALL_MB = 10

_CLI = "import sys; from pepys.cli import main; sys.exit(main())"


@dataclass(frozen=True, slots=True)
class Options:
    """What is measured."""

    shape: Shape
    work: Path  # indexes, databases and corpora that are not kept elsewhere
    corpus: Path | None = None  # where the corpus is kept; None: in the work directory
    skip: frozenset[str] = frozenset()  # baselines: fts5, rg
    per_kind: int = 30  # queries
    cold_pairs: int = 15
    appends: int = 10
    recheck_files: int = 5_000


def measured(options: Options, say: Callable[[str], None]) -> dict[str, Any]:
    """All figures, and the targets that they meet or miss."""
    shape = options.shape
    large = corpus(options.corpus or options.work / _name(shape), shape, say)
    figures: dict[str, Any] = {"environment": _environment(), **_figures(large, options, "large", say)}
    if "fts5" not in options.skip:
        figures["fts5"] = _fts5(large, options.work, say)
    if "rg" not in options.skip:
        say("scanning with rg")
        figures["rg"] = scanned(str(large.directory / "sessions"), queries(large, 5))
    if shape.megabytes > SMALL_MB:
        small_shape = Shape(shape.seed, SMALL_MB, shape.files)
        small = corpus(options.work / _name(small_shape), small_shape, say)
        figures["small"] = _figures(small, options, "small", say)
    figures["recheck"] = _recheck(options, say)
    figures["targets"] = judged(figures)
    return figures


def _name(shape: Shape) -> str:
    return f"corpus-{shape.megabytes}mb-{shape.files}-{shape.seed}"


def _environment() -> dict[str, Any]:
    return {
        "python": platform.python_version(),
        "system": platform.system(),
        "machine": platform.machine(),
        "cpus": os.cpu_count(),
        "sqlite": sqlite3.sqlite_version,
        **{name: version(name) for name in ("tantivy", "msgspec")},
    }


def _figures(corpus: Corpus, options: Options, name: str, say: Callable[[str], None]) -> dict[str, Any]:
    """The product's figures for one corpus."""
    agent, index = str(corpus.directory), options.work / f"index-{name}"
    shutil.rmtree(index, ignore_errors=True)
    asked = options.work / f"queries-{name}.json"
    say(f"{name}: choosing queries")
    asked.write_text(json.dumps([asdict(query) for query in queries(corpus, options.per_kind)]))
    say(f"{name}: decoding")
    decode = probe("decode", agent_dir=agent).value
    say(f"{name}: indexing")
    build = probe("build", sampled=True, agent_dir=agent, index_dir=str(index))
    say(f"{name}: recalling")
    recall = probe("recall", sampled=True, agent_dir=agent, index_dir=str(index), queries=str(asked))
    engine = probe("engine", index_dir=str(index), queries=str(asked)).value
    size = _size(index)
    say(f"{name}: cold processes")
    cold = _cold(corpus, index, options.cold_pairs)
    say(f"{name}: appending")
    return {
        "corpus": {**asdict(corpus.shape), "bytes": corpus.size, "sources": len(corpus.paths())},
        "decode": decode,
        "build": {**_built(build, corpus.size), **_memory(build)},
        "index": {"bytes": size, "of_source": size / corpus.size},
        "recall": {**recall.value, **_memory(recall)},
        "engine": engine,
        "listing": probe("listing", agent_dir=agent).value,
        "cold": cold,
        "append": _append(corpus, index, options.appends),
    }


def _built(outcome: Outcome, size: int) -> dict[str, Any]:
    return {**outcome.value, "mb_per_s": size / 1e6 / outcome.value["seconds"]}


def _memory(outcome: Outcome) -> dict[str, int]:
    return {"rss_bytes": outcome.rss_bytes, "anonymous_bytes": outcome.anonymous_bytes}


def _size(directory: Path) -> int:
    return sum(path.stat().st_size for path in directory.rglob("*") if path.is_file())


def _fts5(corpus: Corpus, work: Path, say: Callable[[str], None]) -> dict[str, Any]:
    database = work / "fts5.sqlite"
    database.unlink(missing_ok=True)
    say("FTS5: indexing")
    build = probe("fts5_build", sampled=True, agent_dir=str(corpus.directory), database=str(database))
    say("FTS5: searching")
    found = probe("fts5_query", sampled=True, database=str(database), queries=str(work / "queries-large.json"))
    size = database.stat().st_size
    return {
        "build": {**_built(build, corpus.size), **_memory(build)},
        "index": {"bytes": size, "of_source": size / corpus.size},
        **found.value,
        **_memory(found),
    }


def _recalling(corpus: Corpus, index: Path, word: str) -> list[str]:
    """The command that recalls *word* in a fresh process, started as the installed script starts it."""
    where = ["--host", "pi", "--agent-dir", str(corpus.directory), "--index-dir", str(index)]
    return python("-c", _CLI, "recall", word, "--scope", "global", *where, "--json")


def _cold(corpus: Corpus, index: Path, pairs: int) -> dict[str, Any]:
    """Fresh processes in pairs: the interpreter alone, then a recall of a common word. The first pair only warms up."""
    seconds = [_pair(corpus, index) for _ in range(pairs + 1)][1:]
    return {"pass": spread(bare for bare, _ in seconds), "recall": spread(whole for _, whole in seconds)}


def _pair(corpus: Corpus, index: Path) -> tuple[float, float]:
    bare = run(python("-c", "pass"))
    recalled = run(_recalling(corpus, index, "timeout"))
    if recalled.status:
        raise RuntimeError(f"pepys recall exited with {recalled.status}.")
    return bare.wall_s, recalled.wall_s


def _append(corpus: Corpus, index: Path, times: int) -> dict[str, Any]:
    """Append an entry to some session and recall it in a fresh process; the sessions are put back afterwards."""
    draw = random.Random(f"append {corpus.shape.seed}")
    paths = draw.sample(corpus.paths(), min(times, corpus.shape.files))
    words = [f"appended_{number}_{draw.getrandbits(40):010x}" for number in range(len(paths))]
    seconds, found = [], 0
    # All are put back at the end: each time at once, the next recall would have to index that session anew.
    with ExitStack() as all_of_them:
        for path, word in zip(paths, words, strict=True):
            all_of_them.enter_context(appended(Path(path), word))
            outcome = run(_recalling(corpus, index, word))
            seconds.append(outcome.wall_s)
            found += outcome.value["total"]
    left = probe("totals", words=words, agent_dir=str(corpus.directory), index_dir=str(index)).value
    return {**spread(seconds), "found": found, "left_behind": left}


@contextmanager
def appended(path: Path, word: str) -> Iterator[None]:
    """The session *path* with one more prompt at its leaf, for as long as the block lasts."""
    before = path.stat()
    with path.open("rb") as lines:
        for line in lines:
            last = line
    now = datetime.now(UTC)
    message = {"role": "user", "content": [{"type": "text", "text": f"please look at {word}"}]}
    entry = {
        "type": "message",
        "id": word[-8:],
        "parentId": json.loads(last)["id"],
        "timestamp": f"{now:%Y-%m-%dT%H:%M:%S}.000Z",
        "message": {**message, "timestamp": int(now.timestamp() * 1000)},
    }
    with path.open("ab") as file:
        file.write(json.dumps(entry).encode() + b"\n")
    try:
        yield
    finally:
        os.truncate(path, before.st_size)
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def _recheck(options: Options, say: Callable[[str], None]) -> dict[str, Any]:
    """An unchanged history of many files, checked again."""
    shape = Shape(options.shape.seed, max(1, options.recheck_files // 200), options.recheck_files)
    many = corpus(options.work / _name(shape), shape, say)
    index = options.work / "index-recheck"
    shutil.rmtree(index, ignore_errors=True)
    say("recheck: indexing")
    where: dict[str, Any] = {"agent_dir": str(many.directory), "index_dir": str(index)}
    probe("build", **where)
    say("recheck: checking again")
    figures: dict[str, Any] = probe("recheck", **where, passes=5).value
    if shutil.which("strace"):
        figures |= _traced(where, options.recheck_files)
    return figures


def _traced(where: dict[str, Any], files: int) -> dict[str, Any]:
    """The system calls on session files during one check, by strace."""
    calls = "trace=open,openat,stat,lstat,newfstatat,statx"
    with tempfile.NamedTemporaryFile() as log:
        probing = python("-m", "bench.probe", "recheck", json.dumps({**where, "passes": 1}))
        outcome = run(["strace", "-f", "-qq", "-e", calls, "-o", log.name, *probing])
        lines = [line for line in Path(log.name).read_text(errors="replace").splitlines() if '.jsonl"' in line]
    if outcome.status:
        return {}
    opens = sum(" open" in line for line in lines)
    return {"opens": opens, "stats_per_file": (len(lines) - opens) / files}
