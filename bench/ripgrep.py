"""The floor: scanning the files with ripgrep, where it is installed."""

from __future__ import annotations

import shutil
import subprocess
import time
from collections.abc import Sequence
from typing import Any

from bench.queries import Query
from bench.timing import spread

_KINDS = ("rare", "common", "any3", "phrase")


def scanned(directory: str, queries: Sequence[Query], per_kind: int = 5) -> dict[str, Any] | None:
    """How long a scan takes, by kind of query; None where there is no `rg`."""
    program = shutil.which("rg")
    if program is None:
        return None
    result: dict[str, Any] = {}
    for kind in _KINDS:
        some = [query for query in queries if query.kind == kind][:per_kind]
        result[kind] = spread(_timed([program, *_arguments(query), directory]) for query in some)
    return result


def _arguments(query: Query) -> list[str]:
    patterns = [" ".join(query.terms)] if query.match == "phrase" else query.terms
    return ["-i", "-c", "-F", "--no-ignore", *(word for pattern in patterns for word in ("-e", pattern)), "--"]


def _timed(command: Sequence[str]) -> float:
    started = time.perf_counter()
    subprocess.run(command, stdout=subprocess.DEVNULL, check=False)
    return time.perf_counter() - started
