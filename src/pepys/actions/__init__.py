"""The registry: every surface reads the table and calls actions through `call`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pepys.actions.base import Action, Parts
from pepys.actions.table import ACTIONS
from pepys.errors import Disabled, UnknownAction


def call(parts: Parts, ref: str, args: Mapping[str, object]) -> dict[str, object]:
    """Run the action *ref* with *args*, which are JSON values under the specs' names.

    Raises:
        UnknownAction: No action has this ref.
        Disabled: Configuration switches its provider off.
        InvalidArgument: *args* do not fit the action's request.
        PepysError: Whatever else the action raises.
    """
    from pepys.actions import schema

    action = find(ref)
    if ref.startswith("memory.") and not parts.context.config.memory.enabled:
        raise Disabled(
            "Session recall is switched off: memory.enabled is false.",
            hint="Set memory.enabled to true; `pepys config list` says where it is set.",
        )
    request = schema.parse(load(action.request), args, ref)
    result: dict[str, object] = load(action.function)(parts, request)
    return result


def find(ref: str) -> Action:
    """The action *ref*.

    Raises:
        UnknownAction: Naming the refs and tool names that resemble it.
    """
    if ref in ACTIONS:
        return ACTIONS[ref]
    from pepys.spelling import nearest

    refs = {name: action.ref for action in ACTIONS.values() for name in (action.ref, action.tool)}
    close = list(dict.fromkeys(refs[name] for name in nearest(ref, refs, count=3))) or sorted(ACTIONS)
    raise UnknownAction(f"There is no action {ref}.", hint=f"Known: {', '.join(close)}.", details={"nearest": close})


def load(name: str) -> Any:
    """The object that `module:name` names."""
    from importlib import import_module

    module, _, attribute = name.partition(":")
    return getattr(import_module(module), attribute)
