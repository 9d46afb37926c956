"""What a host calls at the events of a session (spec 4, "Hook to action"). Nothing is ever raised into a hook."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pepys.errors import PepysError
from pepys.journal import capture, exchange, forgotten, live, models, scope, sessions, snapshot, store
from pepys.journal.capture import Capture, Captured
from pepys.journal.constants import SHUTDOWN_CAP_MS
from pepys.journal.endpoint import Endpoint
from pepys.journal.live import LiveSession
from pepys.journal.runtime import Runtime
from pepys.journal.scope import Scope
from pepys.model.context import Context
from pepys.model.journal import PromptRequest, SettledRequest

if TYPE_CHECKING:
    from pepys.journal.sidecar import AutoContext

Json = dict[str, Any]

CUSTOM_TYPE = "pepys-auto-context"
"""Of the messages that are injected: by it, session recall knows them for our own output."""

_NOTIFIED: set[str] = set()
"""What people were told of already: a store command that fails does so at every event."""


def start(context: Context, runtime: Runtime) -> Json:
    """A session begins: its scope, the index's catch-up in the background, its snapshot."""

    def begun() -> Json:
        found = scope.of(context)
        key = (found.store, live.key(context))
        before = live.SESSIONS.get(key)
        live.SESSIONS[key] = LiveSession()
        if before is not None and before.auto_context is not None:
            before.auto_context.close()
        if context.config.journal.auto_context:
            _looking(context, found, live.SESSIONS[key])
        if Path(found.store).is_dir():
            runtime.written(scope.place(found, context), at_once=True)
        return {
            "snapshot": _built(context, found),
            "scope": found.directory,
            "store": found.store,
            "collection": found.collection,
            "autoContext": context.config.journal.auto_context,
        }

    return _quiet(begun)


def current(context: Context) -> Json:
    """A prompt is about to be sent: the snapshot to append to the system prompt, made anew on another day."""

    def shown() -> Json:
        found = scope.of(context)
        return {"snapshot": _built(context, found, again=False)}

    return _quiet(shown)


def auto_context(context: Context, request: PromptRequest) -> Json:
    """A prompt was written: the memory that bears on it, as a message to put beside it; or none."""
    began = time.monotonic()

    def found_() -> Json:
        if not context.config.journal.auto_context:
            return {"message": None, "why": "auto-context is off"}
        found = scope.of(context)
        now = live.session(found.store, live.key(context))
        shown = now.snapshot.text if now.snapshot and context.config.journal.snapshot else ""
        made = _looking(context, found, now).prompt(request.prompt, shown, began=began)
        message = {"customType": CUSTOM_TYPE, "display": False, "content": made.text} if made.text else None
        return {"message": message, "outcome": made.outcome, "ms": made.ms}

    return _quiet(found_)


def compacted(context: Context) -> Json:
    """The host has compacted the conversation: the snapshot is made anew."""
    return _quiet(lambda: {"snapshot": _built(context, scope.of(context))})


def settled(context: Context, runtime: Runtime, request: SettledRequest) -> Json:
    """A run has settled: what it was becomes one entry, in the background unless the host waits for it."""

    def taken() -> Json:
        if not context.config.journal.capture:
            return _not("capture is off")
        if context.session_file is None or not context.session_file.is_file():
            return _not("the session has no file")
        found = scope.of(context)
        if not Path(found.store).is_dir():
            found = scope.to_write(context)  # where the store is, an exchange of a directory that is gone is kept
        now = live.session(found.store, live.key(context))
        session = sessions.read(str(context.session_file), context)
        tip = context.live.leaf if context.live and context.live.leaf in session.entries else session.leaf()
        window = exchange.since(session, tip, now.looked_at)
        if window is None:
            return _not("nothing was said since")
        if now.seen is None:
            now.seen = capture.captured(found.store)
            now.failures.extend(now.seen.unread.values())
        # A rejected exchange is over too: it must not leak into the next one's entry.
        now.looked_at = window.last.id
        if why := "the run was aborted" if request.aborted else window.rejected:
            return _not(why)
        if forgotten.known(context.env).holds(session, window, lambda path: sessions.read(path, context)):
            return _not(forgotten.WHY)
        if now.seen.file(session, window):
            return _not("it was captured before")
        made = Capture(session, window, context.moment, found.store)
        now.seen.add(made.anchor, capture.minute(context.moment), store.day_file(found.store, context.moment.date()))

        def finish(one: Capture) -> Captured:
            done = one.run(context.complete, lambda: _model(context, request))
            runtime.written(scope.place(found, context))
            return done

        if request.wait:
            done = finish(made)
            return {"captured": True, "kind": done.kind, "file": done.path, **({"why": done.why} if done.why else {})}
        now.capture(made, finish, context.notify)
        return {"captured": True, "kind": "pending"}

    return _quiet(taken)


def shutdown(context: Context, runtime: Runtime) -> Json:
    """The session ends: captures are finished and the index settled, within the spec's cap for both together."""

    def closed() -> Json:
        found = scope.of(context)
        deadline = time.monotonic() + SHUTDOWN_CAP_MS / 1000
        now = live.session(found.store, live.key(context))
        flushed = now.flush(SHUTDOWN_CAP_MS / 1000)
        place = scope.place(found, context)
        indexed = runtime.indexers.settle(place, max(0.0, deadline - time.monotonic()))
        if now.auto_context is not None:
            now.auto_context.close()
        live.ended(found.store, live.key(context), now)
        return {"captured": flushed, "indexed": indexed, "failures": list(now.failures)}

    return _quiet(closed)


def _built(context: Context, found: Scope, *, again: bool = True) -> str:
    """The session's snapshot, from its last checkpoint or, *again*, as of now."""
    if not context.config.journal.snapshot:
        return ""
    now = live.session(found.store, live.key(context))
    redactions = scope.redactions(scope.place(found, context))
    today = context.moment.date()
    if again or now.snapshot is None or not now.snapshot.holds(today, redactions):
        now.snapshot = snapshot.build(found.store, today, redactions)
    return now.snapshot.text


def _looking(context: Context, found: Scope, session: LiveSession) -> AutoContext:
    """The session's auto-context, begun where there is none."""
    if session.auto_context is None:
        from pepys.journal.sidecar import AutoContext

        session.auto_context = AutoContext(scope.place(found, context), context.config.journal, context.env)
    return session.auto_context


def _model(context: Context, request: SettledRequest) -> str | None:
    if isinstance(context.complete, Endpoint):
        return None  # it has its own, and cannot call what the host offers
    return models.chosen(request.models, context.config.journal.capture_model, request.provider, request.model)


def _not(why: str) -> Json:
    return {"captured": False, "why": why}


def _quiet(doing: Callable[[], Json]) -> Json:
    try:
        return doing()
    except PepysError as error:
        body = error.as_json()
    except Exception as error:
        body = PepysError(f"{type(error).__name__}: {error}").as_json()
    text = f"{body['message']} {body.get('hint', '')}".strip()
    notice = None if text in _NOTIFIED else text
    _NOTIFIED.add(text)
    return {"error": body, "notice": notice}
