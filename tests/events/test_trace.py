"""`events.trace`: parents, children, siblings, and every relation of the specification."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.events.shop import Shop, calls, ends, label, result
from tests.recall.diary import append, branch_summary, compacted, said, user


@pytest.mark.requirement("events.trace.tree")
def test_a_trace_has_parent_children_and_branch_siblings_and_says_which_lead_to_the_leaf(shop: Shop) -> None:
    ids = {"A": None, "B": "A", "C": "B", "D": "C", "E": "B", "F": "E"}
    shop.session("one", *(user(id_, parent, f"text of {id_}") for id_, parent in ids.items()))

    of_e, of_b, of_a = (shop.trace("one", id_) for id_ in "EBA")

    assert (of_e["parent"]["to"]["entryId"], ends(of_e["children"]), ends(of_e["branchSiblings"])) == (
        "B",
        ["F"],
        ["C"],
    )
    assert (ends(of_b["children"]), of_b["branchSiblings"]) == (["C", "E"], [])
    assert [edge["leadsToMaterializedLeaf"] for edge in of_b["children"]] == [False, True]
    assert [edge["targetBranchState"] for edge in of_b["children"]] == ["alternate", "selected"]
    assert "parent" not in of_a
    sibling = of_e["branchSiblings"][0]
    assert (sibling["type"], sibling["recorded"], sibling["derived"]) == ("branch-sibling", False, True)
    assert of_e["parent"]["recorded"] is True
    assert sibling["preview"] == "text of C"
    assert sibling["from"] == {"sessionId": "one", "entryId": "E"}


@pytest.mark.requirement("events.trace.tree")
def test_a_recorded_parent_that_is_not_in_the_file_is_an_edge_into_the_unknown(shop: Shop) -> None:
    shop.session("one", user("a", "gone", "words"), user("b", None, "the leaf"))

    trace = shop.trace("one", "a")

    assert (trace["parent"]["to"]["entryId"], trace["parent"]["targetBranchState"]) == ("gone", "unknown")
    assert trace["target"]["branchState"] == "unknown"


@pytest.mark.requirement("events.trace.bounds")
def test_children_siblings_and_relations_are_bounded_and_it_is_said(shop: Shop) -> None:
    many = [user(f"k{at}", "a", "child") for at in range(60)]
    labels = [label(f"l{at}", f"k{at}", "a") for at in range(25)]
    shop.session("one", user("a", None, "root"), *many, *labels)

    of_a, of_k = shop.trace("one", "a"), shop.trace("one", "k7")

    assert (len(of_a["children"]), len(of_a["related"]), of_a["truncated"]) == (50, 20, True)
    assert (len(of_k["branchSiblings"]), of_k["truncated"]) == (50, True)
    assert ends(of_a["children"])[:2] == ["k0", "k1"]


@pytest.mark.requirement("events.relations.tool_result")
def test_results_and_their_calls(shop: Shop) -> None:
    shop.session(
        "one",
        calls("a", None, ("c1", "bash", {}), ("c2", "bash", {})),
        result("r", "a", "c1", "bash", "first"),
        result("s", "r", "c2", "bash", "second"),
    )

    assert shop.related("one", "r") == [("tool-result-for", "one/r", "one/a", True)]
    assert shop.related("one", "a") == [
        ("tool-result-for", "one/r", "one/a", True),
        ("tool-result-for", "one/s", "one/a", True),
    ]
    assert shop.trace("one", "r")["related"][0]["detail"] == "c1"


@pytest.mark.requirement("events.relations.tool_result")
def test_a_call_id_that_is_used_again_belongs_to_its_last_owner(shop: Shop) -> None:
    shop.session(
        "one",
        calls("a", None, ("c1", "bash", {})),
        calls("b", "a", ("c1", "bash", {})),
        result("r", "b", "c1", "bash", "done"),
    )

    assert shop.related("one", "r") == [("tool-result-for", "one/r", "one/b", True)]
    assert shop.related("one", "a") == []


@pytest.mark.requirement("events.relations.summaries")
def test_compactions_branch_summaries_and_labels_point_at_what_they_name(shop: Shop) -> None:
    shop.session(
        "one",
        user("a", None, "first"),
        said("b", "a", "second"),
        compacted("k", "b", "so far", "b"),
        branch_summary("s", "k", "b", "gave up"),
        label("l", "s", "a"),
        label("m", "l", "a", None),
    )

    assert shop.related("one", "k") == [("compacts", "one/k", "one/b", True)]
    assert shop.related("one", "s") == [("branch-summary-from", "one/s", "one/b", True)]
    assert shop.related("one", "l") == [("labels", "one/l", "one/a", True)]
    assert shop.related("one", "a") == [("labels", "one/l", "one/a", True), ("labels", "one/m", "one/a", True)]
    assert shop.related("one", "b") == [
        ("compacts", "one/k", "one/b", True),
        ("branch-summary-from", "one/s", "one/b", True),
    ]


@pytest.mark.requirement("events.relations.summaries")
def test_a_compaction_names_more_than_its_first_kept_entry(shop: Shop) -> None:
    boundary = {**compacted("k", "b", "so far", "b"), "compactedUpToId": "a", "retainedIds": ["b", "a"]}
    shop.session("one", user("a", None, "first"), user("b", "a", "second"), boundary)

    assert {(type_, to) for type_, _, to, _ in shop.related("one", "k")} == {
        ("compacts", "one/a"),
        ("compacts", "one/b"),
    }
    assert shop.related("one", "a") == [("compacts", "one/k", "one/a", True)]


@pytest.mark.requirement("events.relations.files")
def test_files_are_derived_from_calls_and_recorded_in_summaries(shop: Shop) -> None:
    details = {"readFiles": ["docs/a.md"], "modifiedFiles": ["/etc/b"]}
    shop.session(
        "one",
        calls(
            "a",
            None,
            ("c1", "read", {"path": "src/x.py"}),
            ("c2", "edit", {"path": "/etc/hosts"}),
            ("c3", "bash", {"path": "no"}),
        ),
        {**compacted("k", "a", "so far", "a"), "details": details},
    )
    here = shop.cwd

    assert shop.related("one", "a")[:2] == [
        ("compacts", "one/k", "one/a", True),
        ("file-read", "one/a", f"file:{here}/src/x.py", False),
    ]
    assert shop.related("one", "a")[2:] == [("file-changed", "one/a", "file:/etc/hosts", False)]
    assert shop.related("one", "k") == [
        ("compacts", "one/k", "one/a", True),
        ("file-read", "one/k", f"file:{here}/docs/a.md", True),
        ("file-changed", "one/k", "file:/etc/b", True),
    ]


@pytest.mark.requirement("events.relations.session_parent")
def test_a_session_points_at_its_parent_by_path_and_by_id(shop: Shop) -> None:
    path = shop.session("one", user("a", None, "words"))
    shop.session("two", user("b", None, "words"), parentSession=str(path))
    shop.session("three", user("c", None, "words"), parentSession="one")
    shop.session("four", user("d", None, "words"), parentSession=str(Path(path).with_name("gone.jsonl")))

    assert shop.related("two", "b") == [("session-parent", "two", "one", True)]
    assert shop.related("three", "c") == [("session-parent", "three", "one", True)]
    assert shop.related("four", "d") == []
    assert shop.trace("two", "b")["session"] == {"sessionId": "two", "parentSessionId": "one", "childSessionIds": []}
    assert shop.trace("one", "a")["session"] == {"sessionId": "one", "childSessionIds": ["three", "two"]}


@pytest.mark.requirement("events.relations.session_parent")
def test_a_parent_that_the_caller_may_not_see_is_not_told(shop: Shop, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    path = shop.session("one", user("a", None, "words"), cwd=str(elsewhere))
    shop.session("two", user("b", None, "words"), parentSession=str(path))

    trace = shop.trace("two", "b")

    assert (trace["related"], trace["session"]) == ([], {"sessionId": "two", "childSessionIds": []})


@pytest.mark.requirement("events.relations.incremental")
def test_relations_follow_appends(shop: Shop) -> None:
    path = shop.session("one", calls("a", None, ("c1", "bash", {})))
    with shop.open(cwd=shop.cwd) as workspace:
        before = workspace.call("events.trace", {"sessionId": "one", "entryId": "a"})["related"]
        append(path, result("r", "a", "c1", "bash", "done"))
        append(path, label("l", "r", "a"))

        after = workspace.call("events.trace", {"sessionId": "one", "entryId": "a"})["related"]

    assert before == []
    assert [edge["type"] for edge in after] == ["tool-result-for", "labels"]


@pytest.mark.requirement("events.trace.tree")
def test_an_entry_that_names_itself_is_below_and_beside_nothing(shop: Shop) -> None:
    shop.session("one", user("a", None, "first"), user("b", "b", "self"), user("c", "b", "last"))

    trace = shop.trace("one", "b")

    assert "parent" not in trace
    assert (ends(trace["children"]), trace["branchSiblings"]) == (["c"], [])
    assert shop.read("one", "b", before=5)["neighbors"]["before"] == []
    assert shop.trace("one", "c")["parent"]["to"]["entryId"] == "b"
