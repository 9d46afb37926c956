"""Patterns that single words tell all about: what they match in a text, they match in one of its words."""

from __future__ import annotations

import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pepys.recall.regex import within_words
from pepys.text import tokens


@pytest.mark.requirement("regex.cold_haystack")
@pytest.mark.parametrize("pattern", ["cafe", r"time\w+", "[a-z]{3,5}", "(foo|bar)_1", "a(b|c)*", r"\d+"])
def test_what_consumes_letters_only_lies_within_a_word(pattern: str) -> None:
    assert within_words(pattern)


@pytest.mark.requirement("regex.cold_haystack")
@pytest.mark.parametrize(
    "pattern", ["a b", "a.b", "^a", r"a\b", "a*", "(a|b*)", "a|", "[^a]", r"\s", "é", r"\p{L}", "(?=a)a", r"(a)\1", "-"]
)
def test_nothing_else_is_sure_to(pattern: str) -> None:
    assert not within_words(pattern)


@pytest.mark.requirement("regex.cold_haystack")
@given(
    st.lists(st.sampled_from(["a", "[ab]", "b+", "(a|bb)", "a{2}", "b?", r"\w"]), min_size=1, max_size=4).map("".join),
    st.text(alphabet="ab \u0301\u00e1-_A", max_size=12),
)
def test_a_word_or_its_letters_and_marks_match_where_the_text_does(pattern: str, text: str) -> None:
    if not within_words(pattern) or not re.search(pattern, text, re.IGNORECASE | re.ASCII):
        return
    words = [form for word in tokens(text) for form in (word, unicodedata.normalize("NFKD", word))]

    assert any(re.search(pattern, word, re.IGNORECASE | re.ASCII) for word in words)
