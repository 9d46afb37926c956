"""Decide what a refresh does to each source. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Literal, NamedTuple

from pepys.index.source import Source
from pepys.model.source import Found, Listing

Deed = Literal["keep", "read", "drop", "hold"]


class Step(NamedTuple):
    """What to do with one source, and why."""

    path: str
    deed: Deed
    reason: str


def plan_refresh(known: Mapping[str, Source], listing: Listing, excluded: Callable[[Found], bool]) -> Iterator[Step]:
    """Decide what a refresh does to each source. Reads nothing, changes nothing.

    Args:
        known: The sources under the roots that were listed, and no others.
        listing: What was seen. Absence proves nothing below a directory that could not be listed: such a source is
            held, never dropped.
        excluded: Whether configuration keeps a source out of the index.

    Yields:
        Steps, newest sources first, so that an interrupted run has done the most useful part.
    """
    for found in sorted(listing.found.values(), key=lambda found: (-found.stamp.mtime_ns, found.path)):
        source = known.get(found.path)
        if excluded(found):
            if source is not None:
                yield Step(found.path, "drop", "excluded")
        elif source is None:
            yield Step(found.path, "read", "new")
        elif source.appending:
            yield Step(found.path, "read", "interrupted")
        elif (source.host, source.kind) != (found.host, found.kind):
            yield Step(found.path, "read", "reclassified")
        elif source.stamp != found.stamp:
            yield Step(found.path, "read", "changed")
        elif not source.settled():
            yield Step(found.path, "read", "young stamp")
        else:
            yield Step(found.path, "keep", "unchanged")
    for path in sorted(known.keys() - listing.found.keys()):
        gone = all(not path.startswith(directory.rstrip("/") + "/") for directory in listing.unlisted)
        yield Step(path, "drop", "gone") if gone else Step(path, "hold", "root not listed")
