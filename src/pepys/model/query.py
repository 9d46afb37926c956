"""Requests of the memory actions (spec 1; limits from the registry that the spec describes).

Field metadata is the only source of schemas, validation and documentation
(`actions.schema`). JSON names are the camelCase forms of the field names.

Annotations are evaluated here, because `actions.schema` reads them: evaluating them again from text would cost a
quarter of what a call costs.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from pepys.model.entry import Outcome
from pepys.model.lineage import Branches

Role = Literal[
    "assistant",
    "bashExecution",
    "branchCustomMessage",
    "branchSummary",
    "branchUser",
    "compaction",
    "compactionSummary",
    "custom",
    "developer",
    "fabricOperation",
    "fabricPhase",
    "fabricRun",
    "fileMention",
    "pythonExecution",
    "system",
    "toolResult",
    "user",
]
"""Spec 1's closed set and the roles that only some hosts have."""


def about(text: str, **schema: Any) -> Mapping[str, Any]:
    """Field metadata: a description and JSON Schema keywords (`minimum`, `maximum`, `minLength`, ...)."""
    return {"description": text, "schema": schema}


@dataclass(frozen=True, slots=True)
class EntryRange:
    """An inclusive range of record indices."""

    first: int = field(metadata=about("First index, inclusive."))
    last: int = field(metadata=about("Last index, inclusive."))


@dataclass(frozen=True, slots=True)
class RecallRequest:
    """What `memory.recall` is asked."""

    query: str = field(
        default="", metadata=about("Words to find. Blank: browse, newest session first.", maxLength=4096)
    )
    query_mode: Literal["literal", "phrase", "regex"] = field(
        default="literal",
        metadata=about(
            "literal: exact tokens. phrase: contiguous text, case-insensitive. regex: a JavaScript regular expression."
        ),
    )
    query_match: Literal["any", "all"] = field(
        default="any", metadata=about("Literal mode: entries with any of the words, or only those with all of them.")
    )
    scope: str | None = field(
        default=None,
        metadata=about("session, project, global, or session:<id-or-path>. Default: session."),
    )
    branches: Branches = field(
        default="active", metadata=about("The selected branch of each session, or every branch.")
    )
    role: Role | None = field(default=None, metadata=about("Only entries of this role."))
    tool: str | None = field(default=None, metadata=about("Only entries of this tool."))
    ref: str | None = field(default=None, metadata=about("Only operations of this ref, such as pi.grep.", minLength=1))
    provider: str | None = field(default=None, metadata=about("Only operations of this provider.", minLength=1))
    action: str | None = field(default=None, metadata=about("Only operations of this action.", minLength=1))
    outcome: Outcome | None = field(default=None, metadata=about("Only operations and runs that ended so."))
    since: int | float | None = field(
        default=None, metadata=about("Only entries at or after this time (ms since 1970).")
    )
    until: int | float | None = field(
        default=None, metadata=about("Only entries at or before this time (ms since 1970).")
    )
    offset: int = field(default=0, metadata=about("Hits to skip.", minimum=0))
    page_size: int = field(default=10, metadata=about("Most hits to return.", minimum=1, maximum=50))
    snippet_chars: int = field(default=480, metadata=about("Length of a snippet.", minimum=80, maximum=2000))
    entry_range: EntryRange | None = field(
        default=None, metadata=about("Only records with these indices; scope must be session:<id-or-path>.")
    )
    subagents: bool = field(default=False, metadata=about("Also search sessions of sub-agents."))
    include_own: bool = field(default=False, metadata=about("Also find what Pepys itself put into sessions."))
    expected_source_hash: str | None = field(
        default=None, metadata=about("Binding of a call token: the source's SHA-256.")
    )
    expected_lineage_fingerprint: str | None = field(
        default=None, metadata=about("Binding of a call token: the lineage.")
    )


@dataclass(frozen=True, slots=True)
class SessionsRequest:
    """What `memory.sessions` is asked."""

    scope: str | None = field(
        default=None,
        metadata=about("session, project, global, or session:<id-or-path>. Default: session."),
    )
    branches: Branches = field(
        default="active", metadata=about("The selected branch of each session, or every branch.")
    )
    limit: int | None = field(default=None, metadata=about("Most rows to return.", minimum=1))
    subagents: bool = field(default=False, metadata=about("Also list sessions of sub-agents."))


@dataclass(frozen=True, slots=True)
class ExpandRequest:
    """What `memory.expand` is asked. Selectors are a union; without one, only the entry count is returned."""

    session: str = field(metadata=about("Session id or path of its file.", minLength=1))
    branches: Branches = field(default="active", metadata=about("The selected branch of the session, or every branch."))
    indices: tuple[int, ...] = field(default=(), metadata=about("Record indices.", maxItems=100))
    entry_ids: tuple[str, ...] = field(default=(), metadata=about("Stable entry ids.", maxItems=100))
    operation_addresses: tuple[str, ...] = field(
        default=(), metadata=about("Stable addresses of operations, as hits carry them.", maxItems=100)
    )
    entry_range: EntryRange | None = field(default=None, metadata=about("An inclusive range of record indices."))
    before: int = field(default=0, metadata=about("Records before the one selected.", minimum=0, maximum=100))
    after: int = field(default=0, metadata=about("Records after the one selected.", minimum=0, maximum=100))
    entry_offset: int = field(default=0, metadata=about("Continuation: selected records to skip.", minimum=0))
    text_offset: int = field(
        default=0, metadata=about("Continuation: code points of the first record to skip.", minimum=0)
    )
    max_chars: int = field(default=20_000, metadata=about("Most code points of text.", minimum=256, maximum=24_000))
    max_entries: int = field(default=10, metadata=about("Most records.", minimum=1, maximum=20))
    expected_source_hash: str | None = field(
        default=None, metadata=about("Binding of a call token: the source's SHA-256.")
    )
    expected_lineage_fingerprint: str | None = field(
        default=None, metadata=about("Binding of a call token: the lineage.")
    )
