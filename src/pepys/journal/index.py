"""The engine `pepys`: a store's chunks by their words and by their vectors, in a directory of their own.

The door: what is done for one call, and where the index cannot be used. Behind it are `files` (the truth), `directory`
(what is kept of it), `plan` and `following` (how the one follows the other) and `finding` (searches).
"""

from __future__ import annotations

import os
import re
import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from pepys.journal import chunk as cutting
from pepys.journal import embedders, memsearch
from pepys.journal.base import BackendMissing, Chunk, Hit, Place, Refreshed, Status
from pepys.journal.directory import Directory, count
from pepys.journal.files import Files
from pepys.journal.finding import Finding
from pepys.journal.following import add_words, follow
from pepys.journal.memsearch import Indexing
from pepys.journal.plan import Plan, planned

if TYPE_CHECKING:
    from pepys.config import Journal
    from pepys.journal.embedders.base import Embedder
    from pepys.model.source import Stamp

DAMAGED = (sqlite3.Error, ValueError, SystemError)
"""What SQLite and tantivy raise for an index that they cannot read."""

LOCK_WAIT_S = 0.25
PURGE_WAIT_S = 10.0

SHARED_MODELS = (
    "gpahal/bge-m3-onnx-int8",
    "text-embedding-3-small",
    "all-MiniLM-L6-v2",
    "gemini-embedding-001",
    "voyage-3-lite",
    "jina-embeddings-v4",
    "mistral-embed",
    "nomic-embed-text",
)
"""Names that memsearch's own chunk ids hold: its default models."""


def opened(place: Place, settings: Journal, env: Mapping[str, str]) -> StoreIndex:
    """The index of the store at *place*. Nothing is read or created before it is used."""
    return StoreIndex(
        place,
        lambda: embedders.opened(settings.embedder, settings, env),
        lambda: memsearch.indexing(env, place.repository),
    )


class StoreIndex:
    """See `journal.base.Index`."""

    def __init__(
        self, place: Place, embedder: Callable[[], Embedder], configured: Callable[[], Indexing] = Indexing
    ) -> None:
        self._place = place
        self._make_embedder = embedder
        self._made: Embedder | None = None
        self._files = Files(place.store, configured)
        self._directory = Directory(place.directory)
        self._unread: list[str] = []  # what the last refresh had no time for
        self.finding = Finding(self._directory, self._files, self._embedder)

    # -- bringing it up to date

    def refresh(self, budget_s: float | None = None) -> Refreshed:
        """See `Index`."""
        with self._usable():
            try:
                return self._refreshed(budget_s)
            except DAMAGED as error:
                self._discarded(error)
            return self._refreshed(budget_s)

    def _refreshed(self, budget_s: float | None) -> Refreshed:
        deadline = None if budget_s is None else time.monotonic() + budget_s
        exists = self._directory.exists()
        listed = self._files.listed()
        known = self._directory.known()
        self._unread = []
        if listed is None:
            return Refreshed(len(known), count(known), 0, 0, {}, False)
        plan = self._plan(listed)
        purging = exists and self._directory.ledger().noted("purge")
        if plan.idle and not purging and self._directory.holds_words():
            return Refreshed(len(listed), count(known), 0, 0, {}, False)
        wait_s = PURGE_WAIT_S if budget_s is None else max(0.0, min(LOCK_WAIT_S, budget_s))
        with self._directory.writing(wait_s) as obtained:
            if not obtained:
                self._unread = plan.read
                return Refreshed(len(listed), count(known), 0, 0, {}, True)
            if not self._directory.holds_words():
                raise ValueError("the words of some chunks are gone")
            plan = self._plan(listed)  # another process may have done some of it meanwhile
            done = follow(self._directory, self._files, self._embedder(), plan, deadline)
            self._unread = done.unread
            if self._directory.ledger().noted("purge") and not done.unread:
                self._purge()
            chunks = count(self._directory.known())
        return Refreshed(len(listed), chunks, done.embedded, done.removed, done.failed, bool(done.unread))

    def _plan(self, listed: Mapping[str, Stamp]) -> Plan:
        return planned(listed, self._directory.known(), self._embedder().space, self._files.cut.printed())

    def purge(self) -> bool:
        """See `Index`."""
        if not self._directory.exists():
            return True
        with self._usable():
            ledger = self._directory.ledger()
            with ledger.transaction():
                ledger.note("purge", "words")
            with self._directory.writing(PURGE_WAIT_S) as obtained:
                if not obtained:
                    return False
                if (listed := self._files.listed()) is not None:
                    follow(self._directory, self._files, self._embedder(), self._plan(listed), None)
                return self._purge()

    def _purge(self) -> bool:
        """Make the words anew out of the files, put them in the place of the old ones, and empty SQLite's log."""
        ledger = self._directory.ledger()
        self._files.forget()
        if ledger.noted("purge") == "words":
            fresh = self._rewritten()
            with ledger.transaction():
                ledger.note("text", fresh)
                ledger.note("purge", "log")  # a reader that blocks that makes nobody rewrite the words again
        if not self._directory.remove_old_words() or not ledger.emptied():
            return False
        with ledger.transaction():
            ledger.note("purge", "")
        return True

    def _rewritten(self) -> str:
        """The words of the files as they are, in a directory of another name; the name."""
        fresh = self._directory.fresh_text()
        lexicon = self._directory.written_words(fresh)
        for known in self._directory.known().values():
            add_words(lexicon, known.id, known.path, [piece for _, piece in self._files.pieces(known.path)])
        lexicon.commit()
        lexicon.settle()
        return fresh

    # -- asking it

    def search(self, query: str, k: int, *, path_prefix: str | None = None) -> list[Hit]:
        """See `Index`."""
        if k < 1:
            return []
        with self._usable():
            self._directory.exists()
            try:
                return self.finding.hits(query, k, path_prefix, self._unread)
            except DAMAGED as error:
                self._discarded(error)  # some damage is only seen by who looks something up
            self._refreshed(None)
            return self.finding.hits(query, k, path_prefix, self._unread)

    def chunk(self, id_: str) -> Chunk | None:
        """See `Index`."""
        if not re.fullmatch("[0-9a-f]{16}", id_):
            return None
        listed = self._files.listed() or {}
        try:
            there = self._directory.exists()
            likely = self._directory.ledger().holding(bytes.fromhex(id_)) if there else []
        except (OSError, *DAMAGED):
            likely = []
        for path in likely:
            for named, piece in self._files.pieces(path):
                if named == id_:
                    return self._files.chunk(path, named, piece)
        # Not indexed yet, or an id of memsearch's, which holds line numbers: nothing but looking helps.
        for path in listed:
            source = os.path.realpath(self._files.absolute(path))
            for named, piece in self._files.pieces(path):
                if named == id_ or id_ in cutting.shared_ids(source, piece, SHARED_MODELS):
                    return self._files.chunk(path, named, piece)
        return None

    def chunks(self) -> Iterator[Chunk]:
        """See `Index`."""
        for path in self._files.listed() or {}:
            for id_, piece in self._files.pieces(path):
                yield self._files.chunk(path, id_, piece)

    def status(self) -> Status:
        """See `Index`."""
        embedder = self._embedder()
        with self._usable():
            listed = self._files.listed()
            if not self._directory.exists():
                return Status(None, embedder.name, pending=bool(listed))
            behind = listed is not None and not self._plan(listed).idle
            ledger = self._directory.ledger()
            if not self._directory.holds_words():
                raise BackendMissing(
                    f"the index in {self._place.directory} is damaged",
                    f"The memory index in {self._place.directory} is damaged; the next search makes it anew out of the "
                    "daily files.",
                )
            purging, note = bool(ledger.noted("purge")), ledger.noted("note")
            chunks = count(self._directory.known())
            return Status(chunks, embedder.name, self._directory.bytes(), behind, purging, note)

    def close(self) -> None:
        """See `Index`."""
        self._directory.close()
        self._files.forget()

    # -- what it is made of, and when it cannot be used

    def _embedder(self) -> Embedder:
        if self._made is None:
            self._made = self._make_embedder()
        return self._made

    def _discarded(self, error: Exception) -> None:
        """What is damaged goes: it is derived, and made anew once. Raises *error* where that cannot help."""
        if isinstance(error, sqlite3.OperationalError):
            raise error  # locked, or no room: nothing is wrong with what is there
        self.close()
        with self._directory.writing(PURGE_WAIT_S) as obtained:
            if not obtained:
                raise error
            self._directory.discard()

    @contextmanager
    def _usable(self) -> Iterator[None]:
        """What a block cannot do because the index cannot be read or written, told as what to do about it."""
        try:
            yield
        except (OSError, *DAMAGED) as error:
            raise BackendMissing(
                f"the index in {self._place.directory} cannot be used",
                f"The memory index is unavailable: {self._place.directory} cannot be used ({error}). Make room there, "
                "make it writable, or name another directory in memory.indexDir. Memory is still written to the daily "
                "files and can be searched later.",
            ) from error
