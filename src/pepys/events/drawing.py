"""Trees of events, drawn as lines of text: what surrounds one event, and the branches of a whole session.

Lines are made of runs with a look; which colours a look has is for whoever prints them to say.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple

from pepys.events.states import Tree
from pepys.spelling import counted
from pepys.text import printable

Look = Literal["line", "id", "what", "mark", "note", "text"]
"""line: what connects. id: of an entry. what: role, tool or type. mark: something special about it. note: what the
drawing itself says. text: the entry's own words."""

MIN_TEXT = 20
"""Columns that the words of an entry get, however deep its branch is nested."""


class Run(NamedTuple):
    """Part of a line."""

    text: str
    look: Look


Line = tuple[Run, ...]


class Pen(NamedTuple):
    """What lines are drawn with."""

    selected: str = "●"
    other: str = "○"
    down: str = "│ "
    fork: str = "├─"
    last: str = "└─"
    gap: str = "┆ "
    cut: str = "…"
    to: str = "→"
    of: str = "←"


INK = Pen()
ASCII = Pen("*", "o", "| ", "|-", "`-", ": ", "...", "->", "<-")


class Paper(NamedTuple):
    """What is drawn on, and with."""

    width: int | None = None  # columns of a line; None: as many as it takes
    pen: Pen = INK


class Drawn(NamedTuple):
    """One entry as it is drawn."""

    what: str  # role and tool, or type
    text: str = ""
    marks: tuple[str, ...] = ()  # labels, and the like
    stands_out: bool = False  # drawn wherever it is, not only where branches begin and end


def session(tree: Tree, drawn: Sequence[Drawn], paper: Paper) -> Iterator[Line]:
    """The branches of a session, oldest entry first.

    The selected path goes straight down; other branches are indented, each where it leaves. Entries after which nothing
    branches or ends are counted, not drawn.

    Args:
        tree: The session.
        drawn: Its entries as they are drawn, by position.
        paper: What to draw on.
    """
    seen: set[int] = set()
    roots = [node.position for node in tree.nodes if tree.parent(node.position) is None]
    # Whatever no root leads to is a cycle, and begins anywhere.
    for start in (*roots, *range(len(tree.nodes))):
        if start not in seen and tree.counts(start):
            yield from _branch(tree, drawn, start, seen, paper)


def _branch(tree: Tree, drawn: Sequence[Drawn], root: int, seen: set[int], paper: Paper) -> Iterator[Line]:
    """A root and everything below it. No recursion: sessions are as deep as they are long."""
    pen = paper.pen
    waiting = [(root, "", "")]  # branches yet to be drawn, the next one last: what leads its first line, and the others
    while waiting:
        start, first, lead = waiting.pop()
        at, passed_over = start, list[int]()
        while True:
            seen.add(at)
            children = [child.position for child in tree.children(at) if child.position not in seen]
            if at == start or len(children) != 1 or drawn[at].stands_out:
                if len(passed_over) == 1:
                    yield _entry(tree, drawn, passed_over[0], lead, paper)
                elif passed_over:
                    yield line(
                        [Run(lead + pen.gap, "line"), Run(counted(len(passed_over), "entry", "entries"), "note")],
                        "",
                        paper,
                    )
                passed_over.clear()
                yield _entry(tree, drawn, at, first if at == start else lead, paper)
            else:
                passed_over.append(at)
            if len(children) != 1:
                break
            at = children[0]
        if children:
            main = next((child for child in children if tree.selects(child)), children[-1])
            waiting.append((main, lead, lead))
            waiting += [(child, lead + pen.fork, lead + pen.down) for child in reversed(children) if child != main]


def _entry(tree: Tree, drawn: Sequence[Drawn], position: int, lead: str, paper: Paper) -> Line:
    parts = [Run(lead, "line"), *_parts(tree, drawn, position, paper.pen)]
    return line(parts, drawn[position].text, paper)


def _parts(tree: Tree, drawn: Sequence[Drawn], position: int, pen: Pen) -> Iterator[Run]:
    node, its = tree.nodes[position], drawn[position]
    yield Run(f"{pen.selected if tree.selects(position) else pen.other} ", "line")
    yield Run(_flat(node.id), "id")
    yield Run(f"  {_flat(its.what)}", "what")
    marks = list(its.marks)
    if node.parent and tree.parent(position) is None:
        marks.append(f"parent {node.parent} is missing")
    if node == tree.leaf:
        marks.append("leaf")
    for mark in marks:
        yield Run(f"  [{_flat(mark)}]", "mark")


def trace(result: Mapping[str, Any], paper: Paper) -> Iterator[Line]:
    """What surrounds one event: its parent, the branches beside it, its children, and what it is related to.

    Args:
        result: Of `events.trace`.
        paper: What to draw on.
    """
    pen = paper.pen
    parent, siblings, children = result.get("parent"), result.get("branchSiblings", ()), result.get("children", ())
    lead = ""
    if parent is not None:
        yield _edge(parent, "", paper)
        for sibling in siblings:
            yield _edge(sibling, pen.fork, paper)
        lead = pen.last
    target = result["target"]
    here = target.get("branchState") == "selected"
    yield line(
        [
            Run(f"{lead}{pen.selected if here else pen.other} ", "line"),
            Run(_flat(str(target["entryId"])), "id"),
            Run(f"  {_flat(target.get('entryType') or '')}", "what"),
            Run("  [this event]", "mark"),
        ],
        target.get("preview") or "",
        paper,
    )
    below = " " * len(lead)
    for number, child in enumerate(children):
        yield _edge(child, below + (pen.last if number == len(children) - 1 else pen.fork), paper)
    for edge in result.get("related", ()):
        yield _relation(edge, target, paper)
    if result.get("truncated"):
        yield line([Run("There are more than are shown.", "note")], "", paper)


def _edge(edge: Mapping[str, Any], lead: str, paper: Paper) -> Line:
    """An adjacent event, at the other end of *edge*."""
    pen = paper.pen
    selected = bool(edge.get("leadsToMaterializedLeaf"))
    unknown = edge.get("targetBranchState") == "unknown"
    parts = [
        Run(f"{lead}{pen.selected if selected else '?' if unknown else pen.other} ", "line"),
        Run(_name(edge["to"]), "id"),
        Run(f"  {_told(edge, 'entryType')}", "what"),
        Run("  [to the leaf]" if selected and edge.get("type") == "child" else "", "mark"),
    ]
    return line(parts, _told(edge, "preview"), paper)


def _relation(edge: Mapping[str, Any], target: Mapping[str, Any], paper: Paper) -> Line:
    pen = paper.pen
    origin = edge["from"]
    # A relation of the session as a whole begins, or ends, at the session.
    outward = origin.get("entryId", target["entryId"]) == target["entryId"] and (
        "sessionId" not in origin or origin["sessionId"] == target.get("sessionId")
    )
    other = edge["to"] if outward else edge["from"]
    elsewhere = other.get("sessionId") not in (None, target.get("sessionId"))
    parts = [
        Run(f"{_flat(str(edge['type']))} ", "what"),
        Run(f"{pen.to if outward else pen.of} ", "line"),
        Run(_name(other), "id"),
        Run(f" in {_flat(str(other['sessionId']))}" if elsewhere and other.get("entryId") else "", "id"),
        Run(f"  {_flat(str(edge['detail']))}" if edge.get("detail") else "", "what"),
        Run("" if edge.get("recorded") else "  (derived)", "note"),
    ]
    return line(parts, _told(edge, "preview"), paper)


def _name(end: Mapping[str, Any]) -> str:
    """An end of an edge: an entry, a file, or a session as a whole."""
    return _flat(str(end.get("entryId") or end.get("fileRef") or end.get("sessionId") or "?")).removeprefix("file:")


def _told(edge: Mapping[str, Any], name: str) -> str:
    """What an edge, or the event it leads to, says of that event."""
    return _flat(str(edge.get(name) or edge["to"].get(name) or ""))


def line(parts: Sequence[Run], text: str, paper: Paper) -> Line:
    """*parts* and then *text* as one line.

    What does not fit on the paper is cut: of the text first, then of the lines on the left, then of everything else.
    """
    width, pen = paper
    runs = [part for part in parts if part.text.strip()]
    words = _flat(text)
    if width is None:
        return (*runs, *([Run(f"  {words}", "text")] if words else []))
    room = width - sum(_columns(run.text) for run in runs) - 2
    if words and room < MIN_TEXT and runs[0].look == "line":
        # Deeply nested: the lines on the left give way.
        lead = runs[0].text
        spare = min(MIN_TEXT - room + len(pen.cut), max(len(lead) - 2 - len(pen.cut), 0))
        if spare > len(pen.cut):
            runs[0] = runs[0]._replace(text=pen.cut + lead[spare:])
            room += spare - len(pen.cut)
    if words and room > 0:
        runs.append(Run(f"  {_cut(words, room, pen)}", "text"))
    return tuple(_bounded(runs, width, pen))


def _bounded(runs: Sequence[Run], width: int, pen: Pen) -> Iterator[Run]:
    for run in runs:
        if width <= 0:
            return
        cut = run._replace(text=_cut(run.text, width, pen))
        yield cut
        width -= _columns(cut.text)


def _flat(text: str) -> str:
    """*text* on one line, and harmless to a terminal."""
    return printable(" ".join(text.split()))


def _cut(text: str, width: int, pen: Pen) -> str:
    if _columns(text) <= width:
        return text
    room = width - len(pen.cut)
    if room <= 0:
        return pen.cut[:width]
    end = taken = 0
    while (taken := taken + _width(text[end])) <= room:
        end += 1
    return text[:end].rstrip() + pen.cut


def _columns(text: str) -> int:
    """How many columns of a terminal *text* takes, at most.

    Terminals differ in what they join: emoji, Indic vowel signs. A line that is wrapped is worse than a shorter one.
    """
    return len(text) if text.isascii() else sum(map(_width, text))


def _width(char: str) -> int:
    if char.isascii() or char in "\u00ad\ufe0f":  # the second makes a symbol an emoji
        return 1
    if unicodedata.category(char) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1
