"""What callers outside of Python send: a call, and the context it is made in."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple

from pepys import paths
from pepys.actions import schema
from pepys.errors import InvalidArgument
from pepys.model.query import about


class Call(NamedTuple):
    """An action and its arguments: what `follow` and `next` hold."""

    ref: str
    args: Mapping[str, object]


def read_call(value: object) -> Call:
    """The call that *value* is or carries: a token, a hit with its `follow`, or a page with its `next`.

    Raises:
        InvalidArgument: It carries none.
    """
    if isinstance(value, Mapping):
        for carrier in (value.get("follow"), value.get("next"), value):
            if isinstance(carrier, Mapping) and isinstance(carrier.get("ref"), str):
                args = carrier.get("args", {})
                if isinstance(args, Mapping):
                    return Call(carrier["ref"], args)
        if "next" in value and value["next"] is None:
            raise InvalidArgument("This page is the last one: its next is null.")
    raise InvalidArgument('Expected a call: {"ref": "...", "args": {...}}, a hit with "follow" or a page with "next".')


@dataclass(frozen=True, slots=True)
class LiveBranch:
    """The branch that the host shows right now."""

    leaf_id: str | None = field(default=None, metadata=about("Id of the leaf; null before the first entry."))
    entry_ids: tuple[str, ...] = field(default=(), metadata=about("Entry ids of the branch, root to leaf."))


@dataclass(frozen=True, slots=True)
class CallContext:
    """The circumstances of a call, as a host states them.

    Paths may be relative to `cwd`, or begin with `~`; the root of the workspace may not.
    """

    host: Literal["all", "pi", "omp"] | None = field(default=None, metadata=about("Whose sessions; default: all."))
    agent_dir: str | None = field(default=None, metadata=about("The host's agent directory.", minLength=1))
    session_dirs: tuple[str, ...] = field(default=(), metadata=about("More folders of session files."))
    index_dir: str | None = field(default=None, metadata=about("Directory of the index.", minLength=1))
    cwd: str | None = field(default=None, metadata=about("The project; default: this process's.", minLength=1))
    session_file: str | None = field(default=None, metadata=about("File of the current session.", minLength=1))
    current_session_id: str | None = field(default=None, metadata=about("Id of the current session.", minLength=1))
    live: LiveBranch | None = field(default=None, metadata=about("The live branch of the current session."))
    invocation_entry_id: str | None = field(default=None, metadata=about("The entry that makes this call."))
    tool_call_id: str | None = field(default=None, metadata=about("The tool call that makes this call."))
    workspace_root: str | None = field(default=None, metadata=about("Root of the workspace, absolute."))
    shown: bool = field(default=False, metadata=about("Whether people are shown the answer: see memory.redact."))
    trusted: bool | None = field(default=None, metadata=about("Whether the host trusts the project."))
    unasked: bool = field(
        default=False,
        metadata=about("Whether it does so unasked: that counts for notes, not for configuration."),
    )
    config: Mapping[str, Any] | None = field(default=None, metadata=about("Configuration, nested by section."))


def read_context(value: object, cwd: Path, env: Mapping[str, str]) -> dict[str, Any]:
    """The keywords for `workspace.open` that the context *value* of a call states, and no others.

    Args:
        cwd: Of this process; relative paths of the context are taken from the context's own cwd, else from here.
        env: For the home directory that a leading `~` stands for.

    Raises:
        InvalidArgument: An unknown key, a value of the wrong type, or a path that can be none.
    """
    if not isinstance(value, Mapping):
        raise InvalidArgument("Invalid arguments for context: it must be an object")
    given = schema.parse(CallContext, value, "context")
    base = paths.expand(paths.named(given.cwd, "cwd"), env, cwd) if given.cwd else cwd

    def path(text: str | None, name: str) -> Path | None:
        return None if text is None else paths.expand(paths.named(text, name), env, base)

    live = None
    if given.live is not None:
        from pepys.model.lineage import Live

        live = Live(given.live.leaf_id, given.live.entry_ids)
    keywords = {
        "host": given.host,
        "cwd": base if given.cwd else None,
        "agent_dir": path(given.agent_dir, "agentDir"),
        "session_dirs": tuple(path(text, "sessionDirs") for text in given.session_dirs) or None,
        "index_dir": path(given.index_dir, "indexDir"),
        "session_file": path(given.session_file, "sessionFile"),
        "current_session_id": given.current_session_id,
        "live": live,
        "invocation_entry_id": given.invocation_entry_id,
        "tool_call_id": given.tool_call_id,
        # As it is written: a relative one is refused, and not taken from anywhere.
        "workspace_root": None if given.workspace_root is None else paths.named(given.workspace_root, "workspaceRoot"),
        "shown": given.shown or None,
        "trusted": given.trusted,
        "unasked": given.unasked or None,
        "config_overrides": given.config,
    }
    return {name: stated for name, stated in keywords.items() if stated is not None}
