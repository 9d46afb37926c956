"""One reading of a source turned into catalog rows and documents: the same for building, growing and scanning."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

from pepys import normalise
from pepys.hosts.reading import Checkpoint, Reading
from pepys.index import links
from pepys.index.document import Document, Place, document, oversized, text, text_crc
from pepys.index.policy import Policy
from pepys.index.source import REPEATED, Row, Source, exceptions, on_branch, stem
from pepys.model.entry import FACT, Event
from pepys.model.lineage import Branches, Lineage, Node
from pepys.model.source import Diagnostic, Found, Header, Title
from pepys.normalise import lineage


class Projection:
    """Iterate once over (row, document); afterwards `source` tells what the catalog should hold.

    Rows carry `active=True`; `settle` says which of them are not.
    """

    def __init__(
        self,
        reading: Reading,
        found: Found,
        policy: Policy,
        generation: int,
        *,
        examined_ns: int,
        previous: Source | None,
    ) -> None:
        """Prepare to project *reading*.

        Args:
            reading: Not yet consumed.
            found: The source in the listing.
            policy: What may become searchable.
            generation: The number under which rows and documents are kept.
            examined_ns: The clock before the reading was opened.
            previous: The row to go on from; only if the reading has grown from its checkpoint.
        """
        self._reading, self._policy = reading, policy
        if previous is None:
            self.source = Source(
                found.path,
                found.host,
                found.root,
                found.agent,
                found.folder,
                found.kind,
                found.stamp,
                examined_ns,
                generation,
                policy=policy.record("hot"),
            )
        else:
            # The tail is read again, whole or torn.
            diagnostics = {code: count for code, count in previous.diagnostics.items() if code != "torn_tail"}
            self.source = replace(
                previous,
                root=found.root,
                agent=found.agent,
                folder=found.folder,
                kind=found.kind,
                examined_ns=examined_ns,
                policy=policy.record("hot"),
                diagnostics=diagnostics,
                lengths=dict(previous.lengths),
            )

    def __iter__(self) -> Iterator[tuple[Row, Document | None]]:
        """Read on, one entry at a time."""
        source, counts = self.source, Counter(self.source.diagnostics)
        for item in self._reading.items():
            if isinstance(item, Diagnostic):
                counts[item.code] += 1
            elif isinstance(item, Header):
                source.session = item.session or source.session
                source.cwd, source.parent, source.created = item.cwd, item.parent, item.time
                source.name = source.name or item.title
            elif isinstance(item, Title):
                source.name = item.text
            else:
                if item.notice:
                    counts[item.notice] += 1
                event = normalise.event(item)
                children = normalise.children(event)
                counts.update(children.notices)
                for child, record in enumerate((event, *children.events)):
                    yield self._projected(record, child)
                source.entries += 1
        source.diagnostics = dict(counts)
        self._conclude()

    def _projected(self, event: Event, child: int) -> tuple[Row, Document | None]:
        source, entry = self.source, event.entry
        place = Place(source.generation, source.entries, child)
        if entry.title is not None:
            source.name = entry.title or None
        if entry.time is not None:
            source.last_time = max(source.last_time or entry.time, entry.time)
        record, made, crc = None, None, 0
        if event.record:
            record = source.records
            source.records += 1
            source.own_records += event.own
            source.facts += entry.type == FACT
            source.oversized = source.oversized or oversized(event)
            made = document(place, event, self._policy, source.cwd)
            for passage in event.passages:
                source.lengths[passage.field] = source.lengths.get(passage.field, 0) + len(passage.text)
            longest = sum(len(passage.lead) + len(passage.text) for passage in event.passages)
            source.longest = max(source.longest, longest)
            most = self._policy.entry_chars
            if most is not None and longest > most and not source.cut:
                source.cut = len(text(event, self._policy.of_whole_entries())) > most
            crc = text_crc(event)
        elif any(passage.fragment for passage in event.passages):
            made, crc = document(place, event, self._policy, source.cwd), text_crc(event)
        row = Row(
            place.position,
            child,
            record,
            entry.start,
            entry.end,
            entry.id or "",
            entry.parent,
            entry.type,
            event.role,
            event.tool,
            entry.time,
            entry.is_error,
            True,
            event.own,
            crc,
            event.ref,
            event.provider,
            event.action,
            event.outcome,
            event.address,
            target=None if child else entry.target,
            silent=entry.silent or (entry.type == "branch_summary" and not event.passages),
            links=() if child else links.keys(event),
        )
        return row, made

    def _conclude(self) -> None:
        reading, source = self._reading, self.source
        source.stamp, source.sha256 = reading.stamp, reading.sha256
        source.checkpoint, source.checkpoint_sha256 = reading.checkpoint.offset, reading.checkpoint.sha256
        source.derived_ids = source.derived_ids or reading.derived_ids
        source.session = source.session or stem(source.path)
        source.appending = False


def checkpoint(source: Source | None, found: Found) -> Checkpoint | None:
    """Where a reading of *found* may go on; None where it must start anew.

    Another host would have decoded what is before it otherwise, and derived ids depend on all lines before them.
    """
    if source is None or (source.host, source.kind) != (found.host, found.kind):
        return None
    if source.derived_ids or source.path.endswith(".gz"):
        return None
    return Checkpoint(source.checkpoint, source.checkpoint_sha256)


def concluded(source: Source, rows: Sequence[Row]) -> list[Row]:
    """All *rows* of a projected source as they stand on its branch; the source notes it, and what they count."""
    nodes = [Node(row.position, row.id, row.parent) for row in rows if not row.child]
    active = settle(source, nodes)
    placed = on_branch(rows, frozenset(node.position for node in nodes) - active.positions)
    records = [row for row in placed if row.record is not None]
    source.active_records = sum(row.active and not row.repeated & REPEATED["active"] for row in records)
    source.repeats = sum(row.repeated & REPEATED["all"] for row in records)
    source.duplicates = {mode: found for mode in REPEATED if (found := _duplicates(records, mode))}
    source.exceptions = exceptions(placed)
    return placed


def _duplicates(records: Sequence[Row], mode: Branches) -> list[str]:
    held = [row for row in records if not row.repeated & REPEATED[mode] and (row.active or mode == "all")]
    ids = [row.id for row in held]
    addresses = [row.address for row in held if row.address is not None]
    return [
        reason
        for reason, names in (("duplicate_entry_id", ids), ("duplicate_operation_address", addresses))
        if len(set(names)) < len(names)
    ]


def settle(source: Source, nodes: list[Node]) -> Lineage:
    """Find the persisted active branch of a projected source and note it in the source's row."""
    active = lineage.active(nodes)
    source.leaf, source.fingerprint, source.cyclic = active.leaf, active.fingerprint, active.cyclic
    return active
