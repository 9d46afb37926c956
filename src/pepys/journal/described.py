"""What of a chunk is found: its day, heading and text, the end of the chunk before it, each of its bullets. Pure."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence

from pepys.journal.chunk import Piece, without_comments

TAIL_CHARS = 200
"""How much of a chunk the one after it is indexed with."""

_DAY = re.compile(r"(\d{4})-(\d\d)-(\d\d)")
_BULLET = re.compile(r"[ \t]*(?:[-*+]|\d+[.)])[ \t]+")
_HEADING = re.compile(r"#{1,6}[ \t]")
_CLOCK = re.compile(r"(?:Session |Memory Compact )?\d\d:\d\d")


_ESCAPE = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"  # colours, cursor
    r"|(?:\x1b[\]PX^_]|[\x9d\x90\x98\x9e\x9f])[^\x07\x1b\x9c\n]*(?:\x07|\x1b\\|\x9c)?"  # titles, links
    r"|\x1b[ -/]*[0-~]"
)


def searched(text: str) -> str:
    """What is looked at of a chunk: no anchor, and no terminal escape, which would be a part of the word after it."""
    return _ESCAPE.sub("", without_comments(text))


def described(path: str, text: str) -> str:
    """What the words of a chunk are taken from: its day, its heading, its text; not its anchor.

    Args:
        path: Of its file, relative to the store.
        text: Of the chunk.
    """
    return f"{_dated(path)}\n{searched(text)}"


def told(text: str) -> str:
    """What a chunk tells, beside its heading and its anchor; "" where it is a mere beginning of a long section."""
    return "\n".join(line for line in searched(text).split("\n") if not _HEADING.match(line)).strip()


def tail(text: str) -> str:
    """The end of a chunk, as the next one is indexed with it."""
    return searched(text)[-TAIL_CHARS:]


def bullets(pieces: Sequence[Piece]) -> tuple[list[int], list[str]]:
    """What is embedded: every bullet or paragraph, with its heading where that is more than a time, and whose it is."""
    owners, texts = [], []
    for number, piece in enumerate(pieces):
        heading = "" if _CLOCK.fullmatch(piece.heading) else piece.heading
        for bullet in _split(searched(piece.text)):
            owners.append(number)
            texts.append(f"{heading}\n{bullet}" if heading else bullet)
    return owners, texts


def _dated(path: str) -> str:
    name = os.path.splitext(path)[0]
    found = _DAY.search(name)
    if not found:
        return name
    import datetime

    try:
        return f"{name} {datetime.date(int(found[1]), int(found[2]), int(found[3])):%A %d %B %Y}"
    except ValueError:
        return name


def _split(text: str) -> Iterator[str]:
    """Bullets and paragraphs, without headings."""
    current: list[str] = []
    for line in text.split("\n"):
        if _HEADING.match(line):
            continue
        if current and (not line.strip() or _BULLET.match(line)):
            yield " ".join(current)
            current = []
        if line.strip():
            current.append(_BULLET.sub("", line, count=1).strip())
    if current:
        yield " ".join(current)
