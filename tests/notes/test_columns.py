"""Columns of text: wide characters, marks, emoji; cutting and wrapping."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pepys.notes.columns import cells, fit, width, wrap

texts = st.text(st.sampled_from("ab 日한é\u0301\u200d👍🏽👩❤\ufe0f🇩🇪\x1b\u202e\u1112\u1161\u11ab"), max_size=30)


@pytest.mark.requirement("notes.picker_width")
@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ("abc", 3),
        ("日本語", 6),
        ("ﾊﾝｶｸ", 4),
        ("ＡＢ", 4),
        ("e\u0301", 1),
        ("한", 2),
        ("\u1112\u1161\u11ab", 2),
        ("👍🏽", 2),
        ("👩‍👩‍👧", 2),
        ("❤\ufe0f", 2),
        ("❤", 1),
        ("1\ufe0f\u20e3", 2),
        ("🇩🇪🇫🇷", 4),
        ("a\u200bb", 2),
        ("─·…❯●", 5),
        ("\x1b", 4),  # shown as \x1b
        ("\u202e", 6),
        ("", 0),
    ],
)
def test_the_columns_of_a_text(text: str, columns: int) -> None:
    assert width(text) == columns


@pytest.mark.requirement("notes.picker_width")
@pytest.mark.parametrize(
    ("text", "columns", "shown"),
    [
        ("abcdef", 6, "abcdef"),
        ("abcdef", 5, "abcd…"),
        ("日本語", 6, "日本語"),
        ("日本語", 5, "日本…"),
        ("日本語", 4, "日…"),
        ("日本語", 1, "…"),
        ("日本語", 0, ""),
        ("a\x1b[2J", 20, "a\\x1b[2J"),
    ],
)
def test_what_does_not_fit_ends_in_an_ellipsis(text: str, columns: int, shown: str) -> None:
    assert fit(text, columns) == shown


@pytest.mark.requirement("notes.picker_width")
@given(texts, st.integers(2, 20))
def test_what_is_cut_or_wrapped_is_no_wider_than_it_may_be_and_loses_no_character(text: str, columns: int) -> None:
    found = cells(text)
    lines = wrap(found, max(columns, 6))

    assert "".join(cell.text for cell in found) == text
    assert width(fit(text, columns)) <= columns
    assert [cell for line in lines for cell in line] == found
    assert all(sum(cell.width for cell in line) <= max(columns, 6) for line in lines)


def test_lines_are_broken_after_spaces_where_there_are_some() -> None:
    broken = ["".join(cell.text for cell in line) for line in wrap(cells("one two three abcdefghijk 日本語日本"), 9)]

    assert broken == ["one two ", "three ", "abcdefghi", "jk 日本語", "日本"]
