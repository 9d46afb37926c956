"""What there is, what is missing, and what to do about it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pepys.journal import engines
from tests.journal.project import Project, command, entry

pytestmark = pytest.mark.usefixtures("plain")


def lines(project: Project, **keywords: Any) -> list[str]:
    return str(project.call("journal.status", **keywords)["text"]).split("\n")


def state(project: Project, **fields: Any) -> None:
    project.store.mkdir(parents=True, exist_ok=True)
    known = {"schema_version": 1, "status": "ok", "last_completed_at": "2026-08-13T10:00:00Z", **fields}
    (project.store.parent / ".index-state.json").write_text(json.dumps(known))


@pytest.mark.requirement("journal.status.lines")
def test_it_names_backend_scope_store_collection_configuration_index_and_auto_context(project: Project) -> None:
    project.write_day(entry("10:00", "one"))

    found = lines(project)

    assert "backend: available (engine pepys, embedder none)" in found
    assert f"scope: {project.root}" in found
    assert f"store: {project.store}" in found
    assert any(line.startswith("collection: ms_shop_") for line in found)
    assert "capture: on (model: no model here; captures are extracts)" in found
    assert f"index state: {project.store.parent}/.index-state.json" in found
    assert "index: no state recorded yet" in found
    assert "indexed chunks: 1" in found
    assert "auto-context: off (set PI_MEMSEARCH_AUTO_CONTEXT=on to enable)" in found


@pytest.mark.requirement("journal.status.config")
def test_it_names_where_configuration_comes_from(project: Project) -> None:
    (project.home / ".memsearch").mkdir()
    (project.home / ".memsearch" / "config.toml").write_text("[embedding]\nprovider = 'onnx'\n")

    found = lines(project, env={**project.env, "PI_MEMSEARCH_CAPTURE_MODEL": "small"})

    assert "config: journal.captureModel from environment PI_MEMSEARCH_CAPTURE_MODEL" in found
    assert f"config: memsearch's {project.home}/.memsearch/config.toml" in found


@pytest.mark.requirement("journal.status.index_state")
@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, ["index: ok (last indexed 2026-08-13T10:00:00Z)"]),
        ({"status": "running"}, ["index: running"]),
        ({"status": "error", "last_error": "boom"}, ["index: error (boom)"]),
        (
            {"status": "degraded", "failed_files": [{"path": "/a.md", "error": "ValueError: x"}]},
            ["index: degraded (1 failed file)", "  failed: /a.md (ValueError: x)"],
        ),
        ({"schema_version": 2}, ["index: state unreadable (schema_version is 2, not 1)"]),
        ({"failed_files": [1]}, ["index: state unreadable (failed_files holds something else than path and error)"]),
    ],
)
def test_it_tells_memsearchs_own_index_state(project: Project, fields: dict[str, Any], expected: list[str]) -> None:
    state(project, **fields)

    found = lines(project)

    at = found.index(f"index state: {project.store.parent}/.index-state.json")
    assert found[at + 1 : at + 1 + len(expected)] == expected


@pytest.mark.requirement("journal.status.state_untouched")
def test_our_own_engine_writes_no_state_file(project: Project) -> None:
    project.write_day(entry("10:00", "one"))

    project.call("journal.search", {"query": "one"})

    assert not (project.store.parent / ".index-state.json").exists()


@pytest.mark.requirement("journal.status.no_state_file")
def test_it_says_that_no_state_file_will_be_written_only_where_all_conditions_hold(
    project: Project, tmp_path: Path
) -> None:
    outside = {"memory_dir": str(tmp_path / "mesh" / "memory"), "collection": "c"}
    declined = command(project.home / "declined", **outside, state_dir="")
    answered = command(project.home / "answered", **outside, state_dir=str(tmp_path / "state"))
    inside = command(project.home / "inside", memory_dir=str(project.store), collection="c", state_dir="")

    def says(cmd: str, **env: str) -> bool:
        found = lines(project, env={**project.env, "PI_MEMSEARCH_STORE_CMD": cmd, **env})
        said = [line for line in found if line.startswith("index: no state file will be written")]
        assert bool(said) != any(line.startswith("index state: ") for line in found)
        assert all("state-dir" in line and "MEMSEARCH_DIR" in line and ".memsearch" in line for line in said)
        return bool(said)

    assert says(declined)
    assert not says(answered)
    assert not says(inside)
    assert not says(declined, MEMSEARCH_DIR=str(tmp_path / "m"))
    assert not any("no state file" in line for line in lines(project))


@pytest.mark.requirement("journal.status.backend_missing")
def test_it_says_what_is_missing_and_how_to_get_it(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(engines.ENGINES, "pepys", "pepys.journal.not_there")

    answer = project.call("journal.status")

    assert answer["backend"]["available"] is False
    assert "backend: unavailable (engine pepys cannot be loaded)" in answer["text"]
    assert "Reinstall Pepys" in answer["text"]


@pytest.mark.requirement("journal.status.config")
def test_it_names_the_model_of_an_endpoint_and_never_its_key(project: Project) -> None:
    keys = project.config(modelApi="openai", model="small", modelUrl="http://127.0.0.1:9/v1")

    text = project.call("journal.status", env={**project.env, "OPENAI_API_KEY": "sk-secret"}, **keys)["text"]

    assert "capture: on (model: small at http://127.0.0.1:9/v1/chat/completions)" in text
    assert "sk-secret" not in text
