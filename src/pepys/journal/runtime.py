"""What the journal keeps between calls: indexes that are open, and what this process knows of live sessions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from pepys.journal.base import Place
from pepys.journal.engines import Indexes, opened
from pepys.journal.indexer import Indexers

if TYPE_CHECKING:
    from pepys.config import Journal
    from pepys.journal.base import Index

INDEXERS = Indexers()
"""Of this process: workspaces come and go with the contexts of calls, and a write outlives the one it came in."""


class Runtime:
    """The journal's share of a workspace."""

    def __init__(self, settings: Journal, env: Mapping[str, str]) -> None:
        self._settings, self._env = settings, env
        self._indexes = Indexes(settings, env)
        self.indexers = INDEXERS

    def index(self, place: Place) -> Index:
        """The index of the store at *place*.

        Raises:
            BackendMissing: There is nothing to index with.
        """
        return self._indexes.at(place)

    def written(self, place: Place, *, at_once: bool = False) -> None:
        """The store at *place* was written to, or a session began there: its index is to follow."""
        self.indexers.note(place, lambda: self._refresh(place), at_once=at_once)

    def close(self) -> None:
        """Close the indexes. What is still to be indexed is left to the next session."""
        self._indexes.close()

    def _refresh(self, place: Place) -> None:
        # In a thread of its own, hence with an index of its own.
        index = opened(self._settings.engine, place, self._settings, self._env)
        try:
            index.refresh()
        finally:
            index.close()
