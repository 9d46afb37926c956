"""The catalog of actions: `tools.*` (spec 1, "Capability heads and exact structural retrieval").

It describes what can be called now, for a caller who chooses a ref. Nothing of it is ever copied into a session
record or searched by recall. Hashes are SHA-256 over key-sorted JSON: the same catalog has the same hashes.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import Any

from pepys import actions
from pepys.actions import schema
from pepys.actions.base import Action, Parts
from pepys.actions.table import PROVIDERS
from pepys.errors import InvalidArgument, UnknownAction
from pepys.model.tools import (
    CallRequest,
    CatalogRequest,
    DescribeRequest,
    ListRequest,
    ProvidersRequest,
    SearchRequest,
)
from pepys.spelling import camel
from pepys.text import query_terms

Json = dict[str, Any]

KIND, VERSION = "pepys.capability-catalog", 1
ROOT_KEY, ROOT_NAME = "capability:pepys", "Pepys capabilities"
ROOT_DESCRIPTION = "What Pepys can do: providers, and the actions of each."

LONG = ("annotations", "inputSchema", "outputSchema")
"""What is left out of a description in one line."""


def providers(parts: Parts, request: ProvidersRequest) -> list[Json]:
    """`tools.providers`: `{name, description}` of each, by name."""
    return [{"name": name, "description": PROVIDERS[name]} for name in _by_provider(actions.visible(parts))]


def catalog(parts: Parts, request: CatalogRequest) -> Json:
    """`tools.catalog`: the tree of providers and actions, without their schemas.

    Hashes cover all that the caller may see, whatever was left out by `provider` or `limit`.
    """
    tree = _by_provider(actions.visible(parts))
    chosen = _chosen(tree, request.provider)
    hashes = {name: _provider_hash(name, found) for name, found in tree.items()}
    left, heads = request.limit, []
    for name, found in chosen.items():
        key = f"provider:{name}"
        heads.append(
            {
                "key": key,
                "parentKey": ROOT_KEY,
                "name": name,
                "description": PROVIDERS[name],
                "descriptorHash": hashes[name],
                "actions": [_head(action, key) for action in found[:left]],
            }
        )
        left -= min(left, len(found))
    total = sum(map(len, chosen.values()))
    indexed = request.limit - left
    result: Json = {
        "kind": KIND,
        "version": VERSION,
        "root": {
            "key": ROOT_KEY,
            "name": ROOT_NAME,
            "description": ROOT_DESCRIPTION,
            "descriptorHash": _hash(hashes),
        },
        "providers": heads,
        "totalActions": total,
        "indexedActions": indexed,
        "complete": indexed == total,
    }
    return result if indexed == total else {**result, "reasons": ["action_limit"]}


def list_(parts: Parts, request: ListRequest) -> list[Json]:
    """`tools.list`: every action in one line, by ref."""
    chosen = _chosen(_by_provider(actions.visible(parts)), request.provider)
    return [
        {name: value for name, value in descriptor(action).items() if name not in LONG}
        for found in chosen.values()
        for action in found
    ]


def search(parts: Parts, request: SearchRequest) -> list[Json]:
    """`tools.search`: descriptions of the actions that a query resembles, the best first, equal ones by ref.

    What their results look like is left to `tools.describe`: of thirty actions it would fill a model's context.
    """
    scored = [
        (score, {name: value for name, value in description.items() if name != "outputSchema"})
        for description in map(descriptor, actions.visible(parts).values())
        if (score := _score(request.query, description))
    ]
    scored.sort(key=lambda item: (-item[0], item[1]["ref"]))
    return [description for _, description in scored[: request.limit]]


def describe(parts: Parts, request: DescribeRequest) -> Json:
    """`tools.describe`: everything about one action.

    Raises:
        UnknownAction: Naming the refs that were perhaps meant; all that have the bare name, where several have it.
    """
    visible = actions.visible(parts)
    named = [action for ref, action in visible.items() if request.ref in (ref.split(".", 1)[1], action.tool)]
    if request.ref not in visible and len(named) > 1:
        refs = sorted(action.ref for action in named)
        raise UnknownAction(
            f"Several actions are called {request.ref}.", hint=f"One of: {', '.join(refs)}.", details={"nearest": refs}
        )
    if request.ref not in visible and named:
        return descriptor(named[0])
    return descriptor(actions.find(request.ref, visible))


def call(parts: Parts, request: CallRequest) -> Any:
    """`tools.call`: whatever the named action returns.

    Raises:
        UnknownAction: There is none that the caller may call.
        PepysError: Whatever the action raises.
    """
    action = actions.find(request.ref, actions.visible(parts))
    return actions.call(parts, action.ref, request.args or {})


def descriptor(action: Action) -> Json:
    """What a caller needs to choose *action* and to call it; `outputSchema` where its result is declared."""
    found = {
        "ref": action.ref,
        "provider": action.provider,
        "name": action.name,
        "description": action.description,
        "inputSchema": schema.json_schema(actions.load(action.request)),
        "risk": _risk(action),
        "effect": _effect(action),
        "annotations": {camel(name): value for name, value in action.annotations._asdict().items()},
    }
    return {**found, "outputSchema": schema.type_schema(actions.load(action.response))} if action.response else found


def _risk(action: Action) -> str:
    """The worst that a call can do: read, write or destroy."""
    if action.annotations.read_only:
        return "read"
    return "destructive" if action.annotations.destructive else "write"


def _effect(action: Action) -> str:
    """What a call leaves behind: nothing, the same however often it is made, or more each time."""
    if action.annotations.read_only:
        return "none"
    return "idempotent" if action.annotations.idempotent else "cumulative"


def _head(action: Action, parent: str) -> Json:
    described = descriptor(action)
    kept = {name: described[name] for name in ("ref", "name", "description", "risk", "effect")}
    return {"key": f"action:{action.ref}", "parentKey": parent, **kept, "descriptorHash": _action_hash(action)}


def _by_provider(visible: Mapping[str, Action]) -> dict[str, list[Action]]:
    tree: dict[str, list[Action]] = {}
    for ref in sorted(visible):
        tree.setdefault(visible[ref].provider, []).append(visible[ref])
    return tree


def _chosen(tree: Mapping[str, list[Action]], provider: str | None) -> Mapping[str, list[Action]]:
    if provider is None:
        return tree
    if provider not in tree:
        raise InvalidArgument(f"There is no provider {provider}.", hint=f"Known: {', '.join(tree)}.")
    return {provider: tree[provider]}


# Hashes


def _action_hash(action: Action) -> str:
    described = descriptor(action)
    hashed = ("ref", "description", "inputSchema", "outputSchema", "risk", "effect")
    return _hash({name: described[name] for name in hashed if name in described})


def _provider_hash(name: str, found: Iterable[Action]) -> str:
    return _hash([name, PROVIDERS[name], [_action_hash(action) for action in found]])


def _hash(value: object) -> str:
    text = json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


# Search

WHOLE = {"description": 40, "provider": 20, "schema": 10}
"""What the whole query scores where it occurs; exact and partial refs come on top."""

EXACT_REF, EXACT_NAME, REF_PREFIX, REF_PART = 1000, 800, 300, 120

TOKEN = {"ref": 30, "name": 30, "providerName": 20, "description": 8, "provider": 4, "schema": 2}
"""What a token scores in each text where it occurs; ref and name count as one."""

ALL_TOKENS = 15


def _score(query: str, described: Json) -> int:
    """How well *described* fits *query*; additive, 0 for not at all."""
    wanted, terms = query.strip().lower(), query_terms(query)
    if not wanted:
        return 0
    texts: dict[str, str] = {
        "ref": described["ref"].lower(),
        "name": described["name"].lower(),
        "providerName": described["provider"].lower(),
        "description": described["description"].lower(),
        "provider": PROVIDERS[described["provider"]].lower(),
        "schema": json.dumps(described["inputSchema"], ensure_ascii=False).lower(),
    }
    ref, name = texts["ref"], texts["name"]
    score = EXACT_REF * (wanted == ref) + EXACT_NAME * (wanted == name)
    score += REF_PREFIX if ref.startswith(wanted) else REF_PART * (wanted in ref)
    score += sum(points for part, points in WHOLE.items() if wanted in texts[part])
    hits = [[part for part, text in texts.items() if term in text] for term in terms]
    for parts in hits:
        score += sum(TOKEN[part] for part in parts) - (TOKEN["name"] if {"ref", "name"} <= set(parts) else 0)
    return score + ALL_TOKENS * bool(hits and all(hits))
