"""Whoever asks, and whatever the index has been through: events are the same."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.events.shop import Shop, calls, result
from tests.recall.diary import append, user

ASKING = """
import json, sys
sys.path[:0] = {paths!r}
import pepys
answers = []
for turn in range(4):
    where = dict(agent_dir={agent!r}, cwd={cwd!r}, index_dir={index!r}, env={{"HOME": {home!r}}})
    with pepys.open(host="pi", **where) as workspace:
        page = workspace.events.search(query="needle")
        trace = workspace.events.trace(sessionId="s3", entryId="s3-a")
    answers.append([
        [(hit["sessionId"], hit["entryId"], hit["branchState"], hit["snippet"]) for hit in page["hits"]],
        [(edge["type"], edge["from"], edge["to"]) for edge in trace["related"]],
    ])
print(json.dumps(answers))
"""


def asking(shop: Shop) -> subprocess.Popen[str]:
    places = {"agent": shop.agent, "cwd": shop.cwd, "index": shop.home / "index", "home": shop.home}
    code = ASKING.format(paths=sys.path, **{name: str(path) for name, path in places.items()})
    return subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def answers(process: subprocess.Popen[str]) -> Any:
    out, error = process.communicate(timeout=120)
    assert process.returncode == 0, error
    return json.loads(out)


def session(shop: Shop, name: str, *needles: str) -> Path:
    return shop.session(
        name,
        calls(f"{name}-a", None, ("c1", "bash", {"command": "ls"})),
        result(f"{name}-r", f"{name}-a", "c1", "bash", "files"),
        *(user(f"{name}-{at}", f"{name}-a", text, at=at) for at, text in enumerate(needles)),
    )


@pytest.mark.requirement("events.agreement")
def test_processes_that_begin_at_once_over_no_index_answer_alike(shop: Shop) -> None:
    for at in range(6):
        session(shop, f"s{at}", "needle " * (at + 1), "hay")

    given = [answers(process) for process in [asking(shop) for _ in range(3)]]

    assert all(one == given[0][0] for answer in given for one in answer)
    assert [hit[1] for hit in given[0][0][0]] == [f"s{at}-0" for at in (5, 4, 3, 2, 1, 0)]
    assert [edge[0] for edge in given[0][0][1]] == ["tool-result-for"]


@pytest.mark.requirement("events.agreement")
def test_what_one_process_has_indexed_another_one_sees_grow(shop: Shop) -> None:
    path = session(shop, "s3", "needle")
    first = answers(asking(shop))
    append(path, user("new", "s3-0", "needle needle", at=9))

    with shop.open(cwd=shop.cwd) as workspace:
        here = [hit["entryId"] for hit in workspace.events.search(query="needle")["hits"]]
    there = answers(asking(shop))

    assert [[hit[1] for hit in one[0]] for one in first] == [["s3-0"]] * 4
    assert [[hit[1] for hit in one[0]] for one in there] == [here] * 4
    assert sorted(here) == ["new", "s3-0"]


@pytest.mark.requirement("events.order")
def test_a_session_that_was_made_anew_keeps_its_place_among_equals(shop: Shop) -> None:
    paths = [shop.session(name, user(name, None, "needle", at=5)) for name in ("b", "a", "c")]
    with shop.open(cwd=shop.cwd) as workspace:
        before = [hit["sessionId"] for hit in workspace.events.search(query="needle")["hits"]]
        content = paths[1].read_bytes()
        paths[1].write_bytes(content.replace(b"2026-01-01", b"2026-01-02"))

        after = [hit["sessionId"] for hit in workspace.events.search(query="needle")["hits"]]

    assert before == after == ["a", "b", "c"]
