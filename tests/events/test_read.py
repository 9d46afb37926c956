"""`events.read`: exact windows of one event, from its source, and what stands around it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pepys.errors import AmbiguousSession, EventNotFound, InvalidEventArgument, StalePointer
from pepys.events.read import head_tail, window
from pepys.hosts import reading
from tests.events.shop import Shop, calls, label, result
from tests.recall.diary import Json, append, entry, ran, said, thought, user

EVENT = {
    *("sessionId", "entryId", "entryType", "timestamp", "parentId", "branchState", "selectionState", "role"),
    *("contextRole", "fragments", "fragmentCoverage", "neighbors", "source", "coverage"),
}


@pytest.mark.requirement("events.read.event")
def test_an_event_comes_with_its_fragments_and_where_its_record_lies(shop: Shop) -> None:
    path = shop.session("one", user("a", None, "Mend it."), calls("b", "a", ("c1", "read", {"path": "x"}), text="Yes."))

    event = shop.read("one", "b")

    assert set(event) == EVENT
    assert (event["parentId"], event["role"], event["contextRole"]) == ("a", "assistant", "conversation")
    assert [one["fragmentId"] for one in event["fragments"]] == ["b::assistant.text::0", "b::tool.call::0"]
    assert event["fragments"][1]["toolName"] == "read"
    assert event["fragments"][1]["preview"]["text"] == 'read\n{"path":"x"}'
    assert event["fragmentCoverage"] == {"total": 2, "returned": 2, "omitted": 0, "truncated": False}
    where = event["source"]
    assert path.read_bytes()[where["byteStart"] : where["byteEnd"]].startswith(b'{"type": "message", "id": "b"')


@pytest.mark.requirement("events.read.fragments")
def test_at_most_twenty_fragments_share_six_thousand_characters(shop: Shop) -> None:
    shop.session("one", calls("a", None, *[(f"c{at}", "write", {"text": "x" * 1000}) for at in range(25)]))

    event = shop.read("one", "a")

    assert event["fragmentCoverage"] == {"total": 25, "returned": 20, "omitted": 5, "truncated": True}
    shown = [sum(one["end"] - one["start"] for one in part["preview"]["shownRanges"]) for part in event["fragments"]]
    assert shown == [300] * 20


@pytest.mark.requirement("events.read.fragments")
def test_one_fragment_is_read_alone_and_an_unknown_one_is_not_found(shop: Shop) -> None:
    shop.session("one", calls("a", None, ("c1", "write", {"text": "x" * 9000}), text="words"))

    event = shop.read("one", "a", fragmentId="a::tool.call::0", offset=10, windowChars=9999)

    assert event["fragmentCoverage"] == {"total": 2, "returned": 1, "omitted": 1, "truncated": False}
    assert event["fragments"][0]["preview"]["shownRanges"] == [{"start": 10, "end": 4010}]
    with pytest.raises(EventNotFound):
        shop.read("one", "a", fragmentId="a::tool.call::1")


@pytest.mark.requirement("events.read.windows")
def test_without_an_offset_head_and_tail_are_shown(shop: Shop) -> None:
    shop.session("one", result("a", None, "c1", "bash", "é" * 3000 + "end"))

    preview = shop.read("one", "a", windowChars=10)["fragments"][0]["preview"]

    total = len("bash\n") + 3003
    assert preview["totalChars"] == total
    assert preview["shownRanges"] == [{"start": 0, "end": 1000}, {"start": total - 1000, "end": total}]
    assert preview["omittedRanges"] == [{"start": 1000, "end": total - 1000}]
    assert preview["truncated"] is True
    assert preview["text"].startswith("bash\né") and preview["text"].endswith("éend") and preview["text"][1000] == "…"


@pytest.mark.requirement("events.read.windows")
@given(text=st.text(max_size=60), offset=st.integers(0, 80), most=st.integers(1, 70))
def test_a_window_is_what_its_ranges_say(text: str, offset: int, most: int) -> None:
    shown = window(text, offset, most)

    ranges: Any = shown["shownRanges"]
    assert "".join(text[one["start"] : one["end"]] for one in ranges) == shown["text"]
    check(shown, text)


@pytest.mark.requirement("events.read.windows")
@given(text=st.text(max_size=60), most=st.integers(2, 70))
def test_head_and_tail_are_what_their_ranges_say(text: str, most: int) -> None:
    shown = head_tail(text, most)

    ranges: Any = shown["shownRanges"]
    assert "…".join(text[one["start"] : one["end"]] for one in ranges) == shown["text"]
    assert sum(one["end"] - one["start"] for one in ranges) == min(len(text), most)
    check(shown, text)


def check(shown: dict[str, object], text: str) -> None:
    """Shown and omitted ranges are the whole text, once."""
    both: Any = [*shown["shownRanges"], *shown["omittedRanges"]]  # type: ignore[misc]
    covered = sorted((one["start"], one["end"]) for one in both)
    assert [start for start, _ in covered] == [0, *(end for _, end in covered)][: len(covered)]
    assert not text or covered[-1][1] == len(text) == shown["totalChars"]
    assert shown["truncated"] is bool(shown["omittedRanges"])


@pytest.mark.requirement("events.read.limits")
@pytest.mark.parametrize("args", [{"before": -1}, {"after": -1}, {"offset": -1}, {"windowChars": 0}, {"before": 1.5}])
def test_numbers_below_their_minimum_are_refused(shop: Shop, args: Json) -> None:
    shop.session("one", user("a", None, "words"))

    with pytest.raises(InvalidEventArgument, match=next(iter(args))):
        shop.read("one", "a", **args)


@pytest.mark.requirement("events.read.limits")
def test_numbers_above_their_maximum_are_clamped(shop: Shop) -> None:
    shop.talk("one", *["words"] * 20, cwd=str(shop.cwd))

    around = shop.read("one", "one-9", before=50, after=50)["neighbors"]

    assert (len(around["before"]), len(around["after"])) == (5, 5)


@pytest.mark.requirement("events.read.neighbours")
def test_neighbours_along_the_branch_and_in_the_file_differ(shop: Shop) -> None:
    # The tree of the specification: D ends the old branch, E and F are the one that was materialized last.
    ids = {"A": None, "B": "A", "C": "B", "D": "C", "E": "B", "F": "E"}
    shop.session("one", *(user(id_, parent, f"text of {id_}") for id_, parent in ids.items()))

    branch, file = (shop.read("one", "E", order=order)["neighbors"] for order in ("branch", "append"))
    at_fork, beside = (shop.read("one", id_)["neighbors"] for id_ in ("B", "C"))

    assert (near(branch["before"]), near(branch["after"])) == (["B"], ["F"])
    assert (near(file["before"]), near(file["after"]), file["forks"]) == (["D"], ["F"], [])
    assert (near(at_fork["after"]), near(beside["after"])) == (["E"], ["D"])
    assert at_fork["forks"] == [
        {
            "kind": "in-session",
            "at": {"sessionId": "one", "entryId": "B"},
            "candidates": [{"sessionId": "one", "entryId": "C"}, {"sessionId": "one", "entryId": "E"}],
            "chosen": {"sessionId": "one", "entryId": "E"},
        }
    ]
    assert branch["before"][0]["preview"] == "text of B"
    assert set(branch["before"][0]) == {
        *("sessionId", "entryId", "entryType", "timestamp", "branchState", "selectionState", "preview")
    }


@pytest.mark.requirement("events.read.neighbours")
def test_an_undecided_fork_ends_the_branch_with_every_candidate(shop: Shop) -> None:
    ids = {"A": None, "B": "A", "C": "B", "D": "B", "Z": "A"}
    shop.session("one", *(user(id_, parent, id_) for id_, parent in ids.items()))

    around = shop.read("one", "B", after=5)["neighbors"]

    assert near(around["after"]) == []
    (fork,) = [fork for fork in around["forks"] if fork["at"]["entryId"] == "B"]
    assert (near(fork["candidates"]), "chosen" in fork) == (["C", "D"], False)


def near(nodes: list[Json]) -> list[str]:
    return [node["entryId"] for node in nodes]


@pytest.mark.requirement("events.read.omitted")
def test_what_is_never_shown_is_named_by_kind_and_size(shop: Shop) -> None:
    image = {"type": "image", "data": "aGVsbG8=", "mimeType": "image/png"}
    said_so = thought("a", None, "secret thoughts", "words")
    said_so["message"]["usage"] = {"input": 5}
    seen = entry("b", "a", {"role": "user", "content": [{"type": "text", "text": "look"}, image]})
    state = {"type": "custom", "id": "c", "parentId": "b", "timestamp": "2026-01-02T00:00:00Z", "customType": "x"}
    shop.session("one", said_so, seen, {**state, "data": {"k": 1}})

    events = [shop.read("one", id_) for id_ in "abc"]

    assert events[0]["omittedPayload"] == [
        {"kind": "provider-data", "count": 1, "bytes": len('{"input":5}')},
        {"kind": "thinking", "count": 1, "bytes": len("secret thoughts")},
    ]
    assert events[1]["omittedPayload"] == [{"kind": "image", "count": 1, "bytes": 8}]
    assert events[2]["omittedPayload"] == [{"kind": "custom-data", "count": 1, "bytes": len('{"k":1}')}]
    assert [len(event["fragments"]) for event in events] == [1, 1, 0]
    assert "secret" not in str(events) and "aGVsbG8" not in str(events)


@pytest.mark.requirement("events.read.source")
def test_a_source_that_changed_behind_the_index_never_gives_other_text_under_an_old_identity(shop: Shop) -> None:
    path = shop.session("one", user("a", None, "alpha words"), user("b", "a", "beta words"))
    with shop.open(cwd=shop.cwd) as workspace:
        assert workspace.call("events.read", {"sessionId": "one", "entryId": "a"})["fragments"]
        before = path.stat()

        path.write_bytes(path.read_bytes().replace(b"alpha", b"omega"))
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns + 1))

        shown = workspace.call("events.read", {"sessionId": "one", "entryId": "a"})["fragments"]
        assert [one["preview"]["text"] for one in shown] == ["omega words"]
        path.unlink()
        with pytest.raises(EventNotFound):
            workspace.call("events.read", {"sessionId": "one", "entryId": "a"})


@pytest.mark.requirement("events.read.source")
def test_a_source_that_changes_while_it_is_read_is_an_error(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    path = shop.session("one", user("a", None, "alpha words"))
    read = reading.read_entries

    def rewritten(host: Any, file: str, spans: Any) -> Any:
        Path(file).write_bytes(Path(file).read_bytes().replace(b"alpha", b"omega"))
        return read(host, file, spans)

    monkeypatch.setattr("pepys.recall.evidence.read_entries", rewritten)

    with pytest.raises(StalePointer):
        shop.read("one", "a")
    assert b"omega" in path.read_bytes()


@pytest.mark.requirement("events.identity")
def test_two_files_of_one_session_are_one_event_where_they_agree_and_ambiguous_where_not(shop: Shop) -> None:
    shared = user("a", None, "needle shared")
    one = shop.session("one", shared, user("b", "a", "needle one"), id_="same")
    two = shop.session("two", shared, user("b", "a", "needle two"), id_="same")

    hits = shop.search("needle")["hits"]

    assert sorted((hit["entryId"], hit["file"]) for hit in hits) == [("a", str(two)), ("b", str(one)), ("b", str(two))]
    assert shop.read("same", "a")["source"]["file"] == str(two)
    with pytest.raises(AmbiguousSession) as caught:
        shop.read("same", "b")
    assert caught.value.details["candidates"] == [str(one), str(two)]
    for hit in hits:
        assert shop.ask(hit["follow"]["ref"], hit["follow"]["args"])["source"]["file"] == hit["file"]


@pytest.mark.requirement("events.read.event")
def test_events_without_fragments_are_read_too(shop: Shop) -> None:
    shop.session("one", user("a", None, "words"), label("l", "a", "a"), ran("b", "l", "make", ""))

    event = shop.read("one", "l")

    assert (event["fragments"], event["role"], event["contextRole"]) == ([], "metadata", "metadata")
    assert event["neighbors"]["before"][0]["entryId"] == "a"


@pytest.mark.requirement("events.read.event")
def test_an_entry_that_was_appended_is_read_at_once(shop: Shop) -> None:
    path = shop.session("one", user("a", None, "words"))
    with shop.open(cwd=shop.cwd) as workspace:
        workspace.call("events.read", {"sessionId": "one", "entryId": "a"})
        append(path, said("b", "a", "more"))

        event = workspace.call("events.read", {"sessionId": "one", "entryId": "b"})

    assert (event["branchState"], event["neighbors"]["before"][0]["entryId"]) == ("selected", "a")


TOKEN = "ghp_" + "a1B2" * 9


@pytest.mark.requirement("events.redaction")
def test_credentials_are_masked_where_people_read_and_exact_elsewhere(shop: Shop) -> None:
    text = f"the key is {TOKEN} and more"
    shop.session("one", user("a", None, text), said("b", "a", text))
    mask = "*" * len(TOKEN)

    def told(**context: Any) -> list[Json]:
        event = shop.read("one", "a", context=context)
        hit = shop.search("key more", context=context)["hits"][0]
        trace = shop.trace("one", "a", context=context)
        return [
            {"text": event["fragments"][0]["preview"]["text"], "redacted": event.get("redacted")},
            {"text": event["neighbors"]["after"][0]["preview"], "redacted": 1},
            {"text": hit["snippet"], "redacted": hit.get("redacted")},
            {"text": trace["target"]["preview"], "redacted": trace["target"].get("redacted")},
        ]

    assert {one["text"] for one in told()} == {text}
    for context in ({"shown": True}, {"config_overrides": {"memory": {"redact": "always"}}}):
        assert told(**context) == [{"text": text.replace(TOKEN, mask), "redacted": 1}] * 4
    assert shop.found(TOKEN, context={"shown": True}) == ["a", "b"]


@pytest.mark.requirement("events.read.limits")
@pytest.mark.parametrize("name", ["before", "after", "offset", "windowChars"])
def test_numbers_that_not_every_reader_of_json_has_exactly_are_refused(shop: Shop, name: str) -> None:
    shop.session("one", user("a", None, "words"))

    for number in (2**53, 1e300, 10**400):
        with pytest.raises(InvalidEventArgument, match=f"{name} must be at most 9007199254740991"):
            shop.ask("events.read", {"sessionId": "one", "entryId": "a", name: number})
    assert shop.ask("events.read", {"sessionId": "one", "entryId": "a", name: 2**53 - 1})["entryId"] == "a"


@pytest.mark.requirement("events.parameters")
def test_one_value_stands_for_a_list_of_it_and_a_number_may_be_written_as_text(shop: Shop) -> None:
    shop.session("one", user("a", None, "needle"), said("b", "a", "needle"), user("c", "b", "needle"))

    assert sorted(shop.found("needle", kinds="user.text")) == ["a", "c"]
    assert len(shop.read("one", "a", after="1")["neighbors"]["after"]) == 1
    for wrong in ("one", True, 1.5):
        with pytest.raises(InvalidEventArgument):
            shop.read("one", "a", after=wrong)
    with pytest.raises(InvalidEventArgument):
        shop.found("needle", kinds={"a": 1})
