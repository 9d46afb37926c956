"""What of a record no fragment shows: images, private reasoning, provider data, unknown details. Pure.

Such payload is never returned; that it exists, how large it is and where it lies is (spec 3, "Presentation and
fidelity").
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

_PROVIDER = ("usage", "diagnostics", "thinkingSignature", "thoughtSignature", "textSignature", "encryptedContent")


def omitted(record: Mapping[str, Any]) -> list[dict[str, object]]:
    """The kinds of payload of a record that are not shown, each with its count and its size in bytes of JSON."""
    found: dict[str, tuple[int, int]] = {}
    for kind, value in _payloads(record):
        count, size = found.get(kind, (0, 0))
        found[kind] = (count + 1, size + _size(value))
    return [{"kind": kind, "count": count, "bytes": size} for kind, (count, size) in sorted(found.items())]


def _payloads(record: Mapping[str, Any]) -> Iterator[tuple[str, object]]:
    message = record.get("message")
    body = message if isinstance(message, dict) else record
    content = body.get("content")
    for block in content if isinstance(content, list) else ():
        if isinstance(block, dict):
            yield from _block(block)
    for part in (record, body) if body is not record else (record,):
        if part.get("type") == "custom" and part.get("data") is not None:
            yield "custom-data", part["data"]
        if part.get("details") not in (None, {}):
            yield "details", part["details"]
        for key in _PROVIDER:
            if part.get(key) is not None:
                yield "provider-data", part[key]


def _block(block: Mapping[str, Any]) -> Iterator[tuple[str, object]]:
    match block.get("type"):
        case "image":
            yield "image", block.get("data")
        case "thinking":
            yield "thinking", block.get("thinking")
        case "redacted_thinking" | "redactedThinking":
            yield "thinking", block.get("data")
        case "text" | "toolCall":
            pass
        case _:
            yield "unknown-block", block
    for key in _PROVIDER:
        if block.get(key) is not None:
            yield "provider-data", block[key]


def _size(value: object) -> int:
    if isinstance(value, str):
        return len(value.encode("utf-8", "surrogatepass"))
    return len(json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass"))
