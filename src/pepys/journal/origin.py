"""The session that a call is made in, as far as the caller says: what a memory entry is anchored to."""

from __future__ import annotations

from pepys.errors import SessionNotPersisted
from pepys.journal import exchange, sessions
from pepys.journal.entries import Anchor
from pepys.journal.sessions import Session
from pepys.model.context import Context


def origin(context: Context) -> Anchor | None:
    """The anchor of something written now; None when the caller says nothing of its session.

    Raises:
        SessionNotPersisted: The caller names a session that has no file yet, or no entry in it.
        SourceUnavailable: Its file cannot be read.
    """
    path = context.session_file
    if path is None:
        return None
    if not path.is_file():
        raise SessionNotPersisted(f"The current session is not on disk yet: {path}.")
    turn = context.invocation_entry_id or (context.live.leaf if context.live else None)
    session = sessions.read(str(path), context)
    turn = turn or session.leaf()
    if turn is None:
        raise SessionNotPersisted(f"The current session has no entry yet: {path}.")
    return Anchor(context.current_session_id or session.id, _before_capture(session, turn), str(path))


def _before_capture(session: Session, turn: str) -> str:
    """*turn*, or the prompt it answers where it is the end of an exchange that has settled.

    The anchor of that end is capture's, which takes it for the exchange's own entry, and would write none.
    """
    ends = {one.last.id: one.messages[0].id for one in exchange.exchanges(session.branch(turn)) if one.settled}
    return ends.get(turn) or turn
