"""How much of what a caller may see was looked at, and every reason why not all (spec 3; reference "coverage")."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence

from pepys.events.corpus import Corpus, Selection
from pepys.events.times import iso
from pepys.index.source import Source
from pepys.model.coverage import REASONS
from pepys.model.source import DIAGNOSTICS

MAX_DETAILS = 10
"""Skipped sources that are named one by one."""


class Coverage:
    """Coverage of one answer, while it is being gathered."""

    def __init__(self, corpus: Corpus, selection: Selection, *, own: bool) -> None:
        """Look at what a selection could not take in.

        Args:
            corpus: What the caller may see.
            selection: What the call is about.
            own: Whether what Pepys itself wrote is found.
        """
        view = corpus.view
        self.reasons: set[str] = set(view.reasons)
        self._skipped: dict[str, tuple[str, str | None]] = {}  # path -> reason, session
        self._unknown: dict[str, int] = {}  # reason -> sources that do not tell whether the caller may see them
        self._selection, self._view = selection, view
        self._own_left_out = 0 if own else sum(source.own_records for source in selection.sources)
        self._diagnostics: dict[str, int] = {}
        self._indexed = 0
        for source in selection.sources:
            self._take(source)
        for source in selection.over_budget:
            self._skip(source, "startup_budget")
        if not selection.explicit:
            self._look_for_unread(corpus)
            self._unknown.update(corpus.nowhere())
            if view.seen.unlisted:
                self.reasons.add("root_not_listed")
            if corpus.current is None:
                self.reasons.add("current_session_unknown")

    def as_json(self) -> dict[str, object]:
        """State, counts, reasons and bounded details."""
        unread = sum(self._unknown.values())
        reconciled = self._view.reconciled()
        incomplete = {reason for reason in self.reasons if REASONS.get(reason, (True, ""))[0]}
        whole = not (incomplete or self._skipped or unread)
        if whole:
            reconciled = time.time_ns() // 1_000_000
        reasons = self.reasons | {reason for reason, _ in self._skipped.values()} | self._unknown.keys()
        result: dict[str, object] = {
            "state": self._state(reasons, whole=whole),
            "indexedSessions": self._indexed,
            "discoveredSessions": self._indexed + len(self._skipped) + unread,
            "lastReconciled": None if reconciled is None else iso(reconciled),
            "reasons": sorted(reasons),
        }
        if self._skipped or unread:
            details: list[dict[str, object]] = [
                {"file": path, "reason": reason, **({} if session is None else {"sessionId": session})}
                for path, (reason, session) in sorted(self._skipped.items())[:MAX_DETAILS]
            ]
            details += [{"sessions": count, "reason": reason} for reason, count in sorted(self._unknown.items())]
            result["skipped"] = details
            result["skippedSessions"] = len(self._skipped) + unread
        if self._diagnostics:
            result["diagnostics"] = dict(sorted(self._diagnostics.items()))
        if self._selection.subagents_left_out:
            result["subagentSessionsLeftOut"] = self._selection.subagents_left_out
        if self._own_left_out:
            result["ownEntriesLeftOut"] = self._own_left_out
        return result

    def _state(self, reasons: Iterable[str], *, whole: bool) -> str:
        if whole:
            return "ready"
        unindexed = "index_unavailable" in reasons and self._skipped
        if not self._indexed and ("source_unavailable" in reasons or unindexed):
            return "error"
        return "catching-up" if {"catching_up", "scan_budget"} & set(reasons) else "partial"

    def _take(self, source: Source) -> None:
        view = self._view
        if source.path in view.failed:
            self._skip(source, view.failed[source.path])
        elif source.path in view.unread:
            self._skip(source, view.unread[source.path])
        elif not view.reads(source):
            self._skip(source, "cold_session")
        else:
            self._indexed += 1
        self.reasons.update(_flaws(source))
        for code, count in source.diagnostics.items():
            self._diagnostics[code] = self._diagnostics.get(code, 0) + count

    def _skip(self, source: Source, reason: str) -> None:
        self._skipped[source.path] = (reason, source.session)

    def _look_for_unread(self, corpus: Corpus) -> None:
        """Sources that this view knows no more of than where they worked. Excluded ones are not opened."""
        view = corpus.view
        for path, header in corpus.unread():
            if corpus.current is None or header.session != corpus.current:
                reason = view.failed.get(path) or view.unread.get(path, "catching_up")
                self._skipped[path] = (reason, header.session)
        if not view.excluded.isdisjoint(view.seen.found):
            self.reasons.add("excluded_by_configuration")


def _flaws(source: Source) -> Sequence[str]:
    flaws = [code if code in REASONS else "damaged_source" for code in source.diagnostics if DIAGNOSTICS[code][0]]
    if source.oversized:
        flaws.append("oversized_text")
    if source.cyclic:
        flaws.append("invalid_parent_graph")
    if source.cut:
        flaws.append("max_entry_chars")
    return flaws
