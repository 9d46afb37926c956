"""The programs of the how-to page run as they are printed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import pepys
from pepys import samples
from pepys.config import KEYS
from pepys.guest.bridge import RESULT_CODES

PAGE = (Path(__file__).parents[2] / "docs" / "how-to" / "guest-programs.md").read_text("utf-8")
PROGRAMS = re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL)


@pytest.mark.parametrize("program", PROGRAMS, ids=range(len(PROGRAMS)))
def test_every_program_of_the_page_runs(tmp_path: Path, program: str) -> None:
    samples.install(tmp_path)
    with pepys.open(cwd=samples.PROJECT, env={"HOME": str(tmp_path)}) as workspace:
        found = workspace.call("guest.run", {"program": program})

    assert found["value"]
    assert found["calls"] > 1


@pytest.mark.parametrize("program", PROGRAMS, ids=range(len(PROGRAMS)))
def test_every_program_of_the_page_runs_where_there_are_no_sessions(tmp_path: Path, program: str) -> None:
    with pepys.open(cwd=tmp_path, env={"HOME": str(tmp_path)}) as workspace:
        workspace.call("guest.run", {"program": program})


def test_the_page_names_every_key_and_every_code() -> None:
    named = set(re.findall(r"`([\w.]+)`", PAGE))

    assert named >= {name for name in KEYS if name.startswith("guest.")}
    assert named >= RESULT_CODES
