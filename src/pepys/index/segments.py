"""A tantivy index that is open: many read its last commit, and one, holding a lock, writes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import tantivy

if TYPE_CHECKING:
    from tantivy import IndexWriter, Searcher

HEAP_BYTES = 48 << 20
"""The writer's memory. One thread: the second core is busy decoding and normalising."""

MANY_SEGMENTS = 24
"""Above this a commit waits for the merges that it started; below, they would only keep a short process alive."""


class Segments:
    """What every index of ours does with tantivy, whatever its documents are."""

    def __init__(self, index: tantivy.Index) -> None:
        self._index = index
        self._index.config_reader("manual")  # the default watches the directory from a thread
        self._schema = index.schema
        self._writer: IndexWriter | None = None
        self._searcher: Searcher
        self.reload()

    def reload(self) -> None:
        """See what other processes have committed."""
        self._index.reload()
        self._searcher = self._index.searcher()

    def commit(self) -> None:
        """Make visible, and lasting, what was added and removed."""
        if self._writer is not None:
            self._writer.commit()
            self.reload()

    def settle(self) -> None:
        """Give up the writer; wait for merges only where the number of segments calls for it."""
        if self._writer is not None:
            if self._searcher.num_segments > MANY_SEGMENTS:
                self._writer.wait_merging_threads()
                self.reload()
            self._writer = None

    @property
    def documents(self) -> int:
        """How many documents the last commit holds, removed ones that are not merged away included."""
        return int(self._searcher.num_docs)

    def _writing(self) -> IndexWriter:
        if self._writer is None:
            self._writer = self._index.writer(HEAP_BYTES, 1)
        return self._writer

    def _remove(self, field: str, numbers: Iterable[int]) -> None:
        """Remove the documents that have one of *numbers* in *field*."""
        for number in numbers:
            # Not by term: that takes the number for a signed one, finds nothing in an unsigned field, and says nothing.
            self._writing().delete_documents_by_query(tantivy.Query.term_query(self._schema, field, number))
