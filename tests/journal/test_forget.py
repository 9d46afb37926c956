"""Exactly one entry goes, whole, from its file, the index and every snapshot; nothing else does."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pepys.errors import AmbiguousMemory, IndexUnavailable, InvalidArgument, MemoryNotFound, StoreUnavailable
from pepys.journal import engines, entries, forgotten, scope, store
from pepys.journal.base import BackendMissing, Place
from pepys.journal.entries import Anchor
from tests.journal.plain import Plain
from tests.journal.project import Project, entry
from tests.journal.unreadable import unreadable

Json = dict[str, Any]

pytestmark = pytest.mark.usefixtures("plain")

HEAD = "\n## Session 10:00\n\n"


def hash_of(project: Project, query: str) -> str:
    hits = project.call("journal.search", {"query": query})["hits"]
    return str(hits[0]["chunk_hash"])


def place_of(project: Project) -> Place:
    with project.open() as workspace:
        return scope.place(scope.of(workspace.context), workspace.context)


@pytest.mark.requirement("journal.forget.by_time", "journal.forget.echo")
def test_an_entry_is_forgotten_by_its_day_and_time(project: Project) -> None:
    project.write_day(HEAD + entry("10:00", "one") + entry("10:05", "two") + entry("10:10", "three"))

    answer = project.call("journal.forget", {"date": "2026-08-13", "time": "10:05"})

    assert project.day().read_text() == HEAD + entry("10:00", "one") + entry("10:10", "three")
    assert answer["text"] == f"Memory entry redacted from {project.day()}:\n\n{entry('10:05', 'two').strip()}"


@pytest.mark.requirement("journal.forget.by_hash")
def test_an_entry_is_forgotten_by_the_hash_of_a_chunk_of_it(project: Project) -> None:
    project.write_day(HEAD + entry("10:00", "one") + entry("10:05", "two"))

    project.call("journal.forget", {"chunk_hash": hash_of(project, "two")})

    assert project.day().read_text() == HEAD + entry("10:00", "one")


@pytest.mark.requirement("journal.forget.by_hash")
def test_of_two_entries_of_one_minute_the_hash_tells_which(project: Project) -> None:
    project.write_day(HEAD + entry("10:00", "one", turn="t1") + entry("10:00", "two", turn="t2"))

    with pytest.raises(AmbiguousMemory, match="2 entries at 10:00") as caught:
        project.call("journal.forget", {"date": "2026-08-13", "time": "10:00"})
    assert project.day().read_text() == HEAD + entry("10:00", "one", turn="t1") + entry("10:00", "two", turn="t2")
    assert "chunk_hash" in caught.value.hint

    project.call("journal.forget", {"chunk_hash": hash_of(project, "two")})
    assert project.day().read_text() == HEAD + entry("10:00", "one", turn="t1")


@pytest.mark.requirement("journal.forget.one_address")
@pytest.mark.parametrize(
    "address",
    [
        {},
        {"date": "2026-08-13"},
        {"time": "10:00"},
        {"chunk_hash": "abc", "date": "2026-08-13", "time": "10:00"},
        {"chunk_hash": "  "},
        {"date": "2026-8-13", "time": "10:00"},
        {"date": "20260813", "time": "10:00"},
        {"date": "2026-13-01", "time": "10:00"},
        {"date": "2026-08-13", "time": "24:00"},
        {"date": "2026-08-13", "time": "9:00"},
        {"date": "../../etc", "time": "10:00"},
    ],
)
def test_any_other_address_is_an_error_and_changes_nothing(project: Project, address: Json) -> None:
    project.write_day(entry("10:00", "one"))

    with pytest.raises(InvalidArgument):
        project.call("journal.forget", address)

    assert project.day().read_text() == entry("10:00", "one")


@pytest.mark.requirement("journal.forget.no_fuzzy")
@pytest.mark.parametrize(
    "address",
    [{"date": "2026-08-12", "time": "10:00"}, {"date": "2026-08-13", "time": "10:01"}, {"chunk_hash": "0" * 16}],
)
def test_nothing_is_forgotten_in_the_place_of_what_is_not_there(project: Project, address: Json) -> None:
    project.write_day(entry("10:00", "one"))

    with pytest.raises(MemoryNotFound):
        project.call("journal.forget", address)

    assert project.day().read_text() == entry("10:00", "one")


@pytest.mark.requirement("journal.forget.last_entry")
def test_the_file_goes_with_its_last_entry(project: Project) -> None:
    project.write_day(HEAD + entry("10:00", "one"))

    answer = project.call("journal.forget", {"date": "2026-08-13", "time": "10:00"})

    assert not project.day().exists()
    assert "(the file had no other entries and was deleted)" in answer["text"]


@pytest.mark.requirement("journal.forget.whole")
def test_code_with_hashes_goes_with_the_entry_that_another_agent_wrote(project: Project) -> None:
    text = "### 10:00\n- did it\n```sh\n# secret step\nexport KEY=1\n```\n- after\n\n"
    project.write_day(text + entry("10:05", "two"))

    project.call("journal.forget", {"chunk_hash": hash_of(project, "secret step")})

    assert project.day().read_text() == entry("10:05", "two")


@pytest.mark.requirement("journal.compact.forget")
def test_a_hash_from_inside_a_compaction_forgets_the_whole_block(project: Project) -> None:
    block = "\n\n## Memory Compact 09:30\n\nintro\n\n### Topics\n- all about caches\n"
    project.write_day(entry("09:00", "one") + block + "\n" + entry("10:05", "two"))

    answer = project.call("journal.forget", {"chunk_hash": hash_of(project, "caches")})

    assert answer["text"].startswith("Memory compact block redacted from ")
    assert project.day().read_text() == entry("09:00", "one") + "\n\n" + entry("10:05", "two")


def test_text_of_a_person_is_no_entry(project: Project) -> None:
    project.write_day("## Notes\n- mine\n" + entry("10:05", "two"))

    with pytest.raises(MemoryNotFound, match="no memory entry"):
        project.call("journal.forget", {"chunk_hash": hash_of(project, "mine")})


def test_what_lies_outside_of_the_store_is_not_touched(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    outside = project.home / "other.md"
    outside.write_text(entry("10:00", "one"))
    project.write_day(entry("10:00", "one"))
    chunk = Plain.chunk
    monkeypatch.setattr(
        Plain, "chunk", lambda self, id_: (found := chunk(self, id_)) and found._replace(path=str(outside))
    )

    with pytest.raises(MemoryNotFound, match="does not lie in the store"):
        project.call("journal.forget", {"chunk_hash": hash_of(project, "one")})

    assert outside.read_text() == entry("10:00", "one")


@pytest.mark.requirement("journal.forget.index")
def test_the_index_is_purged_and_says_when_a_reader_blocks_that(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.write_day(entry("10:00", "one") + entry("10:05", "two"))
    monkeypatch.setattr(Plain, "purge", lambda self: False)

    answer = project.call("journal.forget", {"date": "2026-08-13", "time": "10:05"})

    assert answer["purgePending"] is True
    assert "purge_pending" in answer["text"]


@pytest.mark.requirement("journal.forget.index")
def test_an_index_that_cannot_be_changed_is_named_as_what_keeps_the_text(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.write_day(entry("10:00", "one"))

    def read_only(self: Plain) -> bool:
        Path(self.place.directory).mkdir(parents=True)
        raise BackendMissing("the index cannot be used", "Make it writable.") from PermissionError("read-only")

    monkeypatch.setattr(Plain, "purge", read_only)
    monkeypatch.setattr("shutil.rmtree", lambda *args, **more: None)

    answer = project.call("journal.forget", {"date": "2026-08-13", "time": "10:00"})

    assert answer["purgePending"] is True
    assert "cannot be changed (read-only); make it writable" in answer["text"]
    assert "reader" not in answer["text"]


@pytest.mark.requirement("journal.forget.by_time", "journal.forget.by_hash")
@pytest.mark.parametrize("whole", [False, True], ids=["the file", "the store"])
def test_what_cannot_be_read_is_said_and_not_taken_for_missing(
    project: Project, monkeypatch: pytest.MonkeyPatch, whole: bool
) -> None:
    project.write_day(entry("10:00", "one"))
    hash_ = hash_of(project, "one")
    chunks = list(Plain(place_of(project)).chunks())
    unreadable(monkeypatch, project.store if whole else project.day())
    monkeypatch.setattr(Plain, "chunks", lambda self: iter(chunks))

    for address in ({"date": "2026-08-13", "time": "10:00"}, {"chunk_hash": hash_}):
        with pytest.raises(StoreUnavailable, match="Permission denied"):
            project.call("journal.forget", address)


@pytest.mark.requirement("journal.degrade.forget")
def test_without_a_backend_a_day_and_time_still_work_and_the_index_is_removed_whole(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.write_day(entry("10:00", "one") + entry("10:05", "hunter2"))
    place = place_of(project)
    Path(place.directory).mkdir(parents=True)
    (Path(place.directory) / "text").write_text("hunter2")
    monkeypatch.setitem(engines.ENGINES, "pepys", "pepys.journal.not_there")

    with pytest.raises(IndexUnavailable, match="Nothing was removed") as refused:
        project.call("journal.forget", {"chunk_hash": "x"})
    answer = project.call("journal.forget", {"date": "2026-08-13", "time": "10:05"})

    assert "date and time" in refused.value.hint
    assert "Reinstall Pepys" in refused.value.hint
    assert refused.value.exit_status
    assert answer["purgePending"] is False
    assert not [path for path in project.home.rglob("*") if path.is_file() and b"hunter2" in path.read_bytes()]


def found_on_disk(home: Path, words: list[bytes]) -> dict[bytes, list[str]]:
    """Which files below *home* hold which of *words*."""
    files = {path: path.read_bytes() for path in home.rglob("*") if path.is_file()}
    return {word: [str(path) for path, data in files.items() if word in data] for word in words}


@pytest.mark.requirement("journal.forget.no_copy", "journal.forget.deletion_proof")
def test_no_copy_of_what_is_forgotten_stays_anywhere(project: Project) -> None:
    text = entry("10:05", "the password is hunter2zebra", session="sess9", turn="turn9")
    project.write_day(entry("10:00", "one") + text)
    words = [b"hunter2zebra", b"- the password", hash_of(project, "hunter2zebra").encode()]
    path = project.talk()
    project.call("journal.start", session_file=path)
    before = found_on_disk(project.home, words[:2])

    project.call("journal.forget", {"date": "2026-08-13", "time": "10:05"}, session_file=path)

    assert all(before.values())  # the search can fail
    assert not any(found_on_disk(project.home, words).values())


@pytest.mark.requirement("journal.forget.no_copy")
def test_of_what_is_forgotten_only_ids_are_kept_for_the_user_alone(project: Project) -> None:
    project.write_day(entry("10:05", "the password is hunter2zebra", session="sess9", turn="turn9", path="/t/a.jsonl"))

    project.call("journal.forget", {"date": "2026-08-13", "time": "10:05"})

    listed = forgotten.path(project.env)
    assert [json.loads(line) for line in listed.read_text().split("\n") if line] == [["sess9", "turn9", "/t/a.jsonl"]]
    assert listed.stat().st_mode & 0o777 == 0o600


@pytest.mark.requirement("journal.backfill.forgotten")
def test_where_the_ids_cannot_be_kept_the_answer_says_that_it_may_return(project: Project) -> None:
    project.write_day(entry("10:05", "one"))
    (project.home / ".local").write_text("in the way")

    answer = project.call("journal.forget", {"date": "2026-08-13", "time": "10:05"})

    assert answer["mayReturn"] is True
    assert "forgotten.jsonl cannot be written" in answer["text"]
    assert not project.day().exists()


TEXTS = st.text(alphabet="ab#`~ \n-", max_size=40)


@pytest.mark.requirement("journal.forget.exactly_one")
@given(st.lists(TEXTS, min_size=1, max_size=5), st.data())
def test_one_entry_goes_and_every_byte_of_the_others_stays(texts: list[str], data: st.DataObject) -> None:
    made = [
        entries.printed(f"10:0{number}", text, Anchor("s", f"t{number}", "/t/a.jsonl"))
        for number, text in enumerate(texts)
    ]
    chosen = data.draw(st.integers(0, len(made) - 1))
    block = list(entries.blocks("".join(made)))[chosen]

    left = entries.without("".join(made), block)

    assert (left or "") == "".join(made[:chosen] + made[chosen + 1 :])


ANCHORED = "<!-- session:cx turn:t1 transcript:/my files/rollout 1.jsonl -->\n"

MESH = {
    "one blank line": "## Session 09:00\n\n### 09:00\n- a\n### 09:01\n- b\n\n### 09:02\n- c\n",
    "no anchor": "\n## Session 09:00\n\n### 09:00\n- a\n\n### 09:01\n- b\n\n",
    "a bare session heading": "## Session 08:00\n\n## Session 09:00\n\n### 09:01\n- b\n\n",
    "a failed summary": "### 09:01\n"
    + ANCHORED
    + "- Memory summary unavailable: timeout; transcript content was omitted.\n\n",
    "our marker": "### 09:01\n" + ANCHORED + "- [pepys] distillation failed: x\n\n### 09:02\n- c\n",
    "their marker": "### 09:01\n" + ANCHORED + "- [pi-memsearch] distillation failed: x\n\n### 09:02\n- c\n",
    "windows line ends": "## Session 09:00\r\n\r\n### 09:00\r\n- a\r\n\r\n### 09:01\r\n- b\r\n",
    "a title and a compaction": "# 2026-08-13\n\n\n## Memory Compact 08:00\n\n- all\n\n### 09:01\n- b\n",
    "text of a person": "thoughts\n\n## Mine\n- kept\n\n### 09:01\n- b\n\n## Mine too\n- kept\n",
    "no line end at the end": "### 09:00\n- a\n\n### 09:01\n- b",
}


@pytest.mark.requirement("journal.mesh.variations")
@pytest.mark.parametrize("text", MESH.values(), ids=MESH)
def test_entries_of_the_mesh_are_forgotten_in_all_their_variations(project: Project, text: str) -> None:
    project.write_day(text)

    answer = project.call("journal.forget", {"date": "2026-08-13", "time": "09:01"})

    left = store.read(str(project.day()))
    removed = answer["removed"].split("\n")
    assert removed[0] == "### 09:01"
    kept = [line for line in text.replace("\r", "").split("\n") if line and line not in removed]
    kept = [line for line in kept if not line.startswith("## Session") or line in left]
    assert [line for line in left.replace("\r", "").split("\n") if line] == kept
    assert "- b" not in left
