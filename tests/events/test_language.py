"""Words and phrases of event queries."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pepys.errors import InvalidQuery
from pepys.events.language import Query, parse
from pepys.text import cjk_line, part_line, plain, tokens

MIXED = st.text("aBéÉ1İ_-.\"' 中文ー한글ｶﾞﬁ\u0301\u3099\n")


def finds(query: str, *texts: str) -> bool:
    return parse(query).holds(texts)


def marked(query: str, text: str) -> list[str]:
    return [text[start:end] for start, end in parse(query).spans(text)]


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("world", "Hello world."),
        ("provider", "see src/provider.ts"),
        ("force", "git push --force"),
        ("--force", "git push --force"),
        ("bar", "foo-bar"),
        ("file", "write_file"),
        ("write_file", "call write_file now"),
        ("foo-bar", "a foo-bar b"),
        ("a.b.c", "at a.b.c:12"),
        ("src/provider.ts", "src/provider.ts"),
        ("C++", "written in C"),
        ("don't", "I don’t know"),
        ("CAFÉ", "un cafe"),
        ("cafe", "un CAFÉ"),
        ("cafe", "un cafe\u0301"),
        ("ΟΔΟΣ", "οδος"),
        ("istanbul", "İSTANBUL"),
        ("ABC", "ＡＢＣ"),
        ("one three", "one two three"),
        ('"one two"', "ONE,  two"),
        ('a"b c"', "b c a"),
        ('"b c"a', "a b c"),
        ("AND OR NOT NEAR", "near not or and"),
        ("title:x* ^y -z", "z y x title x"),
    ],
)
def test_words_are_found_between_whatever_separates_them(query: str, text: str) -> None:
    assert finds(query, text)


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("read", "readFile"),  # embedded in a longer run of letters and numbers
        ("file", "readFile"),
        ("ab", "abc"),
        ("1", "v10"),
        ("one three", "one two"),
        ('"one two"', "one and two"),
        ('"one two"', "two one"),
        ("src/provider.ts", "provider.ts in src"),
        ("pass", "compassion"),
        ("か", "が"),
        ("foo*", "foobar"),
        ("a OR b", "a"),
    ],
)
def test_words_are_whole_and_phrases_are_adjacent(query: str, text: str) -> None:
    assert not finds(query, text)


@pytest.mark.parametrize(
    ("query", "text", "found"),
    [
        ("データ", "大きなデータベース", True),
        ("サーバー", "Webサーバー設定", True),
        ("中文", "这是中文。", True),
        ("中文", "中的文", False),  # scattered
        ("中文", "中。文", False),
        ("中文abc", "中文 abc", True),
        ("中文abc", "abc中文", False),
        ("abc", "中文abc", True),
        ("데이터베이스", "데이터베이스를 지운다", True),
        ("데이터베이스", "데이터 베이스", False),
        ('"東京 都"', "東京都", True),
        ('"東京 都"', "東京、都", True),
        ('"東京 都"', "東 京都", False),
        ("ガ", "ｶﾞ", True),
        ("𠮷野", "𠮷野家", True),
        ("한", "\u1112\u1161\u11ab", True),
    ],
)
def test_cjk_is_found_as_a_substring(query: str, text: str, found: bool) -> None:
    assert finds(query, text) is found


@pytest.mark.parametrize("query", ["", "  ", '""', '" "', 'a ""', '"a', 'a"', '"a" "b', "\n\t"])
def test_what_cannot_be_a_query_is_refused(query: str) -> None:
    with pytest.raises(InvalidQuery) as raised:
        parse(query)

    assert raised.value.code == "INVALID_QUERY"
    assert raised.value.message == "Invalid search query."


@pytest.mark.parametrize("query", ["!!!", '"--"', "* ^ :"])
def test_a_query_without_any_letter_finds_nothing(query: str) -> None:
    assert parse(query) == Query(())
    assert not finds(query, "!!! -- * ^ :", "")


def test_punctuation_beside_words_asks_for_nothing() -> None:
    assert finds("make && make install -- now", "make install now")


def test_all_parts_must_stand_in_one_fragment_but_not_in_one_piece_of_it() -> None:
    assert finds("head tail", "the head", "the tail")
    assert not finds('"head tail"', "the head", "tail")  # nothing crosses what was left out between the two
    assert not finds("head middle", "the head", "the tail")


def test_a_query_names_its_parts_as_they_were_written() -> None:
    query = parse('Retry "Exact  Words" retry src/a.ts')

    assert [(part.text, part.quoted) for part in query.parts] == [
        ("Retry", False),
        ("Exact  Words", True),
        ("retry", False),
        ("src/a.ts", False),
    ]
    assert query.words == ("retry", "exact", "words", "src", "a", "ts")


def test_the_engine_is_told_words_and_runs_of_cjk_characters() -> None:
    query = parse('write_file 中文abc "東京 都"')

    assert query.words == ("write", "file", "abc")
    assert query.cjk == ("中文", "東京", "都")


def test_matches_are_marked_where_they_stand_in_the_text() -> None:
    assert marked("provider", "src/Provider.ts and provider") == ["Provider", "provider"]
    assert marked("src/provider", "in src\\provider.ts") == ["src\\provider"]
    assert marked("中文", "ｶﾞ，这是中文。") == ["中文"]
    assert marked("ﬁne", "so ﬁne!") == ["ﬁne"]
    assert marked("e", "cafe e\u0301 x") == ["e\u0301"]
    assert marked('a "a b"', "x a b") == ["a b"]
    assert marked("absent present", "present") == ["present"]


@given(MIXED, MIXED)
def test_what_a_query_finds_is_marked(query: str, text: str) -> None:
    try:
        asked = parse(query)
    except InvalidQuery:
        return

    spans = asked.spans(text)

    assert bool(spans) or not asked.holds([text])
    assert all(0 <= start < end <= len(text) for start, end in spans)
    assert all(left[1] <= right[0] for left, right in pairwise(spans))
    for part in asked.parts:
        if Query((part,)).holds([text]):
            shown = [text[start:end] for start, end in Query((part,)).spans(text)]
            assert all(re.search(part.pattern, plain(one)) for one in shown)


@given(MIXED, MIXED)
def test_the_index_holds_every_word_of_what_is_found(query: str, text: str) -> None:
    try:
        asked = parse(query)
    except InvalidQuery:
        return
    if asked.holds([text]):
        assert set(asked.words) <= {*tokens(text), *part_line(text).split()}
        assert all(" ".join(run) in cjk_line(text) for run in asked.cjk)


@given(st.text("ab_- .", min_size=1))
def test_every_word_of_a_text_finds_it(text: str) -> None:
    for word in re.findall("[ab]+", text):
        assert finds(word, f"x {text} y")


@given(st.text("中文の한글ガ", min_size=1), st.data())
def test_every_substring_of_cjk_text_finds_it(text: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text) - 1))
    end = data.draw(st.integers(start + 1, len(text)))

    assert finds(text[start:end], text)
