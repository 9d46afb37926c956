"""Which projects the user trusts to configure Pepys. Trust covers a directory and everything below it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from pepys import paths
from pepys.errors import InvalidConfiguration


def store(env: Mapping[str, str]) -> Path:
    """The file that holds the list: not derivable, so it never lives in the index directory."""
    return paths.state_dir(env) / "trusted.json"


def trusted(env: Mapping[str, str]) -> tuple[Path, ...]:
    """The trusted directories, sorted.

    Raises:
        InvalidConfiguration: The list cannot be read.
    """
    import json

    path = store(env)
    try:
        listed = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return ()
    except (OSError, ValueError) as error:
        raise InvalidConfiguration(f"{path} cannot be read: {error}") from error
    if not isinstance(listed, list) or not all(isinstance(item, str) for item in listed):
        raise InvalidConfiguration(f"{path} is not a list of paths.", hint="Delete it and trust your projects again.")
    return tuple(sorted(map(Path, listed)))


def is_trusted(directory: Path, env: Mapping[str, str]) -> bool:
    """Whether *directory* is, or lies below, a trusted one. Symbolic links are resolved."""
    resolved = _resolved(directory)
    return any(resolved.is_relative_to(granted) for granted in trusted(env))


def grant(directory: Path, env: Mapping[str, str]) -> None:
    """Trust *directory* from now on."""
    _write({*trusted(env), _resolved(directory)}, env)


def revoke(directory: Path, env: Mapping[str, str]) -> bool:
    """Forget *directory*; false when it was not on the list."""
    listed = set(trusted(env))
    if (resolved := _resolved(directory)) not in listed:
        return False
    _write(listed - {resolved}, env)
    return True


def _resolved(directory: Path) -> Path:
    # Path's own method raises where links form a circle.
    return Path(os.path.realpath(directory))


def _write(directories: set[Path], env: Mapping[str, str]) -> None:
    import json

    paths.write_private(store(env), json.dumps(sorted(map(str, directories)), indent=1) + "\n")
