"""Coverage: how much was looked at, and every reason why an empty answer proves nothing (spec 1)."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from pepys.errors import PepysError
from pepys.model.coverage import REASONS
from pepys.recall import budgets, evidence
from tests.recall.diary import (
    Diary,
    append,
    branch_summary,
    called,
    compacted,
    custom,
    following,
    ids,
    ran,
    returned,
    said,
    user,
)


@pytest.mark.requirement("coverage.authoritative")
def test_an_undamaged_history_of_every_kind_of_entry_is_covered_completely(diary: Diary) -> None:
    diary.session(
        "one",
        user("u", None, "asked"),
        said("s", "u", "x" * 100_000),
        called("c", "s", "write", path="a", content="y" * 100_000),
        returned("r", "c", "write", "z" * 100_000),
        ran("b", "r", "ls", "a"),
        compacted("k", "b", "so far", "u"),
        custom("n", "k", "note", "remember"),
        branch_summary("m", "n", "u", "left"),
        {"type": "label", "id": "l", "parentId": "m", "targetId": "u", "label": "here"},
        {"type": "model_change", "id": "o", "parentId": "l", "provider": "p", "modelId": "m"},
        {"type": "custom", "id": "p", "parentId": "o", "customType": "state", "data": {}},
        {"type": "session_info", "id": "q", "parentId": "p", "name": "Name"},
    )

    coverage = diary.recall("nothing")["coverage"]

    assert coverage == {
        "complete": True,
        "indexedSessions": 1,
        "eligibleSessions": 1,
        "staleSessions": 0,
        "incompleteSessions": 0,
        "reasons": [],
    }


@pytest.mark.requirement("coverage.counts", "scope.global")
def test_every_session_of_the_scope_is_counted(diary: Diary) -> None:
    for name in ("a", "b", "c"):
        diary.talk(name, "word")
    diary.talk("d", "word", cwd="/srv/other")

    counts = {
        scope: diary.recall("word", scope=scope)["coverage"]["eligibleSessions"]
        for scope in ("session", "project", "global", "session:d")
    }

    assert counts == {"session": 1, "project": 3, "global": 4, "session:d": 1}


@pytest.mark.requirement("coverage.counts", "workflow.coverage_explains")
@pytest.mark.parametrize(
    ("tail", "reason", "diagnostics"),
    [
        (b'{"type":"message"', "torn_tail", {"torn_tail": 1}),
        (b"{broken\n", "damaged_source", {"malformed_record": 1}),
        (b"\x00" * 40 + b"\n", "damaged_source", {"nul_run": 1}),
        (b'{"type":"new","id":"n","parentId":null}\n', "unknown_record_type", {"unknown_record_type": 1}),
        (b'{"type":"new"}\n' * 2, "unknown_record_type", {"unknown_record_type": 2}),
        (b'{"type":"message","id":"n","parentId":null,"message":5}\n', "damaged_source", {"unknown_shape": 1}),
    ],
)
def test_what_a_source_lost_makes_it_incomplete_and_is_counted(
    diary: Diary, tail: bytes, reason: str, diagnostics: dict[str, int]
) -> None:
    path = diary.talk("one", "word")
    diary.talk("two", "word")
    path.write_bytes(path.read_bytes() + tail)

    coverage = diary.recall("absent", branches="all")["coverage"]

    assert coverage == {
        "complete": False,
        "indexedSessions": 2,
        "eligibleSessions": 2,
        "staleSessions": 0,
        "incompleteSessions": 1,
        "reasons": [reason],
        "diagnostics": diagnostics,
    }


def test_a_torn_tail_that_is_finished_later_is_found_and_complete(diary: Diary) -> None:
    path = diary.talk("one", "word")
    whole = path.read_bytes()
    append(path, user("late", "one-0", "later"))
    finished = path.read_bytes()
    path.write_bytes(finished[:-20])
    torn = diary.recall("later")

    path.write_bytes(finished)
    after = diary.recall("later")

    assert len(whole) < len(finished) - 20
    assert (torn["total"], torn["coverage"]["reasons"]) == (0, ["torn_tail"])
    assert (ids(after), after["coverage"]["complete"]) == (["late"], True)


def test_a_record_over_the_bound_of_a_line_is_a_damaged_source(diary: Diary) -> None:
    diary.talk("one", "word", "x" * (33 << 20))

    coverage = diary.recall("word")["coverage"]

    assert coverage["reasons"] == ["damaged_source"]
    assert coverage["diagnostics"] == {"record_too_large": 1}


@pytest.mark.requirement("cut.auto")
def test_of_a_giant_text_the_middle_is_not_searched_and_says_so(diary: Diary) -> None:
    diary.talk("one", "first " + "x " * 600_000 + "middle " + "x " * 600_000 + "last")

    found = {word: diary.recall(word)["total"] for word in ("first", "middle", "last")}
    coverage = diary.recall("middle")["coverage"]
    text = diary.expand(session="one", indices=[0], textOffset=1_200_000)["entries"][0]["text"]

    assert found == {"first": 1, "middle": 0, "last": 1}
    assert (coverage["complete"], coverage["reasons"]) == (False, ["oversized_text"])
    assert "middle" in text


@pytest.mark.requirement("branches.cycle")
@pytest.mark.parametrize("links", [[("a", "b"), ("b", "a")], [("a", "a")]])
def test_a_cycle_of_parents_is_incomplete_on_the_active_branch_only(diary: Diary, links: list[tuple[str, str]]) -> None:
    diary.session("one", *(user(id_, parent, "word") for id_, parent in links))

    active, every = diary.recall("word"), diary.recall("word", branches="all")

    assert active["total"] == every["total"] == len(links)
    assert active["coverage"]["reasons"] == ["invalid_parent_graph"]
    assert every["coverage"]["complete"]


def test_a_cycle_off_the_active_branch_is_no_matter(diary: Diary) -> None:
    diary.session("one", user("a", "b", "word"), user("b", "a", "word"), user("c", None, "word"))

    page = diary.recall("word")

    assert (ids(page), page["coverage"]["complete"]) == (["c"], True)


@pytest.mark.requirement("identity.entry_ids", "coverage.identities", "branches.last_of_duplicates")
def test_a_double_id_is_a_reason_where_both_can_be_found(diary: Diary) -> None:
    diary.session("one", user("a", None, "word one"), user("a", None, "word two"))

    active, every = diary.recall("word"), diary.recall("word", branches="all")

    assert (active["total"], active["coverage"]["complete"]) == (1, True)
    assert active["hits"][0]["snippet"] == "word two"
    assert (every["total"], every["coverage"]["reasons"]) == (2, ["duplicate_entry_id"])


def test_a_directory_in_the_place_of_a_session_is_no_session(diary: Diary) -> None:
    path = diary.talk("one", "word")
    diary.recall("word")
    path.unlink()
    path.mkdir()

    page = diary.recall("word")

    assert page["total"] == 0
    assert page["coverage"]["eligibleSessions"] == 0


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads what nobody may")
def test_a_forbidden_source_is_unavailable(diary: Diary) -> None:
    diary.talk("one", "word").chmod(0)

    page = diary.recall("word")

    assert page["coverage"]["reasons"] == ["source_unavailable"]
    assert page["coverage"]["staleSessions"] == 1


@pytest.mark.requirement("coverage.source_unavailable")
def test_a_source_that_fails_to_be_read_is_unavailable(diary: Diary, monkeypatch: pytest.MonkeyPatch) -> None:
    diary.talk("one", "word")
    bad = str(diary.talk("two", "word"))
    fail_to_open(monkeypatch, bad)

    page = diary.recall("word")

    assert ids(page) == ["one-0"]
    assert page["coverage"]["reasons"] == ["source_unavailable"]
    assert (page["coverage"]["eligibleSessions"], page["coverage"]["indexedSessions"]) == (2, 1)
    assert page["coverage"]["complete"] is False


def fail_to_open(monkeypatch: pytest.MonkeyPatch, path: str) -> None:
    """Let a file be unreadable, also for root."""
    from pepys.hosts import reading

    opened = reading.open_source

    def failing(asked: str) -> Any:
        if asked == path:
            raise PermissionError(13, "Permission denied", asked)
        return opened(asked)

    monkeypatch.setattr(reading, "open_source", failing)


def test_a_hit_whose_source_cannot_be_read_any_more_has_no_text_and_says_why(
    diary: Diary, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = diary.talk("one", "word")
    diary.recall("word")
    fail_to_open(monkeypatch, str(path))

    page = diary.recall("word")

    assert (ids(page), page["hits"][0]["snippet"]) == (["one-0"], "")
    assert "source_unavailable" in page["coverage"]["reasons"]
    assert page["coverage"]["complete"] is False


@pytest.mark.skipif(os.geteuid() == 0, reason="root lists what nobody may")
def test_a_forbidden_directory_is_not_listed(diary: Diary) -> None:
    folder = diary.talk("one", "word").parent
    folder.chmod(0)
    try:
        page = diary.recall("word")
    finally:
        folder.chmod(0o700)

    assert page["coverage"]["reasons"] == ["root_not_listed"]


def test_a_name_that_is_no_text_is_not_listed(diary: Diary) -> None:
    path = diary.talk("one", "word")
    path.rename(path.with_name(os.fsdecode(b"\xff.jsonl")))

    page = diary.recall("word")

    assert page["coverage"]["reasons"] == ["root_not_listed"]
    assert page["coverage"]["complete"] is False


@pytest.mark.parametrize("scope", ["global", "project", "session:one"])
def test_an_excluded_session_stays_eligible(diary: Diary, scope: str) -> None:
    path = diary.talk("one", "word")

    page = diary.recall("word", scope=scope, config_overrides={"index": {"exclude": [str(path)]}})

    assert page["total"] == 0
    assert page["coverage"]["reasons"] == ["excluded_by_configuration"]
    assert (page["coverage"]["eligibleSessions"], page["coverage"]["staleSessions"]) == (1, 1)
    assert page["coverage"]["complete"] is False


@pytest.mark.requirement("budget.bounded_waits")
def test_an_answer_that_may_not_wait_says_that_it_is_catching_up(diary: Diary) -> None:
    for at in range(5):
        diary.talk(f"s{at}", "word")

    with diary.open(patience_s=0) as workspace:
        page = workspace.call("memory.recall", {"query": "word", "scope": "global"})

    assert page["coverage"]["reasons"] == ["catching_up"]
    assert page["coverage"]["staleSessions"] == 5 - page["coverage"]["indexedSessions"] > 0
    assert page["coverage"]["complete"] is False


def test_without_an_index_only_so_much_is_scanned(diary: Diary, monkeypatch: pytest.MonkeyPatch) -> None:
    from pepys.index import overlay

    monkeypatch.setattr(overlay, "SCAN_BYTES", 600)
    for at in range(4):
        diary.talk(f"s{at}", "word " + "x" * 200)
    blocked = diary.home / "file"
    blocked.touch()

    with diary.open(index_dir=blocked / "index") as workspace:
        page = workspace.call("memory.recall", {"query": "word", "scope": "global"})

    assert page["coverage"]["reasons"] == ["index_unavailable", "scan_budget"]
    assert page["total"] == page["coverage"]["indexedSessions"] < 4
    assert page["coverage"]["complete"] is False


def test_a_busy_index_is_harmless(diary: Diary) -> None:
    from pepys.index.lock import exclusive

    diary.talk("one", "word")
    diary.recall("word")
    diary.talk("two", "word")

    with exclusive(str(diary.home / "index" / "pepys-1" / "lock"), 1):
        page = diary.recall("word")

    assert sorted(ids(page)) == ["one-0", "two-0"]
    assert page["coverage"]["reasons"] == ["index_busy"]
    assert page["coverage"]["complete"]


@pytest.mark.requirement("budget.items")
@pytest.mark.parametrize("asked", [{"query": "word"}, {}, {"role": "user"}, {"query": "word", "queryMode": "phrase"}])
def test_paging_ends_at_the_item_budget(diary: Diary, monkeypatch: pytest.MonkeyPatch, asked: dict[str, Any]) -> None:
    monkeypatch.setattr(budgets, "ITEMS", 5)
    diary.talk("one", *["word"] * 8)

    with diary.open() as workspace:
        answers = list(following(workspace, "memory.recall", {**asked, "scope": "global", "pageSize": 3}))
        beyond = workspace.call("memory.recall", {**asked, "scope": "global", "offset": 6})

    assert [len(page["hits"]) for page in answers] == [3, 2]
    assert [page["coverage"]["reasons"] for page in answers] == [[], ["candidate_item_budget"]]
    assert (beyond["hits"], beyond["total"]) == ([], 8)
    assert beyond["coverage"]["reasons"] == ["candidate_item_budget"]


def test_a_page_that_ends_before_the_item_budget_says_nothing_of_it(
    diary: Diary, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(budgets, "ITEMS", 5)
    diary.talk("one", *["word"] * 4)

    page = diary.recall("word", pageSize=50)

    assert page["coverage"]["complete"]


@pytest.mark.requirement("budget.entries", "budget.totals")
def test_phrases_are_verified_up_to_a_budget(diary: Diary, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(budgets, "ENTRIES", 3)
    diary.talk("one", *["some word here"] * 5)

    page = diary.recall("word here", queryMode="phrase")

    assert page["total"] == 3
    assert page["coverage"]["reasons"] == ["candidate_entry_budget"]
    assert page["coverage"]["complete"] is False


def test_browsing_with_filters_is_exact_beyond_the_candidate_budget(
    diary: Diary, monkeypatch: pytest.MonkeyPatch
) -> None:
    diary.talk("one", *["word"] * 5)
    diary.talk("two", *["word"] * 5)
    exact = diary.recall("", role="user")
    monkeypatch.setattr(budgets, "ENTRIES", 3)

    page = diary.recall("", role="user")

    assert page == exact


def test_what_pepys_wrote_is_left_out_counted_and_still_has_its_index(diary: Diary) -> None:
    diary.session("one", user("a", None, "word"), custom("b", "a", "pepys.context", "word"), user("c", "b", "word"))

    page, everything = diary.recall("word"), diary.expand(session="one")
    asked = diary.recall("word", includeOwn=True)

    assert sorted((hit["entryId"], hit["index"]) for hit in page["hits"]) == [("a", 0), ("c", 2)]
    assert page["coverage"]["ownEntriesLeftOut"] == 1
    assert page["coverage"]["complete"]
    assert everything["entryCount"] == asked["total"] == 3
    assert "ownEntriesLeftOut" not in asked["coverage"]


def test_a_tool_filter_asks_for_what_pepys_wrote(diary: Diary) -> None:
    own = returned("r", None, "recall", "word")
    own["message"]["details"] = {"pepys": {}}
    diary.session("one", own)

    assert diary.recall("word")["total"] == 0
    assert diary.recall("word", tool="")["total"] == 0
    assert diary.recall("word", tool="recall")["total"] == 1


@pytest.mark.requirement("cache.deleted_sessions")
def test_a_deleted_session_leaves_no_trace(diary: Diary) -> None:
    path: Path = diary.talk("one", "word")
    before = diary.recall("word")["total"]
    path.unlink()

    page = diary.recall("word")

    assert (before, page["total"]) == (1, 0)
    assert page["coverage"]["eligibleSessions"] == 0


def test_a_source_that_changes_while_it_is_quoted_is_not_quoted(diary: Diary, monkeypatch: pytest.MonkeyPatch) -> None:
    path = diary.talk("one", "word secret")
    diary.recall("word")
    rewrite_before_evidence(monkeypatch, path)

    page = diary.recall("word")

    assert (ids(page), page["hits"][0]["snippet"]) == (["one-0"], "")
    assert page["coverage"]["reasons"] == ["source_changed_during_index"]
    assert page["coverage"]["complete"] is False


def test_a_source_that_changes_while_it_is_expanded_is_stale(diary: Diary, monkeypatch: pytest.MonkeyPatch) -> None:
    path = diary.talk("one", "word secret")
    diary.recall("word")
    rewrite_before_evidence(monkeypatch, path)

    with pytest.raises(PepysError) as refused:
        diary.expand(session="one", indices=[0])

    assert refused.value.code == "stale_pointer"


def rewrite_before_evidence(monkeypatch: pytest.MonkeyPatch, path: Path) -> None:
    events = evidence.events

    def rewritten(records: Any) -> Any:
        path.write_bytes(path.read_bytes().replace(b"secret", b"public"))
        return events(records)

    monkeypatch.setattr(evidence, "events", rewritten)


@pytest.mark.requirement("coverage.reasons")
def test_every_reason_in_the_table_is_given_somewhere() -> None:
    sources = Path(budgets.__file__).parents[1].rglob("*.py")
    code = "".join(
        source.read_text(encoding="utf-8") for source in sources if source.parts[-2:] != ("model", "coverage.py")
    )

    unused = {reason for reason in REASONS if f'"{reason}"' not in code}

    assert unused == set()
