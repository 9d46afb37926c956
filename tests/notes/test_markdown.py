"""What is a note, and what changing notes does to the text around them."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pepys.notes import markdown

PROSE = "# Shop\r\n\r\nWe write here.\n<!-- - no note -->\n---\n1. one\n+ plus\n> - quoted\n-tight\n-\n- \n  text\n"

# Hand edits: bullets of both kinds and of any indentation, prose, junk that is not UTF-8, over-long lines.
words = st.text(st.sampled_from("ab .!é日\t\x1b\udcff\u2028-*"), max_size=12)
bullets = st.builds(
    "{}{}{}{}".format,
    st.sampled_from(["", "  ", "\t", "    "]),
    st.sampled_from("-*"),
    st.sampled_from([" ", "\t", "   "]),
    words,
)
junk = st.sampled_from(
    ["", " ", "# heading", "prose - with a dash", "> - quoted", "+ plus", "\x00\x01\udc80\udcfe", "-" * 9, "x" * 999]
)
lines = st.lists(st.tuples(bullets | junk | words, st.sampled_from(["\n", "\r\n"])), max_size=12)
texts = st.builds(
    lambda bom, parts, last: bom + "".join(body + ending for body, ending in parts) + last,
    st.sampled_from(["", "\ufeff"]),
    lines,
    bullets | junk,
)
notes = words.map(markdown.clean).filter(bool)


def parts(text: str) -> tuple[list[str], list[str]]:
    """The lines of *text*: those that are notes, and all others; told apart without the code under test."""
    found = re.split(r"\r?\n", text.removeprefix("\ufeff"))
    own = [line for line in found if re.match(r"\s*[-*][ \t]+", line) and markdown.clean(line.strip()[1:])]
    return own, [line for line in found if line not in own]


@pytest.mark.requirement("notes.bullets")
@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("- a\n* b\n  - c\n\t*\td\n-   e  \n- [ ] f\n- - g\n", ("a", "b", "c", "d", "e", "[ ] f", "- g")),
        (PROSE, ()),
        ("- a\r\n- b", ("a", "b")),
        ("\ufeff- a\n", ("a",)),
        ("- a\rb\u2028c\n", ("a b c",)),
        ("- \udcff\n", ("\ufffd",)),
        ("", ()),
    ],
)
def test_a_bullet_is_a_note_and_nothing_else_is(text: str, found: tuple[str, ...]) -> None:
    assert markdown.notes(text) == found


@pytest.mark.requirement("notes.sanitised")
@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("  two\n\nlines\t of   text ", "two lines of text"),
        ("\x1b[31mred\x1b[0m", "[31mred [0m"),
        ("a\x00b\x7fc\x9b2Jd\x85e", "a b c 2Jd e"),
        ("no\u00a0break\u3000wide", "no break wide"),
        ("lone \ud83d half", "lone \ufffd half"),
        ("日本語 👍🏽", "日本語 👍🏽"),
        ("\x1b\n\t", ""),
    ],
)
def test_a_note_is_one_line_that_steers_no_terminal(text: str, clean: str) -> None:
    assert markdown.clean(text) == clean
    assert markdown.clean(clean) == clean


@pytest.mark.requirement("notes.near_duplicate")
@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("Use tabs", "use  TABS!", True),
        ("Use tabs", "Use tabs.;:?!,", True),
        ("Use tabs", "Use tabs here", False),
        ("a, b", "a b", False),
        ("tabs use", "use tabs", False),
        ("use tab", "use tabs", False),
        ("Straße", "STRASSE", False),
        ("...", "!!!", False),
        ("re-run", "rerun", False),
    ],
)
def test_near_duplicates_differ_in_case_white_space_and_final_punctuation_only(
    one: str, other: str, same: bool
) -> None:
    assert (markdown.key(one) == markdown.key(other)) == same


@pytest.mark.requirement("notes.line_endings", "notes.prose_kept")
@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("- a\n- b\n", "- a\n- b\n- new\n"),
        ("- a\r\n", "- a\r\n- new\r\n"),
        ("- a", "- a\n- new"),
        ("x\r\n- a", "x\r\n- a\r\n- new"),
        ("- a\n\n\n", "- a\n- new\n\n\n"),
        ("# h\n\n", "# h\n\n- new\n"),
        ("- a\n\nprose", "- a\n\nprose\n- new"),
        ("\n", "\n- new\n"),
    ],
)
def test_a_new_note_goes_behind_the_others_and_leaves_the_end_of_the_file_as_it_was(before: str, after: str) -> None:
    assert markdown.add(before, "new") == after
    assert markdown.forget(after, "new") == before


def test_a_file_that_pepys_makes_says_that_it_may_be_edited() -> None:
    made = markdown.add("", "new")

    assert made == f"{markdown.HEADER}\n\n- new\n"
    assert markdown.notes(made) == ("new",)


@pytest.mark.requirement("notes.update", "notes.forget")
def test_every_exact_match_is_replaced_or_removed_in_place() -> None:
    text = "- a\n  * a \r\nprose\n- A\n- a."

    assert markdown.update(text, "a", "b") == "- b\n  * b\r\nprose\n- A\n- a."
    assert markdown.forget(text, "a") == "prose\n- A\n- a."
    assert markdown.forget(text, "a.") == "- a\n  * a \r\nprose\n- A"


@pytest.mark.requirement("notes.merge_one_write")
def test_a_merge_takes_the_place_of_the_first_and_drops_the_second() -> None:
    assert markdown.merge("- z\n- b\n# h\n  - a\n- c\n", "a", "b", "both") == "- z\n# h\n  - both\n- c\n"
    assert markdown.merge("- a\n- a\n", "a", "a", "one") == "- one\n"
    assert markdown.merge("- a\n- b\n", "a", "b", "a") == "- a\n"


@pytest.mark.requirement("notes.clear", "notes.prose_kept")
def test_clearing_removes_notes_and_nothing_else() -> None:
    assert markdown.clear(PROSE + "- a\n\n\n\n* b") == PROSE + "\n\n"


@pytest.mark.requirement("notes.prose_kept", "notes.line_endings")
@given(texts, notes, notes, st.randoms(use_true_random=False))
def test_no_change_loses_or_moves_what_it_was_not_asked_for(text: str, new: str, to: str, random: object) -> None:
    own, prose = parts(text)
    before = list(markdown.notes(text))
    assert len(own) == len(before)
    one = random.choice(before) if before else None  # type: ignore[attr-defined]
    other = random.choice(before) if before else None  # type: ignore[attr-defined]

    added = markdown.add(text, new)
    assert list(markdown.notes(added)) in ([*before[:at], new, *before[at:]] for at in range(len(before) + 1))
    if text:
        assert parts(added)[1] == prose or not text.strip("\ufeff")
        assert set(re.findall("\r?\n", added)) <= (set(re.findall("\r?\n", text)) or {"\n"})
        assert added.endswith("\n") == text.endswith("\n")
    cleared = markdown.clear(text)
    assert (markdown.notes(cleared), cleared.startswith("\ufeff")) == ((), text.startswith("\ufeff") and bool(cleared))
    assert [line for line in parts(cleared)[1] if line] == [line for line in prose if line]
    if one is None or other is None:
        return
    updated, left = markdown.update(text, one, to), markdown.forget(text, one)
    merged = markdown.merge(text, one, other, to)
    assert list(markdown.notes(updated)) == [to if note == one else note for note in before]
    assert list(markdown.notes(left)) == [note for note in before if note != one]
    expected = [to if at == before.index(one) else note for at, note in enumerate(before)]
    kept = [note for at, note in enumerate(expected) if at == before.index(one) or before[at] not in (one, other)]
    assert list(markdown.notes(merged)) == kept
    for changed in (updated, left, merged):
        assert [line for line in parts(changed)[1] if line] == [line for line in prose if line]
    assert re.findall("\r?\n", updated) == re.findall("\r?\n", text)


@given(texts.filter(bool), notes)
def test_forgetting_undoes_adding(text: str, note: str) -> None:
    if note not in markdown.notes(text):
        assert markdown.forget(markdown.add(text, note), note) == text


@given(texts)
def test_updating_a_note_to_itself_changes_nothing(text: str) -> None:
    for note in markdown.notes(text):
        assert markdown.update(text, note, note) == text
