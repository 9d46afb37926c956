"""A Milvus database, opened for as long as one operation takes, and memsearch's collections in it.

Milvus Lite admits one process at a time, and whoever comes second fails at once. So nothing is held between calls,
nothing slow (embedding) happens within one, and who is locked out tries again after the spec's delays.
"""

from __future__ import annotations

import json
import logging
import os
import threading
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import invalidate_caches
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from pepys import paths
from pepys.errors import MemoryLocked
from pepys.journal.base import BackendMissing, NeverIndexed
from pepys.journal.constants import BACKOFF_DELAYS_MS

Row = dict[str, Any]

TEXT_FIELDS = ("chunk_hash", "content", "source", "heading", "heading_level", "start_line", "end_line")

CONTENT_BYTES = 65_535
HEADING_BYTES = 1024

MOST = 16_384
"""How many rows Milvus returns at most for one question."""

_ROWS_AT_ONCE = 500
_CONNECT_S = 10.0

_TURNS: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)
"""By path: threads of this process take turns, for they share what Milvus Lite keeps of an open database."""


class Database:
    """A database by its address: a path (Milvus Lite), or a server's or Zilliz Cloud's URI."""

    def __init__(self, uri: str, path: str | None, token: str = "", patience_ms: int = 30_000) -> None:
        self.uri = uri  # as memsearch's configuration has it
        self.path = path  # of Milvus Lite; None: a server
        self._token = token
        self._patience_ms = patience_ms  # for others to give it up
        self._client: Any = None  # of a server: kept, for it locks nobody out

    @staticmethod
    def configured(shared: Mapping[str, Any], env: Mapping[str, str], repository: str, patience_ms: int) -> Database:
        """The one that memsearch's configuration names; a relative path is taken from the repository directory."""
        uri = str(shared["milvus.uri"])
        path = None if "://" in uri else str(paths.expand(uri, env, Path(repository)))
        return Database(uri, path, str(shared.get("milvus.token") or ""), patience_ms)

    @property
    def exists(self) -> bool:
        """Whether there is one, as far as that can be seen without opening it."""
        return self.path is None or Path(self.path).exists()

    @property
    def shown(self) -> str:
        """Its address for people, without credentials."""
        if self.path is not None:
            return self.path
        parts = urlsplit(self.uri)
        return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"

    @contextmanager
    def borrowed(self, name: str, *, create: int | None = None) -> Iterator[Collection]:
        """The collection *name*, ready to be searched.

        Args:
            name: Of the collection.
            create: Where there is none, make it, for vectors of so many dimensions.

        Raises:
            NeverIndexed: There is none.
            MemoryLocked: Another process has the database open, and did not give it up in time.
            BackendMissing: pymilvus is not installed, or the database cannot be opened, or failed.
        """
        _require()
        from pymilvus import MilvusException

        if create is None and not self.exists:
            raise NeverIndexed  # opening would create it
        with self._turn():
            try:
                client = self._opened()
                try:
                    collection = Collection(client, name)
                    if not collection.ready(create):
                        raise NeverIndexed
                    yield collection
                finally:
                    self._release(client)
            except MilvusException as error:
                raise self._missing(error) from error

    def close(self) -> None:
        """Give up the connection to a server."""
        if self._client is not None:
            self._client.close()
            self._client = None

    @contextmanager
    def _turn(self) -> Iterator[None]:
        if self.path is None:
            yield
        else:
            with _TURNS[self.path]:
                yield

    def _opened(self) -> Any:
        from pymilvus import MilvusException

        if self._client is not None:
            return self._client
        waited_ms = 0
        for attempt, delay_ms in enumerate((*BACKOFF_DELAYS_MS, None)):
            try:
                client = self._connected()
            except MilvusException as error:
                if self.path is None:
                    raise
                # The text is that of every failure, so the lock itself is asked; it may just have been given up.
                if not _held(self.path) and attempt:
                    raise self._missing(error) from error
                if delay_ms is None or waited_ms + delay_ms > self._patience_ms:
                    raise MemoryLocked(f"Another process has the memory database open: {self.path}.") from error
                time.sleep(delay_ms / 1000)
                waited_ms += delay_ms
            else:
                if self.path is None:
                    self._client = client
                return client
        raise AssertionError

    def _connected(self) -> Any:
        import pymilvus

        for logger in ("pymilvus", "milvus_lite", "grpc._server"):  # they print every failure that is handled here
            logging.getLogger(logger).setLevel(logging.CRITICAL + 1)
        if self.path is not None:
            os.makedirs(os.path.dirname(self.path), exist_ok=True)
            return pymilvus.MilvusClient(uri=self.path)
        return pymilvus.MilvusClient(uri=self.uri, token=self._token, timeout=_CONNECT_S)

    def _release(self, client: Any) -> None:
        if self.path is None:
            return
        client.close()
        # Closing a client leaves Milvus Lite running, and with it the lock, until the process ends.
        from milvus_lite.server_manager import server_manager_instance

        server_manager_instance.release_server(self.path)

    def _missing(self, error: Exception) -> BackendMissing:
        said = str(getattr(error, "message", "") or error)
        return BackendMissing(
            f"the Milvus database {self.shown} cannot be used: {said}",
            f"The memory index is unavailable: the Milvus database {self.shown} cannot be used ({said}). Look at "
            "milvus.uri and milvus.token in memsearch's configuration, or set journal.engine to pepys. Memory is still "
            "written to the daily files and can be searched later.",
        )


class Collection:
    """One of memsearch's collections, while its database is open."""

    def __init__(self, client: Any, name: str) -> None:
        self._client, self.name = client, name

    def ready(self, create: int | None) -> bool:
        """Load it, or create it for vectors of so many dimensions; whether it is there."""
        if not self._client.has_collection(self.name):
            if create is None:
                return False
            self._create(self.name, create)
        self._client.load_collection(self.name)
        return True

    def dimensions(self) -> int:
        """Of its vectors."""
        fields = self._client.describe_collection(self.name)["fields"]
        return next(int(field["params"]["dim"]) for field in fields if field["name"] == "embedding")

    def count(self) -> int:
        """How many rows it has."""
        (row,) = self._client.query(self.name, filter="", output_fields=["count(*)"], consistency_level="Strong")
        return int(row["count(*)"])

    def rows(self, where: str, fields: Sequence[str]) -> Iterator[Row]:
        """All rows that *where* holds of, in no order."""
        found = self._client.query_iterator(
            self.name, batch_size=1000, filter=where, output_fields=list(fields), consistency_level="Strong"
        )
        try:
            while batch := found.next():
                yield from batch
        finally:
            found.close()

    def with_ids(self, ids: Sequence[str], fields: Sequence[str]) -> list[Row]:
        """The rows of these ids, in no order; those that are gone are missing."""
        made: list[Row] = []
        for start in range(0, len(ids), _ROWS_AT_ONCE):
            some = list(ids[start : start + _ROWS_AT_ONCE])
            made += self._client.get(self.name, ids=some, output_fields=list(fields), consistency_level="Strong")
        return made

    def put(self, rows: Sequence[Row]) -> None:
        """Write rows, each in the place of one with the same id."""
        for start in range(0, len(rows), _ROWS_AT_ONCE):
            self._client.upsert(self.name, list(rows[start : start + _ROWS_AT_ONCE]))

    def remove(self, ids: Sequence[str]) -> None:
        """Remove rows by their ids."""
        for start in range(0, len(ids), _ROWS_AT_ONCE):
            self._client.delete(self.name, ids=list(ids[start : start + _ROWS_AT_ONCE]))

    def by_words(self, query: str, limit: int, where: str = "") -> list[tuple[Row, float]]:
        """The best rows by BM25, best first, with their scores (Milvus Lite's are negative; here none is)."""
        (hits,) = self._client.search(
            self.name,
            data=[query],
            anns_field="sparse_vector",
            search_params={"metric_type": "BM25"},
            limit=limit,
            filter=where,
            output_fields=list(TEXT_FIELDS),
            consistency_level="Strong",
        )
        return [(dict(hit["entity"]), abs(float(hit["distance"]))) for hit in hits]

    def by_vector(self, vector: Sequence[float], limit: int, where: str = "") -> list[tuple[str, float]]:
        """The nearest rows' ids and cosines, nearest first."""
        (hits,) = self._client.search(
            self.name,
            data=[list(vector)],
            anns_field="embedding",
            search_params={"metric_type": "COSINE"},
            limit=limit,
            filter=where,
            output_fields=["chunk_hash"],
            consistency_level="Strong",
        )
        return [(str(hit["entity"]["chunk_hash"]), float(hit["distance"])) for hit in hits]

    def rewrite(self) -> None:
        """Make it anew out of its rows: those that were removed leave the disk with the old one (Milvus Lite).

        Milvus Lite marks rows as removed, and lets them lie until a compaction that nobody can order.
        """
        fresh = f"{self.name}_rewritten"
        if self._client.has_collection(fresh):
            self._client.drop_collection(fresh)  # of a process that was killed; the old one is still whole
        self._create(fresh, self.dimensions())
        copy = Collection(self._client, fresh)
        waiting: list[Row] = []
        for row in self.rows("", ("*",)):
            row.pop("sparse_vector", None)  # Milvus makes it of the content
            waiting.append(row)
            if len(waiting) == _ROWS_AT_ONCE:
                copy.put(waiting)
                waiting = []
        copy.put(waiting)
        self._client.drop_collection(self.name)
        self._client.rename_collection(fresh, self.name)

    def compact(self) -> None:
        """Ask a server to leave out removed rows; it does so in its own time."""
        self._client.flush(self.name)
        self._client.compact(self.name)

    def drop(self) -> None:
        """Remove it with all of its rows."""
        self._client.drop_collection(self.name)

    def _create(self, name: str, dimensions: int) -> None:
        from pymilvus import DataType, Function, FunctionType

        schema = self._client.create_schema(auto_id=False, enable_dynamic_field=True)
        schema.add_field("chunk_hash", DataType.VARCHAR, is_primary=True, max_length=64)
        schema.add_field("embedding", DataType.FLOAT_VECTOR, dim=dimensions)
        schema.add_field("content", DataType.VARCHAR, max_length=CONTENT_BYTES, enable_analyzer=True)
        schema.add_field("sparse_vector", DataType.SPARSE_FLOAT_VECTOR)
        schema.add_field("source", DataType.VARCHAR, max_length=1024)
        schema.add_field("heading", DataType.VARCHAR, max_length=HEADING_BYTES)
        for field in ("heading_level", "start_line", "end_line"):
            schema.add_field(field, DataType.INT64)
        schema.add_function(
            Function(
                name="bm25_fn",
                function_type=FunctionType.BM25,
                input_field_names=["content"],
                output_field_names=["sparse_vector"],
            )
        )
        indexes = self._client.prepare_index_params()
        indexes.add_index(field_name="embedding", index_type="FLAT", metric_type="COSINE")
        indexes.add_index(field_name="sparse_vector", index_type="SPARSE_INVERTED_INDEX", metric_type="BM25")
        self._client.create_collection(name, schema=schema, index_params=indexes)


def _require() -> None:
    if find_spec("pymilvus") is None:
        invalidate_caches()  # it may have been installed just now
        if find_spec("pymilvus") is None:
            raise BackendMissing(
                "pymilvus is not installed",
                "The memory index is unavailable: journal.engine is milvus, and pymilvus is not installed. Install it "
                "(pip install 'pepys[milvus]') or set journal.engine to pepys. Memory is still written to the daily "
                "files and can be searched later.",
            )


def below(directory: str) -> str:
    """The condition that a row's source begins with *directory*. Milvus reads `_` as any character: test again."""
    return f"source like {_quoted(directory + '%')}"


def of_sources(sources: Iterable[str]) -> str:
    """The condition that a row is of one of these files."""
    return f"source in [{', '.join(map(_quoted, sources))}]"


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _held(path: str) -> bool:
    """Whether another process holds the lock of the Milvus Lite database at *path*."""
    import fcntl  # not on Windows, and neither is Milvus Lite

    try:
        with open(os.path.join(path, "LOCK"), "rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False
