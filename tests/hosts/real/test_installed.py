"""Hosts are installed once, whole or not at all."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.hosts.real import installed as installing
from tests.hosts.real.installed import NotInstalled, Package, installed

PACKAGE = Package("some-1.0", {"some": "1.0"}, patches={"node_modules/a.txt": (("old", "new"),)})


@pytest.fixture
def npm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program in the place of npm, and beside it a line for each time that it ran."""
    program = tmp_path / "bin" / "npm"
    program.parent.mkdir()
    program.write_text(
        f'#!/bin/sh\necho run >> "{tmp_path}/runs"\nsleep 0.3\nmkdir node_modules && echo old > node_modules/a.txt\n'
    )
    program.chmod(0o700)
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}/usr/bin{os.pathsep}/bin")
    monkeypatch.setattr(installing, "FOLDER", tmp_path / "cache")
    return program


def test_two_that_install_at_once_install_once(npm: Path, tmp_path: Path) -> None:
    with ThreadPoolExecutor(2) as both:
        first, second = both.map(installed, [PACKAGE, PACKAGE])

    assert first == second == tmp_path / "cache" / "some-1.0"
    assert (first / "node_modules" / "a.txt").read_text() == "new\n"
    assert (tmp_path / "runs").read_text() == "run\n"


def test_what_could_not_be_installed_is_not_there(npm: Path, tmp_path: Path) -> None:
    whole = npm.read_text()
    npm.write_text(whole + 'echo "no such package" >&2\nexit 1\n')
    with pytest.raises(NotInstalled, match="no such package"):
        installed(PACKAGE)
    there = (tmp_path / "cache" / "some-1.0").exists()

    npm.write_text(whole)

    assert not there
    assert (installed(PACKAGE) / "node_modules" / "a.txt").exists()


def test_without_npm_it_says_so(npm: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")

    with pytest.raises(NotInstalled, match="npm is not on PATH"):
        installed(PACKAGE)
