"""The index, measured."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


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
    trouble: str = ""

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
