"""`journal.compact`: a model condenses the store; the summary joins today's file (spec 4, "Memory compaction")."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from datetime import date

from pepys.errors import InvalidArgument, ModelUnavailable
from pepys.journal import calls, distil, endpoint, entries, memsearch, scope, store
from pepys.journal.base import BackendMissing, Chunk, NeverIndexed, Place
from pepys.journal.constants import COMPACT_CHARS
from pepys.journal.recall import budget_s, not_read, unavailable
from pepys.journal.runtime import Runtime
from pepys.model.context import Context
from pepys.model.journal import Completion

SEPARATOR = "\n\n---\n\n"

SYSTEM = """\
You condense the memory of a coding agent about one project. You are given all of its entries, with lines of --- between
them. Write one summary in markdown that can stand in for reading them all: decisions with their reasons, how things
work, what was tried and failed, preferences of the user, what is still open. Keep names of files, commands, numbers and
dates. Where entries contradict each other the later one holds; say what it replaced. Write in the entries' language."""


def compact(context: Context, runtime: Runtime) -> dict[str, object]:
    """Condense the store and append the summary. Spends the budget of whoever provides the model.

    Raises:
        InvalidArgument: The store's directory is not named memory; nothing was spent.
        ModelUnavailable: There is no model, or it gave nothing usable; nothing was written.
        StoreUnavailable: Today's file cannot be read or written; where it cannot be read, nothing was spent.
        StoreCommandFailed: The store command gave no usable answer.
    """
    found = scope.of(context)
    if os.path.basename(found.store) != "memory":
        # memsearch would put the summary of such a store beside it, where others' stores lie.
        raise InvalidArgument(f"The store {found.store} is not a directory named memory; it is not condensed.")
    place = scope.place(found, context)
    try:
        chunks = _chunks(context, runtime, place)
    except BackendMissing as error:
        return unavailable(error)
    unread = store.unread(found.store)
    more = {"unread": unread} if unread else {}
    if not chunks:
        text = "Nothing to compact: the collection has no indexed chunks."
        return {"text": "\n\n".join((text, *not_read(unread))), "summary": None, **more}
    store.read(store.day_file(found.store, context.moment.date()))  # before anything is spent
    summary = _summary(context, found.repository, chunks)
    path = _append(found.store, context.moment.date(), summary)
    runtime.index(place).refresh(budget_s(context))
    text = "\n\n".join((summary, *not_read(unread)))
    return {"text": text, "summary": summary, "file": path, "chunks": len(chunks), **more}


def _chunks(context: Context, runtime: Runtime, place: Place) -> list[Chunk]:
    index = runtime.index(place)
    try:
        index.refresh()
        return list(index.chunks())
    except NeverIndexed:
        return []


def _summary(context: Context, repository: str, chunks: list[Chunk]) -> str:
    """One request where the store fits into it; else parts are condensed first, and then what came of them."""
    complete = _model(context, repository)
    deadline = time.monotonic() + context.config.journal.compact_timeout_ms / 1000
    texts = [entries.ANCHOR.sub("", chunk.text).strip() for chunk in chunks]
    while len(parts := list(_parts(texts))) > 1:
        condensed = [_asked(complete, part, deadline) for part in parts]
        if sum(map(len, condensed)) > sum(map(len, texts)) / 2:
            raise ModelUnavailable("The model does not condense: its summaries are as long as the memory.")
        texts = condensed
    return _asked(complete, parts[0], deadline)


def _parts(texts: list[str]) -> Iterator[str]:
    """*texts* joined, as many in each part as one request takes."""
    part: list[str] = []
    for text in texts:
        if part and sum(map(len, part)) + len(text) > COMPACT_CHARS:
            yield SEPARATOR.join(part)
            part = []
        part.append(text)
    yield SEPARATOR.join(part)


def _asked(complete: Completion, prompt: str, deadline: float) -> str:
    seconds = max(0.0, deadline - time.monotonic())
    try:
        summary = calls.within(lambda: complete(None, SYSTEM, prompt, seconds), seconds)
    except TimeoutError:
        raise ModelUnavailable("The model gave no summary in time (journal.compactTimeoutMs).") from None
    except Exception as error:
        raise ModelUnavailable(f"The model failed: {distil.reason(str(error) or type(error).__name__)}.") from error
    if not summary.strip():
        raise ModelUnavailable("The model returned no summary.")
    return summary.strip()


def _model(context: Context, repository: str) -> Completion:
    """The model of memsearch's `llm.provider` where it is configured, else the caller's model."""
    known = memsearch.settings(context.env, repository)
    provider = known.get("llm.provider")
    if not provider:
        if context.complete is None:
            raise ModelUnavailable(
                "There is no model to condense memory with: memsearch's llm.provider is not set, and the caller "
                "provides none.",
                hint="Call from a host, set journal.modelApi and journal.model, or set llm.provider in "
                "~/.memsearch/config.toml.",
            )
        return context.complete
    api = endpoint.APIS.get(provider)
    if api is None:
        raise ModelUnavailable(
            f"memsearch's llm.provider is {provider}, which Pepys cannot call.",
            hint=f"It calls {' and '.join(endpoint.APIS)}; any compatible endpoint with llm.base_url.",
        )
    key = known.get("llm.api_key") or context.env.get(api.key_variable, "")
    if not key and not known.get("llm.base_url"):
        raise ModelUnavailable(
            f"memsearch's llm.provider {provider} has no key.", hint=f"Set llm.api_key, or {api.key_variable}."
        )
    base = (known.get("llm.base_url") or api.base).rstrip("/")
    return endpoint.Endpoint(provider, base + api.path, known.get("llm.model") or api.default_model, key)


def _append(directory: str, today: date, summary: str) -> str:
    text = entries.compaction(summary)
    if not store.read(store.day_file(directory, today)):
        text = f"# {today.isoformat()}\n{text}"
    return store.append_text(directory, today, text)
