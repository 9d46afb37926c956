"""The table of actions. Add an action by writing its function and its request, and one row here."""

from __future__ import annotations

from collections.abc import Mapping

from pepys.actions.base import Action, Annotations

_READS = Annotations(read_only=True, destructive=False, idempotent=True)

_ROWS = (
    Action(
        "memory.recall",
        "session_recall",
        "Search past sessions",
        "Search what was said, done and printed in past coding sessions. Use it before asking again or redoing work: "
        "returns ranked, bounded snippets, each with a `follow` call that opens the full record.",
        "pepys.actions.memory:recall",
        "pepys.model.query:RecallRequest",
        _READS,
    ),
    Action(
        "memory.sessions",
        "session_list",
        "List past sessions",
        "List past coding sessions, newest first, with their files, projects and sizes. Use it to find out what "
        "history there is, or which session to search or open.",
        "pepys.actions.memory:sessions",
        "pepys.model.query:SessionsRequest",
        _READS,
    ),
    Action(
        "memory.expand",
        "session_expand",
        "Read records of a session",
        "Read full, untruncated records of one session by index, entry id or range, with their neighbours. Use it to "
        "read on from a recall hit (pass the arguments of its `follow` call) or from its `next` call.",
        "pepys.actions.memory:expand",
        "pepys.model.query:ExpandRequest",
        _READS,
    ),
)

ACTIONS: Mapping[str, Action] = {action.ref: action for action in _ROWS}
