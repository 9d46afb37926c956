"""A machine with every agent on it, in a home of its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from pepys.setup.targets import TARGETS
from tests.cli.conftest import Pepys, Run
from tests.cli.conftest import home as home
from tests.cli.conftest import pepys as pepys

__all__ = ["CONFIGURATIONS", "Pepys", "Run", "home", "pepys", "tree"]

CONFIGURATIONS = {
    # target: its file below the home directory, as it was before
    "claude-code": (
        ".claude.json",
        b'{\n  "numStartups": 3,\n  "mcpServers": {\n    "other": {"command": "x"}\n  }\n}',
    ),
    "codex": (".codex/config.toml", b'model = "x" # mine\r\n[mcp_servers.other]\r\ncommand = "y"'),
    "cursor": (".cursor/mcp.json", b'\xef\xbb\xbf{"mcpServers":{}}'),
    "gemini-cli": (".gemini/settings.json", b'{\n\t// theme\n\t"theme": "x",\n}\n'),
    "opencode": (".config/opencode/opencode.jsonc", b'{ "mcp": { /* none */ } }'),
    "vscode": (".config/Code/User/mcp.json", b""),
    "windsurf": (".codeium/windsurf/mcp_config.json", b'{"mcpServers": {"a": {}}, "z": [1, 2]}\n'),
    "zed": (".config/zed/settings.json", b'// Zed\n{\n  "ui": {\n    "size": 16\n  }\n}\n'),
}


@pytest.fixture(autouse=True)
def _no_places_of_others(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("CODEX_HOME", "CLAUDE_CONFIG_DIR", "GEMINI_CLI_HOME", "APPDATA"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def agents(home: Path) -> Path:
    """The home directory, with a configuration file of every client and the agent directory of every host."""
    for path, data in CONFIGURATIONS.values():
        (home / path).parent.mkdir(parents=True, exist_ok=True)
        (home / path).write_bytes(data)
    for host in ("pi", "omp"):
        (home / f".{host}" / "agent").mkdir(parents=True)
    return home


@pytest.fixture(params=sorted(TARGETS))
def target(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def tree(home: Path) -> dict[str, bytes | str | None]:
    """All that is below *home*, but for what Pepys keeps for itself: files' bytes, None for folders, links' targets."""
    found: dict[str, bytes | str | None] = {}
    for path in sorted(home.rglob("*")):
        name = path.relative_to(home).as_posix()
        if name.startswith((".local", ".cache")):
            continue
        found[name] = str(path.readlink()) if path.is_symlink() else path.read_bytes() if path.is_file() else None
    return found
