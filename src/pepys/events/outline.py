"""The tree of one whole session, for people: every entry with its place, its states and how it begins."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pepys import normalise
from pepys.errors import SourceUnavailable
from pepys.events.drawing import Drawn
from pepys.events.snippet import preview
from pepys.events.states import Node, Tree
from pepys.events.times import iso
from pepys.hosts import HOSTS
from pepys.hosts.reading import examine
from pepys.index.history import History
from pepys.index.view import View
from pepys.model.context import Context
from pepys.model.entry import Entry
from pepys.recall import scope, shown

_STAND_OUT = frozenset({"compaction", "branch_summary", "reset_boundary"})


def outline(history: History, context: Context, session: str) -> dict[str, Any]:
    """The tree of a session, named by id, file stem or path, read from its file.

    Raises:
        SessionNotFound: There is no such session.
        AmbiguousSession: Several files belong to it.
        SourceUnavailable: Its file cannot be read.
    """
    files = scope.files(scope.SESSION + session, context)
    return history.answer(lambda view: _outline(view, context, session), files)


def tree(result: Mapping[str, Any]) -> Tree:
    """The tree of an outline."""
    return Tree(
        Node(position, entry["entryId"], entry["parentId"], entry["entryType"])
        for position, entry in enumerate(result["entries"])
    )


def drawn(result: Mapping[str, Any]) -> list[Drawn]:
    """The entries of an outline as they are drawn; what is labelled or summarises stands out, and the first prompt."""
    first = next((entry["entryId"] for entry in result["entries"] if entry["role"] == "user"), None)
    return [
        Drawn(
            f"{role} {entry['tool']}" if entry["tool"] else role,
            entry["preview"],
            (entry["label"],) if entry.get("label") else (),
            bool(entry.get("label")) or entry["entryType"] in _STAND_OUT or entry["entryId"] == first,
        )
        for entry in result["entries"]
        for role in [str(entry["role"] or entry["entryType"])]
    ]


def _outline(view: View, context: Context, session: str) -> dict[str, Any]:
    found = scope.resolve(view, session, context)
    source = view.sources.get(found.path)
    try:
        with examine(HOSTS[found.host if source is None else source.host], found.path) as reading:
            entries = [item for item in reading.items() if isinstance(item, Entry)]
    except OSError as error:
        raise SourceUnavailable(f"{found.path} cannot be read: {error.strerror or error}.") from error
    name = shown.text((source.name if source is not None else None) or "", context).text
    made = list(_entries(entries, context))
    return {
        "sessionId": session if source is None else source.session,
        "file": found.path,
        **({"sessionName": name} if name else {}),
        "entries": made,
        **shown.redacted(made),
    }


def _entries(entries: Sequence[Entry], context: Context) -> Iterator[dict[str, Any]]:
    some = Tree(
        Node(
            position,
            entry.id or "",
            entry.parent,
            entry.type,
            entry.role,
            entry.target,
            entry.silent or (entry.type == "branch_summary" and not _words(entry)),
        )
        for position, entry in enumerate(entries)
    )
    # Of several labels of one entry the last counts, also if it takes the label away.
    labels = {entry.target: _words(entry) for entry in entries if entry.type == "label"}
    for node, entry in zip(some.nodes, entries, strict=True):
        state = some.state(node.position)
        label, masks = preview(labels.get(node.id, "") if some.counts(node.position) else "", context)
        words, more = preview(_words(entry), context)
        yield {
            "entryId": node.id,
            "parentId": node.parent,
            "entryType": entry.type,
            "role": entry.role,
            "tool": entry.tool,
            "timestamp": iso(entry.time),
            "branchState": state.branch,
            "contextRole": state.context,
            "selectionState": state.selection,
            **({"selectionInferred": True} if state.inferred else {}),
            **({"label": label} if label else {}),
            "preview": words,
            **({"redacted": masks + more} if masks + more else {}),
        }


def _words(entry: Entry) -> str:
    """What an entry says first: words before calls, never private reasoning."""
    for block in entry.blocks:
        if block.kind not in ("call", "thinking") and block.text.strip():
            return block.text
    for block in entry.blocks:
        if block.kind == "call":
            return f"{block.name or ''} {normalise.arguments(block.arguments)}"
    return entry.title or ""
