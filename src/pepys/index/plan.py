"""Decide what a refresh does to each source. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Literal, NamedTuple

from pepys.index.policy import Policy, Tier, outdated
from pepys.index.source import Source
from pepys.model.source import Found, Listing

Deed = Literal["keep", "read", "rebuild", "drop", "hold"]
"""read: go on from the checkpoint if the source has only grown. rebuild: from the first byte in any case."""


YOUNG = "young stamp"
"""Why a source is read again whose stamp is equal, but too young to prove anything."""


class Step(NamedTuple):
    """What to do with one source, and why."""

    path: str
    deed: Deed
    reason: str
    tier: Tier = "hot"

    @property
    def reads(self) -> bool:
        """Whether the source is read."""
        return self.deed in ("read", "rebuild")

    @property
    def works(self) -> bool:
        """Whether there is anything to do."""
        return self.reads or self.deed == "drop"


def plan_refresh(
    known: Mapping[str, Source], listing: Listing, excluded: Callable[[Found], bool], policy: Policy
) -> Iterator[Step]:
    """Decide what a refresh does to each source. Reads nothing, changes nothing.

    Args:
        known: The sources under the roots that were listed, and no others.
        listing: What was seen. Absence proves nothing below a directory that could not be listed: such a source is
            held, never dropped.
        excluded: Whether configuration keeps a source out of the index.
        policy: What may become searchable; the newest `hot_sessions` are hot, whatever their project.

    Yields:
        Steps, newest sources first, so that an interrupted run has done the most useful part.
    """
    rank = 0
    wanted = policy.records()
    for found in sorted(listing.found.values(), key=lambda found: (-found.stamp.mtime_ns, found.path)):
        source = known.get(found.path)
        if excluded(found):
            if source is not None:
                yield Step(found.path, "drop", "excluded")
            continue
        tier: Tier = "hot" if policy.hot_sessions is None or rank < policy.hot_sessions else "cold"
        rank += 1
        yield Step(found.path, *_judged(source, found, tier, wanted), tier)
    for path in sorted(known.keys() - listing.found.keys()):
        gone = all(not path.startswith(directory.rstrip("/") + "/") for directory in listing.unlisted)
        yield Step(path, "drop", "gone") if gone else Step(path, "hold", "root not listed")


def _judged(source: Source | None, found: Found, tier: Tier, wanted: Mapping[Tier, str]) -> tuple[Deed, str]:
    if source is None:
        return "rebuild", "new"
    if source.appending:
        return "rebuild", "interrupted"
    if (source.host, source.kind) != (found.host, found.kind):
        return "rebuild", "reclassified"
    if not fits(source, tier, wanted):
        return "rebuild", "another tier" if source.tier != tier else "another policy"
    if source.stamp != found.stamp:
        return "read", "changed"
    if not source.settled():
        return "read", YOUNG
    return "keep", "unchanged"


def fits(source: Source, tier: Tier, wanted: Mapping[Tier, str]) -> bool:
    """Whether what was kept of a source is what the policy asks for; *wanted* is its `Policy.records`."""
    if source.tier != tier:
        return False
    return not outdated(source.policy, wanted[tier], source.lengths, cut=source.cut, longest=source.longest)


def affordable(steps: Iterable[Step], listing: Listing, policy: Policy) -> tuple[list[Step], dict[str, str]]:
    """The *steps* that one call may do, and the coverage reason of each source that it has to leave.

    Spec 1, "Tiers, refresh, and work budgets". An older source is still read where a newer one is too large.
    """
    done: list[Step] = []
    left: dict[str, str] = {}
    sessions, size = policy.sync_sessions, policy.sync_bytes
    for step in steps:
        if step.reads and step.reason != YOUNG:  # looking once more at what was just read is no new work
            needed = listing.found[step.path].stamp.size
            if sessions is not None and sessions <= 0:
                left[step.path] = "max_sync_sessions"
                continue
            if size is not None and needed > size:
                left[step.path] = "max_sync_source_bytes"
                continue
            sessions = None if sessions is None else sessions - 1
            size = None if size is None else size - needed
        done.append(step)
    return done, left
