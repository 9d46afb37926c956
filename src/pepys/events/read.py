"""`events.read`: one event from its source, in exact bounded windows, with its neighbours (spec 3)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from pepys.errors import EventNotFound, SourceUnavailable, StalePointer
from pepys.events import forks, nodes
from pepys.events.corpus import Corpus, Located, Selection, files
from pepys.events.coverage import Coverage
from pepys.events.fragments import Fragment, fragments, role
from pepys.events.omitted import omitted
from pepys.events.states import Fork, Neighbours, Node
from pepys.events.times import iso
from pepys.hosts.reading import read_values
from pepys.index.history import History
from pepys.index.source import Row, Source
from pepys.index.view import View
from pepys.model.context import Context
from pepys.model.entry import Event
from pepys.model.events import MAX_NEIGHBOURS, MAX_WINDOW_CHARS, ReadRequest
from pepys.recall import evidence, shown

MAX_FRAGMENTS = 20
TOTAL_CHARS = 6000
PREVIEW_CHARS = 2000
ELLIPSIS = "…"


def read(history: History, context: Context, request: ReadRequest) -> dict[str, object]:
    """Answer a read.

    Raises:
        EventNotFound: There is no such event or fragment, or the caller may not see it.
        AmbiguousSession: Several files of the session hold different entries of this id.
        SourceUnavailable: The source cannot be read now.
        StalePointer: It changed while it was read.
        InvalidEventArgument: The caller's own session cannot be told or cut off.
    """
    return history.answer(lambda view: _read(view, context, request), files(context, request.session_id))


def event(located: Located) -> Event:
    """What a located entry holds now, if that is what was indexed.

    Raises:
        SourceUnavailable: The source cannot be read now.
        StalePointer: It holds something else.
    """
    (found,) = evidence.events([(located.source, located.row)])
    if found == "source_unavailable":
        raise SourceUnavailable("The source of this event cannot be read.")
    if isinstance(found, str):
        raise StalePointer("The source of this event changed while it was read.", hint="Call again.")
    return found


def _read(view: View, context: Context, request: ReadRequest) -> dict[str, object]:
    corpus = Corpus(view, context)
    located = corpus.find(request.session_id, request.entry_id)
    source, row = located.source, located.row
    found = event(located)
    parts = fragments(found)
    chosen = parts if request.fragment_id is None else [one for one in parts if one.id == request.fragment_id]
    if request.fragment_id is not None and not chosen:
        raise EventNotFound
    returned = chosen[:MAX_FRAGMENTS]
    parts_shown = [fragment(one, request, len(returned), context) for one in returned]
    result: dict[str, object] = {
        "sessionId": source.session,
        "entryId": row.id,
        "entryType": row.type,
        "timestamp": iso(row.time),
        "parentId": row.parent,
        **nodes.states(located.tree, row.position),
        "role": role(row.role, row.type),
        "contextRole": located.tree.state(row.position).context,
        "fragments": parts_shown,
        "fragmentCoverage": {
            "total": len(parts),
            "returned": len(returned),
            "omitted": len(parts) - len(returned),
            "truncated": request.fragment_id is None and len(parts) > len(returned),
        },
        "neighbors": _neighbours(corpus, located, request, context),
        "source": {"file": source.path, "byteStart": row.start, "byteEnd": row.end},
    }
    if payload := _payload(source, row):
        result["omittedPayload"] = payload
    selection = Selection([source], {}, explicit=True)
    result |= shown.redacted(parts_shown)
    return {**result, "coverage": Coverage(corpus, selection, own=True).as_json()}


def _payload(source: Source, row: Row) -> list[dict[str, object]]:
    try:
        (record,) = read_values(source.path, [(row.start, row.end)])
    except OSError:  # gone since the event was read
        return []
    return [] if record is None else omitted(record)


# Windows


def fragment(part: Fragment, request: ReadRequest, among: int, context: Context) -> dict[str, object]:
    """A fragment within the budget that it shares with *among* fragments in all, credentials masked where they are."""
    made: dict[str, object] = {"fragmentId": part.id, "semanticKind": part.kind}
    if part.tool is not None:
        made["toolName"] = part.tool
    if part.is_error or part.kind in ("tool.result", "bash.output", "python.output"):
        made["isError"] = part.is_error
    if part.custom_type is not None:
        made["customType"] = part.custom_type
    room = max(TOTAL_CHARS // among, 1)
    found = shown.text(part.text, context)
    if request.offset is None:
        preview = head_tail(found.text, min(PREVIEW_CHARS, room))
    else:
        preview = window(found.text, request.offset, min(request.window_chars, MAX_WINDOW_CHARS, room))
    ranges = [(one["start"], one["end"]) for one in preview["shownRanges"]]
    masks = sum(any(first < end and last > start for start, end in ranges) for first, last in found.spans)
    if part.gaps:
        made["notSearchedRanges"] = [_range(*gap) for gap in part.gaps]
    return {**made, "preview": preview, **({"redacted": masks} if masks else {})}


def head_tail(text: str, most: int) -> dict[str, Any]:
    """All of *text*, or *most* code points of its beginning and end around an ellipsis, which no range counts."""
    total = len(text)
    if total <= most:
        return _preview(text, total, [(0, total)])
    head, tail = (most + 1) // 2, most // 2
    cut = text[:head] + ELLIPSIS + text[total - tail :]
    return _preview(cut, total, [(0, head), (total - tail, total)])


def window(text: str, offset: int, most: int) -> dict[str, Any]:
    """*most* code points of *text* from *offset* on; nothing at or past its end."""
    start = min(offset, len(text))
    end = min(start + most, len(text))
    return _preview(text[start:end], len(text), [(start, end)])


def _preview(text: str, total: int, ranges: Sequence[tuple[int, int]]) -> dict[str, Any]:
    kept = [(start, end) for start, end in ranges if start < end]
    return {
        "text": text,
        "totalChars": total,
        "shownRanges": [_range(*one) for one in kept],
        "omittedRanges": [_range(*one) for one in _gaps(kept, total)],
        "truncated": kept != ([(0, total)] if total else []),
    }


def _range(start: int, end: int) -> dict[str, int]:
    return {"start": start, "end": end}


def _gaps(ranges: Sequence[tuple[int, int]], total: int) -> Iterator[tuple[int, int]]:
    at = 0
    for start, end in (*ranges, (total, total)):
        if at < start:
            yield at, start
        at = end


# Neighbours


def _neighbours(corpus: Corpus, located: Located, request: ReadRequest, context: Context) -> dict[str, object]:
    source, made, row = located.source, located.tree, located.row
    before, after = min(request.before, MAX_NEIGHBOURS), min(request.after, MAX_NEIGHBOURS)
    along = made.along_branch if request.order == "branch" else made.in_file
    around = along(row.position, before, after, located.cutoff)
    listed = nodes.rows(corpus.view, source, [one.position for one in (*around.before, *around.after)])
    texts = nodes.previews(source, listed, context)

    def described(some: Sequence[Node]) -> list[dict[str, object]]:
        positions = [one.position for one in some]
        return [nodes.node(source, made, listed[at], texts[at]) for at in positions if at in listed]

    receipts = [_receipt(source, fork) for fork in around.forks]
    if request.order == "branch":
        receipts = _with_session_forks(corpus, located, around, after, receipts)
    return {
        "order": request.order,
        "before": described(around.before),
        "after": described(around.after),
        "forks": receipts,
    }


def _receipt(source: Source, fork: Fork) -> dict[str, object]:
    receipt: dict[str, object] = {
        "kind": "in-session",
        "at": {"sessionId": source.session, "entryId": fork.at.id},
        "candidates": [{"sessionId": source.session, "entryId": one.id} for one in fork.candidates],
    }
    if fork.chosen is not None:
        receipt["chosen"] = {"sessionId": source.session, "entryId": fork.chosen.id}
    return receipt


def _with_session_forks(
    corpus: Corpus, located: Located, around: Neighbours, after: int, receipts: list[dict[str, object]]
) -> list[dict[str, object]]:
    """The receipts, with those of forks across sessions in place of what this session alone knows of the same fork."""
    path = [*around.before, located.tree.nodes[located.row.position], *around.after]
    crossed = path if len(around.after) < after else path[:-1]
    found = {one.at.id: one for one in forks.forks(corpus, located.source)}
    made: dict[str, dict[str, object]] = {}
    for receipt in receipts:
        at = receipt["at"]
        assert isinstance(at, dict)  # noqa: S101
        made[at["entryId"]] = receipt
    # A label at the end of what is shown hides which way the path goes on.
    ids = [one.id for one in (*path, *forks.onward(located.tree, path[-1].position))]
    ordered: list[dict[str, object]] = []
    for number, one in enumerate(crossed):
        fork = found.get(one.id)
        if fork is not None:
            ordered.append(_session_receipt(located.source, fork, ids[number + 1 :]))
        elif one.id in made:
            ordered.append(made[one.id])
    return ordered


def _session_receipt(source: Source, fork: forks.SessionFork, later: Sequence[str]) -> dict[str, object]:
    candidates = [one.identity for one in fork.candidates]
    receipt: dict[str, object] = {
        "kind": "session-fork",
        "at": {"sessionId": fork.at.session, "entryId": fork.at.id},
        "candidates": [{"sessionId": one.session, "entryId": one.id} for one in candidates],
    }
    # What the path goes on with may be a copy of what the original goes on with.
    passed = [one for one in candidates if one.id in later and one.session in (source.session, fork.at.session)]
    own = [one for one in passed if one.session == source.session] or passed
    if own:
        receipt["chosen"] = {"sessionId": own[0].session, "entryId": own[0].id}
    return receipt
