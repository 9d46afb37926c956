"""`.index-state.json`: what memsearch says of its own index of a store. Read, never written, by our own engine."""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple


class Failure(NamedTuple):
    """A file that could not be indexed."""

    path: str
    error: str


class IndexState(NamedTuple):
    """A state file that can be understood."""

    status: str  # running, ok, degraded, error, or what a later version says
    collection: str | None
    completed: str | None  # when the last finished run ended, ISO
    error: str | None  # of the last failed run
    failed: tuple[Failure, ...]


class Drift(Exception):
    """A state file whose shape is not the one that is known."""


def read(path: str) -> IndexState | None:
    """The state in the file at *path*; None when no run has written one yet.

    Raises:
        Drift: It is there, and cannot be understood.
    """
    try:
        data = Path(path).read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise Drift(error.strerror or str(error)) from error
    try:
        found = json.loads(data)
    except (ValueError, RecursionError):
        raise Drift("it is not JSON") from None
    if not isinstance(found, dict):
        raise Drift("it is no JSON object")
    if found.get("schema_version") != 1:
        raise Drift(f"schema_version is {found.get('schema_version')!r}, not 1")
    if not isinstance(found.get("status"), str):
        raise Drift("status is no string")
    return IndexState(
        found["status"],
        _text(found.get("collection")),
        _text(found.get("last_completed_at")),
        _text(found.get("last_error")),
        tuple(_failures(found.get("failed_files"))),
    )


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _failures(value: object) -> list[Failure]:
    if value is None:
        return []
    if not isinstance(value, list):
        raise Drift("failed_files is no list")
    made = []
    for item in value:
        match item:
            case {"path": str(path), "error": str(error)}:
                made.append(Failure(path, error))
            case _:
                raise Drift("failed_files holds something else than path and error")
    return made
