"""The catalog of actions: what it tells a caller, and that it always tells the same."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest

import pepys
from pepys import actions, config
from pepys.actions import catalog
from pepys.actions.base import Action, Annotations, Parts
from pepys.actions.table import ACTIONS, PROVIDERS, _worst
from pepys.errors import InvalidArgument, UnknownAction
from pepys.model.context import Context
from pepys.model.query import SessionsRequest

Json = dict[str, Any]


def wrote(given: Parts, request: SessionsRequest) -> Json:
    """Stand in for an action's function: say that it ran."""
    return {"ran": True}


def row(ref: str, annotations: Annotations, **more: Any) -> Action:
    tool = ref.replace(".", "_")
    function, request = f"{__name__}:wrote", "pepys.model.query:SessionsRequest"
    return Action(ref, tool, "Shown", "Shows something.", function, request, annotations, **more)


READS, ADDS, DESTROYS = Annotations(True, False, True), Annotations(False, False, True), Annotations(False, True, False)


@pytest.fixture
def table(monkeypatch: pytest.MonkeyPatch) -> None:
    """The table with actions of every kind."""
    rows = (
        row("memory.adds", ADDS),
        row("memory.wipes", DESTROYS),
        row("memory.picker", READS, audience="person"),
        row("memory.settled", READS, audience="host"),
    )
    for each in rows:
        monkeypatch.setitem(cast(dict[str, Action], ACTIONS), each.ref, each)


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[pepys.Workspace]:
    with pepys.open(host="pi", agent_dir=tmp_path / "agent", cwd=tmp_path, env={"HOME": str(tmp_path)}) as opened:
        yield opened


def parts(tmp_path: Path, *, guest: bool = False) -> Parts:
    env = {"HOME": str(tmp_path)}
    return Parts(Context("all", tmp_path, config.load(env, tmp_path), env), cast(Any, "the history"), guest)


def sha256(value: object) -> str:
    text = json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def refs(found: list[Json]) -> list[str]:
    return [action["ref"] for action in found]


# The tree


@pytest.mark.requirement("catalog.tree")
def test_the_tree_has_a_root_a_head_for_each_provider_and_a_head_for_each_action(workspace: pepys.Workspace) -> None:
    tree = workspace.tools.catalog()

    assert (tree["kind"], tree["version"]) == ("pepys.capability-catalog", 1)
    assert (tree["root"]["key"], tree["root"]["name"]) == ("capability:pepys", "Pepys capabilities")
    assert [head["name"] for head in tree["providers"]] == sorted({ref.split(".")[0] for ref in ACTIONS})
    assert {head["parentKey"] for head in tree["providers"]} == {"capability:pepys"}
    memory = next(head for head in tree["providers"] if head["name"] == "memory")
    assert memory["actions"][1] == {
        "key": "action:memory.recall",
        "parentKey": "provider:memory",
        "ref": "memory.recall",
        "name": "recall",
        "description": ACTIONS["memory.recall"].description,
        "descriptorHash": memory["actions"][1]["descriptorHash"],
        "risk": "read",
        "effect": "none",
    }
    count = sum(action.audience == "model" for action in ACTIONS.values())
    assert (tree["totalActions"], tree["indexedActions"], tree["complete"]) == (count, count, True)
    assert "reasons" not in tree


def test_a_limit_leaves_actions_out_and_says_so(workspace: pepys.Workspace) -> None:
    whole, part = workspace.tools.catalog(), workspace.tools.catalog(limit=2)

    assert (part["totalActions"], part["indexedActions"]) == (whole["totalActions"], 2)
    assert (part["complete"], part["reasons"]) == (False, ["action_limit"])
    assert sum(len(head["actions"]) for head in part["providers"]) == 2
    assert part["root"] == whole["root"]


def test_one_provider_can_be_asked_for(workspace: pepys.Workspace) -> None:
    tree, rows = workspace.tools.catalog(provider="memory"), workspace.tools.list(provider="memory")

    assert [head["name"] for head in tree["providers"]] == ["memory"]
    assert refs(tree["providers"][0]["actions"]) == refs(rows) == sorted(refs(rows))
    assert tree["complete"]
    with pytest.raises(InvalidArgument, match="no provider memories"):
        workspace.tools.catalog(provider="memories")


@pytest.mark.requirement("catalog.deterministic")
def test_hashes_follow_from_what_they_describe(workspace: pepys.Workspace) -> None:
    tree = workspace.tools.catalog()

    memory = next(head for head in tree["providers"] if head["name"] == "memory")
    described = workspace.tools.describe(ref="memory.recall")
    hashed = {name: described[name] for name in ("ref", "description", "inputSchema", "outputSchema", "risk", "effect")}
    assert memory["actions"][1]["descriptorHash"] == sha256(hashed)
    hashes = [action["descriptorHash"] for action in memory["actions"]]
    assert memory["descriptorHash"] == sha256(["memory", memory["description"], hashes])
    assert tree["root"]["descriptorHash"] == sha256(
        {head["name"]: head["descriptorHash"] for head in tree["providers"]}
    )
    assert workspace.tools.catalog() == tree


@pytest.mark.requirement("catalog.deterministic")
def test_a_changed_description_changes_the_hashes_above_it_and_no_others(
    workspace: pepys.Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = workspace.tools.catalog()
    changed = ACTIONS["memory.recall"]._replace(description="Something else.")
    monkeypatch.setitem(cast(dict[str, Action], ACTIONS), "memory.recall", changed)

    after = workspace.tools.catalog()

    assert before["root"]["descriptorHash"] != after["root"]["descriptorHash"]
    differing = [
        head["name"]
        for head, other in zip(before["providers"], after["providers"], strict=True)
        if head["descriptorHash"] != other["descriptorHash"]
    ]
    assert differing == ["memory"]


def test_providers_are_listed_by_name_with_what_they_are_for(workspace: pepys.Workspace) -> None:
    listed = workspace.call("tools.providers")

    assert [row["name"] for row in listed] == sorted({ref.split(".")[0] for ref in ACTIONS})
    assert all(row["description"] == PROVIDERS[row["name"]] for row in listed)


# Who sees what


@pytest.mark.usefixtures("table")
def test_only_what_a_model_may_call_is_in_the_catalog(tmp_path: Path) -> None:
    seen = actions.visible(parts(tmp_path))

    assert {"memory.adds", "memory.wipes", "memory.recall"} <= set(seen)
    assert not {"memory.picker", "memory.settled"} & set(seen)


@pytest.mark.usefixtures("table")
def test_a_guest_sees_only_what_reads(tmp_path: Path) -> None:
    seen = set(actions.visible(parts(tmp_path, guest=True)))

    assert {"memory.recall", "tools.search", "tools.call"} <= seen
    assert not {"memory.adds", "memory.wipes", "memory.picker", "memory.settled", "guest.run"} & seen


@pytest.mark.usefixtures("table")
@pytest.mark.parametrize(
    ("ref", "risk", "effect"),
    [
        ("memory.recall", "read", "none"),
        ("memory.adds", "write", "idempotent"),
        ("memory.wipes", "destructive", "cumulative"),
    ],
)
def test_risk_and_effect_follow_from_the_annotations(
    workspace: pepys.Workspace, ref: str, risk: str, effect: str
) -> None:
    described = workspace.tools.describe(ref=ref)

    assert (described["risk"], described["effect"]) == (risk, effect)


def test_calling_by_ref_is_declared_no_safer_than_what_it_can_call() -> None:
    others = [action.annotations for action in ACTIONS.values() if action.audience == "model"]

    declared = ACTIONS["tools.call"].annotations

    assert declared.read_only == all(each.read_only for each in others)
    assert declared.destructive == any(each.destructive for each in others)
    assert _worst([row("a.a", READS), row("a.b", DESTROYS)]) == Annotations(False, True, False)
    assert _worst([row("a.a", READS)]) == READS


@pytest.mark.usefixtures("table")
def test_a_guest_may_call_by_ref_whatever_others_can_call_with_it(
    workspace: pepys.Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    harmful = ACTIONS["tools.call"]._replace(annotations=DESTROYS)
    monkeypatch.setitem(cast(dict[str, Action], ACTIONS), harmful.ref, harmful)

    program = (
        "tools.call(ref='memory.sessions')\ntry:\n    tools.call(ref='memory.wipes')\nexcept LookupError:\n    return 1"
    )

    assert workspace.call("guest.run", {"program": program})["value"] == 1


# Search


def test_an_exact_ref_comes_before_a_name_and_a_name_before_a_word(workspace: pepys.Workspace) -> None:
    by_ref, by_name = workspace.tools.search(query="memory.recall"), workspace.tools.search(query="Recall")

    assert refs(by_ref)[0] == refs(by_name)[0] == "memory.recall"
    assert len(by_name) > 1


@pytest.mark.requirement("catalog.schemas")
@pytest.mark.parametrize(
    ("query", "ref"), [("full untruncated records", "memory.expand"), ("schema of arguments", "tools.describe")]
)
def test_words_find_the_action_that_does_it(workspace: pepys.Workspace, query: str, ref: str) -> None:
    found = workspace.tools.search(query=query)

    assert ref in refs(found)[:2]


def test_points_are_added_up() -> None:
    described = catalog.descriptor(ACTIONS["memory.sessions"])

    exact_ref = catalog._score("memory.sessions", described)
    name = catalog._score("sessions", described)

    # the ref, its prefix; two tokens in the ref, one of them in the provider's name, both in texts about it
    assert exact_ref >= 1000 + 300 + 2 * 30 + 20 + 15
    assert exact_ref < 1000 + 300 + 2 * (30 + 20 + 8 + 4 + 2) + 15 + 40 + 20 + 10 + 1
    # the name, a part of the ref; the whole in both descriptions; one token in ref and descriptions
    assert name == 800 + 120 + 40 + 20 + 10 + (30 + 8 + 4 + 2) + 15


def test_found_actions_are_described_but_for_their_results(workspace: pepys.Workspace) -> None:
    (found,) = workspace.tools.search(query="memory.recall", limit=1)

    described = workspace.tools.describe(ref="memory.recall")
    assert found == {name: value for name, value in described.items() if name != "outputSchema"}


@pytest.mark.parametrize("query", [" ", "xyzzy", "...."])
def test_what_resembles_nothing_finds_nothing(workspace: pepys.Workspace, query: str) -> None:
    assert workspace.tools.search(query=query) == []


def test_a_search_is_bounded_and_its_order_is_settled(workspace: pepys.Workspace) -> None:
    found = workspace.tools.search(query="session")

    assert refs(workspace.tools.search(query="session", limit=2)) == refs(found)[:2]
    with pytest.raises(InvalidArgument, match="limit must be at most 100"):
        workspace.tools.search(query="session", limit=101)


# Description and call


@pytest.mark.requirement("catalog.schemas")
def test_a_description_has_the_schema_of_the_arguments(workspace: pepys.Workspace) -> None:
    described = workspace.tools.describe(ref="memory.expand")

    assert described["inputSchema"]["required"] == ["session"]
    assert (described["provider"], described["name"]) == ("memory", "expand")


@pytest.mark.requirement("catalog.schemas")
def test_a_description_has_the_annotations_and_the_schema_of_a_declared_result(workspace: pepys.Workspace) -> None:
    notes, recall = (workspace.tools.describe(ref=ref) for ref in ("notes.memory", "memory.recall"))

    assert notes["annotations"] == {
        "readOnly": False,
        "destructive": True,
        "idempotent": True,
        "openWorld": False,
        "executionMode": "sequential",
    }
    assert recall["annotations"]["readOnly"] is True
    assert recall["annotations"]["executionMode"] == "parallel"
    declared = notes["outputSchema"]
    assert declared["required"] == ["action", "scope", "project", "global", "changed"]
    assert set(declared["properties"]) == {*declared["required"], "entry", "to", "existing", "error", "warnings"}
    assert recall["outputSchema"]["required"] == ["total", "hits", "next", "coverage"]
    (in_one_line,) = workspace.tools.list(provider="notes")
    assert set(in_one_line) == {"ref", "provider", "name", "description", "risk", "effect"}


def test_a_changed_result_changes_the_hash(workspace: pepys.Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    before = workspace.tools.catalog()["root"]["descriptorHash"]
    undeclared = ACTIONS["notes.memory"]._replace(response=None)
    monkeypatch.setitem(cast(dict[str, Action], ACTIONS), "notes.memory", undeclared)

    assert workspace.tools.catalog()["root"]["descriptorHash"] != before


@pytest.mark.parametrize("name", ["recall", "session_recall"])
def test_a_name_that_only_one_action_has_is_enough(workspace: pepys.Workspace, name: str) -> None:
    assert workspace.tools.describe(ref=name)["ref"] == "memory.recall"


def test_a_name_that_several_have_or_none_lists_refs(
    workspace: pepys.Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = row("tools.recall", READS)

    with pytest.raises(UnknownAction) as none:
        workspace.tools.describe(ref="recal")
    monkeypatch.setitem(cast(dict[str, Action], ACTIONS), other.ref, other)
    with pytest.raises(UnknownAction, match="Several actions are called recall") as several:
        workspace.tools.describe(ref="recall")

    assert several.value.details["nearest"] == ["memory.recall", "tools.recall"]
    assert "memory.recall" in cast(list[str], none.value.details["nearest"])


@pytest.mark.requirement("workflow.tools_call")
@pytest.mark.usefixtures("table")
def test_a_call_by_ref_is_the_call_itself(workspace: pepys.Workspace) -> None:
    direct = workspace.memory.recall(query="x", scope="global")

    assert workspace.tools.call(ref="memory.recall", args={"query": "x", "scope": "global"}) == direct
    assert workspace.tools.call(ref="memory.adds") == {"ran": True}
    assert workspace.tools.call(ref="tools.call", args={"ref": "memory.adds"}) == {"ran": True}


@pytest.mark.requirement("workflow.tools_call")
def test_a_hit_or_a_page_may_stand_for_the_call(workspace: pepys.Workspace) -> None:
    token = {"ref": "memory.recall", "args": {"query": "x", "scope": "global"}}

    by_hit = workspace.call("tools.call", {"kind": "entry", "ref": "pi.grep", "snippet": "...", "follow": token})
    by_page = workspace.call("tools.call", {"hits": [], "next": token})

    assert by_hit == by_page == workspace.call(token)
    with pytest.raises(InvalidArgument, match="last one"):
        workspace.call("tools.call", {"hits": [], "next": None})


@pytest.mark.usefixtures("table")
@pytest.mark.parametrize("ref", ["memory.picker", "memory.settled", "memory.forget"])
def test_a_model_cannot_call_what_it_does_not_see(workspace: pepys.Workspace, ref: str) -> None:
    with pytest.raises(UnknownAction):
        workspace.tools.call(ref=ref)


@pytest.mark.parametrize("call", ["tools.describe", "tools.call"])
@pytest.mark.parametrize(
    ("ref", "told"),
    [
        ("notes.path", "The action notes.path exists, but it is for people, not for models."),
        ("notes.injection", "The action notes.injection exists, but it is for hosts, not for models."),
        ("notes_path", "The action notes.path exists, but it is for people, not for models."),
        ("notes.wipe", "There is no action notes.wipe."),
    ],
)
def test_what_exists_for_others_is_not_said_to_be_missing(
    workspace: pepys.Workspace, call: str, ref: str, told: str
) -> None:
    with pytest.raises(UnknownAction) as refused:
        workspace.call(call, {"ref": ref})

    assert refused.value.message == told
    assert "notes.path" not in str(refused.value.details["nearest"])


def test_a_program_is_told_that_it_cannot_call_what_writes(tmp_path: Path) -> None:
    seen = actions.visible(parts(tmp_path, guest=True))

    with pytest.raises(UnknownAction, match=r"The action notes\.memory exists, but no guest program can call it\."):
        actions.find("notes.memory", seen)


@pytest.mark.requirement("catalog.never_matches", "catalog.not_in_sessions")
def test_words_of_the_catalog_are_never_found_in_sessions(workspace: pepys.Workspace, tmp_path: Path) -> None:
    folder = tmp_path / "agent" / "sessions" / "--srv-shop--"
    folder.mkdir(parents=True)
    lines = [
        {"type": "session", "version": 3, "id": "s", "timestamp": "2026-01-01T00:00:00Z", "cwd": "/srv/shop"},
        {"type": "message", "id": "a", "parentId": None, "message": {"role": "user", "content": "capybara"}},
    ]
    (folder / "s.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    workspace.tools.catalog()
    words = set(re.findall(r"[a-z]{4,}", json.dumps(workspace.tools.list()).lower()))

    found = workspace.memory.recall(query=" ".join(sorted(words))[:4000], scope="global")

    assert workspace.memory.recall(query="capybara", scope="global")["total"] == 1
    assert (found["total"], found["coverage"]["complete"]) == (0, True)


@pytest.mark.parametrize("action", ACTIONS.values(), ids=lambda action: action.ref)
def test_every_action_has_a_provider_that_is_described(action: Action) -> None:
    assert action.provider in PROVIDERS
    assert f"{action.provider}.{action.name}" == action.ref
