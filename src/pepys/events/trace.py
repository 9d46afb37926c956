"""`events.trace`: what surrounds one event in its tree, and what it is related to; one hop (spec 3)."""

from __future__ import annotations

from collections.abc import Sequence

from pepys.events import forks, nodes, relations
from pepys.events.corpus import Corpus, Located, Selection, files
from pepys.events.coverage import Coverage
from pepys.events.read import event
from pepys.events.relations import Entry, File, Here, Relation, Session
from pepys.events.states import Node
from pepys.events.trees import tree
from pepys.index.history import History
from pepys.index.view import View
from pepys.model.context import Context
from pepys.model.events import TraceRequest

MAX_CHILDREN = MAX_SIBLINGS = 50
MAX_RELATED = 20

_NOTHING = ("", 0)


def trace(history: History, context: Context, request: TraceRequest) -> dict[str, object]:
    """Answer a trace.

    Raises:
        EventNotFound: There is no such event, or the caller may not see it.
        AmbiguousSession: Several files of the session hold different entries of this id.
        SourceUnavailable: The source cannot be read now.
        StalePointer: It changed while it was read.
        InvalidEventArgument: The caller's own session cannot be told or cut off.
    """
    return history.answer(
        lambda view: _Trace(Corpus(view, context), context, request).answer(view), files(context, request.session_id)
    )


class _Trace:
    """One request over one view."""

    def __init__(self, corpus: Corpus, context: Context, request: TraceRequest) -> None:
        self._corpus, self._context = corpus, context
        self._here = corpus.find(request.session_id, request.entry_id)

    def answer(self, view: View) -> dict[str, object]:
        here: Located = self._here
        source, made, row = here.source, here.tree, here.row
        found = event(here)
        children = self._visible(made.children(row.position))
        siblings = self._visible(made.siblings(row.position))
        parent = made.parent(row.position)
        parent = parent if parent is not None and self._visible([parent]) else None
        shown = [*children[:MAX_CHILDREN], *siblings[:MAX_SIBLINGS], *([] if parent is None else [parent])]
        self._rows = nodes.rows(view, source, [row.position, *(node.position for node in shown)])
        self._texts = nodes.previews(source, self._rows, self._context)
        related = self._related(Here(source, made, row, found, here.cutoff))
        result: dict[str, object] = {"target": nodes.node(source, made, row, self._texts.get(row.position, _NOTHING))}
        if parent is not None:
            result["parent"] = self._edge("parent", parent, recorded=True)
        elif row.parent not in (None, "", row.id) and made.parent(row.position) is None:
            result["parent"] = self._missing(row.parent)
        masks = sum(count for _, count in self._texts.values())
        result |= {
            "children": [self._edge("child", node, recorded=True) for node in children[:MAX_CHILDREN]],
            "branchSiblings": [self._edge("branch-sibling", node, recorded=False) for node in siblings[:MAX_SIBLINGS]],
            "related": related[:MAX_RELATED],
            **({"redacted": masks} if masks else {}),
            "truncated": len(children) > MAX_CHILDREN or len(siblings) > MAX_SIBLINGS or len(related) > MAX_RELATED,
            "session": self._session(),
        }
        return {
            **result,
            "coverage": Coverage(self._corpus, Selection([source], {}, explicit=True), own=True).as_json(),
        }

    def _visible(self, some: Sequence[Node]) -> list[Node]:
        cutoff = self._here.cutoff
        return [node for node in some if cutoff is None or node.position < cutoff]

    def _edge(self, type_: str, to: Node, *, recorded: bool) -> dict[str, object]:
        here = self._here
        row = self._rows.get(to.position)
        described = (
            {} if row is None else nodes.node(here.source, here.tree, row, self._texts.get(to.position, _NOTHING))
        )
        edge: dict[str, object] = {
            "type": type_,
            "from": {"sessionId": here.source.session, "entryId": here.row.id},
            "to": {"sessionId": here.source.session, "entryId": to.id},
            "recorded": recorded,
        }
        if not recorded:
            edge["derived"] = True
        edge |= {
            name: described[name] for name in ("entryType", "timestamp", "preview", "redacted") if name in described
        }
        edge["targetBranchState"] = here.tree.state(to.position).branch
        edge["leadsToMaterializedLeaf"] = here.tree.selects(to.position)
        return edge

    def _missing(self, parent: str) -> dict[str, object]:
        """The edge to a parent that is recorded and not in the file."""
        here = self._here
        return {
            "type": "parent",
            "from": {"sessionId": here.source.session, "entryId": here.row.id},
            "to": {"sessionId": here.source.session, "entryId": parent},
            "recorded": True,
            "missing": True,
            "targetBranchState": "unknown",
            "leadsToMaterializedLeaf": False,
        }

    # Relations

    def _related(self, here: Here) -> list[dict[str, object]]:
        found = [self._relation(one) for one in relations.distinct(relations.related(self._corpus, here))]
        return found + self._session_forks()

    def _relation(self, relation: Relation) -> dict[str, object]:
        edge: dict[str, object] = {
            "type": relation.type,
            "from": _end(relation.from_),
            "to": _end(relation.to),
            "recorded": relation.recorded,
        }
        if not relation.recorded:
            edge["derived"] = True
        if relation.detail is not None:
            edge["detail"] = relation.detail
        if isinstance(relation.to, Entry) and (node := self._here.tree.find(relation.to.id)) is not None:
            edge["targetBranchState"] = self._here.tree.state(node.position).branch
            edge["leadsToMaterializedLeaf"] = self._here.tree.selects(node.position)
        return edge

    def _session_forks(self) -> list[dict[str, object]]:
        """Edges to the ways on from a fork across sessions, if this event is where sessions part, or such a way."""
        own = Entry(self._here.source.session, self._here.row.id)
        edges: list[dict[str, object]] = []
        for fork in forks.forks(self._corpus, self._here.source):
            identities = [one.identity for one in fork.candidates]
            if self._here.row.id != fork.at.id and own not in identities:
                continue
            for candidate in fork.candidates:
                if candidate.identity != own:
                    made = tree(self._corpus.view, candidate.source)
                    edge = self._relation(Relation("session-fork", own, candidate.identity, recorded=False))
                    edge["targetBranchState"] = made.state(candidate.node.position).branch
                    edge["leadsToMaterializedLeaf"] = made.selects(candidate.node.position)
                    edges.append(edge)
        return edges

    def _session(self) -> dict[str, object]:
        source = self._here.source
        found: dict[str, object] = {"sessionId": source.session}
        parent = relations.parent(self._corpus, source)
        if parent is not None:
            found["parentSessionId"] = parent.session
        found["childSessionIds"] = sorted({child.session for child in relations.children(self._corpus, source)})
        return found


def _end(end: relations.End) -> dict[str, object]:
    match end:
        case Entry(session, id_):
            return {"sessionId": session, "entryId": id_}
        case File(path):
            return {"fileRef": f"file:{path}"}
        case Session(id_):
            return {"sessionId": id_}
