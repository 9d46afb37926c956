"""Facts in the details of a branch summary: what was said, done and run on a branch that was left (spec 1).

Details are valid as a whole or not at all. The prose of the summary itself is never read for facts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from pepys.model.entry import FACT, Event, Passage
from pepys.normalise.details import Children, has, nodes, outcome, printed, route, size, whole
from pepys.normalise.operations import TOOL, passages
from pepys.normalise.passages import files

_KIND = "pi-fabric.branch-summary"
_MAX_BYTES = 128 * 1024
_MAX_FACTS, _MAX_SECTIONS = 256, 64
_MAX_NODES, _MAX_MEMBERS, _MAX_DEPTH = 4096, 256, 16
_MAX_NAME_BYTES, _MAX_DESCRIPTION_BYTES = 256, 1024
_RUN = "call:"

_DETAILS = frozenset({"kind", "version", "source", "facts", "omittedFacts", "sections", "request"})
_SOURCE = frozenset({"firstEntryId", "lastEntryId", "entryCount"})
_SOURCE_OPTIONAL = frozenset({"oldLeafId"})
_REQUEST = frozenset({"text", "sourceBytes", "truncated"})
_COMMON = frozenset({"kind", "entryId", "subordinal", "address"})


def facts(event: Event) -> Children:
    """The facts of a branch summary; of one with details of another kind, none."""
    details = event.entry.details
    if details is None or details.get("kind") != _KIND:
        return Children()
    if not _valid(details):
        return Children(notices=("rejected_branch_summary",))
    found = details["facts"]
    counts = Counter(fact["address"] for fact in found)
    repeated = [fact for fact in found if counts[fact["address"]] > 1]
    if repeated:
        notices = ["duplicate_branch_fact_address"]
        if any(fact["kind"] == "operation" for fact in repeated):
            notices.append("duplicate_operation_address")
        return Children(notices=tuple(notices))
    return Children(tuple(_child(event, fact) for fact in found))


def _valid(details: Mapping[str, Any]) -> bool:
    if not has(details, _DETAILS):
        return False
    version, source, request = whole(details["version"]), details["source"], details["request"]
    found, sections = details["facts"], details["sections"]
    return (
        version in (1, 2)
        and isinstance(source, dict)
        and has(source, _SOURCE, _SOURCE_OPTIONAL)
        and isinstance(source["firstEntryId"], str)
        and isinstance(source["lastEntryId"], str)
        and whole(source["entryCount"]) is not None
        and isinstance(source.get("oldLeafId"), str | None)
        and whole(details["omittedFacts"]) is not None
        and isinstance(sections, list)
        and len(sections) <= _MAX_SECTIONS
        and all(isinstance(section, str) for section in sections)
        and isinstance(request, dict)
        and has(request, _REQUEST)
        and isinstance(request["text"], str)
        and whole(request["sourceBytes"]) is not None
        and isinstance(request["truncated"], bool)
        and isinstance(found, list)
        and len(found) <= _MAX_FACTS
        and all(_valid_fact(fact, version) for fact in found)
        and _bounded(found)
        and size(details) <= _MAX_BYTES  # last: only now its nesting is known to have a bound
    )


def _bounded(found: list[dict[str, Any]]) -> bool:
    """Whether the free values in all facts are JSON, and together of no more nodes than allowed."""
    free = (fact[key] for fact in found for key in ("args", "result", "details") if key in fact)
    total = 0
    for value in free:
        count = nodes(value, _MAX_DEPTH, _MAX_MEMBERS)
        if count is None:
            return False
        total += count
    return total <= _MAX_NODES


def _valid_fact(fact: object, version: int | None) -> bool:
    if not isinstance(fact, dict) or not fact.keys() >= _COMMON:
        return False
    subordinal = fact["subordinal"]
    if not isinstance(subordinal, str):
        subordinal = whole(subordinal)
    if not isinstance(fact["entryId"], str) or subordinal is None:
        return False
    kind = fact["kind"]
    known = _KINDS.get(kind) if isinstance(kind, str) and not (version == 1 and kind == "fabricRun") else None
    return known is not None and fact["address"] == f"{fact['entryId']}/{subordinal}" and known(fact)


def _valid_user(fact: dict[str, Any]) -> bool:
    return has(fact, _COMMON | {"text"}) and isinstance(fact["text"], str)


def _valid_message(fact: dict[str, Any]) -> bool:
    return (
        has(fact, _COMMON | {"customType", "text", "display"}, {"details"})
        and isinstance(fact["customType"], str)
        and isinstance(fact["text"], str)
        and isinstance(fact["display"], bool)
    )


def _valid_phase(fact: dict[str, Any]) -> bool:
    return has(fact, _COMMON | {"phase"}) and isinstance(fact["phase"], str)


def _valid_operation(fact: dict[str, Any]) -> bool:
    return (
        has(fact, _COMMON | {"ref", "tool", "args", "outcome"}, {"provider", "action", "error", "result"})
        and isinstance(fact["ref"], str)
        and isinstance(fact["tool"], str)
        and isinstance(fact["args"], dict)
        and outcome(fact["outcome"]) is not None
        and all(isinstance(fact.get(key, ""), str) for key in ("provider", "action", "error"))
    )


def _valid_run(fact: dict[str, Any]) -> bool:
    subordinal, name, description = fact["subordinal"], fact.get("name"), fact.get("description", "")
    return (
        has(fact, _COMMON | {"name", "outcome"}, {"description"})
        and isinstance(subordinal, str)
        and subordinal.startswith(_RUN)
        and subordinal != _RUN
        and isinstance(name, str)
        and bool(name.strip())
        and _bytes(name) <= _MAX_NAME_BYTES
        and isinstance(description, str)
        and _bytes(description) <= _MAX_DESCRIPTION_BYTES
        and outcome(fact["outcome"]) is not None
    )


_KINDS: Mapping[str, Callable[[dict[str, Any]], bool]] = {
    "user": _valid_user,
    "customMessage": _valid_message,
    "phase": _valid_phase,
    "operation": _valid_operation,
    "fabricRun": _valid_run,
}


def _bytes(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))


_ROLES = {
    "user": "branchUser",
    "customMessage": "branchCustomMessage",
    "phase": "fabricPhase",
    "operation": "fabricOperation",
    "fabricRun": "fabricRun",
}


def _child(event: Event, fact: dict[str, Any]) -> Event:
    """The record of one fact of valid details."""
    carrier, kind, role = event.entry, fact["kind"], _ROLES[fact["kind"]]
    ref = provider = action = tool = None
    if kind == "operation":
        ref, tool = fact["ref"], fact["tool"]
        provider, action = route(ref, fact.get("provider"), fact.get("action"))
    elif kind == "fabricRun":
        ref = tool = TOOL
    ended = outcome(fact.get("outcome"))
    return Event(
        carrier._replace(
            id=fact["address"],
            type=FACT,
            role=role,
            tool=tool,
            is_error=ended not in (None, "succeeded"),
            blocks=(),
            details=None,
            notice=None,
        ),
        record=True,
        role=role,
        tool=tool,
        passages=tuple(_passages(fact)),
        files=files((fact["args"],)) if kind == "operation" else (),
        own=event.own,
        ref=ref,
        provider=provider,
        action=action,
        outcome=ended,
        address=fact["address"] if ref is not None else None,
        carrier=carrier.id,
        carrier_from=carrier.target,
        payload=fact,
    )


def _passages(fact: dict[str, Any]) -> Iterator[Passage]:
    match fact["kind"]:
        case "user":
            if fact["text"]:
                yield Passage("prose", fact["text"], "branch.user::0")
        case "customMessage":
            body = fact["text"]
            yield Passage("label", f"[{fact['customType']}] ", "branch.message::0" if body else None)
            if body:
                yield Passage("prose", body, "branch.message::0")
        case "phase":
            yield Passage("label", "Fabric phase ")
            if fact["phase"]:
                yield Passage("call", fact["phase"], "branch.phase::0")
        case "fabricRun":
            described = f" — {fact['description']}" if fact.get("description") else ""
            yield Passage("label", "Fabric run ")
            yield Passage("call", f"{fact['name']}{described} → {fact['outcome']}", "branch.run::0")
        case _:
            head, result = printed(fact)
            yield from passages("Fabric branch operation ", f"{fact['ref']}\n{head}", result, "branch.operation")
