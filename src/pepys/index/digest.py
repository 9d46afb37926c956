"""The digest of a cold session: its words without their places, and its structural addresses (spec 1, "Cache V6").

Its text is the record of the specification: one JSON object, whose size is bounded and stands in itself.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate
from typing import NamedTuple

from pepys.index.document import Document, pieces
from pepys.index.engines.base import FIELDS
from pepys.index.policy import Policy
from pepys.index.source import REPEATED, Row, Source
from pepys.model.lineage import Branches
from pepys.normalise import lineage
from pepys.text import token_line

CACHE_VERSION = 6

MAX_FILES = 50
"""Paths that a digest keeps, with the reason `max_files_touched` beyond."""


class Digest(NamedTuple):
    """A digest in the parts that are searched apart. Each part is JSON."""

    head: str  # an object: what the session is
    vocabulary: str  # an array: its distinct tokens, sorted
    addresses: (
        str  # an array: [index, entryId, operationAddress, role, tool, timestamp, ref, provider, action, outcome]
    )
    tail: str  # an object: coverage and size

    def __str__(self) -> str:
        return f'{self.head[:-1]},"vocabulary":{self.vocabulary},"addresses":{self.addresses},{self.tail[1:]}'


def identity(source: Source, kind: str, branches: Branches, fingerprint: str, policy: str) -> dict[str, object]:
    """What every record of a session begins with: what it is of, and what it depends on (spec 1, "Cache V6")."""
    return {
        "cacheVersion": CACHE_VERSION,
        "kind": kind,
        "sessionId": source.session,
        "file": source.path,
        "cwd": source.cwd or "",
        "mtime": source.stamp.mtime_ns / 1_000_000,
        "size": source.stamp.size,
        "sourceHash": source.sha256,
        "branches": branches,
        "lineageFingerprint": fingerprint,
        "policy": policy,
    }


class Digested(NamedTuple):
    """The digest of one branch mode, and what it is not complete for."""

    digest: Digest | None  # None: not even an empty one fits its bounds
    reasons: tuple[str, ...]


def digests(
    source: Source, rows: Sequence[Row], documents: Iterable[tuple[Row, Document | None]], policy: Policy
) -> Mapping[Branches, Digested]:
    """The digests of a source in both branch modes.

    Args:
        source: Settled.
        rows: All of them, as they stand on the source's branch.
        documents: The same rows with their documents, nothing cut.
        policy: The bounds.
    """
    gathered = {mode: _Gathered(policy.vocabulary_bytes) for mode in REPEATED}
    for row, (_, document) in zip(rows, documents, strict=True):
        if row.record is not None and document is not None:
            for mode, one in gathered.items():
                if (row.active or mode == "all") and not row.repeated & REPEATED[mode]:
                    one.add(row, document)
    return {mode: one.digested(source, mode, policy) for mode, one in gathered.items()}


class _Gathered:
    """What the records of one branch mode hold."""

    def __init__(self, vocabulary_bytes: int) -> None:
        self._room = vocabulary_bytes - len("[]")
        self._full = False
        self._vocabulary: set[str] = set()
        self._addresses: list[list[object]] = []
        self._files: dict[str, None] = {}
        self._tools: Counter[str] = Counter()
        self._errors = 0
        self._times: list[int] = []

    def add(self, row: Row, document: Document) -> None:
        """Take in a record; its index is the number of those before it."""
        identity = (row.id, row.address, row.role, row.tool, row.time, row.ref, row.provider, row.action, row.outcome)
        self._addresses.append([len(self._addresses), *identity])
        self._files.update(dict.fromkeys(document.files))
        self._tools.update(() if row.tool is None else (row.tool,))
        self._errors += bool(row.error)
        if row.time is not None:
            self._times = [min([*self._times, row.time]), max([*self._times, row.time])]
        for kind, text in document.passages:
            if kind in FIELDS:  # not what only event search finds
                for piece in pieces(text):
                    self._learn(token_line(piece).split())

    def _learn(self, tokens: Iterable[str]) -> None:
        for token in dict.fromkeys(tokens):
            if self._full:
                return
            if token not in self._vocabulary:
                self._room -= _bytes(_json(token)) + len(",") * bool(self._vocabulary)
                self._full = self._room < 0
                if not self._full:
                    self._vocabulary.add(token)

    def digested(self, source: Source, mode: Branches, policy: Policy) -> Digested:
        """What is kept of it within the bounds."""
        files = list(self._files)
        reasons = [*source.duplicates.get(mode, ())]
        if source.cyclic and mode == "active":
            reasons.append("invalid_parent_graph")
        if self._full:
            reasons.append("max_cold_vocabulary_bytes")
        if len(files) > MAX_FILES:
            reasons.append("max_files_touched")
        fingerprint = source.fingerprint if mode == "active" else lineage.every(()).fingerprint
        head = {
            **identity(source, "digest", mode, fingerprint, policy.record("cold")),
            "firstTs": self._times[0] if self._times else None,
            "lastTs": self._times[-1] if self._times else None,
            "entryCount": len(self._addresses),
            "filesTouched": files[:MAX_FILES],
            "toolHistogram": dict(sorted(self._tools.items())),
            "errorCount": self._errors,
        }
        return _bounded(_json(head), sorted(self._vocabulary), self._addresses, reasons, source.stamp.size, policy)


def _bounded(
    head: str,
    vocabulary: Sequence[str],
    addresses: Sequence[Sequence[object]],
    reasons: Sequence[str],
    source_bytes: int,
    policy: Policy,
) -> Digested:
    """The digest within `maxColdCacheBytes`: of addresses first, then of words, only a prefix is kept if need be."""
    words, places = [_json(word) for word in vocabulary], [_json(address) for address in addresses]
    made = _made(head, words, places, reasons, source_bytes)
    if _bytes(str(made)) <= policy.cache_bytes:
        return Digested(made, tuple(sorted(reasons)))
    reasons = [*reasons, "max_cold_cache_bytes"]
    room = policy.cache_bytes - _bytes(str(_made(head, (), (), reasons, source_bytes))) - _SLACK
    words = words[: _fitting(words, room)]
    places = places[: _fitting(places, room - sum(_bytes(word) + 1 for word in words))]
    made = _made(head, words, places, reasons, source_bytes)
    fits = _bytes(str(made)) <= policy.cache_bytes
    return Digested(made if fits else None, tuple(sorted(reasons)))


_SLACK = 8
"""The numbers that say how large a digest is may be longer in a fuller one."""


def _fitting(items: Sequence[str], room: int) -> int:
    return bisect_right(list(accumulate(_bytes(item) + 1 for item in items)), room)


def _made(head: str, words: Sequence[str], places: Sequence[str], reasons: Sequence[str], source_bytes: int) -> Digest:
    """A digest that says its own size, which its numbers are part of."""
    coverage = _json({"complete": not reasons, "reasons": sorted(reasons)})
    vocabulary, addresses = f"[{','.join(words)}]", f"[{','.join(places)}]"
    others = sum(map(_bytes, (head, vocabulary, addresses)))

    def made(size: int, ratio: str) -> tuple[Digest, int]:
        tail = f'{{"indexCoverage":{coverage},"cacheBytes":{size},"cacheSourceRatio":{ratio}}}'
        digest = Digest(head, vocabulary, addresses, tail)
        return digest, others + len(',"vocabulary":,"addresses":,') + len(tail) - len("{}")

    _, least = made(0, "0")
    for size in range(least, least + _SLACK * 2):
        digest, whole = made(size, _json(round(size / max(source_bytes, 1), 6)))
        if whole == size:
            return digest
    # No ratio without zeros at its end goes with its size: the last of six digits is made another one than zero.
    size = least
    while True:
        ratio = f"{size / max(source_bytes, 1):.6f}"
        digest, whole = made(size, ratio[:-1] + "1" if ratio.endswith("0") else ratio)
        if whole == size:
            return digest
        size = whole


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _bytes(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
