"""Engine `milvus`: a collection that is shared, one process at a time.

Every test runs on an imitation of Milvus Lite, and on Milvus Lite itself where `pepys[milvus]` is installed.
"""

from __future__ import annotations

import fcntl
import io
import json
import os
import random
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from pepys.config import Journal
from pepys.errors import MemoryLocked
from pepys.journal import chunk as cutting
from pepys.journal import engines, sidecar
from pepys.journal.base import BackendMissing, NeverIndexed
from pepys.journal.constants import AUTO_CONTEXT_CAP_MS, BACKOFF_DELAYS_MS
from pepys.journal.embedders.base import EmbedderFailed
from pepys.journal.fusion import calibrated
from pepys.journal.milvus import database, embedding, index, relevance
from tests.journal import milvus_lite_imitated
from tests.journal.endpoint_of_vectors import Endpoint
from tests.journal.project import Project, entry
from tests.journal.shared import MODEL, Shared, texts

pytestmark = pytest.mark.filterwarnings("default")  # the database's own, of packages that are not ours


@pytest.fixture(params=["imitated", "milvus lite"])
def lite(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "imitated":
        milvus_lite_imitated.installed(monkeypatch)
    elif find_spec("pymilvus") is None:
        pytest.skip("pymilvus is not installed: pip install 'pepys[milvus]'")
    return str(request.param)


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    made = Endpoint()
    yield made
    made.close()


@pytest.fixture
def shared(lite: str, project: Project, endpoint: Endpoint) -> Shared:
    return Shared(project, endpoint)


@pytest.fixture
def filled(shared: Shared) -> Shared:
    """Two entries of a day, indexed."""
    shared.project.write_day(
        f"\n## Session 22:41\n\n{entry('22:41', 'moved the hot cache to Redis')}{entry('22:55', 'dropped varnish')}"
    )
    shared.index().refresh()
    shared.endpoint.asked.clear()
    return shared


def held(path: Path) -> bool:
    """Whether somebody has the database open."""
    with (path / "LOCK").open("rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


@pytest.mark.requirement("journal.milvus.shared")
def test_what_one_process_indexed_another_finds(filled: Shared) -> None:
    other = filled.index()

    (best, *_) = other.search("hot cache", 5)

    assert best.chunk.text == entry("22:41", "moved the hot cache to Redis").rstrip()
    assert (best.chunk.heading, best.chunk.level, best.chunk.first, best.chunk.last) == ("22:41", 3, 4, 7)
    assert best.chunk.path == str(filled.project.day())
    assert 0.5 <= best.relevance <= 1
    assert other.chunk(best.chunk.id) == best.chunk


@pytest.mark.requirement("journal.milvus.ids")
def test_chunks_have_the_ids_that_memsearch_gives_them(filled: Shared) -> None:
    path = filled.project.day()
    pieces = cutting.pieces(path.read_text())
    expected = [id_ for piece in pieces for id_ in cutting.shared_ids(str(path), piece, [MODEL])]

    assert [chunk.id for chunk in filled.index().chunks()] == expected


def test_the_model_is_given_chunks_without_their_anchors(shared: Shared) -> None:
    shared.project.write_day(entry("22:41", "moved the hot cache to Redis"))

    shared.index().refresh()

    assert shared.endpoint.texts == ["### 22:41\n\n- moved the hot cache to Redis"]
    assert set(shared.endpoint.keys) == {"Bearer k"}


def test_an_unchanged_store_costs_nothing(filled: Shared) -> None:
    own = filled.index()
    time.sleep(0.05)  # a younger stamp proves nothing
    own.refresh()
    filled.database.rename(filled.database.with_name("away"))

    refreshed = own.refresh()

    assert (refreshed.files, refreshed.chunks, refreshed.embedded) == (1, 2, 0)
    assert filled.endpoint.asked == []


@pytest.mark.requirement("journal.milvus.moved")
def test_chunks_that_only_moved_are_not_embedded_again(filled: Shared) -> None:
    text = filled.project.day().read_text()
    filled.project.write_day(f"{entry('09:00', 'arrived')}{text}")

    refreshed = filled.index().refresh()

    assert refreshed.embedded == 1
    assert filled.endpoint.texts == ["### 09:00\n\n- arrived"]
    assert [chunk.first for chunk in filled.index().chunks()] == [1, 8, 12]
    (best, *_) = filled.index().search("varnish", 1)
    assert best.chunk.first == 12


def test_chunks_of_files_that_are_gone_leave(filled: Shared) -> None:
    filled.project.write_day(entry("10:00", "another day"), "2026-08-12")
    own = filled.index()
    own.refresh()
    filled.project.day().unlink()

    refreshed = own.refresh()

    assert (refreshed.removed, texts(own)) == (2, ["- another day"])


def test_what_has_left_its_file_is_not_found_whoever_took_it_out(filled: Shared) -> None:
    filled.project.write_day(entry("22:41", "moved the hot cache to Redis"))

    assert [hit.chunk.heading for hit in filled.index().search("varnish", 5)] == []


def test_rows_that_another_process_added_are_known_of(filled: Shared) -> None:
    own = filled.index()
    own.refresh()
    filled.project.write_day(entry("08:00", "sold the harpsichord"), "2026-08-14")
    filled.index().refresh()
    filled.project.day("2026-08-14").unlink()
    filled.project.write_day(entry("08:00", "bought another"), "2026-08-15")

    own.refresh()

    assert texts(own) == ["- moved the hot cache to Redis", "- dropped varnish", "- bought another"]


@pytest.mark.requirement("journal.milvus.replaced")
def test_old_chunks_stay_until_their_replacements_are_in(filled: Shared) -> None:
    filled.project.write_day(entry("22:41", "moved the hot cache to Valkey"))
    filled.endpoint.failing = True

    failed = filled.index().refresh()

    assert list(failed.failed) == [str(filled.project.day())]
    assert texts(filled.index()) == ["- moved the hot cache to Redis", "- dropped varnish"]

    filled.endpoint.failing = False
    filled.index().refresh()

    assert texts(filled.index()) == ["- moved the hot cache to Valkey"]


def test_a_budget_that_ends_leaves_the_rest_pending(shared: Shared, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index, "BATCH", 1)
    shared.project.write_day(entry("10:00", "one"), "2026-08-12")
    shared.project.write_day(entry("10:00", "two"), "2026-08-13")
    own = shared.index()

    first, second = own.refresh(0), own.refresh()

    assert (first.pending, first.embedded, second.pending, second.embedded) == (True, 1, False, 1)
    assert texts(own) == ["- one", "- two"]


@pytest.mark.requirement("journal.milvus.words_alone")
def test_without_its_model_a_collection_is_searched_by_words(filled: Shared) -> None:
    filled.endpoint.failing = True
    other = filled.index()

    (best,) = other.search("varnish", 5)

    assert best.chunk.text.endswith("- dropped varnish")
    assert "answered 503" in other.status().note


@pytest.mark.requirement("journal.milvus.no_consent")
def test_nothing_is_sent_to_a_provider_that_no_file_names(filled: Shared) -> None:
    filled.configure(f'base_url = "{filled.endpoint.url}/v1"\n')
    filled.project.env["OPENAI_API_KEY"] = "k"
    filled.project.env["OPENAI_BASE_URL"] = f"{filled.endpoint.url}/v1"
    filled.project.write_day(entry("08:00", "private"), "2026-08-14")
    other = filled.index()

    refreshed = other.refresh()
    (best,) = other.search("varnish", 5)

    assert refreshed.pending
    assert best.chunk.text.endswith("- dropped varnish")
    assert filled.endpoint.asked == []
    assert "names no embedding.provider" in other.status().note


def test_a_provider_that_pepys_does_not_speak_is_left_to_memsearch(filled: Shared) -> None:
    filled.configure('provider = "voyage"\n')
    filled.project.write_day(entry("08:00", "later"), "2026-08-14")
    other = filled.index()

    assert other.refresh().pending
    assert texts(other) == ["- moved the hot cache to Redis", "- dropped varnish"]
    assert "does not speak memsearch's provider voyage" in other.status().note


@pytest.mark.requirement("journal.index.configured")
def test_files_that_memsearch_would_leave_out_are_not_put_in(filled: Shared) -> None:
    filled.configure(more='[indexing]\nexclude = ["2026-08-14.md"]\n')
    filled.project.write_day(entry("08:00", "private"), "2026-08-14")
    other = filled.index()

    assert not other.refresh().pending
    assert len(texts(other)) == 2
    filled.configure()
    other.refresh()
    assert len(texts(other)) == 3


def test_vectors_of_two_lengths_are_never_mixed(filled: Shared) -> None:
    filled.endpoint.dimensions = 32
    filled.project.write_day(entry("08:00", "later"), "2026-08-14")
    other = filled.index()

    (why,) = other.refresh().failed.values()
    (best,) = other.search("varnish", 5)

    assert "holds vectors of 64 dimensions" in why
    assert best.chunk.text.endswith("- dropped varnish")
    assert len(texts(other)) == 2


def test_a_heading_that_milvus_could_not_hold_is_cut(shared: Shared) -> None:
    shared.project.write_day(f"# {'我' * 600}\n- a memory below it\n")
    own = shared.index()

    assert own.refresh().embedded == 1
    (chunk,) = own.chunks()
    assert chunk.heading == "我" * 341
    assert own.refresh().embedded == 0


def test_hidden_files_and_other_kinds_are_not_indexed(shared: Shared) -> None:
    shared.project.write_day(entry("10:00", "seen"))
    for name in (".hidden.md", "notes.txt", ".folder/in.md"):
        path = shared.project.store / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("### 10:00\n- unseen\n")
    (shared.project.store / "deep").mkdir()
    (shared.project.store / "deep" / "er.MARKDOWN").write_text("### 10:00\n- deeper\n")
    (shared.project.store / "link.md").symlink_to(shared.project.day())

    refreshed = shared.index().refresh()

    assert refreshed.files == 2
    assert texts(shared.index()) == ["- seen", "- deeper"]


@pytest.mark.requirement("journal.milvus.foreign")
def test_the_collection_of_another_project_is_never_written(filled: Shared) -> None:
    filled.project.write_day(entry("08:00", "later"), "2026-08-14")
    other = filled.index(foreign=True)

    other.refresh()
    other.purge()

    assert len(texts(other)) == 2
    assert json.loads(filled.state_file.read_text())["total_files"] == 1


@pytest.mark.requirement("journal.milvus.foreign", "journal.milvus.missing")
def test_projects_without_a_collection_are_skipped_and_counted(filled: Shared) -> None:
    project = filled.project
    other = project.home / "roots" / "other"
    (other / ".memsearch" / "memory").mkdir(parents=True)
    (other / ".memsearch" / "memory" / "2026-08-13.md").write_text(entry("10:00", "varnish elsewhere"))
    project.env["PI_MEMSEARCH_SCAN_ROOTS"] = str(project.home / "roots")

    answer = project.call("journal.search", {"query": "varnish", "scope": "all"}, **project.config(engine="milvus"))

    assert answer["skipped"] == [str(other)]
    assert "1 project searched, 1 skipped" in answer["text"]
    assert [hit["content"].rpartition("\n")[2] for hit in answer["hits"]] == ["- dropped varnish"]
    assert not (other / ".memsearch" / ".index-state.json").exists()


@pytest.mark.requirement("journal.milvus.missing")
def test_a_collection_that_is_missing_holds_nothing_and_is_not_made_by_looking(shared: Shared) -> None:
    other = shared.index()

    assert other.status().chunks is None
    with pytest.raises(NeverIndexed):
        other.search("varnish", 5)
    with pytest.raises(NeverIndexed):
        list(other.chunks())
    assert other.purge()
    assert not shared.database.exists()
    assert not shared.state_file.exists()


def test_a_collection_that_somebody_dropped_is_made_again(filled: Shared) -> None:
    own = filled.index()
    time.sleep(0.05)
    own.refresh()
    with database.Database(str(filled.database), str(filled.database)).borrowed(filled.place().collection) as there:
        there.drop()

    with pytest.raises(NeverIndexed):
        own.search("varnish", 5)
    own.refresh()

    assert len(own.search("varnish", 1)) == 1


@pytest.mark.requirement("journal.milvus.state")
def test_a_run_is_recorded_as_memsearch_records_it(filled: Shared) -> None:
    text = filled.state_file.read_text()
    known = json.loads(text)

    assert text == json.dumps(known, indent=2, sort_keys=True) + "\n"
    assert {name: value for name, value in known.items() if not name.endswith("_at")} == {
        "schema_version": 1,
        "status": "ok",
        "operation": "index",
        "paths": [str(filled.project.store)],
        "collection": filled.place().collection,
        "milvus_uri": "~/.memsearch/milvus.db",
        "indexed_chunks": 2,
        "total_files": 1,
        "indexed_files": 1,
        "failed_files": [],
    }
    times = {name for name in known if name.endswith("_at")}
    assert times == {"updated_at", "last_started_at", "last_completed_at", "last_success_at"}


@pytest.mark.requirement("journal.milvus.state")
def test_a_run_that_failed_at_a_file_is_degraded_and_keeps_the_last_success(filled: Shared) -> None:
    before = json.loads(filled.state_file.read_text())
    filled.project.write_day(entry("08:00", "later"), "2026-08-14")
    filled.endpoint.failing = True

    filled.index().refresh()

    known = json.loads(filled.state_file.read_text())
    assert (known["status"], known["total_files"], known["indexed_files"]) == ("degraded", 2, 1)
    assert known["last_error"] == "1 file(s) failed during indexing."
    assert known["last_success_at"] == before["last_success_at"]
    (failure,) = known["failed_files"]
    assert failure["path"] == str(filled.project.day("2026-08-14"))
    assert failure["error"].startswith("EmbedderFailed: ")


@pytest.mark.requirement("journal.milvus.state")
def test_searching_writes_no_state(filled: Shared) -> None:
    before = filled.state_file.read_bytes()
    other = filled.index()

    other.refresh()
    other.search("varnish", 5)
    other.status()

    assert filled.state_file.read_bytes() == before


@pytest.mark.requirement("journal.milvus.state")
def test_state_goes_where_a_store_command_or_the_variable_says(shared: Shared, tmp_path: Path) -> None:
    shared.project.write_day(entry("10:00", "one"))

    shared.index(state_dir=str(tmp_path / "delegated")).refresh()
    assert (tmp_path / "delegated" / ".index-state.json").exists()
    assert not shared.state_file.exists()

    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "2026-08-13.md").write_text(entry("10:00", "two"))
    shared.index(store=str(outside)).refresh()
    assert list(tmp_path.rglob(".index-state.json")) == [tmp_path / "delegated" / ".index-state.json"]

    shared.project.env["MEMSEARCH_DIR"] = "over"
    shared.index(store=str(shared.project.root / "over" / "memory"), repository=str(shared.project.root))
    (shared.project.root / "over" / "memory").mkdir(parents=True)
    (shared.project.root / "over" / "memory" / "2026-08-13.md").write_text(entry("10:00", "three"))
    shared.index().refresh()
    assert (shared.project.root / "over" / ".index-state.json").exists()


def test_the_configuration_of_memsearch_is_never_written(filled: Shared) -> None:
    before = filled.config.read_bytes()

    filled.project.call("journal.search", {"query": "varnish"}, **filled.project.config(engine="milvus"))
    filled.project.call("journal.status", {}, **filled.project.config(engine="milvus"))

    assert filled.config.read_bytes() == before
    assert not (filled.project.root / ".memsearch.toml").exists()


@pytest.mark.requirement("journal.milvus.lock")
def test_the_database_is_open_neither_between_calls_nor_while_something_is_embedded(shared: Shared) -> None:
    seen: list[bool] = []
    shared.endpoint.before = lambda: seen.append(shared.database.exists() and held(shared.database))
    shared.project.write_day(entry("22:41", "moved the hot cache to Redis"))
    own = shared.index()

    own.refresh()
    seen.append(held(shared.database))
    own.search("cache", 5)
    seen.append(held(shared.database))

    assert len(seen) >= 4
    assert not any(seen)


@pytest.mark.requirement("journal.milvus.back_off")
def test_who_is_locked_out_tries_again_after_the_delays_of_the_specification(
    filled: Shared, monkeypatch: pytest.MonkeyPatch
) -> None:
    waited: list[float] = []
    monkeypatch.setattr(database, "time", Clock(waited))
    with (filled.database / "LOCK").open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)

        with pytest.raises(MemoryLocked):
            filled.index().search("varnish", 5)

        assert waited == [delay / 1000 for delay in BACKOFF_DELAYS_MS] == [0.2, 0.5, 1.0, 2.0]
        assert "another process" in filled.index().status().note.lower()


@pytest.mark.requirement("journal.milvus.back_off", "journal.auto.counters")
def test_auto_context_is_told_at_once_that_the_store_is_locked(filled: Shared, monkeypatch: pytest.MonkeyPatch) -> None:
    waited: list[float] = []
    monkeypatch.setattr(database, "time", Clock(waited))
    settings = Journal(engine="milvus", search_timeout_ms=AUTO_CONTEXT_CAP_MS // 2)
    first = {"place": filled.place()._asdict(), "settings": asdict(settings), "env": filled.project.env}
    lines = b"".join(json.dumps(line).encode() + b"\n" for line in (first, {"id": 1, "query": "varnish", "top_k": 3}))
    out = io.BytesIO()
    with (filled.database / "LOCK").open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)

        sidecar.serve(io.BytesIO(lines), out)

    answer = json.loads(out.getvalue().splitlines()[-1])
    assert answer["error"].startswith("MemoryLocked: ")
    assert waited == []


@pytest.mark.requirement("journal.milvus.back_off")
def test_contention_that_resolves_is_no_error(filled: Shared, monkeypatch: pytest.MonkeyPatch) -> None:
    file = (filled.database / "LOCK").open("rb")
    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    monkeypatch.setattr(database, "time", Clock([], then=file.close))

    (best, *_) = filled.index().search("varnish", 5)

    assert best.chunk.text.endswith("- dropped varnish")


def test_a_database_that_cannot_be_opened_is_not_waited_for(shared: Shared, monkeypatch: pytest.MonkeyPatch) -> None:
    waited: list[float] = []
    monkeypatch.setattr(database, "time", Clock(waited))
    shared.database.write_text("no database")
    shared.project.write_day(entry("10:00", "one"))

    with pytest.raises(BackendMissing) as caught:
        shared.index().search("one", 5)

    assert len(waited) <= 1
    assert str(shared.database) in caught.value.reason
    assert "journal.engine to pepys" in caught.value.steps


def test_threads_of_one_process_take_turns(filled: Shared) -> None:
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: filled.index().search("varnish", 1), range(8)))

    assert {hits[0].chunk.heading for hits in found} == {"22:55"}


@pytest.mark.requirement("journal.milvus.purge")
def test_what_is_forgotten_leaves_the_disk_of_milvus_lite(filled: Shared) -> None:
    place = filled.place()
    filled.project.write_day(entry("22:41", "moved the hot cache to Redis"))
    own = filled.index()
    own.refresh()
    assert holding(b"varnish", filled)  # removed rows lie in the files: the proof can fail

    assert own.purge()

    assert not holding(b"varnish", filled)
    assert not own.status().purge_pending
    assert texts(own) == ["- moved the hot cache to Redis"]
    assert [hit.chunk.heading for hit in own.search("hot cache", 5)] == ["22:41"]
    assert place.collection in {path.name for path in (filled.database / "collections").iterdir()}


@pytest.mark.requirement("journal.milvus.purge")
def test_forgetting_needs_no_model(filled: Shared) -> None:
    filled.project.write_day(entry("22:41", "moved the hot cache to Redis"))
    filled.configure('provider = "voyage"\n')

    assert filled.index().purge()

    assert not holding(b"varnish", filled)
    assert texts(filled.index()) == ["- moved the hot cache to Redis"]


@pytest.mark.requirement("journal.milvus.purge")
def test_a_purge_that_is_locked_out_is_finished_by_the_next_call(
    filled: Shared, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "time", Clock([]))
    filled.project.write_day(entry("22:41", "moved the hot cache to Redis"))
    with (filled.database / "LOCK").open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        assert not filled.index().purge()
        assert filled.index().status().purge_pending

    filled.index().refresh()  # another process's

    assert not holding(b"varnish", filled)
    assert not filled.index().status().purge_pending


def test_a_purge_that_was_killed_half_way_does_no_harm(filled: Shared, monkeypatch: pytest.MonkeyPatch) -> None:
    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as during:
        during.setattr(database.Collection, "put", killed)
        with pytest.raises(KeyboardInterrupt):
            filled.index().purge()

    assert filled.index().refresh().chunks == 2
    assert len(list((filled.database / "collections").iterdir())) == 1
    assert len(filled.index().search("varnish", 1)) == 1


@pytest.mark.requirement("journal.milvus.ids")
def test_a_chunk_is_found_by_its_older_id_and_by_that_of_our_own_engine(filled: Shared) -> None:
    path = filled.project.day()
    (old,) = (chunk for chunk in filled.index().chunks() if chunk.heading == "22:55")
    path.write_text(path.read_text().rstrip("\n") + "\n\n" + entry("23:10", "later"))
    other = filled.index()
    other.refresh()
    own = dict(zip(cutting.ids(path.name, pieces := list(cutting.pieces(path.read_text()))), pieces, strict=True))

    lagging = other.chunk(old.id)

    assert old.id not in {chunk.id for chunk in other.chunks()}
    assert lagging is not None and lagging.text == old.text
    for id_, piece in own.items():
        found = other.chunk(id_)
        assert found is not None and found.text == piece.text
    assert other.chunk("0" * 16) is None
    assert other.chunk("no id") is None


def test_an_entry_of_a_shared_collection_is_forgotten_by_its_hash(filled: Shared) -> None:
    settings = filled.project.config(engine="milvus")
    (hit, *_) = filled.project.call("journal.search", {"query": "varnish"}, **settings)["hits"]

    answer = filled.project.call("journal.forget", {"chunk_hash": hit["chunk_hash"]}, **settings)

    assert answer["text"].startswith("Memory entry redacted")
    assert not answer["purgePending"]
    assert not holding(b"varnish", filled)
    assert filled.project.call("journal.search", {"query": "varnish"}, **settings)["hits"] == []


def test_hits_can_be_limited_to_some_files(filled: Shared) -> None:
    filled.project.write_day(entry("22:41", "no more varnish"), "2026_08-13")
    own = filled.index()
    own.refresh()

    found = own.search("varnish", 5, path_prefix=str(filled.project.store / "2026_08"))

    assert [hit.chunk.text.rpartition("\n")[2] for hit in found] == ["- no more varnish"]


def test_status_tells_what_there_is(filled: Shared) -> None:
    known = filled.index().status()

    assert (known.chunks, known.embedder, known.pending) == (2, f"openai {MODEL}", False)
    assert known.note.startswith(f"Milvus {filled.database} (")
    text = filled.project.call("journal.status", {}, **filled.project.config(engine="milvus"))["text"]
    assert f"backend: available (engine milvus, embedder openai {MODEL})" in text
    assert "indexed chunks: 2" in text
    assert f"index note: {known.note}" in text
    assert "index: ok (last indexed " in text
    assert "index directory" not in text


def test_without_pymilvus_there_are_instructions(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "find_spec", lambda name: None)
    project.write_day(entry("22:41", "moved the hot cache to Redis"))

    answer = project.call("journal.search", {"query": "cache"}, **project.config(engine="milvus"))

    assert "pip install 'pepys[milvus]'" in answer["text"]
    assert answer["unavailable"] == "pymilvus is not installed"


@pytest.mark.requirement("journal.milvus.purge")
def test_what_is_forgotten_without_pymilvus_is_purged_when_it_is_there_again(
    filled: Shared, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = filled.project.config(engine="milvus")
    with monkeypatch.context() as during:
        during.setattr(database, "find_spec", lambda name: None)
        answer = filled.project.call("journal.forget", {"date": "2026-08-13", "time": "22:55"}, **settings)
    assert answer["purgePending"]
    assert holding(b"varnish", filled)

    filled.project.call("journal.search", {"query": "cache"}, **settings)

    assert not holding(b"varnish", filled)


def test_pymilvus_is_imported_only_when_it_is_needed(shared: Shared, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] in ("pymilvus", "milvus_lite")]:
        monkeypatch.delitem(sys.modules, name)

    shared.index()

    assert "pymilvus" not in sys.modules


@pytest.mark.requirement("journal.milvus.server")
def test_a_server_is_reached_by_its_address_and_token(
    project: Project, endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    milvus_lite_imitated.installed(monkeypatch)
    shared = Shared(project, endpoint)
    shared.configure(more=f'[milvus]\nuri = "https://me:secret@cloud.invalid{tmp_path}/cloud"\ntoken = "env:ZILLIZ"\n')
    project.env["ZILLIZ"] = "t0"
    project.write_day(f"{entry('22:41', 'moved the hot cache to Redis')}{entry('22:55', 'dropped varnish')}")
    own = shared.index()

    own.refresh()
    (best, *_) = own.search("varnish", 1)
    own.purge()

    (connection,) = milvus_lite_imitated.CONNECTED  # kept between calls: a server locks nobody out
    assert (connection["uri"], connection["token"]) == (f"https://me:secret@cloud.invalid{tmp_path}/cloud", "t0")
    assert best.chunk.text.endswith("- dropped varnish")
    assert "secret" not in own.status().note
    assert json.loads(shared.state_file.read_text())["milvus_uri"].startswith("https://")
    assert not shared.database.exists()
    own.close()


@pytest.mark.requirement("journal.milvus.server")
def test_milvus_lite_behind_a_port_is_a_server(shared: Shared, lite: str, tmp_path: Path) -> None:
    if lite == "imitated":
        pytest.skip("the imitation has no port")
    from milvus_lite.server_manager import server_manager_instance as servers

    path = str(tmp_path / "served.db")
    shared.configure(more=f'[milvus]\nuri = "{servers.start_and_get_uri(path)}"\n')
    try:
        shared.project.write_day(entry("22:55", "dropped varnish"))
        own = shared.index()
        own.refresh()

        assert [hit.chunk.heading for hit in own.search("varnish", 5)] == ["22:55"]
        assert own.purge()
        assert texts(own) == ["- dropped varnish"]
        own.close()
    finally:
        servers.release_server(path)


@pytest.mark.requirement("journal.milvus.relevance")
def test_an_unrelated_query_finds_nothing(filled: Shared) -> None:
    assert filled.index().search("zeppelin quartet", 5) == []


@pytest.mark.requirement("journal.milvus.relevance")
@pytest.mark.parametrize("size", [8, 30, 300, 3000])
@pytest.mark.parametrize(("middle", "spread"), [(0.1, 0.04), (0.4, 0.06), (0.78, 0.02)])
def test_nearest_of_unrelated_chunks_hardly_ever_reach_the_floor(size: int, middle: float, spread: float) -> None:
    chance = random.Random(size)
    passed = 0
    for _ in range(300):
        cosines = [min(1.0, chance.gauss(middle, spread)) for _ in range(size)]
        passed += calibrated(max(cosines), relevance.calibration(cosines)) >= 0.5

    assert passed <= 6  # 2 %


@pytest.mark.requirement("journal.milvus.relevance")
@pytest.mark.parametrize("size", [30, 300, 3000])
def test_a_chunk_far_nearer_than_all_others_passes_the_floor(size: int) -> None:
    chance = random.Random(size)
    cosines = [*(chance.gauss(0.4, 0.03) for _ in range(size)), 0.7]

    assert calibrated(0.7, relevance.calibration(cosines)) >= 0.5


@pytest.mark.parametrize("cosines", [[], [0.2], [1.0] * 20, [0.0] * 8, [-1.0, 1.0] * 5])
def test_any_cosines_can_be_judged(cosines: list[float]) -> None:
    means = relevance.calibration(cosines)

    assert means.low < means.even
    assert all(0 <= calibrated(cosine, means) <= 1 for cosine in (-1.0, 0.0, 0.5, 1.0))


@pytest.mark.parametrize(
    ("provider", "variables", "url"),
    [
        ("openai", {}, "https://api.openai.com/v1/embeddings"),
        ("openai", {"OPENAI_BASE_URL": "http://127.0.0.1:1/v1/"}, "http://127.0.0.1:1/v1/embeddings"),
        ("mistral", {}, "https://api.mistral.ai/v1/embeddings"),
        ("ollama", {}, "http://127.0.0.1:11434/api/embed"),
        ("ollama", {"OLLAMA_HOST": "127.0.0.1:9"}, "http://127.0.0.1:9/api/embed"),
    ],
)
def test_providers_are_asked_where_their_own_tools_would(provider: str, variables: dict[str, str], url: str) -> None:
    named = embedding.named({"embedding.provider": provider}, variables)

    assert isinstance(named, embedding.Remote)
    assert named.url == url
    assert named.model == embedding.PROVIDERS[provider].model


def test_ollama_answers_in_its_own_shape(endpoint: Endpoint) -> None:
    named = embedding.named({"embedding.provider": "ollama", "embedding.base_url": endpoint.url}, {})

    assert [len(vector) for vector in named.vectors(["one", "two"])] == [64, 64]


def test_an_endpoint_that_is_out_of_order_is_not_asked_at_every_search(
    endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = embedding.named({"embedding.provider": "openai", "embedding.base_url": endpoint.url}, {})
    endpoint.failing = True
    for _ in range(3):
        with pytest.raises(EmbedderFailed, match="answered 503"):
            model.vectors(["varnish"])
    endpoint.failing = False
    assert len(endpoint.asked) == 1

    late = time.monotonic() + 31
    monkeypatch.setattr(time, "monotonic", lambda: late)

    assert len(model.vectors(["varnish"])) == 1


def test_batches_are_as_large_as_configured(endpoint: Endpoint) -> None:
    known: dict[str, Any] = {"embedding.provider": "openai", "embedding.base_url": endpoint.url}

    embedding.named({**known, "embedding.batch_size": 2}, {}).vectors(["a", "b", "c"])

    assert [body["input"] for body in endpoint.asked] == [["a", "b"], ["c"]]


class Clock:
    """Time in which only sleeping passes, for whoever looks at it."""

    def __init__(self, slept: list[float], then: Any = lambda: None) -> None:
        self._slept, self._then = slept, then

    def sleep(self, seconds: float) -> None:
        self._slept.append(seconds)
        self._then()


def holding(words: bytes, shared: Shared) -> list[Path]:
    """The files of the database and of our own directory that hold *words*."""
    found = []
    for top in (shared.database, shared.project.home / "index"):
        found += [path for path in top.rglob("*") if path.is_file() and words in path.read_bytes()]
    return found


def test_an_engine_that_no_row_names_is_no_engine() -> None:
    assert set(engines.ENGINES) == {"pepys", "milvus"}
    assert Journal().engine == "pepys"
    assert os.path.basename(engines.ENGINES["milvus"]) == "pepys.journal.milvus"
