"""Exact structural filters on typed fields (spec 1, "Capability heads and exact structural retrieval")."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pepys.errors import InvalidArgument
from tests.recall.details import called, executed, operation, ran, summarised
from tests.recall.diary import NOON, Diary, ids, returned, said, user

Json = dict[str, Any]


@pytest.fixture
def history(diary: Diary) -> Diary:
    """Operations of two sessions, and prose that speaks of them."""
    diary.session(
        "one",
        user("u", None, "pi.grep failed with a timeout, provider pi, action grep"),
        executed(
            "x",
            "u",
            operation(0, "pi.grep", args={"pattern": "timeout"}),
            operation(1, "pi.grep", "failed", args={"pattern": "port"}, error="timeout"),
            operation(2, "agents.run", "timed_out", args={"task": "timeout"}),
            operation(3, "agents.grep", "aborted", args={"pattern": "x"}),
            operation(4, "bare", args={}),
        ),
    )
    diary.session(
        "two",
        returned("r", None, "grep", "timeout"),
        summarised("b", "r", "q", called("q", 0, "pi.grep", "failed"), ran("q", "call:1", "census", "aborted")),
        said("s", "b", "timeout"),
    )
    return diary


GREPS = ["q/0", "x/0", "x/1"]


@pytest.mark.parametrize(
    ("filters", "found"),
    [
        pytest.param({"ref": "pi.grep"}, GREPS, marks=pytest.mark.requirement("structural.ref")),
        pytest.param({"provider": "pi"}, GREPS, marks=pytest.mark.requirement("structural.provider")),
        pytest.param({"provider": "agents"}, ["x/2", "x/3"], marks=pytest.mark.requirement("structural.provider")),
        pytest.param({"action": "grep"}, [*GREPS, "x/3"], marks=pytest.mark.requirement("structural.action")),
        pytest.param({"outcome": "succeeded"}, ["x/0", "x/4"], marks=pytest.mark.requirement("structural.outcome")),
        pytest.param({"outcome": "failed"}, ["q/0", "x/1"], marks=pytest.mark.requirement("structural.outcome")),
        pytest.param({"outcome": "aborted"}, ["q/call:1", "x/3"], marks=pytest.mark.requirement("structural.outcome")),
        pytest.param({"outcome": "timed_out"}, ["x/2"], marks=pytest.mark.requirement("structural.outcome")),
        pytest.param({"tool": "grep"}, [*GREPS, "r", "x/3"], marks=pytest.mark.requirement("structural.tool")),
        pytest.param(
            {"role": "fabricOperation"},
            ["q/0", "x/0", "x/1", "x/2", "x/3", "x/4"],
            marks=pytest.mark.requirement("structural.role"),
        ),
        ({"role": "fabricRun"}, ["q/call:1"]),
        ({"ref": "bare"}, ["x/4"]),
        ({"ref": "PI.GREP"}, []),
        ({"ref": "pi"}, []),
        ({"ref": "pi.gre"}, []),
        ({"action": "bare"}, []),
        ({"ref": "pi.grep", "outcome": "failed"}, ["q/0", "x/1"]),
        ({"provider": "pi", "action": "grep", "role": "fabricOperation"}, GREPS),
        ({"provider": "agents", "action": "grep", "outcome": "failed"}, []),
        ({"tool": "fabric_exec", "outcome": "aborted"}, ["q/call:1"]),
        ({"ref": "pi.grep", "until": NOON - 1}, []),
        ({"ref": "pi.grep", "since": NOON, "until": NOON}, GREPS),
    ],
)
def test_filters_select_by_typed_fields_alone(history: Diary, filters: Json, found: list[str]) -> None:
    page = history.recall("", **filters)

    assert sorted(ids(page)) == sorted(found)
    assert page["total"] == len(found)
    assert page["coverage"]["complete"]


@pytest.mark.requirement("structural.query")
@pytest.mark.parametrize("mode", ["literal", "phrase"])
@pytest.mark.parametrize(
    ("filters", "found"),
    [
        ({"ref": "pi.grep"}, ["x/0", "x/1"]),
        ({"ref": "agents.run", "outcome": "timed_out"}, ["x/2"]),
        ({"outcome": "failed"}, ["x/1"]),
        ({"provider": "agents"}, ["x/2"]),
        ({"tool": "grep"}, ["r", "x/0", "x/1"]),
        ({"ref": "agents.run", "outcome": "failed"}, []),
    ],
)
def test_a_query_is_held_to_the_same_filters(history: Diary, mode: str, filters: Json, found: list[str]) -> None:
    page = history.recall("timeout", queryMode=mode, **filters)

    assert sorted(ids(page)) == sorted(found)
    assert page["total"] == len(found)


@pytest.mark.requirement("structural.outcome")
@pytest.mark.parametrize("outcome", ["ok", "success", ""])
def test_other_outcomes_than_the_four_are_refused(history: Diary, outcome: str) -> None:
    with pytest.raises(InvalidArgument, match="outcome"):
        history.recall("", outcome=outcome)


@pytest.mark.requirement("structural.no_prose")
def test_prose_that_names_an_operation_is_none(diary: Diary) -> None:
    diary.session(
        "one",
        user("u", None, "pi.grep failed; provider pi; action grep; outcome failed"),
        returned("r", "u", "bash", "Fabric operation pi.grep"),
    )

    every: list[Json] = [{"ref": "pi.grep"}, {"provider": "pi"}, {"action": "grep"}, {"outcome": "failed"}]
    for filters in every:
        page = diary.recall("", **filters)
        assert (page["total"], page["coverage"]["complete"]) == (0, True)


@pytest.mark.requirement("structural.unknown_ref", "catalog.never_matches")
@pytest.mark.parametrize("ref", ["memory.recall", "pi.never", "tools.search"])
def test_a_ref_that_was_never_called_has_no_history_whatever_the_catalog_says_of_it(history: Diary, ref: str) -> None:
    browsed, asked = history.recall("", ref=ref), history.recall("timeout", ref=ref)

    assert (browsed["total"], asked["total"]) == (0, 0)
    assert browsed["coverage"]["complete"]


@pytest.mark.requirement("catalog.never_matches", "catalog.not_in_sessions")
def test_words_of_the_catalog_find_nothing(history: Diary) -> None:
    files = {path: path.read_bytes() for path in history.agent.rglob("*.jsonl")}
    with history.open() as workspace:
        catalog = workspace.call("tools.catalog")
        described = [action["description"] for provider in catalog["providers"] for action in provider["actions"]]
        pages = [
            workspace.call("memory.recall", {"query": text, "queryMode": "phrase", "scope": "global"})
            for text in described
        ]

    assert described
    assert [page["total"] for page in pages] == [0] * len(described)
    assert {path: path.read_bytes() for path in history.agent.rglob("*.jsonl")} == files


@pytest.mark.requirement("lexical.weights_off")
@pytest.mark.parametrize("filters", [{"ref": "pi.grep"}, {"provider": "pi"}, {"action": "grep"}, {"outcome": "failed"}])
def test_where_operations_are_asked_for_plumbing_ranks_like_prose(history: Diary, filters: Json) -> None:
    phrase, browsed = history.recall("timeout", queryMode="phrase", **filters), history.recall("", **filters)

    assert {hit["score"] for hit in phrase["hits"]} == {1}
    assert {hit["score"] for hit in browsed["hits"]} == {1}


@pytest.mark.requirement("lexical.provenance")
def test_without_filters_prose_ranks_ahead_of_operations(history: Diary) -> None:
    found = ids(history.recall("timeout", queryMode="phrase"))

    assert set(found[:2]) == {"s", "u"}
    assert found.index("u") < found.index("x/0")


@pytest.mark.requirement("page.no_echo", "page.next")
def test_filters_go_on_in_next_and_are_echoed_nowhere_else(history: Diary) -> None:
    page = history.recall("", ref="pi.grep", pageSize=2)
    after = history.call(page["next"]["ref"], page["next"]["args"])

    assert page["next"]["args"]["ref"] == "pi.grep"
    assert sorted(ids(page) + ids(after)) == GREPS
    assert after["next"] is None
    assert list(page) == ["total", "hits", "next", "coverage"]


@pytest.mark.requirement("structural.browse")
def test_the_newest_session_comes_first_and_each_in_its_order(history: Diary) -> None:
    assert ids(history.recall("", action="grep")) == ["q/0", "x/0", "x/1", "x/3"]


@pytest.mark.requirement("omp.refs")
def test_refs_of_omp_are_filtered_alike(diary: Diary) -> None:
    diary.session("one", executed("x", None, operation(0, "omp.grep"), operation(1, "omp.read", "failed")))

    with diary.open(host="omp") as workspace:
        by_ref = workspace.call("memory.recall", {"scope": "project", "ref": "omp.grep"})
        by_provider = workspace.call("memory.recall", {"scope": "project", "provider": "omp", "outcome": "failed"})

    assert (ids(by_ref), ids(by_provider)) == (["x/0"], ["x/1"])


@pytest.mark.requirement("structural.ref")
def test_answers_are_the_same_without_an_index(history: Diary) -> None:
    blocked = history.home / "file"
    blocked.touch()

    every: list[Json] = [
        {"ref": "pi.grep"},
        {"query": "timeout", "outcome": "failed"},
        {"action": "grep", "query": "port"},
    ]
    for args in every:
        with history.open(index_dir=blocked / "index") as workspace:
            scanned = workspace.call("memory.recall", {"scope": "global", **args})
        indexed = history.recall(**args)
        assert json.dumps(scanned["hits"]) == json.dumps(indexed["hits"])
        assert scanned["total"] == indexed["total"]
