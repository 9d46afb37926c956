"""`memory.expand`: whole normalized records, re-read from the source, in bounded chunks that join exactly."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Literal, NamedTuple

from pepys import normalise
from pepys.errors import (
    AddressNotFound,
    AmbiguousAddress,
    AmbiguousSession,
    InvalidArgument,
    OutOfBounds,
    SessionNotFound,
    SourceUnavailable,
    StalePointer,
    TextOffsetOutOfBounds,
)
from pepys.index.history import History
from pepys.index.source import Row
from pepys.index.standing import Standing
from pepys.index.view import View
from pepys.model.context import Context
from pepys.model.entry import FACT, Event
from pepys.model.query import ExpandRequest
from pepys.recall import bindings, envelope, evidence, scope, shown
from pepys.spelling import counted

MAX_SELECTORS = 100
MAX_FILES, MAX_FILE_CHARS = 20, 1024
MAX_STRUCTURE_CHARS = 2_000
"""Of the envelope; a larger operation or fact is left out and the record says so."""

MAX_FILES_CHARS = 10_000

WIDEST = 10**12
"""No text offset, and no count of masks, takes more of the envelope."""


def expand(history: History, context: Context, request: ExpandRequest) -> dict[str, object]:
    """Answer an expand request.

    Raises:
        PepysError: With the spec's codes; no source record is returned then.
    """
    _check(request)
    name = scope.SESSION + request.session.strip()
    try:
        return history.answer(lambda view: _Expansion(view, context, request).page(), scope.files(name, context))
    except (SessionNotFound, AmbiguousSession, SourceUnavailable, StalePointer) as error:
        if any(index < 0 for index in request.indices):
            raise OutOfBounds("Indices are not negative.") from error  # wherever they are looked for
        raise


def _check(request: ExpandRequest) -> None:
    if len(request.indices) + len(request.entry_ids) + len(request.operation_addresses) > MAX_SELECTORS:
        raise InvalidArgument(f"At most {MAX_SELECTORS} records can be selected at once; use entryRange.")


class _Chunk(NamedTuple):
    """A run of the text of one record."""

    rank: int  # the record's index
    row: Row
    event: Event
    text: str  # of the whole record, as it is shown
    start: int
    end: int
    anchor: bool | None = None  # whether before and after go around it; None without them
    masks: int = 0  # in the whole record

    @property
    def complete(self) -> bool:
        """Whether the record ends with it."""
        return self.end == len(self.text)

    def as_json(self) -> dict[str, object]:
        """The spec's record."""
        row, event, total = self.row, self.event, len(self.text)
        entry: dict[str, object] = {
            "index": self.rank,
            "entryId": envelope.short(row.id),
            "parentId": envelope.short(row.parent),
            "type": envelope.short(row.type),
            "role": envelope.short(row.role),
            "timestamp": row.time,
            "isError": bool(row.error),
            "text": self.text[self.start : self.end],
            "textRange": {"start": self.start, "end": self.end, "total": total, "complete": self.complete},
        }
        if self.anchor is not None:
            entry["anchor"] = self.anchor
        if self.masks:
            entry["redacted"] = self.masks
        fact = row.type == FACT
        known = {
            "parentEntryId": event.carrier,
            "operationAddress": row.address,
            "tool": row.tool,
            "ref": row.ref,
            "provider": row.provider,
            "action": row.action,
            "outcome": row.outcome,
            "factAddress": row.id if fact else None,
            "carrierEntryId": event.carrier if fact else None,
        }
        entry |= {name: envelope.short(value) for name, value in known.items() if value is not None}
        if fact:
            entry["carrierParentId"] = envelope.short(row.parent)
            entry["carrierFromId"] = envelope.short(event.carrier_from)
        files = [path[:MAX_FILE_CHARS] for path in event.files[:MAX_FILES]]
        structures = (
            ("filesTouched", files or None, MAX_FILES_CHARS),
            ("branchFact" if fact else "operation", event.payload, MAX_STRUCTURE_CHARS),
        )
        for name, structure, most in structures:
            if structure is not None:
                entry |= {name: structure} if envelope.size(structure) <= most else {"structuredTruncated": True}
        return entry

    def within(self, room: int) -> _Chunk:
        """As much of it as *room* holds, one code point at least."""
        frame = envelope.size(self._replace(end=self.start).as_json())
        # Its end will be written with more digits than its start, but no more than the whole one's end.
        digits = len(str(self.end)) - len(str(self.start))
        kept = len(envelope.prefix(self.text[self.start : self.end], room - frame - digits))
        return self._replace(end=min(self.start + max(kept, 1), self.end))


class _Expansion:
    """One request over one view."""

    def __init__(self, view: View, context: Context, request: ExpandRequest) -> None:
        self._context, self._request = context, request
        found = scope.resolve(view, request.session.strip(), context)
        source = view.sources.get(found.path)
        if source is None:
            raise SourceUnavailable(f"{found.path} cannot be read, or is excluded by configuration.")
        self._source = source = view.resolved(source, searchable=False)
        selection = scope.Selection([found], [source], explicit=True)
        standings = view.standings([source], request.branches, scope.live_branches(selection, context), own=True)
        self._standing: Standing = standings[source.generation]
        self._view = view

    def page(self) -> dict[str, object]:
        request, source, standing = self._request, self._source, self._standing
        bindings.check(source, standing, request.expected_source_hash, request.expected_lineage_fingerprint)
        exact = self._exact()
        selected, anchor = self._selected(exact)
        if request.entry_offset > len(selected):
            raise self._out_of_bounds(f"entryOffset {request.entry_offset}")
        following = replace(
            request,
            session=source.path,
            indices=exact,
            entry_ids=(),
            operation_addresses=(),
            expected_source_hash=source.sha256,
            expected_lineage_fingerprint=standing.fingerprint,
        )
        widest = replace(following, entry_offset=len(selected), text_offset=WIDEST)
        room = envelope.ENVELOPE_CHARS - envelope.size({**self._page([], widest), "redacted": WIDEST})
        chunks = _fitting(list(self._chunks(selected[request.entry_offset :], anchor)), room)
        return self._page(chunks, _after(chunks, following, len(selected)))

    def _page(self, chunks: Sequence[_Chunk], following: ExpandRequest | None) -> dict[str, object]:
        entries = [chunk.as_json() for chunk in chunks]
        return {
            "session": self._source.path,
            "sessionId": envelope.short(self._source.session),
            "sourceHash": self._source.sha256,
            "branches": self._request.branches,
            "lineageFingerprint": self._standing.fingerprint,
            "entryCount": self._standing.records,
            "entries": entries,
            "next": None if following is None else envelope.call("memory.expand", following),
            **shown.redacted(entries),
        }

    # Selection

    def _exact(self) -> tuple[int, ...]:
        """The records that are selected one by one, ascending."""
        request, count = self._request, self._standing.records
        beyond = [index for index in request.indices if not 0 <= index < count]
        if beyond:
            raise self._out_of_bounds(f"Index {min(beyond)}")
        within = request.entry_range
        if within is not None and not 0 <= within.first <= within.last < count:
            raise self._out_of_bounds(f"entryRange {within.first}..{within.last}")
        entries = (self._index_of("entry_id", address) for address in request.entry_ids)
        operations = (self._index_of("operation_address", address) for address in request.operation_addresses)
        return tuple(sorted({*request.indices, *entries, *operations}))

    def _selected(self, exact: Sequence[int]) -> tuple[Sequence[int], int | None]:
        """All selected indices, ascending, and the one that before and after go around."""
        request, chosen = self._request, exact
        if request.entry_range is not None:
            span = range(request.entry_range.first, request.entry_range.last + 1)
            chosen = sorted({*exact, *span}) if exact else span
        if not request.before and not request.after:
            return chosen, None
        if len(chosen) != 1:
            raise InvalidArgument("before and after need exactly one selected record.")
        anchor = chosen[0]
        return range(max(anchor - request.before, 0), min(anchor + request.after + 1, self._standing.records)), anchor

    def _index_of(self, kind: Literal["entry_id", "operation_address"], address: str) -> int:
        named = self._view.named(self._source, "id" if kind == "entry_id" else "address", address)
        matches = list(filter(self._standing.holds, named))
        if len(matches) == 1:
            return self._standing.rank(matches[0])
        details = {"addressType": kind, "address": address, "matches": len(matches)}
        words = kind.replace("_", " ")
        if matches:
            raise AmbiguousAddress(f"{len(matches)} records have the {words} {address!r}.", details=details)
        raise AddressNotFound(
            f"No record of the {self._request.branches} branches has the {words} {address!r}.",
            hint='An abandoned branch is read with branches: "all".' if self._request.branches == "active" else "",
            details=details,
        )

    def _out_of_bounds(self, what: str) -> OutOfBounds:
        count = self._standing.records
        return OutOfBounds(
            f"{what} is not within the session's {counted(count, 'record')}.", details={"entryCount": count}
        )

    # Reading

    def _chunks(self, selected: Sequence[int], anchor: int | None) -> Iterator[_Chunk]:
        """The records, the last one perhaps in part, whose text the request has room for; at least one."""
        left, start = self._request.max_chars, self._request.text_offset
        some = selected[: self._request.max_entries]
        rows = [self._row(index) for index in some]
        events = evidence.events([(self._source, row) for row in rows])
        for index, row, found in zip(some, rows, events, strict=True):
            if left <= 0:
                return
            event, masks = shown.payload(self._readable(found), self._context)
            text, spans = shown.text(normalise.text(event, thinking=True, output=True), self._context)
            if start > len(text):
                raise TextOffsetOutOfBounds(
                    f"textOffset {start} lies beyond the record's {len(text)} code points.",
                    details={"textLength": len(text)},
                )
            end = min(start + left, len(text))
            around = None if anchor is None else index == anchor
            yield _Chunk(index, row, event, text, start, end, around, masks + len(spans))
            left -= end - start
            start = 0

    def _row(self, index: int) -> Row:
        row = self._view.record(self._source, self._standing.record(index))
        if row is None:
            raise self._changed()
        return row

    def _readable(self, event: Event | str) -> Event:
        if event == "source_unavailable":
            raise SourceUnavailable(f"{self._source.path} cannot be read.")
        if isinstance(event, str):
            raise self._changed()
        return event

    def _changed(self) -> StalePointer:
        return StalePointer(
            f"{self._source.path} changed while it was read.",
            hint="Call again.",
            details={"sessionFile": self._source.path},
        )


def _fitting(chunks: Sequence[_Chunk], room: int) -> list[_Chunk]:
    """As many *chunks* as *room* holds whole, or else what it holds of the first one."""
    fitting: list[_Chunk] = []
    for chunk in chunks:
        needed = envelope.size(chunk.as_json()) + 1
        if needed > room:
            return fitting or [chunk.within(room - 1)]
        fitting.append(chunk)
        room -= needed
    return fitting


def _after(chunks: Sequence[_Chunk], request: ExpandRequest, selected: int) -> ExpandRequest | None:
    """The request for what comes after *chunks*; None when that was all."""
    done, text_offset = request.entry_offset + len(chunks), 0
    if chunks and not chunks[-1].complete:
        done, text_offset = done - 1, chunks[-1].end
    return replace(request, entry_offset=done, text_offset=text_offset) if done < selected else None
