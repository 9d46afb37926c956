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
from pepys.journal.base import BackendMissing
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

    Raises:
        BackendMissing: A file cannot be read or understood, or what it says of files to be left out: they would be
            shown if it said nothing.
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
    """What `chunking` and `indexing` say. A number that nobody can mean stands for its default; see `complaints`.

    Raises:
        BackendMissing: As `settings`.
    """
    said = settings(env, repository)
    return Indexing(
        Cut(
            _number(said, "chunking.max_chunk_size"),
            _number(said, "chunking.overlap_lines"),
        ),
        tuple(
            name
            for text in said.get("indexing.ignore_files", ())
            if (name := text.strip()) == Path(name).name and name.isprintable() and name not in ("", "..")
        ),
        ignored.rules(said.get("indexing.exclude", ())),
    )


def complaints(env: Mapping[str, str], repository: str) -> list[str]:
    """What of the configuration is not in force, and why, in words; none where all of it is."""
    try:
        said = settings(env, repository)
    except BackendMissing as error:
        return [error.reason]
    return [
        f"memsearch's {name} must be a whole number from {bounds[0]} to {bounds[-1]}; {DEFAULTS[name]} is taken"
        for name, bounds in _BOUNDS.items()
        if name in said and not _means(said[name], bounds)
    ]


_BOUNDS: Mapping[str, range] = {
    "chunking.max_chunk_size": range(LEAST_CHARS, 1 << 31),
    "chunking.overlap_lines": range(MOST_OVERLAP + 1),
}


def _number(said: Mapping[str, Any], name: str) -> int:
    value: Any = said.get(name)
    return int(value if _means(value, _BOUNDS[name]) else DEFAULTS[name])


def _means(value: Any, bounds: range) -> bool:
    return type(value) is int and value in bounds


def _check_rules(path: Path, section: Any) -> None:
    """What says which files are left out must say so in lists of texts."""
    if not isinstance(section, dict):
        raise _unusable(f"indexing in {path} is no table", "Write it as [indexing].")
    for name in ("ignore_files", "exclude"):
        value = section.get(name, [])
        if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
            raise _unusable(f"indexing.{name} in {path} is no list of texts", f'Write it as {name} = ["..."].')


def _unusable(reason: str, step: str) -> BackendMissing:
    return BackendMissing(
        reason,
        f"The memory index is not used: {reason}, and what is to be left out is not known. {step} Memory is still "
        "written to the daily files and can be searched later.",
    )


def _user(env: Mapping[str, str]) -> Path:
    return paths.home(env) / ".memsearch" / "config.toml"


def _flat(path: Path) -> dict[str, Any]:
    try:
        text = path.read_text(encoding="utf-8")
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        return {}
    except (OSError, ValueError) as error:
        raise _unusable(f"{path} cannot be read ({error})", "Make it readable.") from error
    import tomllib  # most projects have no such file

    try:
        nested = tomllib.loads(text)
    except ValueError as error:
        raise _unusable(f"{path} is no TOML ({error})", "Correct it.") from error
    _check_rules(path, nested.get("indexing", {}))
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
