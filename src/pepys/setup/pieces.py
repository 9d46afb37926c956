"""What a target gets: files of Pepys's own, and settings in files of others."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple


class OwnFile(NamedTuple):
    """A file that Pepys alone writes, in a folder that is Pepys's alone."""

    path: Path
    data: bytes
    folder: Path


class Setting(NamedTuple):
    """One setting in a configuration file that an agent and its user write too."""

    path: Path
    format: str  # of `formats.FORMATS`
    keys: tuple[str, ...]  # from the root of the file
    value: Mapping[str, object]


Piece = OwnFile | Setting


class Owner(NamedTuple):
    """On whose behalf something was written."""

    target: str
    project: str = ""  # absolute path of the directory; empty where it is for all projects

    def __str__(self) -> str:
        return f"{self.target} in {self.project}" if self.project else self.target


class Wanted(NamedTuple):
    """All that an owner gets."""

    owner: Owner
    pieces: tuple[Piece, ...]
    command: tuple[str, ...]  # that starts Pepys, as the pieces have it
