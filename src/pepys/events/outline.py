"""The tree of one whole session, for people: every entry with its place, its states and how it begins."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pepys import normalise
from pepys.errors import AmbiguousSession, SourceUnavailable
from pepys.events.corpus import Corpus, files
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
from pepys.recall import shown

_STAND_OUT = frozenset({"compaction", "branch_summary", "reset_boundary"})


def outline(history: History, context: Context, session: str) -> dict[str, Any]:
    """The tree of a session, named by id, file stem or path, read from its file.

    The caller's own session is `current`, and is shown whole: a tree has no hits that could find themselves.

    Raises:
        EventNotFound: There is no such session, or the caller may not see it.
        AmbiguousSession: Several files belong to it.
        SourceUnavailable: Its file cannot be read.
        InvalidEventArgument: The caller's own session is meant and not known.
    """
    return history.answer(lambda view: _outline(view, context, session), files(context, session))


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
    source, *others = Corpus(view, context).named(session)
    if others:
        paths = sorted(one.path for one in (source, *others))
        raise AmbiguousSession(
            f"{len(paths)} files belong to session {session}.",
            hint="Name one of the files instead.",
            details={"session": session, "candidates": paths[:50]},
        )
    try:
        with examine(HOSTS[source.host], source.path) as reading:
            entries = [item for item in reading.items() if isinstance(item, Entry)]
    except OSError as error:
        raise SourceUnavailable(f"{source.path} cannot be read: {error.strerror or error}.") from error
    name = shown.text(source.name or "", context).text
    made = list(_entries(entries, context))
    return {
        "sessionId": source.session,
        "file": source.path,
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
