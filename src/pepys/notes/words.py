"""Answers about notes in words, for people and for a model's transcript."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pepys.model.notes import SCOPES


def counts(result: Mapping[str, Any]) -> str:
    """`2 project, 1 global`."""
    return ", ".join(f"{len(result[scope])} {scope}" for scope in SCOPES)


def outcome(result: Mapping[str, Any]) -> Iterator[str]:
    """What a change did, and how many notes there are now; of a result without an error."""
    scope, entry = result["scope"], result.get("entry", "")
    match result["action"]:
        case "add" if result["changed"]:
            yield f"Added to {scope} memory: {entry}"
        case "add":
            yield f"Already in {scope} memory: {result['existing']}"
        case "update" if result["changed"]:
            yield f"Updated in {scope} memory: {result['to']}"
        case "update":
            yield f"Nothing to update in {scope} memory: both texts are the same."
        case "forget":
            yield f"Removed from {scope} memory: {entry}"
    yield f"Now {counts(result)}."
