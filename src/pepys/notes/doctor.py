"""The health of both stores (spec 5): counts, sizes, what the injection leaves out, near-duplicates. Reads only."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pepys.model.notes import Scope
from pepys.notes import injection, markdown, store
from pepys.notes.stores import Stores

Row = tuple[Scope, str]


def report(stores: Stores) -> dict[str, Any]:
    """`project` and `global` stores, `injection` and `duplicates`.

    Of a store that is not read now, as `read` says, the bytes are the file's, and the notes those that it had when it
    could last be read. Stores are read anew. Near-duplicates are paired across the stores too: that is how a move that
    was only half made shows.
    """
    views = stores.views(anew=True)
    settings = stores.settings()
    notes = {scope: view.notes for scope, view in views.items()}
    plan = injection.plan(notes, settings.max_bytes)
    health: dict[str, Any] = {}
    for scope, view in views.items():
        path = stores.path(scope)
        read = not view.trouble and stores.usable(scope)
        size = view.stamp.size if read else store.size(path)
        health[scope] = {"path": str(path), "read": read, "notes": len(view.notes), "bytes": size}
        if scope == "project":
            health[scope]["trusted"] = stores.trusted
        if view.trouble:
            health[scope]["trouble"] = view.trouble
    return {
        **health,
        "injection": {
            "inject": settings.inject,
            "bytes": plan.size,
            "maxBytes": settings.max_bytes,
            "omitted": [_named(row) for row in plan.omitted],
        },
        "duplicates": [[_named(one), _named(other)] for one, other in near_duplicates(notes)],
    }


def near_duplicates(notes: Mapping[Scope, Sequence[str]]) -> Iterator[tuple[Row, Row]]:
    """Each note that `add` would not have stored, with the one for whose sake; across stores too."""
    first: dict[str, Row] = {}
    for scope, of_scope in notes.items():
        for note in of_scope:
            key = markdown.key(note)
            if key in first:
                yield first[key], (scope, note)
            else:
                first[key] = (scope, note)


def _named(row: Row) -> dict[str, str]:
    return {"scope": row[0], "text": row[1]}
