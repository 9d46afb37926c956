"""Forks across sessions: copied entries, where the copy goes on, and what a caller sees of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.events.shop import Shop, label, named
from tests.recall.diary import Json, said, user


def forks(shop: Shop, session: str, entry: str, **args: Any) -> list[Json]:
    return list(shop.read(session, entry, **args)["neighbors"]["forks"])


def candidates(receipt: Json) -> list[str]:
    return [f"{one['sessionId']}/{one['entryId']}" for one in receipt["candidates"]]


def at(receipt: Json) -> str:
    return f"{receipt['at']['sessionId']}/{receipt['at']['entryId']}"


ORIGINAL = (user("a", None, "first"), said("b", "a", "second"), user("c", "b", "third"), said("d", "c", "fourth"))


@pytest.mark.requirement("events.forks.sessions")
def test_a_copy_that_goes_on_otherwise_is_a_fork_of_both_sessions(shop: Shop) -> None:
    path = shop.session("one", *ORIGINAL)
    shop.session("two", *ORIGINAL[:2], user("x", "b", "another third"), parentSession=str(path))

    of_original, of_copy = forks(shop, "one", "b"), forks(shop, "two", "b")

    assert [(receipt["kind"], at(receipt)) for receipt in of_original] == [("session-fork", "one/b")]
    assert candidates(of_original[0]) == candidates(of_copy[0]) == ["one/c", "two/x"]
    assert at(of_copy[0]) == "one/b"
    assert of_original[0]["chosen"] == {"sessionId": "one", "entryId": "c"}
    assert of_copy[0]["chosen"] == {"sessionId": "two", "entryId": "x"}
    assert forks(shop, "one", "d") == []


@pytest.mark.requirement("events.forks.sessions")
def test_a_trace_leads_from_the_anchor_and_from_each_way_on_to_the_others(shop: Shop) -> None:
    path = shop.session("one", *ORIGINAL)
    shop.session("two", *ORIGINAL[:2], user("x", "b", "another third"), parentSession=str(path))
    shop.session("three", *ORIGINAL[:2], user("y", "b", "a third way"), parentSession="one")

    def ways(session: str, entry: str) -> list[str]:
        return [to for type_, _, to, _ in shop.related(session, entry) if type_ == "session-fork"]

    assert ways("one", "b") == ["one/c", "three/y", "two/x"]
    assert ways("two", "b") == ["one/c", "three/y", "two/x"]
    assert ways("one", "c") == ["three/y", "two/x"]
    assert ways("two", "x") == ["one/c", "three/y"]
    assert ways("one", "a") == ways("one", "d") == []
    edge = next(edge for edge in shop.trace("two", "x")["related"] if edge["type"] == "session-fork")
    assert (edge["recorded"], edge["derived"], edge["leadsToMaterializedLeaf"]) == (False, True, True)


@pytest.mark.requirement("events.forks.labels")
def test_labels_that_the_host_dropped_and_made_again_hide_no_fork(shop: Shop) -> None:
    # The label between b and c is not copied; c is chained to b, and the label is made again at the end.
    original = (*ORIGINAL[:2], label("l", "b", "a"), user("c", "l", "third"), said("d", "c", "fourth"))
    copied = (*ORIGINAL[:2], user("c", "b", "third"), label("l2", "c", "a"), named("n", "l2", "Copy"))
    path = shop.session("one", *original)
    shop.session("two", *copied, said("x", "n", "another fourth"), parentSession=str(path))

    (receipt,) = forks(shop, "two", "c")

    assert (at(receipt), candidates(receipt)) == ("one/c", ["one/d", "two/x"])


@pytest.mark.requirement("events.forks.labels")
def test_a_label_where_sessions_part_is_no_way_on(shop: Shop) -> None:
    original = (*ORIGINAL[:2], label("l", "b", "a"), user("c", "l", "third"))
    path = shop.session("one", *original)
    shop.session("two", *ORIGINAL[:2], label("l2", "b", "a"), user("x", "l2", "another third"), parentSession=str(path))

    (receipt,) = [one for one in forks(shop, "two", "b", after=2) if one["kind"] == "session-fork"]

    assert candidates(receipt) == ["one/c", "two/x"]
    assert receipt["chosen"] == {"sessionId": "two", "entryId": "x"}


@pytest.mark.requirement("events.forks.sessions")
def test_different_entries_under_one_id_are_no_copies(shop: Shop) -> None:
    path = shop.session("one", *ORIGINAL)
    shop.session("two", user("a", None, "not the same"), user("x", "a", "words"), parentSession=str(path))

    assert forks(shop, "two", "a") == []


@pytest.mark.requirement("events.forks.hidden")
def test_a_fork_into_a_session_that_the_caller_may_not_see_is_none(shop: Shop, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    path = shop.session("one", *ORIGINAL)
    shop.session("two", *ORIGINAL[:2], user("x", "b", "words"), parentSession=str(path), cwd=str(elsewhere))

    assert forks(shop, "one", "b") == []
    assert shop.trace("one", "b")["related"] == []


@pytest.mark.requirement("events.forks.hidden")
def test_ways_on_that_are_cut_off_are_none(shop: Shop) -> None:
    path = shop.session("one", *ORIGINAL)
    shop.session("two", *ORIGINAL[:2], user("x", "b", "words"), parentSession=str(path))

    cut = {"current_session_id": "two", "invocation_entry_id": "x"}

    assert forks(shop, "one", "b", context=cut) == []
    assert len(forks(shop, "one", "b")) == 1


@pytest.mark.requirement("events.forks.labels")
@pytest.mark.parametrize("after", [1, 2, 3])
def test_labels_between_a_fork_and_its_ways_on_do_not_hide_which_one_is_taken(shop: Shop, after: int) -> None:
    marks = (label("l", "b", "a"), named("n", "l", "Stock"))
    path = shop.session("one", *ORIGINAL[:2], *marks, user("c", "n", "third"))
    # The copy has made them again, under other ids.
    again = (label("m", "b", "a"), named("o", "m", "Stock"))
    shop.session("two", *ORIGINAL[:2], *again, user("x", "o", "another third"), parentSession=str(path))

    (of_original,), (of_copy,) = forks(shop, "one", "b", after=after), forks(shop, "two", "b", after=after)

    assert of_original["chosen"] == {"sessionId": "one", "entryId": "c"}
    assert of_copy["chosen"] == {"sessionId": "two", "entryId": "x"}
