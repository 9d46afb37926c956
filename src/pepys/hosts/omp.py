"""The OMP host: `~/.omp/agent/sessions/<folder>/<time>_<id>.jsonl`, sub-agents below, an archive beside.

A file may begin with a title slot that OMP overwrites in place. Tools of extensions and MCP servers are called through
`write`, as devices named `xd://<tool>`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pepys.hosts import locations, shapes
from pepys.hosts.base import Surroundings
from pepys.model.entry import Block, Entry, Record
from pepys.model.source import Diagnostic, Header, Root, Title

name = "omp"

_PROFILE = re.compile(r"[a-z0-9](?:[a-z0-9._-]{0,62}[a-z0-9_-])?")
_DEVICE = "xd://"

# Methods of compaction whose summary is the same words each time; the history itself stays in the file.
_WITHOUT_SUMMARY = ("snapcompact",)
_REMOTE = "openaiRemoteCompaction"


def agent_dir(around: Surroundings) -> str:
    """The explicit one, else the profile's, else `PI_CODING_AGENT_DIR`, else `~/.omp/agent`."""
    return locations.absolute(around.agent_dir, around) if around.agent_dir else _own_agent_dir(around)


def roots(around: Surroundings) -> tuple[Root, ...]:
    """The session folder, the archive, and every folder outside that OMP remembers or is told of."""
    agent = agent_dir(around)
    found = [
        Root(name, os.path.join(agent, "sessions"), "folders", agent),
        Root(name, os.path.join(agent, "archive", "sessions"), "archive", agent),
    ]
    remembered = [os.path.join(agent, "custom-session-files")]
    # Another agent directory than the environment's own is a world apart from what the environment names.
    if agent == _own_agent_dir(around):
        if data := _xdg("XDG_DATA_HOME", around):
            found.append(Root(name, os.path.join(data, "sessions"), "folders", agent))
        if state := _xdg("XDG_STATE_HOME", around):
            remembered.append(os.path.join(state, "custom-session-files"))
        if path := around.env.get("PI_CODING_AGENT_SESSION_DIR"):
            found.append(Root(name, locations.absolute(path, around), "flat", agent))
    for directory in remembered:
        found += (Root(name, path, "flat", agent) for path in _outside(directory))
    found += (Root(name, locations.absolute(path, around), "mixed", None) for path in around.session_dirs)
    return locations.distinct(found)


def folders(cwd: str, around: Surroundings) -> tuple[str, ...]:
    """The folder of *cwd* by today's rule, and by those of older versions."""
    real = os.path.realpath(cwd)
    home, tmp = os.path.realpath(around.env.get("HOME") or "/"), os.path.realpath(around.tmp)
    whole = f"--{_dashed(real.lstrip(os.sep))}--"
    if (below := _below(real, home)) is not None:
        today, kind = f"-{_dashed(below)}", "home"
    elif (below := _below(real, tmp)) is not None:
        today, kind = f"-tmp-{_dashed(below)}" if below else "-tmp", "tmp"
    else:
        today, kind = whole, "abs"
    return tuple(dict.fromkeys((today, whole, _hashed(kind, real))))


def takes(name: str) -> bool:
    """Names that end in `.jsonl`, but for transcripts of advisors, which repeat what they watch."""
    return name.endswith(".jsonl") and not name.startswith("__advisor")


def nested() -> bool:
    """A directory beside a session file holds the sessions of its sub-agents, and so on below."""
    return True


def wrote(head: bytes) -> bool:
    """By the title slot."""
    return head.startswith(b'{"type":"title"')


def decode(record: Record) -> Header | Title | Entry | Diagnostic | None:
    """One record in our words."""
    value = record.value
    found = shapes.shared(record)
    if found is not None:
        return _corrected(found, value)
    match value.get("type"):
        case "session":
            return shapes.header(record)
        case "title":
            return Title(shapes.string(value.get("title")))
        case "title_change":
            return shapes.entry(record, title=shapes.string(value.get("title")) or "")
        case (
            "service_tier_change"
            | "session_init"
            | "mode_change"
            | "reset_boundary"
            | "ttsr_injection"
            | "credential_pin"
            | "model_usage"
        ):
            return shapes.entry(record)
        case "message":
            return _message(record, value["message"])
        case _:
            return shapes.unknown(record)


def _message(record: Record, body: dict[str, Any]) -> Entry:
    match role := shapes.string(body.get("role")):
        case "developer":
            return shapes.entry(record, role=role, **shapes.understood(shapes.texts(body.get("content"))))
        case "pythonExecution":
            return shapes.execution(record, body, "code", "python")
        case "fileMention":
            return shapes.entry(record, role=role, **shapes.understood(_mentions(body.get("files"))))
        case _:
            return shapes.entry(record, role=role, notice="unknown_shape")


def _mentions(files: object) -> Iterator[Block | None]:
    for file in files if isinstance(files, list) else [None]:
        path, content = shapes.mapping(file).get("path"), shapes.mapping(file).get("content")
        yield Block("text", f"@{path}") if isinstance(path, str) else None
        if isinstance(content, str):
            yield Block("output", content)


def _corrected(entry: Entry, value: dict[str, Any]) -> Entry:
    """*entry* with the tools behind devices, and without summaries that summarise nothing."""
    if entry.role == "assistant":
        if any(block.kind == "call" and block.name == "write" for block in entry.blocks):
            return entry._replace(blocks=tuple(map(_device_call, entry.blocks)))
    elif entry.role == "toolResult":
        tool = shapes.string(shapes.mapping(shapes.mapping(entry.details).get("xdev")).get("tool"))
        if entry.tool == "write" and tool is not None:
            return entry._replace(tool=tool)
    elif entry.type == "compaction" and (
        value.get("method") in _WITHOUT_SUMMARY
        or "snapcompact" in shapes.mapping(value.get("preserveData"))
        or _REMOTE in shapes.mapping(value.get("preserveData"))
    ):
        return entry._replace(blocks=())
    return entry


def _device_call(block: Block) -> Block:
    arguments = shapes.mapping(block.arguments)
    path, content = arguments.get("path"), arguments.get("content")
    if block.name != "write" or not isinstance(path, str) or not path.startswith(_DEVICE) or path == _DEVICE:
        return block
    return block._replace(name=path.removeprefix(_DEVICE), arguments=_json(content))


def _json(content: object) -> object:
    import json

    try:
        return json.loads(content) if isinstance(content, str) else content
    except (ValueError, RecursionError):
        return content


def _own_agent_dir(around: Surroundings) -> str:
    home = _home(around)
    if profile := _profile(around):
        return os.path.join(home, "profiles", profile, "agent")
    configured = around.env.get("PI_CODING_AGENT_DIR")
    return locations.absolute(configured, around) if configured else os.path.join(home, "agent")


def _home(around: Surroundings) -> str:
    return locations.absolute(os.path.join("~", around.env.get("PI_CONFIG_DIR") or ".omp"), around)


def _profile(around: Surroundings) -> str | None:
    """The named profile; an empty `OMP_PROFILE` selects the default one whatever `PI_PROFILE` says."""
    chosen = around.env.get("OMP_PROFILE", around.env.get("PI_PROFILE", ""))
    return chosen if _PROFILE.fullmatch(chosen) and chosen != "default" else None


def _xdg(variable: str, around: Surroundings) -> str | None:
    """OMP's existing directory below an XDG one; only the default agent directory and profiles have it."""
    base, profile = around.env.get(variable), _profile(around)
    if not base or (profile is None and around.env.get("PI_CODING_AGENT_DIR")):
        return None
    path = os.path.join(base, "omp", "profiles", profile) if profile else os.path.join(base, "omp")
    return path if Path(path).is_dir() else None


def _outside(directory: str) -> Iterator[str]:
    """The folders of session files outside of the agent directory, as OMP remembers them one a file."""
    try:
        with os.scandir(directory) as entries:
            notes = sorted(entry.path for entry in entries if entry.is_file(follow_symlinks=False))
    except OSError:
        return
    for note in notes:
        try:
            with open(note, encoding="utf-8") as file:
                path = file.read(4096).strip()
        except (OSError, ValueError):
            continue
        if path.startswith(os.sep):
            yield os.path.dirname(os.path.normpath(path))


def _below(path: str, directory: str) -> str | None:
    if path == directory:
        return ""
    prefix = directory.rstrip(os.sep) + os.sep
    return path.removeprefix(prefix) if path.startswith(prefix) else None


def _dashed(path: str) -> str:
    return re.sub(r"[/\\:]", "-", path)


def _hashed(kind: str, cwd: str) -> str:
    import hashlib

    return f"{kind}-{os.path.basename(cwd)}-{hashlib.sha256(cwd.encode('utf-8', 'surrogateescape')).hexdigest()}"
