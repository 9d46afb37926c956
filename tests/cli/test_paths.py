"""Paths of the command line that lead nowhere."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.cli.conftest import Pepys
from tests.cli.test_unusable import circle


@pytest.mark.parametrize("option", ["--cwd", "--agent-dir", "--sessions", "--index-dir", "--session-file"])
@pytest.mark.parametrize("path", ["x" * 300, "/a" * 5000], ids=["long name", "deep"])
def test_a_path_that_no_file_can_have_names_its_option(pepys: Pepys, option: str, path: str) -> None:
    found = pepys("sessions", option, path)

    assert (found.status, found.stdout) == (2, "")
    assert found.stderr.startswith(f"pepys: {option} is no path: ")
    assert len(found.stderr) < 250


@pytest.mark.parametrize(
    "arguments",
    [["trust"], ["trust", "--revoke"], ["sessions", "--sessions"], ["sessions", "--agent-dir"], ["run"]],
    ids=" ".join,
)
def test_a_link_in_a_circle_is_an_error_of_the_request(pepys: Pepys, tmp_path: Path, arguments: list[str]) -> None:
    found = pepys(*arguments, str(circle(tmp_path)))

    assert (found.status, found.stdout) == (2, "")
    assert "Traceback" not in found.stderr


@pytest.mark.parametrize("cwd", ["there", "~nobody-has-this-name/x", "not/there"])
def test_a_project_that_is_not_there_has_no_sessions(pepys: Pepys, tmp_path: Path, cwd: str) -> None:
    circle(tmp_path)

    found = pepys("sessions", "--cwd", cwd)

    assert (found.status, found.stdout) == (0, "")
    assert found.stderr.startswith("No sessions.")


def test_a_working_directory_that_is_gone_is_said_to_be(pepys: Pepys, tmp_path: Path) -> None:
    (tmp_path / "gone").mkdir()
    os.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()

    found = pepys("sessions")

    assert (found.status, found.stdout) == (2, "")
    assert found.stderr.startswith("pepys: The working directory is gone.\n")
