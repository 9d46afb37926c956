"""How much was looked at, and every reason why not all."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

REASONS: Mapping[str, tuple[bool, str]] = {
    # reason: (makes the answer incomplete, what it means)
    "source_unavailable": (True, "a source could not be read"),
    "source_changed_during_index": (True, "a source changed while it was read; its newest text may be missing"),
    "root_not_listed": (True, "a session directory could not be listed completely"),
    "project_session_dir_missing": (True, "the project has no session directory"),
    "catching_up": (True, "the first index is still being built; ask again, or run `pepys index`"),
    "scan_budget": (True, "more than 64 MB would have to be scanned without an index"),
    "excluded_by_configuration": (True, "configuration excludes a project, folder or session"),
    "damaged_source": (True, "lines of a source could not be read; see diagnostics"),
    "unknown_record_type": (True, "a source holds record types that this version does not know; see diagnostics"),
    "torn_tail": (True, "a source ends in an unfinished line"),
    "oversized_text": (True, "text over 1 MiB is searchable in its head and tail only"),
    "invalid_parent_graph": (True, "parent links form a cycle"),
    "live_branch_ahead": (True, "the host's live branch holds entries that are not in the file yet"),
    "duplicate_entry_id": (True, "an entry id occurs twice among the records"),
    "duplicate_operation_address": (True, "an operation address occurs twice among the records"),
    "duplicate_branch_fact_address": (True, "details of a branch summary name an address twice and are rejected"),
    "rejected_trace": (True, "an execution trace is not valid; its operations are no records"),
    "rejected_branch_summary": (True, "details of a branch summary are not valid; their facts are no records"),
    "query_has_no_terms": (True, "a literal query of punctuation only finds nothing, which proves nothing"),
    "candidate_entry_budget": (True, "more than 50,000 entries would have to be looked at"),
    "candidate_digest_budget": (True, "more than 10,000 cold sessions may match"),
    "candidate_item_budget": (True, "there are more than 10,000 hits, or paging goes past the 10,000th"),
    "fragment_budget": (True, "more than 2,000 events that may match would have to be read; name a rarer word"),
    "cold_session": (True, "a session is cold: its events are not searched unless it is named"),
    "workspace_unknown": (True, "a session does not tell its directory: its header is damaged; nobody sees its events"),
    "startup_budget": (True, "a session is older or larger than the PI_EVENT_SEARCH_STARTUP_… budgets take in"),
    "max_entry_chars": (True, "entries are longer than memory.maxEntryChars; the rest of them is not searched"),
    "max_cold_vocabulary_bytes": (True, "a cold session has more words than memory.maxColdVocabularyBytes holds"),
    "max_cold_cache_bytes": (True, "the digest of a cold session is larger than memory.maxColdCacheBytes"),
    "max_files_touched": (True, "a cold session touched more than 50 files; its digest names the first ones"),
    "cold_all_terms_requires_hydration": (True, "a cold session holds all the words, perhaps not in one entry"),
    "cold_phrase_requires_hydration": (True, "a cold session holds the words of the phrase, perhaps not side by side"),
    "cold_regex_requires_hydration": (True, "of cold sessions single words are matched, and not what they stand in"),
    "cold_structural_filter_requires_hydration": (
        True,
        "in a cold session words and filters may fit different entries",
    ),
    "max_sync_sessions": (True, "more than memory.maxSyncSessions sessions would have to be read; call again"),
    "max_sync_source_bytes": (True, "more than memory.maxSyncSourceBytes would have to be read in one call"),
    "cache_cleanup_budget": (True, "the index directory holds more than memory.maxCacheCleanupFiles names"),
    "regex_max_haystack_terms": (True, "the pattern was tried on `memory.regexMaxHaystackTerms` records, not on all"),
    "regex_max_haystack_bytes": (True, "the pattern was tried on `memory.regexMaxHaystackBytes` of text, not on all"),
    "regex_timeout": (True, "the pattern took longer than `memory.regexTimeoutMs` and was stopped; nothing is known"),
    "invalid_regex": (True, "the pattern is no regular expression, or none that can be kept to JavaScript's meaning"),
    "regex_pattern_too_large": (True, "the pattern is longer than `memory.regexMaxPatternBytes`"),
    "regex_worker_error": (True, "the process that matches the pattern failed; nothing is known"),
    "index_unavailable": (False, "the index directory cannot be used; the answer was found by scanning"),
    "index_busy": (False, "another process is indexing; its newest entries were scanned"),
    "current_session_unknown": (False, "the host did not say which session is current; the newest one was taken"),
}


@dataclass(slots=True)
class Coverage:
    """Coverage of one answer (spec 1, "Tiers, refresh, and work budgets"), while it is being gathered."""

    eligible: int = 0
    indexed: int = 0
    incomplete: int = 0
    reasons: set[str] = field(default_factory=set)
    diagnostics: dict[str, int] = field(default_factory=dict)  # code -> how many, over the eligible sources
    subagents_left_out: int = 0  # sessions of sub-agents, which are searched only when asked for
    own_left_out: int = 0  # entries that Pepys itself wrote
    error: Mapping[str, object] | None = None

    def as_json(self) -> dict[str, object]:
        """The spec's object, with the counts that are ours beside it."""
        stale = self.eligible - self.indexed
        blocking = any(REASONS.get(reason, (True, ""))[0] for reason in self.reasons)
        result: dict[str, object] = {
            "complete": stale == 0 and self.incomplete == 0 and not blocking,
            "indexedSessions": self.indexed,
            "eligibleSessions": self.eligible,
            "staleSessions": stale,
            "incompleteSessions": self.incomplete,
            "reasons": sorted(self.reasons),
        }
        if self.diagnostics:
            result["diagnostics"] = dict(sorted(self.diagnostics.items()))
        if self.subagents_left_out:
            result["subagentSessionsLeftOut"] = self.subagents_left_out
        if self.own_left_out:
            result["ownEntriesLeftOut"] = self.own_left_out
        if self.error is not None:
            result["error"] = dict(self.error)
        return result
