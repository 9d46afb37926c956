"""`pepys call --lines`: a stream of calls and answers."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pepys import samples, workspace, workspaces
from pepys.cli import lines
from tests.cli.conftest import Pepys, Run

RECALL = {"ref": "memory.recall", "args": {"query": "mug", "scope": "project", "pageSize": 1}}


@pytest.fixture
def context(home: Path) -> dict[str, Any]:
    samples.install(home)
    return {"cwd": str(samples.PROJECT)}


def answers(run: Run) -> list[Any]:
    return [json.loads(line) for line in run.stdout.splitlines()]


def stream(*requests: object) -> str:
    return "".join(request if isinstance(request, str) else json.dumps(request) + "\n" for request in requests)


def test_each_line_is_answered_in_order_under_its_id(pepys: Pepys, context: dict[str, Any]) -> None:
    ids: list[object] = [1, "two", None, {"three": 3}]

    run = pepys("call", "--lines", stdin=stream(*({"id": id_, **RECALL, "context": context} for id_ in ids)))

    found = answers(run)
    assert run.status == 0
    assert [answer["id"] for answer in found] == ids
    assert all(answer["result"]["total"] > 0 for answer in found)


def test_a_bad_line_is_answered_and_the_stream_goes_on(pepys: Pepys, context: dict[str, Any]) -> None:
    good = {"id": "good", **RECALL, "context": context}
    bad: list[tuple[object, object, str]] = [
        ("nonsense\n", None, "invalid_argument"),
        ("[1]\n", None, "invalid_argument"),
        ("[" * 100_000 + "\n", None, "invalid_argument"),
        ('{"id":2,"ref":"memory.recall","args":{"since":NaN}}\n', None, "invalid_argument"),
        ({"id": 3, "ref": "memory.nothing", "args": {}}, 3, "unknown_action"),
        ({"id": 4, "ref": "memory.recall", "args": {"querry": "x"}}, 4, "invalid_argument"),
        ({"id": 5, **RECALL, "context": {"cwdd": "/x"}}, 5, "invalid_argument"),
        ({"id": 6, **RECALL, "context": 7}, 6, "invalid_argument"),
        ({"id": 7, **RECALL, "contxt": {}}, 7, "invalid_argument"),
        ({"id": 8, **RECALL, "context": {"config": {"memory": {"hotSessions": "few"}}}}, 8, "invalid_configuration"),
        ({"id": 9, **RECALL, "context": {"config": {"memory": {"enabled": False}}}}, 9, "disabled"),
        ({"id": 10, "args": {}}, 10, "invalid_argument"),
    ]

    run = pepys("call", "--lines", stdin=stream(*(line for line, _, _ in bad), "\n", good))

    found = answers(run)
    assert [(answer["id"], answer["error"]["code"]) for answer in found[:-1]] == [(id_, code) for _, id_, code in bad]
    assert found[-1]["id"] == "good"
    assert found[-1]["result"]["total"] > 0


@pytest.mark.parametrize("name", ["cwd", "agentDir", "indexDir", "sessionFile", "workspaceRoot", "sessionDirs"])
@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("\0", "holds the character U+0000"),
        ("/a\0b", "holds the character U+0000"),
        ("/\ud800", "is not Unicode"),
        ("/" + "x" * 10_000, "is longer than 4095 bytes"),
        ("/a" * 5_000, "is longer than 4095 bytes"),
        ("~/" + "é" * 200, "has a name of more than 255 bytes"),
    ],
    ids=["nul", "nul within", "no unicode", "long", "deep", "long name"],
)
def test_a_context_whose_path_no_file_can_have_is_an_error_of_the_request(
    pepys: Pepys, context: dict[str, Any], name: str, path: str, why: str
) -> None:
    given = {**context, name: [path] if name == "sessionDirs" else path}
    request = {"id": 1, "ref": "tools.providers", "args": {}}

    run = pepys("call", "--lines", stdin=stream({**request, "context": given}, {**request, "context": context}))

    refused, after = answers(run)
    assert refused["error"]["code"] == "invalid_argument"
    assert refused["error"]["message"].startswith(f"{name} is no path: ")
    assert why in refused["error"]["message"]
    assert len(refused["error"]["message"]) < 250
    assert "result" in after
    assert run.stderr == ""


@pytest.mark.parametrize("session", ["\0", "/a\0b", "/\ud800", "/" + "x" * 3000, "/" + "x" * 10_000])
@pytest.mark.parametrize("end", ["", "/s.jsonl"])
def test_a_session_that_no_file_can_be_is_not_found(
    pepys: Pepys, context: dict[str, Any], session: str, end: str
) -> None:
    calls = [("memory.expand", {"session": session + end})]
    calls += [(ref, {"scope": f"session:{session}{end}"}) for ref in ("memory.recall", "memory.sessions")]

    run = pepys(
        "call", "--lines", stdin=stream(*({"ref": ref, "args": args, "context": context} for ref, args in calls))
    )

    errors = [answer.get("error") or answer["result"]["error"] for answer in answers(run)]
    assert [error["code"] for error in errors] == ["session_not_found"] * 3
    assert max(len(error["message"]) for error in errors) < 150
    assert run.stderr == ""


def test_a_line_without_end_is_refused_without_being_kept(
    pepys: Pepys, context: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lines, "MAX_LINE_BYTES", 300)

    run = pepys("call", "--lines", stdin=stream("x" * 1000 + "\n", {"id": 1, **RECALL, "context": context}))

    found = answers(run)
    assert [answer["id"] for answer in found] == [None, 1]
    assert "result" in found[1]


def test_a_context_is_more_precise_than_the_command_line(pepys: Pepys, context: dict[str, Any]) -> None:
    request = {"id": 1, **RECALL}

    from_options = pepys("call", "--lines", "--cwd", context["cwd"], stdin=stream(request))
    from_context = pepys("call", "--lines", "--cwd", "/nowhere", stdin=stream({**request, "context": context}))
    neither = pepys("call", "--lines", "--cwd", "/nowhere", stdin=stream(request))

    assert answers(from_options)[0]["result"]["total"] == answers(from_context)[0]["result"]["total"] > 0
    assert answers(neither)[0]["result"]["total"] == 0


def test_the_live_branch_of_a_context_is_the_active_one(pepys: Pepys, context: dict[str, Any], home: Path) -> None:
    (file,) = (home / ".pi").rglob("*d001.jsonl")
    entries = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
    (leaf,) = (entry for entry in entries if "separate containers" in json.dumps(entry))
    parents = {entry["id"]: entry.get("parentId") for entry in entries}
    branch = [leaf["id"]]
    while parents[branch[0]] is not None:
        branch.insert(0, parents[branch[0]])
    live = {"leafId": leaf["id"], "entryIds": branch}
    request = {"ref": "memory.recall", "args": {"query": "containers", "scope": "session"}}

    run = pepys(
        "call",
        "--lines",
        stdin=stream(
            {"id": 1, **request, "context": {**context, "sessionFile": str(file)}},
            {"id": 2, **request, "context": {**context, "sessionFile": str(file), "live": live}},
        ),
    )

    assert [answer["result"]["total"] for answer in answers(run)] == [0, 1]


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """How many workspaces were open after each opening; none is at the end."""
    open_now: set[int] = set()
    most: list[int] = []
    open_workspace, close_workspace = workspace.open, workspace.Workspace.close

    def opening(**keywords: Any) -> workspace.Workspace:
        made = open_workspace(**keywords)
        open_now.add(id(made))
        most.append(len(open_now))
        return made

    def closing(made: workspace.Workspace) -> None:
        open_now.discard(id(made))
        close_workspace(made)

    monkeypatch.setattr(workspace, "open", opening)
    monkeypatch.setattr(workspace.Workspace, "close", closing)
    yield most
    assert open_now == set()


def test_what_is_open_does_not_grow_with_the_number_of_contexts(
    pepys: Pepys, context: dict[str, Any], opened: list[int]
) -> None:
    contexts = ({**context, "config": {"index": {"exclude": [str(n)]}}} for n in range(20))

    run = pepys("call", "--lines", stdin=stream(*({**RECALL, "context": each} for each in contexts)))

    assert len(answers(run)) == len(opened) == 20
    assert max(opened) <= workspaces.MAX_OPEN + 1


def test_calls_in_other_circumstances_share_what_is_open(
    pepys: Pepys, context: dict[str, Any], opened: list[int]
) -> None:
    contexts = ({**context, "toolCallId": str(n), "live": {"leafId": None, "entryIds": []}} for n in range(5))

    run = pepys("call", "--lines", stdin=stream(*({**RECALL, "context": each} for each in contexts)))

    assert [answer["result"]["total"] for answer in answers(run)] == [1] * 5
    assert len(opened) == 1


def test_an_answer_comes_before_the_next_line_is_sent(context: dict[str, Any], home: Path) -> None:
    request = stream({"id": 1, **RECALL, "context": context})
    with subprocess.Popen(
        [sys.executable, "-m", "pepys", "call", "--lines"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "HOME": str(home)},
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None

        found = []
        for _ in range(3):
            process.stdin.write(request)
            process.stdin.flush()
            found.append(json.loads(process.stdout.readline()))
        process.stdin.close()

        assert [answer["result"]["total"] for answer in found] == [found[0]["result"]["total"]] * 3
        assert process.wait(timeout=30) == 0


@pytest.mark.parametrize("unasked", [False, True])
def test_a_host_that_never_asked_lets_a_project_have_notes_and_configure_nothing(
    pepys: Pepys, context: dict[str, Any], tmp_path: Path, unasked: bool
) -> None:
    project = tmp_path / "project"
    project.mkdir()
    (project / ".pepys.toml").write_text("[memory]\nenabled = false\n")
    of_host = {**context, "cwd": str(project), "trusted": True, "unasked": unasked}

    run = pepys(
        "call",
        "--lines",
        stdin=stream({"ref": "notes.path", "context": of_host}, {"ref": "memory.sessions", "context": of_host}),
    )

    where, sessions = answers(run)
    assert where["result"]["trusted"] is True
    assert ("error" in sessions) is (not unasked)
