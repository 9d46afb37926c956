"""The agents that Pepys can be set up in: one table, one row a target.

A host gets Pepys's extension, which knows the session; a client of MCP gets an entry that starts `pepys mcp`. Where
things are is each agent's own rule, decided from the environment that is given.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple, Protocol

from pepys import paths
from pepys.errors import InvalidArgument
from pepys.hosts import HOSTS
from pepys.hosts.base import Surroundings
from pepys.setup.pieces import Owner, OwnFile, Piece, Setting, Wanted

NAME = "pepys"
"""Of the MCP entry and of the extension's folder. Pepys knows its own output in sessions by this name."""

SKILL = "recall"


class Machine(NamedTuple):
    """What places and contents are decided from."""

    around: Surroundings
    platform: str  # as `sys.platform`
    command: tuple[str, ...]  # that starts Pepys
    shipped: Mapping[str, bytes]  # what comes with Pepys for agents, by path below `extensions/`
    version: str  # of Pepys

    @property
    def home(self) -> Path:
        """The user's home directory."""
        return paths.home(self.around.env)

    def named(self, variable: str, default: Path) -> Path:
        """The directory that an environment variable names, else *default*."""
        given = self.around.env.get(variable)
        return paths.expand(given, self.around.env, Path(self.around.cwd)) if given else default

    def configured(self, name: str) -> Path:
        """The directory *name* of the user's configuration directory."""
        return self.named("XDG_CONFIG_HOME", self.home / ".config") / name

    def programs(self, name: str) -> Iterator[Path]:
        """The places in which the shell would look for the program *name*."""
        suffixes = (".exe", ".cmd") if self.platform == "win32" else ("",)
        for directory in self.around.env.get("PATH", "").split(os.pathsep):
            # A relative one is whatever the working directory makes of it.
            if os.path.isabs(directory):
                yield from (Path(directory, name + suffix) for suffix in suffixes)

    def application(self, name: str) -> Path:
        """The directory in which a desktop application keeps its configuration."""
        match self.platform:
            case "darwin":
                return self.home / "Library" / "Application Support" / name
            case "win32":
                return self.named("APPDATA", self.home / "AppData" / "Roaming") / name
            case _:
                return self.configured(name)


class Target(Protocol):
    """An agent."""

    @property
    def title(self) -> str:
        """What people call it."""
        ...

    @property
    def extra(self) -> str:
        """The extra of Pepys that it needs; empty for none."""
        ...

    def traces(self, machine: Machine) -> tuple[Path, ...]:
        """What is there when the agent is used on the machine: any one of these."""
        ...

    def pieces(self, machine: Machine) -> tuple[Piece, ...]:
        """What it gets for all projects."""
        ...

    def project_pieces(self, machine: Machine) -> tuple[Piece, ...]:
        """What it gets for the project in the working directory alone; nothing if it cannot be had."""
        ...


class _Host(NamedTuple):
    """A host whose sessions Pepys reads, and which it extends."""

    name: str
    title: str
    keeps: tuple[str, ...]  # files in an agent directory that it writes, and no other host
    reads_others: bool = False  # whether it starts MCP servers that a project has for other agents
    extra: str = ""

    def traces(self, machine: Machine) -> tuple[Path, ...]:
        directory = self._agent_dir(machine)
        others = (host for name, host in HOSTS.items() if name != self.name)
        if directory not in {Path(host.agent_dir(machine.around)) for host in others}:
            return (directory,)
        # One variable, or option, names the directory of both: that it is there does not tell who uses it.
        alone = {name: value for name, value in machine.around.env.items() if name != "PI_CODING_AGENT_DIR"}
        default = HOSTS[self.name].agent_dir(machine.around._replace(agent_dir=None, env=alone))
        kept = (directory / name for name in self.keeps)
        return (*kept, Path(default), *machine.programs(self.name))

    def pieces(self, machine: Machine) -> tuple[Piece, ...]:
        folder = self._agent_dir(machine) / "extensions" / NAME
        files = {path: data for path, data in machine.shipped.items() if not path.startswith("skills/")}
        if f"{self.name}/index.ts" not in files:
            raise InvalidArgument(f"This installation of Pepys has no extension for {self.title}.")
        # One package serves both hosts: they may share an agent directory.
        files["package.json"] = _printed(
            {
                "name": NAME,
                "version": machine.version,
                "private": True,
                "type": "module",
                **{host: {"extensions": [f"./{host}/index.ts"]} for host in HOSTS},
            }
        )
        files["launch.json"] = _printed({"command": list(machine.command)})
        extension = (OwnFile(folder / path, data, folder) for path, data in sorted(files.items()))
        return (*extension, *_skill(self._agent_dir(machine) / "skills", machine), *self._only_extension(machine))

    def _only_extension(self, machine: Machine) -> Iterator[Setting]:
        """An entry that is switched off and goes before those of other agents: else all tools would be there twice."""
        if self.reads_others:
            value = {**_plain((*machine.command, "mcp")), "enabled": False}
            yield Setting(self._agent_dir(machine) / "mcp.json", "json", ("mcpServers", NAME), value)

    def project_pieces(self, machine: Machine) -> tuple[Piece, ...]:
        return ()

    def _agent_dir(self, machine: Machine) -> Path:
        return Path(HOSTS[self.name].agent_dir(machine.around))


class _Client(NamedTuple):
    """A client of MCP."""

    title: str
    directory: Callable[[Machine], Path]  # in which it keeps its configuration
    configs: tuple[str, ...]  # files in it: the first that is there, else the last
    keys: tuple[str, ...] = ("mcpServers",)
    format: str = "json"
    entry: Callable[[tuple[str, ...]], dict[str, object]] = lambda command: _plain(command)
    skills: Callable[[Machine], Path] | None = None
    project_configs: tuple[str, ...] = ()  # below the project; nothing where it has none
    project_skills: str = ""
    extra: str = "mcp"

    def traces(self, machine: Machine) -> tuple[Path, ...]:
        directory = self.directory(machine)
        # A home directory is always there.
        return tuple(directory / name for name in self.configs) + (() if directory == machine.home else (directory,))

    def pieces(self, machine: Machine) -> tuple[Piece, ...]:
        skills = _skill(self.skills(machine), machine) if self.skills else ()
        return (self._setting(self.directory(machine), self.configs, machine), *skills)

    def project_pieces(self, machine: Machine) -> tuple[Piece, ...]:
        project = Path(machine.around.cwd)
        if not self.project_configs:
            return ()
        skills = _skill(project / self.project_skills, machine) if self.project_skills else ()
        return (self._setting(project, self.project_configs, machine), *skills)

    def _setting(self, directory: Path, names: tuple[str, ...], machine: Machine) -> Setting:
        candidates = [directory / name for name in names]
        path = next((each for each in candidates if os.path.lexists(each)), candidates[-1])
        return Setting(path, self.format, (*self.keys, NAME), self.entry((*machine.command, "mcp")))


def _plain(command: tuple[str, ...]) -> dict[str, object]:
    return {"command": command[0], "args": list(command[1:])}


def _typed(command: tuple[str, ...]) -> dict[str, object]:
    return {"type": "stdio", **_plain(command)}


def _joined(command: tuple[str, ...]) -> dict[str, object]:
    return {"type": "local", "command": list(command), "enabled": True}


def _claude(machine: Machine) -> Path:
    return machine.named("CLAUDE_CONFIG_DIR", machine.home)


def _codex(machine: Machine) -> Path:
    return machine.named("CODEX_HOME", machine.home / ".codex")


def _cursor(machine: Machine) -> Path:
    return machine.home / ".cursor"


def _gemini(machine: Machine) -> Path:
    return machine.named("GEMINI_CLI_HOME", machine.home) / ".gemini"


def _opencode(machine: Machine) -> Path:
    return machine.configured("opencode")


def _windsurf(machine: Machine) -> Path:
    return machine.home / ".codeium" / "windsurf"


def _zed(machine: Machine) -> Path:
    return machine.application("Zed") if machine.platform == "win32" else machine.configured("zed")


TARGETS: Mapping[str, Target] = {
    "pi": _Host("pi", "Pi", ("settings.json", "auth.json", "trust.json")),
    "omp": _Host(
        "omp",
        "OMP",
        ("config.yml", "config.yaml", "models.yml", "models.yaml", "agent.db", "models.db"),
        reads_others=True,
    ),
    "claude-code": _Client(
        "Claude Code",
        _claude,
        (".claude.json",),
        entry=_typed,
        skills=lambda machine: machine.named("CLAUDE_CONFIG_DIR", machine.home / ".claude") / "skills",
        project_configs=(".mcp.json",),
        project_skills=".claude/skills",
    ),
    "codex": _Client(
        "Codex",
        _codex,
        ("config.toml",),
        keys=("mcp_servers",),
        format="toml",
        # ~/.agents/skills would do too, but other agents read that, and would see the skill twice.
        skills=lambda machine: _codex(machine) / "skills",
        project_configs=(".codex/config.toml",),  # which counts where Codex trusts the project
        project_skills=".codex/skills",
    ),
    "cursor": _Client(
        "Cursor",
        _cursor,
        ("mcp.json",),
        skills=lambda machine: _cursor(machine) / "skills",
        project_configs=(".cursor/mcp.json",),
        project_skills=".cursor/skills",
    ),
    "gemini-cli": _Client(
        "Gemini CLI",
        _gemini,
        ("settings.json",),
        format="jsonc",
        skills=lambda machine: _gemini(machine) / "skills",
        project_configs=(".gemini/settings.json",),
        project_skills=".gemini/skills",
    ),
    "opencode": _Client(
        "OpenCode",
        _opencode,
        ("opencode.jsonc", "opencode.json"),
        keys=("mcp",),
        format="jsonc",
        entry=_joined,
        skills=lambda machine: _opencode(machine) / "skills",
        project_configs=("opencode.jsonc", "opencode.json"),
        project_skills=".opencode/skills",
    ),
    "vscode": _Client(
        "Visual Studio Code",
        lambda machine: machine.application("Code") / "User",
        ("mcp.json",),
        keys=("servers",),
        format="jsonc",
        entry=_typed,
        skills=lambda machine: machine.home / ".copilot" / "skills",
        project_configs=(".vscode/mcp.json",),
        project_skills=".github/skills",
    ),
    "windsurf": _Client(
        "Windsurf", _windsurf, ("mcp_config.json",), skills=lambda machine: _windsurf(machine) / "skills"
    ),
    "zed": _Client(
        "Zed",
        _zed,
        ("settings.json",),
        keys=("context_servers",),
        format="jsonc",
        project_configs=(".zed/settings.json",),
    ),
}


def wanted(name: str, machine: Machine, *, project: bool = False) -> Wanted:
    """All that the target *name* gets.

    Args:
        project: For the project in the working directory alone.

    Raises:
        InvalidArgument: It has nothing for a project alone, or this installation nothing for it.
    """
    target = TARGETS[name]
    pieces = target.project_pieces(machine) if project else target.pieces(machine)
    if not pieces:
        raise InvalidArgument(f"{target.title} is set up for all projects; leave out --project.")
    owner = Owner(name, machine.around.cwd if project else "")
    return Wanted(owner, pieces, machine.command)


def _skill(directory: Path, machine: Machine) -> Iterator[OwnFile]:
    folder = directory / SKILL
    prefix = f"skills/{SKILL}/"
    for path, data in sorted(machine.shipped.items()):
        if path.startswith(prefix):
            yield OwnFile(folder / path.removeprefix(prefix), data, folder)


def _printed(value: object) -> bytes:
    return (json.dumps(value, indent=2, ensure_ascii=False) + "\n").encode("utf-8")
