"""What recall tests start from."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.recall.diary import Diary


@pytest.fixture
def diary(tmp_path: Path) -> Diary:
    return Diary(tmp_path)
