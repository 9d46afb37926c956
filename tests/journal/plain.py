"""The least that can index a journal: it reads the files at every call. For tests of what stands on the index."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from pepys.config import Journal
from pepys.journal.base import Chunk, Hit, Place, Refreshed, Status


def opened(place: Place, settings: Journal, env: Mapping[str, str]) -> Plain:
    return Plain(place)


class Plain:
    """Every section is a chunk; relevance is the share of the query's words that it holds."""

    def __init__(self, place: Place) -> None:
        self.place = place

    def refresh(self, budget_s: float | None = None) -> Refreshed:
        made = list(self.chunks())
        return Refreshed(len({chunk.path for chunk in made}), len(made), 0, 0, {})

    def search(self, query: str, k: int, *, path_prefix: str | None = None) -> list[Hit]:
        words = set(re.findall(r"\w+", query.lower()))
        hits = [
            Hit(chunk, len(words & set(re.findall(r"\w+", chunk.text.lower()))) / len(words)) for chunk in self.chunks()
        ]
        return sorted((hit for hit in hits if hit.relevance), key=lambda hit: -hit.relevance)[:k]

    def chunk(self, id_: str) -> Chunk | None:
        return next((chunk for chunk in self.chunks() if chunk.id == id_), None)

    def chunks(self) -> Iterator[Chunk]:
        store = Path(self.place.store)
        for path in sorted(store.glob("*.md")) if store.is_dir() else ():
            lines = path.read_text(encoding="utf-8").split("\n")
            starts = [at for at, line in enumerate(lines) if re.match(r"#{1,6} ", line)]
            for first, last in zip(starts, [*starts[1:], len(lines)], strict=True):
                text = "\n".join(lines[first:last]).strip()
                if "\n" in text:
                    marks, heading = lines[first].split(" ", 1)
                    id_ = hashlib.sha256(f"{path.name}{text}".encode()).hexdigest()[:16]
                    yield Chunk(id_, str(path), heading, len(marks), first + 1, last, text)

    def purge(self) -> bool:
        return True

    def status(self) -> Status:
        return Status(len(list(self.chunks())), "none")

    def close(self) -> None:
        pass
