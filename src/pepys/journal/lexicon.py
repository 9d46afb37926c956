"""The words of a store's chunks: a tantivy index of its own. No text is stored in it, and no positions are."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

import tantivy

from pepys.index.segments import Segments
from pepys.paths import make_private

_CHECKED = ("term", "idx", "fast", "fieldnorm")
"""The files of a segment that are read; all of them are there."""

Field = Literal["own", "context"]

_Q, _O = tantivy.Query, tantivy.Occur


class Lexicon(Segments):
    """Chunks by place. The lock is the store's."""

    def __init__(self, directory: str | None, *, create: bool = False) -> None:
        """Open the index in *directory*; None: one in memory.

        Args:
            directory: Of this index alone.
            create: Make one where there is none; else an empty one in memory stands for it.

        Raises:
            OSError: It cannot be created.
            ValueError: What is there is no index of ours, or not as it was written.
        """
        if directory is not None and Path(directory, "meta.json").exists():
            if not all(map(_sound, _segments(Path(directory)))):
                raise ValueError(f"{directory} is damaged")  # looked into, it would make tantivy panic, or find nothing
            index = tantivy.Index.open(directory)
        elif directory is None or not create:
            index = tantivy.Index(_schema())
        else:
            make_private(Path(directory))
            index = tantivy.Index(_schema(), path=directory)
        super().__init__(index)

    def add(self, place: int, file: int, own: Sequence[str], context: Sequence[str]) -> None:
        """Add a chunk.

        Args:
            place: What it is found as.
            file: By which it can be removed, or looked for apart.
            own: The terms of its text, its heading and its day.
            context: Those of the end of the chunk before it.
        """
        made = tantivy.Document()
        made.add_text("own", " ".join(own))
        made.add_text("context", " ".join((*own, *context)))
        made.add_unsigned("file", file)
        made.add_unsigned("place", place)
        self._writing().add_document(made)

    def remove(self, files: Iterable[int]) -> None:
        """Remove the chunks of *files*. Their terms stay in the directory until it is made anew."""
        self._remove("file", files)

    def abandon(self) -> None:
        """Forget what was added and removed since the last commit."""
        if self._writer is not None:
            self._writer.rollback()
            self._writer = None

    def frequency(self, term: str) -> int:
        """How many chunks hold *term*; removed ones count until they are merged away."""
        return int(self._searcher.doc_freq("own", term))

    def best(
        self, field: Field, terms: Iterable[str], limit: int, among: Sequence[int] | None = None
    ) -> list[tuple[int, float]]:
        """The places of the *limit* best chunks by BM25 and their scores, best first.

        Args:
            field: What of them is looked at.
            terms: Any of them is enough.
            limit: At most this many.
            among: Only chunks of these files; None: of all.
        """
        found = [_Q.term_query(self._schema, field, term, "freq") for term in terms if self.frequency(term)]
        if not found or limit < 1:
            return []
        query = _Q.boolean_query([(_O.Should, one) for one in found])
        if among is not None:
            listed = _Q.const_score_query(_Q.term_set_query(self._schema, "file", list(among)), 0.0)
            query = _Q.boolean_query([(_O.Must, query), (_O.Must, listed)])
        hits: Any = self._searcher.search(query, limit).hits
        places: Any = self._searcher.fast_field_values("place", [address for _, address in hits])
        return [(int(place), float(score)) for (score, _), place in zip(hits, places, strict=True)]


def _segments(directory: Path) -> Iterator[Path]:
    """The files of what is committed; others may just be being written."""
    known = json.loads((directory / "meta.json").read_bytes())
    for segment in known["segments"] if isinstance(known, dict) else ():
        for kind in _CHECKED:
            yield directory / f"{segment['segment_id'].replace('-', '')}.{kind}"


def _sound(path: Path) -> bool:
    """A file's checksum stands in JSON behind its data, then the length of the JSON and a mark, four bytes each."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return True  # merged away just now
    size = int.from_bytes(data[-8:-4], "little")
    end = len(data) - 8 - size
    try:
        return end >= 0 and int(json.loads(data[end:-8])["crc"]) == zlib.crc32(data[:end])
    except (ValueError, KeyError, TypeError):
        return False


def _schema() -> tantivy.Schema:
    builder = tantivy.SchemaBuilder()
    for field in ("own", "context"):
        builder.add_text_field(field, tokenizer_name="whitespace", index_option="freq")
    builder.add_unsigned_field("file", indexed=True)
    builder.add_unsigned_field("place", fast=True)
    return builder.build()
