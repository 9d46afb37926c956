"""An index follows its store's files: what was planned is carried out, by the holder of the store's lock."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from pepys.journal import chunk as cutting
from pepys.journal import terms, vectors
from pepys.journal.described import bullets, described, tail
from pepys.journal.embedders.base import EmbedderFailed
from pepys.journal.files import stamp
from pepys.journal.ledger import ID_BYTES, KEY_BYTES, OWNER_BYTES, Reading, place

if TYPE_CHECKING:
    from pepys.journal.chunk import Piece
    from pepys.journal.directory import Directory
    from pepys.journal.embedders.base import Embedder
    from pepys.journal.files import Files
    from pepys.journal.lexicon import Lexicon
    from pepys.journal.plan import Plan
    from pepys.model.source import Stamp

BATCH_CHUNKS, BATCH_S = 2_000, 5.0
"""Chunks a commit, or seconds: a first index is searchable before it is whole, and a crash loses little."""


class Followed(NamedTuple):
    """What was done of a plan."""

    embedded: int  # texts
    removed: int  # chunks
    failed: dict[str, str]  # path of a file that could not be read -> why
    unread: list[str]  # what there was no time for


def follow(directory: Directory, files: Files, embedder: Embedder, plan: Plan, deadline: float | None) -> Followed:
    """Carry out *plan*, until *deadline* (of the monotonic clock) if there is one. What was done then is kept."""
    return _Run(directory, files, embedder).done(plan, deadline)


def add_words(lexicon: Lexicon, file: int, path: str, pieces: Sequence[Piece]) -> None:
    """Add the words of a file's chunks under its number."""
    before = ""
    for number, piece in enumerate(pieces):
        own = terms.indexed(described(path, piece.text))
        lexicon.add(place(file, number), file, own, terms.indexed(tail(before)))
        before = piece.text


class _Run:
    """The state of one refresh."""

    def __init__(self, directory: Directory, files: Files, embedder: Embedder) -> None:
        self._files, self._embedder = files, embedder
        self._ledger, self._lexicon = directory.ledger(), directory.written_words()
        self._known = self._ledger.files()
        self._next = self._ledger.fresh()
        self._batch: list[tuple[int, Reading]] = []
        self._same: list[tuple[str, Stamp, int]] = []
        self._failed: dict[str, str] = {}
        self._note = ""
        self._embedded = self._removed = 0

    def done(self, plan: Plan, deadline: float | None) -> Followed:
        # What moved between files is found among the vectors of all that go.
        replaced = [self._known[path].id for path in (*plan.read, *plan.drop) if path in self._known]
        self._kept = self._ledger.kept(replaced, self._embedder.space)
        unread: list[str] = []
        chunks, begun = 0, time.monotonic()
        for number, path in enumerate(plan.read):
            if deadline is not None and time.monotonic() > deadline:
                unread = plan.read[number:]
                break
            chunks += self._read(path)
            if chunks >= BATCH_CHUNKS or time.monotonic() - begun > BATCH_S:
                self._commit([])
                chunks, begun = 0, time.monotonic()
        self._commit([] if unread else plan.drop)
        self._lexicon.settle()
        failed = {self._files.absolute(path): why for path, why in self._failed.items()}
        return Followed(self._embedded, self._removed, failed, unread)

    def _read(self, path: str) -> int:
        """Read one file; how many chunks are new in it."""
        examined_ns = time.time_ns()
        try:
            with open(self._files.absolute(path), "rb") as file:
                now = stamp(os.fstat(file.fileno()))
                data = file.read()
        except OSError as error:
            self._failed[path] = f"{type(error).__name__}: {error.strerror or error}"
            return 0  # its last good row stays
        sha256, cut = hashlib.sha256(data).hexdigest(), self._files.cut
        known = self._known.get(path)
        if known and (known.sha256, known.cut, known.space) == (sha256, cut.printed(), self._embedder.space):
            self._same.append((path, now, examined_ns))
            return 0
        pieces = list(cutting.pieces(data.decode("utf-8", "replace"), *cut))
        ids = list(cutting.ids(path, pieces))
        owners, texts = bullets(pieces)
        space, made = self._vectors(texts)
        reading = Reading(
            *(path, now, examined_ns, sha256, cut.printed(), bytes.fromhex("".join(ids)), space),
            b"".join(owner.to_bytes(OWNER_BYTES, "little") for owner in owners) if space else b"",
            b"".join(map(_key, texts)) if space else b"",
            b"".join(map(vectors.signs, made)),
            b"".join(made),
        )
        self._lexicon.remove([self._next])  # a crash may have left some under a number that is used again
        add_words(self._lexicon, self._next, path, pieces)
        self._batch.append((self._next, reading))
        self._next += 1
        return len(pieces)

    def _vectors(self, texts: Sequence[str]) -> tuple[str, list[bytes]]:
        keys = [_key(text) for text in texts]
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in self._kept}
        if missing:
            try:
                made = self._embedder.documents(list(missing.values()))
            except EmbedderFailed as error:
                self._note = f"embedder {self._embedder.name}: {error}"
                return "", []
            self._kept.update(zip(missing, made, strict=True))
            self._embedded += len(missing)
        return self._embedder.space, [self._kept[key] for key in keys]

    def _commit(self, gone: Sequence[str]) -> None:
        """Words first, then the rows that point at them, then the end of what they replace."""
        old = [self._known[path].id for path in gone]
        old += [self._known[reading.path].id for _, reading in self._batch if reading.path in self._known]
        before = {id_ for file in old for id_ in self._ledger.ids(file)}
        after = {reading.ids[at : at + ID_BYTES] for _, reading in self._batch for at in range(0, len(reading.ids), 8)}
        self._removed += len(before - after)
        if self._batch:
            self._lexicon.commit()
        note = "; ".join(f"failed: {path} ({why})" for path, why in self._failed.items()) or self._note
        with self._ledger.transaction():
            self._ledger.put(self._batch)
            self._ledger.drop(gone)
            for path, now, examined_ns in self._same:
                self._ledger.seen(path, now, examined_ns)
            if note != self._ledger.noted("note"):
                self._ledger.note("note", note)
        if old:
            self._lexicon.remove(old)
            self._lexicon.commit()
        self._batch, self._same = [], []


def _key(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:KEY_BYTES]
