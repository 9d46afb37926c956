"""Errors that a caller can act on: one shape, stable codes, the cause and the next step.

Only surfaces turn an error into text, an exit status or a wire message. What is merely unseen or
damaged in somebody's files is no error: it is a diagnostic or a coverage reason (`pepys.model`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class PepysError(Exception):
    """Base of all errors that Pepys raises on purpose.

    Attributes:
        code: Stable, machine-readable; documented in `docs/reference/errors.md`.
        exit_status: What the command line exits with.
        hint: The next step, in one sentence; empty when there is none.
        details: Extra JSON fields beside code and message, by their specs' names.
    """

    code = "internal_error"
    exit_status = 1
    hint = ""

    def __init__(self, message: str, *, hint: str | None = None, details: Mapping[str, object] | None = None) -> None:
        super().__init__(message)
        self.message = message
        if hint is not None:
            self.hint = hint
        self.details: Mapping[str, object] = details or {}

    def as_json(self) -> dict[str, object]:
        """The body of `{"error": ...}`, the same on every surface."""
        body: dict[str, object] = {"code": self.code, "message": self.message}
        if self.hint:
            body["hint"] = self.hint
        body.update(self.details)
        return body


def told(error: Exception) -> str:
    """An error in one line for people: ours with the next step, any other with its kind."""
    if isinstance(error, PepysError):
        return f"{error.message} {error.hint}".strip()
    return f"{type(error).__name__}: {error}"


class InvalidArgument(PepysError):
    """The request itself is wrong; nothing was looked at."""

    code = "invalid_argument"
    exit_status = 2


class InvalidEventArgument(InvalidArgument):
    """The same, of an event action; its specification has its own codes."""

    code = "INVALID_ARGUMENT"


class InvalidQuery(InvalidArgument):
    """A query of events is empty, or a quote in it is not closed."""

    code = "INVALID_QUERY"


class EventNotFound(PepysError):
    """There is no such session, entry or fragment, or the caller may not see it: which of the two is not told."""

    code = "NOT_FOUND"
    exit_status = 4

    def __init__(
        self,
        message: str = "Session or entry not found.",
        *,
        hint: str | None = None,
        details: Mapping[str, object] | None = None,
    ) -> None:
        super().__init__(message, hint=hint, details=details)


class InvalidRegex(InvalidArgument):
    """A pattern is no regular expression. Recall carries this and the next three in `coverage.error`."""

    code = "invalid_regex"
    hint = "Patterns are JavaScript's, with the flags i and u: see docs/reference/regex.md."


class RegexTooLarge(InvalidArgument):
    """A pattern is longer than `memory.regexMaxPatternBytes`."""

    code = "regex_pattern_too_large"


class RegexTimeout(PepysError):
    """A pattern took longer than `memory.regexTimeoutMs`: nothing is known."""

    code = "regex_timeout"
    exit_status = 7
    hint = "Put a word that must occur into the pattern, narrow the scope, or raise memory.regexTimeoutMs."


class RegexWorkerFailed(PepysError):
    """The process that matches a pattern failed: nothing is known."""

    code = "regex_worker_error"
    exit_status = 7
    hint = "Ask again."


class UnknownAction(PepysError):
    """No action has this ref."""

    code = "unknown_action"
    exit_status = 2


class InvalidConfiguration(PepysError):
    """A configuration file, variable or override cannot be used."""

    code = "invalid_configuration"
    exit_status = 2


class Disabled(PepysError):
    """The capability is switched off by configuration."""

    code = "disabled"
    exit_status = 3


class SessionNotFound(PepysError):
    """An explicitly named session matches no source (never an authoritative empty answer)."""

    code = "session_not_found"
    exit_status = 4


class AmbiguousSession(PepysError):
    """An explicitly named session matches several sources."""

    code = "ambiguous_session"
    exit_status = 4


class SourceUnavailable(PepysError):
    """The source vanished or cannot be read."""

    code = "source_unavailable"
    exit_status = 4


class StalePointer(PepysError):
    """The source or the lineage is not the one that a token was bound to."""

    code = "stale_pointer"
    exit_status = 5


class OutOfBounds(PepysError):
    """An index, range or entry offset lies outside the session."""

    code = "index_out_of_bounds"
    exit_status = 2


class TextOffsetOutOfBounds(PepysError):
    """A text offset lies outside the entry's text."""

    code = "text_offset_out_of_bounds"
    exit_status = 2


class AddressNotFound(PepysError):
    """A stable entry or operation address names no record in the chosen branch mode."""

    code = "address_not_found"
    exit_status = 4


class AmbiguousAddress(PepysError):
    """A stable entry or operation address names several records."""

    code = "ambiguous_address"
    exit_status = 4


class IndexUnavailable(PepysError):
    """The index directory cannot be used; answers come by scan, explicit index commands fail."""

    code = "index_unavailable"
    exit_status = 6
    hint = "Free space or choose another directory with --index-dir."


class ProgramFailed(PepysError):
    """A guest program is not valid, raised an error, or gave a value that is no JSON."""

    code = "program_failed"
    exit_status = 7


class ProgramStopped(PepysError):
    """A guest program reached a limit, or its worker died."""

    code = "program_stopped"
    exit_status = 7


class GuestUnavailable(PepysError):
    """The sandbox of guest programs is not installed, or does not start."""

    code = "guest_unavailable"
    exit_status = 7
    hint = "Install it: pip install pydantic-monty"


class McpUnavailable(PepysError):
    """The SDK of the MCP server is not installed."""

    code = "mcp_unavailable"
    exit_status = 7
    hint = "Install it: pip install 'pepys[mcp]'"


class StoreCommandFailed(InvalidConfiguration):
    """The store command of the journal is set and gave no usable answer; nothing is written elsewhere instead."""

    code = "store_command_failed"
    hint = "Repair the command, or unset PI_MEMSEARCH_STORE_CMD."


class StoreUnavailable(PepysError):
    """A daily file of the journal cannot be read or written; nothing of it was changed."""

    code = "store_unavailable"
    exit_status = 6


class SessionNotPersisted(PepysError):
    """The current session has no file, or no entry in it, that a memory entry could point at."""

    code = "session_not_persisted"
    exit_status = 4
    hint = "Write again after the session's next answer."


class MemoryNotFound(PepysError):
    """No chunk or entry of the journal has this address."""

    code = "memory_not_found"
    exit_status = 4


class AmbiguousMemory(PepysError):
    """An address of the journal fits several entries; nothing was changed."""

    code = "ambiguous_memory"
    exit_status = 4


class MemoryChanged(PepysError):
    """A daily file changed since it was looked at; nothing was changed."""

    code = "memory_changed"
    exit_status = 5
    hint = "Search again, and repeat the call with what is found now."


class MemoryLocked(PepysError):
    """Another process has the memory database open, and did not give it up within the spec's delays."""

    code = "memory_locked"
    exit_status = 6
    hint = "Try again; Milvus Lite admits one process at a time."


class ModelUnavailable(PepysError):
    """A model is needed, and there is none, or it gave nothing usable."""

    code = "model_unavailable"
    exit_status = 8


class UntrustedProject(PepysError):
    """The notes of a project that is not trusted are neither read nor written."""

    code = "untrusted_project"
    exit_status = 3


class NoteNotFound(PepysError):
    """No note is exactly the one that was named."""

    code = "note_not_found"
    exit_status = 4
    hint = "The match is exact; list the notes to see their wording."


class NotesChanged(PepysError):
    """A store of notes is not the revision that an edit was based on; nothing was written."""

    code = "notes_changed"
    exit_status = 5


class NotesUnavailable(PepysError):
    """A store of notes cannot be read or written: a symbolic link, over 256 KiB, locked, or refused by the system."""

    code = "notes_unavailable"
    exit_status = 6


def carried(result: object) -> Mapping[str, Any] | None:
    """The error that *result* carries: its own, or one in its coverage, of a pattern that could not be matched."""
    if not isinstance(result, Mapping):
        return None
    coverage = result.get("coverage")
    for carrier in (result, coverage if isinstance(coverage, Mapping) else {}):
        error = carrier.get("error")
        if isinstance(error, Mapping) and "code" in error:
            return error
    return None


class OutputLost(PepysError):
    """Stdout did not take a command's output; whatever else the command does was done."""

    code = "output_lost"
    exit_status = 6
    hint = "Whatever else the command does was done."


class SetupConflict(PepysError):
    """Where Pepys is to be set up or removed is something that is not its own, has changed or is read-only.

    It was left alone.
    """

    code = "setup_conflict"
    exit_status = 5


class SetupRefused(PepysError):
    """A file of an agent, or the list of what was written into them, cannot be read, changed or written."""

    code = "setup_refused"
    exit_status = 6
