"""Why a search of events found nothing, in data, and a ready call that would find more. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, replace

from pepys.events.language import Part
from pepys.model.events import SearchRequest, Within
from pepys.spelling import camel

MAX_MATCHES = 100
"""Events without the filters that are looked at to tell which filter removes them."""

_FILTERS = (
    "cwd",
    "kinds",
    "entry_types",
    "roles",
    "tool_names",
    "error_only",
    "time",
    "branch_states",
    "selection_states",
    "files",
)
_WITH_FILES = "file_access"
_BARE = SearchRequest("")


def unfiltered(request: SearchRequest) -> SearchRequest:
    """The request without filters on folders, events and fragments; a session that is named remains."""
    return without(request, _FILTERS)


def without(request: SearchRequest, names: Sequence[str]) -> SearchRequest:
    """The request without the filters *names*."""
    if "files" in names:
        names = (*names, _WITH_FILES)
    return replace(request, **{name: getattr(_BARE, name) for name in names})


def filters(request: SearchRequest) -> Iterator[tuple[str, SearchRequest]]:
    """Every filter that is set, with the request that has only this one."""
    for name in _FILTERS:
        if getattr(request, name) != getattr(_BARE, name):
            yield name, without(request, [other for other in _FILTERS if other != name])


def explained(
    request: SearchRequest,
    counts: Sequence[tuple[Part, int]],
    others: int,
    passing: Mapping[str, int],
    own_matches: int,
) -> dict[str, object]:
    """What an empty answer says.

    Args:
        request: What was asked.
        counts: Every part of the query, and how many events hold it alone, filters aside.
        others: Events (at most `MAX_MATCHES`) that the filters removed.
        passing: Of those, how many each filter, alone, would keep.
        own_matches: Events that hold the query in what Pepys itself wrote.
    """
    why: dict[str, object] = {
        "terms": [{"term": part.text, "phrase": part.quoted, "events": count} for part, count in counts]
    }
    if passing:
        why["withoutFilters"] = others
        why["filters"] = {camel(name): kept for name, kept in passing.items()}
    if own_matches:
        why["ownEvents"] = own_matches
    return {"why": why, "retry": _retry(request, counts, others, passing, own_matches)}


def _retry(
    request: SearchRequest,
    counts: Sequence[tuple[Part, int]],
    others: int,
    passing: Mapping[str, int],
    own_matches: int,
) -> dict[str, object] | None:
    if others:
        removing = [name for name, kept in passing.items() if not kept]
        return _call(without(request, removing or list(passing)))
    if own_matches:
        return _call(replace(request, include_own=True))
    present = [(part, count) for part, count in counts if count]
    if present and len(present) < len(counts):
        return _call(replace(request, query=" ".join(_written(part) for part, _ in present)))
    if len(present) > 1:
        rarest = min(present, key=lambda one: one[1])[0]
        return _call(replace(request, query=_written(rarest)))
    if len(counts) == 1 and len(counts[0][0].words) > 1:
        return _call(replace(request, query=" ".join(counts[0][0].words)))
    return None


def _written(part: Part) -> str:
    return f'"{part.text}"' if part.quoted else part.text


def _call(request: SearchRequest) -> dict[str, object]:
    args: dict[str, object] = {}
    for item in fields(request):
        value = getattr(request, item.name)
        if item.name == "query" or value != item.default:
            args[camel(item.name)] = _plain(value)
    return {"ref": "events.search", "args": args}


def _plain(value: object) -> object:
    if isinstance(value, Within):
        return {name: end for name, end in (("from", value.from_), ("to", value.to)) if end is not None}
    return list(value) if isinstance(value, tuple) else value
