"""Which projects the user trusts to configure Pepys. Trust covers a directory and everything below it.

The user says so to Pepys (`pepys trust`), or to Pi, whose answers are read where Pi itself cannot be asked.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from pepys import paths
from pepys.errors import InvalidConfiguration

MAX_PI_BYTES = 1024 * 1024
"""Largest list of Pi's that is read."""


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
    return is_granted(directory, env) or by_pi(directory, env) is True


def is_granted(directory: Path, env: Mapping[str, str]) -> bool:
    """Whether the user has told Pepys so."""
    resolved = _resolved(directory)
    return any(resolved.is_relative_to(granted) for granted in trusted(env))


def by_pi(directory: Path, env: Mapping[str, str]) -> bool | None:
    """What the user has told Pi of *directory*, else of the nearest directory above it; None where nothing.

    Pi keeps its answers in `trust.json` of its agent directory: real paths, each with true, false or null for none.
    A list that cannot be read says nothing.
    """
    answers = _pi_answers(env)
    resolved = _resolved(directory)
    nearest = (answers.get(str(each)) for each in (resolved, *resolved.parents))
    return next((answer for answer in nearest if answer is not None), None)


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


def pi_trusts(env: Mapping[str, str]) -> bool:
    """Whether Pi was told to trust any directory."""
    return any(_pi_answers(env).values())


def pi_store(env: Mapping[str, str]) -> Path | None:
    """Pi's list; None where its agent directory depends on where one is: there, a project could bring its own."""
    given = env.get("PI_CODING_AGENT_DIR")
    if given and not (Path(given).is_absolute() or given.startswith("~")):
        return None
    home = paths.home(env)
    return (paths.expand(given, env, home) if given else home / ".pi" / "agent") / "trust.json"


def _pi_answers(env: Mapping[str, str]) -> Mapping[str, bool | None]:
    import json

    path = pi_store(env)
    if path is None:
        return {}
    try:
        with open(path, "rb") as file:
            data = file.read(MAX_PI_BYTES + 1)
        listed = json.loads(data) if len(data) <= MAX_PI_BYTES else None
    except (OSError, ValueError, RecursionError):
        return {}
    if not isinstance(listed, dict):
        return {}
    known = all(answer is None or isinstance(answer, bool) for answer in listed.values())
    return listed if known else {}


def _resolved(directory: Path) -> Path:
    # Path's own method raises where links form a circle.
    return Path(os.path.realpath(directory))


def _write(directories: set[Path], env: Mapping[str, str]) -> None:
    import json

    paths.write_private(store(env), json.dumps(sorted(map(str, directories)), indent=1) + "\n")
