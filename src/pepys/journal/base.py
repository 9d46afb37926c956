"""The seam between the journal and what indexes its markdown: what an index must do, and nothing more.

Daily files are the truth. An index is derived from them, one a store, and may be deleted at any time; nothing here
writes to a store. An engine is a module with one row in `journal.engines.ENGINES` and a function
`opened(place, settings, env) -> Index` that costs next to nothing: what an engine must load (an embedder, a database)
it loads when it is first needed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple, Protocol


class Place(NamedTuple):
    """Which store is indexed, and where its index lives."""

    store: str  # absolute directory of the daily files; it need not exist
    collection: str  # the name that other agents' tools know it by
    directory: str  # of this store's index alone: private, disposable, created when something is written
    repository: str  # absolute; where a project's memsearch configuration is looked for
    state_dir: str | None = None  # what a store command answered: where memsearch would keep its index state
    foreign: bool = False  # another project's, met by a search across projects: its collection is never written


class Chunk(NamedTuple):
    """A section of a daily file, or a part of one that is too long."""

    id: str  # 16 hex digits; the same until the chunk's text changes, wherever its lines move (ours)
    path: str  # absolute path of the file
    heading: str  # without its `#`; "" before the first one
    level: int  # of the heading, 1 to 6; 0 before the first one
    first: int  # lines of the file, counted from 1, both inclusive, as of the last refresh
    last: int
    text: str  # as in the file, its heading and anchor comment included; surrounding white space is not


class Hit(NamedTuple):
    """A chunk that a search found."""

    chunk: Chunk
    relevance: float  # absolute, 0 to 1: comparable between queries and between stores, and with auto-context's floor


class Refreshed(NamedTuple):
    """What a refresh did."""

    files: int  # in the store
    chunks: int  # in the index afterwards
    embedded: int  # of them, embedded by this refresh
    removed: int  # chunks that left the index
    failed: Mapping[str, str]  # path of a file that could not be read -> why
    pending: bool = False  # the budget ended before everything was indexed; of the rest, searches find some, or none


class Status(NamedTuple):
    """An index, measured without changing it."""

    chunks: int | None  # None: there is none yet
    embedder: str  # the name of what makes its vectors, such as static
    bytes: int = 0  # on disk, of what lies in the place's directory
    pending: bool = False  # files of the store are not indexed as they are now
    purge_pending: bool = False  # a forgotten text may still lie in the index; see `Index.purge`
    note: str = ""  # anything else that a person should know, in one line; failed files of the last refresh


class BackendMissing(Exception):
    """The index cannot be used at all: something is not installed, or cannot be opened.

    Surfaces return `steps` as an answer, not as an error (spec 4, "Degradation").

    Attributes:
        reason: In few words, for `memory_status`.
        steps: What a person can do about it.
    """

    def __init__(self, reason: str, steps: str) -> None:
        super().__init__(reason)
        self.reason = reason
        self.steps = steps


class NeverIndexed(Exception):
    """There is no such collection (engine `milvus`; our own engine indexes what it is asked about)."""


class Index(Protocol):
    """The index of one store.

    Every method may raise `BackendMissing`; those that look something up may raise `NeverIndexed`. Several processes
    may use one index at the same time.
    """

    def refresh(self, budget_s: float | None = None) -> Refreshed:
        """Bring the index up to date with the store's files, changed ones only; finishes a purge that is pending.

        Called after writes (5 s after the first of a burst, never later than that again and again), at session start,
        and before a search. A chunk is removed only after what replaces it is in.

        Args:
            budget_s: Where the time ends, `pending` is true and what was done is kept; None: until done.
        """
        ...

    def search(self, query: str, k: int, *, path_prefix: str | None = None) -> list[Hit]:
        """The *k* best hits, best first; none where nothing has to do with *query*.

        It brings nothing up to date: files that changed since the last refresh are found as they were.

        Args:
            path_prefix: Only chunks of files whose absolute path begins so.
        """
        ...

    def chunk(self, id_: str) -> Chunk | None:
        """The chunk with this id; ids of memsearch's (reference, section 3) are found too. None: there is none."""
        ...

    def chunks(self) -> Iterator[Chunk]:
        """Every chunk, by path and line; for compaction."""
        ...

    def purge(self) -> bool:
        """Make what is no longer in the store's files disappear from disk: text, terms, vectors, hashes, free pages.

        Called after an entry was removed from its file. False: a reader blocks that; it is remembered, and the next
        `refresh` or `purge`, also by another process, finishes it.
        """
        ...

    def status(self) -> Status:
        """Its state."""
        ...

    def close(self) -> None:
        """Let go of files and memory."""
        ...
