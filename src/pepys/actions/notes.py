"""The notes provider's actions (spec 5)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from pepys.actions.base import Parts
from pepys.errors import InvalidArgument, PepysError
from pepys.model.notes import (
    MEMORY_ACTIONS,
    SCOPES,
    MemoryRequest,
    MergeRequest,
    MoveRequest,
    NothingRequest,
    PickerRequest,
    SaveRequest,
    Scope,
    ScopeRequest,
)
from pepys.notes import markdown
from pepys.notes.store import View
from pepys.notes.stores import Stores, storable

Json = dict[str, Any]


def memory(parts: Parts, request: MemoryRequest) -> Json:
    """`notes.memory`: `action`, `scope`, `project`, `global` and `changed`; `entry`, `to`, `existing` where they apply.

    An error stands in the result, beside the notes, which are then unchanged. `warnings` tells of stores that cannot
    be read.
    """
    stores = _stores(parts)
    asked = request.action.strip().lower()
    scope = (request.scope or "project").strip().lower()
    result: Json = {
        "action": asked if asked in MEMORY_ACTIONS else "list",
        "scope": scope if scope in SCOPES else "project",
        "changed": False,
    }
    try:
        _validate(asked, scope, request)
        if asked != "list":
            result |= _change(stores, asked, cast(Scope, scope), request.text or "", request.to or "")
    except PepysError as error:
        result["error"] = error.as_json()
    return {**result, **_notes(stores)}


def _validate(action: str, scope: str, request: MemoryRequest) -> None:
    if action not in MEMORY_ACTIONS:
        raise InvalidArgument(f"action must be one of {', '.join(MEMORY_ACTIONS)}.")
    if scope not in SCOPES:
        raise InvalidArgument(f"scope must be one of {', '.join(SCOPES)}.")
    needed = {"add": ("text",), "forget": ("text",), "update": ("text", "to")}.get(action, ())
    for name in needed:
        text = markdown.clean(getattr(request, name) or "")
        if not text:
            raise InvalidArgument(f"{action} needs {name}: a note that is not blank.")
        storable(text)


def _change(stores: Stores, action: str, scope: Scope, text: str, to: str) -> Json:
    entry = markdown.clean(text)
    if action == "add":
        added = stores.add(scope, text)
        return {"changed": added.changed, "entry": entry, **_existing(added.existing)}
    if action == "update":
        return {"changed": stores.update(scope, text, to), "entry": entry, "to": markdown.clean(to)}
    return {"changed": stores.forget(scope, text), "entry": entry}


def path(parts: Parts, request: NothingRequest) -> Json:
    """`notes.path`: the two files, the project's root, and whether the project is trusted."""
    stores = _stores(parts)
    return {**{scope: str(stores.path(scope)) for scope in SCOPES}, "root": str(stores.root), "trusted": stores.trusted}


def reload(parts: Parts, request: NothingRequest) -> Json:
    """`notes.reload`: of each store `notes`, and what was `added` and `removed` since this caller last looked.

    `read` is false where it may not or cannot be read now; the notes are then those that were last read.
    """
    stores = _stores(parts)
    found: Json = {}
    for scope in SCOPES:
        last = stores.last(scope)
        view = stores.view(scope, anew=True)
        before = view.notes if last is None else last.notes
        found[scope] = {
            "read": not view.trouble and stores.usable(scope),
            "notes": len(view.notes),
            "added": [note for note in view.notes if note not in before],
            "removed": [note for note in before if note not in view.notes],
        }
        if view.trouble:
            found[scope]["trouble"] = view.trouble
    return found


def doctor(parts: Parts, request: NothingRequest) -> Json:
    """`notes.doctor`: see `notes.doctor.report`."""
    from pepys.notes.doctor import report

    return report(_stores(parts))


def read(parts: Parts, request: ScopeRequest) -> Json:
    """`notes.read`: the file as `text`, with the `revision` that saving it needs."""
    stores = _stores(parts)
    text = stores.text(request.scope)
    return {"scope": request.scope, "path": str(stores.path(request.scope)), **text._asdict()}


def save(parts: Parts, request: SaveRequest) -> Json:
    """`notes.save`: whether anything `changed`, and the notes."""
    stores = _stores(parts)
    changed = stores.save(request.scope, request.text, request.revision, exact=request.exact)
    return {"scope": request.scope, "changed": changed, **_notes(stores)}


def clear(parts: Parts, request: ScopeRequest) -> Json:
    """`notes.clear`: how many notes were `removed`, and the ones that are left."""
    stores = _stores(parts)
    removed = stores.clear(request.scope)
    return {"scope": request.scope, "removed": removed, "changed": removed > 0, **_notes(stores)}


def merge(parts: Parts, request: MergeRequest) -> Json:
    """`notes.merge`: whether anything `changed`, the `entry` that both became, and the notes."""
    stores = _stores(parts)
    changed = stores.merge(request.scope, request.first, request.second, request.text)
    return {"scope": request.scope, "changed": changed, "entry": markdown.clean(request.text), **_notes(stores)}


def move(parts: Parts, request: MoveRequest) -> Json:
    """`notes.move`: the `entry`, the scope it came from, the note that stood for it already, and the notes."""
    stores = _stores(parts)
    moved = stores.move(request.scope, request.text)
    entry = markdown.clean(request.text)
    return {"scope": request.scope, "changed": True, "entry": entry, **_existing(moved.existing), **_notes(stores)}


def injection(parts: Parts, request: NothingRequest) -> Json:
    """`notes.injection`: the `text` for a model's context, or null where there is nothing to inject."""
    from pepys.notes.injection import plan

    stores = _stores(parts)
    settings = stores.settings()
    views = stores.views()
    notes = {scope: view.notes for scope, view in views.items()}
    body = plan(notes, settings.max_bytes).body if settings.inject else ""
    return {"text": body or None, **_warnings(views)}


def picker(parts: Parts, request: PickerRequest) -> Json:
    """`notes.picker`: one step of the picker; see `notes.picking.step`."""
    from pepys.notes.picking import step

    return step(_stores(parts), request)


def _stores(parts: Parts) -> Stores:
    return Stores(parts.context, {} if parts.views is None else parts.views)


def _notes(stores: Stores) -> Json:
    views = stores.views()
    return {**{scope: list(view.notes) for scope, view in views.items()}, **_warnings(views)}


def _warnings(views: Mapping[Scope, View]) -> Json:
    troubles = [view.trouble for view in views.values() if view.trouble]
    return {"warnings": troubles} if troubles else {}


def _existing(existing: str | None) -> Json:
    return {} if existing is None else {"existing": existing}
