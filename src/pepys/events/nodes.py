"""Events as answers name them: identity, bounded metadata, states, a small preview."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from pepys.events.fragments import fragments
from pepys.events.snippet import preview
from pepys.events.states import Tree
from pepys.events.times import iso
from pepys.index.document import Place
from pepys.index.source import Row, Source
from pepys.index.view import View
from pepys.model.context import Context
from pepys.recall import evidence


def states(made: Tree, position: int) -> dict[str, object]:
    """How an entry stands."""
    state = made.state(position)
    found: dict[str, object] = {"branchState": state.branch, "selectionState": state.selection}
    if state.inferred:
        found["selectionInferred"] = True
    return found


def rows(view: View, source: Source, positions: Iterable[int]) -> dict[int, Row]:
    """The rows of entries, by position."""
    wanted = dict.fromkeys(positions)
    found = {position: view.row(Place(source.generation, position, 0)) for position in wanted}
    return {position: row for position, row in found.items() if row is not None}


def previews(source: Source, rows: Mapping[int, Row], context: Context) -> dict[int, tuple[str, int]]:
    """The beginning of the first fragment of each entry, and its masks; empty for one without any or unreadable now."""
    events = evidence.events([(source, row) for row in rows.values()])
    found = {}
    for position, event in zip(rows, events, strict=True):
        parts = () if isinstance(event, str) else fragments(event)
        found[position] = preview(parts[0].text, context) if parts else ("", 0)
    return found


def node(source: Source, made: Tree, row: Row, shown: tuple[str, int]) -> dict[str, object]:
    """A neighbour or an end of an edge."""
    text, masks = shown
    return {
        "sessionId": source.session,
        "entryId": row.id,
        "entryType": row.type,
        "timestamp": iso(row.time),
        **states(made, row.position),
        "preview": text,
        **({"redacted": masks} if masks else {}),
    }
