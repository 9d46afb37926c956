"""`events.search`: what is found, by what evidence, in what order, and what an empty answer says."""

from __future__ import annotations

import pytest

from pepys.errors import InvalidEventArgument, InvalidQuery
from pepys.events import search
from pepys.index.document import MAX_PASSAGE_CHARS
from tests.events.shop import Shop, calls, named, result
from tests.recall.diary import Json, branch_summary, compacted, custom, ran, returned, said, thought, user

HIT = {
    *("sessionId", "cwd", "entryId", "entryType", "role", "timestamp", "branchState", "selectionState"),
    *("matchingFragmentId", "semanticKind", "snippet", "matches", "matchingFragmentCount", "follow"),
}


@pytest.mark.requirement("events.search.hit")
def test_a_hit_is_one_event_with_its_identity_states_and_evidence(shop: Shop) -> None:
    shop.session("one", user("a", None, "Mend the parser."), named("n", "a", "Mending"))

    (hit,) = shop.search("parser")["hits"]

    assert set(hit) == {*HIT, "sessionName"}
    assert (hit["sessionId"], hit["entryId"], hit["entryType"], hit["role"]) == ("one", "a", "message", "user")
    assert (hit["branchState"], hit["selectionState"]) == ("selected", "direct")
    assert (hit["matchingFragmentId"], hit["semanticKind"]) == ("a::user.text::0", "user.text")
    assert (hit["timestamp"], hit["sessionName"]) == ("2026-01-02T00:00:00.000Z", "Mending")
    assert [hit["snippet"][start:end] for start, end in hit["matches"]] == ["parser"]


@pytest.mark.requirement("events.search.follow")
def test_a_hit_leads_to_the_fragment_that_matched(shop: Shop) -> None:
    shop.session("one", calls("a", None, ("c1", "grep", {"pattern": "needle"}), text="Looking."))

    (hit,) = shop.search("needle")["hits"]
    event = shop.ask(hit["follow"]["ref"], hit["follow"]["args"])

    assert [one["fragmentId"] for one in event["fragments"]] == [hit["matchingFragmentId"]] == ["a::tool.call::0"]
    assert "needle" in event["fragments"][0]["preview"]["text"]


@pytest.mark.requirement("events.kinds")
def test_every_kind_of_text_is_a_fragment_of_its_own_kind(shop: Shop) -> None:
    shop.session(
        "one",
        user("u", None, "word1"),
        thought("a", "u", "word0", "word2"),
        calls("c", "a", ("c1", "read", {"path": "word3"})),
        result("r", "c", "c1", "read", "word4"),
        ran("b", "r", "word5", "word6"),
        compacted("k", "b", "word7", "b"),
        branch_summary("s", "k", "b", "word8"),
        custom("m", "s", "note", "word9"),
        named("n", "m", "word10"),
    )

    kinds = {
        text: [hit["semanticKind"] for hit in shop.search(text)["hits"]]
        for text in [f"word{number}" for number in range(11)]
    }

    assert list(kinds.values()) == [
        [],  # private reasoning
        ["user.text"],
        ["assistant.text"],
        ["tool.call"],
        ["tool.result"],
        ["bash.command"],
        ["bash.output"],
        ["summary.compaction"],
        ["summary.branch"],
        ["custom.message"],
        ["session.name"],
    ]


@pytest.mark.requirement("events.kinds.unknown_custom")
def test_state_of_extensions_and_labels_are_not_searched(shop: Shop) -> None:
    state = {"type": "custom", "id": "x", "parentId": "u", "timestamp": "2026-01-02T00:00:00Z", "customType": "t"}
    shop.session("one", user("u", None, "alpha"), {**state, "data": {"text": "hidden"}})

    assert shop.found("hidden") == []


@pytest.mark.requirement("events.coalesced")
def test_several_fragments_of_an_event_are_one_hit_with_the_strongest_as_evidence(shop: Shop) -> None:
    blocks = [("c1", "grep", {"pattern": "pear"}), ("c2", "bash", {"command": "echo apple"})]
    shop.session("one", calls("a", None, *blocks, text="An apple a day, " + "and more words, " * 40))

    (hit,) = shop.search("apple")["hits"]

    assert (hit["matchingFragmentId"], hit["matchingFragmentCount"]) == ("a::tool.call::1", 2)


@pytest.mark.requirement("events.query.and_within_fragment")
def test_all_words_must_stand_in_one_fragment(shop: Shop) -> None:
    shop.session(
        "one",
        calls("apart", None, ("c1", "bash", {"command": "make pear"}), text="An apple."),
        said("together", "apart", "pear and apple"),
    )

    assert shop.found("apple pear") == ["together"]


@pytest.mark.requirement("events.query.words")
@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("world", "Hello world."),
        ("provider", "see src/provider.ts"),
        ("src/provider.ts", "see src/provider.ts"),
        ("force", "git push --force"),
        ("bar", "foo-bar"),
        ("write_file", "calls write_file(path)"),
        ("file", "calls write_file(path)"),
        ("CAFE", "un café"),
        ("café", "un cafe"),
        ("検索", "データベースを検索する"),
        ("데이터베이스", "데이터베이스를 고쳤다"),
        ("サーバー", "サーバーが落ちた"),
        ("abc", "中文abc"),
        ("Ａｐｐｌｅ", "an apple"),
    ],
)
def test_words_are_found_wherever_they_stand(shop: Shop, query: str, text: str) -> None:
    shop.session("one", user("a", None, text), user("b", "a", "something else entirely"))

    assert shop.found(query) == ["a"]


@pytest.mark.requirement("events.query.words")
@pytest.mark.parametrize(
    ("query", "text"), [("worl", "Hello world."), ("索検", "検索"), ("中字", "中文字"), ("run", "running runs")]
)
def test_what_is_only_part_of_a_word_or_scattered_is_not_found(shop: Shop, query: str, text: str) -> None:
    shop.session("one", user("a", None, text))

    assert shop.found(query) == []


@pytest.mark.requirement("events.query.phrases")
def test_phrases_are_words_side_by_side_also_where_they_reach_into_identifiers(shop: Shop) -> None:
    shop.session(
        "one",
        user("a", None, "def write_file(path): return none"),
        user("b", "a", "write the file, path or not, def"),
    )

    assert shop.found('"def write"') == ["a"]
    assert shop.found('"write_file path"') == ["a"]
    assert shop.found('"file path"') == ["b", "a"]  # whole words come before parts of them
    assert shop.found('"path def"') == []


@pytest.mark.requirement("events.query.no_operators")
@pytest.mark.parametrize(
    "query", ["alpha AND beta", "alpha OR beta", "NOT alpha", "prose:alpha", "alpha*", "^alpha", "-alpha"]
)
def test_operators_are_text(shop: Shop, query: str) -> None:
    shop.session("one", user("a", None, "alpha"), user("b", "a", "and or not prose alpha beta"))

    expected = {"alpha AND beta": ["b"], "alpha OR beta": ["b"], "NOT alpha": ["b"], "prose:alpha": ["b"]}

    assert sorted(shop.found(query)) == expected.get(query, ["a", "b"])


@pytest.mark.requirement("events.query.invalid")
@pytest.mark.parametrize("query", [" ", '"open', 'a ""', '" "'])
def test_a_blank_query_or_phrase_or_an_open_quote_is_refused(shop: Shop, query: str) -> None:
    with pytest.raises(InvalidQuery) as caught:
        shop.search(query)

    assert caught.value.code == "INVALID_QUERY"


@pytest.mark.requirement("events.query.invalid")
def test_a_query_without_any_word_finds_nothing(shop: Shop) -> None:
    shop.session("one", user("a", None, "!!!"))

    page = shop.search("!!!")

    assert (page["hits"], page["why"]["terms"], page["retry"]) == ([], [], None)


@pytest.mark.requirement("events.parameters")
def test_an_unknown_parameter_is_refused_with_the_nearest_known_name(shop: Shop) -> None:
    with pytest.raises(InvalidEventArgument, match=r"unknown parameter selectionStats \(did you mean selectionStates"):
        shop.search("alpha", selectionStats=["direct"])


@pytest.mark.requirement("events.oversized")
def test_of_oversized_text_head_and_tail_are_searched_and_no_phrase_crosses_the_gap(shop: Shop) -> None:
    filler = "x " * MAX_PASSAGE_CHARS
    shop.session("one", returned("a", None, "bash", f"headword {filler} middle {filler} tailword"))

    assert shop.found("headword tailword") == ["a"]
    assert shop.found("middle") == []
    assert shop.found('"x x"') == ["a"]
    assert shop.found("omitted") == []
    assert "tailword" in shop.search("tailword")["hits"][0]["snippet"]
    assert "oversized_text" in shop.search("headword")["coverage"]["reasons"]


@pytest.mark.requirement("events.snippet")
def test_a_snippet_is_a_window_of_the_text_around_the_first_match(shop: Shop) -> None:
    shop.session("one", user("a", None, "one  two\n" + "filler " * 100 + "needle\tin the  hay " + "filler " * 100))

    (hit,) = shop.search("needle")["hits"]

    assert len(hit["snippet"]) == 240
    assert hit["snippet"].index("needle") == 80
    assert "needle in the hay" in hit["snippet"]


@pytest.mark.requirement("events.filters")
@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ({}, {"u", "a", "r", "e", "b", "k", "s"}),
        ({"kinds": ["tool.call"]}, {"a"}),
        ({"kinds": ["tool.result", "bash.output"]}, {"r", "e", "b"}),
        ({"kinds": []}, {"u", "a", "r", "e", "b", "k", "s"}),
        ({"kinds": ["nonsense"]}, set()),
        ({"entryTypes": ["compaction"]}, {"k"}),
        ({"entryTypes": ["message", "branch_summary"]}, {"u", "a", "r", "e", "b", "s"}),
        ({"roles": ["tool"]}, {"r", "e", "b"}),
        ({"roles": ["summary"]}, {"k", "s"}),
        ({"toolNames": ["grep"]}, {"a", "r"}),
        ({"toolNames": ["bash"]}, {"b"}),
        ({"toolNames": ["edit"]}, {"a", "e"}),
        ({"errorOnly": True}, {"e", "b"}),
        ({"errorOnly": True, "toolNames": ["edit"]}, {"e"}),
        ({"time": {"from": "2026-01-02T12:00:00+12:00"}}, {"u", "a", "r", "e", "b", "k", "s"}),
        ({"time": {"from": "2026-01-02T11:00:00Z"}}, {"k", "s"}),
        ({"time": {"to": "2026-01-02T01:00:00+01:00"}}, {"u", "a", "r", "e", "b"}),
        ({"branchStates": ["alternate"]}, {"b"}),
        ({"branchStates": ["selected"], "kinds": ["summary.branch"]}, {"s"}),
        ({"selectionStates": ["direct"]}, {"k", "s"}),
        ({"files": ["src/needle.py"]}, {"a"}),
        ({"files": ["src"]}, {"a"}),
        ({"files": ["src/needle.py"], "fileAccess": "changed"}, set()),
        ({"files": ["other.py"]}, set()),
    ],
    ids=str,
)
def test_filters(shop: Shop, filters: Json, expected: set[str]) -> None:
    shop.session(
        "one",
        user("u", None, "needle"),
        calls(
            "a",
            "u",
            ("c1", "grep", {"pattern": "needle"}),
            ("c2", "edit", {"x": "needle"}),
            ("c3", "read", {"path": "src/needle.py"}),
        ),
        result("r", "a", "c1", "grep", "needle"),
        result("e", "r", "c2", "edit", "no needle", error=True),
        ran("b", "e", "find needle", "no needle", 1),
        compacted("k", "e", "needle", "nowhere"),
        branch_summary("s", "k", "k", "needle"),
    )

    assert {hit["entryId"] for hit in shop.search("needle", **filters)["hits"]} == expected


@pytest.mark.requirement("events.filters")
def test_a_failing_command_that_printed_nothing_is_an_error_too(shop: Shop) -> None:
    shop.session("one", ran("a", None, "make needle", "", 2), ran("b", "a", "make needle", "", 0))

    assert shop.found("needle", errorOnly=True) == ["a"]


@pytest.mark.requirement("events.filters.time_invalid")
def test_a_time_that_is_none_is_refused(shop: Shop) -> None:
    with pytest.raises(InvalidEventArgument, match=r"time\.from must be an ISO 8601 instant") as caught:
        shop.search("alpha", time={"from": "yesterday"})

    assert caught.value.code == "INVALID_ARGUMENT"


@pytest.mark.requirement("events.limit")
def test_twenty_events_are_returned_and_it_is_said_whether_there_are_more(shop: Shop) -> None:
    shop.talk("many", *["needle"] * 21, cwd=str(shop.cwd))

    page = shop.search("needle")

    assert (len(page["hits"]), page["more"]) == (20, True)
    assert len({hit["entryId"] for hit in page["hits"]}) == 20
    assert shop.search("needle", time={"from": "2026-01-02T12:00:01Z"})["more"] is False


@pytest.mark.requirement("events.order")
def test_equal_events_come_newest_first_then_by_session_and_position(shop: Shop) -> None:
    for name in ("two", "one"):
        shop.session(
            name, user("b", None, "needle", at=5), user("a", "b", "needle", at=5), user("c", "a", "needle", at=9)
        )

    assert [(hit["sessionId"], hit["entryId"]) for hit in shop.search("needle")["hits"]] == [
        *(("one", "c"), ("two", "c")),
        *(("one", "b"), ("one", "a"), ("two", "b"), ("two", "a")),
    ]


@pytest.mark.requirement("events.own")
def test_what_pepys_was_asked_and_said_is_found_only_if_asked_for(shop: Shop) -> None:
    asked = [("c1", "event_search", {"query": "needle"}), ("c2", "bash", {"command": "grep needle"})]
    shop.session(
        "one",
        calls("a", None, *asked),
        result("r", "a", "c1", "event_search", "found a needle", details={"pepys": {}}),
        result("s", "r", "c2", "bash", "a needle"),
        calls("m", "s", ("c3", "mcp__pepys__event_search", {"query": "needle"})),
    )

    page = shop.search("needle")

    assert {hit["entryId"]: hit["matchingFragmentId"] for hit in page["hits"]} == {
        "a": "a::tool.call::1",
        "s": "s::tool.result::0",
    }
    assert page["coverage"]["ownEntriesLeftOut"] == 1
    assert set(shop.found("needle", includeOwn=True)) == {"a", "r", "s", "m"}
    assert set(shop.found("needle", toolNames=["event_search"])) == {"a", "r"}


@pytest.mark.requirement("events.own")
def test_a_tool_of_the_same_name_is_not_taken_for_pepys(shop: Shop) -> None:
    shop.session(
        "one",
        calls("a", None, ("c1", "event_search", {"query": "needle"})),
        result("r", "a", "c1", "event_search", "needle"),
    )

    assert set(shop.found("needle")) == {"a", "r"}


@pytest.mark.requirement("events.why")
def test_an_empty_answer_says_how_many_events_hold_each_word(shop: Shop) -> None:
    shop.talk("one", "apple", "pear", "pear", cwd=str(shop.cwd))

    page = shop.search("apple pear")

    assert [(one["term"], one["events"]) for one in page["why"]["terms"]] == [("apple", 1), ("pear", 2)]
    assert page["retry"] == {"ref": "events.search", "args": {"query": "apple"}}
    assert len(shop.call("events.search", page["retry"]["args"], cwd=shop.cwd)["hits"]) == 1


@pytest.mark.requirement("events.why")
def test_an_empty_answer_names_the_filters_that_removed_everything(shop: Shop) -> None:
    shop.session("one", user("a", None, "needle"))

    page = shop.search("needle", roles=["tool"], branchStates=["selected"])

    assert page["why"]["withoutFilters"] == 1
    assert page["why"]["filters"] == {"roles": 0, "branchStates": 1}
    assert page["retry"]["args"] == {"query": "needle", "branchStates": ["selected"]}


@pytest.mark.requirement("events.why")
def test_an_empty_answer_offers_the_words_that_exist_and_never_relaxes_by_itself(shop: Shop) -> None:
    shop.session("one", user("a", None, "needle in the hay"))

    assert shop.search("needle zebra")["retry"]["args"] == {"query": "needle"}
    assert shop.search('"hay needle"')["retry"]["args"] == {"query": "hay needle"}
    assert shop.search("zebra")["retry"] is None


@pytest.mark.requirement("events.session_name")
def test_the_latest_name_of_a_session_counts_and_an_empty_one_clears_it(shop: Shop) -> None:
    shop.session("one", user("a", None, "needle"), named("n", "a", "First"), named("m", "n", "Second"))
    shop.session("two", user("b", None, "needle"), named("o", "b", "First"), named("p", "o", ""))

    names = {hit["sessionId"]: hit.get("sessionName") for hit in shop.search("needle")["hits"]}

    assert names == {"one": "Second", "two": None}


@pytest.mark.requirement("events.recall_apart")
def test_recall_finds_neither_branch_summaries_nor_names_nor_parts_of_words(shop: Shop) -> None:
    shop.session(
        "one", user("a", None, "write_file 検索"), branch_summary("s", "a", "a", "gave up"), named("n", "s", "Title")
    )

    for query in ("gave", "Title", "write", "検"):
        assert shop.recall(query, cwd=shop.cwd)["total"] == 0, query
        assert len(shop.search(query)["hits"]) == 1, query
    assert shop.recall("", cwd=shop.cwd)["total"] == 2


@pytest.mark.requirement("events.kinds")
def test_entries_of_older_shapes_are_events_like_any_others(shop: Shop) -> None:
    at = {"timestamp": "2026-01-02T00:00:00Z"}
    call = {"toolCallId": "c1", "name": "read", "arguments": {"path": "src/needle.py"}}
    shop.session(
        "one",
        {"type": "user", "id": "u", "parentId": None, "text": "needle", **at},
        {"type": "assistant", "id": "a", "parentId": "u", "text": "needle", "toolCalls": [call], **at},
        {
            "type": "tool_result",
            "id": "r",
            "parentId": "a",
            "toolCallId": "c1",
            "name": "read",
            "result": "needle",
            **at,
        },
        {"type": "bash", "id": "b", "parentId": "r", "command": "echo", "output": "needle", "isError": True, **at},
    )

    page = shop.search("needle")

    assert {hit["entryId"]: (hit["semanticKind"], hit["role"], hit["selectionState"]) for hit in page["hits"]} == {
        "u": ("user.text", "user", "direct"),
        "a": ("assistant.text", "assistant", "direct"),
        "r": ("tool.result", "tool", "direct"),
        "b": ("bash.output", "tool", "direct"),
    }
    assert shop.found("needle", errorOnly=True) == ["b"]
    assert shop.related("one", "r") == [("tool-result-for", "one/r", "one/a", True)]
    assert page["coverage"]["state"] == "ready"


@pytest.mark.requirement("events.identity")
def test_of_entries_with_one_id_only_the_last_is_found(shop: Shop) -> None:
    shop.session("one", user("a", None, "needle before"), user("a", None, "needle after"), user("b", "a", "needle"))

    hits = {hit["entryId"]: hit for hit in shop.search("needle")["hits"]}

    assert sorted(hits) == ["a", "b"]
    assert hits["a"]["snippet"] == "needle after"
    assert (
        shop.ask(hits["a"]["follow"]["ref"], hits["a"]["follow"]["args"])["fragments"][0]["preview"]["text"]
        == "needle after"
    )
    assert shop.found("before") == []


@pytest.mark.requirement("events.query.phrases")
@pytest.mark.parametrize(
    ("phrase", "found"),
    [
        ("edit resultname", ["r"]),
        ("my edit resultname", []),
        ("lock_edit resultname was", ["r"]),
        ("edit was", []),
        ("note stockname", ["n"]),
        ("bash a stockroom", ["c"]),
        ("resultname was", ["r"]),
        ("was stockname", []),
    ],
)
def test_a_phrase_is_found_in_a_fragment_as_it_is_shown(shop: Shop, phrase: str, found: list[str]) -> None:
    shop.session(
        "one",
        calls("c", None, ("c1", "bash", {"a": "stockroom"}), text="edit"),
        result("r", "c", "c1", "lock_edit", "resultname was"),
        custom("n", "r", "note", "stockname"),
    )

    assert shop.found(f'"{phrase}"') == found


@pytest.mark.requirement("events.oversized")
def test_what_is_left_out_of_search_is_marked_in_snippets_and_named_in_reads(shop: Shop) -> None:
    half = MAX_PASSAGE_CHARS // 2
    text = "y" * (half - 9) + " headword" + "x " * 50 + "tailword " + "z" * (half - 9)
    shop.session("one", user("a", None, text), user("b", None, "headword tailword"))

    assert shop.found('"headword tailword"') == ["b"]
    (hit,) = (hit for hit in shop.search("tailword")["hits"] if hit["entryId"] == "a")
    assert "headword […] tailword" in hit["snippet"]
    assert [hit["snippet"][start:end] for start, end in hit["matches"]] == ["tailword"]
    assert shop.found("omitted") == []
    (fragment,) = shop.read("one", "a", offset=half - 5)["fragments"]
    assert fragment["notSearchedRanges"] == [{"start": half, "end": len(text) - half}]
    assert fragment["preview"]["text"].startswith("dwordx x")
    assert "notSearchedRanges" not in shop.read("one", "b")["fragments"][0]


@pytest.mark.requirement("events.oversized")
def test_no_match_is_shown_across_what_is_left_out(shop: Shop) -> None:
    half = MAX_PASSAGE_CHARS // 2
    first = " headword tailword and headword"
    text = "y" * (half - len(first)) + first + "x " * 50 + "tailword " + "z" * (half - 9)
    shop.session("one", user("a", None, text))

    (hit,) = shop.search('"headword tailword"')["hits"]

    assert "headword […] tailword" in hit["snippet"]
    assert [hit["snippet"][start:end] for start, end in hit["matches"]] == ["headword tailword"]


@pytest.mark.requirement("events.kinds")
@pytest.mark.parametrize("type_", ["compaction", "branch_summary"])
def test_summaries_whose_words_are_called_text_are_found_too(shop: Shop, type_: str) -> None:
    shop.session("one", user("a", None, "first"), {"type": type_, "id": "k", "parentId": "a", "text": "needle"})

    (hit,) = shop.search("needle")["hits"]

    assert hit["semanticKind"] == {"compaction": "summary.compaction", "branch_summary": "summary.branch"}[type_]
    assert shop.search("needle")["coverage"].get("diagnostics") is None


@pytest.mark.requirement("events.query.and_within_fragment")
def test_of_candidates_read_in_vain_the_answer_says_that_there_are_more(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "MAX_READ", 24)  # instead of 2,000
    parents = [None, *(f"e{number}" for number in range(40))]
    shop.session(
        "one",
        *(
            calls(f"e{number}", parents[number], (f"c{number}", "grep", {"pattern": "alpha"}), text="beta")
            for number in range(40)
        ),
    )

    answer = shop.search("alpha beta")

    assert answer["hits"] == []
    assert answer["coverage"]["state"] == "partial"
    assert "fragment_budget" in answer["coverage"]["reasons"]
