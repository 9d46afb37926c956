"""Tiers, cuts and budgets with a count of hot sessions (spec 1, "Cache V6" and "Tiers, refresh, and work budgets")."""

from __future__ import annotations

import json
import math
import os
from pathlib import Path
from typing import Any

import pytest

from tests.recall.details import executed, operation
from tests.recall.diary import NOON, Diary, append, called, following, ids, returned, said, size, user

Json = dict[str, Any]

CANDIDATE = [
    "kind",
    "sessionId",
    "tier",
    "cwd",
    "lastTimestamp",
    "score",
    "matchedTerms",
    "matchedStructuralEntries",
    "follow",
]

COUNTS = [pytest.param(1, id="small count"), pytest.param(50, id="the specification's count")]


def tiered(hot: int, **memory: Any) -> Json:
    """Keywords of a call with *hot* hot sessions."""
    return {"config_overrides": {"memory": {"hotSessions": hot, "maxEntryChars": 2000, **memory}}}


def many(diary: Diary, count: int, text: str = "word", **more: Any) -> None:
    """Newer sessions than all that there are."""
    for at in range(count):
        diary.talk(f"newer-{at}", text, **more)


def tiers(page: Json) -> dict[str, str]:
    """The tier of each session among the hits."""
    return {hit["sessionId"]: hit["tier"] for hit in page["hits"]}


def cold(diary: Diary, query: str = "", **more: Any) -> Json:
    """A page with every session cold."""
    memory = more.pop("memory", {})
    return diary.recall(query, **tiered(0, **memory), **more)


def resolved(diary: Diary, page: Json, at: int = 0, hot: int = 0) -> Json:
    """What following a candidate gives."""
    token = page["hits"][at]["follow"]
    return diary.call(token["ref"], token["args"], **tiered(hot))


# Hot and cold


@pytest.mark.requirement("tiers.newest_hot", "tiers.older_cold")
@pytest.mark.parametrize("hot", COUNTS)
def test_the_newest_sessions_are_hot_and_every_older_one_is_cold(diary: Diary, hot: int) -> None:
    for name in ("oldest", "older"):
        diary.talk(name, "word of old")
    many(diary, hot)

    page = diary.recall("word", pageSize=50, **tiered(hot))
    with diary.open(**tiered(hot)) as workspace:
        answers = list(following(workspace, "memory.recall", {"query": "word", "scope": "global", "pageSize": 50}))

    found = {key: tier for answer in answers for key, tier in tiers(answer).items()}
    assert found == {"oldest": "cold", "older": "cold", **{f"newer-{at}": "hot" for at in range(hot)}}
    assert page["total"] == hot + 2
    assert {(hit["kind"], hit["tier"]) for answer in answers for hit in answer["hits"]} == {
        ("entry", "hot"),
        ("session", "cold"),
    }


@pytest.mark.requirement("tiers.newest_hot")
def test_at_the_specifications_count_a_small_history_is_wholly_hot(diary: Diary) -> None:
    many(diary, 3)

    page = diary.recall("word", **tiered(50))

    assert set(tiers(page).values()) == {"hot"}
    assert page["coverage"]["complete"]


@pytest.mark.requirement("tiers.global_boundary")
def test_the_boundary_goes_over_all_sessions_whatever_the_scope(diary: Diary) -> None:
    diary.talk("mine", "word")
    diary.talk("other", "word", cwd="/srv/other")

    page = diary.recall("word", scope="project", **tiered(1))

    assert tiers(page) == {"mine": "cold"}


@pytest.mark.requirement("tiers.moves")
def test_a_session_that_crosses_the_boundary_changes_its_tier(diary: Diary) -> None:
    older = diary.talk("older", "word")
    newer = diary.talk("newer", "word")
    before = tiers(diary.recall("word", **tiered(1)))

    append(older, user("x", "older-0", "word again"))
    os.utime(older, (NOON // 1000 + 100,) * 2)
    after = tiers(diary.recall("word", **tiered(1)))
    os.utime(newer, (NOON // 1000 + 101,) * 2)
    back = tiers(diary.recall("word", **tiered(1)))

    assert before == back == {"older": "cold", "newer": "hot"}
    assert after == {"older": "hot", "newer": "cold"}


@pytest.mark.requirement("tiers.moves", "tiers.auto")
def test_a_change_of_the_count_changes_tiers_and_auto_knows_none(diary: Diary) -> None:
    many(diary, 3)

    counts = {
        hot: sum(tier == "hot" for tier in tiers(diary.recall("word", **tiered(hot))).values()) for hot in (0, 1, 3)
    }
    auto = diary.recall("word")

    assert counts == {0: 0, 1: 1, 3: 3}
    assert set(tiers(auto).values()) == {"hot"}


@pytest.mark.requirement("tiers.no_promotion", "scope.one_session")
def test_resolving_a_cold_session_does_not_promote_it(diary: Diary) -> None:
    diary.talk("old", "word one", "word two")
    many(diary, 1)

    explicit = diary.recall("word", scope="session:old", **tiered(1))
    expanded = diary.call("memory.expand", {"session": "old", "indices": [0]}, **tiered(1))
    rows = diary.call("memory.sessions", {"scope": "global"}, **tiered(1))["sessions"]

    assert sorted(ids(explicit)) == ["old-0", "old-1"]
    assert {hit["kind"] for hit in explicit["hits"]} == {"entry"}
    assert expanded["entries"][0]["text"] == "word one"
    assert {row["id"]: row["tier"] for row in rows} == {"old": "cold", "newer-0": "hot"}
    assert tiers(diary.recall("word", **tiered(1)))["old"] == "cold"


# Candidates


@pytest.mark.requirement("page.session_hit", "cold.session_candidate", "cold.no_range")
def test_a_candidate_speaks_of_its_session_only(diary: Diary) -> None:
    diary.talk("one", "apples and pears", "apples")

    page = cold(diary, "apples pears plums")
    hit = page["hits"][0]

    assert list(hit) == CANDIDATE
    assert hit | {"score": 0, "follow": None} == {
        "kind": "session",
        "sessionId": "one",
        "tier": "cold",
        "cwd": "/srv/shop",
        "lastTimestamp": NOON + 1000,
        "score": 0,
        "matchedTerms": 2,
        "matchedStructuralEntries": 0,
        "follow": None,
    }
    assert (page["total"], hit["score"] > 0) == (1, True)
    assert "apples" not in str({**hit, "follow": None})


@pytest.mark.requirement("page.session_follow", "cold.follow_bound", "workflow.follow_bindings", "page.bindings_inside")
def test_a_candidates_follow_is_the_same_search_bound_to_its_session(diary: Diary) -> None:
    path = diary.talk("one", "apples")

    page = cold(diary, "apples pears", role="user", pageSize=7)
    token = page["hits"][0]["follow"]
    expected = diary.expand(session="one")

    assert token["ref"] == "memory.recall"
    assert token["args"]["scope"] == f"session:{path}"
    assert token["args"]["query"] == "apples pears"
    assert (token["args"]["role"], token["args"]["pageSize"]) == ("user", 7)
    assert token["args"]["expectedSourceHash"] == expected["sourceHash"]
    assert token["args"]["expectedLineageFingerprint"] == expected["lineageFingerprint"]
    assert not {"offset", "entryRange"} & token["args"].keys()


@pytest.mark.requirement("cold.follow_gives_entries", "cold.resolved", "tiers.no_promotion")
def test_following_a_candidate_gives_its_entries_and_a_complete_answer(diary: Diary) -> None:
    diary.talk("one", "apples", "pears", "apples and pears")

    page = cold(diary, "apples")
    found = resolved(diary, page)

    assert sorted(ids(found)) == ["one-0", "one-2"]
    assert {hit["kind"] for hit in found["hits"]} == {"entry"}
    assert found["coverage"]["complete"]
    assert cold(diary, "apples")["hits"] == page["hits"]


@pytest.mark.requirement("cold.follow_bound", "stale.append")
def test_a_candidates_follow_is_stale_after_an_append(diary: Diary) -> None:
    path = diary.talk("one", "apples")
    page = cold(diary, "apples")
    append(path, user("x", "one-0", "more"))

    answer = resolved(diary, page)

    assert answer["error"]["code"] == "stale_pointer"
    assert (answer["total"], answer["hits"]) == (0, [])


@pytest.mark.requirement("branches.cold_vocabulary", "branches.follow_keeps_mode")
def test_words_of_an_abandoned_branch_make_no_candidate(diary: Diary) -> None:
    diary.session("one", user("a", None, "root"), user("b", "a", "zebra"), user("c", "a", "okapi"))

    active, every = cold(diary, "zebra"), cold(diary, "zebra", branches="all")

    assert (active["total"], every["total"]) == (0, 1)
    assert active["coverage"]["complete"]
    assert every["hits"][0]["follow"]["args"]["branches"] == "all"
    assert ids(resolved(diary, every)) == ["b"]


@pytest.mark.requirement("cold.vocabulary_complete", "cold.rare_terms", "lexical.one_tokenizer")
def test_a_cold_session_is_found_by_every_token_of_its_text(diary: Diary) -> None:
    text = "İstanbul ﬁle snake_case x² 検索 don't ＡＢＣ Straße re\u0301sume\u0301 λόγος src/foo.ts v1.2"
    diary.session("one", user("u", None, text), called("c", "u", "write", path="a.py", content="needle = 42\n"))
    diary.session("two", returned("r", None, "bash", "printed words"))

    for word in (text + " write path a.py content needle 42").split():
        assert [hit["sessionId"] for hit in cold(diary, word)["hits"]] == ["one"], word
    assert [hit["sessionId"] for hit in cold(diary, "printed")["hits"]] == ["two"]
    assert cold(diary, "absent")["coverage"]["complete"]
    assert cold(diary, "absent")["total"] == 0


@pytest.mark.requirement("cold.vocabulary_complete", "privacy.thinking_off")
def test_private_thinking_is_in_no_cold_vocabulary(diary: Diary) -> None:
    from tests.recall.diary import thought

    diary.session("one", thought("a", None, "secretly", "openly"))

    assert cold(diary, "secretly")["total"] == 0
    assert cold(diary, "openly")["total"] == 1
    assert cold(diary, "secretly", memory={"indexThinking": True})["total"] == 1


@pytest.mark.requirement("cold.all_needs_every_term", "cold.all_reason", "cold.resolved")
def test_all_wants_every_term_in_a_session_and_leaves_the_entry_open(diary: Diary) -> None:
    diary.talk("apart", "apples", "pears")
    diary.talk("together", "apples and pears")
    diary.talk("half", "apples")

    page = cold(diary, "apples pears", queryMatch="all")
    by_session = {hit["sessionId"]: at for at, hit in enumerate(page["hits"])}
    apart = resolved(diary, page, by_session["apart"])
    together = resolved(diary, page, by_session["together"])

    assert set(by_session) == {"apart", "together"}
    assert page["coverage"]["complete"] is False
    assert page["coverage"]["reasons"] == ["cold_all_terms_requires_hydration"]
    assert (apart["total"], apart["coverage"]["complete"]) == (0, True)
    assert (ids(together), together["coverage"]["complete"]) == (["together-0"], True)


@pytest.mark.requirement("cold.all_reason")
def test_all_over_one_term_or_without_a_candidate_leaves_nothing_open(diary: Diary) -> None:
    diary.talk("one", "apples")

    assert cold(diary, "apples APPLES", queryMatch="all")["coverage"]["complete"]
    assert cold(diary, "apples pears", queryMatch="all")["coverage"]["complete"]
    assert cold(diary, "apples pears", queryMatch="all")["total"] == 0


@pytest.mark.requirement("cold.phrase_reason", "cold.resolved")
def test_a_phrase_in_a_cold_session_is_open_until_it_is_resolved(diary: Diary) -> None:
    diary.talk("apart", "golden is the key")
    diary.talk("together", "the golden key")

    page = cold(diary, "golden key", queryMode="phrase")
    by_session = {hit["sessionId"]: at for at, hit in enumerate(page["hits"])}
    apart = resolved(diary, page, by_session["apart"])
    together = resolved(diary, page, by_session["together"])

    assert set(by_session) == {"apart", "together"}
    assert (page["coverage"]["complete"], page["coverage"]["reasons"]) == (False, ["cold_phrase_requires_hydration"])
    assert (apart["total"], apart["coverage"]["complete"]) == (0, True)
    assert (ids(together), together["coverage"]["complete"]) == (["together-0"], True)


# Structure of cold sessions


@pytest.fixture
def programs(diary: Diary) -> Diary:
    diary.session(
        "one",
        user("u", None, "look for the timeout"),
        executed("x", "u", operation(0, "pi.grep"), operation(1, "pi.grep", "failed"), operation(2, "pi.read")),
    )
    diary.session("two", user("v", None, "timeout"), returned("r", "v", "bash", "pi.grep"))
    return diary


@pytest.mark.requirement("structural.cold_posting", "structural.cold_bound", "cold.structural_postings")
@pytest.mark.parametrize(
    ("filters", "matched"),
    [
        ({"ref": "pi.grep"}, {"one": 2}),
        ({"provider": "pi"}, {"one": 3}),
        ({"action": "read"}, {"one": 1}),
        ({"outcome": "failed"}, {"one": 1}),
        ({"ref": "pi.grep", "outcome": "failed"}, {"one": 1}),
        ({"tool": "bash"}, {"two": 1}),
        ({"role": "user"}, {"one": 1, "two": 1}),
        ({"ref": "pi.grep", "until": 0}, {}),
        ({"ref": "pi.never"}, {}),
    ],
)
def test_a_cold_session_with_matching_entries_is_a_candidate_that_counts_them(
    programs: Diary, filters: Json, matched: dict[str, int]
) -> None:
    page = cold(programs, "", **filters)

    assert {hit["sessionId"]: hit["matchedStructuralEntries"] for hit in page["hits"]} == matched
    assert page["total"] == len(matched)
    for at, hit in enumerate(page["hits"]):
        assert (hit["kind"], hit["matchedTerms"]) == ("session", 0)
        assert len(hit["follow"]["args"]["expectedSourceHash"]) == 64
        found = resolved(programs, page, at)
        assert found["total"] == hit["matchedStructuralEntries"]
        assert found["coverage"]["complete"]


@pytest.mark.requirement("structural.cold_combined", "structural.cold_followed")
def test_words_and_filters_of_a_candidate_may_belong_to_different_entries(programs: Diary) -> None:
    page = cold(programs, "timeout", ref="pi.grep")
    found = resolved(programs, page)

    assert [hit["sessionId"] for hit in page["hits"]] == ["one"]
    assert page["coverage"]["complete"] is False
    assert "cold_structural_filter_requires_hydration" in page["coverage"]["reasons"]
    assert (found["total"], found["coverage"]["complete"]) == (0, True)


@pytest.mark.requirement("branches.addresses")
def test_operations_of_an_abandoned_branch_make_no_candidate(diary: Diary) -> None:
    diary.session("one", user("u", None, "root"), executed("x", "u", operation(0, "pi.grep")), said("s", "u", "chosen"))

    assert cold(diary, "", ref="pi.grep")["total"] == 0
    assert cold(diary, "", ref="pi.grep", branches="all")["total"] == 1


@pytest.mark.requirement("structural.cold_posting")
def test_browsing_lists_cold_sessions_as_candidates(diary: Diary) -> None:
    diary.talk("old", "a", "b")
    diary.talk("new", "c")

    page = diary.recall("", **tiered(1))

    assert [(hit["kind"], hit["sessionId"]) for hit in page["hits"]] == [("entry", "new"), ("session", "old")]
    assert page["total"] == 2


# Caps of cold sessions


@pytest.mark.requirement(
    "cold.vocabulary_cap", "cold.cap_incomplete", "cold.bound_no_proof", "workflow.coverage_explains"
)
def test_a_vocabulary_beyond_its_cap_is_incomplete_and_proves_nothing(diary: Diary) -> None:
    diary.talk("one", " ".join(f"word{number}" for number in range(200)) + " last")
    diary.talk("two", "short")

    page = cold(diary, "last", memory={"maxColdVocabularyBytes": 200})

    assert page["total"] == 0
    assert page["coverage"]["complete"] is False
    assert page["coverage"]["reasons"] == ["max_cold_vocabulary_bytes"]
    assert page["coverage"]["incompleteSessions"] == 1
    assert cold(diary, "last")["total"] == 1


@pytest.mark.requirement("cold.cache_cap", "cold.cap_incomplete")
def test_a_digest_beyond_its_cap_is_incomplete_and_proves_nothing(diary: Diary) -> None:
    diary.talk("one", *(f"word{number}" for number in range(400)))

    page = cold(diary, "absent", memory={"maxColdCacheBytes": 2048})

    assert page["total"] == 0
    assert page["coverage"]["complete"] is False
    assert "max_cold_cache_bytes" in page["coverage"]["reasons"]
    assert page["coverage"]["incompleteSessions"] == 1


@pytest.mark.requirement("coverage.file_metadata")
def test_more_touched_files_than_a_digest_keeps_are_a_reason(diary: Diary) -> None:
    diary.session("one", called("c", None, "read", files=[f"src/{number}.py" for number in range(51)]))
    few = diary.session("two", called("d", None, "read", files=[f"src/{number}.py" for number in range(50)]))

    page = cold(diary, "absent")
    alone = cold(diary, "absent", scope=f"session:{few}")

    assert (page["coverage"]["complete"], page["coverage"]["reasons"]) == (False, ["max_files_touched"])
    assert page["coverage"]["incompleteSessions"] == 1
    assert alone["coverage"]["complete"]


# Cuts of hot entries


@pytest.mark.requirement("cut.tail_not_found", "cut.reason", "cut.expand_whole", "hot.coverage")
def test_words_after_the_cut_are_not_found_and_coverage_says_why(diary: Diary) -> None:
    text = "first " + "x " * 2000 + "last"
    diary.talk("one", text)

    found = {word: diary.recall(word, **tiered(50)) for word in ("first", "last")}

    assert {word: page["total"] for word, page in found.items()} == {"first": 1, "last": 0}
    for page in found.values():
        assert (page["coverage"]["complete"], page["coverage"]["reasons"]) == (False, ["max_entry_chars"])
        assert page["coverage"]["incompleteSessions"] == 1
    assert diary.call("memory.expand", {"session": "one", "indices": [0]}, **tiered(50))["entries"][0]["text"] == text


@pytest.mark.requirement("cut.scalars", "cut.surrogates")
@pytest.mark.parametrize("character", ["a", "é", "検", "😀"])
def test_the_cut_counts_code_points_and_splits_none(diary: Diary, character: str) -> None:
    diary.talk("fits", character * 2000)
    diary.talk("over", character * 2001)

    fits = diary.recall("", scope="session:fits", snippetChars=2000, **tiered(50))
    over = diary.recall("", scope="session:over", snippetChars=2000, **tiered(50))

    assert fits["hits"][0]["snippet"] == over["hits"][0]["snippet"] == character * 2000
    assert (fits["hits"][0]["truncated"], over["hits"][0]["truncated"]) == (False, True)
    assert (fits["coverage"]["complete"], over["coverage"]["reasons"]) == (True, ["max_entry_chars"])


@pytest.mark.requirement("cut.scalars")
def test_the_cut_is_of_the_normalized_text_with_its_labels(diary: Diary) -> None:
    label = "toolResult(bash): "
    diary.session("one", returned("r", None, "bash", "a" * (100 - len(label)) + "b"))

    page = diary.recall("", snippetChars=2000, **tiered(50, maxEntryChars=100))

    assert page["hits"][0]["snippet"] == label + "a" * (100 - len(label))
    assert page["hits"][0]["truncated"]


@pytest.mark.requirement("cut.tail_not_found")
def test_phrases_across_the_cut_are_not_found(diary: Diary) -> None:
    diary.talk("one", "x" * 90 + " golden key")

    page = diary.recall("golden key", queryMode="phrase", **tiered(50, maxEntryChars=100))

    assert page["total"] == 0
    assert page["coverage"]["reasons"] == ["max_entry_chars"]


@pytest.mark.requirement("cut.auto")
def test_without_a_count_nothing_is_cut(diary: Diary) -> None:
    diary.talk("one", "x " * 2000 + "last")

    page = diary.recall("last", config_overrides={"memory": {"maxEntryChars": 100}})

    assert (page["total"], page["coverage"]["complete"]) == (1, True)


# Budgets


@pytest.mark.requirement("budget.sessions", "budget.all_counted")
@pytest.mark.parametrize("hot", COUNTS)
def test_one_call_indexes_no_more_sessions_than_its_budget(diary: Diary, hot: int) -> None:
    many(diary, 4)

    page = diary.recall("word", **tiered(hot, maxSyncSessions=2))

    coverage = page["coverage"]
    assert "max_sync_sessions" in coverage["reasons"]
    assert (coverage["eligibleSessions"], coverage["indexedSessions"], coverage["staleSessions"]) == (4, 2, 2)
    assert coverage["complete"] is False
    assert sorted(tiers(page)) == ["newer-2", "newer-3"]


@pytest.mark.requirement("budget.bytes", "budget.all_counted")
@pytest.mark.parametrize("hot", COUNTS)
def test_one_call_indexes_no_more_bytes_than_its_budget(diary: Diary, hot: int) -> None:
    many(diary, 4, "word " + "x" * 900)

    page = diary.recall("word", **tiered(hot, maxSyncSourceBytes=1024))

    coverage = page["coverage"]
    assert "max_sync_source_bytes" in coverage["reasons"]
    assert coverage["eligibleSessions"] == 4
    assert coverage["indexedSessions"] + coverage["staleSessions"] == 4
    assert coverage["staleSessions"] > 0
    assert coverage["complete"] is False


@pytest.mark.requirement("budget.bytes")
def test_without_a_count_the_byte_budget_does_not_apply(diary: Diary) -> None:
    many(diary, 4, "word " + "x" * 900)

    page = diary.recall("word", config_overrides={"memory": {"maxSyncSourceBytes": 1024}})

    assert (page["total"], page["coverage"]["complete"]) == (4, True)


@pytest.mark.requirement("budget.cleanup", "budget.all_counted")
def test_one_call_cleans_up_no_more_than_its_budget(diary: Diary) -> None:
    paths: list[Path] = [diary.talk(f"gone-{at}", "word") for at in range(5)]
    diary.talk("stays", "word")
    diary.recall("word", **tiered(50))
    for path in paths:
        path.unlink()

    page = diary.recall("word", **tiered(50, maxCacheCleanupFiles=1))
    unbounded = diary.recall("word", **tiered(50))

    assert list(tiers(page)) == ["stays"]
    assert "cache_cleanup_budget" in page["coverage"]["reasons"]
    assert (page["coverage"]["complete"], page["coverage"]["eligibleSessions"]) == (False, 1)
    assert unbounded["coverage"]["complete"]


# One stream


@pytest.mark.requirement("page.mixed_stream", "page.total", "budget.totals", "workflow.next_to_null")
def test_entries_and_candidates_are_one_ranked_stream_that_is_paged(diary: Diary) -> None:
    for at in range(4):
        diary.talk(f"old-{at}", "apples " * (at + 1) + "pears")
    for at in range(3):
        diary.talk(f"new-{at}", "apples", "pears and apples")

    with diary.open(**tiered(3)) as workspace:
        args = {"query": "apples pears", "scope": "global"}
        whole = workspace.call("memory.recall", {**args, "pageSize": 50})
        answers = list(following(workspace, "memory.recall", {**args, "pageSize": 3}))

    # The call of a candidate repeats the request, page size included.
    paged = [{**hit, "follow": None} for answer in answers for hit in answer["hits"]]
    scores = [hit["score"] for hit in paged]
    assert paged == [{**hit, "follow": None} for hit in whole["hits"]]
    assert {answer["total"] for answer in answers} == {whole["total"]} == {6 + 4}
    assert scores == sorted(scores, reverse=True)
    assert [hit["kind"] for hit in paged].count("session") == 4
    assert max(map(size, answers)) <= 30_000


@pytest.mark.requirement("page.envelope", "page.session_hit")
def test_pages_of_candidates_keep_to_the_envelope(diary: Diary) -> None:
    folder = diary.home
    for _ in range(6):
        folder = folder / ("d" * 200)
    folder.mkdir(parents=True)
    for at in range(30):
        diary.talk(f"s{at}", "apples", folder=folder, cwd="/" + "c" * 2000)

    with diary.open(session_dirs=[folder], **tiered(0)) as workspace:
        args = {"query": "apples", "scope": "global", "pageSize": 50}
        answers = list(following(workspace, "memory.recall", args))

    assert max(map(size, answers)) <= 30_000
    assert sorted(hit["sessionId"] for page in answers for hit in page["hits"]) == sorted(f"s{at}" for at in range(30))


@pytest.mark.requirement("page.dispatch", "workflow.one_follow")
def test_both_kinds_of_hits_open_by_the_same_dispatch(diary: Diary) -> None:
    diary.talk("old", "apples")
    diary.talk("new", "apples")

    page = diary.recall("apples", **tiered(1))
    with diary.open(**tiered(1)) as workspace:
        opened = {hit["kind"]: workspace.call(hit["follow"]) for hit in page["hits"]}

    assert opened["entry"]["entries"][0]["text"] == "apples"
    assert ids(opened["session"]) == ["old-0"]


@pytest.mark.requirement("coverage.counts")
def test_every_session_is_counted_whatever_its_tier(diary: Diary) -> None:
    many(diary, 5)

    for hot in (0, 2, 5):
        coverage = diary.recall("word", **tiered(hot))["coverage"]
        assert (coverage["eligibleSessions"], coverage["indexedSessions"], coverage["complete"]) == (5, 5, True)


@pytest.mark.requirement("budget.listing")
def test_rows_show_their_tier(diary: Diary) -> None:
    many(diary, 3)

    rows = diary.call("memory.sessions", {"scope": "global"}, **tiered(2))["sessions"]

    assert [row["tier"] for row in rows] == ["hot", "hot", "cold"]
    assert [row["entryCount"] for row in rows] == [1, 1, 1]


def test_scores_are_numbers(diary: Diary) -> None:
    diary.talk("one", "apples")

    assert math.isfinite(cold(diary, "apples")["hits"][0]["score"])


@pytest.mark.requirement("identity.operation_addresses", "identity.entry_ids")
def test_double_identities_are_reasons_in_cold_sessions_too(diary: Diary) -> None:
    diary.session("one", user("a", None, "word"), user("a", None, "word"))

    assert cold(diary, "word", branches="all")["coverage"]["reasons"] == ["duplicate_entry_id"]


# Digests


DIGEST = {
    "cacheVersion",
    "kind",
    "sessionId",
    "file",
    "cwd",
    "mtime",
    "size",
    "sourceHash",
    "branches",
    "lineageFingerprint",
    "policy",
    "firstTs",
    "lastTs",
    "entryCount",
    "filesTouched",
    "toolHistogram",
    "errorCount",
    "vocabulary",
    "addresses",
    "indexCoverage",
    "cacheBytes",
    "cacheSourceRatio",
}


def shown(diary: Diary, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], session: str) -> Json:
    """The digest of a session, as `pepys index show` prints it."""
    from pepys.cli import main

    monkeypatch.setenv("HOME", str(diary.home))
    monkeypatch.setenv("PEPYS_MEMORY_HOT_SESSIONS", "0")
    where = ["--host", "pi", "--agent-dir", str(diary.agent), "--index-dir", str(diary.home / "index")]
    assert main(["index", "show", session, "--json", *where]) == 0
    digest: Json = json.loads(capfd.readouterr().out)
    return digest


@pytest.mark.requirement("cold.digest_fields", "cold.structural_postings", "cold.source_ratio")
def test_a_digest_has_the_specifications_fields(
    diary: Diary, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    path = diary.session(
        "one",
        user("u", None, "Zebra zebra okapi"),
        called("c", "u", "read", path="src/zoo.py"),
        returned("r", "c", "read", "gnu", error=True),
        executed("x", "r", operation(0, "pi.grep", "failed")),
    )
    whole = diary.expand(session="one")

    digest = shown(diary, monkeypatch, capfd, "one")

    assert digest.keys() >= DIGEST
    assert (digest["kind"], digest["sessionId"], digest["file"]) == ("digest", "one", str(path))
    assert (digest["cwd"], digest["size"]) == ("/srv/shop", path.stat().st_size)
    assert (digest["sourceHash"], digest["lineageFingerprint"]) == (whole["sourceHash"], whole["lineageFingerprint"])
    assert (digest["branches"], digest["entryCount"]) == ("active", 5)
    assert (digest["filesTouched"], digest["errorCount"]) == (["src/zoo.py"], 2)
    assert digest["toolHistogram"] == {"read": 2, "fabric_exec": 1, "grep": 1}
    assert digest["vocabulary"] == sorted(set(digest["vocabulary"]))
    assert {"zebra", "okapi", "gnu", "read", "src", "zoo", "py"} <= set(digest["vocabulary"])
    assert digest["indexCoverage"]["complete"]
    assert digest["cacheSourceRatio"] == pytest.approx(digest["cacheBytes"] / digest["size"], abs=1e-5)


@pytest.mark.requirement("budget.digests")
def test_no_more_cold_sessions_than_the_budget_are_candidates(diary: Diary, monkeypatch: pytest.MonkeyPatch) -> None:
    from pepys.recall import budgets

    monkeypatch.setattr(budgets, "DIGESTS", 3)  # instead of 10,000
    many(diary, 5)

    page = cold(diary, "word")

    assert page["total"] == 3
    assert page["coverage"]["complete"] is False
    assert "candidate_digest_budget" in page["coverage"]["reasons"]
    assert page["coverage"]["eligibleSessions"] == 5
