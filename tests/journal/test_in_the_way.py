"""A store that cannot be read is no empty one, and no chunk of it is a chunk that does not exist."""

from __future__ import annotations

import pytest

from pepys.errors import MemoryNotFound, StoreUnavailable
from tests.journal.project import Project, entry
from tests.journal.unreadable import unreadable


@pytest.mark.requirement("journal.l2.unreadable")
@pytest.mark.parametrize("action", ["journal.expand", "journal.forget"])
def test_a_chunk_of_a_file_that_cannot_be_read_is_not_said_to_be_missing(
    project: Project, monkeypatch: pytest.MonkeyPatch, action: str
) -> None:
    project.write_day(entry("10:00", "moved the cache"))
    project.write_day(entry("10:00", "dropped varnish"), "2026-08-12")
    (hit,) = project.call("journal.search", {"query": "cache"})["hits"]
    unreadable(monkeypatch, project.day())

    with pytest.raises(StoreUnavailable, match=r"may stand in what cannot: .*2026-08-13.md \(Permission denied\)"):
        project.call(action, {"chunk_hash": hit["chunk_hash"]})
    monkeypatch.undo()
    with pytest.raises(MemoryNotFound, match="Chunk not found"):
        project.call(action, {"chunk_hash": "0" * 16})


@pytest.mark.requirement("journal.store.in_the_way")
@pytest.mark.parametrize("where", ["memory", ".memsearch"])
def test_a_file_in_the_place_of_the_store_is_said_by_everything_that_needs_the_store(
    project: Project, where: str
) -> None:
    blocking = project.store if where == "memory" else project.store.parent
    blocking.parent.mkdir(exist_ok=True)
    blocking.write_text("no directory")

    for action, args in (
        ("journal.forget", {"date": "2026-08-13", "time": "10:00"}),
        ("journal.forget", {"chunk_hash": "0" * 16}),
        ("journal.expand", {"chunk_hash": "0" * 16}),
        ("journal.write", {"content": "- x"}),
    ):
        with pytest.raises(StoreUnavailable, match=r"a directory|Not a directory") as failed:
            project.call(action, args)
        assert str(blocking) in str(failed.value)
        assert failed.value.hint
    assert f"[cannot be read: {blocking} is a file" in project.call("journal.snapshot")["snapshot"]
    assert "Not a directory" in project.call("journal.search", {"query": "x"})["text"]
    assert "Not a directory" in project.call("journal.status")["text"]
    assert blocking.read_text() == "no directory"
