"""The tool `memory`, and the actions for people."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pepys import actions, errors
from pepys.actions import schema
from pepys.actions.table import ACTIONS
from pepys.errors import InvalidArgument, NoteNotFound, NotesChanged, NotesUnavailable, UnknownAction, UntrustedProject
from pepys.model.notes import MemoryRequest, MemoryResult, Scope
from pepys.notes import store
from tests.notes.conftest import Desk

# The tool


@pytest.mark.requirement("notes.tool_declared")
def test_the_tool_is_declared_as_specified() -> None:
    tool = ACTIONS["notes.memory"]

    assert (tool.tool, tool.audience) == ("memory", "model")
    assert tool.annotations._asdict() == {
        "read_only": False,
        "destructive": True,
        "idempotent": True,
        "open_world": False,
        "execution_mode": "sequential",
    }
    declared = schema.json_schema(MemoryRequest)
    assert sorted(declared["properties"]) == ["action", "scope", "text", "to"]
    assert declared["properties"]["action"]["enum"] == ["add", "update", "forget", "list"]
    assert declared["properties"]["scope"]["enum"] == ["project", "global"]
    assert declared["required"] == ["action"]


@pytest.mark.requirement("notes.result")
@pytest.mark.parametrize("scope", ["project", "global"])
@pytest.mark.parametrize(
    "given",
    [
        {"action": "list"},
        {"action": "add", "text": "new"},
        {"action": "add", "text": "A!"},
        {"action": "update", "text": "a", "to": "b"},
        {"action": "update", "text": "a", "to": "a"},
        {"action": "forget", "text": "a"},
        {"action": "forget", "text": "none"},
        {"action": "wipe", "scope": "team"},
    ],
)
def test_every_result_is_as_it_is_declared(desk: Desk, given: dict[str, Any], scope: Scope) -> None:
    desk.write("- a\n", scope)
    desk.path("global" if scope == "project" else "project").mkdir(parents=True)
    declared = desk.workspace.tools.describe(ref="notes.memory")["outputSchema"]

    result = desk.workspace.notes.memory(**{"scope": scope, **given})

    assert set(declared["required"]) <= set(result) <= set(declared["properties"])
    assert result["warnings"]
    schema.parse(MemoryResult, result, "notes.memory")


@pytest.mark.requirement("notes.add", "notes.result", "notes.durable")
def test_an_added_note_is_stored_and_known_to_other_sessions(desk: Desk) -> None:
    added = desk.memory("add", "  Run tests\nwith bun ")

    assert added == {
        "action": "add",
        "scope": "project",
        "project": ["Run tests with bun"],
        "global": [],
        "changed": True,
        "entry": "Run tests with bun",
    }
    with desk.open(current_session_id="another") as other:
        assert other.notes.memory(action="list")["project"] == ["Run tests with bun"]


@pytest.mark.requirement("notes.add", "notes.near_duplicate", "notes.existing")
@pytest.mark.parametrize("again", ["Use tabs", "use   TABS..."])
def test_what_is_stored_already_is_named_and_not_stored_again(desk: Desk, again: str) -> None:
    desk.memory("add", "Use tabs")
    before = desk.path().stat()

    added = desk.memory("add", again)

    assert (added["changed"], added["existing"], added["project"]) == (False, "Use tabs", ["Use tabs"])
    assert "error" not in added
    assert desk.path().stat().st_ino == before.st_ino


@pytest.mark.requirement("notes.near_duplicate")
def test_only_the_store_that_is_added_to_is_compared(desk: Desk) -> None:
    desk.memory("add", "Use tabs", scope="global")

    assert desk.memory("add", "use tabs.")["changed"]
    assert desk.memory("add", "Use tabs in Go")["changed"]


@pytest.mark.requirement("notes.update", "notes.exact", "notes.result")
def test_an_update_replaces_every_exact_match_in_place(desk: Desk) -> None:
    desk.write("- a\n- b\n* a\n- A\n")

    updated = desk.memory("update", " a ", to="c")

    assert updated == {
        "action": "update",
        "scope": "project",
        "project": ["c", "b", "c", "A"],
        "global": [],
        "changed": True,
        "entry": "a",
        "to": "c",
    }
    assert desk.text() == "- c\n- b\n* c\n- A\n"
    assert desk.memory("update", "b", to="A")["project"] == ["c", "A", "c", "A"]  # a clash is allowed


@pytest.mark.requirement("notes.update")
def test_an_update_to_the_same_text_is_no_change(desk: Desk) -> None:
    path = desk.write("-   a\n")
    before = path.stat()

    updated = desk.memory("update", "a", to=" a")

    assert (updated["changed"], "error" in updated, path.stat().st_ino) == (False, False, before.st_ino)


@pytest.mark.requirement("notes.forget", "notes.exact")
def test_forgetting_removes_every_exact_match(desk: Desk) -> None:
    desk.write("- a\n- b\n- a\n- a.\n")

    forgotten = desk.memory("forget", "a")

    assert (forgotten["changed"], forgotten["entry"], forgotten["project"]) == (True, "a", ["b", "a."])


@pytest.mark.requirement("notes.list", "notes.result")
def test_a_list_has_both_scopes(desk: Desk) -> None:
    desk.write("- a\n")
    desk.write("- b\n", "global")

    assert desk.memory("list", scope="global") == {
        "action": "list",
        "scope": "global",
        "project": ["a"],
        "global": ["b"],
        "changed": False,
    }


@pytest.mark.requirement("notes.validation", "notes.limit")
@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"action": "add"}, "add needs text: a note that is not blank."),
        ({"action": "add", "text": "\n"}, "add needs text: a note that is not blank."),
        ({"action": "add", "text": "x" * 501}, "A note has at most 500 characters; this one has 501."),
        ({"action": "forget", "text": "x" * 501}, "A note has at most 500 characters; this one has 501."),
        ({"action": "update"}, "update needs text: a note that is not blank."),
        ({"action": "update", "text": "x" * 501, "to": "y"}, "A note has at most 500 characters; this one has 501."),
        ({"action": "update", "text": "a"}, "update needs to: a note that is not blank."),
        ({"action": "update", "text": "a", "to": " "}, "update needs to: a note that is not blank."),
        ({"action": "update", "text": "a", "to": "x" * 502}, "A note has at most 500 characters; this one has 502."),
    ],
)
def test_only_a_note_that_is_missing_or_blank_is_said_to_be_needed(
    desk: Desk, given: dict[str, Any], told: str
) -> None:
    assert desk.workspace.notes.memory(**given)["error"]["message"] == told


@pytest.mark.requirement("notes.validation")
@pytest.mark.parametrize(
    ("given", "code", "told"),
    [
        ({"action": "wipe", "text": "a"}, "invalid_argument", "action must be one of add, update, forget, list"),
        ({"action": "add"}, "invalid_argument", "add needs text"),
        ({"action": "add", "text": " \n\x1b "}, "invalid_argument", "blank"),
        ({"action": "add", "text": "x" * 501}, "invalid_argument", "at most 500 characters; this one has 501"),
        ({"action": "add", "text": "x", "scope": "team"}, "invalid_argument", "scope must be one of project, global"),
        ({"action": "update", "text": "a"}, "invalid_argument", "update needs to"),
        ({"action": "update", "text": "a", "to": "é" * 501}, "invalid_argument", "501"),
        ({"action": "update", "text": "none", "to": "b"}, "note_not_found", "No project memory note matches: none"),
        ({"action": "update", "text": "A", "to": "b"}, "note_not_found", "matches: A"),
        ({"action": "forget", "text": "b", "scope": "project"}, "note_not_found", "matches: b"),
        ({"action": "forget", "text": "x" * 501}, "invalid_argument", "501"),
    ],
)
def test_what_is_wrong_is_told_in_the_result_beside_the_unchanged_notes(
    desk: Desk, given: dict[str, Any], code: str, told: str
) -> None:
    path = desk.write("- a\n")
    desk.write("- b\n", "global")
    before = path.stat()

    result = desk.workspace.notes.memory(**given)

    assert (result["project"], result["global"], result["changed"]) == (["a"], ["b"], False)
    assert (result["error"]["code"], told in result["error"]["message"]) == (code, True)
    assert (result["action"] in ("add", "update", "forget", "list"), result["scope"] in ("project", "global")) == (
        True,
        True,
    )
    assert path.stat() == before


@pytest.mark.requirement("notes.validation")
def test_what_fails_in_an_empty_project_makes_no_folder(desk: Desk) -> None:
    for given in (("forget", "a"), ("update", "a"), ("add", " ")):
        assert "error" in desk.memory(*given, to="b")

    assert list(desk.project.iterdir()) == []


@pytest.mark.requirement("notes.limit")
@pytest.mark.parametrize("note", ["x" * 500, "日" * 500, "👍" * 500, "a  b\t\n" * 125, "  " + "x" * 500 + "\x1b"])
def test_a_note_has_500_code_points_once_it_is_clean(desk: Desk, note: str) -> None:
    assert desk.memory("add", note)["changed"]
    assert "error" in desk.memory("add", note.strip() + "y" * 501)


def test_a_note_that_a_person_wrote_may_be_longer(desk: Desk) -> None:
    long = "y" * 900
    desk.write(f"- {long}\n- a\n")

    assert desk.memory("forget", "a")["project"] == [long]
    assert long in desk.workspace.notes.injection()["text"]


@pytest.mark.requirement("notes.never_masked", "notes.provenance")
def test_a_note_is_kept_as_it_is_whatever_it_holds_and_wherever_it_came_from(tmp_path: Path) -> None:
    token = "ghp_" + "a1B2" * 9
    desk = Desk(tmp_path, shown=True, config_overrides={"memory": {"redact": "always"}})

    added = desk.memory("add", f"The test token is {token}")

    assert added["project"] == [f"The test token is {token}"]
    assert token in desk.text()
    assert token in desk.workspace.notes.injection()["text"]
    assert token in desk.workspace.notes.read()["text"]
    assert token in json.dumps(desk.workspace.notes.picker())


@pytest.mark.requirement("notes.nothing_but_text")
def test_the_file_holds_the_note_and_nothing_about_it(desk: Desk) -> None:
    desk.write("- a\n")
    desk.memory("add", "b")

    assert desk.text() == "- a\n- b\n"


# Who may call what


@pytest.mark.requirement("notes.no_bulk_clear")
def test_models_have_the_tool_alone(desk: Desk) -> None:
    listed = [each["ref"] for each in desk.workspace.tools.list(provider="notes")]

    assert listed == ["notes.memory"]
    for ref, action in ACTIONS.items():
        if ref.startswith("notes.") and ref != "notes.memory":
            assert action.audience in ("person", "host")
            with pytest.raises(UnknownAction):
                desk.workspace.tools.call(ref=ref, args={})
    assert {ref for ref in ACTIONS if ref.startswith("notes.")} == {
        f"notes.{name}"
        for name in (
            *("memory", "path", "reload", "doctor", "read", "save", "clear", "merge", "move", "injection", "picker"),
        )
    }


@pytest.mark.requirement("notes.guests")
@pytest.mark.parametrize(
    "call",
    [
        "notes.memory({'action': 'list'})",
        "tools.call({'ref': 'notes.memory', 'args': {'action': 'add', 'text': 'x'}})",
        "tools.call({'ref': 'notes.clear', 'args': {}})",
    ],
)
def test_programs_reach_no_notes(desk: Desk, call: str) -> None:
    desk.write("- a\n")

    with pytest.raises(errors.ProgramFailed):
        desk.workspace.call("guest.run", {"program": call})

    assert desk.text() == "- a\n"


@pytest.mark.requirement("notes.guests")
def test_whoever_may_only_read_does_not_see_the_tool(desk: Desk) -> None:
    from pepys.actions.base import Parts

    seen = actions.visible(Parts(desk.workspace.context, desk.workspace.history, guest=True))

    assert not [ref for ref in seen if ref.startswith("notes.")]
    assert not ACTIONS["notes.memory"].annotations.read_only


# For people


@pytest.mark.requirement("notes.reload")
def test_a_reload_tells_what_has_changed_since_the_last_look(desk: Desk) -> None:
    desk.write("- a\n- b\n")
    desk.memory("list")
    desk.write("- b\n- c\n")

    assert desk.workspace.notes.reload() == {
        "project": {"read": True, "notes": 2, "added": ["c"], "removed": ["a"]},
        "global": {"read": True, "notes": 0, "added": [], "removed": []},
    }
    assert desk.workspace.notes.reload()["project"] == {"read": True, "notes": 2, "added": [], "removed": []}


@pytest.mark.requirement("notes.edit")
def test_a_file_is_read_and_saved_whole(desk: Desk) -> None:
    desk.write("# Shop\n- a\n")
    given = desk.workspace.notes.read(scope="project")

    saved = desk.workspace.notes.save(text="# Mart\n\n- b\n- c", revision=given["revision"])

    assert given == {
        "scope": "project",
        "path": str(desk.path()),
        "text": "# Shop\n- a\n",
        "revision": hashlib.sha256(b"# Shop\n- a\n").hexdigest(),
    }
    assert saved == {"scope": "project", "changed": True, "project": ["b", "c"], "global": []}
    assert desk.text() == "# Mart\n\n- b\n- c\n"


@pytest.mark.requirement("notes.edit", "notes.line_endings")
@pytest.mark.parametrize(
    ("before", "edited", "exact", "after"),
    [
        ("- a\r\n- b\r\n", "- a\n- c", False, "- a\r\n- c\r\n"),
        ("- a\r\n- b\r\n", "- a\n- c", True, "- a\n- c"),
        ("- a", "- b", False, "- b"),
        ("", "- b", False, "- b\n"),
        ("- a\r\n- b\n", "- a\n- c", False, "- a\n- c\n"),
        ("- a\n", "", False, ""),
    ],
)
def test_a_dialog_that_loses_line_endings_does_not_lose_them_for_the_file(
    desk: Desk, before: str, edited: str, exact: bool, after: str
) -> None:
    desk.write(before)
    revision = desk.workspace.notes.read()["revision"]

    desk.workspace.notes.save(text=edited, revision=revision, exact=exact)

    assert desk.text() == after


@pytest.mark.requirement("notes.edit")
def test_an_edit_of_a_past_revision_is_refused(desk: Desk) -> None:
    desk.write("- a\n")
    revision = desk.workspace.notes.read()["revision"]
    desk.memory("add", "b")

    with pytest.raises(NotesChanged):
        desk.workspace.notes.save(text="- mine\n", revision=revision)

    assert desk.text() == "- a\n- b\n"


@pytest.mark.requirement("notes.edit")
def test_a_file_that_does_not_exist_yet_can_be_edited(desk: Desk) -> None:
    given = desk.workspace.notes.read(scope="global")

    desk.workspace.notes.save(scope="global", text="- b", revision=given["revision"])

    assert (given["text"], desk.listed("global")) == ("", ["b"])


@pytest.mark.requirement("notes.clear")
def test_clearing_empties_one_scope_and_keeps_its_prose(desk: Desk) -> None:
    desk.write("# Shop\n- a\n- b\n")
    desk.write("- c\n", "global")

    cleared = desk.workspace.notes.clear()

    assert cleared == {"scope": "project", "removed": 2, "changed": True, "project": [], "global": ["c"]}
    assert desk.text() == "# Shop\n"


@pytest.mark.requirement("notes.merge_one_write")
def test_a_merge_is_one_write(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    desk.write("- a\n- z\n- b\n")
    written: list[str] = []
    write = store._write

    def watched(path: Path, text: str) -> None:
        written.append(text)
        write(path, text)

    monkeypatch.setattr(store, "_write", watched)

    merged = desk.workspace.notes.merge(first="b", second="a", text="a, then b")

    assert (merged["project"], merged["entry"], written) == (["z", "a, then b"], "a, then b", ["- z\n- a, then b\n"])


@pytest.mark.requirement("notes.merge_one_write", "notes.merge_same_scope")
@pytest.mark.parametrize(
    ("given", "error"),
    [
        ({"second": "c", "text": "x"}, NoteNotFound),  # it is in the other scope
        ({"second": "b", "text": " "}, InvalidArgument),
        ({"second": "b", "text": "x" * 501}, InvalidArgument),
    ],
)
def test_a_merge_that_fails_leaves_both_notes(desk: Desk, given: dict[str, str], error: type[Exception]) -> None:
    desk.write("- a\n- b\n")
    desk.write("- c\n", "global")

    with pytest.raises(error):
        desk.workspace.notes.merge(first="a", **given)

    assert (desk.text(), desk.text("global")) == ("- a\n- b\n", "- c\n")


@pytest.mark.requirement("notes.move_order")
@pytest.mark.parametrize(("scope", "other"), [("project", "global"), ("global", "project")])
def test_a_note_is_moved_and_back_again(desk: Desk, scope: Scope, other: Scope) -> None:
    desk.write("# Here\n- a\n- b\n", scope)

    there = desk.workspace.notes.move(text="a", scope=scope)
    back = desk.workspace.notes.move(text="a", scope=other)

    assert (there[scope], there[other]) == (["b"], ["a"])
    assert (back[scope], back[other]) == (["b", "a"], [])
    assert desk.text(scope) == "# Here\n- b\n- a\n"


@pytest.mark.requirement("notes.move_existing")
def test_a_moved_note_that_is_there_already_is_not_doubled(desk: Desk) -> None:
    desk.write("- Use bun\n")
    desk.write("- use bun.\n", "global")

    moved = desk.workspace.notes.move(text="Use bun")

    assert (moved["project"], moved["global"], moved["existing"]) == ([], ["use bun."], "use bun.")


@pytest.mark.requirement("notes.move_order", "notes.move_failure")
def test_a_move_whose_second_write_fails_leaves_the_note_in_both_and_the_doctor_says_so(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.write("- a\n")
    write = store._write

    def refuse(path: Path, text: str) -> None:
        if path == desk.path():
            raise NotesUnavailable("no space")
        write(path, text)

    with monkeypatch.context() as patch:
        patch.setattr(store, "_write", refuse)
        with pytest.raises(NotesUnavailable, match="in both stores now"):
            desk.workspace.notes.move(text="a")

    assert (desk.listed(), desk.listed("global")) == (["a"], ["a"])
    assert desk.workspace.notes.doctor()["duplicates"] == [
        [{"scope": "project", "text": "a"}, {"scope": "global", "text": "a"}]
    ]
    assert desk.workspace.notes.move(text="a")["global"] == ["a"]
    assert desk.listed() == []


@pytest.mark.requirement("notes.move_order")
def test_a_move_whose_first_write_fails_changes_nothing(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    desk.write("- a\n")
    desk.write(b"x" * store.MAX_BYTES, "global")

    with pytest.raises(NotesUnavailable):
        desk.workspace.notes.move(text="a")

    assert desk.text() == "- a\n"


@pytest.mark.requirement("notes.trust_write")
def test_people_s_actions_keep_out_of_an_untrusted_project_too(tmp_path: Path) -> None:
    desk = Desk(tmp_path, trusted=False)
    desk.write("- a\n- b\n")
    desk.write("- c\n", "global")
    revision = hashlib.sha256(b"- a\n- b\n").hexdigest()
    notes = desk.workspace.notes

    calls: tuple[Callable[[], object], ...] = (
        lambda: notes.read(),
        lambda: notes.save(text="", revision=revision),
        lambda: notes.clear(),
        lambda: notes.merge(first="a", second="b", text="c"),
        lambda: notes.move(text="a"),
        lambda: notes.move(text="c", scope="global"),
    )
    for call in calls:
        with pytest.raises(UntrustedProject):
            call()

    assert (desk.text(), desk.text("global")) == ("- a\n- b\n", "- c\n")
    found = notes.doctor()["project"]
    assert found == {
        "path": str(desk.path()),
        "read": False,
        "notes": 0,
        "bytes": desk.path().stat().st_size,
        "trusted": False,
    }
