"""The engine `milvus` (`pip install 'pepys[milvus]'`): memsearch's own collection, read and indexed in place.

Whoever shares a store through memsearch shares the collection too: its name, schema, chunk ids, vectors and state file
are a convention of all agents, and what one of them indexed the others find. Nothing of memsearch is needed, and its
configuration is read, never written.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from pepys.journal import memsearch
from pepys.journal.base import Place

if TYPE_CHECKING:
    from pepys.config import Journal
    from pepys.journal.milvus.index import SharedIndex


def opened(place: Place, settings: Journal, env: Mapping[str, str]) -> SharedIndex:
    """The index of the store at *place*. The database is opened when it is needed, and for no longer."""
    from pepys.journal.milvus import embedding
    from pepys.journal.milvus.database import Database
    from pepys.journal.milvus.index import SharedIndex

    shared = memsearch.settings(env, place.repository)
    database = Database.configured(shared, env, place.repository, settings.search_timeout_ms)
    model = embedding.named(shared, env, settings.search_timeout_ms / 1000)
    return SharedIndex(place, lambda: memsearch.indexing(env, place.repository), database, model, env)
