"""A machine for the command line: a home of its own with the sample sessions, and no real environment."""

from __future__ import annotations

import io
import json
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from pepys import samples
from pepys.cli import main


@dataclass(frozen=True)
class Run:
    """What one run of the command line gave."""

    status: int
    stdout: str
    stderr: str

    @property
    def json(self) -> Any:
        return json.loads(self.stdout)


Pepys = Callable[..., Run]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    home = tmp_path / "home"
    home.mkdir()
    for name in ("XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_DATA_HOME", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)
    for name in list(os.environ):
        if name.startswith(("PEPYS_", "PI_", "OMP_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(home))
    # Child processes find what this one runs, wherever they start.
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(path for path in sys.path if path))
    monkeypatch.chdir(tmp_path)
    return home


@pytest.fixture
def pepys(home: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Pepys:
    """Run the command line in this process; keyword `stdin` is what it reads."""

    def run(*arguments: str, stdin: str | bytes = b"") -> Run:
        data = stdin.encode() if isinstance(stdin, str) else stdin
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(data), encoding="utf-8"))
        capfd.readouterr()
        umask = os.umask(0o022)
        try:
            status = main(arguments)
        finally:
            os.umask(umask)
        return Run(status, *capfd.readouterr())

    return run


@pytest.fixture
def shop(home: Path) -> tuple[str, ...]:
    """The sample sessions, installed, and the options that look at their project."""
    samples.install(home)
    return ("--cwd", str(samples.PROJECT))
