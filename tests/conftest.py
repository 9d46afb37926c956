"""Settings of all tests."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, settings

from tests.shown import Shown

# How long an example takes says something about the machine, nothing about the rule.
settings.register_profile("pepys", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("pepys")


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(Shown())
