"""What of the notes goes into a model's context, and what the doctor says of it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pepys.model.notes import Scope
from pepys.notes import injection, markdown
from tests.notes.conftest import Desk

notes = st.lists(st.text(min_size=1, max_size=60).map(markdown.clean).filter(bool), max_size=40)
stores: st.SearchStrategy[Mapping[Scope, list[str]]] = st.fixed_dictionaries({"project": notes, "global": notes})


def size(text: str) -> int:
    return len(text.encode())


@pytest.mark.requirement("notes.injection_body")
def test_the_body_has_both_scopes_in_their_order(desk: Desk) -> None:
    desk.write("# Shop\n- use bun\n- deploy on Mondays\n")
    desk.write("- be brief\n", "global")

    assert desk.workspace.notes.injection() == {
        "text": f"[MEMORY]\n{injection.HEAD[1]}\nproject:\n- use bun\n- deploy on Mondays\nglobal:\n- be brief"
    }


@pytest.mark.requirement("notes.injection_body")
def test_a_scope_without_notes_is_left_out_and_without_any_there_is_nothing(desk: Desk) -> None:
    nothing = desk.workspace.notes.injection()
    desk.write("- be brief\n", "global")

    text = desk.workspace.notes.injection()["text"]

    assert nothing == {"text": None}
    assert text.splitlines()[2:] == ["global:", "- be brief"]


@pytest.mark.requirement("notes.injection_every_run")
def test_an_edit_is_in_the_next_injection(desk: Desk) -> None:
    desk.write("- use npm\n")
    before = desk.workspace.notes.injection()["text"]
    desk.write("- use bun\n")

    after = desk.workspace.notes.injection()["text"]

    assert ("use npm" in before, "use npm" in after, "use bun" in after) == (True, False, True)


@pytest.mark.requirement("notes.injection_off")
def test_the_injection_can_be_off_while_everything_else_goes_on(desk: Desk) -> None:
    desk.write("- use bun\n")

    with desk.open(config_overrides={"memory": {"inject": False}}) as off:
        assert off.notes.injection() == {"text": None}
        assert off.notes.memory(action="list")["project"] == ["use bun"]
        assert off.notes.doctor()["injection"]["inject"] is False


@pytest.mark.requirement("notes.injection_cap", "notes.injection_tail")
@given(stores, st.integers(512, 4096))
def test_the_body_never_passes_its_cap_and_says_how_many_are_missing(
    stored: Mapping[Scope, list[str]], cap: int
) -> None:
    plan = injection.plan(stored, cap)

    total = sum(map(len, stored.values()))
    taken = [(scope, note) for scope, some in plan.taken.items() for note in some]
    assert plan.size == size(plan.body) <= cap
    assert len(taken) + len(plan.omitted) == total
    assert sorted([*taken, *plan.omitted]) == sorted((scope, note) for scope in stored for note in stored[scope])
    lines = plan.body.splitlines() if plan.body else []
    assert [line for line in lines[2:] if line not in ("project:", "global:")][: len(taken)] == [
        f"- {note}" for _, note in taken
    ]
    tail = f"- (+{len(plan.omitted)} more; use the memory tool)"
    assert (lines[-1:] == [tail]) == bool(plan.omitted) or tail in (f"- {note}" for _, note in taken)


@pytest.mark.requirement("notes.injection_cap")
@given(stores)
def test_a_cap_that_is_exactly_met_omits_nothing_and_one_byte_less_does(stored: Mapping[Scope, list[str]]) -> None:
    whole = injection.plan(stored, 10**6)

    assert injection.plan(stored, whole.size) == whole
    if any(stored.values()):
        assert injection.plan(stored, whole.size - 1).omitted


@pytest.mark.requirement("notes.injection_cap")
def test_every_byte_is_counted_headings_and_tail_included() -> None:
    stored: Mapping[Scope, list[str]] = {"project": ["é"] * 80, "global": ["x"] * 80}
    whole = injection.plan(stored, 10**6).size

    for cap in range(512, whole):
        plan = injection.plan(stored, cap)

        # A note more would have taken 4 or 5 bytes, or 8 with the heading of its scope; the tail gets shorter.
        assert cap - 5 - len("global:\n") - 2 < size(plan.body) <= cap


@pytest.mark.requirement("notes.injection_tail")
def test_a_note_that_does_not_fit_leaves_room_for_a_shorter_one_behind_it() -> None:
    stored: Mapping[Scope, list[str]] = {"project": ["short", "l" * 500, "also short"], "global": ["g" * 500, "last"]}

    plan = injection.plan(stored, 512)

    assert plan.taken == {"project": ["short", "also short"], "global": ["last"]}
    assert plan.omitted == [("project", "l" * 500), ("global", "g" * 500)]
    assert plan.body.endswith("\nglobal:\n- last\n- (+2 more; use the memory tool)")


def test_bytes_are_counted_not_characters() -> None:
    japanese: Mapping[Scope, list[str]] = {"project": ["日本語" * 40, "日本語" * 20], "global": []}

    assert injection.plan(japanese, 512).omitted == [("project", "日本語" * 20)]


# The doctor


@pytest.mark.requirement("notes.doctor")
def test_the_doctor_tells_counts_sizes_and_the_injection_that_recall_makes(desk: Desk) -> None:
    long = [f"{letter * 400}" for letter in "abc"]
    desk.write("".join(f"- {note}\n" for note in long))
    desk.write("- é\n", "global")

    with desk.open(config_overrides={"memory": {"maxInjectBytes": 1000}}) as workspace:
        report, text = workspace.notes.doctor(), workspace.notes.injection()["text"]

    assert report["project"] == {"path": str(desk.path()), "read": True, "notes": 3, "bytes": 1209, "trusted": True}
    assert report["global"] == {"path": str(desk.path("global")), "read": True, "notes": 1, "bytes": 5}
    assert report["injection"] == {
        "inject": True,
        "bytes": size(text),
        "maxBytes": 1000,
        "omitted": [{"scope": "project", "text": long[2]}],
    }
    assert text.endswith("- (+1 more; use the memory tool)")


@pytest.mark.requirement("notes.doctor")
def test_the_doctor_pairs_near_duplicates_within_and_across_the_stores(desk: Desk) -> None:
    desk.write("- Use bun\n- use bun.\n- other\n")
    desk.write("- USE BUN!\n- else\n", "global")

    found = desk.workspace.notes.doctor()["duplicates"]

    first = {"scope": "project", "text": "Use bun"}
    assert found == [
        [first, {"scope": "project", "text": "use bun."}],
        [first, {"scope": "global", "text": "USE BUN!"}],
    ]


@pytest.mark.requirement("notes.doctor")
def test_the_doctor_only_reads_and_names_a_store_that_it_cannot(desk: Desk) -> None:
    desk.path().parent.mkdir()
    desk.path().mkdir()

    report = desk.workspace.notes.doctor()

    assert "no regular file" in report["project"]["trouble"]
    assert not desk.path("global").parent.exists()


# Settings


def bytefly(path: Any, **memory: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"memory": memory}))


@pytest.mark.requirement("notes.config_keys")
def test_by_default_8192_bytes_are_injected(desk: Desk) -> None:
    told = desk.workspace.notes.doctor()["injection"]

    assert (told["inject"], told["maxBytes"]) == (True, 8192)


@pytest.mark.requirement("notes.config_clamped")
@pytest.mark.parametrize(("given", "taken"), [(1, 512), (512, 512), (600, 600), (32768, 32768), (10**9, 32768)])
def test_the_cap_is_clamped(desk: Desk, given: int, taken: int) -> None:
    with desk.open(config_overrides={"memory": {"maxInjectBytes": given}}) as workspace:
        assert workspace.notes.doctor()["injection"]["maxBytes"] == taken


@pytest.mark.requirement("notes.config_bytefly", "notes.config_clamped")
@pytest.mark.parametrize(
    ("given", "taken"),
    [
        (1000, 1000),
        ("1000", 1000),
        (" 1e3 ", 1000),
        (1000.5, 1001),
        (0, 512),
        (-5, 512),
        (10**400, 32768),
        (None, 8192),
        (True, 8192),
        ("many", 8192),
        ("", 8192),
        ("1e999", 8192),
        ([1000], 8192),
    ],
)
def test_the_hosts_shared_file_sets_the_cap(desk: Desk, given: object, taken: int) -> None:
    bytefly(desk.path("global").with_name("bytefly.json"), maxInjectBytes=given)

    assert desk.workspace.notes.doctor()["injection"]["maxBytes"] == taken


@pytest.mark.requirement("notes.config_bytefly")
@pytest.mark.parametrize(("given", "taken"), [(False, False), (True, True), ("false", True), (0, True), (None, True)])
def test_the_hosts_shared_file_switches_the_injection(desk: Desk, given: object, taken: bool) -> None:
    bytefly(desk.path("global").with_name("bytefly.json"), inject=given)

    assert desk.workspace.notes.doctor()["injection"]["inject"] is taken


@pytest.mark.requirement("notes.config_bytefly")
@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"memory": 1}', '{"memory": [1]}', "\x00", "[" * 100_000, '{"other": {}}']
)
def test_a_malformed_shared_file_is_ignored(desk: Desk, text: str) -> None:
    desk.write(text, "global").rename(desk.path("global").with_name("bytefly.json"))

    assert desk.workspace.notes.doctor()["injection"]["maxBytes"] == 8192


@pytest.mark.requirement("notes.config_bytefly")
def test_a_trusted_project_s_file_wins_over_the_agent_directory_s_and_pepys_s_own_keys_over_both(desk: Desk) -> None:
    bytefly(desk.path("global").with_name("bytefly.json"), maxInjectBytes=1000, inject=False)
    bytefly(desk.path().with_name("bytefly.json"), maxInjectBytes=2000)

    def told(**circumstances: Any) -> tuple[int, bool]:
        with desk.open(**circumstances) as workspace:
            injected = workspace.notes.doctor()["injection"]
        return injected["maxBytes"], injected["inject"]

    assert told() == (2000, False)
    assert told(trusted=False) == (1000, False)
    assert told(config_overrides={"memory": {"maxInjectBytes": 3000, "inject": True}}) == (3000, True)
    assert told(config_overrides={"memory": {"maxInjectBytes": 8192}}) == (8192, False)


@pytest.mark.requirement("notes.config_bytefly")
def test_in_a_subdirectory_the_file_at_the_root_counts_and_that_of_the_subdirectory_over_it(desk: Desk) -> None:
    (desk.project / ".git").mkdir()
    (desk.project / ".git" / "HEAD").touch()
    below = desk.project / "src" / "deep"
    below.mkdir(parents=True)
    bytefly(desk.path("global").with_name("bytefly.json"), maxInjectBytes=1000)

    def told(**circumstances: Any) -> tuple[int, bool]:
        with desk.open(**{"cwd": below, **circumstances}) as workspace:
            injected = workspace.notes.doctor()["injection"]
        return injected["maxBytes"], injected["inject"]

    bytefly(desk.path().with_name("bytefly.json"), maxInjectBytes=2000, inject=False)
    root = told()
    bytefly(below / ".pi" / "bytefly.json", maxInjectBytes=3000)

    assert (root, told(), told(cwd=desk.project)) == ((2000, False), (3000, False), (2000, False))
    assert told(trusted=False) == (1000, True)


@pytest.mark.requirement("notes.enabled_independent")
def test_recall_that_is_switched_off_leaves_notes_on(desk: Desk) -> None:
    with desk.open(config_overrides={"memory": {"enabled": False}}) as workspace:
        added = workspace.notes.memory(action="add", text="use bun")

        assert added["changed"]
        assert "use bun" in workspace.notes.injection()["text"]
