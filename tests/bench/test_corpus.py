"""The generated corpus, and a whole run of the benchmark over a tiny one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bench.__main__ import main
from bench.corpus import NotOurs, Shape, corpus
from bench.targets import TARGETS
from pepys.hosts import HOSTS
from pepys.hosts.reading import examine
from pepys.model.entry import Entry
from pepys.model.source import Diagnostic

TINY = Shape(seed=7, megabytes=1, files=12)


def contents(directory: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (directory / "sessions").glob("*/*.jsonl")}


@pytest.mark.requirement("bench.deterministic")
def test_the_same_seed_gives_the_same_bytes(tmp_path: Path) -> None:
    corpus(tmp_path / "one", TINY)

    corpus(tmp_path / "two", TINY)

    assert contents(tmp_path / "one") == contents(tmp_path / "two")


def test_another_seed_gives_other_bytes(tmp_path: Path) -> None:
    corpus(tmp_path / "one", TINY)

    corpus(tmp_path / "two", Shape(seed=8, megabytes=1, files=12))

    assert not set(contents(tmp_path / "one").values()) & set(contents(tmp_path / "two").values())


@pytest.mark.parametrize(("megabytes", "files"), [(1, 3), (1, 60), (2, 60)])
def test_bytes_and_files_are_independent(tmp_path: Path, megabytes: int, files: int) -> None:
    made = corpus(tmp_path, Shape(7, megabytes, files))

    assert len(made.paths()) == files
    assert made.size == pytest.approx(megabytes * 1e6, rel=0.1)


def test_every_generated_line_is_read_without_a_diagnostic(tmp_path: Path) -> None:
    made = corpus(tmp_path, TINY)

    read = {path: list(examine(HOSTS["pi"], path, None).items()) for path in made.paths()}

    assert all(any(isinstance(item, Entry) for item in items) for items in read.values())
    assert [item for items in read.values() for item in items if isinstance(item, Diagnostic)] == []
    assert [item for items in read.values() for item in items if isinstance(item, Entry) and item.notice] == []


def test_some_sessions_branch_and_all_parents_exist(tmp_path: Path) -> None:
    made = corpus(tmp_path, Shape(seed=7, megabytes=4, files=40))

    trees = [[json.loads(line) for line in Path(path).read_bytes().splitlines()[1:]] for path in made.paths()]

    branching = 0
    for entries in trees:
        parents = [entry["parentId"] for entry in entries]
        assert set(parents) <= {None, *(entry["id"] for entry in entries)}
        branching += len(set(parents)) < len(parents)
    assert 0 < branching < len(trees) / 2


def test_a_matching_corpus_is_kept_and_another_is_made_anew(tmp_path: Path) -> None:
    made = corpus(tmp_path, TINY)
    path = Path(made.paths()[0])
    before = path.stat().st_mtime_ns

    kept = corpus(tmp_path, TINY)
    with path.open("ab") as file:
        file.write(b"{}\n")
    repaired = corpus(tmp_path, TINY)

    assert kept == made == repaired
    assert not path.read_bytes().endswith(b"{}\n")
    assert path.stat().st_mtime_ns == before


def test_a_directory_of_somebody_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "sessions").mkdir()

    with pytest.raises(NotOurs):
        corpus(tmp_path, TINY)

    assert list(tmp_path.iterdir()) == [tmp_path / "sessions"]


@pytest.mark.requirement("bench.report")
def test_a_tiny_run_reports_every_figure_and_judges_every_target(tmp_path: Path) -> None:
    out = tmp_path / "figures.json"
    tiny = "recall --mb 11 --files 30 --queries 2 --cold 1 --appends 2 --recheck-files 40"

    status = main([*tiny.split(), "--work", str(tmp_path / "work"), "--out", str(out)])

    figures = json.loads(out.read_text())
    measured = {"corpus", "decode", "build", "index", "recall", "engine", "listing", "cold", "append"}
    assert status == 0
    assert figures.keys() == measured | {"environment", "fts5", "rg", "small", "recheck", "targets"}
    assert figures["small"].keys() == measured
    assert figures["recall"]["kinds"].keys() == figures["fts5"]["kinds"].keys() == figures["engine"]["kinds"].keys()
    assert figures["append"]["found"] == figures["small"]["append"]["found"] == 2
    assert figures["append"]["left_behind"] == figures["small"]["append"]["left_behind"] == {"hits": 0, "failed": 0}
    assert figures["recheck"]["unchanged"] == figures["recheck"]["sources"] == 40
    assert [row["name"] for row in figures["targets"]] == [target.name for target in TARGETS]
