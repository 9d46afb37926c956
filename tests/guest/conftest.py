"""Programs of guests over a history that a test writes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from pepys.config import Guest
from pepys.guest import program as programs
from pepys.guest.program import Outcome
from tests.recall.diary import Diary, Json

Run = Callable[..., Json]


@pytest.fixture
def diary(tmp_path: Path) -> Diary:
    return Diary(tmp_path)


@pytest.fixture
def run(diary: Diary) -> Run:
    """Run a program and get what `guest.run` gives; `limits` are keys of the section `guest`."""

    def run(program: str, limits: Mapping[str, object] | None = None, **keywords: Any) -> Json:
        overrides = {"guest": dict(limits or {})}
        return diary.call("guest.run", {"program": program}, config_overrides=overrides, **keywords)

    return run


@pytest.fixture
def value(run: Run) -> Callable[..., Any]:
    """The value of a program."""
    return lambda program, **keywords: run(program, **keywords)["value"]


def alone(program: str, answer: Callable[[str, Mapping[str, object]], Any], **limits: Any) -> Outcome:
    """Run a program whose calls of `memory.*` a function of the test answers."""
    return programs.run(program, answer, {"memory": ["recall", "expand"]}, Guest(**limits))
