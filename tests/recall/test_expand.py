"""`memory.expand`: whole records in chunks that join exactly."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from pepys.errors import PepysError
from tests.recall.diary import Diary, called, line, pages, user


@pytest.fixture
def ten(diary: Diary) -> Diary:
    diary.session("s1", *(user(f"e{n}", f"e{n - 1}" if n else None, f"text {n}") for n in range(10)))
    return diary


def indices(page: dict[str, Any]) -> list[int]:
    return [entry["index"] for entry in page["entries"]]


def test_no_selector_asks_for_the_count(ten: Diary) -> None:
    page = ten.expand(session="s1")

    assert (page["entryCount"], page["entries"], page["next"]) == (10, [], None)


@pytest.mark.requirement("expand.tool", "truth.paths_typed")
def test_a_record_has_the_fields_of_the_specification(diary: Diary) -> None:
    diary.session("s1", called("a", None, "read", path="src/a.py"))

    entry = diary.expand(session="s1", indices=[0])["entries"][0]

    assert set(entry) == {
        "index", "entryId", "parentId", "type", "role", "timestamp", "isError", "text", "textRange", "tool",
        "filesTouched",
    }  # fmt: skip
    assert entry["text"] == 'Tool: read({"path":"src/a.py"})'
    assert entry["filesTouched"] == ["src/a.py"]


@pytest.mark.requirement("expand.indices", "expand.entry_ids", "expand.range", "expand.entries")
def test_selectors_are_a_union_in_index_order(ten: Diary) -> None:
    page = ten.expand(session="s1", indices=[7, 2], entryIds=["e2", "e4"], entryRange={"first": 0, "last": 1})

    assert indices(page) == [0, 1, 2, 4, 7]


@pytest.mark.requirement("expand.context")
def test_context_is_clamped_at_the_ends_and_marks_its_anchor(ten: Diary) -> None:
    page = ten.expand(session="s1", entryIds=["e1"], before=5, after=1)

    assert [(entry["index"], entry["anchor"]) for entry in page["entries"]] == [(0, False), (1, True), (2, False)]


@pytest.mark.requirement("expand.whole", "expand.text_range", "expand.next")
@pytest.mark.parametrize("text", ["plain " * 3000, "𝄞é\n" * 2500, '"\\\x01' * 9000])
@pytest.mark.parametrize("chars", [256, 20_000])
def test_chunks_join_to_the_exact_text(diary: Diary, text: str, chars: int) -> None:
    diary.session("s1", user("a", None, text), user("b", "a", "short"))

    found = pages(diary, diary.expand(session="s1", entryRange={"first": 0, "last": 1}, maxChars=chars))

    entries = [entry for page in found for entry in page["entries"]]
    assert "".join(entry["text"] for entry in entries if entry["index"] == 0) == text
    assert [entry["text"] for entry in entries if entry["index"] == 1] == ["short"]
    ends = [entry["textRange"] for entry in entries if entry["index"] == 0]
    assert all(one["end"] == two["start"] for one, two in pairwise(ends))
    assert [span["complete"] for span in ends] == [False] * (len(ends) - 1) + [True]


@pytest.mark.requirement("workflow.next_to_null")
def test_pages_of_many_records_give_each_once(ten: Diary) -> None:
    found = pages(ten, ten.expand(session="s1", entryRange={"first": 0, "last": 9}, maxEntries=3))

    assert [index for page in found for index in indices(page)] == list(range(10))


@pytest.mark.requirement("expand.one_anchor", "identity.none", "range.never_clamped")
@pytest.mark.parametrize(
    ("args", "code", "details"),
    [
        ({"indices": [10]}, "index_out_of_bounds", {"entryCount": 10}),
        ({"indices": [-1]}, "index_out_of_bounds", {}),
        ({"entryRange": {"first": 3, "last": 2}}, "index_out_of_bounds", {"entryCount": 10}),
        ({"entryIds": ["nobody"]}, "address_not_found", {"addressType": "entry_id", "matches": 0}),
        ({"indices": [0], "entryOffset": 2}, "index_out_of_bounds", {}),
        ({"indices": [0], "textOffset": 99}, "text_offset_out_of_bounds", {"textLength": 6}),
        ({"indices": [0, 1], "before": 1}, "invalid_argument", {}),
        ({"indices": list(range(101))}, "invalid_argument", {}),
        ({"session": "nobody"}, "session_not_found", {}),
        ({"indices": [0], "expectedSourceHash": "0"}, "stale_pointer", {}),
        ({"indices": [0], "expectedLineageFingerprint": "0"}, "stale_pointer", {}),
    ],
)
def test_errors_have_their_codes_and_no_content(
    ten: Diary, args: dict[str, Any], code: str, details: dict[str, object]
) -> None:
    with pytest.raises(PepysError) as refused:
        ten.expand(**{"session": "s1", **args})

    assert refused.value.code == code
    assert refused.value.as_json().items() >= details.items()


@pytest.mark.requirement("branches.last_of_duplicates", "identity.many")
def test_a_double_id_is_the_last_one_on_the_branch_and_ambiguous_over_all(diary: Diary) -> None:
    diary.session("s1", user("a", None, "first"), user("a", None, "last"))

    assert diary.expand(session="s1", entryIds=["a"])["entries"][0]["text"] == "last"
    with pytest.raises(PepysError) as refused:
        diary.expand(session="s1", entryIds=["a"], branches="all")
    assert refused.value.code == "ambiguous_address"


def test_records_without_ids_are_addressed_by_derived_ones(diary: Diary) -> None:
    path = diary.session("s1", version=1)
    lines = [{"type": "message", "message": {"role": "user", "content": f"old {n}"}} for n in range(3)]
    path.write_text(line({"type": "session", "id": "s1", "cwd": "/srv/shop"}) + "".join(map(line, lines)))
    hits = diary.recall("old")["hits"]

    found = {diary.expand(session="s1", entryIds=[hit["entryId"]])["entries"][0]["text"] for hit in hits}

    assert found == {"old 0", "old 1", "old 2"}


@pytest.mark.requirement("stale.off_lineage", "branches.all")
def test_an_abandoned_record_is_read_only_with_all_branches(diary: Diary) -> None:
    diary.session("s1", user("a", None, "root"), user("b", "a", "abandoned"), user("c", "a", "chosen"))

    with pytest.raises(PepysError) as refused:
        diary.expand(session="s1", entryIds=["b"])
    assert refused.value.code == "address_not_found"
    assert diary.expand(session="s1", entryIds=["b"], branches="all")["entries"][0]["text"] == "abandoned"
