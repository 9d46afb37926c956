"""Which sessions a caller may see: those that worked inside the caller's workspace (spec 3, "Search corpus").

Where a session's file lies proves nothing; the directory in its header decides, wherever symlinks lead. Only explicit
configuration makes a workspace larger than the caller's own worktree: no variable of Git does, and no repository that
somebody keeps at home.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from pepys.errors import InvalidConfiguration


def workspace(explicit: Iterable[str], cwd: str, homes: Iterable[str]) -> tuple[str, ...]:
    """The roots of a caller's workspace: those that are configured, else the worktree of *cwd*, else *cwd*.

    Args:
        explicit: Configured roots; blank ones count as not configured.
        cwd: Absolute.
        homes: Home directories; see `homes`.

    Raises:
        InvalidConfiguration: A configured root is not absolute, or leads nowhere.
    """
    configured = [root for root in explicit if root.strip()]
    if configured:
        return tuple(dict.fromkeys(map(_explicit, configured)))
    here = os.path.realpath(cwd)
    return (worktree(here, homes) or here,)


def homes(env: Mapping[str, str]) -> tuple[str, ...]:
    """The caller's home directories: what the environment says, and what the system knows whatever that says."""
    found = [env["HOME"]] if env.get("HOME") else []
    try:
        import pwd

        found.append(pwd.getpwuid(os.getuid()).pw_dir)
    except (ImportError, KeyError):
        pass
    return tuple(dict.fromkeys(found))


def worktree(cwd: str, homes: Iterable[str]) -> str | None:
    """The root of the Git worktree that *cwd*, a real path, is in; None outside of one, and of one that holds a home.

    Git itself is not asked: it would listen to its environment.
    """
    directories = [Path(cwd), *Path(cwd).parents]
    root = next((str(directory) for directory in directories if _is_worktree(directory)), None)
    if root is None or any(within(os.path.realpath(home), root) for home in homes):
        return None
    return root


def within(path: str, root: str) -> bool:
    """Whether *path* is *root* or lies below it, by whole components. Both are absolute and normalised."""
    return path == root or path.startswith(root.rstrip(os.sep) + os.sep)


class Authority:
    """What lies inside some roots. Made for one call: where links lead may have changed at the next."""

    def __init__(self, roots: Iterable[str]) -> None:
        """Take the roots as `workspace` gives them: real paths."""
        self.roots = tuple(roots)
        self._known: dict[str | None, bool] = {}

    def allows(self, cwd: str | None) -> bool:
        """Whether a session that recorded *cwd* may be seen. What is unknown, relative or leads nowhere may not."""
        if cwd not in self._known:
            real = None if cwd is None else resolved(cwd)
            self._known[cwd] = real is not None and any(within(real, root) for root in self.roots)
        return self._known[cwd]


def resolved(path: str) -> str | None:
    """Where an absolute *path* really lies; None where that cannot be told.

    Of a path that does not exist, the nearest ancestor that does exist decides: a session's directory may be gone.
    """
    if not path.startswith(os.sep):
        return None
    try:
        return os.path.realpath(path, strict=True)
    except OSError as error:
        if error.errno not in (errno.ENOENT, errno.ENOTDIR):  # links in a circle, folders that hide what is in them
            return None
    except ValueError:  # NUL, lone surrogates
        return None
    return os.path.realpath(path)


def _explicit(root: str) -> str:
    real = resolved(root)
    if real is None:
        raise InvalidConfiguration(
            f"The workspace root {root!r} is no absolute path that can be followed.",
            hint="Set events.workspaceRoots or PI_EVENT_SEARCH_WORKSPACE_ROOT to an absolute path.",
        )
    return real


def _is_worktree(directory: Path) -> bool:
    """Whether a repository is here: a folder `.git`, or the file that links to one from a worktree or a submodule."""
    git = directory / ".git"
    try:
        if git.is_dir():
            return (git / "HEAD").is_symlink() or (git / "HEAD").is_file()
        with git.open("rb") as file:
            return file.read(7) == b"gitdir:"
    except OSError:
        return False
