"""Requests of the journal's actions (spec 4). See `model.query` for how they are read.

Parameters have the names that the specification's tools have, which are not camelCase.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, Protocol

from pepys.model.query import about


def _named(name: str, text: str, **schema: Any) -> Mapping[str, Any]:
    return {**about(text, **schema), "name": name}


class Completion(Protocol):
    """A model that the caller of Pepys provides: a host over its own registry, a user by an endpoint."""

    def __call__(self, model: str | None, system: str, prompt: str, timeout_s: float) -> str:
        """The model's answer.

        Args:
            model: `provider/id`; None: whatever model there is.

        Raises:
            TimeoutError: There was none in time.
            Exception: Whatever else went wrong; its text is for people.
        """
        ...


class Price(NamedTuple):
    """What a model costs, in any one currency per token."""

    input: float
    output: float


@dataclass(frozen=True, slots=True)
class OfferedModel:
    """A model that the host can call."""

    provider: str = field(metadata=about("Its provider.", minLength=1))
    id: str = field(metadata=about("Its id, which may hold slashes.", minLength=1))
    input: float = field(default=0.0, metadata=about("Price of input."))
    output: float = field(default=0.0, metadata=about("Price of output."))

    @property
    def name(self) -> str:
        """As a completion is asked for it."""
        return f"{self.provider}/{self.id}"


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """What `journal.search` is asked."""

    query: str = field(metadata=about("What to look for, in any words.", minLength=1, maxLength=4096))
    top_k: int = field(default=5, metadata=_named("top_k", "Most chunks to return.", minimum=1, maximum=100))
    scope: Literal["project", "all"] = field(
        default="project", metadata=about("This project's memory, or that of every project under the scan roots.")
    )


@dataclass(frozen=True, slots=True)
class ExpandRequest:
    """What `journal.expand` is asked."""

    chunk_hash: str = field(metadata=_named("chunk_hash", "Of a chunk that a search returned.", minLength=1))
    project: str | None = field(
        default=None,
        metadata=about("The project that a hit of a search with scope all was labelled with, verbatim.", format="path"),
    )


@dataclass(frozen=True, slots=True)
class TranscriptRequest:
    """What `journal.transcript` is asked."""

    transcript_path: str = field(
        metadata=_named("transcript_path", "The session's file, as an anchor names it.", format="path")
    )
    turn: str | None = field(
        default=None, metadata=about("Entry id of an anchor, or how it begins. Without it: the newest turns.")
    )
    context: int = field(default=3, metadata=about("Turns before and after that entry's.", minimum=0, maximum=1000))
    limit: int = field(default=20, metadata=about("Without `turn`: how many turns.", minimum=1, maximum=1000))


@dataclass(frozen=True, slots=True)
class WriteRequest:
    """What `journal.write` is asked."""

    content: str = field(metadata=about("What to remember, as markdown bullets in the third person."))


@dataclass(frozen=True, slots=True)
class ForgetRequest:
    """What `journal.forget` is asked: a chunk hash alone, or date and time together."""

    chunk_hash: str | None = field(default=None, metadata=_named("chunk_hash", "Of a chunk of the entry."))
    date: str | None = field(default=None, metadata=about("Day of the entry's file, YYYY-MM-DD."))
    time: str | None = field(default=None, metadata=about("Time in the entry's heading, HH:MM."))


@dataclass(frozen=True, slots=True)
class EventRequest:
    """What the journal is told of an event of a session: nothing that the call's context does not say."""


@dataclass(frozen=True, slots=True)
class PromptRequest:
    """What `journal.autoContext` is asked."""

    prompt: str = field(metadata=about("What the user wrote. Its first 500 characters are searched for."))


@dataclass(frozen=True, slots=True)
class SettledRequest:
    """What `journal.settled` is told."""

    models: tuple[OfferedModel, ...] = field(default=(), metadata=about("The models that the host can call."))
    provider: str | None = field(default=None, metadata=about("Provider of the session's model."))
    model: str | None = field(default=None, metadata=about("The session's model, as provider/id."))
    aborted: bool = field(default=False, metadata=about("Whether the run was aborted, where the file does not say."))
    wait: bool = field(default=False, metadata=about("Answer only when the entry is written."))


@dataclass(frozen=True, slots=True)
class CompactRequest:
    """What `journal.compact` is asked: nothing."""


@dataclass(frozen=True, slots=True)
class StatusRequest:
    """What `journal.status` is asked: nothing."""
