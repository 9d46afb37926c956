"""`journal.status`: what is there, what is missing, and what to do about it (spec 4, "Degradation")."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping

from pepys.journal import live, memsearch, scope, state, store
from pepys.journal.base import BackendMissing, NeverIndexed, Place, Status
from pepys.journal.endpoint import Endpoint
from pepys.journal.files import linked
from pepys.journal.runtime import Runtime
from pepys.journal.scope import Scope
from pepys.model.context import Context
from pepys.spelling import counted

NO_STATE_FILE = (
    "index: no state file will be written (the store command declines state-dir, MEMSEARCH_DIR is not set, and the "
    "store lies outside any .memsearch tree) - answer state-dir to restore index health"
)


def status(context: Context, runtime: Runtime) -> dict[str, object]:
    """The state of the journal at the call's place, as lines for people and as fields.

    Raises:
        StoreCommandFailed: The store command gave no usable answer.
    """
    found = scope.of(context)
    place = scope.place(found, context)
    backend: dict[str, object]
    try:
        measured: Status | None = runtime.index(place).status()
        backend = {"available": True}
    except BackendMissing as error:
        measured = None
        backend = {"available": False, "reason": error.reason, "steps": error.steps}
    except NeverIndexed:
        measured = Status(None, "")
        backend = {"available": True}
    unread = store.unread(place.store) | linked(place.store)
    lines = [
        *_backend(backend, measured, context),
        f"scope: {found.directory}",
        f"store: {found.store}",
        f"collection: {found.collection}",
        *_settings(context, found),
        *_state(found, command=bool(context.config.journal.store_command)),
        *_index(measured, place, runtime),
        *_store(place, unread),
        *_auto_context(context, runtime),
    ]
    return {
        "text": "\n".join(lines),
        "backend": backend,
        "scope": found.directory,
        "store": found.store,
        "collection": found.collection,
        "repository": found.repository,
        "stateFile": found.state_file,
        **({"unread": unread} if unread else {}),
        "chunks": None if measured is None else measured.chunks or 0,
    }


def _backend(backend: dict[str, object], measured: Status | None, context: Context) -> Iterator[str]:
    if backend["available"]:
        made = f", embedder {measured.embedder}" if measured and measured.embedder else ""
        yield f"backend: available (engine {context.config.journal.engine}{made})"
    else:
        yield f"backend: unavailable ({backend['reason']})"
        yield str(backend["steps"])


def _settings(context: Context, found: Scope) -> Iterator[str]:
    journal = context.config.journal
    if context.complete is None:
        model = "no model here; captures are extracts"
    elif isinstance(context.complete, Endpoint):
        model = f"{context.complete.model} at {context.complete.url}"
    elif journal.capture_model:
        model = journal.capture_model
    else:
        model = "the cheapest of the session's provider"
    yield f"capture: {'on' if journal.capture else 'off'} (model: {model})"
    yield f"snapshot: {'on' if journal.snapshot else 'off'}"
    names = sorted(name for name in context.config.origins if name.startswith("journal."))
    for name in names:
        yield f"config: {name} from {context.config.origins[name]}"
    for path in memsearch.files(context.env, found.repository):
        yield f"config: memsearch's {path}"
    for complaint in memsearch.complaints(context.env, found.repository):
        yield f"config: not in force: {complaint}"


def _state(found: Scope, *, command: bool) -> Iterator[str]:
    """What memsearch says of its own index, which is not ours."""
    path = found.state_file
    if path is None:
        yield NO_STATE_FILE
        return
    yield f"index state: {path}"
    try:
        known = state.read(path)
    except state.Drift as drift:
        yield f"index: state unreadable ({drift})"
        return
    if known is None:
        yield "index: no state recorded yet"
    elif known.status == "ok":
        yield f"index: ok (last indexed {known.completed or 'at an unknown time'})"
    elif known.status == "degraded":
        yield f"index: degraded ({counted(len(known.failed), 'failed file')})"
    elif known.status == "error":
        yield f"index: error ({known.error or 'unknown'})"
    else:
        yield f"index: {known.status}"
    for failure in known.failed if known else ():
        yield f"  failed: {failure.path} ({failure.error})"


def _index(measured: Status | None, place: Place, runtime: Runtime) -> Iterator[str]:
    if why := runtime.indexers.failures.get(place.store):
        yield f"last index run: failed ({why})"
    if measured is None:
        return
    if measured.chunks is None:
        yield "indexed chunks: 0 (not indexed yet; the next search does it)"
    else:
        yield f"indexed chunks: {measured.chunks}{' (files changed since)' if measured.pending else ''}"
        if measured.bytes:
            yield f"index directory: {place.directory} ({measured.bytes} bytes)"
    if measured.purge_pending:
        yield "index: purge_pending (a forgotten text may still lie in it; the next search or index run removes it)"
    if measured.note:
        yield f"index note: {measured.note}"


def _store(place: Place, unread: Mapping[str, str]) -> Iterator[str]:
    for path, why in unread.items():
        yield f"store: cannot be read: {path} ({why})"
    if not unread and not os.path.isdir(place.store):
        yield "store: nothing is written yet"


def _auto_context(context: Context, runtime: Runtime) -> Iterator[str]:
    if not context.config.journal.auto_context:
        yield "auto-context: off (set PI_MEMSEARCH_AUTO_CONTEXT=on to enable)"
        return
    session = live.SESSIONS.get((scope.of(context).store, live.key(context)))
    if session is None or session.auto_context is None:
        yield "auto-context: on (not started in this session)"
    else:
        yield from session.auto_context.describe()
