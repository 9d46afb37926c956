"""Tokens and the canonical form of text."""

from __future__ import annotations

import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pepys.text import (
    CJK,
    MAX_TOKEN_BYTES,
    cjk_line,
    distinct_parts,
    folded,
    part_line,
    plain,
    printable,
    query_terms,
    token_line,
    token_spans,
    tokens,
)


@pytest.mark.requirement("lexical.tokens")
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("src/foo.ts", ["src", "foo", "ts"]),
        ("write_file --force", ["write_file", "force"]),
        ('"Use CEF" "Stage 1"', ["use", "cef", "stage", "1"]),
        ("ＡＢＣ ﬁne", ["abc", "fine"]),
        ("İstanbul", ["i̇stanbul"]),
        ("cafe\u0301 café", ["café", "café"]),
        ("東京 데이터", ["東京", "데이터"]),
        ("a\u2028b\u0085c", ["a", "b", "c"]),
        ("!!! ::", []),
    ],
)
def test_tokens_are_runs_of_letters_numbers_and_underscores(text: str, expected: list[str]) -> None:
    assert tokens(text) == [unicodedata.normalize("NFC", token) for token in expected]


@given(st.text())
def test_the_fast_way_for_ascii_gives_what_the_definition_gives(text: str) -> None:
    normalised = unicodedata.normalize("NFKC", text)

    assert tokens(text) == [run.lower() for run in re.findall(r"\w+", normalised)]


@given(st.text(alphabet=st.characters(max_codepoint=127)))
def test_ascii_text_gives_the_same_tokens_beside_other_text(text: str) -> None:
    assert tokens(text + " 東") == [*tokens(text), "東"]


@given(st.text())
def test_spans_lie_where_their_tokens_are(text: str) -> None:
    for token, start, end in token_spans(text):
        assert token in tokens(text[start:end])


@given(st.text())
def test_every_token_has_a_span(text: str) -> None:
    spans = [token for token, _, _ in token_spans(text)]

    assert sorted(spans) == sorted(tokens(text))


def test_query_terms_are_distinct_and_in_first_seen_order() -> None:
    assert query_terms("b A b a c") == ("b", "a", "c")


def test_a_giant_token_is_found_by_its_whole_self_only() -> None:
    giant = "x" * MAX_TOKEN_BYTES

    assert len(tokens(f"a {giant} b")[1]) < 100
    assert tokens(giant) == tokens(giant)
    assert tokens(giant) != tokens(giant + "x")


def test_phrases_are_compared_without_case_but_with_white_space() -> None:
    assert folded("ＡB  c") == "ab  c"


@given(st.text())
def test_printable_text_cannot_steer_a_terminal(text: str) -> None:
    shown = printable(text)

    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]", shown)


def test_printable_text_shows_what_it_made_harmless() -> None:
    assert printable("\x1b[31mred\ud83d\n\tok") == "\\x1b[31mred\ufffd\n\tok"


def words_of_events(text: str) -> set[str]:
    return set(re.findall(f"[^\\W_{CJK}]+", plain(text)))


@given(st.text() | st.text("aeéğİIıςΣσ_中の한ｶﾞー.\u0301\u0307\u3099 "))
def test_tokens_their_parts_and_cjk_characters_are_what_event_search_compares(text: str) -> None:
    found = {*tokens(text), *part_line(text).split()}

    assert words_of_events(text) <= found
    assert set(part_line(text).split()) <= words_of_events(text)
    assert cjk_line(text).split() == re.findall(f"[{CJK}]", plain(text))


def test_parts_are_what_stands_within_tokens() -> None:
    assert part_line("Write_file of café 中文abc, plain") == "write file cafe abc"
    assert part_line("nothing here-is.joined") == ""


def test_cjk_characters_stand_alone() -> None:
    assert cjk_line("サーバー v2 데이터를") == "サ ー バ ー 데 이 터 를"


def test_latin_marks_do_not_count_but_others_do() -> None:
    assert plain("CAFÉ İstanbul") == "cafe istanbul"
    assert plain("İ\u0301x") == "i\u0301x"  # there is no such letter: tokens end before the mark
    assert plain("が") != plain("か")
    assert plain("й") != plain("и")


@given(st.text(alphabet="ab_ .-é日A1", max_size=40))
def test_the_distinct_parts_of_a_text_are_those_of_its_line_of_parts(text: str) -> None:
    assert distinct_parts(text, token_line(text)) == set(part_line(text).split())
