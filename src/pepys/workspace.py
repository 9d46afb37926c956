"""The composition root: circumstances in, opened parts out. The only place that wires."""

from __future__ import annotations

import fnmatch
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar, cast, overload

from pepys import actions, config, paths
from pepys.actions.base import Parts
from pepys.errors import InvalidArgument, InvalidConfiguration, UnknownAction
from pepys.hosts import HOSTS
from pepys.hosts.base import Surroundings, surroundings
from pepys.index.history import History
from pepys.index.policy import Policy
from pepys.index.source import stem
from pepys.model.context import Context, Progress
from pepys.model.source import Found

CIRCUMSTANCES = frozenset(
    {
        "session_file",
        "current_session_id",
        "live",
        "invocation_entry_id",
        "tool_call_id",
        "by_hand",
        "shown",
        "complete",
        "notify",
        "now",
    }
)
"""Keywords of `open` that may differ from call to call over one open history: what is open does not depend on them."""

if TYPE_CHECKING:
    from datetime import datetime
    from types import TracebackType

    from pepys.config import Memory
    from pepys.journal.runtime import Runtime
    from pepys.model.journal import Completion
    from pepys.model.lineage import Live
    from pepys.notes.stores import Views


def open(  # noqa: A001  (the library's own verb: pepys.open)
    *,
    host: str = "all",
    cwd: Path | str | None = None,
    agent_dir: Path | str | None = None,
    session_dirs: Sequence[Path | str] = (),
    index_dir: Path | str | None = None,
    session_file: Path | str | None = None,
    current_session_id: str | None = None,
    live: Live | None = None,
    invocation_entry_id: str | None = None,
    tool_call_id: str | None = None,
    by_hand: bool = False,
    workspace_root: Path | str | None = None,
    shown: bool = False,
    trusted: bool | None = None,
    unasked: bool = False,
    env: Mapping[str, str] | None = None,
    config_overrides: Mapping[str, object] | None = None,
    patience_s: float | None = None,
    hurried: bool = False,
    progress: Callable[[Progress], None] | None = None,
    complete: Completion | None = None,
    notify: Callable[[str], None] | None = None,
    now: datetime | None = None,
    views: Views | None = None,
) -> Workspace:
    """Open somebody's history. Paths are taken from *cwd*, which defaults to the process's own.

    Args:
        host: A host's name, or "all".
        by_hand: Whether no tool makes the calls: what is in the current session's file is then older than they are.
        workspace_root: Absolute; whose events may be seen (spec 3).
        shown: Whether answers are shown to people: credentials in them are masked, unless `memory.redact` is off.
        unasked: Whether *trusted* is the word of a host that never asked: it does not let the project configure Pepys.
        patience_s: How long an answer may wait for indexing, seconds; None: until it is done.
        hurried: Whether it may wait for `index.budgetMs`, as a tool's or a hook's may.
        complete: A model for what the journal distils; None: there is none.
        notify: Tells the person what goes wrong between calls, such as a capture that cannot be written.
        now: Local time of the calls; None: the clock's.
        views: Notes as they were last read, where several workspaces share them.

    Raises:
        InvalidArgument: There is no such host, or a path can be none.
        InvalidConfiguration: Some configuration cannot be used, or the root of the workspace is not absolute.
    """
    if host != "all" and host not in HOSTS:
        raise InvalidArgument(f"Unknown host {host!r}.", hint=f"Known: {', '.join(sorted(HOSTS))}, all.")
    env = os.environ if env is None else env
    base = Path(os.path.abspath(_named(cwd, "cwd") or paths.working_directory()))  # noqa: PTH100  (links stay as named)

    def placed(path: Path | str | None, name: str) -> Path | None:
        text = _named(path, name)
        return None if text is None else Path(os.path.normpath(base / text))

    settings = config.load(env, base, config_overrides, None if trusted and unasked else trusted)
    if complete is None and settings.journal.model_api != "none":
        from pepys.journal import endpoint

        complete = endpoint.configured(settings.journal, env)
    context = Context(
        host=host,
        cwd=base,
        config=settings,
        env=env,
        agent_dir=placed(agent_dir, "agent_dir"),
        session_dirs=tuple(
            base / str(_named(path, "session_dirs")) for path in (*session_dirs, *settings.events.session_dirs)
        ),
        index_dir=placed(index_dir, "index_dir"),
        session_file=placed(session_file, "session_file"),
        current_session_id=current_session_id,
        live=live,
        invocation_entry_id=invocation_entry_id,
        tool_call_id=tool_call_id,
        by_hand=by_hand,
        workspace_root=_absolute(workspace_root, "workspace_root"),
        shown=shown,
        trusted=trusted,
        patience_s=settings.index.budget_ms / 1000 if hurried else patience_s,
        progress=progress,
        complete=complete,
        notify=notify,
        now=now,
    )
    return Workspace(_consistent(context), views=views)


def _consistent(context: Context) -> Context:
    live = context.live
    if live is not None and live.leaf is not None and live.leaf not in live.entries:
        raise InvalidArgument(
            f"The leaf {live.leaf!r} is not among the entries of the live branch.",
            hint="Give the ids of the branch from root to leaf.",
        )
    return context


def _named(path: Path | str | None, name: str) -> str | None:
    return None if path is None else paths.named(str(path), name)


def _absolute(path: Path | str | None, name: str) -> Path | None:
    """A path that draws a boundary: taken from some directory it could show more than was meant (ADR 18)."""
    text = _named(path, name)
    if text is not None and not os.path.isabs(text):
        raise InvalidConfiguration(f"{name} must be an absolute path, not {paths.shortened(text)!r}.")
    return None if text is None else Path(text)


class Workspace:
    """A history that is open for calls. Use it as a context manager, or `close` it."""

    def __init__(self, context: Context, whole: Workspace | None = None, views: Views | None = None) -> None:
        """*whole*: what this one shows in other circumstances; it shares what is open, and leaves closing to it."""
        self.context = context
        self._whole = whole
        self.history: History = _history(context) if whole is None else whole.history
        self._views: Views = whole._views if whole is not None else {} if views is None else views
        self.memory: Provider[dict[str, Any]] = Provider(self, "memory")
        self.notes: Provider[dict[str, Any]] = Provider(self, "notes")
        self.events: Provider[dict[str, Any]] = Provider(self, "events")
        self.journal: Provider[dict[str, Any]] = Provider(self, "journal")
        self.tools: Provider[Any] = Provider(self, "tools")
        self._runtime: Runtime | None = None

    def during(self, **circumstances: Any) -> Workspace:
        """The same open history for a call in other circumstances: keywords of `open` named in `CIRCUMSTANCES`.

        Raises:
            InvalidArgument: They contradict each other.
        """
        return Workspace(_consistent(self.context._replace(**circumstances)), self)

    @overload
    def call(  # type: ignore[overload-overlap]  # of all refs, these give a list
        self,
        ref: Literal["tools.providers", "tools.list", "tools.search"],
        args: Mapping[str, object] | None = None,
    ) -> list[dict[str, Any]]: ...

    @overload
    def call(self, ref: str | Mapping[str, Any], args: Mapping[str, object] | None = None) -> dict[str, Any]: ...

    def call(self, ref: str | Mapping[str, Any], args: Mapping[str, object] | None = None) -> Any:
        """Run an action by its ref and arguments, or by a call token such as a hit's `follow`.

        Raises:
            PepysError: See `pepys.errors`.
        """
        if isinstance(ref, str):
            parts = Parts(self.context, self.history, views=self._views, runtime=self.runtime)
            return actions.call(parts, ref, args or {})
        return self.call(str(ref["ref"]), ref.get("args"))

    def runtime(self) -> Runtime:
        """The journal's part, made when it is first asked for."""
        if self._whole is not None:
            return self._whole.runtime()
        if self._runtime is None:
            from pepys.journal.runtime import Runtime

            self._runtime = Runtime(self.context.config.journal, self.context.env)
        return self._runtime

    def close(self) -> None:
        """Close the indexes, unless they are another one's."""
        if self._whole is not None:
            return
        self.history.close()
        if self._runtime is not None:
            self._runtime.close()

    def __enter__(self) -> Workspace:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


Result = TypeVar("Result")


class Provider(Generic[Result]):
    """The actions of one provider as functions with keywords: `workspace.memory.recall(query="...")`."""

    def __init__(self, workspace: Workspace, name: str) -> None:
        self._workspace, self._name = workspace, name

    def __getattr__(self, action: str) -> Callable[..., Result]:
        ref = f"{self._name}.{action}"
        try:
            actions.find(ref)
        except UnknownAction as error:
            # What asks whether there is such an attribute expects this.
            raise AttributeError(f"{error.message} {error.hint}") from error

        def call(**args: object) -> Result:
            result: Any = self._workspace.call(ref, args)
            return cast(Result, result)

        return call


def _history(context: Context) -> History:
    around = surroundings(context)
    hosts = list(HOSTS) if context.host == "all" else [context.host]
    roots = [root for name in hosts for root in HOSTS[name].roots(around)]
    memory = context.config.memory
    return History(
        str(context.index_dir or memory.index_dir),
        roots,
        policy=_policy(memory),
        default_host=hosts[0],
        excluded=_exclusion(context, around),
        patience_s=context.patience_s,
        progress=context.progress,
    )


def _policy(memory: Memory) -> Policy:
    """Spec 1's tiers, cuts and budgets are those of a history with a number of hot sessions (ADR 8)."""
    auto = memory.hot_sessions == "auto"
    return Policy(
        memory.index_thinking,
        memory.index_tool_output,
        hot_sessions=None if memory.hot_sessions == "auto" else memory.hot_sessions,
        entry_chars=None if auto else memory.max_entry_chars,
        vocabulary_bytes=memory.max_cold_vocabulary_bytes,
        cache_bytes=memory.max_cold_cache_bytes,
        sync_sessions=memory.max_sync_sessions,
        sync_bytes=None if auto else memory.max_sync_source_bytes,
        cleanup_files=memory.max_cache_cleanup_files,
    )


def _exclusion(context: Context, around: Surroundings) -> Callable[[Found], bool]:
    """Whether a source is kept out of the index: by a path or glob of it, of a folder, of its project, or by its id."""
    patterns = context.config.index.exclude
    if not patterns:
        return lambda found: False
    folders = {
        (name, folder)
        for name, host in HOSTS.items()
        for pattern in patterns
        if os.path.isabs(pattern)
        for folder in host.folders(pattern, around)
    }

    def excluded(found: Found) -> bool:
        if found.folder is not None and (found.host, found.folder) in folders:
            return True
        name = stem(found.path)
        return any(
            found.path == pattern
            or found.path.startswith(pattern.rstrip("/") + "/")
            or fnmatch.fnmatchcase(found.path, pattern)
            or name == pattern
            or name.endswith("_" + pattern)
            for pattern in patterns
        )

    return excluded
