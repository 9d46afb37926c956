"""The hosts that are tested: how each is installed, told of the scripted model, started, and known to have settled."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from tests.hosts.real.installed import Package
from tests.hosts.real.model import NAME

PROVIDER = "scripted"
NODE, BUN = "24", "1.4.5"

Mode = Literal["print", "rpc", "tui"]


@dataclass(frozen=True)
class Host(ABC):
    """One version of a host."""

    agent: str  # as Pepys calls it
    version: str
    apart: bool = False  # stands on parts that were not made for it, so it is reported apart
    notes: str = "/memory"  # the command of notes

    @property
    def name(self) -> str:
        return f"{self.agent}-{self.version}"

    @property
    @abstractmethod
    def package(self) -> Package:
        """What is to be installed."""

    @abstractmethod
    def agent_dir(self, home: Path) -> Path:
        """Where it keeps what is the user's."""

    @abstractmethod
    def command(self, folder: Path, mode: Mode) -> Sequence[str]:
        """What starts it, installed in *folder*; the prompt of print mode comes last."""

    @abstractmethod
    def path(self, folder: Path) -> Sequence[Path]:
        """Folders that it needs on PATH."""

    @property
    @abstractmethod
    def env(self) -> Mapping[str, str]:
        """Environment that keeps it quiet and offline."""

    @abstractmethod
    def configuration(self, url: str, more: Mapping[str, Any]) -> Mapping[str, str]:
        """Files of its agent directory: the scripted model at *url*, and settings *more*. JSON is YAML, too."""

    @abstractmethod
    def settled(self, record: Mapping[str, Any]) -> bool:
        """Whether a record of its RPC mode says that nothing follows any more."""

    @abstractmethod
    def commanded(self, record: Mapping[str, Any]) -> bool:
        """Whether a record of its RPC mode says that a slash command was carried out."""

    @abstractmethod
    def editor(self, screen: str) -> str:
        """What stands where the person types."""


def _provider(url: str) -> dict[str, Any]:
    """The scripted model, and one that costs less."""
    model = {"reasoning": False, "input": ["text", "image"], "contextWindow": 128_000, "maxTokens": 8192}
    dear, cheap = ({"input": price, "output": 2 * price, "cacheRead": 0, "cacheWrite": 0} for price in (4, 1))
    models = [
        {"id": NAME, "name": NAME, "cost": dear, **model},
        {"id": f"{NAME}-mini", "name": "Mini", "cost": cheap, **model},
    ]
    made = {"name": "Scripted", "baseUrl": url, "api": "openai-completions", "apiKey": "not-a-key", "models": models}
    return {"providers": {PROVIDER: made}}


@dataclass(frozen=True)
class Pi(Host):
    """Pi, on the Node that comes with it."""

    npm: str = "@earendil-works/pi-coding-agent"
    cli: str = "dist/bundle/cli.js"
    end: str = "agent_settled"

    @property
    def package(self) -> Package:
        return Package(self.name, {"node": NODE, self.npm: self.version})

    def agent_dir(self, home: Path) -> Path:
        return home / ".pi" / "agent"

    def command(self, folder: Path, mode: Mode) -> Sequence[str]:
        modules = folder / "node_modules"
        options = {"print": ["-p"], "rpc": ["--mode", "rpc"], "tui": []}
        return [str(modules / "node" / "bin" / "node"), str(modules / self.npm / self.cli), *options[mode]]

    def path(self, folder: Path) -> Sequence[Path]:
        return ()

    @property
    def env(self) -> Mapping[str, str]:
        return {"PI_OFFLINE": "1", "PI_SKIP_VERSION_CHECK": "1", "PI_TELEMETRY": "0"}

    def configuration(self, url: str, more: Mapping[str, Any]) -> Mapping[str, str]:
        settings = {
            "defaultProvider": PROVIDER,
            "defaultModel": NAME,
            "quietStartup": True,
            "enableInstallTelemetry": False,
            "retry": {"enabled": False},
            **more,
        }
        return {"models.json": json.dumps(_provider(url)), "settings.json": json.dumps(settings)}

    def settled(self, record: Mapping[str, Any]) -> bool:
        return record.get("type") == self.end

    def commanded(self, record: Mapping[str, Any]) -> bool:
        return record.get("type") == "response"

    def editor(self, screen: str) -> str:
        lines = [line for line in screen.split("\n") if line.strip()]
        return "\n".join(lines[-4:])  # a rule, the folder and the model stand below


@dataclass(frozen=True)
class Omp(Host):
    """OMP, on the Bun that it is made for."""

    @property
    def package(self) -> Package:
        wanted = {"bun": BUN, "@oh-my-pi/pi-coding-agent": self.version}
        if not self.apart:
            return Package(self.name, wanted)
        # Its own parts were never published: the nearest ones, and stubs for what their native add-on lacks.
        native = "node_modules/@oh-my-pi/pi-natives"
        newer = (("18.2.10", "18.2.11"), ("V18_2_10", "V18_2_11"))
        files = (f"{native}/package.json", f"{native}/native/index.js")
        nearest = {f"@oh-my-pi/{name}": version for name, version in _NEAREST.items()}
        return Package(self.name, wanted, nearest, dict.fromkeys(files, newer), {files[1]: _STUBS})

    def agent_dir(self, home: Path) -> Path:
        return home / ".omp" / "agent"

    def command(self, folder: Path, mode: Mode) -> Sequence[str]:
        options = {"print": ["-p"], "rpc": ["--mode", "rpc"], "tui": []}
        return [str(folder / "node_modules" / ".bin" / "omp"), *options[mode]]

    def path(self, folder: Path) -> Sequence[Path]:
        return [folder / "node_modules" / ".bin"]  # its first line asks for bun

    @property
    def env(self) -> Mapping[str, str]:
        return {"OMP_SKIP_SETUP": "1", "PI_NO_TITLE": "1", "PI_NOTIFICATIONS": "off"}

    def configuration(self, url: str, more: Mapping[str, Any]) -> Mapping[str, str]:
        roles = ("default", "smol", "slow", "plan", "tiny", "task", "commit")
        settings = {
            "modelRoles": dict.fromkeys(roles, f"{PROVIDER}/{NAME}"),
            "retry": {"enabled": False},
            "startup": {"checkUpdate": False, "quiet": True},
            **({"spelling": {"autocomplete": "off"}} if self.apart else {}),  # one of the stubs
            **more,
        }
        return {"models.yml": json.dumps(_provider(url)), "config.yml": json.dumps(settings)}

    def settled(self, record: Mapping[str, Any]) -> bool:
        return record.get("type") == "agent_end" and record.get("isTerminal") is not False

    def commanded(self, record: Mapping[str, Any]) -> bool:
        return record.get("type") == "prompt_result"

    def editor(self, screen: str) -> str:
        return "\n".join(line for line in screen.split("\n") if line.startswith("╰─ "))


_NEAREST = {
    "omp-stats": "18.2.11",
    "omptype": "18.2.11",
    "pi-agent-core": "18.2.11",
    "pi-ai": "18.2.11",
    "pi-catalog": "18.2.11",
    "pi-mnemopi": "18.2.11",
    "pi-natives": "18.2.10",
    "pi-natives-linux-x64": "18.2.11",
    "pi-natives-linux-arm64": "18.2.11",
    "pi-tui": "18.2.9",
    "pi-utils": "18.2.9",
    "pi-wire": "18.2.11",
    "snapcompact": "18.2.11",
}

_STUBS = """
export const ShellFsFileType = nativeBindings.ShellFsFileType ?? {};
export const ShellFsMissing = nativeBindings.ShellFsMissing ?? {};
export const ShellFsOp = nativeBindings.ShellFsOp ?? {};
export const ShellFsResolve = nativeBindings.ShellFsResolve ?? {};
export const TextPredictor = nativeBindings.TextPredictor ?? class {};
export const appleFmAvailability = missingNativeExport("appleFmAvailability");
export const appleFmCancel = missingNativeExport("appleFmCancel");
export const appleFmGenerate = missingNativeExport("appleFmGenerate");
"""

HOSTS: Mapping[str, Host] = {
    host.name: host
    for host in (
        Pi("pi", "1.6.0"),
        Pi("pi", "0.73.1", npm="@mariozechner/pi-coding-agent", cli="dist/cli.js", end="agent_end"),
        Omp("omp", "18.2.3", notes="/notes"),  # which has a /memory of its own
        Omp("omp", "18.3.4", notes="/notes", apart=True),
    )
}
