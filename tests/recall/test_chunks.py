"""Expansion in detail: selections, chunks, envelope, errors (spec 1, "Expansion and guest-local computation")."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pepys.errors import PepysError
from tests.recall.diary import (
    Diary,
    called,
    compacted,
    custom,
    entry,
    following,
    line,
    ran,
    returned,
    said,
    size,
    user,
    whole,
)

NASTY = {
    "plain": "0123456789" * 5000,
    "escapes": '\x01\x02\\"' * 9000,
    "CJK": "検索する文章、" * 5000,
    "astral": "😀𝔘\U0010ffff" * 12000,
    "marks": "e\u0301\u0323" * 10000,
    "line feeds": "\r\n\t\u2028\u2029\x85" * 5000,
    "one escape, then plain": "\x01" + "a" * 60_000,
    "plain, then escapes": "a" * 19_000 + "\x1f" * 19_000,
}


def records(answer: dict[str, Any]) -> list[int]:
    return [one["index"] for one in answer["entries"]]


@pytest.mark.requirement("branches.identified", "expand.entries")
def test_an_expansion_has_the_specs_fields(diary: Diary) -> None:
    path = diary.talk("one", "word")

    answer = diary.expand(session="one", indices=[0])

    assert list(answer) == [
        "session",
        "sessionId",
        "sourceHash",
        "branches",
        "lineageFingerprint",
        "entryCount",
        "entries",
        "next",
    ]
    assert (answer["session"], answer["sessionId"], answer["branches"]) == (str(path), "one", "active")


@pytest.mark.requirement("expand.carrier_link", "expand.parent_id")
def test_a_record_without_tool_or_files_has_no_field_for_them(diary: Diary) -> None:
    diary.talk("one", "word")

    record = diary.expand(session="one", indices=[0])["entries"][0]

    assert list(record) == [
        "index",
        "entryId",
        "parentId",
        "type",
        "role",
        "timestamp",
        "isError",
        "text",
        "textRange",
    ]


def test_every_kind_of_record_has_its_normalized_text(diary: Diary) -> None:
    failed = entry("x", "n", {"role": "assistant", "content": [], "errorMessage": "overloaded"})
    diary.session(
        "one",
        user("u", None, "asked"),
        said("s", "u", "answered"),
        called("c", "s", "edit", path="a.py", edits=[{"old": "x", "new": 'say "hi"\n'}], n=1.0, ok=True, none=None),
        returned("r", "c", "edit", "done"),
        ran("b", "r", "ls", "a.py", 1),
        compacted("k", "b", "so far", "u"),
        custom("n", "k", "note", "remember"),
        failed,
    )

    found = [record["text"] for record in diary.expand(session="one", entryRange={"first": 0, "last": 7})["entries"]]

    assert found == [
        "asked",
        "answered",
        'Tool: edit({"path":"a.py","edits":[{"old":"x","new":"say "hi"\n"}],"n":1.0,"ok":true,"none":null})',
        "toolResult(edit): done",
        "bash$ ls [exit 1]\na.py",
        "compaction: so far",
        "[note] remember",
        "Error: overloaded",
    ]


# Chunks


@pytest.mark.requirement("expand.next", "expand.text_range", "page.envelope", "expand.default_budget")
@pytest.mark.parametrize("text", NASTY.values(), ids=NASTY)
@pytest.mark.parametrize("chars", [256, 20_000, 24_000])
def test_long_records_come_whole_through_chunks_that_fit_their_envelope(diary: Diary, text: str, chars: int) -> None:
    diary.talk("one", "first", text, "last")

    with diary.open() as workspace:
        args = {"session": "one", "entryRange": {"first": 0, "last": 2}, "maxChars": chars}
        answers = list(following(workspace, "memory.expand", args))

    assert whole(iter(answers)) == {0: "first", 1: text, 2: "last"}
    assert max(map(size, answers)) <= 30_000
    assert all(sum(len(record["text"]) for record in answer["entries"]) <= chars for answer in answers)
    assert all(record["textRange"]["complete"] for answer in answers for record in answer["entries"][:-1])


def test_an_envelope_is_used_well(diary: Diary) -> None:
    diary.talk("one", "検" * 100_000, "\x01" * 10_000)

    with diary.open() as workspace:
        plain = list(following(workspace, "memory.expand", {"session": "one", "indices": [0], "maxChars": 24_000}))
        escaped = list(following(workspace, "memory.expand", {"session": "one", "indices": [1], "maxChars": 24_000}))

    assert len(plain) == 5
    assert len(escaped) == 3


@pytest.mark.requirement("page.envelope")
def test_records_with_long_ids_tools_and_files_still_fit(diary: Diary) -> None:
    long = "\x01" * 600
    lines = [
        called(f"{long}{at}", None, f"tool{long}", files=[f"{number}/{long}" for number in range(40)], text="x" * 9000)
        for at in range(8)
    ]
    diary.session("one", *({**one, "parentId": long} for one in lines), id_="s" * 40_000)

    with diary.open() as workspace:
        args = {"session": "one", "branches": "all", "entryIds": [f"{long}{at}" for at in range(8)]}
        answers = list(following(workspace, "memory.expand", args))

    assert len(whole(iter(answers))) == 8
    assert max(map(size, answers)) <= 30_000
    assert all(record["structuredTruncated"] for answer in answers for record in answer["entries"])


def test_touched_files_are_bounded_in_number_and_length(diary: Diary) -> None:
    diary.session("one", called("a", None, "read", files=[f"{number}" for number in range(30)], path="p" * 1100))

    shorter = diary.expand(session="one", indices=[0])["entries"][0]["filesTouched"]

    assert shorter == [f"{number}" for number in range(20)]


@pytest.mark.requirement("expand.text_range")
def test_an_empty_text_is_complete_at_once(diary: Diary) -> None:
    diary.talk("one", "", "")

    answer = diary.expand(session="one", indices=[0, 1])

    assert [record["textRange"] for record in answer["entries"]] == [
        {"start": 0, "end": 0, "total": 0, "complete": True}
    ] * 2
    assert answer["next"] is None


def test_a_text_offset_begins_within_the_first_record_only(diary: Diary) -> None:
    diary.talk("one", "abcdef", "ghi")

    answer = diary.expand(session="one", indices=[0, 1], textOffset=4)
    at_end = diary.expand(session="one", indices=[0], textOffset=6)

    assert [record["text"] for record in answer["entries"]] == ["ef", "ghi"]
    assert answer["entries"][0]["textRange"] == {"start": 4, "end": 6, "total": 6, "complete": True}
    assert at_end["entries"][0]["textRange"] == {"start": 6, "end": 6, "total": 6, "complete": True}


@pytest.mark.requirement("expand.next", "workflow.page_bindings")
def test_what_follows_is_bound_and_says_where_to_go_on(diary: Diary) -> None:
    path = diary.talk("one", "a" * 300, "b")

    answer = diary.expand(session="one", entryIds=["one-1", "one-0"], maxChars=256)

    assert answer["next"] == {
        "ref": "memory.expand",
        "args": {
            "session": str(path),
            "indices": [0, 1],
            "textOffset": 256,
            "maxChars": 256,
            "expectedSourceHash": answer["sourceHash"],
            "expectedLineageFingerprint": answer["lineageFingerprint"],
        },
    }


# Selections


@pytest.mark.requirement("expand.indices", "expand.entry_ids", "expand.range", "expand.context")
@pytest.mark.parametrize(
    ("args", "found"),
    [
        ({"indices": [3, 1, 3]}, [1, 3]),
        ({"entryIds": ["one-4", "one-0", "one-4"]}, [0, 4]),
        ({"entryRange": {"first": 2, "last": 4}}, [2, 3, 4]),
        ({"entryRange": {"first": 2, "last": 3}, "indices": [3, 0]}, [0, 2, 3]),
        ({"indices": [0], "before": 100, "after": 100}, list(range(10))),
        ({"indices": [9], "before": 1, "after": 9}, [8, 9]),
        ({"entryRange": {"first": 5, "last": 5}, "after": 1}, [5, 6]),
        ({"indices": [5], "entryIds": ["one-5"], "before": 1}, [4, 5]),
        ({"indices": [1, 2, 3], "entryOffset": 2}, [3]),
        ({"indices": [1, 2, 3], "entryOffset": 3}, []),
    ],
)
@pytest.mark.parametrize("at_once", [1, 3, 20])
def test_a_selection_is_a_union_in_order_however_it_is_paged(
    diary: Diary, args: dict[str, Any], found: list[int], at_once: int
) -> None:
    diary.talk("one", *(f"text {number}" for number in range(10)))

    with diary.open() as workspace:
        answers = list(following(workspace, "memory.expand", {"session": "one", "maxEntries": at_once, **args}))

    assert [index for answer in answers for index in records(answer)] == found
    assert [len(answer["entries"]) for answer in answers[:-1]] == [at_once] * (len(answers) - 1)


def test_the_anchor_is_marked_on_every_page(diary: Diary) -> None:
    diary.talk("one", *(f"text {number}" for number in range(10)))

    with diary.open() as workspace:
        args = {"session": "one", "entryIds": ["one-5"], "before": 2, "after": 2, "maxEntries": 2}
        answers = list(following(workspace, "memory.expand", args))

    marks = [(record["index"], record["anchor"]) for answer in answers for record in answer["entries"]]
    assert marks == [(3, False), (4, False), (5, True), (6, False), (7, False)]


@pytest.mark.parametrize(
    "args", [{"indices": list(range(100))}, {"entryRange": {"first": 0, "last": 499}, "indices": [7]}]
)
def test_large_selections_are_paged_to_their_end(diary: Diary, args: dict[str, Any]) -> None:
    diary.talk("one", *(f"text {number}" for number in range(500)))

    with diary.open() as workspace:
        answers = list(following(workspace, "memory.expand", {"session": "one", "maxEntries": 20, **args}))

    found = [index for answer in answers for index in records(answer)]
    assert found == list(range(len(found)))
    assert len(found) == (500 if "entryRange" in args else 100)


# Errors


@pytest.mark.parametrize(
    ("args", "code", "details"),
    [
        ({"branches": "some"}, "invalid_argument", {}),
        ({"indices": [-1], "session": "nobody"}, "index_out_of_bounds", {}),
        ({"indices": [0] * 60, "entryIds": ["one-0"] * 41, "session": "nobody"}, "invalid_argument", {}),
        ({"session": "nobody", "expectedSourceHash": "0"}, "session_not_found", {}),
        ({"session": ""}, "invalid_argument", {}),
        ({"session": "  "}, "session_not_found", {}),
        ({"expectedSourceHash": "0", "indices": [99]}, "stale_pointer", {"expectedSourceHash": "0"}),
        ({"indices": [3], "entryIds": ["nobody"]}, "index_out_of_bounds", {"entryCount": 3}),
        ({"indices": [10**30]}, "index_out_of_bounds", {"entryCount": 3}),
        ({"entryRange": {"first": 0, "last": 3}}, "index_out_of_bounds", {"entryCount": 3}),
        ({"entryRange": {"first": -1, "last": 0}}, "index_out_of_bounds", {"entryCount": 3}),
        ({"entryRange": {"first": 2, "last": 1}, "entryIds": ["nobody"]}, "index_out_of_bounds", {"entryCount": 3}),
        ({"entryRange": {"first": 0}}, "invalid_argument", {}),
        (
            {"entryIds": ["one-0", "nobody"], "before": 1},
            "address_not_found",
            {"addressType": "entry_id", "address": "nobody", "matches": 0},
        ),
        ({"entryIds": [""]}, "address_not_found", {"address": ""}),
        ({"before": 1}, "invalid_argument", {}),
        ({"entryIds": ["one-0", "one-1"], "after": 1, "entryOffset": 9}, "invalid_argument", {}),
        ({"indices": [0], "entryOffset": 2, "textOffset": 99}, "index_out_of_bounds", {"entryCount": 3}),
        ({"entryOffset": 10**30}, "index_out_of_bounds", {"entryCount": 3}),
        ({"indices": [1], "textOffset": 5}, "text_offset_out_of_bounds", {"textLength": 4}),
        ({"indices": [1], "textOffset": 10**30}, "text_offset_out_of_bounds", {"textLength": 4}),
        ({"maxChars": 255}, "invalid_argument", {}),
        ({"maxChars": 24_001}, "invalid_argument", {}),
        ({"maxEntries": 0}, "invalid_argument", {}),
        ({"maxEntries": 21}, "invalid_argument", {}),
        ({"before": 101, "indices": [0]}, "invalid_argument", {}),
        ({"indices": ["zero"]}, "invalid_argument", {}),
        ({"indices": [True]}, "invalid_argument", {}),
        ({"indices": [0.5]}, "invalid_argument", {}),
    ],
)
def test_the_first_thing_that_is_wrong_is_what_the_error_says(
    diary: Diary, args: dict[str, Any], code: str, details: dict[str, object]
) -> None:
    diary.talk("one", "text", "text", "text")

    with pytest.raises(PepysError) as refused:
        diary.expand(**({"session": "one"} | args))

    body = refused.value.as_json()
    assert body["code"] == code
    assert body.items() >= details.items()


@pytest.mark.requirement("identity.many", "identity.exactly_one")
def test_an_ambiguous_address_says_how_many_records_have_it(diary: Diary) -> None:
    diary.session("one", user("a", None, "1"), user("a", None, "2"), user("a", None, "3"), user("b", "a", "4"))

    with pytest.raises(PepysError) as refused:
        diary.expand(session="one", entryIds=["b", "a"], branches="all")

    body = refused.value.as_json()
    assert body.items() >= {"addressType": "entry_id", "address": "a", "matches": 3}.items()
    assert body["code"] == "ambiguous_address"


@pytest.mark.requirement("stale.off_lineage", "identity.none")
def test_an_off_lineage_address_says_where_it_can_be_read(diary: Diary) -> None:
    diary.session("one", user("a", None, "root"), user("b", "a", "left"), user("c", "a", "right"))

    with pytest.raises(PepysError) as refused:
        diary.expand(session="one", entryIds=["b"])

    assert refused.value.code == "address_not_found"
    assert 'branches: "all"' in refused.value.hint


def test_a_source_that_configuration_excludes_is_unavailable(diary: Diary) -> None:
    path = diary.talk("one", "word")

    with diary.open(config_overrides={"index": {"exclude": [str(path)]}}) as w, pytest.raises(PepysError) as refused:
        w.call("memory.expand", {"session": str(path), "indices": [0]})

    assert refused.value.code == "source_unavailable"


# Version 1


def test_entries_of_version_one_keep_their_derived_ids_as_the_file_grows(diary: Diary) -> None:
    lines = [
        {"type": "message", "timestamp": "2026-01-01T00:00:00Z", "message": {"role": "user", "content": text}}
        for text in ("same", "other", "same")
    ]
    head = {"type": "session", "id": "old", "timestamp": "2026-01-01T00:00:00Z", "cwd": "/srv/shop"}
    path: Path = diary.file(diary.folder() / "old.jsonl", (line(head) + "".join(map(line, lines))).encode())
    before = [hit["entryId"] for hit in diary.recall("")["hits"]]

    with path.open("a") as file:
        file.write(line({**lines[0], "message": {"role": "user", "content": "same"}}))
    after = [hit["entryId"] for hit in diary.recall("")["hits"]]
    found = diary.expand(session="old", entryIds=after)

    assert after[:3] == before
    assert len(set(after)) == 4
    assert [record["text"] for record in found["entries"]] == ["same", "other", "same", "same"]
    assert [record["parentId"] for record in found["entries"]] == [None, *after[:3]]
