"""A store on disk: bounds of reading, whole writes, freshness, and what stays after a failure."""

from __future__ import annotations

import os
import stat
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from pepys.errors import NotesUnavailable
from pepys.notes import markdown, store
from tests.notes.conftest import Desk

posix = pytest.mark.skipif(sys.platform == "win32", reason="no such files there")


def add(note: str) -> Callable[[str], str]:
    return lambda text: markdown.add(text, note)


def settle(path: Path, seconds: float = 10) -> os.stat_result:
    """Give a file a stamp that is no longer young."""
    then = time.time_ns() - int(seconds * 1e9)
    os.utime(path, ns=(then, then))
    return path.stat()


# Bounds


@posix
@pytest.mark.requirement("notes.symlink")
@pytest.mark.parametrize("target", ["real.md", "nowhere.md"])
def test_a_symbolic_link_is_refused_for_reading_and_writing(tmp_path: Path, target: str) -> None:
    (tmp_path / "real.md").write_text("- secret\n")
    link = tmp_path / "memory.md"
    link.symlink_to(tmp_path / target)

    seen = store.look(link)
    with pytest.raises(NotesUnavailable, match="symbolic link"):
        store.change(link, add("new"))

    assert (seen.notes, "symbolic link" in seen.trouble) == ((), True)
    assert link.is_symlink()
    assert sorted(os.listdir(tmp_path)) == ["memory.md", "real.md"]
    assert (tmp_path / "real.md").read_text() == "- secret\n"


@posix
@pytest.mark.requirement("notes.symlink")
def test_a_project_s_folder_that_leads_out_of_the_project_is_refused(desk: Desk, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "memory.md").write_text("- secret\n")
    (desk.project / ".pi").symlink_to(tmp_path / "elsewhere")

    listed, added = desk.memory("list"), desk.memory("add", "new")

    assert listed["project"] == []
    assert "leads out of the project" in listed["warnings"][0]
    assert added["error"]["code"] == "notes_unavailable"
    assert (tmp_path / "elsewhere" / "memory.md").read_text() == "- secret\n"


@posix
@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir], ids=["pipe", "folder"])
def test_what_is_no_file_is_refused_and_nobody_waits_for_it(tmp_path: Path, make: Callable[[Path], None]) -> None:
    path = tmp_path / "memory.md"
    make(path)

    assert "no regular file" in store.look(path).trouble
    with pytest.raises(NotesUnavailable, match="no regular file"):
        store.change(path, add("new"))


@pytest.mark.requirement("notes.read_cap", "notes.write_cap")
def test_a_store_has_at_most_256_kib_before_and_after(tmp_path: Path) -> None:
    path = tmp_path / "memory.md"
    full = b"- a\n" + b"x" * (256 * 1024 - 4)
    path.write_bytes(full)

    assert store.look(path).notes == ("a",)
    with pytest.raises(NotesUnavailable, match="would be over 256 KiB"):
        store.change(path, add("b"))
    assert path.read_bytes() == full
    assert store.change(path, lambda text: markdown.forget(text, "a"))
    path.write_bytes(full + b"x")
    assert store.look(path).trouble == f"{path} is over 256 KiB and is not read."
    assert (store.size(path), store.size(tmp_path), store.size(tmp_path / "none")) == (256 * 1024 + 1, 0, 0)
    with pytest.raises(NotesUnavailable, match="is over 256 KiB and is not read"):
        store.change(path, lambda text: "")
    assert os.listdir(tmp_path) == ["memory.md"]


# Writing


@pytest.mark.requirement("notes.prose_kept")
def test_bytes_that_are_not_utf_8_survive_every_change(tmp_path: Path) -> None:
    path = tmp_path / "memory.md"
    path.write_bytes(b"\xff\xfe\x00 junk\r\n- \x80 note\n- b\n")

    store.change(path, lambda text: markdown.update(markdown.add(text, "c"), "b", "d"))

    assert path.read_bytes() == b"\xff\xfe\x00 junk\r\n- \x80 note\n- d\n- c\n"
    assert store.look(path).notes == ("\ufffd note", "d", "c")


def test_a_half_of_a_character_from_outside_is_written_as_no_character(tmp_path: Path) -> None:
    path = tmp_path / "memory.md"

    store.change(path, lambda text: "- \ud83d\n")

    assert path.read_text("utf-8") == "- \ufffd\n"


@posix
def test_a_written_file_keeps_its_mode_and_a_new_one_follows_the_umask(tmp_path: Path) -> None:
    umask = os.umask(0o027)
    try:
        store.change(tmp_path / "new" / "memory.md", add("a"))
    finally:
        os.umask(umask)
    path = tmp_path / "memory.md"
    path.write_text("- a\n")
    path.chmod(0o604)

    store.change(path, add("b"))

    assert stat.S_IMODE((tmp_path / "new" / "memory.md").stat().st_mode) == 0o640
    assert stat.S_IMODE(path.stat().st_mode) == 0o604


@pytest.mark.requirement("notes.atomic")
def test_a_write_that_fails_leaves_the_old_file_and_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "memory.md"
    path.write_text("- a\n")

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(NotesUnavailable, match="No space left"):
        store.change(path, add("b"))

    assert (os.listdir(tmp_path), path.read_text()) == (["memory.md"], "- a\n")


@pytest.mark.requirement("notes.atomic")
def test_a_write_replaces_the_file_by_a_whole_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "memory.md"
    path.write_text("- a\n")
    seen: list[tuple[str, str]] = []
    replace = Path.replace

    def watched(self: Path, target: Path) -> Path:
        seen.append((path.read_text(), self.read_text()))
        return replace(self, target)

    monkeypatch.setattr(Path, "replace", watched)
    store.change(path, add("b"))

    assert seen == [("- a\n", "- a\n- b\n")]


@pytest.mark.requirement("notes.atomic")
def test_what_a_killed_writer_left_behind_is_removed_by_the_next(tmp_path: Path) -> None:
    path = tmp_path / "memory.md"
    path.write_text("- a\n")
    (tmp_path / ".memory.md.123-abc.tmp").write_text("half")
    (tmp_path / ".memory.md.lock").write_text("")
    (tmp_path / ".memory.md.mine").write_text("not ours")

    store.change(path, add("b"))

    assert sorted(os.listdir(tmp_path)) == [".memory.md.mine", "memory.md"]


def test_what_changes_nothing_writes_nothing_and_makes_no_folder(tmp_path: Path) -> None:
    path = tmp_path / "memory.md"
    path.write_text("- a\n")
    before = path.stat()

    changed = store.change(path, lambda text: text), store.change(tmp_path / "new" / "memory.md", lambda text: text)

    assert changed == (False, False)
    assert (path.stat().st_ino, path.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    assert os.listdir(tmp_path) == ["memory.md"]


def test_a_store_that_another_process_changes_for_long_is_not_waited_for_forever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pepys.index.lock import exclusive

    path = tmp_path / "memory.md"
    path.write_text("- a\n")
    monkeypatch.setattr(store, "LOCK_WAIT_S", 0.05)

    with (
        exclusive(str(tmp_path / ".memory.md.lock"), 0),
        pytest.raises(NotesUnavailable, match="another process"),
    ):
        store.change(path, add("b"))

    assert path.read_text() == "- a\n"
    assert store.change(path, add("b"))


def test_a_folder_that_cannot_be_made_is_an_error(tmp_path: Path) -> None:
    (tmp_path / ".pi").write_text("a file")

    with pytest.raises(NotesUnavailable, match="cannot be"):
        store.change(tmp_path / ".pi" / "memory.md", add("b"))


# Freshness


@pytest.mark.requirement("notes.hand_edit_seen")
def test_an_unchanged_file_is_not_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "memory.md"
    path.write_text("- a\n")
    settle(path)
    first = store.look(path)

    monkeypatch.setattr(store, "_read", None)  # whoever reads now fails
    again = store.look(path, first)

    assert again is first


@pytest.mark.requirement("notes.same_size_edit")
def test_an_edit_of_the_same_size_is_seen_by_its_nanoseconds(tmp_path: Path) -> None:
    path = tmp_path / "memory.md"
    path.write_text("- a\n")
    seen = settle(path)
    first = store.look(path)
    path.write_text("- b\n")
    os.utime(path, ns=(seen.st_mtime_ns, seen.st_mtime_ns + 1))

    assert store.look(path, first).notes == ("b",)


@pytest.mark.requirement("notes.same_size_edit")
def test_a_young_stamp_proves_nothing(tmp_path: Path) -> None:
    path = tmp_path / "memory.md"
    path.write_text("- a\n")
    first, seen = store.look(path), path.stat()
    path.write_text("- b\n")
    os.utime(path, ns=(seen.st_mtime_ns, seen.st_mtime_ns))

    assert store.look(path, first).notes == ("b",)


@pytest.mark.requirement("notes.reload")
def test_looking_anew_ignores_the_stamp(tmp_path: Path) -> None:
    path = tmp_path / "memory.md"
    path.write_text("- a\n")
    seen = settle(path)
    first = store.look(path)
    path.write_text("- b\n")
    os.utime(path, ns=(seen.st_mtime_ns, seen.st_mtime_ns))

    assert (store.look(path, first).notes, store.look(path, first, anew=True).notes) == (("a",), ("b",))


@posix
@pytest.mark.requirement("notes.last_good_view")
def test_a_store_that_becomes_unreadable_keeps_its_last_good_view_until_it_is_mended(tmp_path: Path) -> None:
    path = tmp_path / "memory.md"
    path.write_text("- a\n")
    good = store.look(path)
    path.write_text("- b\n" + "x" * store.MAX_BYTES)
    large = store.look(path, good)
    path.unlink()
    path.symlink_to("b")
    link = store.look(path, large)
    path.unlink()
    gone = store.look(path, link)
    path.write_text("- c\n")

    assert (large.notes, link.notes, gone.notes, store.look(path, gone).notes) == (("a",), ("a",), (), ("c",))
    assert ("256 KiB" in large.trouble, "symbolic" in link.trouble, gone.trouble) == (True, True, "")


@pytest.mark.requirement("notes.last_good_view")
def test_a_store_that_was_never_readable_is_empty_with_a_warning(desk: Desk) -> None:
    desk.write("x" * (store.MAX_BYTES + 1))
    desk.memory("add", "global fact", scope="global")

    listed = desk.memory("list")

    assert (listed["project"], listed["global"]) == ([], ["global fact"])
    assert "256 KiB" in listed["warnings"][0]
    assert "error" not in listed


@pytest.mark.requirement("notes.last_good_view", "notes.hand_edit_seen")
def test_a_session_sees_hand_edits_and_keeps_the_last_good_view(desk: Desk) -> None:
    desk.write("- a\n")
    first = desk.listed()
    desk.write("- a\n- b\n")
    second = desk.listed()
    desk.write("x" * (store.MAX_BYTES + 1))
    third = desk.memory("list")
    refused = desk.memory("add", "c")

    assert (first, second, third["project"], refused["project"]) == (["a"], ["a", "b"], ["a", "b"], ["a", "b"])
    assert refused["error"]["code"] == "notes_unavailable"
    assert "- a" in desk.workspace.call("notes.injection")["text"]
    with desk.open() as other:
        assert other.call("notes.injection")["text"] is None
