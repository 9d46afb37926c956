"""Counts in words."""

from __future__ import annotations

import pytest

from pepys.spelling import counted


@pytest.mark.parametrize(
    ("count", "words", "said"),
    [
        (0, ("note",), "0 notes"),
        (1, ("note",), "1 note"),
        (2, ("note",), "2 notes"),
        (1, ("entry", "entries"), "1 entry"),
        (3, ("entry", "entries"), "3 entries"),
        (1, ("session was", "sessions were"), "1 session was"),
        (0, ("session was", "sessions were"), "0 sessions were"),
    ],
)
def test_one_is_called_otherwise_than_many(count: int, words: tuple[str, ...], said: str) -> None:
    assert counted(count, *words) == said
