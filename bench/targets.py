"""What the figures must be, as ratios within one run. A target whose figures are missing is not judged."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

SAME = 1.25
"""Two times this far apart count as the same: runs on shared machines differ by that much by themselves."""

Figures = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Target:
    """One promise."""

    name: str
    sense: Literal["at least", "at most"]
    bound: float
    measured: Callable[[Figures], float]
    about: str


TARGETS = (
    Target(
        "any3_against_fts5",
        "at least",
        25,
        lambda f: _p50(f["fts5"]["kinds"]["any3"]) / _p50(f["engine"]["kinds"]["any3"]),
        "three terms, any, weighted, ten best with the exact count: FTS5's time over the engine's",
    ),
    Target(
        "recall_against_engine",
        "at most",
        40,
        lambda f: (_p50(f["recall"]["kinds"]["any3"]) - _p50(f["listing"])) / _p50(f["engine"]["kinds"]["any3"]),
        "whole recall of three terms less the listing, over the bare engine's query",
    ),
    Target(
        "recall_flat_in_bytes",
        "at most",
        SAME,
        lambda f: _beyond_engine(f) / _beyond_engine(f["small"]),
        "whole recall of three terms less the engine's query, over the same in a small corpus of as many files",
    ),
    Target(
        "cold_cli",
        "at most",
        12,
        lambda f: f["cold"]["recall"]["p50_ms"] / f["cold"]["pass"]["p50_ms"],
        "a cold `pepys recall` over `python -c pass`",
    ),
    Target(
        "index_size",
        "at most",
        0.4,
        lambda f: f["index"]["bytes"] / f["corpus"]["bytes"],
        "bytes of index and catalog over bytes of the sources",
    ),
    Target(
        "build_against_decoding",
        "at least",
        1 / 20,
        lambda f: f["build"]["mb_per_s"] / f["decode"]["mb_per_s"],
        "speed of the first index over the speed of decoding the same bytes with msgspec",
    ),
    Target(
        "build_against_fts5",
        "at least",
        1,
        lambda f: f["build"]["mb_per_s"] / f["fts5"]["build"]["mb_per_s"],
        "speed of the first index over FTS5's, both from the session files",
    ),
    Target(
        "append_flat_in_bytes",
        "at most",
        SAME,
        lambda f: _p50(f["append"]) / _p50(f["small"]["append"]),
        "append an entry and find it from a fresh process, over the same in a small corpus of as many files",
    ),
    Target(
        "recheck_stats",
        "at most",
        1.01,
        lambda f: f["recheck"]["stats_per_file"],
        "stat calls for every file of an unchanged history; needs strace",
    ),
    Target(
        "recheck_opens",
        "at most",
        0,
        lambda f: f["recheck"]["opens"],
        "files of an unchanged history that were opened",
    ),
    Target(
        "anonymous_memory",
        "at most",
        250e6,
        lambda f: max(f["build"]["anonymous_bytes"], f["recall"]["anonymous_bytes"]),
        "peak RssAnon, bytes, of indexing and of recalling",
    ),
)


def judged(figures: Figures) -> list[dict[str, Any]]:
    """Every target with what was measured; `met` is null where the figures for it are missing."""
    return [_judged(target, figures) for target in TARGETS]


def _judged(target: Target, figures: Figures) -> dict[str, Any]:
    try:
        measured: float | None = target.measured(figures)
    except (KeyError, TypeError, ZeroDivisionError):
        measured = None
    met = None
    if measured is not None:
        met = measured >= target.bound if target.sense == "at least" else measured <= target.bound
    return {
        "name": target.name,
        "about": target.about,
        "target": f"{target.sense} {target.bound:g}",
        "measured": None if measured is None else round(measured, 4),
        "met": met,
    }


def _p50(figure: Mapping[str, float]) -> float:
    return figure["p50_ms"]


def _beyond_engine(figures: Figures) -> float:
    return _p50(figures["recall"]["kinds"]["any3"]) - _p50(figures["engine"]["kinds"]["any3"])
