"""Pepys as a library, the way the README shows it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import pepys
from pepys import errors, samples

README = Path(__file__).parents[1] / "README.md"


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[pepys.Workspace]:
    """The sample sessions, in a home of their own."""
    samples.install(tmp_path)
    with pepys.open(cwd=samples.PROJECT, env={"HOME": str(tmp_path)}) as workspace:
        yield workspace


def test_the_readme_s_program_runs_as_it_is_printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (program,) = re.findall(r"```python\n(.*?)```", README.read_text("utf-8"), flags=re.DOTALL)
    samples.install(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    names: dict[str, Any] = {}

    exec(program.replace('cwd="."', f'cwd="{samples.PROJECT}"'), names)

    assert "How did we solve overselling again?" in capsys.readouterr().out
    assert names["record"]["entries"][0]["text"].startswith(names["hit"]["snippet"])


@pytest.mark.parametrize("installed", [False, True])
def test_the_readme_s_guest_program_runs_with_and_without_sessions(tmp_path: Path, installed: bool) -> None:
    (program,) = re.findall(r"<<'PROGRAM'\n(.*?)PROGRAM\n", README.read_text("utf-8"), flags=re.DOTALL)
    if installed:
        samples.install(tmp_path)
    with pepys.open(cwd=samples.PROJECT, env={"HOME": str(tmp_path)}) as workspace:
        value = workspace.call("guest.run", {"program": program})["value"]

    assert bool(value) == installed


def test_a_provider_s_action_and_a_call_by_ref_are_one(shop: pepys.Workspace) -> None:
    by_name = shop.memory.recall(query="mug", scope="project")
    by_ref = shop.call("memory.recall", {"query": "mug", "scope": "project"})

    assert by_name == by_ref
    assert by_name["total"]


@pytest.mark.requirement("page.dispatch")
def test_a_token_can_be_called_as_it_is(shop: pepys.Workspace) -> None:
    page: dict[str, Any] = shop.memory.recall(query="stock", scope="project", page_size=1)

    record: dict[str, Any] = shop.call(page["hits"][0]["follow"])
    following: dict[str, Any] = shop.call(page["next"])

    assert record["entries"][0]["entryId"] == page["hits"][0]["entryId"]
    assert following["hits"][0]["entryId"] != page["hits"][0]["entryId"]


def test_errors_of_a_request_are_raised_and_name_what_was_meant(shop: pepys.Workspace) -> None:
    with pytest.raises(errors.InvalidArgument, match="did you mean query"):
        shop.memory.recall(quarry="mug")
    with pytest.raises(errors.UnknownAction):
        shop.call("memory.remember")


def test_an_action_that_does_not_exist_is_no_attribute(shop: pepys.Workspace) -> None:
    assert hasattr(shop.memory, "recall")
    assert not hasattr(shop.memory, "remember")


def test_a_workspace_can_be_used_again_while_sessions_go_on(tmp_path: Path, shop: pepys.Workspace) -> None:
    before = shop.memory.recall(query="zeppelin", scope="project")
    (file,) = (tmp_path / ".omp").rglob("*.jsonl")
    last = re.findall(r'"id":\s*"(\w+)"', file.read_text("utf-8"))[-1]
    entry = f'{{"type":"message","id":"0000beef","parentId":"{last}","timestamp":"2026-03-12T08:00:00.000Z",'
    message = '"message":{"role":"user","content":"And the zeppelin?","timestamp":1773302400000}}'
    with file.open("a", encoding="utf-8") as session:
        session.write(entry + message + "\n")

    after = shop.memory.recall(query="zeppelin", scope="project")

    assert (before["total"], after["total"]) == (0, 1)


@pytest.mark.requirement("privacy.only_index_written", "truth.sources_only_read")
def test_nothing_is_written_outside_of_the_index_directory(tmp_path: Path) -> None:
    home, index = tmp_path / "home", tmp_path / "index"
    samples.install(home)
    before = {path: path.stat().st_mtime_ns for path in home.rglob("*")}

    with pepys.open(cwd=samples.PROJECT, index_dir=index, env={"HOME": str(home)}) as workspace:
        found = workspace.memory.recall(query="mug", scope="project")

    assert found["total"]
    assert {path: path.stat().st_mtime_ns for path in home.rglob("*")} == before
    assert list(index.iterdir())


@pytest.mark.parametrize("name", ["cwd", "agent_dir", "index_dir", "session_file", "workspace_root", "session_dirs"])
@pytest.mark.parametrize("path", ["a\0b", "/\ud800", "x" * 10_000, Path("/" + "x" * 300)], ids=range(4))
def test_a_path_that_no_file_can_have_is_an_error_of_the_request(tmp_path: Path, name: str, path: str | Path) -> None:
    given: dict[str, Any] = {name: [path] if name == "session_dirs" else path}

    with pytest.raises(errors.InvalidArgument, match=f"^{name} is no path: ") as caught:
        pepys.open(**given, env={"HOME": str(tmp_path)})

    assert len(caught.value.message) < 200
