"""What the hosts' files have in common: the fields of every entry, times, blocks of content.

Every field is taken as it is found: a host's next version, or another program, may write anything.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from pepys.model.entry import Block, Entry, Record
from pepys.model.source import Diagnostic, Header, diagnostic

_MAX_TIME_MS = 8_640_000_000_000_000  # the last moment of JavaScript's dates; more would not fit everywhere either


def time_ms(value: object) -> int | None:
    """Milliseconds since the epoch from an ISO text (UTC unless it says otherwise) or a number of milliseconds."""
    if isinstance(value, str):
        try:
            moment = datetime.fromisoformat(value)
            if moment.tzinfo is None:
                moment = moment.replace(tzinfo=UTC)
            return round(moment.timestamp() * 1000)
        except (ValueError, OverflowError):
            return None
    if isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) <= _MAX_TIME_MS:
        return round(value)
    return None


def string(value: object) -> str | None:
    """*value* if it is a non-empty string."""
    return value if isinstance(value, str) and value else None


def mapping(value: object) -> Mapping[str, Any]:
    """*value* if it is an object; an empty one otherwise."""
    return value if isinstance(value, dict) else {}


def _list(value: object) -> Sequence[Any]:
    return value if isinstance(value, list) else ()


def entry(record: Record, **fields: Any) -> Entry:
    """An entry with the fields that all entries of all hosts share."""
    value = record.value
    time = time_ms(value.get("timestamp"))
    if time is None:
        time = time_ms(mapping(value.get("message")).get("timestamp"))
    return Entry(
        record.start,
        record.end,
        string(value.get("id")),
        string(value.get("parentId")),
        value.get("type", ""),
        time=time,
        **fields,
    )


def blocks(content: object) -> Iterator[Block | None]:
    """The text, thinking and calls of a message's content; None for a part whose text cannot be understood.

    Images, signatures, redacted thinking and blocks of single providers hold nothing to quote.
    """
    if isinstance(content, str):
        yield Block("text", content)
    elif isinstance(content, list):
        for part in content:
            if not isinstance(part, dict):
                yield None
                continue
            match part.get("type"):
                case "text":
                    text = part.get("text", "")
                    yield Block("text", text) if isinstance(text, str) else None
                case "thinking":
                    text = part.get("thinking", "")
                    yield Block("thinking", text) if isinstance(text, str) else None
                case "toolCall":
                    yield Block("call", "", string(part.get("name")), string(part.get("id")), part.get("arguments"))
                case _ if isinstance(part.get("text"), str):
                    yield None
                case _:
                    pass
    elif content is not None:
        yield None


def texts(content: object) -> Iterator[Block | None]:
    """The text of content that is not a model's."""
    return (block for block in blocks(content) if block is None or block.kind == "text")


def understood(found: Iterator[Block | None]) -> dict[str, Any]:
    """The fields `blocks` and `notice` of an entry."""
    made = list(found)
    known = tuple(block for block in made if block is not None)
    return {"blocks": known, "notice": None if len(known) == len(made) else "unknown_shape"}


def message(record: Record) -> Entry | None:
    """An entry of type `message`, for the roles that all hosts write alike; None for any other."""
    body = record.value.get("message")
    if not isinstance(body, dict):
        return entry(record, notice="unknown_shape")
    role, content = body.get("role"), body.get("content")
    match role:
        case "user":
            return entry(record, role=role, **understood(texts(content)))
        case "assistant":
            made = understood(blocks(content))
            if error := string(body.get("errorMessage")):
                made["blocks"] += (Block("error", error),)
            stop = string(body.get("stopReason"))
            return entry(record, role=role, is_error=bool(body.get("isError")), stop=stop, **made)
        case "toolResult":
            details = body.get("details")
            return entry(
                record,
                role=role,
                tool=string(body.get("toolName")),
                call=string(body.get("toolCallId")),
                is_error=bool(body.get("isError")),
                details=details if isinstance(details, dict) else None,
                **understood(texts(content)),
            )
        case "bashExecution":
            return execution(record, body, "command", "bash")
        case "custom" | "hookMessage":
            # What an extension says, before such messages had an entry type of their own.
            return entry(
                record, role="custom", custom_type=string(body.get("customType")), **understood(texts(content))
            )
        case "compactionSummary":
            return summary(record, role, body, None)
        case "branchSummary":
            return summary(record, role, body, string(record.value.get("fromId")) or string(body.get("fromId")))
        case _:
            return None


def execution(record: Record, body: Mapping[str, Any], source: str, tool: str) -> Entry:
    """What a user ran, and what it printed."""
    command, output, code = body.get(source), body.get("output"), body.get("exitCode")
    made = (
        Block("command", command) if isinstance(command, str) else None,
        Block("output", output) if isinstance(output, str) else None,
    )
    return entry(
        record,
        role=string(body.get("role")),
        tool=tool,
        is_error=bool(body.get("isError")),
        silent=bool(body.get("excludeFromContext")),
        exit_code=int(code) if isinstance(code, (int, float)) and code == code // 1 else None,
        blocks=tuple(block for block in made if block is not None),
        notice="unknown_shape" if made[0] is None else None,
    )


def summary(record: Record, role: str, body: Mapping[str, Any], target: str | None) -> Entry:
    """A compaction or a branch summary; older ones say `text`."""
    text = body.get("summary")
    if text is None:
        text = body.get("text")
    details = record.value.get("details", body.get("details"))
    return entry(
        record,
        role=role,
        target=target,
        details=details if isinstance(details, dict) else None,
        blocks=(Block("summary", text),) if isinstance(text, str) else (),
        notice=None if isinstance(text, str) else "unknown_shape",
    )


def shared(record: Record) -> Entry | None:
    """An entry of a type that all hosts write alike; None for any other."""
    value = record.value
    match value.get("type"):
        case "message":
            return message(record)
        case "compaction":
            made = summary(record, "compaction", value, string(value.get("firstKeptEntryId")))
            named = [value.get("compactedUpToId"), *_list(value.get("retainedIds"))]
            return made._replace(also=tuple(id_ for id_ in named if isinstance(id_, str) and id_))
        case "branch_summary":
            return summary(record, "branchSummary", value, string(value.get("fromId")))
        case "custom_message":
            return entry(
                record,
                role="custom",
                custom_type=string(value.get("customType")),
                **understood(texts(value.get("content"))),
            )
        case "custom":
            return entry(record, custom_type=string(value.get("customType")))
        case "label":
            label = string(value.get("label"))  # none: the label is taken away
            return entry(record, target=string(value.get("targetId")), blocks=(Block("text", label),) if label else ())
        case "session_info":
            return entry(record, title=string(value.get("name")) or "")
        case "model_change" | "thinking_level_change":
            return entry(record)
        case _:
            return None


def header(record: Record) -> Header:
    """A session's header."""
    value = record.value
    version = value.get("version")
    return Header(
        session=string(value.get("id")) or string(value.get("sessionId")),
        cwd=string(value.get("cwd")),
        version=version if isinstance(version, int) else 1,
        time=time_ms(value.get("timestamp", value.get("createdAt"))),
        parent=string(value.get("parentSession")) or string(value.get("branchedFrom")),
        title=string(value.get("title")),
    )


def unknown(record: Record) -> Entry | Diagnostic:
    """A record of a type that the host is not known to write: a node of the tree if it can be one."""
    if string(record.value.get("type")) is None:
        return diagnostic(record.start, "unknown_shape")
    if string(record.value.get("id")) is None:
        return diagnostic(record.start, "unknown_record_type")
    return entry(record, notice="unknown_record_type")
