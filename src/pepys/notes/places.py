"""Where the two stores lie, and whether the project's may be used (spec 5, "Tool" and "Security")."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from pepys import trust
from pepys.events.authorisation import within, worktree
from pepys.hosts import HOSTS
from pepys.hosts.base import surroundings

if TYPE_CHECKING:
    from pepys.model.context import Context

FOLDER, FILE = ".pi", "memory.md"

MAX_CONFIG_BYTES = 64 * 1024
"""How much of a repository's configuration is looked at."""

_WORKTREE = re.compile(r"^\s*worktree\s*=\s*(\S[^\n]*?)\s*$", re.MULTILINE)


def global_store(context: Context) -> Path:
    """`memory.md` in the agent directory of the context's host, or of Pi where it names none."""
    host = HOSTS.get(context.host, HOSTS["pi"])
    return Path(host.agent_dir(surroundings(context))) / FILE


def project_store(root: Path) -> Path:
    """The store of the project at *root*: the same file whatever the host."""
    return root / FOLDER / FILE


def is_trusted(context: Context, root: Path) -> bool:
    """Whether the project's store may be read and written: the host's answer, else what the user said before.

    That may be about the working directory, or about the checkout where the store lies: `root` believes no worktree
    that the repository does not know. Where Pi was told no of the working directory, its yes to the checkout is none.
    """
    if context.trusted is not None:
        return context.trusted
    places = (context.cwd, root)
    if any(trust.is_granted(place, context.env) for place in places):
        return True
    answers = (trust.by_pi(place, context.env) for place in places)
    return next((answer for answer in answers if answer is not None), False)


def root(cwd: Path, homes: Iterable[str] = ()) -> Path:
    """The directory that all worktrees of the repository of *cwd* share: its main checkout.

    A bare repository has none; then it is the folder whose `.git` links to it, else the repository itself. Outside of
    a repository, it is *cwd*. Git is not asked: it would listen to its environment.

    Args:
        homes: Home directories (`events.authorisation.homes`). A repository that somebody keeps there makes no project
            of what lies below it, nor of its worktrees elsewhere, each of which is its own.
    """
    homes = tuple(homes)
    here = os.path.realpath(cwd)
    checkout = Path(worktree(here, homes) or here)
    main = _main(checkout)
    return checkout if any(within(os.path.realpath(home), str(main)) for home in homes) else main


def _main(checkout: Path) -> Path:
    common = _common(checkout)
    if common is None:
        return checkout
    if common.name == ".git":
        return common.parent
    candidates = (common.parent, _configured(common))
    return next((found for found in candidates if found and _linked(found / ".git") == common), common)


def _common(checkout: Path) -> Path | None:
    """The repository that *checkout* is one of the linked worktrees of; None where it is the only one or the main one.

    Both must say so: a folder that claims to belong to somebody's repository would else be given its notes.
    """
    link = checkout / ".git"
    private = _linked(link)
    if private is None or (common := _pointer(private / "commondir", private)) is None:
        return None
    back = _pointer(private / "gitdir", private)
    return common if private.parent == common / "worktrees" and back == link.resolve() else None


def _configured(common: Path) -> Path | None:
    """The main checkout that a repository names, as those of submodules do."""
    try:
        text = (common / "config").read_bytes()[:MAX_CONFIG_BYTES].decode("utf-8", "surrogateescape")
        found = _WORKTREE.search(text)
        return (common / found[1].strip('"')).resolve() if found else None
    except (OSError, ValueError, RuntimeError):
        return None


def _linked(link: Path) -> Path | None:
    """Where a `.git` file leads; None where it is none."""
    return _pointer(link, link.parent, "gitdir:")


def _pointer(file: Path, base: Path, prefix: str = "") -> Path | None:
    """The real path that a file of Git's names; None where there is no such file."""
    try:
        with open(file, "rb") as stream:
            text = os.fsdecode(stream.read(8192))
        if not text.startswith(prefix) or not (path := text.removeprefix(prefix).strip()):
            return None
        return (base / path).resolve()
    except (OSError, ValueError, RuntimeError):  # NUL, links in a circle
        return None
