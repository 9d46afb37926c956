"""`memory.recall`: what is found, in which order, with which calls that go on from it."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from pepys.errors import InvalidArgument
from pepys.model.lineage import Live
from tests.recall.diary import Diary, append, called, entry, ids, pages, returned, said, thought, user

HIT_FIELDS = {
    "kind", "sessionId", "tier", "index", "entryId", "parentId", "operationAddress", "type", "role", "tool", "ref",
    "provider", "action", "timestamp", "isError", "score", "snippet", "truncated", "follow",
}  # fmt: skip


@pytest.mark.requirement("page.shape", "coverage.shape", "page.entry_hit")
def test_a_hit_has_the_fields_of_the_specification(diary: Diary) -> None:
    diary.session("s1", user("a", None, "the stock is wrong"))

    page = diary.recall("stock")

    assert set(page) == {"total", "hits", "next", "coverage"}
    assert set(page["hits"][0]) == HIT_FIELDS
    assert page["coverage"] == {
        "complete": True, "indexedSessions": 1, "eligibleSessions": 1, "staleSessions": 0, "incompleteSessions": 0,
        "reasons": [],
    }  # fmt: skip


@pytest.mark.requirement("lexical.any_default", "lexical.all", "lexical.literal_default")
def test_any_finds_entries_with_one_of_the_words_and_all_those_with_every_word(diary: Diary) -> None:
    diary.session("s1", user("a", None, "cache key"), user("b", "a", "cache"), user("c", "b", "lock"))

    assert sorted(ids(diary.recall("cache key"))) == ["a", "b"]
    assert ids(diary.recall("cache key", queryMatch="all")) == ["a"]


@pytest.mark.requirement("lexical.phrase", "lexical.phrase_folded")
@pytest.mark.parametrize(
    ("phrase", "found"),
    [
        ("Cache Key", True),
        ("cache  key", False),  # white space is exact
        ("ache ke", True),  # both edges may lie within a word
        ("key cache", False),
        ('write({"path":"src/a.py"', True),
        ("ＣＡＣＨＥ key", True),
        ("key rotation\nbegins", True),
    ],
)
def test_a_phrase_is_contiguous_text(diary: Diary, phrase: str, found: bool) -> None:
    diary.session(
        "s1", said("a", None, "the cache key rotation\nbegins"), called("b", "a", "write", path="src/a.py", content="x")
    )

    assert bool(diary.recall(phrase, queryMode="phrase")["total"]) is found


@pytest.mark.requirement("lexical.provenance")
def test_prose_ranks_ahead_of_plumbing_unless_a_tool_is_asked_for(diary: Diary) -> None:
    diary.session(
        "s1", returned("r", None, "bash", "migration"), called("c", "r", "bash", command="migration"),
        said("p", "c", "migration"),
    )  # fmt: skip

    assert ids(diary.recall("migration"))[0] == "p"
    assert set(ids(diary.recall("migration", tool="bash"))) == {"r", "c"}


def test_equal_hits_are_ordered_by_time_then_session_then_position(diary: Diary) -> None:
    diary.session("s2", user("old", None, "same", at="2026-01-01T00:00:00Z"), user("x", "old", "same"))
    diary.session("s1", user("y", None, "same"), user("z", "y", "same"))

    assert ids(diary.recall("same")) == ["y", "z", "x", "old"]


@pytest.mark.requirement("structural.role", "structural.time")
def test_filters_are_exact_and_inclusive_and_a_missing_time_passes(diary: Diary) -> None:
    diary.session(
        "s1", user("a", None, "w", at="2026-01-01T00:00:00Z"), said("b", "a", "w", at="2026-01-02T00:00:00Z"),
        user("c", "b", "w", at=None),
    )  # fmt: skip
    second = 1767312000000  # 2026-01-02

    assert sorted(ids(diary.recall("w", since=second))) == ["b", "c"]
    assert sorted(ids(diary.recall("w", until=second - 1))) == ["a", "c"]
    assert ids(diary.recall("w", role="assistant")) == ["b"]
    assert diary.recall("w", tool="ba")["total"] == 0


@pytest.mark.requirement("structural.browse")
def test_a_blank_query_browses_the_newest_session_from_its_beginning(diary: Diary) -> None:
    older = diary.session("s1", user("a", None, "one"), user("b", "a", "two"))
    diary.session("s2", user("c", None, "three"))
    os.utime(older, (1, 1))

    page = diary.recall(" ")

    assert ids(page) == ["c", "a", "b"]
    assert {hit["score"] for hit in page["hits"]} == {0}


def test_a_query_without_any_letter_proves_nothing(diary: Diary) -> None:
    diary.session("s1", user("a", None, "!!!"))

    page = diary.recall("!!!")

    assert page["total"] == 0
    assert page["coverage"]["reasons"] == ["query_has_no_terms"]
    assert not page["coverage"]["complete"]


@pytest.mark.requirement("workflow.next_to_null", "page.total")
def test_pages_give_every_hit_once_and_total_stays(diary: Diary) -> None:
    diary.session("s1", *(user(f"e{n}", f"e{n - 1}" if n else None, f"word {n}") for n in range(37)))

    found = pages(diary, diary.recall("word", pageSize=5))

    assert sorted(id_ for page in found for id_ in ids(page)) == sorted(f"e{n}" for n in range(37))
    assert {page["total"] for page in found} == {37}
    assert diary.recall("word", offset=99) == {**found[0], "hits": [], "next": None}


@pytest.mark.requirement("page.envelope", "lexical.bounded")
def test_no_page_passes_its_envelope(diary: Diary) -> None:
    diary.session("s1", *(user(f"e{n}", None, 'needle "\\\x01 東京' * 400) for n in range(60)))

    found = pages(diary, diary.recall("needle", branches="all", pageSize=50, snippetChars=2000))

    assert max(len(json.dumps(page, ensure_ascii=False, separators=(",", ":"))) for page in found) <= 30_000
    assert sum(len(page["hits"]) for page in found) == 60


@pytest.mark.requirement("branches.hits", "branches.all")
def test_an_abandoned_branch_is_found_only_when_asked_for(diary: Diary) -> None:
    diary.session("s1", user("a", None, "root"), user("b", "a", "abandoned idea"), user("c", "a", "chosen idea"))

    assert ids(diary.recall("idea")) == ["c"]
    assert sorted(ids(diary.recall("idea", branches="all"))) == ["b", "c"]
    assert diary.recall("idea")["hits"][0]["index"] == 1
    assert diary.recall("chosen", branches="all")["hits"][0]["index"] == 2


@pytest.mark.requirement("branches.live_navigation")
def test_a_live_branch_changes_answers_and_bindings_without_an_append(diary: Diary) -> None:
    path = diary.session("s1", user("a", None, "root"), user("b", "a", "first idea"), user("c", "a", "second idea"))

    persisted = diary.recall("idea", scope="session", session_file=path)
    live = diary.recall("idea", scope="session", session_file=path, live=Live("b", ("a", "b")))

    assert (ids(persisted), ids(live)) == (["c"], ["b"])
    fingerprints = {page["hits"][0]["follow"]["args"]["expectedLineageFingerprint"] for page in (persisted, live)}
    assert len(fingerprints) == 2


@pytest.mark.requirement("workflow.one_follow", "stale.append")
def test_following_a_hit_opens_it_until_the_session_changes(diary: Diary) -> None:
    path = diary.session("s1", user("a", None, "the stock"))
    hit = diary.recall("stock")["hits"][0]

    opened = diary.follow(hit)
    append(path, said("b", "a", "more"))

    assert [item["text"] for item in opened["entries"]] == ["the stock"]
    with pytest.raises(Exception, match="have changed") as stale:
        diary.follow(hit)
    assert getattr(stale.value, "code", None) == "stale_pointer"


@pytest.mark.requirement("cache.same_size_rewrite", "stale.rewrite")
def test_a_rewrite_of_the_same_size_and_time_makes_a_pointer_stale(diary: Diary) -> None:
    path = diary.session("s1", user("a", None, "the stock"))
    hit, before = diary.recall("stock")["hits"][0], path.stat()

    path.write_text(path.read_text().replace("stock", "stick"))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))

    with pytest.raises(Exception, match="has changed"):
        diary.follow(hit)
    assert diary.recall("stock")["total"] == 0
    assert diary.recall("stick")["total"] == 1


@pytest.mark.requirement("page.next_bound", "workflow.page_bindings")
def test_a_single_session_goes_on_only_over_the_same_source(diary: Diary) -> None:
    path = diary.session("s1", *(user(f"e{n}", f"e{n - 1}" if n else None, "word") for n in range(9)))
    page = diary.recall("word", scope="session:s1", pageSize=4)

    append(path, user("x", "e8", "word"))
    following = diary.call("memory.recall", page["next"]["args"])

    assert page["next"]["args"]["scope"] == f"session:{path}"
    assert following["error"]["code"] == "stale_pointer"
    assert (following["total"], following["hits"], following["next"]) == (0, [], None)
    assert following["coverage"]["reasons"] == ["stale_pointer"]


@pytest.mark.requirement("scope.project", "scope.global", "scope.one_session", "scope.session_newest")
def test_scopes_choose_sources(diary: Diary) -> None:
    one = diary.session("s1", user("a", None, "word"), cwd="/srv/shop")
    diary.session("s2", user("b", None, "word"), cwd="/srv/other")

    assert ids(diary.recall("word", scope="project")) == ["a"]
    assert sorted(ids(diary.recall("word", scope="global"))) == ["a", "b"]
    assert ids(diary.recall("word", scope="session:s2")) == ["b"]
    assert ids(diary.recall("word", scope=f"session:{one}")) == ["a"]
    current = diary.recall("word", scope="session")
    assert ids(current) == ["a"]
    assert current["coverage"]["reasons"] == ["current_session_unknown"]
    assert current["coverage"]["complete"]


@pytest.mark.requirement("scope.project")
def test_projects_whose_folders_have_one_name_stay_apart(diary: Diary) -> None:
    diary.session("s1", user("a", None, "word"), cwd="/srv/shop-api")
    diary.session("s2", user("b", None, "word"), cwd="/srv/shop/api")
    diary.session("s3", user("c", None, "word"), cwd="/srv/shop/api").write_text(
        (diary.agent / "sessions/--srv-shop-api--/s2.jsonl")
        .read_text()
        .replace("/srv/shop/api", "/far/away")
        .replace('"s2"', '"s3"')
    )

    assert sorted(ids(diary.recall("word", scope="project", cwd="/srv/shop/api"))) == ["b", "b"]
    assert "a" not in ids(diary.recall("word", scope="project", cwd="/srv/shop/api"))


@pytest.mark.requirement("scope.ambiguous")
def test_an_unknown_session_is_an_error_and_an_ambiguous_one_names_its_files(diary: Diary) -> None:
    files = [str(diary.session(name, user("a", None, name), id_="same")) for name in ("s1", "s2")]

    unknown, ambiguous = diary.recall("a", scope="session:nobody"), diary.recall("a", scope="session:same")

    assert unknown["error"]["code"] == "session_not_found"
    assert not unknown["coverage"]["complete"]
    assert ambiguous["error"]["code"] == "ambiguous_session"
    assert ambiguous["error"]["candidates"] == files


def test_copies_in_files_of_one_session_are_one_hit_and_changed_ones_name_their_file(diary: Diary) -> None:
    diary.session("s1", user("a", None, "word one"), user("b", "a", "word two"), id_="same")
    second = diary.session("s2", user("a", None, "word one"), user("b", "a", "word changed"), id_="same")

    page = diary.recall("word")

    assert sorted(ids(page)) == ["a", "b", "b"]
    assert all("file" in hit for hit in page["hits"])
    assert ids(diary.recall("changed")) == ["b"]
    assert diary.recall("changed")["hits"][0]["file"] == str(second)


@pytest.mark.requirement("range.single_session")
@pytest.mark.parametrize(
    "args",
    [
        {"scope": "everywhere"},
        {"queryMode": "phrase", "queryMatch": "all"},
        {"expectedSourceHash": "0"},
        {"entryRange": {"first": 0, "last": 1}},
        {"pageSize": 0},
        {"quary": "x"},
    ],
)
def test_a_request_that_contradicts_itself_is_refused(diary: Diary, args: dict[str, Any]) -> None:
    with pytest.raises(InvalidArgument):
        diary.call("memory.recall", {"query": "x", "scope": "global", **args})


@pytest.mark.requirement("range.inclusive", "range.never_clamped")
def test_an_entry_range_bounds_a_session_and_is_never_clamped(diary: Diary) -> None:
    diary.session("s1", *(user(f"e{n}", f"e{n - 1}" if n else None, "word") for n in range(5)))

    inside = diary.recall("word", scope="session:s1", entryRange={"first": 1, "last": 3})
    outside = diary.recall("word", scope="session:s1", entryRange={"first": 1, "last": 5})

    assert sorted(ids(inside)) == ["e1", "e2", "e3"]
    assert outside["error"]["code"] == "index_out_of_bounds"
    assert outside["error"]["entryCount"] == 5


def test_whole_tool_arguments_are_found_and_read_as_they_were_written(diary: Diary) -> None:
    code = "x = 1\n" * 200 + 'print("needle")\nreturn_value'
    diary.session("s1", called("a", None, "write", path="a.py", content=code))

    hit = diary.recall("return_value")["hits"][0]

    assert code in diary.follow(hit)["entries"][0]["text"]
    assert diary.recall('print("needle")', queryMode="phrase")["total"] == 1


@pytest.mark.requirement("lineage.policy_change", "privacy.thinking_on")
def test_thinking_is_found_only_when_configured_and_leaves_with_the_setting(diary: Diary) -> None:
    diary.session("s1", thought("a", None, "secretly", "openly"))

    assert diary.recall("secretly")["total"] == 0
    assert diary.recall("secretly", config_overrides={"memory": {"indexThinking": True}})["total"] == 1
    assert diary.recall("secretly")["total"] == 0


def test_tool_output_can_be_kept_out_of_search_but_is_still_read(diary: Diary) -> None:
    diary.session("s1", returned("a", None, "bash", "printed"))
    setting = {"memory": {"indexToolOutput": False}}

    assert diary.recall("printed", config_overrides=setting)["total"] == 0
    hit = diary.recall("toolresult", config_overrides=setting)["hits"][0]
    assert "printed" not in hit["snippet"]
    assert "printed" in diary.expand(session="s1", indices=[0])["entries"][0]["text"]


def test_a_snippet_is_a_window_around_the_longest_word(diary: Diary) -> None:
    diary.session("s1", user("a", None, "x " * 500 + "needlework needle " + "y " * 500))

    snippet = diary.recall("needle needlework", snippetChars=80)["hits"][0]["snippet"]

    assert snippet.startswith("…")
    assert snippet.endswith("…")
    assert len(snippet) == 82
    assert snippet.index("needlework") == 1 + 80 // 3


def test_what_pepys_wrote_itself_is_found_only_when_asked_for(diary: Diary) -> None:
    own = {"type": "custom_message", "id": "b", "parentId": "a", "customType": "pepys.context", "content": "word"}
    diary.session("s1", user("a", None, "word"), own)

    page = diary.recall("word")

    assert ids(page) == ["a"]
    assert page["coverage"]["ownEntriesLeftOut"] == 1
    assert page["coverage"]["complete"]
    assert sorted(ids(diary.recall("word", includeOwn=True))) == ["a", "b"]


def test_no_call_finds_the_message_that_makes_it(diary: Diary) -> None:
    earlier = called("b", "a", "session_recall", call="c1", query="zebra")
    asking = called("d", "b", "session_recall", call="c2", query="zebra")
    path = diary.session("s1", user("a", None, "hello"), earlier, asking)

    def found(call: str | None) -> list[str]:
        return sorted(ids(diary.recall("zebra", session_file=path, tool_call_id=call, scope="session")))

    assert found(None) == found("elsewhere") == ["b", "d"]
    assert found("c2") == found("c2/1") == ["b"]


@pytest.mark.requirement("workflow.coverage_explains")
@pytest.mark.parametrize(
    ("tail", "reason", "code"),
    [
        (b'{"type":"message","id":"z"', "torn_tail", "torn_tail"),
        (b"{broken\n", "damaged_source", "malformed_record"),
        (b'{"type":"from_the_future","id":"z","parentId":"a"}\n', "unknown_record_type", "unknown_record_type"),
    ],
)
def test_what_could_not_be_read_is_counted_and_the_rest_is_found(
    diary: Diary, tail: bytes, reason: str, code: str
) -> None:
    path = diary.session("s1", user("a", None, "word"))
    path.write_bytes(path.read_bytes() + tail)

    page = diary.recall("word", branches="all")

    assert ids(page) == ["a"]
    assert page["coverage"]["reasons"] == [reason]
    assert page["coverage"]["diagnostics"] == {code: 1}
    assert not page["coverage"]["complete"]


def test_harmless_oddities_are_counted_and_leave_the_answer_complete(diary: Diary) -> None:
    path = diary.session("s1", user("a", None, "word"))
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes() + b"null\n")

    coverage = diary.recall("word")["coverage"]

    assert coverage["complete"]
    assert coverage["diagnostics"] == {"byte_order_mark": 1, "not_an_object": 1}


@pytest.mark.requirement("branches.cycle", "identity.entry_ids")
def test_a_cycle_and_a_double_id_are_reasons(diary: Diary) -> None:
    diary.session("s1", user("a", "b", "word"), user("b", "a", "word"))
    diary.session("s2", user("c", None, "word"), user("c", None, "word"))

    assert "invalid_parent_graph" in diary.recall("word")["coverage"]["reasons"]
    assert "duplicate_entry_id" in diary.recall("word", branches="all")["coverage"]["reasons"]
    assert diary.recall("word", scope="session:s2")["total"] == 1


def test_line_separators_are_text(diary: Diary) -> None:
    diary.session("s1", user("a", None, "one\u2028two\u0085three"))

    assert diary.recall("two")["total"] == 1
    assert diary.recall("two")["coverage"]["complete"]


def test_an_empty_history_and_a_session_without_entries_answer(diary: Diary, tmp_path: Path) -> None:
    assert diary.recall("word")["total"] == 0
    diary.session("s1")
    (diary.agent / "sessions/--srv-shop--/empty.jsonl").write_bytes(b"")

    page = diary.recall("word")

    assert (page["total"], page["coverage"]["eligibleSessions"], page["coverage"]["complete"]) == (0, 2, True)


@pytest.mark.requirement("branches.counts")
def test_sessions_lists_a_scope_newest_first(diary: Diary) -> None:
    older = diary.session("s1", user("a", None, "one"), user("b", None, "two"), id_="first")
    diary.session("s2", user("c", None, "three"), entry("d", "c", {"role": "assistant", "content": []}))
    os.utime(older, (1, 1))

    page = diary.call("memory.sessions", {"scope": "project"})

    assert [(row["id"], row["entryCount"]) for row in page["sessions"]] == [("s2", 2), ("first", 1)]
    assert set(page["sessions"][0]) >= {"id", "file", "cwd", "mtime", "entryCount", "tier", "branches"}
    assert [
        row["entryCount"] for row in diary.call("memory.sessions", {"branches": "all", "scope": "global"})["sessions"]
    ] == [2, 2]
    assert len(diary.call("memory.sessions", {"scope": "global", "limit": 1})["sessions"]) == 1
