"""The index of somebody's history: kept fresh, looked at, measured, deleted. The door to everything in `index`."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from pepys.errors import IndexUnavailable
from pepys.hosts.discovery import listing, locate
from pepys.index.catalog import Catalog
from pepys.index.directory import Directory
from pepys.index.engines.base import EngineBroken
from pepys.index.hygiene import strays, sweep
from pepys.index.plan import YOUNG, Step, affordable, fits, plan_refresh
from pepys.index.policy import Policy
from pepys.index.refreshed import Refreshed
from pepys.index.source import Source
from pepys.index.status import Status, refusal
from pepys.index.stores import Stores, readable, writable
from pepys.index.view import Overlay, View
from pepys.model.context import Progress
from pepys.model.source import Found, Listing, Root

SHORT_WAIT_S = 0.25
LONG_WAIT_S = 600.0

_BROKEN = (sqlite3.Error, ValueError, RuntimeError, SystemError, OSError)
"""What the stores raise on a full disk, a read-only directory or bytes that are not theirs."""


_UNREADABLE = (sqlite3.DatabaseError, EngineBroken)

T = TypeVar("T")


class History:
    """All sources under some roots, and the index that makes them searchable."""

    def __init__(
        self,
        directory: str,
        roots: Sequence[Root],
        *,
        policy: Policy,
        default_host: str,
        excluded: Callable[[Found], bool] = lambda found: False,
        patience_s: float | None = None,
        progress: Callable[[Progress], None] | None = None,
    ) -> None:
        """Nothing is opened before it is needed.

        Args:
            directory: The index directory; Pepys works in its own folder inside it.
            roots: Where sources are looked for.
            policy: What may become searchable, and how much of it at a time.
            default_host: The host of an explicitly named file outside of every root.
            excluded: Whether configuration keeps a source out of the index.
            patience_s: How long an answer may wait for indexing, seconds; None: until it is done.
            progress: Told how far a refresh is.
        """
        self._place = Directory(directory)
        self.directory = self._place.path
        self.roots = tuple(roots)
        self.excluded = excluded
        self._policy, self._default_host = policy, default_host
        self._patience_s, self._progress = patience_s, progress
        self._open: Stores | None = None

    def close(self) -> None:
        """Close what was opened."""
        if self._open is not None:
            self._open.catalog.close()
            self._open = None

    def look(self, files: Sequence[str] = ()) -> View:
        """A fresh, consistent view of all sources, with *files* (absolute paths) among them.

        Never fails for want of an index: what cannot be indexed now is scanned, and the view says so.
        """
        seen = self._listing(files)
        refreshed = Refreshed(began_ns=time.time_ns())
        try:
            self._refresh(seen, refreshed, self._policy, wait_s=SHORT_WAIT_S, patience_s=self._patience_s)
        except IndexUnavailable:
            refreshed.reasons = ("index_unavailable",)
        return self._view(seen, refreshed, self._stores())

    def answer(self, question: Callable[[View], T], files: Sequence[str] = ()) -> T:
        """What *question* makes of a fresh view.

        Where the stores turn out to be broken while they are read, they are opened again, because another process may
        have replaced them; then made anew; then left aside.
        """
        try:
            for mend in (self.close, self._discard, self.close):
                try:
                    return question(self.look(files))
                except _UNREADABLE:
                    mend()
            return question(self._view(self._listing(files), Refreshed(reasons=("index_unavailable",)), None))
        finally:
            if self._open is not None:
                self._open.catalog.release()

    def refresh(self, *, rebuild: bool = False, files: Sequence[str] = ()) -> Refreshed:
        """Bring the index up to date, waiting for other writers.

        Raises:
            IndexUnavailable: The directory cannot be written, or another writer does not finish.
        """
        started = time.monotonic()
        if rebuild:
            self.delete()
        refreshed = Refreshed()
        unbounded = self._policy._replace(sync_sessions=None, sync_bytes=None)
        self._refresh(self._listing(files), refreshed, unbounded, wait_s=LONG_WAIT_S, patience_s=None)
        if "index_busy" in refreshed.reasons:
            raise IndexUnavailable(
                "Another process has been indexing for ten minutes.", hint="Wait for it, or stop it."
            )
        refreshed.seconds = time.monotonic() - started
        return refreshed

    def delete(self) -> bool:
        """Remove the index; whether there was one. Sources are never touched.

        Raises:
            IndexUnavailable: It cannot be removed.
        """
        self.close()
        return self._place.remove(LONG_WAIT_S)

    def status(self) -> Status:
        """The index, measured without changing it."""
        refused = refusal(self.directory)
        if not self._place.exists():
            trouble = f"cannot be built: {refused}; answers come by scanning" if refused else ""
            return Status(self.directory, exists=False, trouble=trouble)
        size = self._place.size()
        stores = self._stores()
        if stores is None:
            trouble = "cannot be read; it will be rebuilt"
            if refused:
                trouble = f"cannot be read, and cannot be rebuilt: {refused}; answers come by scanning"
            return Status(self.directory, exists=True, index_bytes=size, trouble=trouble)
        sources, garbage = stores.catalog.sources(), stores.catalog.garbage()
        diagnostics: dict[str, int] = {}
        for source in sources:
            for code, count in source.diagnostics.items():
                diagnostics[code] = diagnostics.get(code, 0) + count
        return Status(
            self.directory,
            exists=True,
            sources=len(sources),
            records=sum(source.records for source in sources),
            source_bytes=sum(source.stamp.size for source in sources),
            index_bytes=size,
            interrupted=len(garbage) + sum(source.appending for source in sources),
            diagnostics=diagnostics,
            policy=self._policy.record("hot"),
            trouble=f"cannot be brought up to date: {refused}; what is new is scanned" if refused else "",
        )

    def _discard(self) -> None:
        self.close()
        with contextlib.suppress(IndexUnavailable):
            self._place.remove(SHORT_WAIT_S)

    # Freshness

    def _listing(self, files: Sequence[str]) -> Listing:
        seen = listing(self.roots)
        more = {path: found for path in files if path not in seen.found and (found := self._locate(path))}
        return Listing({**seen.found, **more}, seen.roots, seen.unlisted) if more else seen

    def _locate(self, path: str) -> Found | None:
        return locate(path, self.roots, self._default_host)

    def _refresh(
        self, seen: Listing, result: Refreshed, policy: Policy, *, wait_s: float, patience_s: float | None
    ) -> None:
        result.sources = len(seen.found)
        stores = self._stores()
        known = {} if stores is None else stores.known()
        steps = self._steps(known, seen)
        result.unchanged = sum(step.deed == "keep" for step in steps)
        todo = [step for step in steps if step.works]
        stray, all_seen = strays(self.directory, policy.cleanup_files)
        if not all_seen:
            result.reasons = ("cache_cleanup_budget",)
        if not todo and not stray and (stores is not None or not Path(self._place.file("catalog.sqlite")).exists()):
            result.planned = known
            return
        deadline = None if patience_s is None else time.monotonic() + patience_s
        try:
            with self._place.lock(wait_s) as obtained:
                if obtained:
                    sweep(self.directory, stray)
                    self._mended(lambda: self._write(seen, result, policy, deadline))
                else:
                    result.reasons = (*result.reasons, "index_busy")
        except _BROKEN as error:
            result.left.clear()
            raise IndexUnavailable(f"The index in {self.directory} cannot be written: {error}") from error

    def _mended(self, write: Callable[[], None]) -> None:
        """Do *write*; if the stores turn out to be broken although the disk is not, make them anew and do it again."""
        try:
            write()
        except _BROKEN:
            if not self._place.takes_bytes():
                raise
            self.close()
            self._place.wipe()
            write()

    def _write(self, seen: Listing, result: Refreshed, policy: Policy, deadline: float | None) -> None:
        """Bring the stores up to date; called with the lock held, when another process may just have done it.

        A second attempt begins to count anew.
        """
        result.new = result.grown = result.rebuilt = result.removed = result.bytes_read = 0
        result.failed.clear()
        result.left.clear()
        before = os.umask(0o077)  # the engine creates its files itself
        try:
            catalog, engine = writable(self._place)
            try:
                known = {source.path: source for source in catalog.sources()}
                steps = self._steps(known, seen)
                result.unchanged = sum(step.deed == "keep" for step in steps)
                todo, result.left = affordable([step for step in steps if step.works], seen, policy)
                from pepys.index.apply import Applying

                applying = Applying(catalog, engine, self._policy, seen, deadline=deadline, progress=self._progress)
                applying.run(todo, known, result)
                if not result.left and not result.failed:
                    catalog.remember("reconciled", str(time.time_ns() // 1_000_000))
            finally:
                catalog.close()
                engine.settle()
        finally:
            os.umask(before)

    def _steps(self, known: Mapping[str, Source], seen: Listing) -> list[Step]:
        roots = {root.path for root in seen.roots}
        ours = {
            path: source
            for path, source in known.items()
            if source.root in roots or path in seen.found or _vanished(source)
        }
        return list(plan_refresh(ours, seen, self.excluded, self._policy))

    # Looking

    def _view(self, seen: Listing, refreshed: Refreshed, stores: Stores | None) -> View:
        known: Mapping[str, Source] = {}
        garbage: frozenset[int] = frozenset()
        if stores is not None:
            try:
                known, garbage = stores.consistent()
            except _BROKEN:  # as when somebody removes them at this moment
                self.close()
                stores = None
        todo = []
        if known is not refreshed.planned:
            # Another process may have done, meanwhile, what this one left; whatever is still to do is scanned.
            steps = self._steps(known, seen)
            todo = [
                step
                for step in steps
                if step.reads
                and step.path not in refreshed.failed
                # What was read in this very call is not behind, however young its stamp.
                and not (step.reason == YOUNG and known[step.path].examined_ns >= refreshed.began_ns)
            ]
            # What was read under another policy may hold what nobody is to find now.
            tiers, wanted = {step.path: step.tier for step in steps}, self._policy.records()
            known = {path: one for path, one in known.items() if fits(one, tiers.get(path, one.tier), wanted)}
        overlay = self._overlay(todo, seen, known, stores, refreshed)
        return View(
            seen,
            known,
            garbage,
            None if stores is None else stores.catalog,
            None if stores is None else stores.engine,
            overlay,
            known_standings={} if stores is None else stores.standings,
            trees={} if stores is None else stores.trees,
            excluded=frozenset(path for path, found in seen.found.items() if self.excluded(found)),
            failed=refreshed.failed,
            reasons=refreshed.reasons,
            policy=self._policy,
            resolve=lambda overlay, path, searchable: self._scan(
                overlay,
                [path],
                seen,
                known,
                None if stores is None else stores.catalog,
                self._policy.of_whole_entries(),
                documents=searchable,
            ),
        )

    def _overlay(
        self,
        todo: Sequence[Step],
        seen: Listing,
        known: Mapping[str, Source],
        stores: Stores | None,
        refreshed: Refreshed,
    ) -> Overlay:
        if refreshed.left:
            # The caller has waited long enough.
            return Overlay({step.path: refreshed.left[step.path] for step in todo if step.path in refreshed.left})
        if stores is None:
            cold: list[str] = []  # there is nothing to keep digests in
        else:
            cold = [step.path for step in todo if step.tier == "cold"]
        overlay = Overlay(dict.fromkeys(cold, "catching_up"))
        paths = [step.path for step in todo if step.path not in overlay.unread]
        if paths:
            self._scan(overlay, paths, seen, known, None if stores is None else stores.catalog, self._policy)
        return overlay

    def _scan(
        self,
        overlay: Overlay,
        paths: Sequence[str],
        seen: Listing,
        known: Mapping[str, Source],
        catalog: Catalog | None,
        policy: Policy,
        *,
        documents: bool = True,
    ) -> None:
        from pepys.index.overlay import scan

        scan(overlay, paths, seen, known, catalog, policy, documents=documents)

    def _stores(self) -> Stores | None:
        """The stores, opened for reading; None where there are none that can be read."""
        path = self._place.file("catalog.sqlite")
        if self._place.is_link():
            self.close()
            return None
        try:
            identity = (os.stat(path).st_dev, os.stat(path).st_ino)
            if self._open is None or self._open.identity != identity:
                self.close()
                self._open = readable(self._place, identity)
            if self._open is not None:
                self._open.catalog.release()
                self._open.known()
        except _BROKEN:
            self.close()
            return None
        return self._open


def _vanished(source: Source) -> bool:
    """Whether a source that was named by its file, outside of every root, is gone from a folder that is still there."""
    folder = os.path.dirname(source.path)
    if source.agent is not None or source.root != folder:
        return False
    return not os.path.lexists(source.path) and os.path.isdir(folder)
