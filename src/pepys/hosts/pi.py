"""The Pi host: `~/.pi/agent/sessions/--<cwd>--/<time>_<id>.jsonl`, format versions 1 to 3."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from typing import Any

from pepys.hosts import locations, shapes
from pepys.hosts.base import Surroundings
from pepys.model.entry import Block, Entry, Record
from pepys.model.source import Diagnostic, Header, Root, Title

name = "pi"


def agent_dir(around: Surroundings) -> str:
    """The explicit one, else `PI_CODING_AGENT_DIR`, else `~/.pi/agent`."""
    return locations.absolute(around.agent_dir, around) if around.agent_dir else _own_agent_dir(around)


def roots(around: Surroundings) -> tuple[Root, ...]:
    """The default folder and every configured one: history lies in each that was ever in force."""
    agent = agent_dir(around)
    found = [Root(name, os.path.join(agent, "sessions"), "folders", agent)]
    found += (Root(name, path, "flat", agent) for path in _configured(agent, around))
    found += (Root(name, locations.absolute(path, around), "mixed", None) for path in around.session_dirs)
    return locations.distinct(found)


def folders(cwd: str, around: Surroundings) -> tuple[str, ...]:
    """The folder of *cwd*: Pi resolves links first. Different directories can share one name."""
    return tuple(dict.fromkeys(_folder(path) for path in (os.path.realpath(cwd), cwd)))


def takes(name: str) -> bool:
    """Any name that ends in `.jsonl`: imports and `--session` make free names."""
    return name.endswith(".jsonl")


def nested() -> bool:
    """Pi has no sessions of sub-agents."""
    return False


def wrote(head: bytes) -> bool:
    """Never certain: older files of both hosts begin alike."""
    return False


def decode(record: Record) -> Header | Title | Entry | Diagnostic | None:
    """One record in our words."""
    found = shapes.shared(record)
    if found is not None:
        return found
    value = record.value
    match value.get("type"):
        case "session":
            return shapes.header(record)
        case "usage":
            return shapes.entry(record)
        case "context_edit":
            return shapes.entry(record, target=shapes.string(value.get("targetId")))
        case "message":
            # System messages hold the prompt, which is not history; other roles are third parties' own.
            role = shapes.string(value["message"].get("role"))
            return shapes.entry(record, role=role, notice=None if role == "system" else "unknown_shape")
        case "user" | "assistant" | "tool_result" | "bash" | "bashExecution":
            return _flat(record)
        case "thinking_change" | "extension_state":
            return shapes.entry(record)
        case _:
            return shapes.unknown(record)


def _flat(record: Record) -> Entry:
    """An entry of an older shape: what a message holds stands in the entry itself (spec 3, "legacy shapes")."""
    value = record.value
    content = value.get("content", value.get("text", value.get("result")))
    match value["type"]:
        case "user":
            return shapes.entry(record, role="user", **shapes.understood(shapes.texts(content)))
        case "assistant":
            made = shapes.understood(shapes.blocks(content))
            calls = value.get("toolCalls")
            made["blocks"] += (
                tuple(_call(call) for call in calls if isinstance(call, dict)) if isinstance(calls, list) else ()
            )
            return shapes.entry(record, role="assistant", **made)
        case "tool_result":
            return shapes.entry(
                record,
                role="toolResult",
                tool=shapes.string(value.get("name")) or shapes.string(value.get("toolName")),
                call=shapes.string(value.get("toolCallId")),
                is_error=bool(value.get("isError") or value.get("error")),
                **shapes.understood(shapes.texts(content)),
            )
        case _:
            return shapes.execution(record, {**value, "role": "bashExecution"}, "command", "bash")


def _call(call: Mapping[str, Any]) -> Block:
    id_ = shapes.string(call.get("toolCallId")) or shapes.string(call.get("id"))
    return Block("call", "", shapes.string(call.get("name")), id_, call.get("arguments"))


def _own_agent_dir(around: Surroundings) -> str:
    configured = around.env.get("PI_CODING_AGENT_DIR")
    return locations.absolute(configured or "~/.pi/agent", around)


def _configured(agent: str, around: Surroundings) -> Iterator[str]:
    # Another agent directory than the environment's own is a world apart from the environment's session folder.
    if agent == _own_agent_dir(around) and (path := around.env.get("PI_CODING_AGENT_SESSION_DIR")):
        yield locations.absolute(path, around)
    for settings in (os.path.join(around.cwd, ".pi", "settings.json"), os.path.join(agent, "settings.json")):
        if path := _session_dir(settings):
            yield locations.absolute(path, around)


def _session_dir(settings: str) -> str | None:
    import json

    try:
        with open(settings, encoding="utf-8") as file:
            return shapes.string(shapes.mapping(json.load(file)).get("sessionDir"))
    except (OSError, ValueError, RecursionError):
        return None


def _folder(cwd: str) -> str:
    return "--" + re.sub(r"[/\\:]", "-", re.sub(r"^[/\\]", "", cwd)) + "--"
