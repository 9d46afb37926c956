"""What a refresh decides, before anything is read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import pytest

from pepys.index.plan import Step, affordable, plan_refresh
from pepys.index.policy import Policy
from pepys.index.source import Source
from pepys.model.source import Found, Listing, Root, Stamp

ROOT = Root("pi", "/r", "folders", "/a")
NOON_NS = 1_772_359_200_123_456_789
LATER_NS = NOON_NS + 60_000_000_000
POLICY = Policy()


def seen(name: str, mtime_ns: int = NOON_NS, size: int = 10) -> Found:
    return Found("pi", f"/r/{name}", "/r", "/a", None, "session", Stamp(1, 1, size, mtime_ns, mtime_ns))


def indexed(found: Found, *, examined_ns: int = LATER_NS, appending: bool = False) -> Source:
    head = (found.path, found.host, found.root, found.agent, found.folder, found.kind, found.stamp)
    return Source(*head, examined_ns, 1, appending=appending, policy=POLICY.record("hot"))


def plan(
    known: Iterable[Source],
    found: Iterable[Found],
    *,
    unlisted: Mapping[str, str] | None = None,
    excluded: str = "",
    policy: Policy = POLICY,
) -> list[Step]:
    listing = Listing({one.path: one for one in found}, (ROOT,), unlisted or {})
    known_paths = {source.path: source for source in known}
    return list(plan_refresh(known_paths, listing, lambda one: one.path == excluded, policy))


def test_a_source_never_seen_is_read() -> None:
    steps = plan([], [seen("a")])

    assert steps == [Step("/r/a", "rebuild", "new")]


def test_a_source_with_an_equal_stamp_is_not_opened() -> None:
    steps = plan([indexed(seen("a"))], [seen("a")])

    assert steps == [Step("/r/a", "keep", "unchanged")]


@pytest.mark.parametrize("now", [seen("a", size=11), seen("a", mtime_ns=NOON_NS + 1), seen("a", mtime_ns=NOON_NS - 1)])
def test_any_other_stamp_calls_for_a_reading(now: Found) -> None:
    steps = plan([indexed(seen("a"))], [now])

    assert steps == [Step("/r/a", "read", "changed")]


def test_a_file_that_took_the_name_of_another_is_read() -> None:
    now = seen("a")

    steps = plan([indexed(seen("a"))], [now._replace(stamp=now.stamp._replace(inode=2))])

    assert steps == [Step("/r/a", "read", "changed")]


@pytest.mark.parametrize(
    ("mtime_ns", "age_ns", "deed"),
    [
        (NOON_NS, 1_000_000, "read"),
        (NOON_NS, 30_000_000, "keep"),
        (NOON_NS // 10**9 * 10**9, 30_000_000, "read"),
        (NOON_NS // 10**9 * 10**9, 3_000_000_000, "keep"),
    ],
    ids=["within a tick", "after a tick", "whole seconds, within one", "whole seconds, later"],
)
def test_a_stamp_as_young_as_the_clocks_tick_proves_nothing(mtime_ns: int, age_ns: int, deed: str) -> None:
    now = seen("a", mtime_ns)

    steps = plan([indexed(now, examined_ns=mtime_ns + age_ns)], [now])

    assert [step.deed for step in steps] == [deed]


def test_a_source_whose_reading_was_interrupted_is_read_again() -> None:
    steps = plan([indexed(seen("a"), appending=True)], [seen("a")])

    assert steps == [Step("/r/a", "rebuild", "interrupted")]


def test_a_source_that_turns_out_to_be_another_hosts_is_read_again() -> None:
    steps = plan([indexed(seen("a"))], [seen("a")._replace(host="omp")])

    assert steps == [Step("/r/a", "rebuild", "reclassified")]


def test_an_excluded_source_is_dropped_if_it_was_indexed_else_left_alone() -> None:
    steps = plan([indexed(seen("a"))], [seen("a"), seen("b")], excluded="/r/a")
    others = plan([], [seen("a")], excluded="/r/a")

    assert steps == [Step("/r/b", "rebuild", "new"), Step("/r/a", "drop", "excluded")] or steps == [
        Step("/r/a", "drop", "excluded"),
        Step("/r/b", "rebuild", "new"),
    ]
    assert others == []


def test_a_source_that_is_gone_from_a_listed_root_is_dropped() -> None:
    steps = plan([indexed(seen("a"))], [])

    assert steps == [Step("/r/a", "drop", "gone")]


def test_a_source_below_a_directory_that_could_not_be_listed_is_held() -> None:
    inside, beside = indexed(seen("locked/a")), indexed(seen("locked-not/a"))

    steps = plan([inside, beside], [], unlisted={"/r/locked": "Permission denied"})

    assert {(step.path, step.deed) for step in steps} == {("/r/locked/a", "hold"), ("/r/locked-not/a", "drop")}


def test_the_newest_sources_come_first() -> None:
    steps = plan([], [seen("old", NOON_NS), seen("new", NOON_NS + 2), seen("middle", NOON_NS + 1)])

    assert [step.path for step in steps] == ["/r/new", "/r/middle", "/r/old"]


def tier_of(steps: Iterable[Step]) -> dict[str, str]:
    return {step.path: step.tier for step in steps}


def test_as_many_of_the_newest_sources_as_the_policy_says_are_hot() -> None:
    found = [seen("old", NOON_NS), seen("new", NOON_NS + 2), seen("middle", NOON_NS + 1)]

    assert tier_of(plan([], found)) == {"/r/new": "hot", "/r/middle": "hot", "/r/old": "hot"}
    assert tier_of(plan([], found, policy=Policy(hot_sessions=1))) == {
        "/r/new": "hot",
        "/r/middle": "cold",
        "/r/old": "cold",
    }


def test_an_excluded_source_takes_no_place_among_the_hot_ones() -> None:
    found = [seen("new", NOON_NS + 2), seen("old", NOON_NS)]

    steps = plan([], found, excluded="/r/new", policy=Policy(hot_sessions=1))

    assert tier_of(steps) == {"/r/old": "hot"}


def test_a_source_that_crosses_the_boundary_is_read_anew() -> None:
    source = indexed(seen("a"))

    [step] = plan([source], [seen("a")], policy=Policy(hot_sessions=0))

    assert step == Step("/r/a", "rebuild", "another tier", "cold")


@pytest.mark.parametrize(
    ("policy", "source", "deed"),
    [
        (Policy(thinking=True), {"lengths": {"prose": 9}}, "keep"),
        (Policy(thinking=True), {"lengths": {"thinking": 9}}, "rebuild"),
        (Policy(output=False), {"lengths": {"thinking": 9}}, "keep"),
        (Policy(output=False), {"lengths": {"output": 9}}, "rebuild"),
        (Policy(entry_chars=100), {"longest": 100}, "keep"),
        (Policy(entry_chars=100), {"longest": 101}, "rebuild"),
        (Policy(), {"longest": 101, "policy": "entry:100;thinking:0;tool-output:1"}, "keep"),
        (Policy(), {"longest": 101, "cut": True, "policy": "entry:100;thinking:0;tool-output:1"}, "rebuild"),
        (Policy(vocabulary_bytes=7), {}, "keep"),
    ],
)
def test_a_change_of_policy_reads_again_only_what_it_concerns(
    policy: Policy, source: dict[str, Any], deed: str
) -> None:
    steps = plan([replace(indexed(seen("a")), **source)], [seen("a")], policy=policy)

    assert [step.deed for step in steps] == [deed]


def test_what_one_call_may_not_read_is_left_with_the_reason() -> None:
    found = [seen("new", NOON_NS + 3, 90), seen("large", NOON_NS + 2, 200), seen("small", NOON_NS + 1, 10)]
    listing = Listing({one.path: one for one in found}, (ROOT,), {})

    done, left = affordable(plan([], found), listing, Policy(sync_bytes=100))
    first, later = affordable(plan([], found), listing, Policy(sync_sessions=2))

    assert [step.path for step in done] == ["/r/new", "/r/small"]
    assert left == {"/r/large": "max_sync_source_bytes"}
    assert [step.path for step in first] == ["/r/new", "/r/large"]
    assert later == {"/r/small": "max_sync_sessions"}


def test_a_stamp_too_young_to_prove_anything_takes_nothing_of_what_a_call_may_read() -> None:
    young, new = seen("young", NOON_NS + 1), seen("new", NOON_NS)
    listing = Listing({one.path: one for one in (young, new)}, (ROOT,), {})
    steps = plan([indexed(young, examined_ns=NOON_NS + 2)], [young, new])

    done, left = affordable(steps, listing, Policy(sync_sessions=1))

    assert ([step.path for step in done], left) == (["/r/young", "/r/new"], {})
