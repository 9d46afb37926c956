"""Engine `milvus` beside memsearch itself, as it is published: each indexes, the other finds.

memsearch is too heavy to be a dependency of the tests. They run where its commands are named, several with the path
separator between them, one a version:

    python -m venv /tmp/ms && /tmp/ms/bin/pip install memsearch && pip install -e '.[dev,milvus]'
    PEPYS_TEST_MEMSEARCH=/tmp/ms/bin/memsearch pytest tests/journal/test_memsearch.py

No model is downloaded: both are given an endpoint on this machine.
"""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Iterator
from typing import Any

import pytest

from tests.journal.endpoint_of_vectors import Endpoint
from tests.journal.project import Project, entry
from tests.journal.shared import Shared, texts
from tests.journal.test_milvus_onnx import cached

COMMANDS = [name for name in os.environ.get("PEPYS_TEST_MEMSEARCH", "").split(os.pathsep) if name]

pytestmark = [
    pytest.mark.filterwarnings("default"),
    pytest.mark.skipif(not COMMANDS, reason="memsearch is not installed: PEPYS_TEST_MEMSEARCH names no command of it"),
]


class Memsearch:
    """The command of one version, run in a project."""

    def __init__(self, command: str, shared: Shared) -> None:
        self._command, self._shared = command, shared

    def __call__(self, *arguments: str, fails: bool = False, any_: bool = False) -> str:
        # fmt: off
        done = subprocess.run(
            [self._command, *arguments], cwd=self._shared.project.root, capture_output=True, text=True, timeout=120,
            env={**self._shared.project.env, "TOKENIZERS_PARALLELISM": "false"},
        )
        # fmt: on
        assert any_ or (done.returncode != 0) == fails, done.stderr
        return done.stderr if done.returncode else done.stdout

    def index(self) -> None:
        self("index", str(self._shared.project.store), "-c", self._shared.place().collection)

    def search(self, query: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = json.loads(
            self("search", "-j", "-c", self._shared.place().collection, "--", query)
        )
        return found


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    made = Endpoint()
    yield made
    made.close()


@pytest.fixture
def shared(project: Project, endpoint: Endpoint) -> Shared:
    pytest.importorskip("pymilvus", reason="pymilvus is not installed: pip install 'pepys[milvus]'")
    made = Shared(project, endpoint)
    project.write_day(
        f"\n## Session 22:41\n\n{entry('22:41', 'moved the hot cache to Redis')}{entry('22:55', 'dropped varnish')}"
    )
    return made


@pytest.fixture(params=COMMANDS)
def memsearch(request: pytest.FixtureRequest, shared: Shared) -> Memsearch:
    return Memsearch(request.param, shared)


def test_memsearch_indexes_and_pepys_finds(memsearch: Memsearch, shared: Shared) -> None:
    memsearch.index()
    shared.endpoint.asked.clear()
    state = shared.state_file.read_bytes()
    own = shared.index()

    refreshed = own.refresh()
    (best, *_) = own.search("hot cache", 5)

    assert (refreshed.chunks, refreshed.embedded, refreshed.removed) == (2, 0, 0)
    assert shared.endpoint.texts == ["hot cache"]
    assert shared.state_file.read_bytes() == state  # there was nothing to do
    (theirs, *_) = memsearch.search("hot cache")
    chunk = best.chunk
    assert (
        theirs.items()
        >= {
            "chunk_hash": chunk.id,
            "content": chunk.text,
            "source": chunk.path,
            "heading": chunk.heading,
            "heading_level": chunk.level,
            "start_line": chunk.first,
            "end_line": chunk.last,
        }.items()
    )


def test_pepys_indexes_and_memsearch_finds(memsearch: Memsearch, shared: Shared) -> None:
    shared.index().refresh()
    shared.endpoint.asked.clear()

    (theirs, *_) = memsearch.search("hot cache")
    memsearch.index()

    assert theirs["content"] == entry("22:41", "moved the hot cache to Redis").rstrip()
    assert shared.endpoint.texts == ["hot cache"]  # memsearch found nothing to embed again
    assert memsearch("stats", "-c", shared.place().collection).strip() == "Total indexed chunks: 2"
    (expanded, *_) = shared.index().search("hot cache", 1)
    assert "moved the hot cache" in memsearch("expand", "-c", shared.place().collection, "--", expanded.chunk.id)


def test_each_follows_what_the_other_wrote(memsearch: Memsearch, shared: Shared) -> None:
    own = shared.index()
    memsearch.index()
    shared.project.day().write_text(shared.project.day().read_text() + entry("23:10", "bought a harpsichord"))
    own.refresh()
    assert memsearch.search("harpsichord")[0]["heading"] == "23:10"

    shared.project.write_day(entry("08:00", "sold the harpsichord"), "2026-08-14")
    memsearch.index()
    time.sleep(0.05)
    assert [hit.chunk.text.rpartition("\n")[2] for hit in own.search("sold harpsichord", 1)] == [
        "- sold the harpsichord"
    ]

    shared.project.day("2026-08-14").unlink()
    own.refresh()
    assert own.search("sold", 5) == []  # the file is gone, though nobody has removed its rows
    shared.index().refresh()
    assert "2026-08-14" not in json.dumps(memsearch.search("harpsichord"))
    assert texts(own)[-1] == "- bought a harpsichord"


def test_both_embed_the_same_text_and_record_the_same_state(memsearch: Memsearch, shared: Shared) -> None:
    memsearch.index()
    theirs, state = shared.endpoint.texts, json.loads(shared.state_file.read_text())
    memsearch("reset", "-c", shared.place().collection, "--yes")
    shared.endpoint.asked.clear()

    shared.index().refresh()

    ours = json.loads(shared.state_file.read_text())
    assert shared.endpoint.texts == theirs
    assert ours.keys() == state.keys()
    assert {key: value for key, value in ours.items() if not key.endswith("_at")} == {
        key: value for key, value in state.items() if not key.endswith("_at")
    }


def test_long_sections_strange_headings_and_code_are_one_to_both(memsearch: Memsearch, shared: Shared) -> None:
    shared.project.write_day(
        f"preamble text\n\n# {'h' * 900}\nbody\n\n## Memory Compact 10:00\n\n- summary\n\n"
        f"### 11:00\n```sh\n# install\nls\n```\n\n### 12:00\n{'- a long bullet. ' * 200}\n\n"
        "### 12:30\n- 我们把缓存移到了 Redis。\n\r\n",
        "2026-08-15",
    )
    memsearch.index()

    refreshed = shared.index().refresh()

    assert (refreshed.embedded, refreshed.removed) == (0, 0)


def test_what_pepys_forgot_memsearch_does_not_find(memsearch: Memsearch, shared: Shared) -> None:
    memsearch.index()
    shared.project.write_day(entry("22:41", "moved the hot cache to Redis"))

    assert shared.index().purge()

    assert b"varnish" not in b"".join(path.read_bytes() for path in shared.database.rglob("*") if path.is_file())
    memsearch.index()
    assert [hit["heading"] for hit in memsearch.search("varnish")] == ["22:41"]


def test_a_collection_that_memsearch_does_not_have_is_missing_to_both(memsearch: Memsearch, shared: Shared) -> None:
    assert shared.index().status().chunks is None
    assert shared.place().collection in memsearch("stats", "-c", shared.place().collection, fails=True)


def test_memsearch_waits_for_nobody_and_pepys_gives_up_nothing_between_calls(
    memsearch: Memsearch, shared: Shared
) -> None:
    own = shared.index()
    own.refresh()
    own.search("cache", 5)

    assert memsearch.search("cache")  # it would fail at once if this process had the database open


def test_both_make_the_same_vectors_with_a_model_on_this_machine(memsearch: Memsearch, shared: Shared) -> None:
    pytest.importorskip("onnxruntime")
    pytest.importorskip("tokenizers")
    cached(shared.project.home / ".cache" / "huggingface" / "hub")
    shared.configure('provider = "onnx"')
    if "memsearch[onnx]" in memsearch("index", str(shared.project.store), "-c", shared.place().collection, any_=True):
        pytest.skip("memsearch[onnx] is not installed")
    own = shared.index()
    assert own.refresh().embedded == 0
    with own._borrowed() as collection:
        theirs = {row["chunk_hash"]: row["embedding"] for row in collection.rows("", ("chunk_hash", "embedding"))}
        collection.drop()

    assert own.refresh().pending is False
    shared.index().refresh()

    with shared.index()._borrowed() as collection:
        ours = {row["chunk_hash"]: row["embedding"] for row in collection.rows("", ("chunk_hash", "embedding"))}
    assert ours.keys() == theirs.keys()
    for id_, vector in ours.items():
        assert list(vector) == pytest.approx(list(theirs[id_]), abs=1e-5)


def test_compaction_blocks_of_memsearch_are_read(memsearch: Memsearch, shared: Shared) -> None:
    shared.project.write_day("# 2026-08-16\n\n## Memory Compact 09:30\n\n- the harpsichord was tuned\n", "2026-08-16")
    memsearch.index()
    settings = shared.project.config(engine="milvus")
    (hit, *_) = shared.project.call("journal.search", {"query": "harpsichord"}, **settings)["hits"]

    answer = shared.project.call("journal.forget", {"chunk_hash": hit["chunk_hash"]}, **settings)

    assert answer["kind"] == "compact"
    assert "harpsichord" not in json.dumps(memsearch.search("harpsichord"))
