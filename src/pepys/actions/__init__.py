"""The registry: every surface reads the table and calls actions through `call`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pepys.actions.base import Action, Parts
from pepys.actions.table import ACTIONS
from pepys.errors import Disabled, InvalidArgument, InvalidEventArgument, UnknownAction

ALIKE = 0.8
"""How much a ref must resemble another to be taken for it, as `spelling.nearest` has it."""

_AUDIENCES = {"person": "it is for people, not for models", "host": "it is for hosts, not for models"}


def call(parts: Parts, ref: str, args: Mapping[str, object]) -> Any:
    """Run the action *ref* with *args*, which are JSON values under the specs' names; its result is JSON too.

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
    if action.takes_token:
        from pepys.actions.wire import read_call

        args = read_call(args)._asdict()
    try:
        request = schema.parse(load(action.request), args, ref)
    except InvalidArgument as error:
        if action.provider == "events":
            raise InvalidEventArgument(error.message, hint=error.hint) from None
        raise
    return load(action.function)(parts, request)


def visible(parts: Parts) -> Mapping[str, Action]:
    """The actions that the caller may call: those for models, and of them only what reads if a guest program asks.

    `tools.call` is as harmless as what it calls. A program cannot run a program.
    """
    return {
        ref: action
        for ref, action in ACTIONS.items()
        if action.audience == "model" and not (parts.guest and not _for_guests(action))
    }


def _for_guests(action: Action) -> bool:
    return action.provider != "guest" and (action.annotations.read_only or action.takes_token)


def find(ref: str, among: Mapping[str, Action] = ACTIONS) -> Action:
    """The action *ref*.

    Raises:
        UnknownAction: Naming the refs of actions for models that resemble it, else what its provider has, else all
            providers. Of an action that exists and is not among them, it says for whom it is.
    """
    if ref in among:
        return among[ref]
    from pepys.paths import shortened
    from pepys.spelling import nearest

    offered = {known: action for known, action in among.items() if action.audience == "model"}
    refs = {name: action.ref for action in offered.values() for name in (action.name, action.tool, action.ref)}
    close = list(dict.fromkeys(refs[name] for name in nearest(ref, refs, count=3, alike=ALIKE)))
    provider = ref.split(".", 1)[0]
    of_provider = sorted(known for known, action in offered.items() if action.provider == provider)
    if close or of_provider:
        hint = f"Known: {', '.join(close or of_provider)}."
    else:
        providers = sorted({action.provider for action in offered.values()})
        hint = f"Providers: {', '.join(providers)}; tools.list has their actions."
    told = f"There is no action {shortened(ref)}."
    hidden = next(
        (action for action in ACTIONS.values() if action not in among.values() and ref in (action.ref, action.tool)),
        None,
    )
    if hidden is not None:
        whose = _AUDIENCES.get(hidden.audience, "no guest program can call it")
        told = f"The action {hidden.ref} exists, but {whose}."
    raise UnknownAction(told, hint=hint, details={"nearest": close or of_provider})


def load(name: str) -> Any:
    """The object that `module:name` names."""
    from importlib import import_module

    module, _, attribute = name.partition(":")
    return getattr(import_module(module), attribute)
