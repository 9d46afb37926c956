"""`memory.expand`: whole normalized records, re-read from the source, in bounded chunks that join exactly."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pepys import normalise
from pepys.errors import (
    AddressNotFound,
    AmbiguousAddress,
    InvalidArgument,
    OutOfBounds,
    SourceUnavailable,
    StalePointer,
    TextOffsetOutOfBounds,
)
from pepys.index.history import History
from pepys.index.source import Row
from pepys.index.standing import Standing
from pepys.index.view import View
from pepys.model.context import Context
from pepys.model.entry import Event
from pepys.model.query import ExpandRequest
from pepys.recall import bindings, envelope, evidence, scope

MAX_SELECTORS = 100
MAX_FILES, MAX_FILE_CHARS = 20, 1024


def expand(history: History, context: Context, request: ExpandRequest) -> dict[str, object]:
    """Answer an expand request.

    Raises:
        PepysError: With the spec's codes; no source record is returned then.
    """
    _check(request)
    name = scope.SESSION + request.session.strip()
    return history.answer(lambda view: _Expansion(view, context, request).page(), scope.files(name, context))


def _check(request: ExpandRequest) -> None:
    if any(index < 0 for index in request.indices):
        raise OutOfBounds("Indices are not negative.")
    if len(request.indices) + len(request.entry_ids) > MAX_SELECTORS:
        raise InvalidArgument(f"At most {MAX_SELECTORS} records can be selected at once; use entryRange.")


class _Expansion:
    """One request over one view."""

    def __init__(self, view: View, context: Context, request: ExpandRequest) -> None:
        self._request = request
        found = scope.resolve(view, request.session.strip(), context)
        source = view.sources.get(found.path)
        if source is None:
            raise SourceUnavailable(f"{found.path} cannot be read, or is excluded by configuration.")
        self._source = source
        selection = scope.Selection([found], [source], explicit=True)
        standings = view.standings([source], request.branches, scope.live_branches(selection, context), own=True)
        self._standing: Standing = standings[source.generation]
        self._rows = [row for row in view.rows(source) if self._standing.holds(row)]

    def page(self) -> dict[str, object]:
        request, source, standing = self._request, self._source, self._standing
        bindings.check(source, standing, request.expected_source_hash, request.expected_lineage_fingerprint)
        selected, anchor = self._selected()
        if request.entry_offset > len(selected):
            raise self._out_of_bounds(f"entryOffset {request.entry_offset}")
        entries, done = self._entries(selected[request.entry_offset :], anchor)
        page = self._page(entries, selected, done)
        while envelope.size(page) > envelope.ENVELOPE_CHARS:
            entries, done = _shrunk(entries, page, request)
            page = self._page(entries, selected, done)
        return page

    def _page(
        self, entries: list[dict[str, object]], selected: Sequence[int], done: tuple[int, int]
    ) -> dict[str, object]:
        return {
            "session": self._source.path,
            "sessionId": self._source.session,
            "sourceHash": self._source.sha256,
            "branches": self._request.branches,
            "lineageFingerprint": self._standing.fingerprint,
            "entryCount": len(self._rows),
            "entries": entries,
            "next": self._next(selected, *done),
        }

    # Selection

    def _selected(self) -> tuple[Sequence[int], int | None]:
        """The selected indices, ascending, and the anchor of before and after."""
        request, count = self._request, len(self._rows)
        chosen = {*request.indices, *map(self._index_of, request.entry_ids)}
        beyond = [index for index in chosen if index >= count]
        if beyond:
            raise self._out_of_bounds(f"Index {min(beyond)}")
        within = request.entry_range
        if within is not None:
            if not 0 <= within.first <= within.last < count:
                raise self._out_of_bounds(f"entryRange {within.first}..{within.last}")
            if not chosen:
                span: Sequence[int] = range(within.first, within.last + 1)
                return self._around(span)
            chosen.update(range(within.first, within.last + 1))
        return self._around(sorted(chosen))

    def _around(self, chosen: Sequence[int]) -> tuple[Sequence[int], int | None]:
        request = self._request
        if not request.before and not request.after:
            return chosen, None
        if len(chosen) != 1:
            raise InvalidArgument("before and after need exactly one selected record.")
        anchor = chosen[0]
        return range(max(anchor - request.before, 0), min(anchor + request.after + 1, len(self._rows))), anchor

    def _index_of(self, entry_id: str) -> int:
        matches = [index for index, row in enumerate(self._rows) if row.id == entry_id]
        if len(matches) == 1:
            return matches[0]
        details = {"addressType": "entry_id", "address": entry_id, "matches": len(matches)}
        if matches:
            raise AmbiguousAddress(f"{len(matches)} records have the entry id {entry_id!r}.", details=details)
        raise AddressNotFound(
            f"No record of the {self._request.branches} branches has the entry id {entry_id!r}.",
            hint='An abandoned branch is read with branches: "all".' if self._request.branches == "active" else "",
            details=details,
        )

    def _out_of_bounds(self, what: str) -> OutOfBounds:
        count = len(self._rows)
        return OutOfBounds(f"{what} is not within the session's {count} records.", details={"entryCount": count})

    # Reading

    def _entries(self, selected: Sequence[int], anchor: int | None) -> tuple[list[dict[str, object]], tuple[int, int]]:
        """The records that fit, and where to go on: (selected records done, code points of the next one done)."""
        request = self._request
        some = selected[: request.max_entries]
        events = evidence.events([(self._source, self._rows[index]) for index in some])
        entries: list[dict[str, object]] = []
        left, start = request.max_chars, request.text_offset
        done = request.entry_offset
        for index, event in zip(some, events, strict=True):
            if entries and left <= 0:
                break
            whole = normalise.text(self._readable(event), thinking=True, output=True)
            if start > len(whole):
                raise TextOffsetOutOfBounds(
                    f"textOffset {start} lies beyond the record's {len(whole)} code points.",
                    details={"textLength": len(whole)},
                )
            end = min(start + left, len(whole))
            if end == start < len(whole):
                break
            entries.append(self._entry(index, self._readable(event), whole, start, end, anchor))
            left -= end - start
            if end < len(whole):
                return entries, (done, end)
            done, start = done + 1, 0
        return entries, (done, 0)

    def _readable(self, event: Event | str) -> Event:
        if event == "source_unavailable":
            raise SourceUnavailable(f"{self._source.path} cannot be read.")
        if isinstance(event, str):
            raise StalePointer(
                f"{self._source.path} changed while it was read.",
                hint="Call again.",
                details={"sessionFile": self._source.path},
            )
        return event

    def _entry(
        self, index: int, event: Event, whole: str, start: int, end: int, anchor: int | None
    ) -> dict[str, object]:
        row: Row = self._rows[index]
        entry: dict[str, object] = {
            "index": index,
            "entryId": row.id,
            "parentId": row.parent,
            "type": row.type,
            "role": row.role,
            "timestamp": row.time,
            "isError": bool(row.error),
            "text": whole[start:end],
            "textRange": {"start": start, "end": end, "total": len(whole), "complete": end == len(whole)},
        }
        if anchor is not None:
            entry["anchor"] = index == anchor
        if row.tool is not None:
            entry["tool"] = row.tool
        if event.files:
            entry["filesTouched"] = [path[:MAX_FILE_CHARS] for path in event.files[:MAX_FILES]]
        return entry

    def _next(self, selected: Sequence[int], entry_offset: int, text_offset: int) -> dict[str, object] | None:
        if entry_offset >= len(selected):
            return None
        request = self._request
        anchored = request.before or request.after
        following = replace(
            request,
            session=self._source.path,
            entry_ids=request.entry_ids if anchored else (),
            indices=request.indices if anchored else () if isinstance(selected, range) else tuple(selected),
            entry_range=request.entry_range if anchored or isinstance(selected, range) else None,
            entry_offset=entry_offset,
            text_offset=text_offset,
            expected_source_hash=self._source.sha256,
            expected_lineage_fingerprint=self._standing.fingerprint,
        )
        if len(following.indices) > MAX_SELECTORS:
            following = replace(
                following, indices=request.indices, entry_ids=request.entry_ids, entry_range=request.entry_range
            )
        return envelope.call("memory.expand", following)


def _shrunk(
    entries: list[dict[str, object]], page: dict[str, object], request: ExpandRequest
) -> tuple[list[dict[str, object]], tuple[int, int]]:
    """Fewer records, or less of the only one; what is left out is in the next chunk."""
    if len(entries) > 1:
        return entries[:-1], (request.entry_offset + len(entries) - 1, 0)
    entry = dict(entries[0])
    over = envelope.size(page) - envelope.ENVELOPE_CHARS
    span, text = dict(entry["textRange"]), str(entry["text"])  # type: ignore[call-overload]
    # Escapes make a code point up to six characters long.
    kept = max(1, min(len(text) - 1, len(text) - over // 6 - 1))
    if kept >= len(text):
        kept = 1
    entry["text"] = text[:kept]
    end = span["start"] + kept
    entry["textRange"] = {**span, "end": end, "complete": end == span["total"]}
    return [entry], (request.entry_offset, end) if end < span["total"] else (request.entry_offset + 1, 0)
