"""One step of the picker over the real stores: what was typed in; lines, and what was done, out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pepys.errors import InvalidArgument, PepysError
from pepys.model.notes import PickerRequest
from pepys.notes import picker
from pepys.notes.picker import Effect, Key, Shelf, State
from pepys.notes.stores import Stores


def step(stores: Stores, request: PickerRequest) -> dict[str, Any]:
    """`state` for the next step, `lines` as lists of `[text, style]`, `effects` that were carried out, and `closed`.

    Raises:
        InvalidArgument: The state is not one that a step gave.
    """
    state = _read(request.state)
    shelf = _shelf(stores)
    effects: list[dict[str, str]] = []
    if request.key or request.text:
        key = Key(request.key or "", "" if request.key else request.text or "")
        state, effect = picker.press(state, shelf, key, picker.page(request.height))
        if effect is not None:
            state, shelf = _carry_out(stores, state, effect)
            effects.append({name: value for name, value in effect._asdict().items() if value})
    state = picker.located(state, shelf)
    return {
        "state": _written(state),
        "lines": [list(map(list, line)) for line in picker.lines(state, shelf, request.width, request.height)],
        "effects": effects,
        "closed": state.closed,
    }


def _carry_out(stores: Stores, state: State, effect: Effect) -> tuple[State, Shelf]:
    existing, error = None, ""
    try:
        match effect.do:
            case "add":
                existing = stores.add(effect.scope, effect.text).existing
            case "update":
                stores.update(effect.scope, effect.text, effect.to)
            case "forget":
                stores.forget(effect.scope, effect.text)
            case "merge":
                stores.merge(effect.scope, effect.text, effect.second, effect.to)
            case "move":
                existing = stores.move(effect.scope, effect.text).existing
            case "reload":
                pass
    except PepysError as failed:
        error = failed.message
    shelf = _shelf(stores, anew=True)
    return picker.after(state, shelf, effect, existing=existing, error=error), shelf


def _shelf(stores: Stores, *, anew: bool = False) -> Shelf:
    views = stores.views(anew=anew)
    troubles = tuple(view.trouble for view in views.values() if view.trouble)
    unread = tuple(scope for scope, view in views.items() if view.trouble)
    return Shelf(views["project"].notes, views["global"].notes, stores.trusted, troubles, unread)


# The state is a host's to keep, and nobody's to read.


def _written(state: State) -> dict[str, Any]:
    import msgspec

    return {"picker": msgspec.to_builtins(state)}


def _read(value: Mapping[str, Any] | None) -> State:
    import msgspec

    if value is None:
        return State()
    try:
        return msgspec.convert(value.get("picker"), State)
    except msgspec.ValidationError as error:
        raise InvalidArgument(f"state is not one that notes.picker gave: {error}") from error
