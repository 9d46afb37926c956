"""Daily files: appends that others' appends cannot spoil, and removals that take nothing else."""

from __future__ import annotations

import errno
import multiprocessing
import os
import threading
from datetime import datetime
from pathlib import Path

import pytest

from pepys.errors import MemoryChanged, StoreUnavailable
from pepys.journal import entries, store
from pepys.journal.entries import Anchor
from tests.journal.project import Project, entry

NOON = datetime(2026, 8, 13, 12, 0)


def origin(session: str = "s1", turn: str = "t1") -> Anchor:
    return Anchor(session, turn, "/t/a.jsonl")


@pytest.mark.requirement("journal.format.day_file")
def test_an_entry_goes_into_the_file_of_its_local_day(tmp_path: Path) -> None:
    path = store.append(str(tmp_path / "new" / "memory"), NOON, "- x", origin())

    assert path == str(tmp_path / "new" / "memory" / "2026-08-13.md")
    assert Path(path).read_text() == "\n## Session 12:00\n\n" + entry("12:00", "x", session="s1", turn="t1")


@pytest.mark.requirement("journal.format.session_heading", "journal.writers.heading_once")
def test_a_session_has_one_heading_a_file(tmp_path: Path) -> None:
    for minute, session in enumerate(["s1", "s2", "s1", "s2"]):
        store.append(str(tmp_path), NOON.replace(minute=minute), f"- {minute}", origin(session))

    text = (tmp_path / "2026-08-13.md").read_text()
    assert [line for line in text.split("\n") if line.startswith("## ")] == ["## Session 12:00", "## Session 12:01"]


@pytest.mark.parametrize("others", ["", "\n## Session 11:00\n\n" + entry("11:00", "x" * 200, session="s2")])
def test_a_file_that_another_process_emptied_begins_with_the_sessions_heading_again(
    tmp_path: Path, others: str
) -> None:
    path = Path(store.append(str(tmp_path), NOON, "- x", origin()))
    path.unlink()
    if others:
        (tmp_path / "other").write_text(others)
        (tmp_path / "other").rename(path)

    store.append(str(tmp_path), NOON, "- y", origin())

    assert path.read_text() == others + "\n## Session 12:00\n\n" + entry("12:00", "y", session="s1", turn="t1")


@pytest.mark.requirement("journal.writers.heading_seed")
def test_a_fresh_process_reads_once_whether_the_heading_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.append(str(tmp_path), NOON, "- one", origin())
    monkeypatch.setattr(store, "_HEADED", {})
    reads: list[str] = []
    read = store.read

    def counted(path: str) -> str:
        reads.append(path)
        return read(path)

    monkeypatch.setattr(store, "read", counted)

    store.append(str(tmp_path), NOON, "- two", origin())
    store.append(str(tmp_path), NOON, "- three", origin())

    assert (tmp_path / "2026-08-13.md").read_text().count("## Session") == 1
    assert len(reads) == 1


def test_a_heading_that_could_not_be_written_is_written_later(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(descriptor: int, data: bytes) -> int:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", full)
        with pytest.raises(StoreUnavailable, match="No space"):
            store.append(str(tmp_path), NOON, "- lost", origin())

    store.append(str(tmp_path), NOON, "- kept", origin())

    assert "## Session 12:00" in (tmp_path / "2026-08-13.md").read_text()


@pytest.mark.requirement("journal.writers.one_write")
def test_an_entry_is_one_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[bytes] = []
    write = os.write

    def counted(at: int, data: bytes) -> int:
        written.append(data)
        return write(at, data)

    monkeypatch.setattr(os, "write", counted)

    store.append(str(tmp_path), NOON, "- x\n" * 500, origin())

    assert len(written) == 1


def _write_many(folder: str, name: str) -> None:
    for number in range(50):
        store.append(folder, NOON, f"- {name} {number} " + "x" * 200, origin(name, f"t{number}"))


@pytest.mark.requirement("journal.writers.nothing_lost", "journal.writers.no_interleaving")
def test_writers_of_many_processes_lose_nothing_and_interleave_nothing(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    writers = [context.Process(target=_write_many, args=(str(tmp_path), f"s{name}")) for name in range(4)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()

    text = (tmp_path / "2026-08-13.md").read_text()
    found = [(block.anchor.session, block.text.split("\n")[2]) for block in entries.blocks(text) if block.anchor]
    assert sorted(found) == sorted(
        (f"s{name}", f"- s{name} {number} " + "x" * 200) for name in range(4) for number in range(50)
    )


def test_an_entry_after_a_summary_stands_apart_from_it(tmp_path: Path) -> None:
    store.append(str(tmp_path), NOON, "- x", origin())
    store.append_text(str(tmp_path), NOON.date(), "\n## Memory Compact\n\n- all of it\n")

    path = store.append(str(tmp_path), NOON, "- y", origin())

    assert "- all of it\n\n### 12:00\n" in Path(path).read_text()
    assert "\n\n\n### " not in Path(path).read_text()


def test_a_line_that_an_editor_left_open_does_not_swallow_the_entry(tmp_path: Path) -> None:
    (tmp_path / "2026-08-13.md").write_text("session:s1 is known here")

    store.append(str(tmp_path), NOON, "- x", origin())

    assert (tmp_path / "2026-08-13.md").read_text().startswith("session:s1 is known here\n\n### 12:00\n")


def test_without_a_session_an_entry_has_no_anchor(tmp_path: Path) -> None:
    store.append(str(tmp_path), NOON, "- x")
    store.append(str(tmp_path), NOON, "- y")

    assert (tmp_path / "2026-08-13.md").read_text() == ("\n## Session 12:00\n\n### 12:00\n- x\n\n### 12:00\n- y\n\n")


def test_bytes_that_are_not_utf_8_are_read_and_kept(tmp_path: Path) -> None:
    path = tmp_path / "2026-08-13.md"
    path.write_bytes(b"### 10:00\n- \xff\n\n### 10:05\n- two\n")

    (first, second) = entries.blocks(store.read(str(path)))
    store.remove(str(path), second)

    assert first.text == "### 10:00\n- \ufffd"
    assert path.read_bytes() == b"### 10:00\n- \xff\n\n"


def test_a_removal_refuses_what_is_no_longer_there(tmp_path: Path) -> None:
    path = tmp_path / "2026-08-13.md"
    path.write_text(entry("10:00", "one") + entry("10:05", "two"))
    second = list(entries.blocks(store.read(str(path))))[1]
    path.write_text(entry("10:05", "two"))

    with pytest.raises(MemoryChanged):
        store.remove(str(path), second)

    assert path.read_text() == entry("10:05", "two")


def test_what_another_writer_appends_to_the_old_file_at_that_moment_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "2026-08-13.md"
    path.write_text(entry("10:00", "one") + entry("10:05", "two"))
    first = next(entries.blocks(store.read(str(path))))
    late = path.open("a")  # an agent that has opened the file and writes only after it was replaced
    replace = store._replace

    def meanwhile(at: str, text: str) -> None:
        replace(at, text)
        late.write(entry("10:10", "three"))
        late.close()

    monkeypatch.setattr(store, "_replace", meanwhile)
    store.remove(str(path), first)

    assert path.read_text() == entry("10:05", "two") + entry("10:10", "three")


def test_a_removal_leaves_mode_and_neighbours_alone(tmp_path: Path) -> None:
    path = tmp_path / "2026-08-13.md"
    path.write_text(entry("10:00", "one") + entry("10:05", "two"))
    path.chmod(0o640)

    store.remove(str(path), next(entries.blocks(store.read(str(path)))))

    assert path.stat().st_mode & 0o777 == 0o640
    assert [each.name for each in tmp_path.iterdir()] == ["2026-08-13.md"]


def test_threads_of_one_process_write_one_heading(tmp_path: Path) -> None:
    threads = [threading.Thread(target=store.append, args=(str(tmp_path), NOON, "- x", origin())) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert (tmp_path / "2026-08-13.md").read_text().count("## Session") == 1


@pytest.mark.requirement("journal.store.links")
def test_a_daily_file_that_is_a_link_to_a_file_elsewhere_is_neither_read_nor_written(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("### 10:00\n- walrus\n")
    memory = tmp_path / "memory"
    memory.mkdir()
    (memory / "2026-08-13.md").symlink_to(secret)

    with pytest.raises(StoreUnavailable, match="link"):
        store.append(str(memory), NOON, "- x", origin())

    assert store.read(str(memory / "2026-08-13.md")) == ""
    assert secret.read_text() == "### 10:00\n- walrus\n"


@pytest.mark.requirement("journal.store.links")
def test_a_store_may_be_a_link_and_a_file_a_link_within_it(tmp_path: Path) -> None:
    (tmp_path / "mesh").mkdir()
    (tmp_path / "memory").symlink_to(tmp_path / "mesh")
    (tmp_path / "mesh" / "real.md").write_text("### 10:00\n- one\n\n")
    (tmp_path / "mesh" / "2026-08-13.md").symlink_to("real.md")

    store.append(str(tmp_path / "memory"), NOON, "- two", origin())

    assert "- two" in (tmp_path / "mesh" / "real.md").read_text()


def _forget_all(folder: str, session: str) -> None:
    path = store.day_file(folder, NOON.date())
    for turn in range(20):
        for block in list(entries.blocks(store.read(path))):
            if block.anchor and (block.anchor.session, block.anchor.turn) == (session, f"t{turn}"):
                while True:
                    try:
                        store.remove(path, block)
                        break
                    except MemoryChanged:  # the other one was quicker: the lines have moved
                        (block,) = [each for each in entries.blocks(store.read(path)) if each.anchor == block.anchor]


@pytest.mark.requirement("journal.forget.exactly_one")
def test_two_that_forget_at_the_same_time_bring_nothing_back(tmp_path: Path) -> None:
    for turn in range(20):
        for session in ("s0", "s1", "s2"):
            store.append(str(tmp_path), NOON, f"- {session} {turn}", origin(session, f"t{turn}"))
    context = multiprocessing.get_context("spawn")
    forgetting = [context.Process(target=_forget_all, args=(str(tmp_path), session)) for session in ("s0", "s1")]
    for each in forgetting:
        each.start()
    for each in forgetting:
        each.join()

    left = [
        block.anchor.session for block in entries.blocks(store.read(str(tmp_path / "2026-08-13.md"))) if block.anchor
    ]
    assert left == ["s2"] * 20


def test_a_file_that_is_gone_when_it_should_be_changed_is_told(tmp_path: Path) -> None:
    (tmp_path / "2026-08-13.md").write_text(entry("10:00", "one"))
    path = str(tmp_path / "2026-08-13.md")
    block = next(entries.blocks(store.read(path)))
    Path(path).unlink()

    with pytest.raises(MemoryChanged, match="gone"):
        store.remove(path, block)


def test_a_store_that_cannot_be_written_is_an_error_that_names_it(tmp_path: Path) -> None:
    (tmp_path / "memory").write_text("a file")

    with pytest.raises(StoreUnavailable, match="memory"):
        store.append(str(tmp_path / "memory"), NOON, "- x", origin())


@pytest.mark.requirement("journal.store.in_the_way")
def test_a_pipe_in_the_place_of_a_day_is_refused_and_waited_for_by_nothing(project: Project) -> None:
    project.store.mkdir(parents=True)
    os.mkfifo(project.day())

    for ref, args in (
        ("journal.write", {"content": "- x"}),
        ("journal.forget", {"date": "2026-08-13", "time": "10:00"}),
    ):
        with pytest.raises(StoreUnavailable, match="Not a regular file"):
            project.call(ref, args)
    assert "Not a regular file" in project.call("journal.snapshot")["snapshot"]
    assert store.unread(str(project.store)) == {str(project.day()): "Not a regular file"}


def test_a_link_to_itself_is_called_what_it_is(project: Project) -> None:
    project.store.mkdir(parents=True)
    loop = project.store / "loop.md"
    loop.symlink_to(loop)

    assert store.unread(str(project.store)) == {str(loop): os.strerror(errno.ELOOP)}
