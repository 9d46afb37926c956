"""Whatever a configuration file holds: setting up and taking back leaves it as it was, and twice is once."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from pepys.setup import formats
from pepys.setup.ledger import Kept, Ledger
from pepys.setup.pieces import Owner, OwnFile, Setting, Wanted
from pepys.setup.plan import Plan, Seen, install, removal
from tests.setup.layouts import JsonLayout, tables, toml

OWNER = Owner("some-agent")
CONFIG, FOLDER = Path("/home/config"), Path("/home/skill")
FILE = FOLDER / "SKILL.md"
TABLES = {"json": "mcpServers", "jsonc": "mcpServers", "toml": "mcp_servers"}
EXTRA = {"command": "x", "env": {}}


class Disk(NamedTuple):
    """Files and what is known of them, in memory."""

    files: dict[Path, bytes]
    kept: dict[Path, Kept]
    originals: dict[str, bytes]

    def put(self, plan: Plan) -> None:
        assert plan.conflicts == ()
        for change in plan.changes:
            assert self.files.get(change.path) == change.before
            self.files.pop(change.path, None)
            self.kept.pop(change.path, None)
            if change.after is not None:
                self.files[change.path] = change.after
            if change.kept is not None:
                self.kept[change.path] = change.kept
                if change.original is not None and change.kept.before is not None:
                    self.originals[change.kept.before] = change.original

    def set_up(self, name: str, version: str = "1", *, force: bool = False) -> Plan:
        seen = {path: Seen(data) for path, data in self.files.items()}
        goal = Wanted(OWNER, pieces(name, version), ("python", version))
        return install(goal, seen, Ledger(self.kept), self.originals, version=version, force=force)

    def take_back(self) -> Plan:
        seen = {path: Seen(data) for path, data in self.files.items()}
        return removal(OWNER, seen, Ledger(self.kept), self.originals)


def pieces(name: str, version: str) -> tuple[Setting | OwnFile, ...]:
    keys = (TABLES[name], "pepys")
    return (
        Setting(CONFIG, name, keys, {"command": "python", "args": [version]}),
        OwnFile(FILE, version.encode(), FOLDER),
    )


def values(name: str, data: bytes) -> object:
    return formats.FORMATS[name].read(data.decode("utf-8").removeprefix("\ufeff"))


def without_empty(value: object) -> object:
    if not isinstance(value, dict):
        return value
    return {key: inner for key, item in value.items() if (inner := without_empty(item)) != {}}


@st.composite
def configurations(draw: Callable[..., object]) -> tuple[str, bytes]:
    """A format, and a file in it without an entry of ours."""
    name = str(draw(st.sampled_from(sorted(TABLES))))
    seed = int(str(draw(st.integers(0, 2**32))))
    if name == "toml":
        return name, toml(seed)
    value = draw(tables("mcpServers"))
    assert isinstance(value, dict)
    assume("pepys" not in value.get("mcpServers", {}))
    return name, JsonLayout(seed, comments=name == "jsonc").file(value)


@given(configurations())
def test_taking_back_gives_the_same_bytes(given_: tuple[str, bytes]) -> None:
    name, before = given_
    disk = Disk({CONFIG: before}, {}, {})

    disk.put(disk.set_up(name))
    during = dict(disk.files)
    disk.put(disk.take_back())

    assert during.keys() == {CONFIG, FILE}
    assert disk.files == {CONFIG: before}
    assert disk.kept == {}


@given(configurations())
def test_twice_is_once(given_: tuple[str, bytes]) -> None:
    name, before = given_
    disk = Disk({CONFIG: before}, {}, {})
    disk.put(disk.set_up(name))

    assert disk.set_up(name).changes == ()
    disk.put(disk.take_back())
    assert disk.take_back().changes == ()


@given(configurations())
def test_everything_else_keeps_its_value(given_: tuple[str, bytes]) -> None:
    name, before = given_
    disk = Disk({CONFIG: before}, {}, {})

    disk.put(disk.set_up(name))

    read = values(name, disk.files[CONFIG])
    assert isinstance(read, dict)
    assert read[TABLES[name]].pop("pepys") == {"command": "python", "args": ["1"]}
    assert without_empty(read) == without_empty(values(name, before))


@given(configurations())
def test_a_newer_version_replaces_its_own_and_is_taken_back_alike(given_: tuple[str, bytes]) -> None:
    name, before = given_
    disk = Disk({CONFIG: before}, {}, {})

    disk.put(disk.set_up(name, "1"))
    disk.put(disk.set_up(name, "2"))
    once = dict(disk.files)
    disk.put(disk.take_back())
    left = dict(disk.files)
    disk.put(disk.set_up(name, "2"))

    assert left == {CONFIG: before}
    assert disk.files == once


@given(configurations(), st.booleans())
def test_what_others_write_in_the_meantime_stays(given_: tuple[str, bytes], renewed: bool) -> None:
    name, before = given_
    keys = (TABLES[name], "another")
    assume(formats.setting(name, before, keys) is None)
    disk = Disk({CONFIG: before}, {}, {})

    disk.put(disk.set_up(name))
    disk.files[CONFIG] = formats.with_setting(name, disk.files[CONFIG], keys, EXTRA)
    if renewed:
        disk.put(disk.set_up(name, "2"))
    disk.put(disk.take_back())

    alone = formats.with_setting(name, before, keys, EXTRA)
    assert values(name, disk.files[CONFIG]) == values(name, alone)
    assert b"".join(disk.files[CONFIG].split()) == b"".join(alone.split())


@given(configurations())
def test_by_force_theirs_gives_way_and_comes_back(given_: tuple[str, bytes]) -> None:
    name, before = given_
    theirs = formats.with_setting(name, before, (TABLES[name], "pepys"), EXTRA)
    disk = Disk({CONFIG: theirs, FOLDER / "notes": b"theirs"}, {}, {})

    refused = disk.set_up(name)
    disk.put(disk.set_up(name, force=True))
    during = dict(disk.files)
    disk.put(disk.set_up(name, "2"))
    renewed = dict(disk.files)
    disk.put(disk.take_back())

    assert {error.code for error in refused.conflicts} == {"setup_conflict"}
    assert len(refused.conflicts) == 2
    assert during.keys() == renewed.keys() == {CONFIG, FILE}
    assert disk.files == {CONFIG: theirs, FOLDER / "notes": b"theirs"}


@given(configurations(), st.booleans(), st.booleans())
def test_a_newer_version_that_was_killed_in_between_goes_on(
    given_: tuple[str, bytes], config: bool, theirs: bool
) -> None:
    name, before = given_
    keys = (TABLES[name], "pepys")
    before = formats.with_setting(name, before, keys, EXTRA) if theirs else before
    disk = Disk({CONFIG: before}, {}, {})
    disk.put(disk.set_up(name, "1", force=theirs))
    old = dict(disk.files)

    disk.put(disk.set_up(name, "2"))
    new = dict(disk.files)
    killed = CONFIG if config else FILE  # known to have been written, but was not
    disk.files[killed] = old[killed]
    half = Disk(dict(disk.files), dict(disk.kept), dict(disk.originals))
    disk.put(disk.set_up(name, "2"))
    half.put(half.take_back())

    assert disk.files == new
    assert half.files == {CONFIG: before}


def test_what_its_owner_has_put_back_by_hand_is_no_conflict() -> None:
    disk = Disk({CONFIG: b"", FILE: b"theirs"}, {}, {})
    disk.put(disk.set_up("toml", "1", force=True))
    disk.put(disk.set_up("toml", "2"))
    disk.files[FILE] = b"theirs"

    disk.put(disk.take_back())

    assert disk.files == {CONFIG: b"", FILE: b"theirs"}
    assert disk.kept == {}


def test_an_original_that_is_lost_costs_only_the_layout() -> None:
    before = b"a = 1"
    disk = Disk({CONFIG: before}, {}, {})
    disk.put(disk.set_up("toml"))
    disk.originals.clear()

    disk.put(disk.take_back())

    assert tomllib.loads(disk.files[CONFIG].decode()) == {"a": 1}


def test_an_own_file_whose_original_is_lost_is_not_removed() -> None:
    disk = Disk({CONFIG: b"", FILE: b"theirs"}, {}, {})
    disk.put(disk.set_up("toml", force=True))
    disk.originals.clear()

    plan = disk.take_back()

    assert [error.code for error in plan.conflicts] == ["setup_refused"]
    with pytest.raises(AssertionError):
        disk.put(plan)
