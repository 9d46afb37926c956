"""What a refresh decides, before anything is read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import pytest

from pepys.index.plan import Step, plan_refresh
from pepys.index.source import Source
from pepys.model.source import Found, Listing, Root, Stamp

ROOT = Root("pi", "/r", "folders", "/a")
NOON_NS = 1_772_359_200_123_456_789
LATER_NS = NOON_NS + 60_000_000_000


def seen(name: str, mtime_ns: int = NOON_NS, size: int = 10) -> Found:
    return Found("pi", f"/r/{name}", "/r", "/a", None, "session", Stamp(1, 1, size, mtime_ns, mtime_ns))


def indexed(found: Found, *, examined_ns: int = LATER_NS, appending: bool = False) -> Source:
    head = (found.path, found.host, found.root, found.agent, found.folder, found.kind, found.stamp)
    return Source(*head, examined_ns, 1, appending=appending)


def plan(
    known: Iterable[Source], found: Iterable[Found], *, unlisted: Mapping[str, str] | None = None, excluded: str = ""
) -> list[Step]:
    listing = Listing({one.path: one for one in found}, (ROOT,), unlisted or {})
    return list(plan_refresh({source.path: source for source in known}, listing, lambda one: one.path == excluded))


def test_a_source_never_seen_is_read() -> None:
    steps = plan([], [seen("a")])

    assert steps == [Step("/r/a", "read", "new")]


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

    assert steps == [Step("/r/a", "read", "interrupted")]


def test_a_source_that_turns_out_to_be_another_hosts_is_read_again() -> None:
    steps = plan([indexed(seen("a"))], [seen("a")._replace(host="omp")])

    assert steps == [Step("/r/a", "read", "reclassified")]


def test_an_excluded_source_is_dropped_if_it_was_indexed_else_left_alone() -> None:
    steps = plan([indexed(seen("a"))], [seen("a"), seen("b")], excluded="/r/a")
    others = plan([], [seen("a")], excluded="/r/a")

    assert steps == [Step("/r/b", "read", "new"), Step("/r/a", "drop", "excluded")] or steps == [
        Step("/r/a", "drop", "excluded"),
        Step("/r/b", "read", "new"),
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
