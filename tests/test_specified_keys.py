"""The specification's table of keys, taken as it is printed (spec 1, "Configuration")."""

from __future__ import annotations

from pathlib import Path

import pytest

import pepys
from pepys.config import KEYS

SPECIFIED: dict[str, object] = {
    "enabled": True,
    "indexDir": "~/.pi/agent/fabric/memory-index",
    "maxSessions": 500,
    "maxEntryChars": 2000,
    "indexThinking": False,
    "indexToolOutput": True,
    "hotSessions": 50,
    "maxColdVocabularyBytes": 524288,
    "maxColdCacheBytes": 1048576,
    "maxSyncSessions": 10000,
    "maxSyncSourceBytes": 536870912,
    "maxCacheCleanupFiles": 100000,
    "regexMaxPatternBytes": 1024,
    "regexMaxHaystackTerms": 20000,
    "regexMaxHaystackBytes": 2097152,
    "regexTimeoutMs": 250,
}
OURS = {"indexDir", "hotSessions"}
"""Keys whose defaults are Pepys's own."""

CHANGED: dict[str, object] = {
    "enabled": False,
    "indexDir": "/elsewhere",
    "indexThinking": True,
    "indexToolOutput": False,
    **{name: value // 2 for name, value in SPECIFIED.items() if isinstance(value, int) and value > 1},
}


def taken(home: Path, given: dict[str, object]) -> dict[str, object]:
    """The values of the specified keys in a workspace with *given* in its context."""
    with pepys.open(env={"HOME": str(home)}, cwd=home, config_overrides={"memory": given}) as workspace:
        config = workspace.context.config
        return {name: config.get(KEYS[f"memory.{name}"]) for name in SPECIFIED}


@pytest.mark.requirement("config.keys")
def test_every_specified_key_has_its_default(tmp_path: Path) -> None:
    values = taken(tmp_path, {})

    assert {name: value for name, value in values.items() if name not in OURS} == {
        name: value for name, value in SPECIFIED.items() if name not in OURS
    }
    assert values["hotSessions"] == "auto"


@pytest.mark.requirement("config.settable", "config.index_dir")
def test_the_specifications_block_is_taken_as_it_stands(tmp_path: Path) -> None:
    values = taken(tmp_path, SPECIFIED)

    assert values == {**SPECIFIED, "indexDir": tmp_path / ".pi/agent/fabric/memory-index"}


@pytest.mark.requirement("config.settable")
@pytest.mark.parametrize("name", SPECIFIED)
def test_each_key_can_be_set_by_itself(tmp_path: Path, name: str) -> None:
    value = taken(tmp_path, {name: CHANGED[name]})[name]

    assert value == (Path("/elsewhere") if name == "indexDir" else CHANGED[name])
