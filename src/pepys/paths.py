"""Where Pepys keeps things, decided from an environment that is given; what it creates is private to the user."""

from __future__ import annotations

import os.path
from collections.abc import Mapping
from pathlib import Path

from pepys.errors import InvalidArgument


def home(env: Mapping[str, str]) -> Path:
    """The user's home directory: `HOME`, else `USERPROFILE`, else what the account database says."""
    for name in ("HOME", "USERPROFILE"):
        if env.get(name):
            return Path(env[name])
    return Path.home()


def expand(text: str, env: Mapping[str, str], base: Path) -> Path:
    """*text* as an absolute path without `..`: a leading `~` is the home directory, else it is taken from *base*."""
    if text == "~" or text.startswith(("~/", "~\\")):
        base, text = home(env), text[2:]
    return Path(os.path.normpath(base / text))


MOST_BYTES, MOST_NAME_BYTES = 4095, 255
"""Of a path, and of one name in it: what file systems take."""


def refusal(text: str) -> str:
    """Why no file can have the path *text*; empty when one can."""
    if "\0" in text:
        return "holds the character U+0000"
    try:
        data = os.fsencode(text)
    except UnicodeEncodeError:
        return "is not Unicode"
    if len(data) > MOST_BYTES:
        return f"is longer than {MOST_BYTES} bytes"
    if max(map(len, data.split(os.fsencode(os.sep)))) > MOST_NAME_BYTES:
        return f"has a name of more than {MOST_NAME_BYTES} bytes"
    return ""


def named(text: str, what: str) -> str:
    """*text*, the path that a caller names as *what*.

    Raises:
        InvalidArgument: No file can have it.
    """
    if refused := refusal(text):
        raise InvalidArgument(f"{what} is no path: {shortened(text)} {refused}.")
    return text


def shortened(text: str, most: int = 100) -> str:
    """*text* for a message: its two ends where it is long; no character that could not be printed."""
    if len(text) > most:
        text = f"{text[: most // 2]}…{text[-(most // 2) :]}"
    return text if text.isprintable() else repr(text)


def working_directory() -> Path:
    """The process's own.

    Raises:
        InvalidArgument: It is gone.
    """
    try:
        return Path.cwd()
    except OSError as error:
        raise InvalidArgument("The working directory is gone.", hint="Change to one that exists.") from error


def cache_dir(env: Mapping[str, str]) -> Path:
    """`$XDG_CACHE_HOME/pepys`: what can be derived again at any time."""
    return _xdg(env, "XDG_CACHE_HOME", ".cache")


def config_dir(env: Mapping[str, str]) -> Path:
    """`$XDG_CONFIG_HOME/pepys`: what the user writes."""
    return _xdg(env, "XDG_CONFIG_HOME", ".config")


def state_dir(env: Mapping[str, str]) -> Path:
    """`$XDG_STATE_HOME/pepys`: what Pepys writes and cannot derive again."""
    return _xdg(env, "XDG_STATE_HOME", ".local/state")


def make_private(directory: Path) -> None:
    """Create *directory*, and missing parents, for the user alone (0700). One that exists stays as it is."""
    if not directory.is_dir():
        make_private(directory.parent)
        directory.mkdir(mode=0o700, exist_ok=True)


def write_private(path: Path, text: str) -> None:
    """Write *text* whole or not at all, readable by the user alone (0600)."""
    write_whole(path, text.encode("utf-8"))


def write_whole(path: Path, data: bytes, mode: int = 0o600) -> None:
    """Write *data* whole or not at all, whatever happens to the machine; missing directories are made with 0700."""
    import tempfile

    make_private(path.parent)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")  # created with 0600
    try:
        with open(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        Path(temporary).chmod(mode)
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def _xdg(env: Mapping[str, str], name: str, default: str) -> Path:
    # The XDG specification: a relative path in these variables is ignored.
    given = env.get(name, "")
    return (Path(given) if Path(given).is_absolute() else home(env) / default) / "pepys"
