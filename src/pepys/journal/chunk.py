r"""Daily files cut into chunks, as memsearch cuts them: sections between headings, long ones in overlapping pieces.

The sections, their lines and their hashes are a convention of all agents that share a store, and are kept byte for
byte (reference: memsearch 0.4.23, as a black box). A heading is a line of one to six `#`, white space and text, also
inside fenced code. A section with fewer than two characters beside headings and comments is
none.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

MAX_CHARS = 1500
OVERLAP_LINES = 2

_HEADING = re.compile(r"(#{1,6})\s+(.+)")
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)

_JOINED = "\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7af"  # scripts that put no space after a full stop


class Cut(NamedTuple):
    """How texts are cut."""

    max_chars: int = MAX_CHARS
    overlap_lines: int = OVERLAP_LINES

    def printed(self) -> str:
        """It, as an index keeps it."""
        return f"{self.max_chars}/{self.overlap_lines}"


class Piece(NamedTuple):
    """A section of a text, or a part of one that is too long."""

    heading: str  # without its `#`; "" before the first one
    level: int  # 0 before the first heading
    first: int  # lines, from 1, both inclusive
    last: int
    text: str  # stripped


def pieces(text: str, max_chars: int = MAX_CHARS, overlap_lines: int = OVERLAP_LINES) -> Iterator[Piece]:
    """The chunks of *text*, in order.

    Args:
        text: Of one markdown file.
        max_chars: Longer sections are cut; a line longer than that too, at the end of a sentence where there is one.
        overlap_lines: How many lines the parts of one section share.
    """
    lines = text.split("\n")
    headings = [(at, found) for at, line in enumerate(lines) if (found := _HEADING.match(line))]
    starts = [at for at, _ in headings] + [len(lines)]
    yield from _section("", 0, lines, 0, starts[0], max_chars, overlap_lines)
    for (at, found), end in zip(headings, starts[1:], strict=True):
        yield from _section(found[2].strip(), len(found[1]), lines, at, end, max_chars, overlap_lines)


def _section(
    heading: str, level: int, lines: Sequence[str], start: int, end: int, max_chars: int, overlap: int
) -> Iterator[Piece]:
    whole = "\n".join(lines[start:end]).strip()
    if len("\n".join(line for line in _COMMENT.sub("", whole).splitlines() if not _HEADING.match(line)).strip()) < 2:
        return
    if len(whole) <= max_chars:
        yield Piece(heading, level, start + 1, end, whole)
        return
    for first, last, alone in _runs(lines[start:end], max_chars, overlap):
        text = "\n".join(lines[start + first : start + last])
        for part in _sentences(text if alone else text.strip(), max_chars):
            if stripped := part.strip():
                yield Piece(heading, level, start + first + 1, start + last, stripped)


def _runs(lines: Sequence[str], most: int, overlap: int) -> Iterator[tuple[int, int, bool]]:
    """Runs of lines of at most *most* characters, half-open, each beginning with the end of the one before it.

    The third value is true of a line that is too long for any run and did not follow a shared one.
    """
    sizes = [len(line) + 1 for line in lines]
    first, size = 0, 0
    for at, more in enumerate(sizes):
        if size + more > most:
            alone = at == first
            blank = not lines[at].strip() and at + 1 < len(lines)  # it belongs to what it ends
            end = at + 1 if alone or blank else at
            yield first, end, alone
            first = end if alone else max(first, end - overlap)
            size = sum(sizes[first : at + 1])
        else:
            size += more
    if first < len(lines):
        yield first, len(lines), False


def _sentences(text: str, most: int) -> Iterator[str]:
    at = 0  # what is left is not copied each time: a line may have millions of characters
    while len(text) - at > most:
        cut = max((found.end() for found in _sentence_end().finditer(text, at, at + most)), default=at + most)
        yield text[at:cut]
        at = cut
    yield text[at:]


@lru_cache(1)
def _sentence_end() -> re.Pattern[str]:
    return re.compile(f"(?:[。！？；]|[.!?;](?=\\s|$|[{_JOINED}]))\\s*|…")  # noqa: RUF001


def content_hash(text: str) -> str:
    """The first 16 hex digits of SHA-256 of a chunk's text: equal texts have equal ones."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def shared_ids(source: str, piece: Piece, models: Iterable[str]) -> Iterator[str]:
    """The ids that memsearch gives a chunk of the file *source* (absolute, real path) under each embedding model.

    They hold line numbers: what moves a chunk changes them.
    """
    head = hashlib.sha256(
        f"markdown:{source}:{piece.first}:{piece.last}:{content_hash(piece.text)}:".encode("utf-8", "surrogatepass")
    )
    for model in models:
        whole = head.copy()
        whole.update(model.encode())
        yield whole.hexdigest()[:16]


def ids(path: str, found: Iterable[Piece]) -> Iterator[str]:
    """Our own ids of the chunks of one file, which stay until a chunk's text or heading changes (decision 15).

    Args:
        path: Of the file, relative to its store: a store that moves keeps its ids.
        found: All chunks of the file, in order; equal ones are told apart by their number.
    """
    seen: dict[tuple[str, str], int] = {}
    for piece in found:
        same = (piece.heading, content_hash(piece.text))
        nth = seen[same] = seen.get(same, -1) + 1
        key = "\0".join((path, *same, str(nth)))
        yield hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def is_heading(line: str) -> bool:
    """Whether a section begins with *line*."""
    return _HEADING.match(line) is not None


def without_comments(text: str) -> str:
    """*text* without HTML comments, hence without anchors: what is searched of a chunk."""
    return _COMMENT.sub("", text) if "<!--" in text else text
