"""The picker as a state machine: every key, and the lines at three widths."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pepys.errors import InvalidArgument
from pepys.notes import picker, store
from pepys.notes.columns import width
from pepys.notes.picker import Effect, Key, Row, Shelf, State
from tests.notes.conftest import Desk

SNAPSHOTS = Path(__file__).parent / "snapshots"

SHELF = Shelf(
    project=("Run tests with bun, not npm", "テストは bun で実行する（npm は使わない）", "Deploy on Mondays"),
    global_=("Answer briefly", "한국어로 대답하지 마세요 👩‍👩‍👧"),
)

NAMED = {"enter", "escape", "tab", "up", "down", "pageup", "pagedown", "home", "end", "left", "right", "backspace"}
NAMED |= {"delete", "wheelup", "wheeldown", "ctrl+c", "ctrl+u", "ctrl+k", "ctrl+w", "ctrl+a", "ctrl+e"}


def typed(key: str) -> Key:
    return Key(key) if key in NAMED else Key(text=key)


def pressed(*keys: str, shelf: Shelf = SHELF, state: State = State()) -> tuple[State, list[Effect]]:  # noqa: B008
    """The state after *keys*, and the effects that they had; nothing carries these out."""
    effects = []
    for key in keys:
        state, effect = picker.press(state, shelf, typed(key), 5)
        effects += [effect] if effect else []
    return picker.located(state, shelf), effects


def screen(state: State, shelf: Shelf = SHELF, columns: int = 80, height: int = 24) -> str:
    return "\n".join("".join(run.text for run in line) for line in picker.lines(state, shelf, columns, height))


class Open:
    """A picker over real stores."""

    def __init__(self, desk: Desk) -> None:
        self.desk = desk
        self.shown: Any = desk.workspace.notes.picker()

    def press(self, *keys: str) -> list[Any]:
        effects: list[Any] = []
        for key in keys:
            given = {"key": key} if key in NAMED else {"text": key}
            # As a host has it: the state has been JSON in between.
            self.shown = self.desk.workspace.notes.picker(state=json.loads(json.dumps(self.shown["state"])), **given)
            effects += self.shown["effects"]
        return effects

    @property
    def text(self) -> str:
        return "\n".join("".join(text for text, _ in line) for line in self.shown["lines"])


@pytest.fixture
def opened(desk: Desk) -> Open:
    desk.write("# Shop\n- one\n- two\n- three\n")
    desk.write("- four\n", "global")
    return Open(desk)


# Moving


@pytest.mark.requirement("notes.picker_list")
@pytest.mark.parametrize(
    ("keys", "at"),
    [
        ((), 0),
        (("down",), 1),
        (("j", "j", "k"), 1),
        (("up",), 0),
        (("end",), 4),
        (("end", "down", "j"), 4),
        (("end", "home"), 0),
        (("pagedown",), 4),
        (("end", "pageup"), 0),
        (("wheeldown", "wheeldown", "wheelup"), 1),
        (("down", "x", "Q", "left", "several words"), 1),
    ],
)
def test_the_focus_moves_within_the_list(keys: tuple[str, ...], at: int) -> None:
    state, effects = pressed(*keys)

    assert (state.at, state.focus, effects) == (at, SHELF.rows("all")[at], [])


@pytest.mark.requirement("notes.picker_filter")
@pytest.mark.parametrize("key", ["s", "tab"])
def test_the_filter_goes_round_the_scopes(key: str) -> None:
    seen = [pressed(*[key] * times)[0] for times in range(4)]

    assert [state.filter for state in seen] == ["all", "project", "global", "all"]
    assert [len(SHELF.rows(state.filter)) for state in seen] == [5, 3, 2, 5]
    assert seen[2].focus == Row("global", "Answer briefly")


@pytest.mark.requirement("notes.picker_reload")
def test_r_reads_the_stores_again(opened: Open) -> None:
    opened.desk.write("- changed\n")

    assert opened.press("r") == [{"do": "reload", "scope": "project"}]
    assert ("changed" in opened.text, "one" in opened.text) == (True, False)


# Adding and editing


@pytest.mark.requirement("notes.picker_add")
@pytest.mark.parametrize(
    ("keys", "shelf", "scope"),
    [
        ((), SHELF, "project"),
        (("s",), SHELF, "project"),
        (("s", "s"), SHELF, "global"),
        ((), Shelf(trusted=False), "global"),
        (("s",), Shelf(trusted=False), None),
    ],
)
def test_a_adds_to_the_active_scope(keys: tuple[str, ...], shelf: Shelf, scope: str | None) -> None:
    state, effects = pressed(*keys, "a", " new\tnote ", "enter", shelf=shelf)

    if scope is None:
        assert (effects, "not trusted" in pressed(*keys, "a", shelf=shelf)[0].message) == ([], True)
    else:
        assert effects == [Effect("add", scope, "new note")]  # type: ignore[arg-type]
        assert state.editor is not None  # until it is known to be stored


@pytest.mark.requirement("notes.picker_add")
def test_an_added_note_has_the_focus(opened: Open) -> None:
    effects = opened.press("a", "five", "enter")

    assert effects == [{"do": "add", "scope": "project", "text": "five"}]
    assert opened.desk.listed() == ["one", "two", "three", "five"]
    assert "❯  project five" in opened.text
    assert "Added to project memory." in opened.text


@pytest.mark.requirement("notes.picker_add", "notes.existing")
def test_a_near_duplicate_is_shown_where_it_stands(opened: Open) -> None:
    opened.press("a", "TWO.", "enter")

    assert opened.desk.listed() == ["one", "two", "three"]
    assert "❯  project two" in opened.text
    assert "Already in project memory." in opened.text


@pytest.mark.requirement("notes.picker_edit")
@pytest.mark.parametrize("key", ["enter", "e"])
def test_enter_and_e_edit_the_focused_note(opened: Open, key: str) -> None:
    effects = opened.press("down", key, "!", "enter")

    assert effects == [{"do": "update", "scope": "project", "text": "two", "to": "two!"}]
    assert opened.desk.text() == "# Shop\n- one\n- two!\n- three\n"
    assert "❯  project two!" in opened.text


@pytest.mark.requirement("notes.picker_edit")
@pytest.mark.parametrize(
    ("keys", "text"),
    [
        (("x",), "Answer brieflyx"),
        (("home", "x", "end", "y"), "xAnswer brieflyy"),
        (("left", "left", "x"), "Answer briefxly"),
        (("backspace", "backspace"), "Answer brief"),
        (("ctrl+a", "delete", "right", "x"), "nxswer briefly"),
        (("ctrl+w", "now"), "Answer now"),
        (("ctrl+u", "new"), "new"),
        (("home", "right", "ctrl+k"), "A"),
        (("up", "down", "pageup"), "Answer briefly"),
        ((" a\nb\x1b[31m",), "Answer briefly a b [31m"),
    ],
)
def test_the_editor_edits(keys: tuple[str, ...], text: str) -> None:
    state, _ = pressed("s", "s", "e", *keys)

    assert state.editor is not None
    assert state.editor.text == text


@pytest.mark.requirement("notes.picker_edit", "notes.picker_width")
def test_what_people_see_as_one_character_is_one_for_the_cursor() -> None:
    family, composed = "👩‍👩‍👧", "e\u0301"
    state, _ = pressed("a", f"a{family}{composed}日", "backspace", "left", "backspace", "x")
    joined, _ = pressed("a", "e", "\u0301", "x", "left", "left", "y")

    assert state.editor is not None
    assert joined.editor is not None
    assert state.editor.text == f"ax{composed}"
    assert joined.editor.text == f"y{composed}x"


@pytest.mark.requirement("notes.picker_edit")
def test_an_edit_that_changes_nothing_does_nothing() -> None:
    state, effects = pressed("e", "x", "backspace", "enter")

    assert (state.editor, effects) == (None, [])


@pytest.mark.requirement("notes.picker_edit", "notes.limit")
@pytest.mark.parametrize(("text", "told"), [("  ", "blank"), ("x" * 501, "501")])
def test_a_note_that_cannot_be_stored_stays_in_the_editor(text: str, told: str) -> None:
    state, effects = pressed("e", "ctrl+u", text, "enter")

    assert (state.editor is not None, told in state.message, effects) == (True, True, [])


@pytest.mark.requirement("notes.picker_edit")
def test_a_write_that_fails_loses_nothing_that_was_typed(opened: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(store, "MAX_BYTES", 10)
        opened.press("a", "a long thought", "enter")

    assert "a long thought" in opened.text
    assert "256 KiB" in opened.text.replace("\n", "")
    opened.press("enter")
    assert "a long thought" in opened.desk.listed()


# Forgetting


@pytest.mark.requirement("notes.picker_forget")
@pytest.mark.parametrize(
    ("answer", "left"),
    [("y", ["one", "three"]), ("Y", ["one", "three"])]
    + [(key, ["one", "two", "three"]) for key in ("n", "N", "enter", "escape", "d", "j", "yes")],
)
def test_d_forgets_after_a_yes_and_nothing_else(opened: Open, answer: str, left: list[str]) -> None:
    opened.press("j", "d")
    asked = opened.text
    opened.press(answer)

    assert "y/N" in asked
    assert opened.desk.listed() == left
    assert not opened.shown["closed"]


@pytest.mark.requirement("notes.picker_forget")
def test_a_key_never_hits_a_note_that_has_taken_the_place_of_another(opened: Open) -> None:
    opened.press("j")
    opened.desk.write("- one\n- precious\n- three\n")
    effects = opened.press("d", "y")
    moved = opened.press("k")

    assert (effects, moved) == ([], [])
    assert opened.desk.listed() == ["one", "precious", "three"]


@pytest.mark.requirement("notes.picker_forget")
def test_the_focus_stays_with_its_note_when_others_come_before_it(opened: Open) -> None:
    opened.press("j")
    opened.desk.write("- zero\n- one\n- two\n- three\n")

    assert opened.press("d", "y") == [{"do": "forget", "scope": "project", "text": "two"}]


def test_a_note_that_is_longer_than_a_model_may_write_can_be_forgotten(opened: Open) -> None:
    opened.desk.write(f"- {'x' * 900}\n")

    opened.press("r", "home", "d", "y")

    assert opened.desk.listed() == []


# Merging


@pytest.mark.requirement("notes.picker_merge", "notes.merge_one_write")
def test_m_on_two_notes_opens_the_editor_with_both(opened: Open) -> None:
    opened.press("m", "j", "j", "m")
    both = opened.text
    effects = opened.press("ctrl+u", "one, then three", "enter")

    assert "one; three" in both
    assert effects == [{"do": "merge", "scope": "project", "text": "one", "second": "three", "to": "one, then three"}]
    assert opened.desk.text() == "# Shop\n- one, then three\n- two\n"
    assert "❯  project one, then three" in opened.text


@pytest.mark.requirement("notes.picker_merge")
def test_m_on_the_marked_note_unmarks_it() -> None:
    marked, _ = pressed("m")
    unmarked, _ = pressed("m", "m")

    assert (marked.mark, unmarked.mark) == (SHELF.rows("all")[0], None)
    assert "●" in screen(marked)
    assert "●" not in screen(unmarked)


@pytest.mark.requirement("notes.picker_merge", "notes.merge_same_scope")
def test_notes_of_two_scopes_are_not_merged() -> None:
    state, effects = pressed("m", "end", "m", "enter")

    assert (state.mark, effects) == (SHELF.rows("all")[0], [])
    assert "one scope" in pressed("m", "end", "m")[0].message


@pytest.mark.requirement("notes.picker_merge")
def test_equal_notes_of_a_hand_edited_file_can_be_merged(opened: Open) -> None:
    opened.desk.write("- a\n- b\n- a\n")

    opened.press("r", "home", "m", "j", "j", "m", "ctrl+u", "a", "enter")

    assert opened.desk.listed() == ["a", "b"]


@pytest.mark.requirement("notes.merge_one_write")
def test_a_cancelled_merge_leaves_both(opened: Open) -> None:
    opened.press("m", "j", "m", "x", "escape")

    assert opened.desk.text() == "# Shop\n- one\n- two\n- three\n"


# Moving to the other scope


@pytest.mark.requirement("notes.picker_move", "notes.move_order")
def test_p_moves_the_note_and_p_again_moves_it_back(opened: Open) -> None:
    there = opened.press("j", "p")
    after = opened.text
    back = opened.press("p")

    assert there == [{"do": "move", "scope": "project", "text": "two"}]
    assert back == [{"do": "move", "scope": "global", "text": "two"}]
    assert "❯  global  two" in after
    assert (opened.desk.listed(), opened.desk.listed("global")) == (["one", "three", "two"], ["four"])


@pytest.mark.requirement("notes.picker_move")
def test_a_moved_note_is_still_shown_where_the_filter_would_hide_it(opened: Open) -> None:
    opened.press("s", "p")

    assert "❯  global  one" in opened.text
    assert opened.text.splitlines()[1].startswith("All")
    opened.press("p")
    assert opened.desk.listed("global") == ["four"]


@pytest.mark.requirement("notes.picker_move", "notes.trust_write")
def test_nothing_is_moved_into_an_untrusted_project(tmp_path: Path) -> None:
    desk = Desk(tmp_path, trusted=False)
    desk.write("- four\n", "global")
    opened = Open(desk)

    effects = opened.press("p")

    assert effects == []
    assert "not trusted" in opened.text
    assert desk.listed("global") == ["four"]


# Cancelling


@pytest.mark.requirement("notes.picker_escape")
def test_escape_cancels_the_mark_then_the_editor_then_the_screen() -> None:
    state, _ = pressed("m", "e")
    seen = []
    for _ in range(3):
        state, _ = pressed("escape", state=state)
        seen.append((state.mark is None, state.editor is None, state.closed))

    assert seen == [(True, False, False), (True, True, False), (True, True, True)]


def test_ctrl_c_closes_from_everywhere() -> None:
    assert [pressed(*keys, "ctrl+c")[0].closed for keys in ((), ("e",), ("d",), ("m",))] == [True] * 4


# The state between two steps


@pytest.mark.parametrize(
    "state", [{}, {"picker": []}, {"picker": ["team"]}, {"picker": {"filter": "all"}}, {"picker": 1}]
)
def test_a_state_that_is_none_is_refused(desk: Desk, state: object) -> None:
    if state == {"picker": []}:
        assert desk.workspace.notes.picker(state=state)["lines"]  # all of it is at its default
        return
    with pytest.raises(InvalidArgument, match="not one that"):
        desk.workspace.notes.picker(state=state)


# Lines


def numbered(count: int) -> Shelf:
    return Shelf(tuple(f"note {at}" for at in range(1, count + 1)))


@pytest.mark.requirement("notes.picker_list")
@pytest.mark.parametrize(
    ("keys", "shown"),
    [
        ((), "1–6"),
        (("j",) * 4, "2–7"),
        (("end",), "15–20"),
        (("end", "k", "k"), "15–20"),
        (("end", "k", "k", "k"), "14–19"),
    ],
)
def test_a_clipped_list_says_which_part_is_shown(keys: tuple[str, ...], shown: str) -> None:
    shelf = numbered(20)
    state, _ = pressed(*keys, shelf=shelf)

    text = screen(state, shelf, height=12)

    assert f"showing {shown} of 20" in text
    assert f"❯  project {state.focus.text if state.focus else ''}\n" in text
    assert len(text.splitlines()) <= 12
    assert "showing" not in screen(state, shelf, height=40)


ON_MARK, BESIDE_MARK = State(mark=SHELF.rows("all")[0]), State(mark=SHELF.rows("all")[0], focus=SHELF.rows("all")[1])


@pytest.mark.requirement("notes.picker_list")
@pytest.mark.parametrize(
    ("state", "columns", "hints"),
    [
        (State(), 10, "Esc close"),
        (State(), 20, "e edit · Esc close"),
        (State(), 30, "e edit · a add · Esc close"),
        (State(), 80, " · ".join(picker._BROWSE)),
        (State(), 8, ""),
        (ON_MARK, 12, "Esc unmark"),
        (ON_MARK, 24, "m unmark · Esc unmark"),
        (ON_MARK, 40, "m unmark · p move · s scope · Esc unmark"),
        (BESIDE_MARK, 29, "Esc unmark"),
        (BESIDE_MARK, 30, "m merge with this · Esc unmark"),
        (BESIDE_MARK, 39, "m merge with this · p move · Esc unmark"),
        (State(editor=picker.Editor("add", "project", "x")), 16, "Esc cancel"),
        (State(editor=picker.Editor("add", "project", "x")), 26, "Enter save · Esc cancel"),
        (State(editor=picker.Editor("add", "project", "x")), 40, "Enter save · Esc cancel · 1/500"),
        (State(doomed=SHELF.rows("all")[0]), 16, "N keep"),
    ],
)
def test_hints_are_dropped_whole_the_way_out_last_and_later_ones_first(state: State, columns: int, hints: str) -> None:
    drawn = picker.lines(state, SHELF, columns, 24)[-1]

    assert "".join(run.text for run in drawn) == hints


@pytest.mark.requirement("notes.picker_list")
@given(st.integers(1, 120))
def test_a_hint_never_goes_before_one_that_comes_after_it(columns: int) -> None:
    for state in (State(), ON_MARK, BESIDE_MARK):
        whole, part = (
            "".join(run.text for run in picker.lines(state, SHELF, width, 24)[-1]).split(" · ")
            for width in (200, columns)
        )
        assert part == [""] or part == [*whole[: len(part) - 1], whole[-1]]


def test_what_cannot_be_read_or_is_not_trusted_is_said(desk: Desk) -> None:
    desk.write("x" * (store.MAX_BYTES + 1))

    assert "256 KiB" in Open(desk).text.replace("\n", "")
    assert "project not trusted" in screen(State(), Shelf(trusted=False))


@pytest.mark.requirement("notes.picker_list")
@pytest.mark.parametrize(
    ("filter_", "shelf", "told"),
    [
        ("project", Shelf(trusted=False), "The project is not trusted; its notes are neither read nor written."),
        ("project", Shelf((), ("a",), trusted=False), "The project is not trusted;"),
        ("all", Shelf(trusted=False), "No global notes yet. Press a to add one."),
        ("global", Shelf(trusted=False), "No notes here yet. Press a to add one."),
        ("project", Shelf(unread=("project",)), "What project memory holds cannot be read now."),
        ("all", Shelf(unread=("global",)), "What global memory holds cannot be read now."),
        ("project", Shelf(unread=("global",)), "No notes here yet. Press a to add one."),
        ("all", Shelf(), "No notes here yet. Press a to add one."),
    ],
)
def test_an_empty_list_says_why_it_is_empty(filter_: picker.Filter, shelf: Shelf, told: str) -> None:
    text = screen(State(filter_), shelf)

    assert told in text
    assert ("Press a" in text) == ("Press a" in told)
    assert ("a add" in text) == (picker.press(State(filter_), shelf, Key(text="a"), 5)[0].editor is not None)


def test_why_a_list_is_empty_is_told_on_as_many_lines_as_it_takes() -> None:
    text = screen(State("project"), Shelf(trusted=False), columns=20)

    assert picker._NOT_TRUSTED in " ".join(text.split())


def test_a_store_that_cannot_be_read_is_not_said_to_be_empty(desk: Desk) -> None:
    desk.write("x" * (store.MAX_BYTES + 1))

    assert "What project memory holds cannot be read now." in Open(desk).text


def test_a_note_cannot_steer_the_terminal() -> None:
    text = screen(State(), Shelf(("a\u202eb",)))

    assert "a\\u202eb" in text


keys = st.lists(
    st.sampled_from(sorted(NAMED - {"ctrl+c"}) + list("kjeadmpsrynx日") + ["👩‍👩‍👧", "long " * 30]), max_size=25
)
shelves = st.builds(
    Shelf,
    st.lists(st.sampled_from(["a", "b", "日本語 " * 9, "👍🏽 ok", "x" * 300]), max_size=9).map(tuple),
    st.lists(st.sampled_from(["a", "c"]), max_size=3).map(tuple),
    st.booleans(),
    st.sampled_from([(), ("a store cannot be read " * 5,)]),
)


@pytest.mark.requirement("notes.picker_width")
@given(keys, shelves, st.integers(13, 120), st.integers(4, 30))  # 13: a wide character beside the tags
def test_whatever_is_pressed_no_line_is_too_wide_and_there_are_not_too_many(
    given_keys: Iterable[str], shelf: Shelf, columns: int, height: int
) -> None:
    shelf = shelf if shelf.trusted else shelf._replace(project=())
    state = State()
    for key in given_keys:
        state, effect = picker.press(state, shelf, typed(key), picker.page(height))
        if effect is not None:
            state = picker.after(state, shelf, effect)

        drawn = picker.lines(state, shelf, columns, height)

        assert len(drawn) <= height
        assert max(sum(width(run.text) for run in line) for line in drawn) <= columns
        cursors = sum(run.style == "cursor" for line in drawn for run in line)
        assert cursors == (state.editor is not None)


SCREENS: dict[str, tuple[str, ...]] = {
    "list": ("down",),
    "filtered": ("s", "s"),
    "marked": ("m", "down"),
    "merging": ("m", "down", "m"),
    "editing": ("down", "e", "left", "left"),
    "adding": ("a",),
    "forgetting": ("end", "d"),
    "refused": ("m", "end", "m"),
}


@pytest.mark.requirement("notes.picker_list", "notes.picker_width")
@pytest.mark.parametrize("columns", [40, 80, 120])
def test_screens_are_as_they_were_looked_at(columns: int) -> None:
    """`PEPYS_SNAPSHOTS=write` draws them anew; look at what has changed."""
    drawn = []
    for name, pressed_keys in SCREENS.items():
        text = screen(pressed(*pressed_keys)[0], columns=columns)
        drawn.append(f"== {name}\n{text}\n")
    empty = screen(State(), Shelf(), columns)
    clipped = screen(pressed("pagedown", shelf=numbered(30))[0], numbered(30), columns, height=12)
    drawn += [f"== empty\n{empty}\n", f"== clipped\n{clipped}\n"]
    snapshot = "".join("\n".join(line.rstrip() for line in text.split("\n")) for text in drawn)
    path = SNAPSHOTS / f"{columns}.txt"

    if os.environ.get("PEPYS_SNAPSHOTS") == "write":
        path.parent.mkdir(exist_ok=True)
        path.write_text(snapshot, "utf-8")
    assert snapshot == path.read_text("utf-8")
