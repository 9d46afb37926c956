"""The index is a convenience: whatever happens to it, answers are right and say how they were found."""

from __future__ import annotations

import os
import shutil
import sqlite3
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from pepys.errors import IndexUnavailable
from pepys.hosts.reading import examine
from pepys.index import apply, overlay
from pepys.index.engines.tantivy import TantivyEngine
from pepys.index.lock import exclusive
from pepys.index.view import View
from pepys.model.lineage import Live
from pepys.workspace import Workspace
from tests.index.history_files import Agent, aged, append, entry, found, header, jsonl, recall, thinking


@pytest.fixture
def agent(tmp_path: Path) -> Iterator[Agent]:
    before = os.umask(0o022)
    yield Agent(tmp_path)
    os.umask(before)


def reasons(workspace: Workspace, **request: object) -> list[str]:
    return list(recall(workspace, **request)["coverage"]["reasons"])


def test_below_a_regular_file_everything_is_scanned(agent: Agent) -> None:
    path = agent.talk("s1", "alpha", "beta")
    with agent.open(agent.unusable()) as workspace:
        before = found(workspace, "alpha")
        append(path, entry("new", "s1-1", "alpha again"))

        after = found(workspace, "alpha")

        assert (before, after) == (["s1-0"], ["new", "s1-0"])
        assert reasons(workspace, query="alpha") == ["index_unavailable"]


def test_an_explicit_refresh_says_that_the_directory_cannot_be_used(agent: Agent) -> None:
    agent.talk("s1", "alpha")

    with agent.open(agent.unusable()) as workspace, pytest.raises(IndexUnavailable):
        workspace.history.refresh()


def indexed(agent: Agent) -> Path:
    """A small index of two sessions; its folder."""
    aged(agent.talk("s1", "alpha", "beta"), agent.talk("s2", "alpha gamma"))
    with agent.open() as workspace:
        workspace.history.refresh()
        return Path(workspace.history.directory)


def overwrite(path: Path) -> None:
    path.write_bytes(os.urandom(path.stat().st_size))


def without_wal(folder: Path) -> Path:
    """The catalog, everything being in its own file."""
    catalog = folder / "catalog.sqlite"
    with sqlite3.connect(catalog) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    db.close()
    return catalog


def of_another_schema(folder: Path) -> None:
    with sqlite3.connect(folder / "catalog.sqlite") as db:
        db.execute("UPDATE meta SET value = '999' WHERE key = 'schema'")
    db.close()


def with_damaged_pages(folder: Path) -> None:
    catalog = without_wal(folder)
    data = bytearray(catalog.read_bytes())
    data[4096:] = os.urandom(len(data) - 4096)
    catalog.write_bytes(data)


def cut(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def each_text_file(folder: Path, damage: Callable[[Path], None]) -> None:
    for path in (folder / "text").iterdir():
        if path.suffix not in (".lock", ".json"):
            damage(path)


def remove(*paths: Path) -> None:
    for path in paths:
        path.unlink()


def replaced_by_a_directory(folder: Path) -> None:
    remove(*folder.glob("catalog*"))
    (folder / "catalog.sqlite").mkdir()


def replaced_by_a_file(folder: Path) -> None:
    shutil.rmtree(folder / "text")
    (folder / "text").touch()


DAMAGE: dict[str, Callable[[Path], object]] = {
    "catalog of random bytes": lambda folder: overwrite(without_wal(folder)),
    "catalog cut": lambda folder: cut(without_wal(folder)),
    "catalog with damaged pages": with_damaged_pages,
    "catalog of another schema": of_another_schema,
    "catalog empty": lambda folder: os.truncate(without_wal(folder), 0),
    "catalog gone": lambda folder: remove(*folder.glob("catalog*")),
    "text gone": lambda folder: shutil.rmtree(folder / "text"),
    "text empty": lambda folder: remove(*(folder / "text").iterdir()),
    "text without its list": lambda folder: (folder / "text" / "meta.json").unlink(),
    "text with a broken list": lambda folder: (folder / "text" / "meta.json").write_text("{"),
    "text cut": lambda folder: each_text_file(folder, cut),
    "text files gone": lambda folder: each_text_file(folder, Path.unlink),
    "a directory where the catalog was": replaced_by_a_directory,
    "a file where the text was": replaced_by_a_file,
}


@pytest.mark.requirement("cache.malformed_rebuilt")
@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
@pytest.mark.parametrize("refresh", [False, True], ids=["asked", "refreshed"])
def test_a_damaged_index_is_made_anew_without_being_asked(
    agent: Agent, damage: Callable[[Path], object], refresh: bool
) -> None:
    damage(indexed(agent))

    with agent.open() as workspace:
        if refresh:
            workspace.history.refresh()
        ids = found(workspace, "alpha")

        assert ids == ["s1-0", "s2-0"]
        assert workspace.history.status().trouble == ""
        assert reasons(workspace, query="alpha") == []


def test_the_status_of_a_damaged_index_says_so(agent: Agent) -> None:
    overwrite(without_wal(indexed(agent)))

    with agent.open() as workspace:
        status = workspace.history.status()

    assert status.trouble


def test_a_damaged_index_that_cannot_be_removed_is_left_aside(agent: Agent) -> None:
    folder = indexed(agent)
    with_damaged_pages(folder)

    with exclusive(str(folder / "lock"), 0) as obtained, agent.open() as workspace:
        ids = found(workspace, "alpha")

    assert obtained
    assert ids == ["s1-0", "s2-0"]


def test_a_text_index_left_over_from_a_lost_catalog_is_not_taken_for_the_new_ones(agent: Agent) -> None:
    folder = indexed(agent)
    for path in folder.glob("catalog*"):
        path.unlink()
    agent.talk("s1", "other")
    agent.talk("s2", "words")

    with agent.open() as workspace:
        total = recall(workspace, query="alpha")["total"]

    assert total == 0


FULL_DISK = """
import resource, sys
sys.path[:0] = {paths!r}
resource.setrlimit(resource.RLIMIT_FSIZE, ({size}, {size}))
from pathlib import Path
from tests.index.history_files import Agent, found, recall
Agent.__init__ = lambda self, home: setattr(self, "home", home)
with Agent(Path({home!r})).open() as workspace:
    print(found(workspace, "alpha"), recall(workspace, query="alpha")["coverage"]["reasons"])
"""


@pytest.mark.skipif(sys.platform != "linux", reason="file size limits are set as on Linux")
@pytest.mark.parametrize("size", [0, 1000, 20_000, 100_000])
def test_a_full_disk_means_scanning(agent: Agent, size: int) -> None:
    agent.talk("s1", "alpha", *[f"filler words in number {at}" for at in range(400)])
    program = FULL_DISK.format(paths=sys.path, size=size, home=str(agent.home))

    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)
    with agent.open() as workspace:
        afterwards = found(workspace, "alpha")

    assert run.stdout.splitlines() in (["['s1-0'] ['index_unavailable']"], ["['s1-0'] []"]), run.stderr[-2000:]
    assert afterwards == ["s1-0"]


@pytest.mark.requirement("privacy.thinking_leaves", "lineage.policy_change")
def test_thinking_leaves_the_index_with_the_permission_to_index_it(agent: Agent) -> None:
    agent.session("s1", entry("u", None, "question"), thinking("t", "u", "secretthought", "answer"))
    with agent.open(config={"memory": {"indexThinking": True}}) as workspace:
        allowed = found(workspace, "secretthought")
    before = kept(agent)

    with agent.open() as workspace:
        ids = found(workspace, "secretthought"), found(workspace, "answer")
    after = kept(agent)

    assert (allowed, ids) == (["t"], ([], ["t"]))
    assert (before.documents, after.documents) == (1, 0)
    assert before.segments and after.segments and not before.segments & after.segments


def test_thinking_leaves_the_index_even_if_there_is_nothing_left_to_index(agent: Agent) -> None:
    path = agent.session("s1", thinking("t", None, "secretthought", "answer"))
    with agent.open(config={"memory": {"indexThinking": True}}) as workspace:
        workspace.history.refresh()
    before = kept(agent)
    path.unlink()

    with agent.open() as workspace:
        workspace.history.refresh()
    after = kept(agent)

    assert before.documents == 1
    assert (after.documents, after.segments) == (0, frozenset())


class Kept(NamedTuple):
    """What the text index holds of a thought."""

    documents: int
    segments: frozenset[str]  # names of files, which are never used twice; the tokens in them are compressed


def kept(agent: Agent) -> Kept:
    text = agent.home / "index" / "pepys-1" / "text"
    engine = TantivyEngine(str(text), writable=False)
    names = frozenset(path.name for path in text.iterdir() if path.suffix not in (".json", ".lock"))
    return Kept(engine.frequency("thinking", "secretthought"), names)


@pytest.mark.requirement("cache.private_modes")
@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])
def test_everything_is_private_whatever_the_umask(agent: Agent, umask: int) -> None:
    agent.talk("s1", "alpha")
    os.umask(umask)

    with agent.open("deep/down/index") as workspace:
        found(workspace, "alpha")
        append(agent.folder / "s1.jsonl", entry("new", "s1-0", "alpha"))
        found(workspace, "alpha")
        modes = {
            (path.is_dir(), stat.S_IMODE(path.stat().st_mode))
            for path in [agent.home / "deep", *(agent.home / "deep").rglob("*")]
        }

    assert modes == {(True, 0o700), (False, 0o600)}


@pytest.mark.requirement("coverage.source_unavailable")
def test_an_unreadable_source_keeps_its_last_good_rows_and_says_why(
    agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = agent.talk("s1", "alpha")
    agent.talk("s2", "beta")

    def refused(host: Any, name: str, previous: Any = None) -> Any:
        if name == str(path):
            raise PermissionError(13, "Permission denied", name)
        return examine(host, name, previous)

    with agent.open() as workspace:
        workspace.history.refresh()
        append(path, entry("new", "s1-0", "alpha"))
        monkeypatch.setattr(apply, "examine", refused)
        monkeypatch.setattr(overlay, "examine", refused)

        page = recall(workspace, query="alpha")
        refreshed = workspace.history.refresh()

        assert [hit["entryId"] for hit in page["hits"]] == ["s1-0"]
        assert page["coverage"]["reasons"] == ["source_unavailable"]
        assert (page["coverage"]["complete"], page["coverage"]["staleSessions"]) == (False, 1)
        assert refreshed.failed == {str(path): "source_unavailable"}
        monkeypatch.undo()
        assert found(workspace, "alpha") == ["new", "s1-0"]


def test_an_excluded_source_is_eligible_but_not_looked_at(agent: Agent) -> None:
    path = agent.talk("s1", "alpha")
    agent.talk("s2", "alpha")
    with agent.open() as workspace:
        workspace.history.refresh()

    with agent.open(config={"index": {"exclude": [str(path)]}}) as workspace:
        page = recall(workspace, query="alpha")
        workspace.history.refresh()
        sources = workspace.history.status().sources
    with agent.open() as workspace:
        again = found(workspace, "alpha")

    assert [hit["entryId"] for hit in page["hits"]] == ["s2-0"]
    assert page["coverage"]["reasons"] == ["excluded_by_configuration"]
    assert page["coverage"]["eligibleSessions"] == 2
    assert sources == 1
    assert again == ["s1-0", "s2-0"]


def test_without_patience_the_newest_sources_come_first_and_the_rest_later(
    agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    aged(*(agent.talk(f"s{at}", "alpha") for at in range(5)))
    monkeypatch.setattr(apply, "BATCH_BYTES", 1)

    with agent.open(patience_s=0) as workspace:
        answers = [recall(workspace, query="alpha")]
        while len(answers) < 30 and not answers[-1]["coverage"]["complete"]:
            time.sleep(0.01)  # stamps younger than the clock's tick are looked at again
            answers.append(recall(workspace, query="alpha"))

    assert [hit["entryId"] for hit in answers[0]["hits"]] == ["s4-0"]
    assert answers[0]["coverage"]["reasons"] == ["catching_up"]
    assert answers[0]["coverage"]["complete"] is False
    assert answers[-1]["total"] == 5
    assert answers[-1]["coverage"]["complete"] is True


def test_without_patience_a_source_that_grew_is_not_called_complete(
    agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = [agent.talk(f"s{at}", "alpha") for at in range(3)]
    monkeypatch.setattr(apply, "BATCH_BYTES", 1)
    with agent.open() as workspace:
        workspace.history.refresh()
    for path in paths:
        append(path, entry(f"{path.stem}-new", f"{path.stem}-0", "beta"))

    with agent.open(patience_s=0) as workspace:
        page = recall(workspace, query="beta")

    assert page["total"] < 3
    assert page["coverage"]["complete"] is False
    assert "catching_up" in page["coverage"]["reasons"]


def test_two_files_of_one_session_give_identical_entries_once_and_name_the_file(agent: Agent) -> None:
    path = agent.session("s1", entry("a", None, "alpha one"), entry("b", "a", "alpha two"))
    copy = agent.folder / "copy.jsonl"
    copy.write_bytes(jsonl(header("s1"), entry("a", None, "alpha one"), entry("b", "a", "alpha three")))
    aged(path, copy)

    with agent.open() as workspace:
        hits = recall(workspace, query="alpha")["hits"]

    assert sorted((hit["entryId"], Path(hit["file"]).name) for hit in hits) == [
        ("a", "copy.jsonl"),
        ("b", "copy.jsonl"),
        ("b", "s1.jsonl"),
    ]


@pytest.mark.requirement("branches.live_navigation")
def test_a_live_branch_wins_over_the_persisted_one(agent: Agent) -> None:
    path = agent.session(
        "s1", entry("a", None, "alpha"), entry("b", "a", "alpha left"), entry("c", "a", "alpha right", second=1)
    )

    with agent.open() as workspace:
        persisted = found(workspace, "alpha")
    with agent.open(session_file=path, live=Live("b", ("a", "b"))) as workspace:
        live = found(workspace, "alpha", scope="session"), found(workspace, "alpha", scope="session", branches="all")

    assert persisted == ["a", "c"]
    assert live == (["a", "b"], ["a", "b", "c"])


def test_subagents_are_left_out_counted_and_found_when_asked_for(tmp_path: Path) -> None:
    folder = tmp_path / "agent" / "sessions" / "-project-"
    (folder / "s1").mkdir(parents=True)
    (folder / "s1.jsonl").write_bytes(jsonl(header("s1"), entry("a", None, "alpha")))
    (folder / "s1" / "task.jsonl").write_bytes(jsonl(header("task"), entry("b", None, "alpha")))
    agent = Agent(tmp_path / "other")
    agent.home = tmp_path

    with agent.open(host="omp") as workspace:
        page = recall(workspace, query="alpha")
        asked = found(workspace, "alpha", subagents=True)

    assert [hit["entryId"] for hit in page["hits"]] == ["a"]
    assert page["coverage"]["subagentSessionsLeftOut"] == 1
    assert asked == ["a", "b"]


def test_a_source_that_turns_out_to_be_another_hosts_is_read_from_its_beginning(agent: Agent) -> None:
    path = agent.talk("s1", "alpha", "alpha beta")
    with agent.open() as workspace:
        workspace.history.refresh()
    roots = workspace.history.roots

    with agent.open() as workspace:
        workspace.history.roots = tuple(root._replace(host="omp") for root in roots)
        append(path, entry("new", "s1-1", "alpha"))
        ids = found(workspace, "alpha")
        rows: Any = workspace.call("memory.sessions", {"scope": "global"})["sessions"]

    assert ids == ["new", "s1-0", "s1-1"]
    assert [row["host"] for row in rows] == ["omp"]


def test_what_pepys_itself_wrote_is_found_only_when_asked_for(agent: Agent) -> None:
    own: dict[str, object] = {
        "type": "custom_message",
        "id": "own",
        "parentId": "a",
        "timestamp": "2026-03-01T10:00:00.000Z",
    }
    own |= {"customType": "pepys-recall", "content": "alpha", "display": True}
    agent.session("s1", entry("a", None, "alpha"), own, entry("b", "own", "alpha"))

    with agent.open() as workspace:
        page = recall(workspace, query="alpha")
        asked = found(workspace, "alpha", includeOwn=True)
        rows: Any = workspace.call("memory.sessions", {"scope": "global"})["sessions"]

    assert sorted(hit["entryId"] for hit in page["hits"]) == ["a", "b"]
    assert (page["total"], page["coverage"]["ownEntriesLeftOut"]) == (2, 1)
    assert asked == ["a", "b", "own"]
    assert [row["entryCount"] for row in rows] == [3]


@pytest.mark.parametrize("failures", range(4))
def test_stores_that_break_while_they_are_read_do_not_reach_the_answer(agent: Agent, failures: int) -> None:
    path = str(agent.talk("s1", "alpha", "beta"))
    made: list[int] = []

    def question(view: View) -> list[str]:
        made.append(1)
        if len(made) <= failures:
            raise sqlite3.DatabaseError("database disk image is malformed")
        return [row.id for row in view.rows(view.sources[path])]

    with agent.open() as workspace:
        workspace.history.refresh()
        ids = workspace.history.answer(question)
        again = found(workspace, "alpha")

    assert (ids, again) == (["s1-0", "s1-1"], ["s1-0"])


@pytest.mark.requirement("cache.deleted_sessions")
def test_a_session_that_is_gone_leaves_the_index(agent: Agent) -> None:
    path = agent.session("s1", thinking("t", None, "secretthought", "answer"))
    agent.talk("s2", "alpha")
    with agent.open(config={"memory": {"indexThinking": True}}) as workspace:
        workspace.history.refresh()
        before = kept(agent).documents, workspace.history.status().sources
        path.unlink()

        refreshed = workspace.history.refresh()
        engine = TantivyEngine(f"{workspace.history.directory}/text", writable=False)
        after = engine.documents, workspace.history.status().sources

    assert refreshed.removed == 1
    assert (before, after) == ((1, 2), (1, 1))
