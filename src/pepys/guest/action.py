"""The action `guest.run`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from pepys import actions
from pepys.actions.base import Parts
from pepys.errors import GuestUnavailable
from pepys.model.guest import RunRequest


def run(parts: Parts, request: RunRequest) -> dict[str, object]:
    """`guest.run`: `value`, `output`, `calls`, and `outputTruncated` if the output was cut.

    Raises:
        ProgramFailed: The program is wrong; details have `line`, `traceback` and `output`.
        ProgramStopped: It reached a limit; details have `limit`.
        GuestUnavailable: There is no sandbox here.
    """
    try:
        from pepys.guest import program
    except ImportError as error:
        raise GuestUnavailable(f"Guest programs need the package pydantic-monty: {error}") from error
    # A program computes with what it reads, so that it gets the text itself, whoever sees its value.
    inside = parts._replace(guest=True, context=parts.context._replace(shown=False))
    visible = actions.visible(inside)
    modules: dict[str, list[str]] = {}
    for action in visible.values():
        modules.setdefault(action.provider, []).append(action.name)

    def call(ref: str, args: Mapping[str, object]) -> Any:
        return actions.call(inside, actions.find(ref, visible).ref, args)

    limits = parts.context.config.guest
    if request.timeout_ms is not None:
        limits = replace(limits, timeout_ms=min(request.timeout_ms, limits.timeout_ms))
    outcome = program.run(request.program, call, modules, limits, request.name)
    printed: dict[str, object] = {"output": outcome.output}
    if outcome.output_truncated:
        printed["outputTruncated"] = True
    if outcome.error is not None:
        outcome.error.details = {**outcome.error.details, **printed}
        raise outcome.error
    return {"value": outcome.value, "calls": outcome.calls, **printed}
