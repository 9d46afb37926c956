"""The session that a call is made in, as far as the caller says: what a memory entry is anchored to."""

from __future__ import annotations

from pepys.errors import SessionNotPersisted
from pepys.journal import sessions
from pepys.journal.entries import Anchor
from pepys.model.context import Context


def origin(context: Context) -> Anchor | None:
    """The anchor of something written now; None when the caller says nothing of its session.

    Raises:
        SessionNotPersisted: The caller names a session that has no file yet, or no entry in it.
    """
    path = context.session_file
    if path is None:
        return None
    if not path.is_file():
        raise SessionNotPersisted(f"The current session is not on disk yet: {path}.")
    turn = context.invocation_entry_id or (context.live.leaf if context.live else None)
    header = sessions.header(str(path), context)
    id_ = context.current_session_id or (header.session if header else None)
    if turn is None or id_ is None:
        session = sessions.read(str(path), context)
        turn, id_ = turn or session.leaf(), id_ or session.id
    if turn is None:
        raise SessionNotPersisted(f"The current session has no entry yet: {path}.")
    return Anchor(id_, turn, str(path))
