"""The files themselves: looked at before a plan is made, and changed as it says."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Mapping
from pathlib import Path

from pepys import paths
from pepys.errors import SetupConflict, SetupRefused
from pepys.index.lock import exclusive
from pepys.setup import ledger
from pepys.setup.ledger import Ledger
from pepys.setup.pieces import Owner, OwnFile, Piece
from pepys.setup.plan import Change, Plan, Seen

MAX_BYTES = 64 * 1024 * 1024
"""Largest file that is read."""

MAX_FOLDER = 1000
"""Most files of a folder that is to be Pepys's; one with more is somebody else's."""

LOCK_WAIT_S = 10.0

_OPEN = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)


def look(pieces: Iterable[Piece], known: Ledger, owner: Owner) -> dict[Path, Seen]:
    """What a plan has to know of the files as they are: those of *pieces*, and all that was written for *owner*."""
    seen: dict[Path, Seen] = {}
    within = Path(owner.project) if owner.project else None
    for piece in pieces:
        if isinstance(piece, OwnFile):
            if (folder := _folder(piece.folder, within)).trouble:
                seen[piece.folder] = folder
                continue
            for path in _inside(piece.folder):
                seen.setdefault(path, _seen(path, within, follow=False))
        seen[piece.path] = _seen(piece.path, within, follow=not isinstance(piece, OwnFile))
    for path, kept in known.of(owner).items():
        if path not in seen:
            seen[path] = _seen(path, within, follow=kept.written is not None)
    return seen


def carry_out(plan: Plan, env: Mapping[str, str]) -> tuple[Path, ...]:
    """Make the changes of *plan*, which has no conflict; every original is kept before its file is touched.

    Returns:
        Where copies are of what was removed though it is not Pepys's.

    Raises:
        SetupConflict: A file has changed since it was looked at; nothing was written.
        SetupRefused: A file cannot be written; what had been written before is known, and this can be run again.
    """
    try:
        with exclusive(str(ledger.directory(env) / "lock"), LOCK_WAIT_S) as obtained:
            if not obtained:
                raise SetupRefused("Another `pepys setup` is at work.", hint="Try again.")
            known = ledger.load(env)
            for change in plan.changes:
                kept = change.kept or known.files[change.path]
                found = _seen(change.path, None, follow=kept.written is not None)
                if found.trouble or found.data != change.before:
                    what = found.trouble or "it has changed just now"
                    raise SetupConflict(f"{change.path} was left alone: {what}.", hint="Run this again.")
            return tuple(copy for change in plan.changes if (copy := _carried_out(change, env)) is not None)
    except OSError as error:
        where = error.filename or "A file"
        raise SetupRefused(f"{where} cannot be written: {error.strerror or error}.", hint="Run this again.") from error


def _carried_out(change: Change, env: Mapping[str, str]) -> Path | None:
    known = ledger.load(env)
    if change.original is not None and change.kept is not None:
        ledger.keep_original(change.original, env)
    spare = ledger.keep_replaced(change.path, change.before, env) if change.spare and change.before else None
    files = {path: kept for path, kept in known.files.items() if path != change.path}
    folders = set(known.folders)
    real = Path(os.path.realpath(change.path))  # a link may lead to where no folder is yet
    if change.kept is not None:
        files[change.path] = change.kept
        if change.after is not None:
            folders |= {str(folder) for folder in real.parents if not folder.exists()}
        # Known first, written after: who is killed in between has written nothing, and can tell.
        ledger.save(Ledger(files, tuple(sorted(folders))), env)
    if change.writes and change.after is not None:
        mode = stat.S_IMODE(real.stat().st_mode) if real.exists() else 0o600
        paths.write_whole(real, change.after, mode)
    elif change.writes:
        real.unlink()
    if change.kept is None:
        folders -= set(_emptied(real, folders))
        ledger.save(Ledger(files, tuple(sorted(folders))), env)
        ledger.drop_originals(Ledger(files), env)
    return spare


def _emptied(real: Path, folders: set[str]) -> list[str]:
    """The folders around *real*, a path without links, that Pepys made and that are empty now: they are removed."""
    made = {os.path.realpath(folder): folder for folder in folders}
    gone = []
    for folder in real.parents:
        if str(folder) in made:
            try:
                folder.rmdir()
            except FileNotFoundError:
                pass
            except OSError:  # something is in it
                break
            gone.append(made[str(folder)])
    return gone


def _folder(folder: Path, within: Path | None) -> Seen:
    """Whether *folder* can be Pepys's, whatever is in it; *within* is that of `_seen`."""
    if (outside := _outside(folder, within)) is not None:
        return outside
    if folder.is_symlink():
        return Seen(None, "it is a symbolic link")
    nearest = next(each for each in (folder, *folder.parents) if os.path.lexists(each))
    return Seen() if nearest.is_dir() else Seen(None, f"{nearest} is no folder")


def _outside(path: Path, within: Path | None) -> Seen | None:
    """What is told of *path* where links lead it out of *within*: the first that does."""
    if within is None or _lies(path, within):
        return None
    inside = (each for each in reversed((path, *path.parents)) if within in each.parents)
    link = next((each for each in inside if not _lies(each, within)), path)
    return Seen(None, f"it leads out of the project, to {os.path.realpath(link)}", link)


def _lies(path: Path, within: Path) -> bool:
    return Path(os.path.realpath(path)).is_relative_to(os.path.realpath(within))


def _inside(folder: Path) -> list[Path]:
    """The files in *folder* and below it, as many as matter."""
    found: list[Path] = []
    for directory, _, names in os.walk(folder):
        found += (Path(directory, name) for name in sorted(names))
        if len(found) > MAX_FOLDER:
            break
    return found[: MAX_FOLDER + 1]


def _seen(path: Path, within: Path | None, *, follow: bool) -> Seen:
    """The file at *path*.

    Args:
        within: What it must lie in, wherever links lead: a project may not send Pepys elsewhere.
        follow: Whether it may be a symbolic link, as those that keep their configuration under version control have.
    """
    try:
        if (outside := _outside(path, within)) is not None:
            return outside
        if path.is_symlink() and not follow:
            return Seen(None, "it is a symbolic link")
        with open(os.open(os.path.realpath(path), _OPEN), "rb") as file:
            mode = os.fstat(file.fileno()).st_mode
            if not stat.S_ISREG(mode):
                return Seen(None, "it is no regular file")
            data = file.read(MAX_BYTES + 1)
    except FileNotFoundError:
        return Seen()
    except NotADirectoryError:
        return Seen(None, "one of the folders above it is a file")
    except OSError as error:
        return Seen(None, (error.strerror or str(error)).lower())
    if len(data) > MAX_BYTES:
        return Seen(None, "it is over 64 MiB")
    # Asked of the mode: to a superuser every file is writable.
    return Seen(data, locked=not mode & stat.S_IWUSR)
