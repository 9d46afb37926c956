"""Hits: evidence of what was found, re-read from the source, and the call that opens it (spec 1, "Compact results")."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from pepys.index import document
from pepys.index.document import Place
from pepys.index.source import Row, Source
from pepys.model.entry import Event
from pepys.model.query import ExpandRequest
from pepys.recall import cold, envelope, scope, shown, snippet
from pepys.recall.cold import Candidate
from pepys.recall.look import Look
from pepys.recall.matches import Found
from pepys.text import query_terms

Json = dict[str, object]


def hits(look: Look, page: Sequence[Found]) -> Iterator[Json]:
    """The hits of a page. A record that cannot be re-read has no text, and coverage says why."""
    places = [found.at for found in page if isinstance(found.at, Place)]
    records = {place: (source, row, event) for place, source, row, event in look.events(places)}
    for found in page:
        if isinstance(found.at, Candidate):
            yield _session(look, found.at)
        elif found.at in records:
            yield _entry(look, found, *records[found.at])


def _entry(look: Look, found: Found, source: Source, row: Row, event: Event | str) -> Json:
    standing = look.standings[source.generation]
    index = standing.rank(row)
    following = ExpandRequest(
        session=source.path,
        branches=look.request.branches,
        indices=(index,),
        expected_source_hash=source.sha256,
        expected_lineage_fingerprint=standing.fingerprint,
    )
    follow = envelope.call("memory.expand", following)
    hit: Json = {
        "kind": "entry",
        "sessionId": envelope.short(source.session),
        "tier": source.tier,
        "index": index,
        "entryId": envelope.short(row.id),
        "parentId": envelope.short(row.parent),
        "operationAddress": envelope.short(row.address),
        "type": envelope.short(row.type),
        "role": envelope.short(row.role),
        "tool": envelope.short(row.tool),
        "ref": envelope.short(row.ref),
        "provider": envelope.short(row.provider),
        "action": envelope.short(row.action),
        **({} if row.outcome is None else {"outcome": row.outcome}),
        "timestamp": row.time,
        "isError": bool(row.error),
        "score": round(found.score, 6),
        **_quoted(look, found, event),
        "follow": {**follow, "args": {"branches": look.request.branches, **_args(follow)}},
    }
    if source.kind != "session":
        hit["sessionKind"] = source.kind
    if source.session in look.shared:
        hit["file"] = source.path
    return _named(look, source, hit)


def _quoted(look: Look, found: Found, event: Event | str) -> Json:
    """The snippet, whether anything was cut, and how many credentials are masked in it."""
    if isinstance(event, str):
        look.coverage.reasons.add(event)
        return {"snippet": "", "truncated": False}
    searched, entire = look.text(event), document.text(event, look.policy.of_whole_entries())
    start, end = snippet.window(len(searched), _anchor(look, found, searched), look.request.snippet_chars)
    whole = shown.text(entire, look.context)
    masks = whole.masks(start, end)
    return {
        "snippet": snippet.cut(whole.text[: len(searched)], start, end),
        "truncated": end - start < len(entire),
        **({"redacted": masks} if masks else {}),
    }


def _anchor(look: Look, found: Found, text: str) -> int:
    query = look.request.query.strip()
    if not query or len(text) <= look.request.snippet_chars:
        return 0
    if found.offset is not None:
        return found.offset
    if look.request.query_mode == "phrase":
        return snippet.phrase_anchor(text, query)
    return snippet.term_anchor(text, query_terms(query))


def _session(look: Look, found: Candidate) -> Json:
    """A cold session: evidence of the session only, and a call that resolves it."""
    source, request = found.source, look.request
    standing = look.view.standings([source], request.branches, {}, own=True)[source.generation]
    resolving = replace(
        request,
        scope=scope.SESSION + source.path,
        offset=0,
        entry_range=None,
        expected_source_hash=source.sha256,
        expected_lineage_fingerprint=standing.fingerprint,
    )
    hit: Json = {
        "kind": "session",
        "sessionId": envelope.short(source.session),
        "tier": "cold",
        "cwd": envelope.short(source.cwd or ""),
        "lastTimestamp": cold.last_time(found.digest),
        "score": round(found.score, 6),
        "matchedTerms": found.terms,
        "matchedStructuralEntries": found.structural,
        "follow": envelope.call("memory.recall", resolving),
    }
    return _named(look, source, hit)


def _named(look: Look, source: Source, hit: Json) -> Json:
    """*hit* with the name of its session, if it has one."""
    if not source.name:
        return hit
    name = shown.text(source.name, look.context)
    masks = len(name.spans) + (masked if isinstance(masked := hit.get("redacted"), int) else 0)
    return {**hit, "name": envelope.short(name.text), **({"redacted": masks} if masks else {})}


def _args(token: Json) -> Json:
    args = token["args"]
    return args if isinstance(args, dict) else {}
