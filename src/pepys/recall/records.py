"""What the index keeps of one session: the digest of a cold one, the outline of a hot one (spec 1, "Cache V6")."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from pepys.errors import SourceUnavailable
from pepys.index.digest import identity
from pepys.index.history import History
from pepys.index.source import Source
from pepys.index.view import View
from pepys.model.context import Context
from pepys.model.lineage import Branches
from pepys.recall import scope


class Record(NamedTuple):
    """What is kept of a session."""

    fields: Mapping[str, Any]
    text: str  # as it is kept: `cacheBytes` of a digest is its size


def record(history: History, context: Context, session: str, branches: Branches) -> Record:
    """The record of a session, named by id, file stem or path.

    Raises:
        SessionNotFound: There is no such session.
        AmbiguousSession: Several files belong to it.
        SourceUnavailable: Nothing is kept of it: it cannot be read, or its digest fits no bound.
    """
    files = scope.files(scope.SESSION + session, context)
    return history.answer(lambda view: _record(view, context, session, branches), files)


def _record(view: View, context: Context, session: str, branches: Branches) -> Record:
    found = scope.resolve(view, session, context)
    source = view.sources.get(found.path)
    digest = None if source is None else view.digest(source, branches)
    if digest is not None:
        return Record(json.loads(str(digest)), str(digest))
    if source is None or source.tier == "cold":
        raise SourceUnavailable(f"Nothing is kept of {found.path}.", hint="`pepys index` says what could not be read.")
    outline = _outline(view, source, branches)
    return Record(outline, json.dumps(outline, ensure_ascii=False, separators=(",", ":")))


def _outline(view: View, source: Source, branches: Branches) -> dict[str, Any]:
    standing = view.standings([source], branches, {}, own=True)
    records = [row for row in view.rows(source) if standing[source.generation].holds(row)]
    times = [row.time for row in records if row.time is not None]
    reasons = sorted({*scope.flaws(source, standing, branches)})
    return {
        **identity(source, "shard", branches, standing[source.generation].fingerprint, source.policy),
        "firstTs": min(times, default=None),
        "lastTs": max(times, default=None),
        "entryCount": len(records),
        "characters": dict(source.lengths),
        "indexCoverage": {"complete": not reasons, "reasons": reasons},
    }
