"""The tree of a session: which branch is selected, and what becomes of every entry in the model's context (spec 3).

Pi stores no current leaf. The last entry of the file is the materialized leaf; the path from it to a root is selected.
What is said here of an entry is derived from the file, and is `unknown` where the file does not tell.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice, pairwise, takewhile
from typing import Literal, NamedTuple

BranchState = Literal["selected", "alternate", "unknown"]
"""selected: on the path to the materialized leaf. alternate: on another one. unknown: its place cannot be told."""

ContextRole = Literal["conversation", "summary", "control", "metadata"]

SelectionState = Literal["direct", "summarized", "not-selected", "not-applicable", "unknown"]
"""direct: part of the selected, compaction-aware context. summarized: a compaction or branch summary stands for it.
not-selected: neither. not-applicable: on the selected path, but nothing that a model is shown."""

_SUMMARIES = frozenset({"compaction", "branch_summary"})
_SUMMARY_ROLES = frozenset({"compactionSummary", "branchSummary"})
_METADATA = frozenset({"label", "session_info", "title_change"})
_CONVERSATION = frozenset(
    {"message", "custom_message", "user", "assistant", "tool_result", "toolResult", "bash", "bashExecution"}
)


class Node(NamedTuple):
    """What of an entry decides its states."""

    position: int  # append position among the entries of the source, from 0 and without gaps
    id: str
    parent: str | None
    type: str
    role: str | None = None
    target: str | None = None  # of a compaction: firstKeptEntryId; of a branch summary: fromId
    silent: bool = False  # kept from the model: a command run with `!!`, a branch summary without text


class State(NamedTuple):
    """How an entry stands."""

    branch: BranchState
    context: ContextRole
    selection: SelectionState
    inferred: bool = (
        False  # that a branch summary stands for it is not recorded, but follows from the order of the file
    )


class Fork(NamedTuple):
    """Where a path could have gone on differently."""

    at: Node
    candidates: tuple[Node, ...]  # its children, in append order
    chosen: Node | None  # the one that the path goes on to; None: the path ends here, undecided


class Neighbours(NamedTuple):
    """What stands around an entry."""

    before: tuple[Node, ...]  # oldest first
    after: tuple[Node, ...]
    forks: tuple[Fork, ...]  # that lie between those shown, from the root on


def context_role(node: Node) -> ContextRole:
    """What an entry is to the model's context."""
    if node.silent:
        return "control"
    if node.type in _SUMMARIES or node.role in _SUMMARY_ROLES:
        return "summary"
    if node.type in _METADATA:
        return "metadata"
    return "conversation" if node.type in _CONVERSATION else "control"


class Tree:
    """The entries of one session file by their parents. Of entries with one id, only the last counts.

    `append` costs what it changes: nothing but the entry itself where the conversation goes on, the difference of the
    two paths where another branch does.
    """

    def __init__(self, nodes: Iterable[Node] = ()) -> None:
        self.nodes: list[Node] = list(nodes)
        self._last: dict[str, int] = {}
        self._children: dict[str, list[int]] = {}  # by recorded parent, whether or not there is one
        for node in self.nodes:
            self._link(node)
        self._settle()

    def append(self, node: Node) -> None:
        """Add the next entry of the file, which is the materialized leaf from now on."""
        rewired = node.id in self._last or node.id in self._children or node.id == node.parent
        self.nodes.append(node)
        self._link(node)
        parent = self._parent(node.position)
        top = node.position if parent is None or rewired else self._tops[parent]
        if rewired or top is None:  # ids that are used twice, parents that follow their children, cycles
            self._settle()
            return
        self._tops.append(top)
        self._select(node.position)

    # The selected path

    @property
    def leaf(self) -> Node | None:
        """The materialized leaf; None of an empty session."""
        return self.nodes[-1] if self.nodes else None

    @property
    def path(self) -> Iterator[Node]:
        """The selected path, from its root to the materialized leaf."""
        return (self.nodes[position] for position in self._path)

    def selects(self, position: int) -> bool:
        """Whether an entry is on the selected path: whether it leads to the materialized leaf."""
        return position in self._depths

    # States

    def state(self, position: int) -> State:
        """How an entry stands."""
        branch = self._branch(position)
        context = context_role(self.nodes[position])
        if branch == "unknown":
            return State(branch, context, "unknown")
        told = context in ("conversation", "summary")
        if branch == "alternate":
            inferred = self._summarized().get(position) if told else None
            return State(branch, context, "not-selected" if inferred is None else "summarized", bool(inferred))
        return State(branch, context, self._on_path(position) if told else "not-applicable")

    # Neighbours

    def counts(self, position: int) -> bool:
        """Whether an entry is the one that its id stands for: the last one with it."""
        return self._last[self.nodes[position].id] == position

    def find(self, id_: str) -> Node | None:
        """The entry with an id."""
        position = self._last.get(id_)
        return None if position is None else self.nodes[position]

    def parent(self, position: int) -> Node | None:
        """The parent of an entry; None of a root, and where the file does not hold the one that is recorded."""
        parent = self._parent(position)
        return None if parent is None else self.nodes[parent]

    def children(self, position: int) -> tuple[Node, ...]:
        """The entries that name this one as their parent, in append order."""
        node = self.nodes[position]
        return tuple(self._named(node.id)) if self.counts(position) else ()

    def siblings(self, position: int) -> tuple[Node, ...]:
        """The other children of an entry's parent, in append order; a root has none."""
        _, id_, parent, *_ = self.nodes[position]
        if not parent or parent == id_:
            return ()
        return tuple(node for node in self._named(parent) if node.position != position)

    def ancestors(self, position: int) -> Iterator[Node]:
        """The parent of an entry, its parent, and so on."""
        return (self.nodes[above] for above in self._above(position))

    def onward(self, position: int) -> Iterator[Node]:
        """What the conversation goes on with after an entry, nearest first, until it ends or parts undecided."""
        passed = {position}
        at = self._successor(position)
        while at is not None and at not in passed:
            yield self.nodes[at]
            passed.add(at)
            at = self._successor(at)

    def along_branch(self, position: int, before: int, after: int, cutoff: int | None = None) -> Neighbours:
        """What leads to an entry, and how the conversation goes on after it.

        After an entry of the selected path comes the next one of it; after any other its only child. Where there are
        several and none is selected, the answer ends with a fork that nobody chose.

        Args:
            position: The entry.
            before: Most entries before it.
            after: Most entries after it.
            cutoff: Entries from this position on do not exist for the caller; they still count as neighbours, so that
                an answer may be shorter, but never looks further.
        """
        above = list(islice(self._above(position), before))[::-1]
        way = [*above, position]
        forks = [
            fork for at, chosen in pairwise(way) if (fork := self._fork(self.nodes[at], chosen, cutoff)) is not None
        ]
        following: list[int] = []
        passed = {*way}
        at = position
        while len(following) < after:
            chosen = self._successor(at)
            if (fork := self._fork(self.nodes[at], chosen, cutoff)) is not None:
                forks.append(fork)
            if chosen is None or chosen in passed:
                break
            passed.add(chosen)
            following.append(chosen)
            at = chosen
        return Neighbours(self._shown(above, cutoff), self._shown(following, cutoff), tuple(forks))

    def in_file(self, position: int, before: int, after: int, cutoff: int | None = None) -> Neighbours:
        """What was written just before and just after an entry, whichever branches that belongs to."""
        above = range(max(0, position - before), position)
        following = range(position + 1, min(len(self.nodes), position + 1 + after))
        return Neighbours(self._shown(above, cutoff), self._shown(following, cutoff), ())

    # Inside

    def _link(self, node: Node) -> None:
        self._last[node.id] = node.position
        if node.parent and node.parent != node.id:
            self._children.setdefault(node.parent, []).append(node.position)

    def _settle(self) -> None:
        """Find every entry's topmost ancestor, and the selected path, anew."""
        self._tops: list[int | None] = _tops([self._parent(position) for position in range(len(self.nodes))])
        self._path: list[int] = []
        self._depths: dict[int, int] = {}
        self._marks: dict[str, list[int]] = {"compaction": [], "branch_summary": [], "reset_boundary": []}
        self._covered: dict[int, bool] | None = None
        if self.nodes:
            self._select(len(self.nodes) - 1)

    def _select(self, leaf: int) -> None:
        """Make *leaf*, which is not on the selected path, its end."""
        added = [leaf]
        passed = {leaf}
        for above in self._above(leaf):
            if above in self._depths or above in passed:
                break
            added.append(above)
            passed.add(above)
        parent = self._parent(added[-1])
        kept = 0 if parent is None else self._depths.get(parent, -1) + 1
        if kept < len(self._path):
            self._covered = None
        for position in self._path[kept:]:
            del self._depths[position]
        del self._path[kept:]
        for depths in self._marks.values():
            while depths and depths[-1] >= kept:
                depths.pop()
        for position in reversed(added):
            self._depths[position] = len(self._path)
            if (kind := self.nodes[position].type) in self._marks:
                self._marks[kind].append(len(self._path))
                self._covered = None
            self._path.append(position)

    def _parent(self, position: int) -> int | None:
        parent = self.nodes[position].parent
        # An entry that names itself is below nothing: of two with its id, no earlier one is its parent either.
        return self._last.get(parent) if parent and parent != self.nodes[position].id else None

    def _above(self, position: int) -> Iterator[int]:
        """Ancestors, nearest first; a cycle is walked once."""
        passed = {position}
        above = self._parent(position)
        while above is not None and above not in passed:
            yield above
            passed.add(above)
            above = self._parent(above)

    def _named(self, parent: str) -> Iterator[Node]:
        for position in self._children.get(parent, ()):
            if self.counts(position):
                yield self.nodes[position]

    def _branch(self, position: int) -> BranchState:
        if position in self._depths:
            return "selected"
        top = self._tops[position]
        if not self.counts(position) or top is None:  # written again later; in a cycle
            return "unknown"
        # Below an entry whose parent is missing nothing is known, but for what branches off the selected path itself.
        known = not self.nodes[top].parent or top == self._tops[self._path[-1]]
        return "alternate" if known else "unknown"

    def _on_path(self, position: int) -> SelectionState:
        """The selection state of a message or summary on the selected path, by the newest compaction on it."""
        depth = self._depths[position]
        resets, compactions = self._marks["reset_boundary"], self._marks["compaction"]
        reset = resets[-1] if resets else 0
        if depth < reset:  # the host was told to forget it (`/clear`)
            return "not-selected"
        if not compactions or (newest := compactions[-1]) < reset:
            return "direct"
        if depth >= newest:
            return "direct"
        if depth < self._kept(newest) or self.nodes[position].type == "compaction":
            return "summarized"
        return "direct"

    def _kept(self, compaction: int) -> int:
        """The depth from which on a compaction keeps entries; its own where it keeps none, or none of this path."""
        kept = self.find(self.nodes[self._path[compaction]].target or "")
        return compaction if kept is None else min(self._depths.get(kept.position, compaction), compaction)

    def _summarized(self) -> Mapping[int, bool]:
        """Entries of abandoned branches that branch summaries stand for, and whether that is inferred.

        A summary that is itself summarized counts: its text is in what stands for it.
        """
        if self._covered is None:
            self._covered = {}
            waiting = [self._path[depth] for depth in self._marks["branch_summary"]]
            done = set(waiting)
            while waiting:
                summary = waiting.pop()
                if self.nodes[summary].silent:
                    continue
                inferred, abandoned = self._abandoned(summary)
                for position in abandoned:
                    self._covered[position] = self._covered.get(position, True) and inferred
                    if self.nodes[position].type == "branch_summary" and position not in done:
                        done.add(position)
                        waiting.append(position)
        return self._covered

    def _abandoned(self, summary: int) -> tuple[bool, Sequence[int]]:
        """The branch that a branch summary was written for: whether it is inferred, and its entries.

        `fromId` names the abandoned leaf, or (what Pi and OMP write) the entry that the new branch goes on from. In
        the second case the abandoned leaf is taken to be what stands just before the summary in the file.
        """
        kept = self._kept_by(summary)
        target, parent = self.nodes[summary].target, self.nodes[summary].parent
        start = self._last.get(target) if target and target != parent else None
        inferred = start is None
        if start is None:
            start = summary - 1
        if start < 0:
            return inferred, ()
        return inferred, list(takewhile(lambda position: not kept(position), chain((start,), self._above(start))))

    def _kept_by(self, summary: int) -> Callable[[int], bool]:
        """Whether an entry is the summary itself or leads to it."""
        depth = self._depths.get(summary)
        if depth is None:
            return {summary, *self._above(summary)}.__contains__
        # On the selected path, without a walk along it.
        beyond = depth + 1
        return lambda position: self._depths.get(position, beyond) < beyond

    def _successor(self, position: int) -> int | None:
        if position in self._depths:
            depth = self._depths[position] + 1
            return self._path[depth] if depth < len(self._path) else None
        children = self.children(position)
        return children[0].position if len(children) == 1 else None

    def _fork(self, at: Node, chosen: int | None, cutoff: int | None) -> Fork | None:
        candidates = tuple(node for node in self.children(at.position) if cutoff is None or node.position < cutoff)
        if len(candidates) < 2:
            return None
        return Fork(at, candidates, next((node for node in candidates if node.position == chosen), None))

    def _shown(self, positions: Iterable[int], cutoff: int | None) -> tuple[Node, ...]:
        return tuple(self.nodes[position] for position in positions if cutoff is None or position < cutoff)


def _tops(parents: Sequence[int | None]) -> list[int | None]:
    """The topmost ancestor of each of these, itself if it has no parent here; None where parents form a cycle."""
    tops: list[int | None] = [None] * len(parents)
    known = [False] * len(parents)
    for position in range(len(parents)):
        way: list[int] = []
        at: int | None = position
        passing: set[int] = set()
        while at is not None and not known[at] and at not in passing:
            way.append(at)
            passing.add(at)
            at = parents[at]
        top = way[-1] if at is None and way else (tops[at] if at is not None and known[at] else None)
        for below in way:
            tops[below], known[below] = top, True
    return tops
