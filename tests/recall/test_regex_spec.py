"""Regular expressions, bounded and apart (spec 1, "Bounded regular expressions")."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from pepys.errors import InvalidArgument
from tests.recall.diary import Diary, append, called, ids, pages, ran, returned, said, user

Json = dict[str, Any]

CATASTROPHE = "^(x|xx)+$"
"""Takes a time that grows by half with each x, where something else follows."""


def searched(diary: Diary, pattern: str, **more: Any) -> Json:
    """What a pattern finds; keywords that begin with `regex` and `hot` are keys of memory."""
    memory = {name: more.pop(name) for name in list(more) if name.startswith(("regex", "hotSessions", "maxEntry"))}
    overrides: Json = {"config_overrides": {"memory": memory}} if memory else {}
    return diary.recall(pattern, queryMode="regex", **overrides, **more)


def patiently(diary: Diary, pattern: str, **more: Any) -> Json:
    """The same on a machine that may be busy."""
    return searched(diary, pattern, **{"regexTimeoutMs": 10_000, **more})


@pytest.fixture
def talk(diary: Diary) -> Diary:
    diary.session(
        "one",
        user("u", None, "The colour is red: 2026-03-14, see src/foo.ts"),
        said("s", "u", "Its COLOR was blue.\nIt costs 12 €."),
        called("c", "s", "write", path="src/app.py", content="return 0\n"),
        returned("r", "c", "bash", "exit code 7"),
        ran("b", "r", "make test", "failed", 2),
    )
    return diary


@pytest.mark.requirement("regex.finds", "regex.hot_haystack")
@pytest.mark.parametrize("hot", ["auto", 50])
@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("colou?r", "su"),
        ("COLOU?R", "su"),
        (r"\d{4}-\d{2}-\d{2}", "u"),
        (r"(?<year>\d{4})-\d\d", "u"),
        (r"src/\w+\.(ts|py)", "cu"),
        (r"^the colour", "u"),
        (r"12 €\.$", "s"),
        (r"blue\.$", ""),
        (r"blue\.\nIt", "s"),
        (r"blue.*costs", ""),
        (r"blue[^]*costs", "s"),
        (r"\u{20ac}", "s"),
        (r"^toolResult\(bash\): exit", "r"),
        (r"\[exit [1-9]\]", "b"),
        (r'"content":"return \d', "c"),
        (r"\bred\b", "u"),
        (r"(?=.*red)(?=.*see)", "u"),
        (r"never|neither", ""),
        (r"[^\x00-\x7f]", "s"),
    ],
)
def test_a_pattern_finds_what_it_matches_in_the_text_of_entries(
    talk: Diary, hot: str | int, pattern: str, found: str
) -> None:
    page = patiently(talk, pattern, hotSessions=hot)

    assert sorted(ids(page)) == sorted(found)
    assert page["total"] == len(found)
    assert page["coverage"]["complete"]


@pytest.mark.requirement("lexical.regex_explicit", "lexical.no_guessing")
@pytest.mark.parametrize("mode", ["literal", "phrase"])
def test_no_other_mode_takes_a_query_for_a_pattern(talk: Diary, mode: str) -> None:
    assert talk.recall(r"colou?r", queryMode=mode)["total"] == 0
    assert talk.recall("/colou?r/i", queryMode="phrase")["total"] == 0


@pytest.mark.requirement("regex.finds")
def test_matching_every_term_goes_with_literal_queries_only(talk: Diary) -> None:
    with pytest.raises(InvalidArgument, match="queryMatch"):
        patiently(talk, "colou?r", queryMatch="all")


@pytest.mark.requirement("regex.filters")
def test_filters_narrow_a_regex_search(talk: Diary) -> None:
    assert ids(patiently(talk, "colou?r", role="user")) == ["u"]
    assert ids(patiently(talk, r"exit", tool="bash", role="toolResult")) == ["r"]
    assert patiently(talk, "colou?r", tool="write")["total"] == 0


@pytest.mark.requirement("regex.filters")
def test_a_range_bounds_a_regex_search(talk: Diary) -> None:
    page = patiently(talk, "colou?r", scope="session:one", entryRange={"first": 1, "last": 4})

    assert ids(page) == ["s"]


@pytest.mark.requirement("branches.default_active", "regex.filters")
def test_an_abandoned_branch_is_searched_only_when_asked_for(diary: Diary) -> None:
    diary.session("one", user("a", None, "root"), user("b", "a", "idea 1"), user("c", "a", "idea 2"))

    assert ids(patiently(diary, r"idea \d")) == ["c"]
    assert sorted(ids(patiently(diary, r"idea \d", branches="all"))) == ["b", "c"]


@pytest.mark.requirement("page.next", "workflow.next_to_null")
def test_the_pages_of_a_regex_search_give_each_hit_once(diary: Diary) -> None:
    diary.talk("one", *(f"word {number}" for number in range(25)))

    overrides: Json = {"config_overrides": {"memory": {"regexTimeoutMs": 10_000}}}
    page = patiently(diary, r"word \d+", pageSize=10)
    found = [page]
    while found[-1]["next"] is not None:
        found.append(diary.call("memory.recall", found[-1]["next"]["args"], **overrides))

    assert sorted(id_ for each in found for id_ in ids(each)) == sorted(f"one-{number}" for number in range(25))
    assert {each["total"] for each in found} == {25}
    assert page["next"]["args"]["queryMode"] == "regex"


@pytest.mark.requirement("page.snippet_bound")
def test_a_snippet_shows_the_match(diary: Diary) -> None:
    diary.talk("one", "x " * 1000 + "needle 42 " + "y " * 1000)

    hit = patiently(diary, r"needle \d+", snippetChars=80)["hits"][0]

    assert hit["truncated"]


# Limits


def refused(page: Json, code: str) -> None:
    assert (page["total"], page["hits"], page["next"]) == (0, [], None)
    assert page["coverage"]["complete"] is False
    assert page["coverage"]["reasons"] == [code]
    assert page["coverage"]["error"]["code"] == code
    assert page["coverage"]["error"]["message"]


@pytest.mark.requirement("regex.invalid", "coverage.error", "regex.no_proof")
@pytest.mark.parametrize(
    "pattern", ["(", "[a", "a{2,1}", "*a", r"\k<none>(?<some>a)", "(?P<a>x)", r"\A", "a++", "(?>a)"]
)
def test_an_invalid_pattern_is_said_to_be_one(talk: Diary, pattern: str) -> None:
    refused(patiently(talk, pattern), "invalid_regex")


@pytest.mark.requirement("regex.pattern_bytes", "coverage.error")
def test_a_pattern_is_measured_in_bytes(talk: Diary) -> None:
    refused(searched(talk, "é" * 5, regexMaxPatternBytes=9), "regex_pattern_too_large")
    assert patiently(talk, "é" * 5, regexMaxPatternBytes=10)["coverage"]["complete"]


@pytest.mark.requirement("regex.pattern_bytes")
def test_by_default_a_pattern_has_a_kibibyte(talk: Diary) -> None:
    refused(searched(talk, "x" * 1025), "regex_pattern_too_large")
    assert patiently(talk, "x" * 1024)["coverage"]["complete"]


@pytest.mark.requirement("regex.items", "regex.no_proof")
def test_no_more_texts_than_the_limit_are_searched(diary: Diary) -> None:
    diary.talk("one", *["needle 1"] * 5)

    page = patiently(diary, r"needle \d", regexMaxHaystackTerms=3)
    missed = patiently(diary, r"needle [a-z]", regexMaxHaystackTerms=3)

    assert page["total"] == 3
    assert page["coverage"]["reasons"] == missed["coverage"]["reasons"] == ["regex_max_haystack_terms"]
    assert (missed["total"], missed["coverage"]["complete"]) == (0, False)
    assert patiently(diary, r"needle \d", regexMaxHaystackTerms=5)["coverage"]["complete"]


@pytest.mark.requirement("regex.item_bytes", "regex.no_proof")
def test_no_more_bytes_than_the_limit_are_searched(diary: Diary) -> None:
    diary.talk("one", *["needle 1 " + "é" * 200] * 5)  # 409 bytes each

    page = patiently(diary, r"needle \d", regexMaxHaystackBytes=1024)

    assert page["total"] == 2
    assert page["coverage"]["reasons"] == ["regex_max_haystack_bytes"]
    assert page["coverage"]["complete"] is False
    assert patiently(diary, r"needle \d", regexMaxHaystackBytes=5 * 409)["coverage"]["complete"]


@pytest.mark.requirement("regex.timeout", "regex.killed", "regex.no_proof", "coverage.error")
def test_catastrophic_backtracking_ends_at_the_timeout(diary: Diary) -> None:
    diary.talk("one", "x" * 60 + "!")

    refused(searched(diary, CATASTROPHE, regexTimeoutMs=50), "regex_timeout")
    assert patiently(diary, "x{60}")["total"] == 1


@pytest.mark.requirement("regex.isolated")
def test_the_callers_own_interpreter_compiles_no_pattern(talk: Diary, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("regex", "_regex"):
        monkeypatch.setitem(sys.modules, name, None)  # importing it here would fail

    assert sorted(ids(patiently(talk, "colou?r"))) == ["s", "u"]


@pytest.mark.requirement("regex.worker_error", "coverage.error")
def test_a_worker_that_cannot_start_is_said(talk: Diary, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/nowhere/python")

    refused(patiently(talk, "colou?r"), "regex_worker_error")


@pytest.mark.requirement("cut.tail_not_found", "regex.hot_haystack")
def test_with_a_count_of_hot_sessions_the_haystack_is_the_bounded_text(diary: Diary) -> None:
    diary.talk("one", "x " * 100 + "needle 1")

    page = patiently(diary, r"needle \d", hotSessions=50, maxEntryChars=100)

    assert (page["total"], page["coverage"]["reasons"]) == (0, ["max_entry_chars"])


# Cold sessions


@pytest.mark.requirement("regex.cold_haystack")
@pytest.mark.parametrize(
    ("pattern", "terms"),
    [("^app", 2), ("apples|pears", 2), ("apples and", 0), ("^apples$", 1), ("^Zebra$", 1), (".", 5), ("nothing", 0)],
)
def test_a_cold_haystack_is_one_term_and_never_prose(diary: Diary, pattern: str, terms: int) -> None:
    diary.talk("one", "zebra: apples and pears", "Apples apply")

    page = patiently(diary, pattern, hotSessions=0)

    assert [(hit["kind"], hit["matchedTerms"]) for hit in page["hits"]] == ([("session", terms)] if terms else [])


@pytest.mark.requirement("regex.cold_haystack", "cold.follow_gives_entries")
def test_following_a_candidate_searches_its_entries(diary: Diary) -> None:
    diary.talk("one", "zebra: apples and pears", "Apples apply")
    overrides: Json = {"config_overrides": {"memory": {"hotSessions": 0, "regexTimeoutMs": 10_000}}}

    token = patiently(diary, "^app", hotSessions=0)["hits"][0]["follow"]
    found = diary.call(token["ref"], token["args"], **overrides)

    assert (token["ref"], token["args"]["queryMode"]) == ("memory.recall", "regex")
    assert ids(found) == ["one-1"]


@pytest.mark.requirement("stale.append")
def test_a_bound_page_of_a_regex_search_is_stale_after_an_append(diary: Diary) -> None:
    path = diary.talk("one", *["needle 1"] * 3)
    page = patiently(diary, r"needle \d", scope="session:one", pageSize=1)
    append(path, user("x", "one-2", "more"))

    assert pages(diary, diary.call("memory.recall", page["next"]["args"]))[0]["error"]["code"] == "stale_pointer"
