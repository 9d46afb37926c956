"""What the index lives through: growth, rewrites, both branch modes, deletion, neighbours (spec 1, "Cache V6")."""

from __future__ import annotations

import json
import shutil
import socket
from pathlib import Path
from typing import Any

import pytest

from pepys.model.lineage import Live
from tests.recall.diary import Diary, append, ids, line, returned, said, user


@pytest.mark.requirement("cache.grown_source", "lineage.append_seen")
def test_a_session_that_grew_shrank_or_was_rewritten_is_answered_as_it_is_now(diary: Diary) -> None:
    path = diary.talk("one", "alpha", "beta")
    whole = path.read_bytes()
    first = diary.recall("alpha gamma")

    append(path, user("g", "one-1", "gamma"))
    grown = diary.recall("alpha gamma")
    path.write_bytes(whole[: whole.index(b"\n", whole.index(b"alpha")) + 1])
    cut = diary.recall("alpha beta gamma")
    path.write_bytes(whole.replace(b"alpha", b"delta"))
    rewritten = diary.recall("alpha beta delta")

    assert ids(first) == ["one-0"]
    assert sorted(ids(grown)) == ["g", "one-0"]
    assert ids(cut) == ["one-0"]
    assert sorted((hit["entryId"], hit["snippet"]) for hit in rewritten["hits"]) == [
        ("one-0", "delta"),
        ("one-1", "beta"),
    ]
    fingerprints = [page["hits"][0]["follow"]["args"]["expectedLineageFingerprint"] for page in (first, grown)]
    assert fingerprints[0] != fingerprints[1]


@pytest.mark.requirement("lineage.modes_apart")
def test_branch_modes_do_not_disturb_each_other_while_a_session_branches_on(diary: Diary) -> None:
    path = diary.session("one", user("a", None, "idea root"))
    tree: list[tuple[str, str]] = [("b", "a"), ("c", "a"), ("d", "b"), ("e", "c")]
    active = [["a"], ["a", "b"], ["a", "c"], ["a", "b", "d"], ["a", "c", "e"]]

    for step, selected in enumerate(active):
        if step:
            id_, parent = tree[step - 1]
            append(path, said(id_, parent, f"idea {id_}"))
        for _ in range(2):
            assert sorted(ids(diary.recall("idea"))) == sorted(selected)
            assert sorted(ids(diary.recall("idea", branches="all"))) == ["a", "b", "c", "d", "e"][: step + 1]


@pytest.mark.requirement("cache.other_version", "cache.foreign_files", "privacy.deletion_bounds")
def test_deleting_the_index_takes_nothing_else_and_other_versions_are_left_alone(diary: Diary) -> None:
    path = diary.talk("one", "word")
    before = path.read_bytes()
    neighbours = [diary.home / "index" / name / "file" for name in ("pepys-0", "pepys-2", "pepys-10", "notes")]
    for neighbour in neighbours:
        neighbour.parent.mkdir(parents=True)
        neighbour.write_text("not a catalog")

    with diary.open() as workspace:
        found = workspace.call("memory.recall", {"query": "word", "scope": "global"})
        folder = Path(workspace.history.directory)
        assert folder.is_dir()
        workspace.history.delete()

    assert found["total"] == 1
    assert not folder.exists()
    assert [neighbour.read_text() for neighbour in neighbours] == ["not a catalog"] * 4
    assert path.read_bytes() == before


@pytest.mark.requirement("privacy.index_deletion", "truth.index_derived")
def test_an_index_that_was_removed_is_made_anew_with_the_same_answers(diary: Diary) -> None:
    diary.session("one", user("a", None, "word"), user("b", "a", "word left"), user("c", "a", "word right"))
    asked: list[dict[str, Any]] = [{"query": "word"}, {"query": "word", "branches": "all"}, {}, {"role": "user"}]
    before = [diary.recall(**args) for args in asked]

    shutil.rmtree(diary.home / "index")

    assert [diary.recall(**args) for args in asked] == before


@pytest.mark.requirement("budget.no_server")
def test_nothing_is_asked_over_a_socket(diary: Diary, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*args: object, **keywords: object) -> None:
        raise AssertionError("a socket was opened")

    monkeypatch.setattr(socket.socket, "__init__", refused)
    diary.talk("one", "word")

    hit = diary.recall("word")["hits"][0]

    assert diary.follow(hit)["entries"][0]["text"] == "word"


@pytest.mark.requirement("page.next_branch", "stale.navigation")
def test_the_next_page_of_a_session_is_stale_once_its_branch_changed(diary: Diary) -> None:
    path = diary.session("one", user("a", None, "word"), user("b", "a", "word"), user("c", "a", "word"))
    page = diary.recall("word", scope="session", session_file=path, pageSize=1)

    following = diary.call(page["next"]["ref"], page["next"]["args"], session_file=path, live=Live("b", ("a", "b")))

    assert following["error"]["code"] == "stale_pointer"
    assert (following["total"], following["hits"], following["next"]) == (0, [], None)


@pytest.mark.requirement("scope.no_paths_needed", "workflow.one_follow", "page.dispatch")
def test_calls_survive_a_trip_through_json_and_are_called_unchanged(diary: Diary) -> None:
    for name in ("one", "two"):
        diary.talk(name, "word first", "word second")

    page = diary.recall("word", pageSize=3)
    calls = json.loads(json.dumps([hit["follow"] for hit in page["hits"]] + [page["next"]]))
    opened = [diary.call(call["ref"], call["args"]) for call in calls]

    assert [answer["entries"][0]["text"] for answer in opened[:3]] == [hit["snippet"] for hit in page["hits"]]
    assert len(opened[3]["hits"]) == 1


@pytest.mark.requirement("workflow.ranked_bounded")
def test_hits_come_best_first_and_can_be_read_as_they_are(diary: Diary) -> None:
    diary.session(
        "one",
        returned("r", None, "bash", "the cache " + "x " * 4000),
        said("s", "r", "The cache key rotates at midnight."),
    )

    page = diary.recall("cache key")

    scores = [hit["score"] for hit in page["hits"]]
    assert scores == sorted(scores, reverse=True)
    assert page["hits"][0]["snippet"] == "The cache key rotates at midnight."
    assert len(page["hits"][1]["snippet"]) <= 482


@pytest.mark.requirement("truth.structure_only", "operations.no_prose", "structural.no_prose")
@pytest.mark.parametrize(
    "prose",
    [
        "Error: everything failed [error]",
        'Tool: bash({"command":"ls"})',
        "toolResult(bash) [error]: no such file",
        'Fabric operation pi.grep\n{"ref":"pi.grep","outcome":"failed"}',
        '{"type":"message","message":{"role":"toolResult","toolName":"bash","isError":true}}',
        "My goal: I prefer tabs. src/shop.py",
    ],
)
def test_words_in_prose_make_neither_role_tool_error_operation_nor_file(diary: Diary, prose: str) -> None:
    diary.session("one", user("u", None, prose))

    hit = diary.recall("")["hits"][0]
    record = diary.follow(hit)["entries"][0]

    assert (hit["role"], hit["tool"], hit["ref"], hit["isError"]) == ("user", None, None, False)
    assert not {"tool", "ref", "outcome", "operation", "filesTouched"} & record.keys()
    assert diary.expand(session="one")["entryCount"] == 1


@pytest.mark.requirement("privacy.output_on", "privacy.nothing_scanned")
def test_tool_output_is_searchable_by_default_and_words_that_look_secret_are_words(diary: Diary) -> None:
    token = "ghp_" + "0aB1" * 9
    diary.session("one", returned("r", None, "bash", f"export TOKEN={token}"), user("u", "r", "my preference is tabs"))

    assert ids(diary.recall(token)) == ["r"]
    assert token in diary.recall(token)["hits"][0]["snippet"]
    assert ids(diary.recall("preference")) == ["u"]


@pytest.mark.requirement("guest.no_query_language")
def test_requests_know_no_predicates_projections_or_groupings(diary: Diary) -> None:
    from pepys.actions import load, schema
    from pepys.actions.table import ACTIONS

    names = {
        name
        for ref, action in ACTIONS.items()
        if ref.startswith("memory.")
        for name in schema.json_schema(load(action.request))["properties"]
    }

    forbidden = {"jsonPath", "sql", "where", "predicate", "filter", "select", "fields", "projection", "groupBy", "sort"}
    assert names & forbidden == set()


@pytest.mark.requirement("tiers.auto", "cut.auto")
def test_by_default_every_session_is_searched_entry_by_entry_and_none_is_cut(diary: Diary) -> None:
    for at in range(60):
        diary.talk(f"s{at}", "word " + "x " * 2000 + "tail")

    page = diary.recall("tail", pageSize=50)

    assert page["total"] == 60
    assert {(hit["kind"], hit["tier"]) for hit in page["hits"]} == {("entry", "hot")}
    assert page["coverage"]["complete"]


@pytest.mark.requirement("branches.append_order", "branches.parent_walk")
def test_neighbours_in_the_file_are_no_neighbours_in_the_session(diary: Diary) -> None:
    path = diary.session("one", user("a", None, "root"), user("x", "a", "left"), user("b", "a", "right"))
    path.write_text(path.read_text() + line(user("y", "x", "left again")) + line(user("c", "b", "right again")))

    page = diary.expand(session="one", entryRange={"first": 0, "last": 2})

    assert [entry["entryId"] for entry in page["entries"]] == ["a", "b", "c"]
