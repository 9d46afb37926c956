"""Which actions are tools, and how they and their results are said in MCP's words. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mcp_types import CallToolResult, TextContent, Tool, ToolAnnotations

from pepys.actions import answers, find, load, schema
from pepys.actions.base import Action
from pepys.actions.table import ACTIONS
from pepys.actions.wire import read_call
from pepys.errors import InvalidArgument
from pepys.model.results.common import Failure

DEFAULT = (
    "session_recall",
    "session_expand",
    "event_search",
    "event_read",
    "memory_search",
    "memory_expand",
    "memory_write",
    "memory",
)
"""What is offered unless more is asked for: every tool takes room in the context of a model."""

ALL = "all"

ITEMS = "items"
"""Where a result that is a list stands: structured content must be an object."""

_OFFERABLE = {ref: action for ref, action in ACTIONS.items() if action.audience == "model"}


def chosen(names: str | None) -> Mapping[str, Action]:
    """The actions that are offered, by the names of their tools.

    Args:
        names: `all`, or names of tools or refs with commas between; None: the default ones.

    Raises:
        UnknownAction: There is no such tool; it names the nearest, or says that no model may call it.
        InvalidArgument: There is no name in *names*.
    """
    if names == ALL:
        return {action.tool: action for action in _OFFERABLE.values()}
    wanted = DEFAULT if names is None else [name.strip() for name in names.split(",") if name.strip()]
    if not wanted:
        raise InvalidArgument("--tools names no tool.", hint=f"Give {ALL}, or names such as {', '.join(DEFAULT[:2])}.")
    by_tool = {action.tool: action for action in _OFFERABLE.values()}
    found = [by_tool.get(name) or find(name, _OFFERABLE) for name in wanted]
    return {action.tool: action for action in found}


def described(action: Action) -> Tool:
    """The tool *action* is."""
    can = action.annotations
    return Tool(
        name=action.tool,
        title=action.title,
        description=action.description,
        input_schema=schema.json_schema(load(action.request)),
        output_schema=_output_schema(action),
        annotations=ToolAnnotations(
            title=action.title,
            read_only_hint=can.read_only,
            destructive_hint=can.destructive,
            idempotent_hint=can.idempotent,
            open_world_hint=can.open_world,
        ),
    )


def _output_schema(action: Action) -> dict[str, Any] | None:
    """What the structured content of a call is: the result, or an error in its place. None: whatever it calls gives."""
    if action.response is None:
        return None
    result = schema.type_schema(load(action.response))
    if result["type"] == "array":
        result = {"type": "object", "properties": {ITEMS: result}, "required": [ITEMS], "additionalProperties": False}
    required = result.pop("required")
    error = {
        **schema.json_schema(Failure),
        "description": "Why there is no result, or not all of it.",
        "additionalProperties": True,
    }
    return {
        **result,
        "properties": {**result["properties"], "error": error},
        # Clients of older versions know an object at the root, and nothing else.
        "anyOf": [{"required": required}, {"required": ["error"]}],
    }


def answered(action: Action, args: Mapping[str, object], result: Any) -> CallToolResult:
    """The answer to a call of *action* with *args*, which gave *result*: `{"error": ...}` where it raised that."""
    return CallToolResult(
        content=[TextContent(text=answers.text(_ref(action, args), result))],
        structured_content=result if isinstance(result, Mapping) else {ITEMS: result},
        is_error=answers.failed(result),
    )


def _ref(action: Action, args: Mapping[str, object]) -> str:
    """The action whose result it is: of a call by ref, the one that was called."""
    if not action.takes_token:
        return action.ref
    try:
        return read_call(args).ref
    except InvalidArgument:
        return action.ref
