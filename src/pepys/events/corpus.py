"""What of somebody's history one caller may see, and which of it a call is about (spec 3, "Search corpus")."""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from pepys.errors import AmbiguousSession, EventNotFound, InvalidEventArgument, SourceUnavailable
from pepys.events import invocation
from pepys.events.authorisation import Authority, homes, within, workspace
from pepys.events.states import Tree
from pepys.events.trees import tree
from pepys.hosts import locations
from pepys.hosts.base import surroundings
from pepys.index.document import Place
from pepys.index.source import Row, Source, stem
from pepys.index.view import View
from pepys.model.context import Context
from pepys.model.events import CURRENT
from pepys.model.source import Header

MAX_HEADERS = 2_000
"""Sources that one call looks into the beginning of while the index does not know them."""

_NO_HEADER = Header(None, None, 0, None, None, None)

BUDGET_MB, FILE_LIMIT = "PI_EVENT_SEARCH_STARTUP_BUDGET_MB", "PI_EVENT_SEARCH_STARTUP_FILE_LIMIT"


class Located(NamedTuple):
    """An event that was found by its identity."""

    source: Source
    tree: Tree
    row: Row
    cutoff: int | None  # of the caller's own session: the position from which on nothing may be seen


class Selection(NamedTuple):
    """The sources that a search is about."""

    sources: Sequence[Source]
    cutoffs: Mapping[int, int]  # by generation
    explicit: bool = False  # the caller named the session
    subagents_left_out: int = 0
    over_budget: Sequence[Source] = ()  # older or larger ones that the caller's budgets leave out


def files(context: Context, session: str | None) -> list[str]:
    """Absolute paths that the call names itself, wherever they lie. Naming one grants nothing."""
    named = [] if context.session_file is None else [str(context.session_file)]
    if session is not None and _is_path(session):
        named.append(locations.absolute(session, surroundings(context)))
    return named


class Corpus:
    """A view as one caller may see it."""

    def __init__(self, view: View, context: Context) -> None:
        """Take in a view and a call's circumstances.

        Raises:
            InvalidConfiguration: A configured workspace root cannot be used.
        """
        self.view, self._context = view, context
        explicit = context.config.events.workspace_roots
        if context.workspace_root is not None:
            explicit = (str(context.workspace_root),)
        self.roots = workspace(explicit, str(context.cwd), homes(context.env))
        self._authority = Authority(self.roots)
        self._visible: Sequence[Source] | None = None
        self._cutoff: dict[int, int] = {}
        self.current = self._current()

    def allows(self, source: Source) -> bool:
        """Whether the caller may see a source."""
        return self._authority.allows(source.cwd)

    def visible(self) -> Sequence[Source]:
        """All sources that the caller may see, in no particular order."""
        if self._visible is None:
            self._visible = [source for source in self.view.sources.values() if self.allows(source)]
        return self._visible

    def is_current(self, source: Source) -> bool:
        """Whether a source holds the caller's own session."""
        return self.current is not None and source.session == self.current

    # What a call is about

    def named(self, session: str, *, searchable: bool = False) -> list[Source]:
        """The visible sources of a session: of the caller's own, where its file is known, that file.

        Those that are cold, or that the index does not have yet, are read for this view; to be searched, they must be
        asked for so.

        Raises:
            EventNotFound: There are none that the caller may see.
            SourceUnavailable: The index does not have one yet, and it is too large to be read beside it.
            InvalidEventArgument: The caller's own session is meant and not known.
        """
        wanted = session.strip()
        if wanted == CURRENT:
            if self.current is None:
                raise InvalidEventArgument('The "current" session is not available in this invocation context.')
            wanted = self.current
        if _is_path(wanted):
            path = locations.absolute(wanted, surroundings(self._context))
            source = self.view.sources.get(path)
            found = [] if source is None or not self.allows(source) else [source]
            unread = [other for other, header in self._unknown((path,)) if self._authority.allows(header.cwd)]
        else:
            visible, waiting = self.visible(), list(self.unread())
            found = [source for source in visible if source.session == wanted]
            unread = [path for path, header in waiting if _session(path, header) == wanted]
            if not (found or unread):
                found = [source for source in visible if stem(source.path) == wanted]
                unread = [path for path, _ in waiting if stem(path) == wanted]
        own = str(self._context.session_file)
        if own in unread or any(source.path == own for source in found):
            found, unread = [source for source in found if source.path == own], [path for path in unread if path == own]
        if not (found or unread):
            raise EventNotFound
        return [
            *(self.view.resolved(source, searchable=searchable) for source in found),
            *(self._read(path, searchable=searchable) for path in unread),
        ]

    def unread(self) -> Iterator[tuple[str, Header]]:
        """Sessions that the caller may see and this view has not read, by path; of very many, the newest."""
        for path, header in self._unknown(self.view.seen.found):
            if self._authority.allows(header.cwd):
                yield path, header

    def nowhere(self) -> Mapping[str, int]:
        """By reason, how many sessions do not say where they worked, so that nobody may see them."""
        paths = [path for path, source in self.view.sources.items() if not source.cwd]
        paths += [path for path, header in self._unknown(self.view.seen.found) if not header.cwd]
        return Counter(self.view.failed.get(path, "workspace_unknown") for path in paths)

    def _unknown(self, paths: Iterable[str]) -> Iterator[tuple[str, Header]]:
        """The headers of those sources at *paths* that are listed, and that this view knows nothing of."""
        view, listed = self.view, self.view.seen.found
        waiting = [path for path in paths if path in listed and path not in view.sources and path not in view.excluded]
        waiting.sort(key=lambda path: (-listed[path].stamp.mtime_ns, path))
        for path in waiting[:MAX_HEADERS]:
            yield path, view.header(path) or _NO_HEADER

    def _read(self, path: str, *, searchable: bool) -> Source:
        source = self.view.read(path, searchable=searchable)
        if source is None:
            reason = self.view.failed.get(path) or self.view.unread.get(path, "catching_up")
            raise SourceUnavailable(
                f"The session is not in the index yet, and cannot be read beside it ({reason}).",
                hint="Call again later, or run `pepys index`.",
            )
        return source

    def select(self, session: str | None, cwd: str | None, *, subagents: bool) -> Selection:
        """The sources that a search is about.

        Raises:
            EventNotFound: A session is named that the caller may not see, or that does not exist.
            InvalidEventArgument: It is the caller's own, and it is not known which of its events makes this call.
        """
        if session is not None:
            named = self.in_folder(self.named(session, searchable=True), cwd)
            return Selection(named, self._cutoffs(named), explicit=True)
        visible = [source for source in self.in_folder(self.visible(), cwd) if not self.is_current(source)]
        kept = [source for source in visible if subagents or source.kind != "subagent"]
        within_budget, over = _affordable(kept, self._context.env)
        return Selection(within_budget, {}, subagents_left_out=len(visible) - len(kept), over_budget=over)

    def find(self, session: str, entry: str) -> Located:
        """The event with an identity.

        Raises:
            EventNotFound: There is none that the caller may see.
            AmbiguousSession: Several files of the session hold it, and not alike.
        """
        found: list[Located] = []
        for source in self.named(session):
            made = tree(self.view, source)
            node = made.find(entry)
            row = None if node is None else self.view.row(Place(source.generation, node.position, 0))
            if row is not None:
                cutoff = self.cutoff(source)
                if cutoff is None or row.position < cutoff:
                    found.append(Located(source, made, row, cutoff))
        if not found:
            raise EventNotFound
        if len({(place.row.type, place.row.time, place.row.crc) for place in found}) > 1:
            paths = sorted(place.source.path for place in found)
            raise AmbiguousSession(
                f"{len(paths)} files of session {session} hold different entries {entry}.",
                hint="Name one of the files instead of the session.",
                details={"session": session, "candidates": paths[:50]},
            )
        return max(found, key=lambda place: (place.source.stamp.mtime_ns, place.source.path))

    def cutoff(self, source: Source) -> int | None:
        """The position in the caller's own session from which on nothing may be seen; None in any other session.

        Raises:
            InvalidEventArgument: It is the caller's own session, and nothing says which event makes the call.
        """
        if not self.is_current(source):
            return None
        if source.generation not in self._cutoff:
            self._cutoff[source.generation] = invocation.cutoff(
                self.view, source, tree(self.view, source), self._context
            )
        return self._cutoff[source.generation]

    def _cutoffs(self, sources: Iterable[Source]) -> dict[int, int]:
        found = {source.generation: self.cutoff(source) for source in sources}
        return {generation: cutoff for generation, cutoff in found.items() if cutoff is not None}

    def _current(self) -> str | None:
        context = self._context
        if context.session_file is not None:
            path = str(context.session_file)
            source = self.view.sources.get(path)
            if source is not None:
                return source.session
            for _, header in self._unknown((path,)):
                return _session(path, header)
        return context.current_session_id

    def in_folder(self, sources: Sequence[Source], folder: str | None) -> list[Source]:
        """Those of *sources* that worked in a folder or below it; it never grants anything."""
        if folder is None:
            return list(sources)
        wanted = os.path.realpath(locations.absolute(folder, surroundings(self._context)))
        inside = {cwd: within(os.path.realpath(cwd), wanted) for cwd in {source.cwd for source in sources} if cwd}
        return [source for source in sources if source.cwd and inside[source.cwd]]


def _session(path: str, header: Header) -> str:
    return header.session or stem(path)


def _is_path(session: str) -> bool:
    return os.sep in session or session.endswith((".jsonl", ".jsonl.gz"))


def _affordable(sources: Sequence[Source], env: Mapping[str, str]) -> tuple[list[Source], list[Source]]:
    """What the caller's budgets, if any, let be searched: newest first; one that is too large is passed over."""
    room, files_left = _budget(env.get(BUDGET_MB)) * (1 << 20), _budget(env.get(FILE_LIMIT))
    if math.isinf(room) and math.isinf(files_left):
        return list(sources), []
    taken: list[Source] = []
    over: list[Source] = []
    for source in sorted(sources, key=lambda source: (-source.stamp.mtime_ns, source.path)):
        if len(taken) < files_left and source.stamp.size <= room:
            taken.append(source)
            room -= source.stamp.size
        else:
            over.append(source)
    return taken, over


def _budget(text: str | None) -> float:
    """A number, at least 0; anything else is no budget."""
    try:
        number = float(text or "inf")
    except ValueError:
        return math.inf
    return number if number >= 0 else math.inf
