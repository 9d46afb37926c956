"""The command line of the benchmarks."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from bench.corpus import NotOurs, Shape, corpus


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what the command line asks for; the exit status."""
    given = _parser().parse_args(arguments)
    try:
        shape = Shape(given.seed, getattr(given, "mb", 0), getattr(given, "files", 0))
        if given.command == "corpus":
            made = corpus(given.directory, shape, _say)
            result = {"directory": str(made.directory), "bytes": made.size, "sources": len(made.paths())}
        elif given.command == "heads":
            from bench import heads

            result = heads.measured(given.sessions, given.seed, _say)
        elif given.command == "events":
            result = _events(given, shape)
        elif given.command == "journal":
            result = _journal(given)
        else:
            result = _recall(given, shape)
    except NotOurs as error:
        print(error, file=sys.stderr)
        return 1
    text = json.dumps(result, indent=2)
    given.out.write_text(text + "\n") if given.out else print(text)
    return 1 if result.get("failures") else 0


def _recall(given: argparse.Namespace, shape: Shape) -> dict[str, object]:
    from bench.recall import Options, measured

    skip = frozenset(filter(None, given.skip.split(",")))
    more = {"recheck_files": given.recheck_files, "per_kind": given.queries, "appends": given.appends}
    if given.work is not None:
        given.work.mkdir(parents=True, exist_ok=True)
        return measured(Options(shape, given.work, given.corpus, skip, cold_pairs=given.cold, **more), _say)
    with tempfile.TemporaryDirectory() as work:
        return measured(Options(shape, Path(work), given.corpus, skip, cold_pairs=given.cold, **more), _say)


def _events(given: argparse.Namespace, shape: Shape) -> dict[str, object]:
    from bench.events import Options, measured

    if given.work is not None:
        given.work.mkdir(parents=True, exist_ok=True)
        return measured(Options(shape, given.work, given.queries, given.appends), _say)
    with tempfile.TemporaryDirectory() as work:
        return measured(Options(shape, Path(work), given.queries, given.appends), _say)


def _journal(given: argparse.Namespace) -> dict[str, object]:
    from bench.journal import Options, found, measured

    sizes = tuple(int(size) for size in given.chunks.split(",") if size)
    more = {"embedder": given.embedder, "memsearch": found(given.memsearch), "memsearch_most": given.memsearch_most}
    with tempfile.TemporaryDirectory() as temporary:
        work = given.work or Path(temporary)
        work.mkdir(parents=True, exist_ok=True)
        return measured(
            Options(
                work, sizes, given.seed, given.queries, given.cold, locomo=given.locomo, haystack=given.haystack, **more
            ),
            _say,
        )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("python -m bench", description="Measure Pepys; JSON to stdout.")
    commands = parser.add_subparsers(dest="command", required=True)
    shape = argparse.ArgumentParser(add_help=False)
    shape.add_argument("--mb", type=int, default=100, help="size of the corpus, 10^6 bytes (default %(default)s)")
    shape.add_argument("--files", type=int, default=400, help="number of sessions (default %(default)s)")
    shape.add_argument("--seed", type=int, default=1, help="of everything that is drawn (default %(default)s)")
    shape.add_argument("--out", type=Path, help="write the JSON here")
    recall = commands.add_parser("recall", parents=[shape], help="measure recall, FTS5 and rg in one run")
    recall.add_argument("--corpus", type=Path, help="keep the corpus here, and reuse it when it matches")
    recall.add_argument("--work", type=Path, help="keep indexes and other corpora here (default: a temporary one)")
    recall.add_argument("--skip", default="", help="baselines to leave out: fts5,rg")
    recall.add_argument("--queries", type=int, default=30, help="queries of each kind (default %(default)s)")
    recall.add_argument("--cold", type=int, default=15, help="pairs of cold processes (default %(default)s)")
    recall.add_argument("--appends", type=int, default=10, help="entries to append and find (default %(default)s)")
    recall.add_argument("--recheck-files", type=int, default=5_000, help="files to check again (default %(default)s)")
    events = commands.add_parser("events", parents=[shape], help="measure event search, read and trace beside FTS5")
    events.set_defaults(mb=20, files=80)
    events.add_argument("--work", type=Path, help="keep indexes and corpora here (default: a temporary one)")
    events.add_argument("--queries", type=int, default=20, help="queries of each kind (default %(default)s)")
    events.add_argument("--appends", type=int, default=20, help="entries to append and find (default %(default)s)")
    heads = commands.add_parser("heads", help="measure capability heads; fails where evidence is not what was written")
    heads.add_argument("--sessions", type=int, default=200, help="half of them cold (default %(default)s)")
    heads.add_argument("--seed", type=int, default=1, help="of everything that is drawn (default %(default)s)")
    heads.add_argument("--out", type=Path, help="write the JSON here")
    journal = commands.add_parser("journal", help="measure the journal's search beside memsearch; fails on relevance")
    journal.add_argument("--chunks", default="1000", help="sizes of stores, 10000,100000 for all (default %(default)s)")
    journal.add_argument("--embedder", default="static", help="static, minilm, e5 (default %(default)s)")
    journal.add_argument("--memsearch", metavar="PATH", help="its executable (default: the one on the path)")
    journal.add_argument("--memsearch-most", type=int, default=10_000, help="chunks it is given (default %(default)s)")
    journal.add_argument(
        "--haystack", type=int, default=500, help="docstrings around the judged set (default %(default)s)"
    )
    journal.add_argument("--locomo", type=Path, help="directory of LoCoMo's files")
    journal.add_argument("--work", type=Path, help="keep stores and indexes here (default: a temporary one)")
    journal.add_argument("--queries", type=int, default=20, help="queries of each kind (default %(default)s)")
    journal.add_argument("--cold", type=int, default=10, help="cold processes (default %(default)s)")
    journal.add_argument("--seed", type=int, default=1, help="of everything that is drawn (default %(default)s)")
    journal.add_argument("--out", type=Path, help="write the JSON here")
    only = commands.add_parser("corpus", parents=[shape], help="generate a corpus")
    only.add_argument("directory", type=Path, help="becomes a Pi agent directory")
    return parser


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
