"""A stdout that takes nothing, as that of a full disk: what a command does is done, and the loss is said."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from pepys.cli import app

pytestmark = pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")

SAID = "pepys: The output could not be written: No space left on device.\nWhatever else the command does was done.\n"


def full(home: Path, *arguments: str, **env: str) -> subprocess.CompletedProcess[str]:
    """Run the command line in a process of its own."""
    with open("/dev/full", "w") as stdout:
        return subprocess.run(
            [sys.executable, "-m", "pepys", *arguments],
            stdout=stdout,
            stderr=subprocess.PIPE,
            text=True,
            cwd=home,
            env={**os.environ, **env},
        )


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_what_was_to_be_written_is_written(home: Path, unbuffered: str) -> None:
    done = full(home, "journal", "write", "full", PYTHONUNBUFFERED=unbuffered)

    assert (done.returncode, done.stderr) == (6, SAID)
    (day,) = (home / ".memsearch" / "memory").glob("*.md")
    assert "- full\n" in day.read_text()


@pytest.mark.parametrize(
    "arguments",
    [
        ("--version",),
        ("--help",),
        ("config", "list"),
        ("sessions", "--json"),
        ("completion", "bash"),
        ("call", "journal.status", "{}"),
        ("journal", "expand", "0000", "--json"),  # an error, which is output as well
    ],
)
def test_no_command_takes_it_for_a_defect(home: Path, arguments: tuple[str, ...]) -> None:
    done = full(home, *arguments, PYTHONUNBUFFERED="")

    assert (done.returncode, done.stderr) == (6, SAID)


def test_the_loss_has_a_code(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with open("/dev/full", "w") as stdout:
        monkeypatch.setattr("sys.stdout", stdout)
        assert app.run(["journal", "snapshot"]) == 6


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-"])
def test_a_stream_that_is_closed_is_no_defect(home: Path, closed: str) -> None:
    command = f'"{sys.executable}" -m pepys journal write kept {closed}'

    done = subprocess.run(["sh", "-c", command], cwd=home, capture_output=True, text=True)

    assert (done.returncode, done.stderr) == (0, "")
    (day,) = (home / ".memsearch" / "memory").glob("*.md")
    assert "- kept\n" in day.read_text()
