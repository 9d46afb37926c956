"""What tests of the journal start from."""

from __future__ import annotations

from pathlib import Path

import pytest

from pepys.journal import engines, hooks, live, runtime, scope, store
from pepys.journal.indexer import Indexers
from tests.journal.project import Project


@pytest.fixture(autouse=True)
def process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every test is a process of its own: it knows no answers of store commands and no headings."""
    monkeypatch.setattr(scope, "_ANSWERS", {})
    monkeypatch.setattr(store, "_HEADED", {})


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


@pytest.fixture
def plain(monkeypatch: pytest.MonkeyPatch) -> None:
    """An index that only counts words."""
    monkeypatch.setitem(engines.ENGINES, "pepys", "tests.journal.plain")


@pytest.fixture(autouse=True)
def sessions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor does it know of live sessions, or has told anybody anything."""
    monkeypatch.setattr(live, "SESSIONS", {})
    monkeypatch.setattr(hooks, "_NOTIFIED", set())
    monkeypatch.setattr(runtime, "INDEXERS", Indexers())
