"""Fixtures: every host of the table, and a machine of its own for each test."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

import pepys
from tests.hosts.real.installed import NotInstalled, Package, installed
from tests.hosts.real.machine import Machine, eventually, missing
from tests.hosts.real.model import Model
from tests.hosts.real.steps import rows
from tests.hosts.real.table import Host
from tests.rpc import tee
from tests.rpc.schema import recorded

HERE = Path(__file__).parent
EXTENSIONS = Path(pepys.__file__).parent / "extensions"


THOROUGH = {"test_kit.py", "test_recall.py"}
"""Where the hosts that are apart are driven in every mode. Elsewhere RPC has to do for them."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items[:] = [item for item in items if _wanted(item)]
    for item in items:
        if item.path.is_relative_to(HERE):
            item.add_marker(pytest.mark.hosts)


def _wanted(item: pytest.Item) -> bool:
    given = item.callspec.params if isinstance(item, pytest.Function) and hasattr(item, "callspec") else {}
    host = given.get("host")
    return (
        not (isinstance(host, Host) and host.apart) or item.path.name in THOROUGH or given.get("mode", "rpc") == "rpc"
    )


@pytest.fixture(params=rows())
def host(request: pytest.FixtureRequest) -> Host:
    """Each host of the table."""
    row: Host = request.param
    return row


@pytest.fixture
def folder(host: Host) -> Path:
    """Where the host is installed."""
    return provided(host.package)


def provided(package: Package) -> Path:
    """The folder of *package*. Without it the test is skipped; with `PEPYS_REQUIRE_HOSTS` it fails."""
    lacking = missing()
    try:
        found = installed(package)
    except NotInstalled as error:
        lacking = lacking or str(error)
    if lacking:
        if os.environ.get("PEPYS_REQUIRE_HOSTS"):
            pytest.fail(lacking)
        pytest.skip(lacking)
    return found


@pytest.fixture
def model() -> Iterator[Model]:
    model = Model()
    yield model
    model.close()


@pytest.fixture
def settings() -> Mapping[str, Any]:
    """Settings of the host beside those that it needs; tests parametrise it."""
    return {}


@pytest.fixture
def bare(tmp_path: Path, host: Host, folder: Path, model: Model, settings: Mapping[str, Any]) -> Iterator[Machine]:
    """A machine without Pepys. Whatever runs in it must have ended when the test has."""
    machine = Machine(tmp_path, host, folder, model, settings)
    yield machine
    eventually(lambda: not machine.left() or None, 5)


@pytest.fixture
def machine(bare: Machine) -> Iterator[Machine]:
    """A machine whose host has Pepys. What the two say to each other must be as the protocol's schema has it."""
    bare.extensions.append(EXTENSIONS / bare.host.agent / "index.ts")
    log = bare.root / "protocol"
    bare.env["PEPYS_COMMAND"] = json.dumps(
        [sys.executable, tee.__file__, str(log), *json.loads(bare.env["PEPYS_COMMAND"])]
    )
    yield bare
    if str(log) in bare.env.get("PEPYS_COMMAND", ""):  # the test has put nothing in the place of Pepys
        assert recorded(log) == []
