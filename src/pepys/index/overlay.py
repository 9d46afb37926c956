"""Read into memory what no commit holds."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

from pepys.hosts import HOSTS
from pepys.hosts.reading import examine
from pepys.index.catalog import Catalog
from pepys.index.document import Policy
from pepys.index.projection import Projection, checkpoint, settle
from pepys.index.source import REPEATED, Row, Source, exceptions, on_branch
from pepys.index.view import Overlay
from pepys.model.lineage import Branches, Node
from pepys.model.source import Listing

SCAN_BYTES = 64 << 20
"""Bytes of sources that one call reads beside the index."""

_FIRST_UNCOMMITTED = 1 << 23
"""Generations of readings that live in memory only; no index gets that far."""


def scanned(
    paths: Sequence[str],
    seen: Listing,
    known: Mapping[str, Source],
    catalog: Catalog | None,
    policy: Policy,
) -> Overlay:
    """Read the sources at *paths* into memory, in their order, as far as `SCAN_BYTES` go.

    Of a source that only grew, only what is new is read.
    """
    overlay, budget = Overlay(), SCAN_BYTES
    for path in paths:
        found, previous = seen.found[path], known.get(path)
        growth = found.stamp.size - (previous.checkpoint if previous is not None else 0)
        if max(growth, 0) > budget:
            overlay.unread.add(path)
            continue
        try:
            examined_ns = time.time_ns()
            reading = examine(HOSTS[found.host], path, checkpoint(previous, found))
            if previous is None or not reading.grown:
                previous = None
                growth = found.stamp.size
            if growth > budget:
                overlay.unread.add(path)
                continue
            budget -= max(growth, 0)
            generation = previous.generation if previous is not None else _FIRST_UNCOMMITTED + len(overlay.sources)
            projection = Projection(reading, found, policy, generation, examined_ns=examined_ns, previous=previous)
            rows = []
            for row, document in projection:
                rows.append(row)
                if document is not None:
                    overlay.documents.append(document)
        except OSError:
            overlay.failed[path] = "source_unavailable"
            continue
        _include(overlay, projection.source, rows, catalog if previous is not None else None)
    return overlay


def _include(overlay: Overlay, source: Source, rows: list[Row], catalog: Catalog | None) -> None:
    """Note a reading, its branch being worked out over what the catalog holds and what was read."""
    first = source.entries - len(rows)
    held = [] if catalog is None else [node for node in catalog.nodes(source.generation) if node.position < first]
    nodes = held + [Node(row.position, row.id, row.parent) for row in rows if not row.child]
    active = settle(source, nodes)
    inactive = frozenset(node.position for node in nodes) - active.positions
    old = () if catalog is None else catalog.rows(source.generation, 0, first)
    everything = on_branch([*old, *rows], inactive)
    source.exceptions = exceptions(everything)
    records = [row for row in everything if row.record is not None]
    source.active_records = sum(row.active and not row.repeated & REPEATED["active"] for row in records)
    source.repeats = sum(row.repeated & REPEATED["all"] for row in records)
    source.duplicates = {mode: found for mode in REPEATED if (found := _duplicates(records, mode))}
    overlay.sources[source.path] = source
    overlay.rows[source.generation] = rows
    overlay.inactive[source.generation] = inactive


def _duplicates(records: Sequence[Row], mode: Branches) -> list[str]:
    held = [row for row in records if not row.repeated & REPEATED[mode] and (row.active or mode == "all")]
    ids = [row.id for row in held]
    addresses = [row.address for row in held if row.address is not None]
    return [
        reason
        for reason, names in (("duplicate_entry_id", ids), ("duplicate_operation_address", addresses))
        if len(set(names)) < len(names)
    ]
