"""The part of pymilvus and Milvus Lite that Pepys uses, imitated.

What Milvus Lite 3.2 was seen to do is done here too: a client that is closed keeps the lock until its server is
released, BM25 scores are negative, removed rows stay in the files, and every failure to open has the same text.
"""

from __future__ import annotations

import fcntl
import json
import math
import os
import re
import shutil
import sys
from collections import Counter
from collections.abc import Iterator
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

Row = dict[str, Any]

CONNECTED: list[dict[str, Any]] = []
"""What clients were made with."""

_SERVERS: dict[str, int] = {}


class MilvusException(Exception):
    def __init__(self, code: int, message: str) -> None:
        super().__init__(f"<MilvusException: (code={code}, message={message})>")
        self.code, self.message = code, message


class _Anything:
    """Constants and values of which only the use matters."""

    def __init__(self, *_: object, **keywords: Any) -> None:
        self.__dict__.update(keywords)
        self.fields: dict[str, Any] = {}

    def __getattr__(self, name: str) -> str:
        return name

    def add_field(self, name: str, *_: object, **keywords: Any) -> None:
        self.fields[name] = keywords

    def add_function(self, *_: object) -> None:
        pass

    def add_index(self, **_: object) -> None:
        pass


class MilvusClient:
    def __init__(self, uri: str, **more: Any) -> None:
        CONNECTED.append({"uri": uri, **more})
        # A server's data lies at the path of its address, so that it is below the test's own directory.
        self._root = Path("/" + uri.partition("://")[2].partition("/")[2] if "://" in uri else uri)
        self._path, self._loaded = uri, set[str]()
        if "://" not in uri and uri not in _SERVERS:
            if self._root.is_file():
                raise MilvusException(1, "Open local milvus failed")
            self._root.mkdir(exist_ok=True, parents=True)
            handle = os.open(self._root / "LOCK", os.O_CREAT | os.O_RDWR)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.close(handle)
                raise MilvusException(1, "Open local milvus failed") from None
            _SERVERS[uri] = handle

    def close(self) -> None:
        pass

    def has_collection(self, name: str) -> bool:
        return self._file(name).exists()

    def create_schema(self, **_: object) -> _Anything:
        return _Anything()

    def prepare_index_params(self) -> _Anything:
        return _Anything()

    def create_collection(self, name: str, *, schema: _Anything, index_params: _Anything) -> None:
        self._file(name).parent.mkdir(parents=True, exist_ok=True)
        self._file(name).write_text(json.dumps({"dim": schema.fields["embedding"]["dim"]}) + "\n")

    def load_collection(self, name: str) -> None:
        self._loaded.add(name)

    def describe_collection(self, name: str) -> dict[str, Any]:
        return {"fields": [{"name": "chunk_hash", "params": {}}, {"name": "embedding", "params": self._log(name)[0]}]}

    def query(self, name: str, *, filter: str, output_fields: list[str], **_: object) -> list[Row]:  # noqa: A002
        assert output_fields == ["count(*)"]
        return [{"count(*)": len(self._rows(name, filter))}]

    def query_iterator(self, name: str, *, filter: str, **_: object) -> _Pages:  # noqa: A002
        return _Pages(self._rows(name, filter))

    def get(self, name: str, *, ids: list[str], **_: object) -> list[Row]:
        return [row for row in self._rows(name) if row["chunk_hash"] in ids]

    def upsert(self, name: str, rows: list[Row]) -> None:
        dim = self._log(name, loaded=False)[0]["dim"]
        for row in rows:
            if len(row["embedding"]) != dim:
                raise MilvusException(1, f"the dim of field embedding is {dim}")
            if len(row["heading"].encode()) > 1024:
                raise MilvusException(6, "VARCHAR field 'heading' value length exceeds max_length=1024")
        self._append(name, rows)

    def delete(self, name: str, *, ids: list[str]) -> None:
        self._append(name, [{"delete": id_} for id_ in ids])

    def search(self, name: str, *, data: list[Any], anns_field: str, limit: int, **more: Any) -> list[Any]:
        rows = self._rows(name, more["filter"])
        answers = []
        for one in data:
            found = _bm25(one, rows) if anns_field == "sparse_vector" else _cosines(one, rows)
            answers.append([{"entity": row, "distance": score} for score, row in found[:limit]])
        return answers

    def drop_collection(self, name: str) -> None:
        shutil.rmtree(self._file(name).parent)

    def rename_collection(self, old: str, new: str) -> None:
        self._file(old).parent.rename(self._file(new).parent)

    def flush(self, name: str) -> None:
        self._append(name, [{"flush": True}])

    def compact(self, name: str) -> None:
        self._append(name, [{"compact": True}])

    def _file(self, name: str) -> Path:
        return self._root / "collections" / name / "data"

    def _log(self, name: str, *, loaded: bool = True) -> list[dict[str, Any]]:
        if not self.has_collection(name):
            raise MilvusException(100, f"collection '{name}' does not exist")
        if loaded and name not in self._loaded:
            raise MilvusException(101, f"Collection '{name}' is in state 'released'")
        return [json.loads(line) for line in self._file(name).read_text().splitlines()]

    def _append(self, name: str, lines: list[dict[str, Any]]) -> None:
        with self._file(name).open("a") as file:
            file.writelines(json.dumps(line) + "\n" for line in lines)

    def _rows(self, name: str, where: str = "") -> list[Row]:
        rows: dict[str, Row] = {}
        for line in self._log(name)[1:]:
            if "delete" in line:
                rows.pop(line["delete"], None)
            elif "chunk_hash" in line:
                rows[line["chunk_hash"]] = line
        return [row for row in rows.values() if _holds(where, row)]


class _Pages:
    def __init__(self, rows: list[Row]) -> None:
        self._rows = rows

    def next(self) -> list[Row]:
        page, self._rows = self._rows[:3], self._rows[3:]
        return page

    def close(self) -> None:
        pass


class _Manager:
    def release_server(self, path: str) -> None:
        if (handle := _SERVERS.pop(path, None)) is not None:
            os.close(handle)


def installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have it imported in the place of the real ones."""
    CONNECTED.clear()
    pymilvus, lite = ModuleType("pymilvus"), ModuleType("milvus_lite.server_manager")
    for module in (pymilvus, lite, ModuleType("milvus_lite")):
        module.__spec__ = ModuleSpec(module.__name__, None)
        monkeypatch.setitem(sys.modules, module.__name__, module)
    pymilvus.__dict__.update(
        MilvusClient=MilvusClient,
        MilvusException=MilvusException,
        DataType=_Anything(),
        Function=_Anything,
        FunctionType=_Anything(),
    )
    lite.__dict__["server_manager_instance"] = _Manager()


def _holds(where: str, row: Row) -> bool:
    if found := re.fullmatch(r'source like (".*%")', where):
        prefix = json.loads(found[1])[:-1]
        return bool(re.match(re.escape(prefix).replace("_", "."), row["source"]))  # as Milvus has it
    if found := re.fullmatch(r"source in (\[.*\])", where):
        return row["source"] in json.loads(found[1])
    assert not where
    return True


def _bm25(query: str, rows: list[Row]) -> list[tuple[float, Row]]:
    texts = [Counter(re.findall(r"\w+", row["content"].lower())) for row in rows]

    def score(text: Counter[str]) -> Iterator[float]:
        for word in set(re.findall(r"\w+", query.lower())) & text.keys():
            frequency = sum(word in other for other in texts)
            yield math.log(1 + (len(rows) - frequency + 0.5) / (frequency + 0.5)) * text[word] / (text[word] + 1)

    found = [(-sum(score(text)), row) for text, row in zip(texts, rows, strict=True)]
    return sorted((one for one in found if one[0]), key=lambda one: one[0])


def _cosines(query: list[float], rows: list[Row]) -> list[tuple[float, Row]]:
    def cosine(other: list[float]) -> float:
        lengths = math.sqrt(sum(value**2 for value in query) * sum(value**2 for value in other)) or 1.0
        return sum(a * b for a, b in zip(query, other, strict=True)) / lengths

    return sorted(((cosine(row["embedding"]), row) for row in rows), key=lambda one: -one[0])
