"""Whether and how much of the notes is injected (spec 5, "Configuration").

Pepys's own configuration decides where it sets a key; else the section `memory` of the `bytefly.json` files that
hosts share: that of the working directory before that of its project's root, and both, where the project is trusted,
before that of the agent directory. What cannot be used there is ignored.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from pepys.config import Config

FILE = "bytefly.json"

MAX_BYTES = 256 * 1024
"""Largest file that is read."""

_NUMBER = re.compile(r"\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*", re.ASCII)


class Settings(NamedTuple):
    """What holds for the injection."""

    inject: bool
    max_bytes: int  # of UTF-8


def settings(config: Config, *files: Path) -> Settings:
    """The settings in force.

    Args:
        files: The `bytefly.json` that may be used; later ones win.
    """
    from pepys.config import KEYS

    inject, max_bytes = config.memory.inject, config.memory.max_inject_bytes
    key = KEYS["memory.maxInjectBytes"]
    for file in files:
        section = _section(file)
        if "memory.inject" not in config.origins and isinstance(given := section.get("inject"), bool):
            inject = given
        if "memory.maxInjectBytes" not in config.origins:
            number = _number(section.get("maxInjectBytes"))
            max_bytes = max_bytes if number is None else min(max(number, key.minimum), key.maximum)
    return Settings(inject, max_bytes)


def _section(file: Path) -> Mapping[str, Any]:
    import json

    try:
        with open(file, "rb") as stream:
            value = json.loads(stream.read(MAX_BYTES))
    except (OSError, ValueError, RecursionError):
        return {}
    section = value.get("memory") if isinstance(value, dict) else None
    return section if isinstance(section, dict) else {}


def _number(given: object) -> int | None:
    """A number, or text that is one, to the nearest whole one."""
    if isinstance(given, str) and _NUMBER.fullmatch(given):
        given = float(given)
    if isinstance(given, float) and math.isfinite(given):
        return math.floor(given + 0.5)
    return given if isinstance(given, int) and not isinstance(given, bool) else None
