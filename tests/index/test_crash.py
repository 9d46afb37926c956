"""A writer that dies at any moment leaves nothing to repair by hand."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from pepys.index.lock import exclusive
from tests.index.history_files import Agent, append, entry, found, recall

KILLS = 8
"""Processes that must have been killed in their work."""
MOST_TRIES = 80
WRITER = """
import sys
sys.path[:0] = {paths!r}
from pathlib import Path
from pepys.index import apply
from tests.index.history_files import Agent
apply.BATCH_BYTES, apply.ROWS_AT_ONCE = 4000, 10
Agent.__init__ = lambda self, home: setattr(self, "home", home)
with Agent(Path({home!r})).open() as workspace:
    print("begins", flush=True)
    workspace.history.refresh(rebuild={rebuild})
"""
DYING = """
import os, sys
sys.path[:0] = {paths!r}
from pathlib import Path
from pepys.index import apply
from pepys.index.catalog import Catalog
from pepys.index.engines.tantivy import TantivyEngine
from tests.index.history_files import Agent
Agent.__init__ = lambda self, home: setattr(self, "home", home)
kind, name, count = {at!r}
owner = dict(catalog=Catalog, engine=TantivyEngine)[kind]
original = getattr(owner, name)
calls = [0]
def dying(self, *arguments, **more):
    calls[0] += 1
    if calls[0] > count:
        os.kill(os.getpid(), 9)
    return original(self, *arguments, **more)
setattr(owner, name, dying)
with Agent(Path({home!r})).open() as workspace:
    workspace.history.refresh()
"""


def writer(agent: Agent, *, rebuild: bool) -> subprocess.Popen[str]:
    program = WRITER.format(paths=sys.path, home=str(agent.home), rebuild=rebuild)
    process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "begins\n"
    return process


def summary(agent: Agent, index: Path | str) -> Any:
    with agent.open(index) as workspace:
        pages = [recall(workspace, query=query, branches="all") for query in ("alpha", "number beta", "")]
    return [
        (page["total"], sorted(hit["follow"]["args"]["session"] + hit["entryId"] for hit in page["hits"]))
        for page in pages
    ]


@pytest.mark.requirement("cache.orphans")
def test_after_a_kill_at_any_moment_the_next_answer_is_right(tmp_path: Path) -> None:
    agent, chance = Agent(tmp_path), random.Random(7)
    for at in range(12):
        agent.talk(f"s{at}", *(f"alpha number {word}" for word in range(30)))
    began = time.monotonic()
    with writer(agent, rebuild=True):
        pass
    duration_s = time.monotonic() - began

    killed = 0
    for kill in range(MOST_TRIES):
        path = agent.folder / f"s{chance.randrange(12)}.jsonl"
        if chance.random() < 0.5:
            append(path, *(entry(f"k{kill}-{at}", None, "beta alpha") for at in range(20)))
        else:
            agent.talk(path.stem, *(f"alpha beta {kill} number {word}" for word in range(30)))
        with writer(agent, rebuild=kill % 3 == 0) as process:
            time.sleep(chance.uniform(0, duration_s if kill % 3 == 0 else duration_s / 8))
            process.kill()
        killed += process.returncode == -signal.SIGKILL

        assert summary(agent, "index") == summary(agent, f"fresh-{kill}"), kill
        if killed == KILLS:
            break

    assert killed == KILLS


MOMENTS = [
    ("engine", "commit", 0),
    ("engine", "commit", 1),
    ("catalog", "put", 0),
    ("catalog", "set_active", 1),
    ("catalog", "swept", 0),
    ("catalog", "add_rows", 0),
    ("catalog", "add_rows", 1),
    ("engine", "settle", 0),
]


@pytest.mark.requirement("cache.orphans")
@pytest.mark.parametrize("at", MOMENTS, ids=lambda at: "-".join(map(str, at)))
@pytest.mark.parametrize("locked", [False, True], ids=["repaired", "only read"])
def test_after_a_death_between_two_steps_the_next_answer_is_right(
    tmp_path: Path, at: tuple[str, str, int], locked: bool
) -> None:
    agent = Agent(tmp_path)
    paths = [agent.talk(f"s{number}", "alpha", "alpha beta") for number in range(3)]
    with agent.open() as workspace:
        workspace.history.refresh()
    append(paths[0], entry("grown", "s0-1", "alpha beta"), entry("branch", "s0-0", "alpha"))
    agent.talk("s1", "alpha rewritten")
    paths[2].unlink()
    agent.talk("s3", "alpha new")

    program = DYING.format(paths=sys.path, home=str(agent.home), at=at)
    status = subprocess.run([sys.executable, "-c", program], timeout=60, check=False).returncode
    with exclusive(str(agent.home / "index" / "pepys-1" / "lock"), 0) if locked else exclusive(str(tmp_path / "x"), 0):
        ours = summary(agent, "index")

    assert status == -signal.SIGKILL
    assert ours == summary(agent, "fresh")


def test_growth_that_was_committed_but_never_switched_over_is_found_once(tmp_path: Path) -> None:
    agent = Agent(tmp_path)
    path = agent.talk("s1", "alpha")
    with agent.open() as workspace:
        workspace.history.refresh()
    append(path, entry("grown", "s1-0", "alpha"))
    program = DYING.format(paths=sys.path, home=str(agent.home), at=("catalog", "put", 0))
    subprocess.run([sys.executable, "-c", program], timeout=60, check=False)

    with exclusive(str(agent.home / "index" / "pepys-1" / "lock"), 0), agent.open() as workspace:
        ids = found(workspace, "alpha")
        total = recall(workspace, query="alpha")["total"]

    assert ids == ["grown", "s1-0"]
    assert total == 2
