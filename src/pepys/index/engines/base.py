"""The seam between the index and what indexes and searches text.

An engine finds places; it never shows text. Whatever engine found a hit, its evidence is re-read from the source.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Literal, NamedTuple, Protocol

from pepys.index.document import Document
from pepys.model.entry import Field

FIELDS: tuple[Field, ...] = ("prose", "call", "output", "thinking", "label")
"""What recall finds."""

EVENT_FIELDS: tuple[Field, ...] = ("prose", "call", "output", "aside")
"""What event search finds; beside them, of the same text, what stands within tokens: `FINER`."""

TEXTS: tuple[Field, ...] = ("prose", "output")
"""What may follow the name of a tool, in `call`, within one fragment."""

FINER = ("parts", "cjk")
"""parts: distinct words within tokens, without places. cjk: single characters."""

WEIGHTS: Mapping[Field, float] = {"prose": 2.4, "call": 0.7, "output": 0.75, "thinking": 1.0, "label": 0.7}
"""Provenance weights: prose of people and models ranks ahead of tool plumbing (spec 1)."""

EVEN: Mapping[Field, float] = dict.fromkeys(FIELDS, 1.0)
"""No provenance weights: structural filters ask for operations explicitly."""


class Words(NamedTuple):
    """Literal terms: documents that hold any, or all, of them, in whatever field."""

    terms: tuple[str, ...]  # canonical, distinct
    match: Literal["any", "all"] = "any"
    weights: Mapping[Field, float] | None = None  # None: `WEIGHTS`


class Run(NamedTuple):
    """Tokens that stand side by side within one passage. An open edge may be part of a longer token, and of a giant."""

    tokens: tuple[str, ...]  # at least one
    open_left: bool = False
    open_right: bool = False


class Runs(NamedTuple):
    """Documents that may hold a phrase: every run occurs somewhere. A superset, to be verified by the caller."""

    runs: tuple[Run, ...]


class Everything(NamedTuple):
    """Every record (browse)."""


class Wanted(NamedTuple):
    """One term or phrase of a query of events, in all that it may look like in the index.

    With CJK, a document may hold it if the characters of every run stand side by side in `cjk`, and every word is a
    token of a field of text or in `parts`. Without, if one of the phrases stands in a field of text, or begins in
    `call` and goes on in one of `TEXTS`, or all words are in `parts`; and loosely, if every word is somewhere, one of
    them in `parts`: a phrase that reaches into tokens.
    """

    words: tuple[str, ...]  # distinct, as `text.plain` gives them
    runs: tuple[str, ...] = ()  # of CJK
    phrases: tuple[tuple[str, ...], ...] = ()  # words, and canonical tokens, side by side

    @property
    def halves(self) -> Iterator[tuple[tuple[str, ...], tuple[str, ...]]]:
        """The phrases, parted at every place: a fragment begins with the name of its tool, and goes on with a text."""
        return ((words[:at], words[at:]) for words in self.phrases for at in range(1, len(words)))

    @property
    def reaches(self) -> bool:
        """Whether it may be found loosely: it has several tokens."""
        return not self.runs and len(self.phrases[-1]) > 1


class Sought(NamedTuple):
    """Events (not child records) that may hold all that is wanted, in whatever fragments: to be verified (spec 3).

    Scores are BM25 over words and characters, all fields even.
    """

    wanted: tuple[Wanted, ...]  # none: nothing is found
    fields: tuple[Field, ...] = EVENT_FIELDS
    loose: bool = False
    roles: frozenset[str] | None = None  # one of these; None: any
    traits: tuple[frozenset[str], ...] = ()  # of every set, one
    tools: frozenset[str] | None = None  # the name of one of these stands in a call, or is the event's own
    paths: tuple[frozenset[str], ...] | None = None  # components of paths: all of one of these are touched

    @property
    def terms(self) -> tuple[str, ...]:
        """What counts for scores: the distinct words and characters."""
        return tuple(dict.fromkeys(term for wanted in self.wanted for term in (*wanted.words, *"".join(wanted.runs))))


Query = Words | Runs | Everything | Sought


EXACT = ("role", "tool", "ref", "provider", "action", "outcome")
"""What is filtered by equality: fields of documents, rows and filters alike."""


class Record(Protocol):
    """What a filter looks at: documents, rows and cold addresses have it. The fields of `EXACT` are read by name."""

    @property
    def time(self) -> int | None:
        """When it was made, ms."""
        ...


class Filters(NamedTuple):
    """Exact structural filters, all of which must hold."""

    role: str | None = None
    tool: str | None = None
    since: int | None = None  # ms, inclusive
    until: int | None = None  # ms, inclusive
    ref: str | None = None
    provider: str | None = None
    action: str | None = None
    outcome: str | None = None

    def passes(self, record: Record) -> bool:
        """Whether a record passes; one without a time passes every time filter."""
        time = record.time
        return (
            (self.since is None or time is None or time >= self.since)
            and (self.until is None or time is None or time <= self.until)
            and all(getattr(self, name) in (None, getattr(record, name)) for name in EXACT)
        )

    @property
    def structural(self) -> bool:
        """Whether operations are asked for; then no provenance weighs (spec 1, "Exact lexical queries")."""
        return self.names_operations or self.outcome is not None

    @property
    def names_operations(self) -> bool:
        """Whether what is asked for is named."""
        return any((self.tool, self.ref, self.provider, self.action))

    def __bool__(self) -> bool:
        """Whether anything is filtered at all."""
        return self != Filters()


class Among(NamedTuple):
    """Which generations count: the listed ones, or all but the listed ones."""

    generations: frozenset[int]
    inverted: bool = False

    def holds(self, generation: int) -> bool:
        """Whether documents of *generation* count."""
        return (generation in self.generations) is not self.inverted


class Hits(NamedTuple):
    """What an engine found."""

    total: int  # exact number of matching documents
    best: tuple[tuple[float, int], ...]  # (score, packed place), best first; ties in no particular order
    times: tuple[int | None, ...]  # of the best, ms since the epoch


class Statistics(NamedTuple):
    """What BM25 needs to know of a corpus."""

    documents: int
    mean_tokens: Mapping[str, float]  # by field: tokens in a field over the number of all documents
    frequency: Mapping[tuple[str, str], int]  # documents that hold a term in a field


class EngineBroken(Exception):
    """What the engine has on disk cannot be read. It is derived: whoever may write makes it anew."""


class Engine(Protocol):
    """Finds documents by their text."""

    def add(self, documents: Iterable[Document]) -> None:
        """Take in documents; they are found after `commit`."""
        ...

    def remove(self, generations: Iterable[int]) -> None:
        """Drop every document of these generations; effective after `commit`."""
        ...

    def commit(self) -> None:
        """Make additions and removals durable and visible to searches from now on."""
        ...

    def search(self, query: Query, filters: Filters, among: Among, limit: int) -> Hits:
        """The best *limit* matches and the exact number of all matches."""
        ...

    def places(self, query: Query, filters: Filters, among: Among) -> list[int]:
        """The packed places of all matches, in no particular order."""
        ...
