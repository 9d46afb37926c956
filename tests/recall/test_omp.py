"""What differs for OMP (spec 2): its words stand for Pi's, its folders and trees are its own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import pepys
from tests.recall.diary import Diary, ids, line, said, user


def omp(diary: Diary, **more: Any) -> pepys.Workspace:
    return diary.open(host="omp", **more)


def titled(diary: Diary, name: str, *entries: dict[str, Any], cwd: str = "/srv/shop") -> Path:
    """An OMP session: a title slot stands before the header."""
    slot = json.dumps({"type": "title", "v": 1, "title": "Fruit", "pad": " " * 40}) + "\n"
    path = diary.session(name, *entries, cwd=cwd)
    return diary.file(path, slot.encode() + path.read_bytes())


@pytest.mark.requirement("omp.sessions", "omp.parent_id")
def test_an_omp_session_is_found_and_opens_with_its_parents(diary: Diary) -> None:
    titled(diary, "one", user("a", None, "apples"), said("b", "a", "pears"))

    with omp(diary) as workspace:
        page = workspace.call("memory.recall", {"query": "pears", "scope": "project"})
        opened = workspace.call(page["hits"][0]["follow"])

    assert ids(page) == ["b"]
    assert [(entry["entryId"], entry["parentId"], entry["text"]) for entry in opened["entries"]] == [
        ("b", "a", "pears")
    ]


@pytest.mark.requirement("omp.persisted_leaf")
def test_the_last_entry_of_an_omp_session_is_its_leaf(diary: Diary) -> None:
    titled(diary, "one", user("a", None, "idea"), user("b", "a", "idea left"), user("c", "a", "idea right"))

    with omp(diary) as workspace:
        active = workspace.call("memory.recall", {"query": "idea", "scope": "project"})
        every = workspace.call("memory.recall", {"query": "idea", "scope": "project", "branches": "all"})

    assert sorted(ids(active)) == ["a", "c"]
    assert sorted(ids(every)) == ["a", "b", "c"]


@pytest.mark.requirement("omp.project", "scope.global_explicit")
def test_the_project_is_the_working_directorys_omp_sessions(diary: Diary) -> None:
    titled(diary, "one", user("a", None, "word"))
    titled(diary, "far", user("b", None, "word"), cwd="/srv/other")

    with omp(diary) as workspace:
        found = {
            scope: sorted(ids(workspace.call("memory.recall", {"query": "word", **args})))
            for scope, args in {"project": {"scope": "project"}, "global": {"scope": "global"}, "default": {}}.items()
        }

    assert found == {"project": ["a"], "global": ["a", "b"], "default": ["a"]}


@pytest.mark.requirement("omp.trust", "privacy.untrusted_projects")
def test_an_omp_project_is_trusted_only_where_the_user_says_so(diary: Diary) -> None:
    project = diary.home / "project"
    project.mkdir()
    (project / ".pepys.toml").write_text("[memory]\nindexThinking = true\n")

    with omp(diary, cwd=project) as workspace:
        untrusted = workspace.context.config.memory.index_thinking
    with omp(diary, cwd=project, trusted=True) as workspace:
        trusted = workspace.context.config.memory.index_thinking

    assert (untrusted, trusted) == (False, True)


@pytest.mark.requirement("omp.deleted")
def test_a_deleted_omp_session_leaves_no_trace(diary: Diary) -> None:
    path = titled(diary, "one", user("a", None, "word"))
    with omp(diary) as workspace:
        before = workspace.call("memory.recall", {"query": "word", "scope": "global"})
        path.unlink()
        after = workspace.call("memory.recall", {"query": "word", "scope": "global"})

    assert (before["total"], after["total"]) == (1, 0)
    assert after["coverage"]["eligibleSessions"] == 0


def test_a_title_slot_takes_no_index(diary: Diary) -> None:
    path = titled(diary, "one", user("a", None, "word"))
    path.write_text(path.read_text() + line({"type": "title_change", "id": "t", "parentId": "a", "title": "Pears"}))

    with omp(diary) as workspace:
        page = workspace.call("memory.recall", {"query": "word", "scope": "project"})

    assert [(hit["index"], hit["name"]) for hit in page["hits"]] == [(0, "Pears")]
