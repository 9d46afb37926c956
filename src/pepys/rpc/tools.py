"""Tools of models: the actions of that audience, under the names that agents see."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from pepys.actions import answers
from pepys.actions.base import Action
from pepys.actions.table import ACTIONS
from pepys.errors import PepysError, UnknownAction
from pepys.rpc.protocol import Told

OFFERED = (
    "session_recall",
    "session_list",
    "session_expand",
    "pepys_run",
    "event_search",
    "event_read",
    "event_trace",
    "memory_search",
    "memory_expand",
    "memory_transcript",
    "memory_write",
    "memory_forget",
    "memory_compact",
    "memory_status",
    "memory",
)
"""What hosts offer their models, in this order."""

_BY_NAME = {action.tool: action for action in ACTIONS.values() if action.audience == "model"}


def find(name: str) -> Action:
    """The action behind a tool.

    Raises:
        UnknownAction: No model may call one of that name.
    """
    if name not in _BY_NAME:
        raise UnknownAction(f"There is no tool {name}.")
    return _BY_NAME[name]


def _structured(action: Action) -> bool:
    """Whether the host is given the whole result beside its text, to be stored with it (spec 5, "Tool")."""
    return action.provider == "notes"


def described() -> list[dict[str, Any]]:
    """The tools as the extensions register them: `extensions/core/tools.json` is this."""
    from pepys.actions import load, schema

    return [
        {
            "name": action.tool,
            "label": action.title,
            "description": action.description,
            "parameters": schema.json_schema(load(action.request)),
            "sequential": action.annotations.execution_mode == "sequential",
            "annotations": {
                "readOnlyHint": action.annotations.read_only,
                "destructiveHint": action.annotations.destructive,
                "idempotentHint": action.annotations.idempotent,
                "openWorldHint": action.annotations.open_world,
            },
            **(
                {"outputSchema": schema.json_schema(load(action.response))}
                if action.response and _structured(action)
                else {}
            ),
        }
        for action in map(find, OFFERED)
    ]


def call(name: str, args: Mapping[str, object], calling: Callable[[str, Mapping[str, object]], Any]) -> Told:
    """What the model is told. Its details mark it as ours, and hold the answer where the host's own code reads it."""
    try:
        action = find(name)
        result = calling(action.ref, args)
    except PepysError as error:
        body = error.as_json()
        return Told(answers.text("", {"error": body}), {"pepys": {"tool": name, "error": body["code"]}}, is_error=True)
    mark = {"pepys": {"ref": action.ref}}
    details = {**result, **mark} if _structured(action) else mark
    return Told(answers.text(action.ref, result), details, is_error=answers.failed(result))
