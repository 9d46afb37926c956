"""What a refresh did."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pepys.index.source import Source


@dataclass(slots=True)
class Refreshed:
    """What a refresh did."""

    began_ns: int = 0  # the clock
    sources: int = 0  # seen in the listing
    new: int = 0
    grown: int = 0
    rebuilt: int = 0
    removed: int = 0
    unchanged: int = 0
    failed: dict[str, str] = field(default_factory=dict)  # path -> coverage reason
    left: dict[str, str] = field(default_factory=dict)  # path -> coverage reason: out of patience, or of budget
    planned: Mapping[str, Source] | None = None  # the sources over which a plan found nothing to do
    bytes_read: int = 0
    seconds: float = 0.0
    reasons: tuple[str, ...] = ()
