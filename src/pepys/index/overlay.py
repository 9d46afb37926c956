"""Read into memory what no commit holds."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

from pepys.hosts import HOSTS
from pepys.hosts.reading import examine
from pepys.index.catalog import Catalog
from pepys.index.policy import Policy
from pepys.index.projection import Projection, checkpoint, concluded
from pepys.index.source import Row, Source
from pepys.index.view import Overlay
from pepys.model.source import Listing

SCAN_BYTES = 64 << 20
"""Bytes of sources that one call reads beside the index."""

_FIRST_UNCOMMITTED = 1 << 23
"""Generations of readings that live in memory only; no index gets that far."""


def scan(
    overlay: Overlay,
    paths: Sequence[str],
    seen: Listing,
    known: Mapping[str, Source],
    catalog: Catalog | None,
    policy: Policy,
    *,
    documents: bool = True,
) -> None:
    """Read the sources at *paths* into memory, in their order, as far as `SCAN_BYTES` go.

    Of a source that only grew, only what is new is read. Without *documents*, which are what takes the room, nothing
    can be searched, and there is no bound.
    """
    budget = float(SCAN_BYTES if documents else "inf")
    for path in paths:
        found, previous = seen.found[path], known.get(path)
        if previous is not None and previous.tier == "cold":
            previous = None  # there are no rows to go on from
        growth = found.stamp.size - (previous.checkpoint if previous is not None else 0)
        if max(growth, 0) > budget:
            overlay.unread[path] = "scan_budget"
            continue
        try:
            examined_ns = time.time_ns()
            reading = examine(HOSTS[found.host], path, checkpoint(previous, found))
            if previous is None or not reading.grown:
                previous = None
                growth = found.stamp.size
            if growth > budget:
                overlay.unread[path] = "scan_budget"
                continue
            budget -= max(growth, 0)
            generation = previous.generation if previous is not None else _FIRST_UNCOMMITTED + len(overlay.sources)
            projection = Projection(reading, found, policy, generation, examined_ns=examined_ns, previous=previous)
            rows = []
            for row, document in projection:
                rows.append(row)
                if document is not None and documents:
                    overlay.documents.append(document)
        except OSError:
            overlay.failed[path] = "source_unavailable"
            continue
        _include(overlay, projection.source, rows, catalog if previous is not None else None)


def _include(overlay: Overlay, source: Source, rows: list[Row], catalog: Catalog | None) -> None:
    """Note a reading, its branch being worked out over what the catalog holds and what was read."""
    first = source.entries - len({row.position for row in rows})
    old = () if catalog is None else catalog.rows(source.generation, 0, first)
    placed = concluded(source, [*old, *rows])
    overlay.sources[source.path] = source
    overlay.rows[source.generation] = rows
    overlay.inactive[source.generation] = frozenset(row.position for row in placed if not row.active)
