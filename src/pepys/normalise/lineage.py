"""The selected branch of a session's tree. Pure; the fingerprint binds call tokens to what was selected."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

from pepys.model.lineage import Branches, Lineage, Live, Node


def active(nodes: Sequence[Node]) -> Lineage:
    """The persisted branch: from the last node of the file, whatever it is, along parent links to a root.

    Of nodes with one id only the last counts. An empty or unknown parent is the end; so is one that was passed before.
    """
    if not nodes:
        return Lineage("active", None, frozenset(), _fingerprint("active", None, ()))
    by_id = {node.id: node for node in nodes}
    leaf = nodes[-1].id
    path: dict[str, int] = {}
    at: str | None = leaf
    while at and at not in path and (node := by_id.get(at)) is not None:
        path[at] = node.position
        at = node.parent
    fingerprint = _fingerprint("active", leaf, reversed(path))
    return Lineage("active", leaf, frozenset(path.values()), fingerprint, cyclic=at in path)


def live(nodes: Sequence[Node], live: Live) -> Lineage:
    """The branch that a host shows. Entries that are not in the file yet count in the fingerprint only."""
    by_id = {node.id: node.position for node in nodes}
    positions = frozenset(by_id[id_] for id_ in live.entries if id_ in by_id)
    return Lineage("active", live.leaf, positions, _fingerprint("active", live.leaf, live.entries))


def every(nodes: Sequence[Node]) -> Lineage:
    """All branches. Their fingerprint is the same for every session: only the source's hash tells them apart."""
    return Lineage("all", None, frozenset(node.position for node in nodes), _fingerprint("all", None, ()))


def _fingerprint(branches: Branches, leaf: str | None, ids: Iterable[str]) -> str:
    content = {"branches": branches, "leafId": leaf, "ids": list(ids)}
    compact = json.dumps(content, ensure_ascii=False, separators=(",", ":"))
    import hashlib

    return hashlib.sha256(compact.encode("utf-8", "surrogatepass")).hexdigest()
