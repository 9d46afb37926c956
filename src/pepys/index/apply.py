"""Carry out a plan. Only the holder of the index lock does.

Order of commits. Rows and the intent are committed first: a new reading's generation is garbage until a
source points at it, a growing source is marked as appending. Then the text. Then, in one transaction, the sources are
switched over. After a crash anywhere between, readers ignore what no source points at, and the next writer removes it.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from pepys.hosts import HOSTS
from pepys.hosts.reading import examine
from pepys.index.catalog import Catalog
from pepys.index.digest import digests
from pepys.index.document import Document
from pepys.index.engines.tantivy import TantivyEngine
from pepys.index.plan import Step
from pepys.index.policy import Policy
from pepys.index.projection import Projection, checkpoint, concluded, settle
from pepys.index.refreshed import Refreshed
from pepys.index.source import Row, Source, exceptions, repetitions
from pepys.model.context import Progress
from pepys.model.source import Found, Listing

BATCH_BYTES = 48 << 20
"""Source bytes between two commits: a commit costs some 10 ms, a crash at most this much work."""

ROWS_AT_ONCE = 2_000
PROGRESS_S = 0.1


class Applying:
    """One run of a writer over the steps of a plan."""

    def __init__(
        self,
        catalog: Catalog,
        engine: TantivyEngine,
        policy: Policy,
        listing: Listing,
        *,
        deadline: float | None = None,
        progress: Callable[[Progress], None] | None = None,
    ) -> None:
        """Prepare a run.

        Args:
            catalog: Writable.
            engine: Writable.
            policy: What may become searchable.
            listing: Where the steps' sources were seen.
            deadline: On the monotonic clock, seconds: start no source after it.
            progress: Told at most ten times a second.
        """
        self._catalog, self._engine, self._policy, self._listing = catalog, engine, policy, listing
        self._deadline, self._progress = deadline, progress
        self._told = 0.0
        self._total_sources = self._done_sources = self._total_bytes = self._done_bytes = 0

    def run(self, steps: Iterable[Step], known: Mapping[str, Source], result: Refreshed) -> None:
        """Carry out *steps* in their order, noting in *result* what was done, what failed and what was left."""
        todo = deque(steps)
        self._total_sources, self._total_bytes = len(todo), sum(map(self._size, todo))
        while todo:
            self._batch(todo, known, result)
            if todo and self._late():
                result.left.update((step.path, "catching_up") for step in todo)
                break
        self._sweep()
        self._tell("", 0, last=True)

    def _batch(self, todo: deque[Step], known: Mapping[str, Source], result: Refreshed) -> None:
        """Carry out steps from the left of *todo*, up to a commit."""
        garbage = self._catalog.garbage()
        self._engine.remove(garbage)
        switched: list[_Switch] = []
        size = 0
        with self._catalog.transaction():
            for generation in garbage:
                self._catalog.discard(generation)
            while todo and size < BATCH_BYTES and not (size and self._late()):
                step = todo.popleft()
                previous = known.get(step.path)
                if step.deed == "drop":
                    switched.append(_Switch(step, None, previous, (), ()))
                else:
                    try:
                        read = self._read if step.tier == "hot" else self._digest
                        switched.append(read(step, self._listing.found[step.path], previous))
                    except _Changed:
                        result.failed[step.path] = "source_changed_during_index"
                    except OSError:
                        result.failed[step.path] = "source_unavailable"
                size += self._size(step)
                self._done_sources += 1
                self._done_bytes += self._size(step)
        self._engine.commit()
        with self._catalog.transaction():
            for switch in switched:
                self._switch(switch, result)
            self._catalog.swept(garbage)

    def _read(self, step: Step, found: Found, previous: Source | None) -> _Switch:
        examined_ns = time.time_ns()
        goes_on = checkpoint(previous, found) if step.deed == "read" else None
        reading = examine(HOSTS[found.host], found.path, goes_on)
        if reading.grown and previous is not None:
            self._catalog.mark_appending([found.path])
            base, generation = previous, previous.generation
        else:
            base, generation = None, self._catalog.new_generation()
        projection = Projection(reading, found, self._policy, generation, examined_ns=examined_ns, previous=base)
        self._engine.add(self._stored(projection))
        source = projection.source
        nodes = self._catalog.nodes(generation)
        lineage = settle(source, nodes)
        inactive = {node.position for node in nodes} - lineage.positions
        was = self._catalog.inactive_positions(generation)
        return _Switch(step, source, previous, tuple(was - inactive), tuple(inactive - was))

    def _digest(self, step: Step, found: Found, previous: Source | None) -> _Switch:
        """Keep a cold source's digests, and neither rows nor documents. It is read twice: its branch is known last."""
        generation = self._catalog.new_generation()
        policy = self._policy.of_whole_entries()

        def projection() -> Projection:
            examined_ns = time.time_ns()
            reading = examine(HOSTS[found.host], found.path, None)
            return Projection(reading, found, policy, generation, examined_ns=examined_ns, previous=None)

        first = projection()
        rows = concluded(first.source, [row for row, _ in first])
        source, again = first.source, projection()
        found_digests = digests(source, rows, _one_by_one(again, rows), policy)
        if again.source.sha256 != source.sha256:
            raise _Changed
        source.tier, source.policy = "cold", policy.record("cold")
        for branches, (digest, reasons) in found_digests.items():
            if digest is not None:
                self._catalog.add_digest(generation, branches, digest)
                source.digests = {**source.digests, branches: reasons}
        return _Switch(step, source, previous, (), ())

    def _stored(self, projection: Projection) -> Iterator[Document]:
        """The documents of a projection, its rows being stored on the way."""
        rows: list[Row] = []
        for row, document in projection:
            rows.append(row)
            if document is not None:
                yield document
            if len(rows) >= ROWS_AT_ONCE:
                self._catalog.add_rows(projection.source.generation, rows)
                rows.clear()
                self._tell(projection.source.path, row.end)
        self._catalog.add_rows(projection.source.generation, rows)
        self._tell(projection.source.path, projection.source.checkpoint)

    def _switch(self, switch: _Switch, result: Refreshed) -> None:
        source, previous = switch.source, switch.previous
        if source is None:
            self._catalog.drop(switch.step.path)
            result.removed += 1
            return
        if source.tier == "hot":
            self._settle_rows(source, switch)
        self._catalog.put(source)
        result.bytes_read += source.stamp.size
        if previous is None:
            result.new += 1
        elif previous.generation != source.generation:
            self._catalog.discard(previous.generation)
            result.rebuilt += 1
        elif source.checkpoint > previous.checkpoint:
            result.grown += 1
        else:
            # A stamp too young to prove anything was all that called for the reading.
            result.unchanged += 1

    def _settle_rows(self, source: Source, switch: _Switch) -> None:
        self._catalog.set_active(source.generation, switch.active, switch.inactive)
        if source.facts:
            self._catalog.set_repeated(source.generation, repetitions(self._catalog.facts(source.generation)))
        counts = self._catalog.record_counts(source.generation)
        source.records, source.active_records, source.own_records, source.repeats = counts
        source.duplicates = self._catalog.duplicates(source.generation)
        source.exceptions = exceptions(self._catalog.exceptional_rows(source.generation))

    def _sweep(self) -> None:
        garbage = self._catalog.garbage()
        if garbage:
            self._engine.remove(garbage)
            self._engine.commit()
            with self._catalog.transaction():
                for generation in garbage:
                    self._catalog.discard(generation)
                self._catalog.swept(garbage)

    def _size(self, step: Step) -> int:
        found = self._listing.found.get(step.path)
        return 0 if found is None else found.stamp.size

    def _late(self) -> bool:
        return self._deadline is not None and time.monotonic() >= self._deadline

    def _tell(self, path: str, at: int, *, last: bool = False) -> None:
        now = time.monotonic()
        if self._progress is not None and (last or now - self._told >= PROGRESS_S):
            self._told = now
            done = min(self._done_bytes + at, self._total_bytes)
            self._progress(Progress(done, self._total_bytes, self._done_sources, self._total_sources, path))


class _Changed(Exception):
    """A source is not what it was a moment ago."""


def _one_by_one(projection: Projection, rows: Sequence[Row]) -> Iterator[tuple[Row, Document | None]]:
    """The rows of a second reading, as long as it finds as many as the first one did."""
    projected = iter(projection)
    for _ in rows:
        try:
            yield next(projected)
        except StopIteration:
            raise _Changed from None
    if any(True for _ in projected):
        raise _Changed


class _Switch(NamedTuple):
    """What the last transaction of a batch does to one source."""

    step: Step
    source: Source | None  # None: the source is gone
    previous: Source | None
    active: tuple[int, ...]  # entry positions that became active
    inactive: tuple[int, ...]
