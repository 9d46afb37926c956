"""The grammar of a daily memory file: entries, their anchors, and the blocks that compaction leaves.

    ## Session HH:MM

    ### HH:MM
    <!-- session:<id> turn:<entry id> transcript:<absolute path> -->
    - bullets

Other agents write the same files, with small variations that are all read: no anchor, one blank line or two, a bare
session heading. Of their text nothing is escaped, so fenced code is respected when an entry's end is looked for. What
Pepys writes has no line that could be taken for a heading or an anchor: an entry is whole by construction.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote, unquote

ANCHOR = re.compile(
    r"<!--[ \t]*session:(?P<session>\S+)[ \t]+turn:(?P<turn>\S*)[ \t]+transcript:(?P<path>.*?)[ \t]*-->"
)

_FORGED = re.compile(r"<!--(?=\s*session:)")  # more than `ANCHOR` takes: others' parsers may be laxer

_HEADING = re.compile(r"#{1,6}\s")  # whatever counts as white space: memsearch takes all of it
_STAMPED = re.compile(r"### ([0-9]{2}:[0-9]{2})[ \t]*")
_SESSION = re.compile(r"## Session [0-9]{2}:[0-9]{2}\b.*")  # with its time: code and prose have such words too
_COMPACT = re.compile(r"## Memory Compact(?:[ \t]+\d\d:\d\d)?[ \t]*")
_TITLE = re.compile(r"# .*")
_DAY = re.compile(r"# \d{4}-\d\d-\d\d[ \t]*")
_ITEM = re.compile(r"(?:[-*+]|[0-9]{1,9}[.)]) +(?=\S)")
_FENCE = re.compile(r"(?:(`{3,})[^`]*|(~{3,}).*)")
_INDENT = 3  # spaces that a fence may stand further in than the text around it


class Anchor(NamedTuple):
    """Where an entry comes from."""

    session: str
    turn: str  # entry id
    transcript: str  # path of the session's file, as it stands in the comment

    def printed(self) -> str:
        """The comment. A path with white space, or with bytes that are no text, is percent-encoded to be readable."""
        path = self.transcript
        if re.search(r"\s|-->|[\ud800-\udfff]", path):
            path = quote(path, safe="/:\\~@!$&'()*+,;=", errors="surrogateescape")
        return f"<!-- session:{self.session} turn:{self.turn} transcript:{path} -->"

    def file(self) -> str:
        """The transcript's path, decoded where only the decoded one exists."""
        decoded = unquote(self.transcript, errors="surrogateescape")
        return self.transcript if decoded == self.transcript or Path(self.transcript).exists() else decoded


def anchor(text: str) -> Anchor | None:
    """The first anchor in *text*."""
    found = ANCHOR.search(text)
    return Anchor(found["session"], found["turn"], found["path"]) if found else None


class Block(NamedTuple):
    """An entry, or what compaction appended: a run of lines of one daily file."""

    kind: str  # entry, compact
    time: str  # HH:MM of an entry's heading; "" of a compaction's
    first: int  # lines, from 0, half-open
    last: int
    text: str  # without trailing blank lines

    @property
    def anchor(self) -> Anchor | None:
        """The entry's anchor."""
        return anchor(self.text)


def blocks(text: str) -> Iterator[Block]:
    """The entries and compaction blocks of a daily file, in order."""
    lines = split(text)
    at = 0
    while at < len(lines):
        line = lines[at]
        stamped, compact = _STAMPED.fullmatch(line), _COMPACT.fullmatch(line)
        if stamped is None and compact is None:
            at += 1
            continue
        end = _end(lines, at + 1, _ends_an_entry if stamped else _ends_a_compaction)
        body = "\n".join(lines[at:end]).rstrip()
        yield Block("entry", stamped[1], at, end, body) if stamped else Block("compact", "", at, end, body)
        at = end


def split(text: str) -> list[str]:
    """Lines without their ends. Only line feeds end a line; a carriage return before one is white space."""
    return [line.removesuffix("\r") for line in text.split("\n")]


def level(line: str) -> int:
    """How many `#` a heading has; 0 where *line* is none."""
    found = _HEADING.match(line)
    return len(found[0]) - 1 if found else 0


def _end(lines: Sequence[str], at: int, ends: Callable[[str], bool]) -> int:
    """Where a block ends whose text begins at *at*."""
    items: Items = ()
    while at < len(lines):
        if ends(lines[at]):
            return at
        items, fence = _opened(lines[at], items)
        at = (_closed(lines, at, fence) if fence else None) or at + 1
    return at


def _ends_an_entry(line: str) -> bool:
    return 0 < level(line) <= 3


def _ends_a_compaction(line: str) -> bool:
    # A summary has headings of its own, at whatever level the model liked: only what daily files know ends it.
    return any(known.fullmatch(line) for known in (_STAMPED, _SESSION, _COMPACT, _DAY))


class _Fence(NamedTuple):
    """An opened one."""

    mark: str
    column: int  # where the text of its list item begins; 0: it is in none

    def closes(self, line: str) -> bool:
        """Whether *line* ends the code. Code of a list item that is indented less than the item still belongs to it."""
        text = line.expandtabs(4)
        bare = text.strip()
        near = len(text) - len(text.lstrip(" ")) <= self.column + _INDENT
        return near and bare.startswith(self.mark) and not bare.strip(self.mark[0])


Items = tuple[int, ...]
"""The columns at which the texts of list items begin that are open, outermost first."""


def _opened(line: str, items: Items) -> tuple[Items, _Fence | None]:
    """The list items that are open after *line*, and the fence that it opens."""
    text = line.expandtabs(4)
    rest = text.lstrip(" ")
    if not rest:
        return items, None
    column = len(text) - len(rest)
    items = tuple(each for each in items if each <= column)
    while column - (items[-1] if items else 0) <= _INDENT:
        item = _ITEM.match(rest)
        if item is None:
            found = _FENCE.fullmatch(rest)
            return items, _Fence(found[1] or found[2], items[-1] if items else 0) if found else None
        column, rest = column + item.end(), rest[item.end() :]
        items = (*items, column)
    return items, None


def _closed(lines: Sequence[str], at: int, fence: _Fence) -> int | None:
    """The line after the code that *fence* opens; None when it is not closed before the next entry or session."""
    for number in range(at + 1, len(lines)):
        line = lines[number]
        if _STAMPED.fullmatch(line) or _SESSION.fullmatch(line):
            return None
        if fence.closes(line):
            return number + 1
    return None


def whole(content: str) -> str:
    """*content* as it may stand in an entry: no line of it is a heading, no comment an anchor, and fences are closed.

    memsearch's chunker sees headings inside of fenced code too; half of an entry would get a chunk of its own, and
    survive the other half. In prose a backslash keeps the line's look; in code, where it would be read, a space does.
    """
    made = []
    items: Items = ()
    fence: _Fence | None = None
    for line in split(content.strip("\n").rstrip()):
        heading = _HEADING.match(line) or re.fullmatch("#{1,6}", line)
        if fence:
            made.append(" " + line if heading else line)
            fence = None if fence.closes(line) else fence
        else:
            made.append("\\" + line if heading else line)
            items, fence = _opened(line, items)
    if fence:
        made.append(" " * fence.column + fence.mark)
    return _FORGED.sub("&lt;!--", "\n".join(made))


def condensed(summary: str) -> str:
    """*summary* as it may stand in a compaction's block: its headings are below the block's own and do not end it."""
    made = []
    for line in whole(summary).split("\n"):
        found = re.match(r"\\(#{1,6})([ \t].*)", line)  # a heading of prose; in code there is a space before it
        if found and not _STAMPED.fullmatch("###" + found[2]):
            line = "#" * min(6, len(found[1]) + 2) + found[2]
        made.append(line)
    return "\n".join(made)


def compaction(summary: str) -> str:
    """The block that a compaction appends, as memsearch writes it."""
    return f"\n\n## Memory Compact\n\n{condensed(summary)}\n"


def printed(time: str, content: str, origin: Anchor | None = None, *, heading: bool = False) -> str:
    """The bytes of one entry as text: what every agent of the mesh appends.

    Args:
        time: `HH:MM`, of the entry and of the session's heading.
        content: Bullets; see `whole`.
        heading: Whether the session's heading stands before it.
    """
    head = f"\n## Session {time}\n\n" if heading else ""
    source = f"{origin.printed()}\n" if origin else ""
    return f"{head}### {time}\n{source}{whole(content)}\n\n"


def without(text: str, block: Block) -> str | None:
    """*text* without *block*; None when nothing is left that anybody wrote.

    The session's heading goes with its last entry; freeform text keeps its heading. Of a compaction block, titles
    (`# ...`) are nobody's either: memsearch writes one into an empty file.
    """
    lines = text.split("\n")
    bare = split(text)
    first = block.first
    above = next((at for at in range(first - 1, -1, -1) if bare[at].strip()), None)
    if above is not None and _SESSION.fullmatch(bare[above]) and _over(bare, block.last):
        first = above
    # Line ends are kept as they are: the original is cut, not made anew.
    left = "".join(f"{line}\n" for line in lines[:first]) + "\n".join(lines[block.last :])
    rest = [line for line in split(left) if line.strip() and not _SESSION.fullmatch(line)]
    if block.kind == "compact":
        rest = [line for line in rest if not _TITLE.fullmatch(line)]
    if not rest:
        return None
    return left if left.endswith("\n") else left + "\n"


def _over(lines: Sequence[str], at: int) -> bool:
    """Whether a session's part of the file is over at *at*: nothing follows, or a heading that is no entry's."""
    for line in lines[at:]:
        if line.strip():
            return bool(re.match(r"#{1,2}[ \t]", line))
    return True
