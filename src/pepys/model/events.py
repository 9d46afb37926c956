"""Requests of the event actions (spec 3). Field metadata is their only schema, as in `model.query`.

Annotations are evaluated here, because `actions.schema` reads them.
"""

from dataclasses import dataclass, field
from typing import Literal

from pepys.model.query import about

Order = Literal["branch", "append"]

CURRENT = "current"
"""The session id that stands for the caller's own session."""

MAX_NEIGHBOURS = 5
MAX_WINDOW_CHARS = 4000

SAFE = 2**53 - 1
"""The largest number that every reader of JSON has exactly."""


@dataclass(frozen=True, slots=True)
class Within:
    """An interval of time, both ends included."""

    from_: str | None = field(
        default=None, metadata=about("First instant, ISO 8601; UTC unless it has an offset.", minLength=1)
    )
    to: str | None = field(default=None, metadata=about("Last instant, in the same form.", minLength=1))


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """What `events.search` is asked."""

    query: str = field(
        metadata=about(
            'Words and "quoted phrases", all of which must occur in one fragment of an event. No operators.',
            minLength=1,
            maxLength=4096,
        )
    )
    session_id: str | None = field(
        default=None, metadata=about("Only this session: its id, the path of its file, or current.", minLength=1)
    )
    cwd: str | None = field(
        default=None, metadata=about("Only sessions that worked in this folder or below it.", format="path")
    )
    kinds: tuple[str, ...] = field(
        default=(), metadata=about("Only fragments of these kinds, such as user.text, tool.call or tool.result.")
    )
    entry_types: tuple[str, ...] = field(
        default=(), metadata=about("Only entries of these types, such as message or compaction.")
    )
    roles: tuple[str, ...] = field(
        default=(), metadata=about("Only these roles: user, assistant, tool, summary, metadata, custom.")
    )
    tool_names: tuple[str, ...] = field(
        default=(), metadata=about("Only calls and results of these tools. Event search's own are then found too.")
    )
    error_only: bool = field(default=False, metadata=about("Only fragments that report an error."))
    time: Within | None = field(default=None, metadata=about("Only events within this time."))
    branch_states: tuple[str, ...] = field(
        default=(), metadata=about("Only events in these states: selected, alternate, unknown.")
    )
    selection_states: tuple[str, ...] = field(
        default=(),
        metadata=about("Only events in these states: direct, summarized, not-selected, not-applicable, unknown."),
    )
    files: tuple[str, ...] = field(default=(), metadata=about("Only events that read or changed one of these paths."))
    file_access: Literal["any", "read", "changed"] = field(
        default="any", metadata=about("With files: what was done to them.")
    )
    subagents: bool = field(default=False, metadata=about("Also search sessions of sub-agents."))
    include_own: bool = field(default=False, metadata=about("Also find what Pepys itself put into sessions."))


@dataclass(frozen=True, slots=True)
class ReadRequest:
    """What `events.read` is asked."""

    session_id: str = field(metadata=about("The session: its id, the path of its file, or current.", minLength=1))
    entry_id: str = field(metadata=about("The entry, as search gives it.", minLength=1))
    fragment_id: str | None = field(
        default=None, metadata=about("Only this fragment, such as a hit's matchingFragmentId.", minLength=1)
    )
    order: Order = field(
        default="branch",
        metadata=about("Neighbours along the branch of the conversation, or in the order of the file."),
    )
    before: int = field(default=1, metadata=about("Neighbours before the event; at most 5.", minimum=0, maximum=SAFE))
    after: int = field(default=1, metadata=about("Neighbours after the event; at most 5.", minimum=0, maximum=SAFE))
    offset: int | None = field(
        default=None,
        metadata=about("Show a window from this code point on, instead of head and tail.", minimum=0, maximum=SAFE),
    )
    window_chars: int = field(
        default=2000, metadata=about("Length of that window, in code points; at most 4000.", minimum=1, maximum=SAFE)
    )


@dataclass(frozen=True, slots=True)
class TraceRequest:
    """What `events.trace` is asked."""

    session_id: str = field(metadata=about("The session: its id, the path of its file, or current.", minLength=1))
    entry_id: str = field(metadata=about("The entry, as search gives it.", minLength=1))
