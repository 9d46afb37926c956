"""The index, measured."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from pepys.model.source import DIAGNOSTICS
from pepys.spelling import counted, size


class Status(NamedTuple):
    """The index, measured."""

    directory: str
    exists: bool
    sources: int = 0
    records: int = 0
    source_bytes: int = 0
    index_bytes: int = 0
    interrupted: int = 0  # sources and readings that a writer has not finished
    diagnostics: Mapping[str, int] = {}
    policy: str = ""
    trouble: str = ""  # what keeps it from being used, or from being built

    def as_json(self) -> dict[str, object]:
        """By the camelCase names of other answers."""
        return {
            "directory": self.directory,
            "exists": self.exists,
            "sources": self.sources,
            "records": self.records,
            "sourceBytes": self.source_bytes,
            "indexBytes": self.index_bytes,
            "interrupted": self.interrupted,
            "diagnostics": dict(self.diagnostics),
            "policy": self.policy,
            **({"trouble": self.trouble} if self.trouble else {}),
        }

    def told(self) -> Iterator[tuple[str, str]]:
        """For people: names of what was measured, and the measures in words."""
        yield "directory", self.directory
        if self.trouble:
            yield "trouble", self.trouble
        if self.policy:  # it could be read
            yield "sessions", f"{self.sources}, with {counted(self.records, 'record')}"
            yield "read", size(self.source_bytes)
        if self.exists:
            yield "size", size(self.index_bytes)
        elif not self.trouble:
            yield "note", "there is none yet; the first search, or `pepys index`, builds it"
        if self.interrupted:
            yield "note", "a run was interrupted; the next one finishes it"
        for code, count in sorted(self.diagnostics.items()):
            meaning = DIAGNOSTICS[code][1] if code in DIAGNOSTICS else code
            yield "note", f"{meaning} ({code}, {counted(count, 'time')})"


def refusal(directory: str) -> str:
    """Why the index cannot be kept in *directory*; empty when it can. Permissions alone do not tell."""
    from tempfile import TemporaryFile

    if os.path.islink(directory):  # noqa: PTH114  (Path's own raises where it may not look)
        return f"{directory} is a symbolic link"
    place = next(str(path) for path in (Path(directory), *Path(directory).parents) if os.path.lexists(path))
    try:
        with TemporaryFile(dir=place):
            return ""
    except OSError as error:
        return f"nothing can be written to {place}: {error.strerror or error}"
