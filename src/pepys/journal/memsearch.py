"""memsearch's own configuration, in its own layers: read where the store is shared with it, and never written.

Lowest to highest: its defaults, `~/.memsearch/config.toml`, `.memsearch.toml` of the repository. A project may
set few keys only: it must not send anybody's memory to another endpoint.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from pepys import paths
from pepys.journal import ignored
from pepys.journal.chunk import MAX_CHARS, OVERLAP_LINES, Cut
from pepys.journal.ignored import Rule

PROJECT_KEYS = frozenset(
    {
        "milvus.collection",
        "embedding.batch_size",
        "chunking.max_chunk_size",
        "chunking.overlap_lines",
        "indexing.ignore_files",
        "indexing.exclude",
        "watch.debounce_ms",
    }
)

# No embedding.provider: memsearch's own default is a remote one, and nothing leaves the machine unless a file says so.
DEFAULTS: Mapping[str, Any] = {
    "milvus.uri": "~/.memsearch/milvus.db",
    "milvus.collection": "memsearch_chunks",
    "chunking.max_chunk_size": MAX_CHARS,
    "chunking.overlap_lines": OVERLAP_LINES,
}


def files(env: Mapping[str, str], repository: str) -> list[Path]:
    """The configuration files that exist, lowest first."""
    return [path for path in (_user(env), Path(repository) / ".memsearch.toml") if path.is_file()]


def settings(env: Mapping[str, str], repository: str) -> dict[str, Any]:
    """Keys by dotted name with the values in force. `env:NAME` stands for a variable; unset, the key is left out.

    Files that cannot be read or understood say nothing here: memsearch itself complains about them.
    """
    user, project = _flat(_user(env)), _flat(Path(repository) / ".memsearch.toml")
    merged = {**DEFAULTS, **user, **{name: value for name, value in project.items() if name in PROJECT_KEYS}}
    made = {name: _resolved(value, env) for name, value in merged.items()}
    return {name: value for name, value in made.items() if value is not None}


LEAST_CHARS, MOST_OVERLAP = 50, 100
"""Bounds of what counts: a repository comes from anywhere, and beyond them one file becomes thousands of chunks."""


class Indexing(NamedTuple):
    """Which files of a store are indexed, and how they are cut."""

    cut: Cut = Cut()
    ignore_files: tuple[str, ...] = ()  # names of files in the store that hold rules for what lies beside and below
    exclude: tuple[Rule, ...] = ()  # rules for the store as a whole; they have the last word


def indexing(env: Mapping[str, str], repository: str) -> Indexing:
    """What `chunking` and `indexing` say. A value that nobody can mean stands for its default."""
    said = settings(env, repository)
    return Indexing(
        Cut(
            _within(said, "chunking.max_chunk_size", range(LEAST_CHARS, 1 << 31)),
            _within(said, "chunking.overlap_lines", range(MOST_OVERLAP + 1)),
        ),
        tuple(
            name
            for text in _texts(said.get("indexing.ignore_files"))
            if (name := text.strip()) == Path(name).name and name.isprintable() and name not in ("", "..")
        ),
        ignored.rules(_texts(said.get("indexing.exclude"))),
    )


def _within(said: Mapping[str, Any], name: str, bounds: range) -> int:
    value = said.get(name)
    return value if type(value) is int and value in bounds else int(DEFAULTS[name])


def _texts(value: Any) -> list[str]:
    return [one for one in value if isinstance(one, str)] if isinstance(value, list) else []


def _user(env: Mapping[str, str]) -> Path:
    return paths.home(env) / ".memsearch" / "config.toml"


def _flat(path: Path) -> dict[str, Any]:
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, ValueError):
        return {}
    import tomllib  # most projects have no such file

    try:
        nested = tomllib.loads(text)
    except ValueError:
        return {}
    made: dict[str, Any] = {}
    waiting: list[tuple[str, Any]] = list(nested.items())
    while waiting:
        name, value = waiting.pop()
        if isinstance(value, dict):
            waiting += ((f"{name}.{key}", member) for key, member in value.items())
        else:
            made[name] = value
    return made


def _resolved(value: Any, env: Mapping[str, str]) -> Any:
    if isinstance(value, str) and value.startswith("env:"):
        return env.get(value.removeprefix("env:")) or None
    return value
