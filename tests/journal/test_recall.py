"""The first two layers of recall, over an index that only counts words."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from pepys.errors import InvalidArgument, MemoryNotFound, StoreCommandFailed, StoreUnavailable
from pepys.journal import engines, scope
from pepys.journal.base import Chunk, NeverIndexed, Refreshed
from tests.journal.plain import Plain
from tests.journal.project import Project, command, entry
from tests.journal.unreadable import unreadable

pytestmark = pytest.mark.usefixtures("plain")

Json = dict[str, Any]


@pytest.fixture
def filled(project: Project) -> Project:
    project.write_day(
        f"\n## Session 22:41\n\n{entry('22:41', 'moved the hot cache to Redis', path=str(project.talk()), turn='a1')}"
        f"{entry('22:55', 'dropped varnish', 'kept the cache headers')}"
    )
    return project


def hashes(answer: Json) -> list[str]:
    return [hit["chunk_hash"] for hit in answer["hits"]]


@pytest.mark.requirement("journal.l1.ranked")
def test_hits_are_numbered_with_their_score_hash_and_lines(filled: Project) -> None:
    answer = filled.call("journal.search", {"query": "hot cache"})

    assert answer["text"] == (
        "2 memory chunks, best first:\n\n"
        f"1. score 1.000 | chunk {hashes(answer)[0]} | {filled.day()}:4-7\n"
        + entry("22:41", "moved the hot cache to Redis", path=answer_path(filled), turn="a1").rstrip()
        + f"\n\n2. score 0.500 | chunk {hashes(answer)[1]} | {filled.day()}:8-13\n"
        + entry("22:55", "dropped varnish", "kept the cache headers").rstrip()
    )


def answer_path(project: Project) -> str:
    return str(project.diary.folder(str(project.root)) / "s1.jsonl")


@pytest.mark.requirement("journal.l1.top_k")
def test_five_hits_are_returned_unless_told_otherwise(project: Project) -> None:
    project.write_day("".join(entry(f"10:0{number}", f"cache {number}") for number in range(8)))

    assert len(hashes(project.call("journal.search", {"query": "cache"}))) == 5
    assert len(hashes(project.call("journal.search", {"query": "cache", "top_k": 7}))) == 7


@pytest.mark.requirement("journal.l1.empty")
def test_nothing_found_is_said_and_never_made_up(filled: Project) -> None:
    assert filled.call("journal.search", {"query": "zeppelin"}) == {
        "text": 'No memories found for "zeppelin".',
        "hits": [],
    }


def test_a_blank_query_is_an_error(filled: Project) -> None:
    with pytest.raises(InvalidArgument):
        filled.call("journal.search", {"query": "  "})


@pytest.mark.requirement("journal.l1.empty", "journal.status.lines")
@pytest.mark.parametrize("what", ["a file", "the store"])
def test_what_cannot_be_read_is_said_and_does_not_look_like_an_empty_memory(
    filled: Project, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    filled.write_day(entry("09:00", "a cache of yesterday"), "2026-08-12")
    path = filled.day("2026-08-12") if what == "a file" else filled.store
    readable = [chunk for chunk in chunks(filled) if what == "a file" and chunk.path != str(path)]
    monkeypatch.setattr(Plain, "chunks", lambda self: iter(readable))
    unreadable(monkeypatch, path)
    env = {**filled.env, "PI_MEMSEARCH_SCAN_ROOTS": str(filled.home)}
    denied = {str(path): "Permission denied"}

    found, none = (filled.call("journal.search", {"query": query}) for query in ("hot cache", "zeppelin"))
    across = filled.call("journal.search", {"query": "cache", "scope": "all"}, env=env)
    status = filled.call("journal.status")

    assert [len(found["hits"]), len(none["hits"])] == [len(readable), 0]
    for answer in (found, none):
        assert answer["unread"] == denied
        assert answer["text"].endswith(f"\n\nCould not be read, and may hold more: {path} (Permission denied)")
    assert across.get("unread") == denied if what == "a file" else across["skipped"] == [str(filled.root)]
    assert status["unread"] == denied
    assert f"store: cannot be read: {path} (Permission denied)" in status["text"].split("\n")
    assert "nothing is written" not in status["text"]


def test_a_store_that_is_a_plain_file_is_said(project: Project) -> None:
    project.store.parent.mkdir(parents=True)
    project.store.write_text("")

    for ref, args in (("journal.search", {"query": "cache"}), ("journal.compact", {}), ("journal.status", {})):
        answer = project.call(ref, args)
        assert answer["unread"] == {str(project.store): "Not a directory"}
        assert f"{project.store} (Not a directory)" in answer["text"]


def chunks(project: Project) -> list[Chunk]:
    with project.open() as workspace:
        return list(Plain(scope.place(scope.of(workspace.context), workspace.context)).chunks())


@pytest.mark.requirement("journal.l1.empty")
def test_an_index_that_is_still_being_built_is_told(filled: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    refresh = Plain.refresh
    monkeypatch.setattr(Plain, "refresh", lambda self, budget_s=None: refresh(self)._replace(pending=True))
    env = {**filled.env, "PI_MEMSEARCH_SCAN_ROOTS": str(filled.home)}

    alone = filled.call("journal.search", {"query": "zeppelin"})
    across = filled.call("journal.search", {"query": "cache", "scope": "all"}, env=env)

    assert alone["pending"] is True
    assert alone["text"].endswith("more may be found by the next search.")
    assert across["pending"] == [str(filled.root)]


@pytest.mark.requirement("journal.l2.section", "journal.l2.anchor", "journal.l3.from_anchor")
def test_a_hit_opens_to_its_section_and_its_anchor_to_the_conversation(filled: Project) -> None:
    (hit, _) = filled.call("journal.search", {"query": "hot cache"})["hits"]

    section = filled.call(hit["follow"]["ref"], hit["follow"]["args"])
    turns = filled.call(section["follow"]["ref"], section["follow"]["args"])["turns"]

    assert section["text"].startswith(f"{filled.day()}:4-6 | 22:41\n\n### 22:41\n<!-- session:3f2c9b1e turn:a1 ")
    assert section["text"].endswith(f"origin: session 3f2c9b1e entry a1\ntranscript: {answer_path(filled)}")
    assert [turn["text"] for turn in turns] == ["Move the cache.", "Moved it to Redis."]


def test_a_section_is_as_the_file_has_it_now(filled: Project) -> None:
    (_, hit) = filled.call("journal.search", {"query": "hot cache"})["hits"]
    filled.write_day("\n\n\n" + filled.day().read_text())

    section = filled.call("journal.expand", {"chunk_hash": hit["chunk_hash"]})

    assert section["content"] == entry("22:55", "dropped varnish", "kept the cache headers").rstrip()
    assert section["start_line"] == 11


def test_a_chunk_of_a_piece_of_code_opens_the_whole_entry(project: Project) -> None:
    text = "### 10:00\n- setup\n```sh\n# install\nls\n```\n- after"
    project.write_day(f"{text}\n\n{entry('10:05', 'other')}")
    (hit,) = project.call("journal.search", {"query": "install"})["hits"]

    section = project.call("journal.expand", {"chunk_hash": hit["chunk_hash"]})

    assert hit["heading"] == "install"  # memsearch's chunks know no fences
    assert section["content"] == text


def test_freeform_text_does_not_come_from_the_session_of_an_entry_below_it(project: Project) -> None:
    entry = "### 10:00\n<!-- session:s1 turn:t1 transcript:/t/a.jsonl -->\n- the user likes figs\n"
    project.write_day(f"# 2026-11-07\n\nfreeform jabuticaba\n\n{entry}")
    (freeform,) = project.call("journal.search", {"query": "jabuticaba"})["hits"][:1]

    section = project.call("journal.expand", {"chunk_hash": freeform["chunk_hash"]})

    assert "freeform jabuticaba" in section["content"]
    assert (section["anchor"], section["follow"]) == (None, None)
    assert "origin:" not in section["text"]


def test_freeform_text_opens_below_its_heading(project: Project) -> None:
    project.write_day("# Notes\nintro\n## One\n- x\n### Deeper\n- y\n## Two\n- z\n")
    (hit,) = project.call("journal.search", {"query": "x"})["hits"]

    section = project.call("journal.expand", {"chunk_hash": hit["chunk_hash"]})

    assert section["content"] == "## One\n- x\n### Deeper\n- y"
    assert section["anchor"] is None


def test_an_unknown_hash_is_an_error(filled: Project) -> None:
    with pytest.raises(MemoryNotFound, match="Chunk not found: 0123"):
        filled.call("journal.expand", {"chunk_hash": "0123"})


@pytest.mark.requirement("journal.degrade.search", "journal.degrade.expand", "journal.degrade.write")
def test_without_a_backend_there_are_instructions_and_writing_goes_on(
    filled: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(engines.ENGINES, "pepys", "pepys.journal.not_there")
    session = filled.talk()

    for ref, args in (("journal.search", {"query": "cache"}), ("journal.expand", {"chunk_hash": "x"})):
        answer = filled.call(ref, args)
        assert "Reinstall Pepys" in answer["text"]
    filled.call("journal.write", {"content": "- still written"}, session_file=session)
    assert "still written" in filled.day().read_text()
    assert filled.call("journal.transcript", {"transcript_path": str(session)})["turns"]


@pytest.mark.requirement("journal.degrade.reprobe")
def test_a_backend_that_is_installed_later_is_found_without_a_restart(
    filled: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(engines.ENGINES, "pepys", "pepys.journal.not_there")
    moment = [1000.0]
    monkeypatch.setattr("pepys.journal.engines.time.monotonic", lambda: moment[0])
    with filled.open() as workspace:
        found = []
        for seconds in (0, 1, 29, 31):
            moment[0] = 1000.0 + seconds
            found.append(bool(workspace.call("journal.search", {"query": "cache"})["hits"]))
            monkeypatch.setitem(engines.ENGINES, "pepys", "tests.journal.plain")

    assert found == [False, False, False, True]


class Mesh:
    """Projects under one scan root."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self.root = project.home / "code"
        self.env = {**project.env, "PI_MEMSEARCH_SCAN_ROOTS": str(self.root)}

    def add(self, name: str, text: str, *, below: str = ".memsearch/memory", state: str | None = None) -> Path:
        store = self.root / name / below
        store.mkdir(parents=True)
        (store / "2026-08-12.md").write_text(entry("09:00", text))
        if state is not None:
            (store.parent / ".index-state.json").write_text(state)
        return self.root / name

    def search(self, query: str, **keywords: Any) -> Json:
        args = {"query": query, "scope": "all", "top_k": 20}
        return self.project.call("journal.search", args, **{"env": self.env, **keywords})


@pytest.fixture
def mesh(filled: Project) -> Mesh:
    return Mesh(filled)


@pytest.mark.requirement("journal.fan_out.projects", "journal.fan_out.labels", "journal.fan_out.merge")
def test_a_search_of_all_projects_visits_both_shapes_of_stores_and_labels_its_hits(mesh: Mesh) -> None:
    one = mesh.add("one", "hot cache one")
    two = mesh.add("two", "cache two", below="memory")
    (mesh.root / "three").mkdir()
    (mesh.root / "memory.txt").write_text("no project")

    answer = mesh.search("hot cache")

    assert [(hit["project"], hit["score"]) for hit in answer["hits"]] == [
        (str(mesh.project.root), 1.0),
        (str(one), 1.0),
        (str(mesh.project.root), 0.5),
        (str(two), 0.5),
    ]
    assert answer["text"].startswith(
        "4 memory chunks, 3 projects searched, 0 skipped, best first:\n\n1. score 1.000 | "
    )
    assert f" | {one} | {one}/.memsearch/memory/2026-08-12.md:1-5\n" in answer["text"]


@pytest.mark.requirement("journal.fan_out.opt_in")
def test_by_default_only_this_project_is_searched(mesh: Mesh) -> None:
    mesh.add("one", "hot cache one")

    answer = mesh.project.call("journal.search", {"query": "hot cache"}, env=mesh.env)

    assert {hit["source"] for hit in answer["hits"]} == {str(mesh.project.day())}


@pytest.mark.requirement("journal.fan_out.read_only")
def test_no_other_project_is_written_to(mesh: Mesh) -> None:
    one = mesh.add("one", "hot cache one")
    before = {path: path.read_bytes() for path in one.rglob("*") if path.is_file()}

    mesh.search("cache")

    assert {path: path.read_bytes() for path in one.rglob("*") if path.is_file()} == before


@pytest.mark.requirement("journal.fan_out.expand")
def test_a_label_opens_the_hit_in_its_own_project(mesh: Mesh) -> None:
    mesh.add("one", "warm cache one")
    hit = next(hit for hit in mesh.search("warm")["hits"] if "one" in hit["project"])

    section = mesh.project.call("journal.expand", hit["follow"]["args"], env=mesh.env)

    assert section["content"].endswith("- warm cache one")
    with pytest.raises(MemoryNotFound):  # another project's hash means nothing here
        mesh.project.call("journal.expand", {"chunk_hash": hit["chunk_hash"]}, env=mesh.env)


@pytest.mark.requirement("journal.fan_out.no_walk")
def test_a_path_inside_a_project_is_no_project(mesh: Mesh) -> None:
    one = mesh.add("one", "warm cache one")
    (one / "src").mkdir()
    (one / ".git").mkdir()

    with pytest.raises(MemoryNotFound, match="holds no memory store"):
        mesh.project.call("journal.expand", {"chunk_hash": "x", "project": str(one / "src")}, env=mesh.env)


@pytest.mark.requirement("journal.fan_out.recorded", "journal.collection.recorded")
def test_a_projects_recorded_collection_names_it(mesh: Mesh) -> None:
    mesh.add("one", "cache one", state='{"schema_version": 1, "status": "ok", "collection": "ms_same"}')
    two = mesh.add(
        "two", "cache two", below="memory", state='{"schema_version": 1, "status": "ok", "collection": "ms_same"}'
    )

    answer = mesh.search("cache")

    assert answer["collapsed"] == [str(two)]
    assert ", 0 skipped, 1 collapsed, best first:" in answer["text"]
    assert answer["text"].endswith(f"collapsed (same collection as a project already searched): {two}")


@pytest.mark.requirement("journal.fan_out.drift")
@pytest.mark.parametrize("bad", ["{", "[]", '{"schema_version": 2}', '{"schema_version": 1, "status": 5}'])
def test_a_bad_state_file_of_one_project_fails_nothing(mesh: Mesh, bad: str) -> None:
    one = mesh.add("one", "cache one", state=bad)

    assert str(one) in mesh.search("cache")["searched"]


@pytest.mark.requirement("journal.fan_out.foreign_override")
def test_memsearch_dir_of_the_session_names_no_other_project(mesh: Mesh) -> None:
    one, two = mesh.add("one", "cache one"), mesh.add("two", "cache two")

    answer = mesh.search("cache", env={**mesh.env, "MEMSEARCH_DIR": str(mesh.project.home / "mesh")})

    assert {hit["project"] for hit in answer["hits"]} == {str(one), str(two)}
    assert answer["collapsed"] == []


@pytest.mark.requirement("journal.fan_out.command")
def test_a_store_command_names_every_project_it_is_standing_in(mesh: Mesh, tmp_path: Path) -> None:
    mesh.add("one", "cache one", below="memory", state='{"schema_version": 1, "status": "ok", "collection": "ms_x"}')
    two = mesh.add("two", "cache two", below="memory")
    script = tmp_path / "cmd"
    script.write_text(
        f'#!/bin/sh\necho "$1 $PWD" >> {tmp_path}/log\ncase $1 in\n'
        f"  memory-dir) echo {mesh.project.store} ;;\n"
        "  collection) case $PWD in */code/*) echo ms_one ;; *) echo ms_me ;; esac ;;\nesac\n"
    )
    script.chmod(0o755)

    answer = mesh.search("cache", env={**mesh.env, "PI_MEMSEARCH_STORE_CMD": str(script)})

    assert answer["collapsed"] == [str(two)]
    asked = (tmp_path / "log").read_text().split("\n")
    assert f"collection {two}" in asked
    assert not [line for line in asked if line.startswith("memory-dir") and "code" in line]


@pytest.mark.requirement("journal.fan_out.command")
def test_a_store_command_that_fails_for_one_project_fails_the_search(mesh: Mesh, tmp_path: Path) -> None:
    mesh.add("one", "cache one")
    script = tmp_path / "cmd"
    script.write_text(
        f"#!/bin/sh\ncase $PWD in */code/*) exit 1 ;; esac\ncase $1 in memory-dir) echo {mesh.project.store} ;; "
        "collection) echo c ;; esac\n"
    )
    script.chmod(0o755)

    with pytest.raises(StoreCommandFailed):
        mesh.search("cache", env={**mesh.env, "PI_MEMSEARCH_STORE_CMD": str(script)})


@pytest.mark.requirement("journal.fan_out.same_directory")
def test_this_project_under_a_scan_root_is_searched_once_and_silently(mesh: Mesh) -> None:
    mesh.root.mkdir()
    (mesh.root / "link").symlink_to(mesh.project.root)

    answer = mesh.search("cache")

    assert answer["searched"] == [str(mesh.project.root)]
    assert "collapsed" not in answer["text"]


@pytest.mark.requirement("journal.fan_out.skipped")
def test_a_project_that_cannot_be_looked_into_is_skipped_and_counted(
    mesh: Mesh, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, two = mesh.add("one", "cache one"), mesh.add("two", "cache two")
    unreadable(monkeypatch, two)

    answer = mesh.search("cache one")

    assert answer["searched"] == [str(mesh.project.root), str(one)]
    assert answer["skipped"] == [str(two)]
    assert "2 projects searched, 1 skipped" in answer["text"]
    with pytest.raises(StoreUnavailable, match="cannot be looked into"):
        mesh.project.call("journal.expand", {"chunk_hash": "x", "project": str(two)}, env=mesh.env)


@pytest.mark.requirement("journal.fan_out.skipped")
@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_a_store_that_cannot_be_read_is_skipped_and_counted(mesh: Mesh) -> None:
    one = mesh.add("one", "cache one")
    (one / ".memsearch" / "memory").chmod(0)

    answer = mesh.search("cache")

    assert answer["skipped"] == [str(one)]
    assert "1 project searched, 1 skipped" in answer["text"]


@pytest.mark.requirement("journal.fan_out.skipped")
def test_a_project_that_was_never_indexed_is_skipped_and_counted(mesh: Mesh, monkeypatch: pytest.MonkeyPatch) -> None:
    one = mesh.add("one", "cache one")
    refresh = Plain.refresh

    def never(self: Plain, budget_s: float | None = None) -> Refreshed:
        if str(one) in self.place.store:
            raise NeverIndexed
        return refresh(self, budget_s)

    monkeypatch.setattr(Plain, "refresh", never)

    answer = mesh.search("cache")

    assert answer["skipped"] == [str(one)]
    assert str(one) in answer["text"]


def test_without_scan_roots_a_search_of_all_is_an_error(filled: Project) -> None:
    with pytest.raises(InvalidArgument, match="PI_MEMSEARCH_SCAN_ROOTS"):
        filled.call("journal.search", {"query": "cache", "scope": "all"})


def test_a_scan_root_that_cannot_be_listed_is_named(filled: Project) -> None:
    env = {**filled.env, "PI_MEMSEARCH_SCAN_ROOTS": "/nowhere"}

    with pytest.raises(InvalidArgument, match="/nowhere"):
        filled.call("journal.search", {"query": "cache", "scope": "all"}, env=env)


@pytest.mark.requirement("journal.degrade.store_command")
@pytest.mark.parametrize(
    ("ref", "args"),
    [
        ("journal.search", {"query": "x"}),
        ("journal.expand", {"chunk_hash": "x"}),
        ("journal.status", {}),
        ("journal.write", {"content": "x"}),
    ],
)
def test_a_store_command_that_fails_fails_every_tool(filled: Project, ref: str, args: Json) -> None:
    cmd = command(filled.home / "cmd", memory_dir="!broken")

    with pytest.raises(StoreCommandFailed):
        filled.call(ref, args, **filled.config(storeCommand=cmd))


def test_the_index_of_a_store_lies_in_our_own_directory(filled: Project) -> None:
    with filled.open() as workspace:
        place = scope.place(scope.of(workspace.context), workspace.context)

    assert place.directory.startswith(str(filled.home / "index" / "pepys-journal-1" / "ms_shop_"))
