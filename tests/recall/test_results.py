"""The shape of an answer of recall, and paging over it (spec 1, "Compact results and call tokens")."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pepys.errors import InvalidArgument
from tests.recall.diary import NOON, Diary, called, entry, following, ids, returned, said, size, user

HIT = [
    "kind",
    "sessionId",
    "tier",
    "index",
    "entryId",
    "parentId",
    "operationAddress",
    "type",
    "role",
    "tool",
    "ref",
    "provider",
    "action",
    "timestamp",
    "isError",
    "score",
    "snippet",
    "truncated",
    "follow",
]


@pytest.mark.requirement("page.shape", "coverage.shape", "page.no_echo")
def test_a_page_has_the_specs_fields_and_no_others(diary: Diary) -> None:
    diary.talk("one", "apples")

    page = diary.recall("apples")

    assert list(page) == ["total", "hits", "next", "coverage"]
    assert list(page["coverage"]) == [
        "complete",
        "indexedSessions",
        "eligibleSessions",
        "staleSessions",
        "incompleteSessions",
        "reasons",
    ]


@pytest.mark.requirement("page.entry_hit")
def test_a_hit_has_the_specs_fields_in_their_order(diary: Diary) -> None:
    diary.talk("one", "apples")

    page = diary.recall("apples")

    assert list(page["hits"][0]) == HIT


@pytest.mark.requirement("truth.tool_errors_typed", "page.entry_hit")
def test_a_hit_says_what_the_entry_says_of_itself(diary: Diary) -> None:
    path = diary.session("one", user("u", None, "list them"), returned("r", "u", "bash", "apples", error=True))

    hit = diary.recall("apples")["hits"][0]

    assert hit | {"score": 0, "follow": None} == {
        "kind": "entry",
        "sessionId": "one",
        "tier": "hot",
        "index": 1,
        "entryId": "r",
        "parentId": "u",
        "operationAddress": None,
        "type": "message",
        "role": "toolResult",
        "tool": "bash",
        "ref": None,
        "provider": None,
        "action": None,
        "timestamp": NOON - 43_200_000,
        "isError": True,
        "score": 0,
        "snippet": "toolResult(bash) [error]: apples",
        "truncated": False,
        "follow": None,
    }
    assert hit["follow"]["args"]["session"] == str(path)


def test_a_named_session_shows_its_name(diary: Diary) -> None:
    info = {"type": "session_info", "id": "i", "parentId": "u", "timestamp": "2026-03-01T10:00:00Z", "name": "Fruit"}
    diary.session("one", user("u", None, "apples"), info)

    hit = diary.recall("apples")["hits"][0]

    assert hit["name"] == "Fruit"


@pytest.mark.requirement("workflow.follow_bindings", "page.entry_follow")
def test_follow_carries_the_bindings_and_nothing_at_its_default_but_the_branch_mode(diary: Diary) -> None:
    diary.talk("one", "apples")

    token = diary.recall("apples")["hits"][0]["follow"]

    assert token["ref"] == "memory.expand"
    assert list(token["args"]) == [
        "branches",
        "session",
        "indices",
        "expectedSourceHash",
        "expectedLineageFingerprint",
    ]


@pytest.mark.requirement("page.bindings_inside", "workflow.follow_bindings")
def test_the_bindings_stand_nowhere_but_in_the_call(diary: Diary) -> None:
    diary.talk("one", "apples")

    hit = diary.recall("apples")["hits"][0]
    rest = json.dumps({key: value for key, value in hit.items() if key != "follow"})

    assert hit["follow"]["args"]["expectedSourceHash"] not in rest
    assert hit["follow"]["args"]["expectedLineageFingerprint"] not in rest


@pytest.mark.requirement("page.total", "page.size_ceiling")
def test_total_counts_what_all_pages_hold_and_each_hit_comes_once(diary: Diary) -> None:
    for name in ("a", "b", "c"):
        diary.talk(name, *(f"apples {number}" for number in range(9)))

    with diary.open() as workspace:
        answers = list(following(workspace, "memory.recall", {"query": "apples", "scope": "project", "pageSize": 4}))

    found = [entry for page in answers for entry in ids(page)]
    assert {page["total"] for page in answers} == {27}
    assert len(found) == len(set(found)) == 27
    assert [len(page["hits"]) for page in answers] == [4, 4, 4, 4, 4, 4, 3]


@pytest.mark.requirement("page.next", "workflow.next_to_null")
@pytest.mark.parametrize("query", ["", "word"])
@pytest.mark.parametrize("scope", ["project", "session:big"])
def test_a_session_of_five_thousand_entries_is_paged_to_its_end(diary: Diary, scope: str, query: str) -> None:
    diary.talk("big", *(f"word {number}" for number in range(5000)))

    with diary.open() as workspace:
        answers = list(following(workspace, "memory.recall", {"query": query, "scope": scope, "pageSize": 50}))

    found = [hit["index"] for page in answers for hit in page["hits"]]
    assert sorted(found) == list(range(5000))


@pytest.mark.requirement("workflow.page_bindings", "page.next_bound")
def test_the_next_page_of_one_session_is_bound_to_it(diary: Diary) -> None:
    path = diary.talk("one", "apples", "apples")

    page = diary.recall("apples", scope="session:one", pageSize=1)

    assert page["next"]["ref"] == "memory.recall"
    assert page["next"]["args"] | {"expectedSourceHash": "", "expectedLineageFingerprint": ""} == {
        "query": "apples",
        "scope": f"session:{path}",
        "offset": 1,
        "pageSize": 1,
        "expectedSourceHash": "",
        "expectedLineageFingerprint": "",
    }


@pytest.mark.requirement("page.fresh_snapshot")
def test_the_next_page_of_a_project_is_bound_to_nothing(diary: Diary) -> None:
    diary.talk("one", "apples", "apples")

    page = diary.recall("apples", scope="project", pageSize=1)

    assert page["next"]["args"] == {"query": "apples", "scope": "project", "offset": 1, "pageSize": 1}


@pytest.mark.parametrize("offset", [3, 4, 9_999, 10**6, 10**30])
@pytest.mark.parametrize("asked", [{"query": "apples"}, {}, {"role": "user"}, {"query": "pple", "queryMode": "phrase"}])
def test_an_offset_past_the_end_is_an_empty_page_with_the_same_total(
    diary: Diary, asked: dict[str, Any], offset: int
) -> None:
    diary.talk("one", "apples", "apples", "apples")

    page = diary.recall(**asked, offset=offset)

    assert (page["total"], page["hits"], page["next"]) == (3, [], None)
    assert page["coverage"]["complete"]


@pytest.mark.requirement("branches.argument", "lexical.mode_closed")
@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"pageSize": 0}, "pageSize"),
        ({"pageSize": 51}, "pageSize"),
        ({"offset": -1}, "offset"),
        ({"snippetChars": 79}, "snippetChars"),
        ({"snippetChars": 2001}, "snippetChars"),
        ({"query": "x" * 4097}, "query"),
        ({"queryMode": "fuzzy"}, "queryMode"),
        ({"queryMatch": "most"}, "queryMatch"),
        ({"branches": "main"}, "branches"),
        ({"role": "robot"}, "role"),
        ({"regexp": "x"}, "regexp"),
        ({"since": "soon"}, "since"),
        ({"entryRange": {"first": 1}}, "entryRange.last"),
        ({"entryRange": [1, 2]}, "entryRange"),
    ],
)
def test_arguments_out_of_bounds_are_refused_by_name(diary: Diary, given: dict[str, Any], named: str) -> None:
    diary.talk("one", "apples")

    with pytest.raises(InvalidArgument, match=named):
        diary.recall(**{"query": "apples", "scope": "session:one"} | given)


@pytest.mark.parametrize("name", ["expectedSourceHash", "expectedLineageFingerprint"])
def test_bindings_without_an_explicit_session_are_refused(diary: Diary, name: str) -> None:
    diary.talk("one", "apples")

    with pytest.raises(InvalidArgument, match="expectedSourceHash"):
        diary.call("memory.recall", {"query": "apples", "scope": "project", name: "0" * 64})


@pytest.mark.requirement("range.single_session")
def test_a_range_without_an_explicit_session_is_refused(diary: Diary) -> None:
    diary.talk("one", "apples")

    with pytest.raises(InvalidArgument, match="entryRange"):
        diary.recall("apples", entryRange={"first": 0, "last": 0})


NASTY = {
    "escapes": '\x01\x02\\"' * 700,
    "CJK": "検索する文章" * 500,
    "astral": "😀𝔘" * 1500,
    "line feeds": "\n\t" * 1500,
}


@pytest.mark.requirement("page.envelope", "page.size_ceiling", "lexical.bounded")
@pytest.mark.parametrize("filling", NASTY.values(), ids=NASTY)
def test_a_page_never_outgrows_its_envelope_and_loses_no_hit(diary: Diary, filling: str) -> None:
    diary.talk("one", *(f"apples {number} {filling}" for number in range(60)))

    with diary.open() as workspace:
        answers = list(
            following(
                workspace,
                "memory.recall",
                {"query": "apples", "scope": "project", "pageSize": 50, "snippetChars": 2000},
            )
        )

    found = [hit["index"] for page in answers for hit in page["hits"]]
    assert max(map(size, answers)) <= 30_000
    assert sorted(found) == list(range(60))


def test_long_metadata_is_cut_and_the_hit_can_still_be_followed(diary: Diary) -> None:
    long = "x" * 4000
    line = called(long, None, "t" * 4000, path="p")
    diary.session(long[:100], {**line, "parentId": "q" * 4000}, user("u", long, "apples"))

    with diary.open() as workspace:
        hit = workspace.call("memory.recall", {"scope": "project", "pageSize": 1})["hits"][0]
        chunk = workspace.call(hit["follow"])

    assert {len(hit[name]) for name in ("entryId", "parentId", "tool")} == {513}
    assert hit["entryId"].endswith("…")
    assert chunk["entries"][0]["index"] == hit["index"]


def test_long_paths_in_calls_count_for_the_envelope(diary: Diary) -> None:
    folder = diary.home
    for _ in range(14):
        folder = folder / ("d" * 200)
    folder.mkdir(parents=True)
    diary.session("deep", *(user(f"u{at}", None, "apples") for at in range(60)), folder=folder)

    with diary.open(session_dirs=[folder]) as workspace:
        asked = {"query": "apples", "scope": "session:deep", "branches": "all", "pageSize": 50}
        answers = list(following(workspace, "memory.recall", asked))

    assert max(map(size, answers)) <= 30_000
    assert sum(len(page["hits"]) for page in answers) == 60
    assert len(answers) > 2


def test_the_first_hit_is_never_left_out_however_large_its_frame_is(diary: Diary) -> None:
    query = "apples " + "\x01" * 4000
    diary.talk("one", *("apples " + "\x01" * 3000 for _ in range(3)))

    with diary.open() as workspace:
        answers = list(
            following(workspace, "memory.recall", {"query": query, "scope": "session:one", "snippetChars": 2000})
        )

    assert [hit["index"] for page in answers for hit in page["hits"]] == [2, 1, 0]
    assert max(map(size, answers)) <= 30_000
    assert len(answers[0]["hits"]) == 1
    assert answers[0]["hits"][0]["snippet"].endswith("…")


@pytest.mark.requirement("page.no_echo")
def test_hits_do_not_echo_the_request(diary: Diary) -> None:
    diary.talk("one", "apples and pears")

    page = diary.recall("pears", role="user", pageSize=7)

    assert page["next"] is None
    assert not {"query", "queryMode", "scope", "offset", "pageSize"} & page.keys()


def test_an_entry_without_time_or_parent_says_so_with_null(diary: Diary) -> None:
    diary.session("one", user("u", None, "apples", at=None))

    hit = diary.recall("apples")["hits"][0]

    assert (hit["timestamp"], hit["parentId"], hit["tool"]) == (None, None, None)


def test_images_alone_and_empty_messages_keep_their_index(diary: Diary) -> None:
    image = [{"type": "image", "data": "AAAA", "mimeType": "image/png"}]
    diary.session(
        "one",
        entry("i", None, {"role": "user", "content": image}),
        user("e", "i", ""),
        said("a", "e", "apples"),
    )

    page = diary.recall("")

    assert [(hit["entryId"], hit["index"], hit["snippet"]) for hit in page["hits"]] == [
        ("i", 0, ""),
        ("e", 1, ""),
        ("a", 2, "apples"),
    ]


@pytest.mark.requirement("truth.index_derived")
def test_an_index_directory_that_cannot_be_used_gives_the_same_answer(diary: Diary) -> None:
    diary.talk("one", "apples", "pears", "apples and pears")
    blocked = diary.home / "file"
    blocked.touch()

    with diary.open(index_dir=blocked / "index") as workspace:
        scanned = workspace.call("memory.recall", {"query": "apples", "scope": "project"})

    assert ids(scanned) == ids(diary.recall("apples"))
    assert scanned["coverage"]["reasons"] == ["index_unavailable"]
    assert scanned["coverage"]["complete"]
