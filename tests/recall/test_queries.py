"""What words and phrases find, in which order, and what is shown of it (spec 1, "Exact lexical queries")."""

from __future__ import annotations

from typing import Any

import pytest

from tests.recall.diary import (
    NOON,
    Diary,
    branch_summary,
    called,
    compacted,
    custom,
    entry,
    ids,
    ran,
    returned,
    said,
    thought,
    user,
)

# Words


@pytest.mark.requirement("lexical.exact", "lexical.tokens", "lexical.paths")
@pytest.mark.parametrize(
    ("text", "query", "found"),
    [
        ("see src/foo.ts there", "src/foo.ts", True),
        ("see foo there", "src/foo.ts", True),  # any of its words
        ("Running", "run", False),
        ("tests", "test", False),
        ("CamelCase", "camelcase", True),
        ("snake_case", "snake", False),
        ("a.*b", ".*", False),
        ("résumé", "resume", False),
        ("re\u0301sume\u0301", "résumé", True),
        ("ﬁle", "file", True),
        ("ＡＢＣ", "abc", True),
        ("İstanbul", "İstanbul", True),
        ("Straße", "STRASSE", False),
        ("検索 する", "検索", True),
        ("検索する", "検索", False),
        ("x²", "x2", True),
        ("count 42", "42", True),
        ("привет Мир", "МИР", True),
        ("don't", '"don"', True),
    ],
)
def test_words_match_by_equality_of_canonical_tokens(diary: Diary, text: str, query: str, found: bool) -> None:
    diary.talk("one", text)

    page = diary.recall(query)

    assert page["total"] == found


@pytest.mark.requirement("lexical.no_guessing", "lexical.regex_explicit")
def test_literal_never_takes_its_query_for_a_regular_expression(diary: Diary) -> None:
    diary.talk("one", "aaaa", "b+ (unclosed [bracket")

    page = diary.recall("(unclosed [bracket a* b+")

    assert ids(page) == ["one-1"]


@pytest.mark.requirement("lexical.quotes", "lexical.all")
def test_quotes_are_punctuation_and_all_asks_for_every_word_in_one_entry(diary: Diary) -> None:
    diary.talk("one", "Stage 1 of the browser", "Use CEF for Stage 1, browser Heddlework", "Use CEF")

    page = diary.recall('"Use CEF" "Stage 1" browser Heddlework', queryMatch="all")

    assert ids(page) == ["one-1"]


def test_all_joins_the_words_of_every_kind_of_text_in_an_entry(diary: Diary) -> None:
    line = called("a", None, "write", path="beta.py")
    line["message"]["content"].insert(0, {"type": "text", "text": "alpha"})
    diary.session("one", line, user("u", "a", "alpha"))

    page = diary.recall("alpha beta", queryMatch="all")

    assert ids(page) == ["a"]


def test_a_repeated_word_asks_no_more_than_the_word_once(diary: Diary) -> None:
    diary.talk("one", "alpha beta")

    once, twice = diary.recall("alpha", queryMatch="all"), diary.recall("alpha ALPHA alpha", queryMatch="all")

    assert once["hits"] == twice["hits"]


@pytest.mark.requirement("workflow.coverage_explains")
@pytest.mark.parametrize("query", ["...", "!?", "()", "— …", "\u0301"])
def test_a_query_without_words_is_no_proof_of_absence(diary: Diary, query: str) -> None:
    diary.talk("one", "...!? ()")

    page = diary.recall(query)

    assert page["total"] == 0
    assert page["coverage"]["complete"] is False
    assert page["coverage"]["reasons"] == ["query_has_no_terms"]


@pytest.mark.parametrize("query", ["", "   ", "\n\t"])
@pytest.mark.parametrize("mode", ["literal", "phrase"])
def test_a_blank_query_browses_in_every_mode(diary: Diary, query: str, mode: str) -> None:
    diary.talk("old", "a", "b")
    diary.talk("new", "c", "d")

    page = diary.recall(query, queryMode=mode)

    assert ids(page) == ["new-0", "new-1", "old-0", "old-1"]
    assert {hit["score"] for hit in page["hits"]} == {0}


def test_no_query_at_all_browses_too(diary: Diary) -> None:
    diary.talk("one", "a")

    page = diary.call("memory.recall", {"scope": "global"})

    assert page["total"] == 1


# Phrases


@pytest.mark.parametrize(
    ("phrase", "found"),
    [
        ("toolResult(bash): done", "r"),
        ("): done", "r"),
        ("bash): do", "r"),
        ("Result(ba", "r"),
        ("bash$ ls -l", "b"),
        ("ls -l [exit 2]\ntotal", "b"),
        ("[exit 2]", "b"),
        ("exit 2", "b"),
        ("Tool: write", "w"),
        ('write({"path":"src/a.py"', "w"),
        ('"content":"x = 1\n', "w"),
        ("Please\nTool: wri", "w"),
        ("compaction: summed", "c"),
        ("[note] remember", "n"),
        ("te] remem", "n"),
        ("Error: overloaded", "e"),
        ("[error]: broken", "f"),
    ],
)
def test_a_phrase_may_reach_across_the_labels_of_an_entry(diary: Diary, phrase: str, found: str) -> None:
    write = called("w", "r", "write", path="src/a.py", content="x = 1\ny = 2\n")
    write["message"]["content"].insert(0, {"type": "text", "text": "Please"})
    failed = entry("e", "n", {"role": "assistant", "content": [], "errorMessage": "overloaded"})
    diary.session(
        "one",
        returned("r", None, "bash", "done"),
        write,
        ran("b", "w", "ls -l", "total", 2),
        compacted("c", "b", "summed up", "r"),
        custom("n", "c", "note", "remember"),
        failed,
        returned("f", "e", "grep", "broken", error=True),
    )

    page = diary.recall(phrase, queryMode="phrase")

    assert ids(page) == [found]


@pytest.mark.requirement("lexical.phrase", "lexical.phrase_folded")
@pytest.mark.parametrize(
    "phrase",
    [
        "lpha be",
        "ALPHA BETA",
        "a",
        "α",
        "é",
        "É",
        "e\u0301",
        "…",
        "'",
        "alpha beta’s",
        "😀",
        "s 😀",
        "ﬁ",
        "file",
        "ta’s",
    ],
)
def test_a_phrase_is_any_run_of_the_text(diary: Diary, phrase: str) -> None:
    diary.talk("one", "The alpha beta’s 😀 caf\u0065\u0301 α … 'ﬁle")

    page = diary.recall(phrase, queryMode="phrase")

    assert page["total"] == 1


@pytest.mark.requirement("lexical.phrase")
@pytest.mark.parametrize(
    "phrase", ["alpha  beta", "alpha\tbeta", "alpha\nbeta", "beta alpha", "alphabeta", "alpha-beta"]
)
def test_a_phrase_takes_white_space_and_order_exactly(diary: Diary, phrase: str) -> None:
    diary.talk("one", "alpha beta")

    page = diary.recall(phrase, queryMode="phrase")

    assert page["total"] == 0
    assert page["coverage"]["complete"]


def test_white_space_around_a_phrase_does_not_count(diary: Diary) -> None:
    diary.talk("one", "(alpha beta)")

    page = diary.recall("  alpha beta\n", queryMode="phrase")

    assert page["total"] == 1


def test_a_phrase_of_punctuation_is_text_like_any_other(diary: Diary) -> None:
    diary.talk("one", "if a => b", "if a -> b")

    page = diary.recall("=>", queryMode="phrase")

    assert ids(page) == ["one-0"]
    assert page["coverage"]["complete"]


@pytest.mark.parametrize("phrase", ["ΛΌΓΟΣ", "λόγος", "λόγοσ", "ΓΟΣ", "Σ", "ς", "ο ΛΌΓΟΣ του", "ΛΌΓΟΣ:Α"])
def test_a_sigma_is_a_sigma_wherever_it_stands(diary: Diary, phrase: str) -> None:
    diary.talk("one", "Ο λόγος του", "Ο ΛΌΓΟΣ:ΑΛΛΑ")

    page = diary.recall(phrase, queryMode="phrase")

    assert page["total"] == (1 if " " in phrase or ":" in phrase else 2)


def test_phrases_rank_by_the_kind_of_text_that_holds_them(diary: Diary) -> None:
    diary.session(
        "one",
        said("p", None, "the golden key"),
        returned("r", "p", "bash", "the golden key"),
        called("c", "r", "bash", command="the golden key"),
    )

    page = diary.recall("golden key", queryMode="phrase")

    assert ids(page) == ["p", "r", "c"]


# What is text


@pytest.mark.parametrize("separator", ["\u2028", "\u2029", "\x85", "\x0b", "\x0c", "\x1c"])
def test_no_character_but_a_line_feed_ends_a_line(diary: Diary, separator: str) -> None:
    diary.talk("one", f"alpha{separator}beta", "gamma")

    page = diary.recall("beta")

    assert ids(page) == ["one-0"]
    assert page["coverage"]["complete"]
    assert diary.expand(session="one", indices=[0])["entries"][0]["text"] == f"alpha{separator}beta"


def test_code_in_write_arguments_is_found_beyond_four_hundred_characters_and_shown_as_it_is(diary: Diary) -> None:
    code = "def pad():\n    return 0\n" * 100 + 'def needle(name: str) -> str:\n\treturn f"\\t{name}"\n'
    diary.session("one", called("a", None, "write", path="x.py", content=code))

    words, phrase = diary.recall("needle"), diary.recall('return f"\\t{name}"', queryMode="phrase")

    assert ids(words) == ids(phrase) == ["a"]
    assert "def needle(name: str)" in words["hits"][0]["snippet"]
    assert code in diary.follow(words["hits"][0])["entries"][0]["text"]


@pytest.mark.requirement("facts.summary_prose")
def test_branch_summary_prose_is_not_found_but_the_entry_has_an_index(diary: Diary) -> None:
    diary.session(
        "one", user("a", None, "root"), branch_summary("b", "a", "x", "abandoned prose"), user("c", "b", "leaf")
    )

    words, everything = diary.recall("abandoned"), diary.recall("")

    assert words["total"] == 0
    assert [(hit["entryId"], hit["index"], hit["role"]) for hit in everything["hits"]] == [
        ("a", 0, "user"),
        ("b", 1, "branchSummary"),
        ("c", 2, "user"),
    ]


@pytest.mark.requirement("privacy.thinking_off", "privacy.thinking_on")
@pytest.mark.parametrize("mode", ["literal", "phrase"])
def test_thinking_is_private_by_default_but_expansion_shows_it(diary: Diary, mode: str) -> None:
    diary.session("one", thought("a", None, "secret plan", "public words"))

    hidden = diary.recall("secret plan", queryMode=mode)
    shown = diary.recall("secret plan", queryMode=mode, config_overrides={"memory": {"indexThinking": True}})

    assert hidden["total"] == 0
    assert ids(shown) == ["a"]
    assert "secret plan" in shown["hits"][0]["snippet"]
    assert "secret" not in diary.recall("public")["hits"][0]["snippet"]
    assert diary.expand(session="one", indices=[0])["entries"][0]["text"] == "secret plan\npublic words"


@pytest.mark.requirement("privacy.output_off")
@pytest.mark.parametrize("mode", ["literal", "phrase"])
def test_without_tool_output_tools_paths_and_errors_stay_searchable(diary: Diary, mode: str) -> None:
    setting = {"memory": {"indexToolOutput": False}}
    diary.session(
        "one",
        called("c", None, "read", path="src/shop.py"),
        returned("r", "c", "read", "secret body", error=True),
        ran("b", "r", "make test", "secret log", 1),
    )

    bodies = diary.recall("secret", queryMode=mode, config_overrides=setting)
    path = diary.recall("src/shop.py", queryMode="phrase", config_overrides=setting)
    command = diary.recall("make test", queryMode=mode, config_overrides=setting)
    by_tool = diary.recall("", tool="read", config_overrides=setting)

    assert bodies["total"] == 0
    assert (ids(path), ids(command)) == (["c"], ["b"])
    assert [(hit["entryId"], hit["isError"]) for hit in by_tool["hits"]] == [("c", False), ("r", True)]
    assert diary.expand(session="one", indices=[2])["entries"][0]["text"] == "bash$ make test [exit 1]\nsecret log"


def test_no_snippet_shows_what_is_not_indexed(diary: Diary) -> None:
    diary.session("one", returned("r", None, "read", "secret body"), thought("a", "r", "secret plan", "words"))

    page = diary.recall("", config_overrides={"memory": {"indexToolOutput": False}})

    assert [hit["snippet"] for hit in page["hits"]] == ["toolResult(read): ", "words"]


# Filters


@pytest.fixture
def day(diary: Diary) -> Diary:
    diary.session(
        "one",
        user("a", None, "word", at=NOON),
        called("b", "a", "Bash", command="word"),
        returned("c", "b", "bash", "word"),
        user("d", "c", "word", at=None),
        user("e", "d", "word", at=NOON + 2000),
    )
    return diary


@pytest.mark.requirement(
    "structural.role", "structural.tool", "structural.time", "structural.query", "structural.browse"
)
@pytest.mark.parametrize("query", ["word", ""])
@pytest.mark.parametrize(
    ("filters", "found"),
    [
        ({"role": "user"}, "ade"),
        ({"role": "toolResult"}, "c"),
        ({"tool": "bash"}, "c"),
        ({"tool": "Bash"}, "b"),
        ({"tool": "bas"}, ""),
        ({"tool": ""}, "abcde"),
        ({"tool": "bash", "role": "user"}, ""),
        ({"since": NOON}, "ade"),
        ({"since": NOON + 0.5}, "de"),
        ({"since": NOON + 2000}, "de"),
        ({"since": NOON + 2001}, "d"),
        ({"until": NOON}, "abcd"),
        ({"until": NOON - 1}, "bcd"),
        ({"until": NOON + 1999.5}, "abcd"),
        ({"since": NOON, "until": NOON}, "ad"),
        ({"since": -1e300, "until": 1e300}, "abcde"),
        ({"since": 1e300}, "d"),
        ({"since": 10**30}, "d"),
        ({"until": -(10**30)}, "d"),
        ({"role": "user", "since": NOON + 1}, "de"),
    ],
)
def test_filters_are_exact_and_all_must_hold(day: Diary, query: str, filters: dict[str, Any], found: str) -> None:
    page = day.recall(query, **filters)

    assert sorted(ids(page)) == list(found)
    assert page["total"] == len(found)


@pytest.mark.parametrize("filters", [{"role": "user"}, {"tool": "bash"}, {"since": NOON}])
def test_phrases_are_filtered_alike(day: Diary, filters: dict[str, Any]) -> None:
    words, phrase = day.recall("word", **filters), day.recall("word", queryMode="phrase", **filters)

    assert sorted(ids(words)) == sorted(ids(phrase))


def test_browsing_a_tool_scores_one_and_keeps_the_order_of_entries(day: Diary) -> None:
    page = day.recall("", tool="bash")

    assert [hit["score"] for hit in page["hits"]] == [1]


# Ranges


@pytest.mark.requirement("range.inclusive")
@pytest.mark.parametrize("query", ["word", ""])
def test_a_range_is_inclusive_at_both_ends(diary: Diary, query: str) -> None:
    diary.talk("one", *["word"] * 6)

    page = diary.recall(query, scope="session:one", entryRange={"first": 2, "last": 4})

    assert sorted(hit["index"] for hit in page["hits"]) == [2, 3, 4]
    assert page["total"] == 3


@pytest.mark.requirement("range.never_clamped")
@pytest.mark.parametrize(("first", "last"), [(-1, 2), (0, 6), (6, 6), (4, 3), (0, 10**30), (-(10**30), 0)])
def test_a_range_outside_of_the_session_is_an_error_and_never_clamped(diary: Diary, first: int, last: int) -> None:
    diary.talk("one", *["word"] * 6)

    page = diary.recall("word", scope="session:one", entryRange={"first": first, "last": last})

    assert page["error"]["code"] == "index_out_of_bounds"
    assert page["error"]["entryCount"] == 6
    assert (page["total"], page["hits"], page["next"]) == (0, [], None)
    assert page["coverage"] == {
        "complete": False,
        "indexedSessions": 0,
        "eligibleSessions": 0,
        "staleSessions": 0,
        "incompleteSessions": 0,
        "reasons": ["index_out_of_bounds"],
    }


def test_a_range_counts_the_records_of_the_chosen_branches(diary: Diary) -> None:
    diary.session("one", user("a", None, "word"), user("b", "a", "word"), user("c", "a", "word"))

    active = diary.recall("word", scope="session:one", entryRange={"first": 1, "last": 1})
    every = diary.recall("word", scope="session:one", branches="all", entryRange={"first": 1, "last": 1})

    assert (ids(active), ids(every)) == (["c"], ["b"])


def test_the_pages_of_a_range_stay_within_it(diary: Diary) -> None:
    diary.talk("one", *["word"] * 9)

    page = diary.recall("word", scope="session:one", entryRange={"first": 2, "last": 6}, pageSize=3)
    after = diary.call("memory.recall", page["next"]["args"])

    assert sorted(hit["index"] for hit in [*page["hits"], *after["hits"]]) == [2, 3, 4, 5, 6]
    assert after["next"] is None


# Ranking


@pytest.mark.requirement("lexical.provenance")
def test_prose_beside_a_tool_call_still_ranks_as_prose(diary: Diary) -> None:
    mixed = called("m", None, "bash", command="ls")
    mixed["message"]["content"].insert(0, {"type": "text", "text": "migration"})
    diary.session("one", mixed, returned("r", "m", "bash", "migration"), called("c", "r", "bash", command="migration"))

    page = diary.recall("migration")

    assert ids(page)[0] == "m"


@pytest.mark.requirement("lexical.weights_off")
def test_a_tool_filter_ranks_all_text_alike(diary: Diary) -> None:
    diary.session("one", returned("r", None, "bash", "zebra"), called("c", "r", "bash", command="zebra"))

    page = diary.recall("zebra", queryMode="phrase", tool="bash")

    assert {hit["score"] for hit in page["hits"]} == {1}


@pytest.mark.requirement("lexical.provenance")
@pytest.mark.parametrize("filters", [{"role": "toolResult"}, {"since": 0}])
def test_role_and_time_filters_leave_the_weights_as_they_are(diary: Diary, filters: dict[str, Any]) -> None:
    diary.session("one", returned("r", None, "bash", "zebra"))

    page = diary.recall("zebra", queryMode="phrase", **filters)

    assert page["hits"][0]["score"] != 1


@pytest.mark.parametrize("mode", ["literal", "phrase"])
def test_ties_go_to_the_newer_entry_then_to_the_session_then_to_the_earlier_place(diary: Diary, mode: str) -> None:
    diary.session("b", user("b1", None, "same", at=NOON), user("b2", "b1", "same", at=NOON))
    diary.session("a", user("a1", None, "same", at=NOON), user("a2", "a1", "same", at=NOON + 1))

    page = diary.recall("same", queryMode=mode)

    assert ids(page) == ["a2", "a1", "b1", "b2"]


@pytest.mark.requirement("lexical.bm25", "lexical.entry_scores")
def test_a_rarer_word_weighs_more(diary: Diary) -> None:
    diary.talk("one", "common rare", *["common"] * 10, "common common")

    page = diary.recall("common rare")

    assert ids(page)[0] == "one-0"
    assert page["hits"][0]["score"] > page["hits"][1]["score"]


# Snippets


@pytest.mark.requirement("page.snippet_bound")
@pytest.mark.parametrize(
    ("text", "query", "snippet"),
    [
        ("short apples", "apples", "short apples"),
        ("a " * 60 + "apples" + " b" * 60, "apples", "…" + "a " * 13 + "apples" + " b" * 24 + "…"),
        ("apples" + " b" * 60, "apples", "apples" + " b" * 37 + "…"),
        ("a " * 60 + "apples", "apples", "…" + "a " * 37 + "apples"),
        ("é " * 60 + "apples" + " b" * 60, "apples", "…" + "é " * 13 + "apples" + " b" * 24 + "…"),
        ("ﬁ " * 60 + "apples" + " b" * 60, "apples", "…" + "ﬁ " * 13 + "apples" + " b" * 24 + "…"),
        ("😀 " * 60 + "APPLES" + " b" * 60, "apples", "…" + "😀 " * 13 + "APPLES" + " b" * 24 + "…"),
        ("İ " * 60 + "apples" + " b" * 60, "apples", "…" + "İ " * 13 + "apples" + " b" * 24 + "…"),
    ],
)
@pytest.mark.parametrize("mode", ["literal", "phrase"])
def test_a_snippet_begins_a_third_before_the_match(
    diary: Diary, mode: str, text: str, query: str, snippet: str
) -> None:
    diary.talk("one", text)

    hit = diary.recall(query, queryMode=mode, snippetChars=80)["hits"][0]

    assert hit["snippet"] == snippet
    assert hit["truncated"] == (len(text) > 80)


def test_a_word_is_shown_where_it_stands_by_itself(diary: Diary) -> None:
    diary.talk("one", "pineapples " * 20 + "apples" + " b" * 60)

    hit = diary.recall("apples", snippetChars=80)["hits"][0]

    assert hit["snippet"][1 + 80 // 3 :].startswith("apples b")


def test_without_a_query_a_snippet_is_the_beginning(diary: Diary) -> None:
    diary.talk("one", "a" * 1000)

    hit = diary.recall("")["hits"][0]

    assert (hit["snippet"], hit["truncated"]) == ("a" * 480 + "…", True)


def test_the_longest_word_of_the_query_is_shown_and_of_equal_ones_the_first_by_alphabet(diary: Diary) -> None:
    diary.talk("one", "cc " * 50 + "zz " * 50 + "ccc " * 50 + "bbb " * 50)

    hit = diary.recall("zz ccc bbb", snippetChars=80)["hits"][0]

    assert hit["snippet"][1 + 80 // 3 :].startswith("bbb")
