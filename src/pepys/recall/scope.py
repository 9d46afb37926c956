"""Which sources a call is about, and how much of them can be looked at (spec 1, "Scopes")."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from pepys.errors import AmbiguousSession, InvalidArgument, SessionNotFound
from pepys.hosts import HOSTS, locations
from pepys.hosts.base import surroundings
from pepys.index.source import Source, stem
from pepys.index.standing import Standings
from pepys.index.view import View
from pepys.model.context import Context
from pepys.model.coverage import REASONS, Coverage
from pepys.model.lineage import Branches, Live
from pepys.model.source import DIAGNOSTICS, Found
from pepys.paths import shortened

_WORDS: Mapping[str, str] = {
    **dict.fromkeys(("session", "current"), "session"),
    **dict.fromkeys(("project", "cwd", "repo", "directory", "folder"), "project"),
    **dict.fromkeys(("global", "all"), "global"),
}

SESSION = "session:"


def named(scope: str | None) -> str:
    """The canonical spelling of a scope.

    Raises:
        InvalidArgument: There is no such scope. (A guess could widen or narrow what an answer speaks of.)
    """
    text = (scope or "session").strip()
    if text.startswith(SESSION) and text.removeprefix(SESSION).strip():
        return SESSION + text.removeprefix(SESSION).strip()
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    raise InvalidArgument(
        f"Unknown scope {shortened(repr(text))}.", hint="Use session, project, global or session:<id-or-path>."
    )


def files(scope: str, context: Context) -> list[str]:
    """Absolute paths that the call names itself, wherever they lie."""
    paths = [] if context.session_file is None else [str(context.session_file)]
    session = scope.removeprefix(SESSION) if scope.startswith(SESSION) else ""
    if session.endswith(_SUFFIXES):
        # Any other file is none of a host's, wherever a caller says it is.
        paths.append(_absolute(session, context))
    return paths


_SUFFIXES = (".jsonl", ".jsonl.gz")


def _is_path(session: str) -> bool:
    """Whether a session is named by its file. Hosts take any name for it, so a directory in front says so too."""
    return os.sep in session or session.endswith(_SUFFIXES)


def _absolute(path: str, context: Context) -> str:
    """A path that a caller wrote, from the call's own working directory."""
    return locations.absolute(path, surroundings(context))


@dataclass(slots=True)
class Selection:
    """The sources of a scope, newest first."""

    found: list[Found]  # eligible, whether or not they can be looked at
    sources: list[Source]  # those that can be
    explicit: bool = False  # one source, named by the caller or by the current session
    reasons: set[str] = field(default_factory=set)
    subagents_left_out: int = 0


def select(view: View, scope: str, context: Context, *, subagents: bool) -> Selection:
    """The sources of a canonical *scope*.

    Raises:
        SessionNotFound: An explicit session matches nothing, which proves nothing.
        AmbiguousSession: An explicit id belongs to several files.
    """
    if scope.startswith(SESSION):
        return _selection(view, [resolve(view, scope.removeprefix(SESSION), context)], explicit=True)
    if scope == "session":
        return _current(view, context)
    inside = {root.path for root in view.seen.roots}
    eligible = [found for found in view.seen.found.values() if found.root in inside]
    reasons = {"root_not_listed"} if view.seen.unlisted else set()
    if scope == "project":
        project = _Project(context)
        eligible = [found for found in eligible if project.holds(found, view.sources.get(found.path))]
        if not eligible and not any(project.owns(found) for found in view.seen.found.values()):
            reasons.add("project_session_dir_missing")
    kept = [found for found in eligible if subagents or found.kind != "subagent"]
    selection = _selection(view, kept)
    selection.reasons |= reasons
    selection.subagents_left_out = len(eligible) - len(kept)
    return selection


def resolve(view: View, session: str, context: Context) -> Found:
    """The one source that an id, a file stem or a path names.

    Raises:
        SessionNotFound: None does.
        AmbiguousSession: Several do.
    """
    if _is_path(session):
        found = view.seen.found.get(_absolute(session, context))
        if found is not None:
            return found
    by_id = [path for path, source in view.sources.items() if source.session == session]
    matches = by_id or [path for path in view.seen.found if stem(path) == session]
    if len(matches) > 1:
        matches.sort()
        raise AmbiguousSession(
            f"{len(matches)} files belong to session {session}.",
            hint="Name one of the files instead.",
            details={"session": session, "candidates": matches[:50]},
        )
    if not matches:
        raise SessionNotFound(
            f"No session {shortened(repr(session))} was found.",
            hint="List sessions with memory.sessions (`pepys sessions --scope global`).",
            details={"session": session},
        )
    return view.seen.found[matches[0]]


def _current(view: View, context: Context) -> Selection:
    """The current session, else the newest one of the project."""
    if context.session_file is not None:
        found = view.seen.found.get(str(context.session_file))
        selection = _selection(view, [found] if found else [], explicit=True)
        if found is None:  # hosts write the file with the first prompt
            selection.reasons.add("source_unavailable")
        return selection
    if context.current_session_id is not None:
        return _selection(view, [resolve(view, context.current_session_id, context)], explicit=True)
    project = _Project(context)
    newest = sorted(
        (
            found
            for found in view.seen.found.values()
            if found.kind == "session" and project.holds(found, view.sources.get(found.path))
        ),
        key=_recency,
    )
    selection = _selection(view, newest[:1], explicit=bool(newest))
    selection.reasons.add("current_session_unknown" if newest else "project_session_dir_missing")
    return selection


def _selection(view: View, eligible: Iterable[Found], *, explicit: bool = False) -> Selection:
    ordered = sorted(eligible, key=_recency)
    return Selection(ordered, [view.sources[found.path] for found in ordered if found.path in view.sources], explicit)


def _recency(found: Found) -> tuple[int, str]:
    return -found.stamp.mtime_ns, found.path


class _Project:
    """The sessions of the call's working directory.

    A host's folder names are lossy: `/a/b-c` and `/a/b/c` share one. So the header's cwd decides where there is one; a
    session in the folder that names some unrelated directory was moved or imported there, and belongs to it.
    """

    def __init__(self, context: Context) -> None:
        self._around = surroundings(context)
        cwd = str(context.cwd)
        self._directories = {cwd, os.path.realpath(cwd)}
        self._folders = {name: frozenset(host.folders(cwd, self._around)) for name, host in HOSTS.items()}

    def owns(self, found: Found) -> bool:
        """Whether a source lies in the folder of this directory."""
        return found.folder is not None and found.folder in self._folders[found.host]

    def holds(self, found: Found, source: Source | None) -> bool:
        """Whether a source belongs to this project."""
        recorded = source.cwd if source is not None else None
        if recorded in self._directories:
            return True
        if not self.owns(found):
            return False
        return not recorded or found.folder not in HOSTS[found.host].folders(recorded, self._around)


def live_branches(selection: Selection, context: Context) -> dict[str, Live]:
    """The host's live branch, by the path of its current session."""
    if context.live is None:
        return {}
    for source in selection.sources:
        if str(context.session_file) == source.path or (
            context.session_file is None and context.current_session_id == source.session
        ):
            return {source.path: context.live}
    return {}


def coverage(view: View, selection: Selection, standings: Standings, branches: Branches, *, own: bool) -> Coverage:
    """How much of a selection can be looked at, and every reason why not all."""
    result = Coverage(eligible=len(selection.found), reasons=set(selection.reasons) | set(view.reasons))
    result.subagents_left_out = selection.subagents_left_out
    for found in selection.found:
        source = view.sources.get(found.path)
        if found.path in view.failed:
            result.reasons.add("source_unavailable")
        elif source is None or found.path in view.unread:  # not read at all, or not its newest part
            excluded = found.path in view.excluded
            result.reasons.add("excluded_by_configuration" if excluded else view.unread.get(found.path, "catching_up"))
        elif _searchable(view, source, branches):
            result.indexed += 1
        if source is not None:
            reasons = set(flaws(source, standings, branches))
            if not view.reads(source):
                reasons.update(source.digests.get(branches, ["max_cold_cache_bytes"]))
            result.incomplete += bool(reasons)
            result.reasons |= reasons
            if not own:
                result.own_left_out += source.own_records
            for code, count in source.diagnostics.items():
                result.diagnostics[code] = result.diagnostics.get(code, 0) + count
    return result


def _searchable(view: View, source: Source, branches: Branches) -> bool:
    """Whether there is what a search of a source needs; the digest of a cold one can be too large to be kept."""
    return view.reads(source) or branches in source.digests


def flaws(source: Source, standings: Standings, branches: Branches) -> Sequence[str]:
    """The coverage reasons that a source gives: what of it cannot be found."""
    flaws = ["live_branch_ahead"] * (branches == "active" and standings.ahead(source))
    flaws += [code if code in REASONS else "damaged_source" for code in source.diagnostics if DIAGNOSTICS[code][0]]
    if source.oversized:
        flaws.append("oversized_text")
    if source.cyclic and standings[source.generation].cyclic:
        flaws.append("invalid_parent_graph")
    if source.cut:
        flaws.append("max_entry_chars")
    return [*flaws, *source.duplicates.get(branches, ())]
