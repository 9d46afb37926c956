"""Evidence: what a row meant, read again from the source at answer time."""

from __future__ import annotations

from collections.abc import Sequence

from pepys import normalise
from pepys.hosts import HOSTS
from pepys.hosts.reading import read_entries
from pepys.index.document import text_crc
from pepys.index.source import Row, Source
from pepys.model.entry import Entry, Event


def _event(entry: Entry, row: Row) -> Event | None:
    """What *row* means, if it can be typed out of *entry*."""
    if not row.child:
        return normalise.event(entry._replace(id=row.id, parent=row.parent)) if entry.id in (row.id, None) else None
    # The carrier of a child that has no id of its own in the file is named by the child itself.
    carrier = entry if entry.id is not None else entry._replace(id=row.id.rpartition("/")[0])
    children = normalise.children(normalise.event(carrier._replace(parent=row.parent))).events
    child = children[row.child - 1] if row.child <= len(children) else None
    return child if child is not None and child.entry.id == row.id else None


def events(records: Sequence[tuple[Source, Row]]) -> list[Event | str]:
    """The event of each record, or the coverage reason why it cannot be shown.

    A record is shown only if its text is the text that was indexed: a quote can be missing, never wrong.
    """
    found: list[Event | str] = ["source_unavailable"] * len(records)
    by_path: dict[str, list[int]] = {}
    for at, (source, _) in enumerate(records):
        by_path.setdefault(source.path, []).append(at)
    for path, places in by_path.items():
        host = HOSTS[records[places[0]][0].host]
        try:
            entries = read_entries(host, path, [(records[at][1].start, records[at][1].end) for at in places])
        except OSError:
            continue
        for at, entry in zip(places, entries, strict=True):
            row = records[at][1]
            found[at] = "source_changed_during_index"
            event = None if entry is None else _event(entry, row)
            if event is not None and text_crc(event) == row.crc:
                found[at] = event
    return found
