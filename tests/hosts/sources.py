"""Session files for tests: made up line by line, or recorded by the real hosts."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

DATA = Path(__file__).parents[1] / "data"
SHARED = Path(__file__).parents[3] / "shared" / "fixtures"

HEADER: dict[str, Any] = {"type": "session", "version": 3, "id": "s1", "timestamp": "2026-03-01T10:00:00Z", "cwd": "/p"}
SLOT: dict[str, Any] = {"type": "title", "v": 1, "title": "From the slot", "pad": "  "}


def message(id_: str | None, parent: str | None, role: str, content: Any, **more: Any) -> dict[str, Any]:
    """A line of type message; without *id_*, as in version 1."""
    line: dict[str, Any] = {"type": "message", "timestamp": "2026-03-01T10:00:01.250Z"}
    if id_ is not None:
        line |= {"id": id_, "parentId": parent}
    return line | {"message": {"role": role, "content": content, **more}}


def jsonl(*lines: Any) -> bytes:
    """Objects as JSON; bytes and text as they are."""
    made = [line if isinstance(line, bytes) else json.dumps(line, ensure_ascii=False).encode() for line in lines]
    return b"".join(line + b"\n" for line in made)


def written(directory: Path, *lines: Any, name: str = "s.jsonl") -> str:
    """A file of these lines."""
    path = directory / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(jsonl(*lines))
    return str(path)


def recorded(host: str) -> list[Any]:
    """Parameters: the session files recorded by a host, those in this repository and those beside it."""
    folders = [(DATA, DATA / host), (SHARED, SHARED / host)]
    if host == "pi":
        folders.append((SHARED, SHARED / "pi-public"))
    return [parameter for base, folder in folders for parameter in _parameters(host, base, folder)]


def _parameters(host: str, base: Path, folder: Path) -> Iterator[Any]:
    if not folder.is_dir():
        reason = f"{folder.name}: the recorded sessions are not beside this repository"
        yield pytest.param(host, Path(), marks=pytest.mark.skip(reason=reason), id=f"{folder.name}-absent")
        return
    for path in sorted(folder.rglob("*.jsonl*")):
        if path.is_file() and not path.name.startswith("."):
            yield pytest.param(host, path, id=f"{base.name}/{path.relative_to(base)}")
