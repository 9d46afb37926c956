"""Several processes at one index: one writes, none waits long, all answer alike."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from pepys.index.lock import exclusive
from pepys.index.source import Row
from pepys.index.view import View
from tests.index.history_files import Agent, append, entry, found, recall

START = """
import json, sys
sys.path[:0] = {paths!r}
from pathlib import Path
from pepys.index import apply
from tests.index.history_files import Agent, append, entry, found, recall
apply.BATCH_BYTES = 3000
Agent.__init__ = lambda self, home: setattr(self, "home", home)
agent = Agent(Path({home!r}))
"""
ASKING = (
    START
    + """
seen = []
for turn in range(5):
    with agent.open() as workspace:
        page = workspace.call("memory.recall", {{"query": "alpha", "scope": "global", "pageSize": 50}})
        ids = [hit["entryId"] for hit in page["hits"]]
        seen.append([page["total"], len(ids) - len(set(ids))])
with agent.open() as workspace:
    workspace.history.refresh()
    page = recall(workspace, query="alpha beta")
last = [[hit["entryId"], hit["index"]] for hit in page["hits"]]
print(json.dumps({{"seen": seen, "last": last, "total": page["total"]}}))
"""
)
GROWING = (
    START
    + """
path = Path({path!r})
for turn in range(40):
    append(path, entry(f"g{{turn}}", None, "gamma"))
    with agent.open() as workspace:
        workspace.history.refresh()
"""
)

WRITING = (
    START
    + """
from pepys.index.catalog import Catalog
Catalog(str(agent.home / "index" / "pepys-1" / "catalog.sqlite"), writable=True).close()
"""
)


def started(program: str, agent: Agent, **more: str) -> subprocess.Popen[str]:
    code = program.format(paths=sys.path, home=str(agent.home), **more)
    return subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def result(process: subprocess.Popen[str]) -> Any:
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    return json.loads(out) if out else None


def test_four_processes_that_begin_at_once_answer_alike(tmp_path: Path) -> None:
    agent = Agent(tmp_path)
    for at in range(15):
        agent.talk(f"s{at}", *(f"alpha number {word}" for word in range(20)), "alpha beta")

    results = [result(process) for process in [started(ASKING, agent) for _ in range(4)]]

    for each in results:
        assert each["seen"] == [[315, 0]] * 5
    assert [each["total"] for each in results] == [315] * 4
    assert all(sorted(each["last"]) == sorted(results[0]["last"]) for each in results)


def test_while_another_process_indexes_the_tail_is_scanned(tmp_path: Path) -> None:
    agent = Agent(tmp_path)
    path = agent.talk("s1", "alpha")
    with agent.open() as workspace:
        workspace.history.refresh()
        lock = f"{workspace.history.directory}/lock"
    append(path, entry("new", "s1-0", "alpha just now"))

    with exclusive(lock, 0) as obtained, agent.open() as workspace:
        page = recall(workspace, query="alpha")
        expanded: Any = workspace.call("memory.expand", {"session": str(path), "entryIds": ["new"]})

    assert obtained
    assert sorted(hit["entryId"] for hit in page["hits"]) == ["new", "s1-0"]
    assert page["coverage"]["reasons"] == ["index_busy"]
    assert page["coverage"]["complete"] is True
    assert expanded["entries"][0]["text"] == "alpha just now"


def test_the_first_index_of_another_process_is_not_waited_for(tmp_path: Path) -> None:
    agent = Agent(tmp_path)
    agent.talk("s1", "alpha")
    folder = tmp_path / "index" / "pepys-1"
    folder.mkdir(parents=True)

    with exclusive(str(folder / "lock"), 0), agent.open() as workspace:
        page = recall(workspace, query="alpha")

    assert (page["total"], page["coverage"]["reasons"]) == (1, ["index_busy"])


@pytest.mark.requirement("privacy.index_deletion", "truth.index_derived")
def test_an_index_removed_under_an_open_one_is_made_anew(tmp_path: Path) -> None:
    agent = Agent(tmp_path)
    path = agent.talk("s1", "alpha")
    with agent.open() as workspace:
        before = found(workspace, "alpha")
        shutil.rmtree(workspace.history.directory)

        after = found(workspace, "alpha")
        append(path, entry("new", "s1-0", "alpha"))

        assert (before, after) == (["s1-0"], ["s1-0"])
        assert found(workspace, "alpha") == ["new", "s1-0"]
        assert recall(workspace, query="alpha")["coverage"]["reasons"] == []
        assert workspace.history.status().exists


def test_a_deletion_by_another_process_is_noticed(tmp_path: Path) -> None:
    agent = Agent(tmp_path)
    path = agent.talk("s1", "alpha")
    with agent.open() as reader, agent.open() as other:
        reader.history.refresh()
        found(reader, "alpha")

        removed = other.history.delete(), other.history.delete()
        append(path, entry("new", "s1-0", "alpha"))

        assert removed == (True, False)
        assert found(reader, "alpha") == ["new", "s1-0"]
        assert found(other, "alpha") == ["new", "s1-0"]


def test_deletions_during_queries_disturb_nobody(tmp_path: Path) -> None:
    agent = Agent(tmp_path)
    for at in range(10):
        agent.talk(f"s{at}", *("alpha" for _ in range(31)), "alpha beta")

    processes = [started(ASKING, agent) for _ in range(3)]
    with agent.open() as workspace:
        while any(process.poll() is None for process in processes):
            workspace.history.delete()
    results = [result(process) for process in processes]

    for each in results:
        assert each["seen"] == [[320, 0]] * 5
        assert each["total"] == 320


def test_a_reader_that_stays_open_sees_what_other_processes_write(tmp_path: Path) -> None:
    agent = Agent(tmp_path)
    path = agent.talk("s1", "alpha")
    with agent.open() as reader:
        reader.history.refresh()
        for turn in range(3):
            append(path, entry(f"own{turn}", None, "gamma"))
            reader.history.refresh()
            process = started(GROWING, agent, path=str(path))
            while process.poll() is None:
                ids = found(reader, "gamma", branches="all")
                assert max(Counter(ids).values()) <= turn + 1
            result(process)

            total = recall(reader, query="gamma", branches="all")["total"]

            assert total == (turn + 1) * 41


def test_the_writer_leaves_the_locks_of_this_process_alone(tmp_path: Path) -> None:
    agent = Agent(tmp_path)
    path = agent.talk("s1", "alpha")
    with agent.open() as reader:
        found(reader, "alpha")
        log = Path(reader.history.directory) / "catalog.sqlite-wal"
        append(path, entry("own", "s1-0", "alpha"))
        found(reader, "alpha")
        before = log.stat().st_ino

        result(started(WRITING, agent))

        assert log.stat().st_ino == before


def test_an_answer_is_made_of_one_moment(tmp_path: Path) -> None:
    agent = Agent(tmp_path)
    path = agent.session("s1", entry("a", None, "alpha"), entry("b", "a", "beta"))

    def question(view: View) -> list[Row]:
        agent.session("s1", entry("c", None, "gamma"))
        with agent.open() as writer:
            writer.history.refresh()
        return list(view.rows(view.sources[str(path)]))

    with agent.open() as reader:
        reader.history.refresh()
        rows = reader.history.answer(question)
        later = found(reader, "gamma")

    assert [row.id for row in rows] == ["a", "b"]
    assert later == ["c"]


def test_a_branch_that_was_abandoned_while_another_process_indexes_is_not_found(tmp_path: Path) -> None:
    agent = Agent(tmp_path)
    path = agent.talk("s1", "alpha", "alpha left")
    with agent.open() as workspace:
        workspace.history.refresh()
        lock = f"{workspace.history.directory}/lock"
    append(path, entry("right", "s1-0", "alpha right"))

    with exclusive(lock, 0), agent.open() as workspace:
        active, every = found(workspace, "alpha"), found(workspace, "alpha", branches="all")
        browsed = found(workspace, "")

    assert active == browsed == ["right", "s1-0"]
    assert every == ["right", "s1-0", "s1-1"]
