"""What Pepys wrote into agents' files, and what these files were before: kept beside, so that it can be taken back.

It cannot be derived again and lives in the state directory: `installed.json`, and each original under its SHA-256.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from pepys import paths
from pepys.errors import SetupRefused
from pepys.setup.pieces import Owner

VERSION = 1


class Written(NamedTuple):
    """A setting as Pepys wrote it."""

    format: str
    keys: tuple[str, ...]
    value: Mapping[str, object]
    made: int  # how many of the tables around it Pepys made


class Kept(NamedTuple):
    """What is known of one file."""

    owners: tuple[Owner, ...]
    before: str | None  # SHA-256 of the original; None where there was no file
    wrote: str | None  # SHA-256 of what Pepys wrote; None where it removed the file
    version: str  # of Pepys
    command: tuple[str, ...] = ()  # that starts Pepys
    written: Written | None = None  # None: the whole file
    replaced: str | None = None  # SHA-256 of what was there when it was written: still there, if the writer was killed

    def left(self, found: str | None) -> bool:
        """Whether a file with this SHA-256 is as Pepys left it."""
        return found in (self.wrote, self.replaced)


class Ledger(NamedTuple):
    """All that is known."""

    files: Mapping[Path, Kept]
    folders: tuple[str, ...] = ()  # that Pepys made, and that go when they are empty

    def of(self, owner: Owner) -> dict[Path, Kept]:
        """The files that were written on behalf of *owner*."""
        return {path: kept for path, kept in self.files.items() if owner in kept.owners}

    def owners(self) -> tuple[Owner, ...]:
        """Everybody that something was written for, sorted."""
        return tuple(sorted({owner for kept in self.files.values() for owner in kept.owners}))


def digest(data: bytes | None) -> str | None:
    """SHA-256 of *data*; None for no file."""
    return None if data is None else hashlib.sha256(data).hexdigest()


def directory(env: Mapping[str, str]) -> Path:
    """Where it is kept."""
    return paths.state_dir(env) / "setup"


def load(env: Mapping[str, str]) -> Ledger:
    """The ledger as it is.

    Raises:
        SetupRefused: It cannot be read.
    """
    import json

    path = directory(env) / "installed.json"
    try:
        return _parsed(json.loads(path.read_text(encoding="utf-8")))
    except FileNotFoundError:
        return Ledger({})
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise SetupRefused(
            f"{path}, which says what was written before, cannot be read: {error}.",
            hint=f"Move {path.parent} away; what was written before must then be removed by hand.",
        ) from error


def save(ledger: Ledger, env: Mapping[str, str]) -> None:
    """Keep *ledger* from now on; without any file, nothing of it stays."""
    import json

    path = directory(env) / "installed.json"
    if not ledger.files and not ledger.folders:
        path.unlink(missing_ok=True)
        return
    files = {str(name): _listed(kept) for name, kept in sorted(ledger.files.items())}
    paths.write_private(
        path, json.dumps({"version": VERSION, "files": files, "folders": ledger.folders}, indent=1) + "\n"
    )


def originals(names: Iterable[str], env: Mapping[str, str]) -> dict[str, bytes]:
    """The originals of these names that are there and unspoilt."""
    found = {}
    for name in names:
        try:
            data = (directory(env) / "originals" / name).read_bytes()
        except OSError:
            continue
        if digest(data) == name:
            found[name] = data
    return found


def keep_original(data: bytes, env: Mapping[str, str]) -> None:
    """Keep *data* under its name."""
    path = directory(env) / "originals" / str(digest(data))
    if not path.exists():
        paths.write_whole(path, data)


def keep_replaced(path: Path, data: bytes, env: Mapping[str, str]) -> Path:
    """Keep *data*, which the user wants gone from *path*, and return where it is kept."""
    kept = directory(env) / "replaced" / f"{str(digest(data))[:16]}-{path.name}"
    paths.write_whole(kept, data)
    return kept


def drop_originals(ledger: Ledger, env: Mapping[str, str]) -> None:
    """Remove the originals that no file of *ledger* needs: they may hold what their owner has since deleted."""
    folder = directory(env) / "originals"
    needed = {kept.before for kept in ledger.files.values()}
    names = set(os.listdir(folder)) if folder.is_dir() else set()
    for name in names - needed:
        (folder / name).unlink(missing_ok=True)
    if names and not names & needed:
        folder.rmdir()


def _listed(kept: Kept) -> dict[str, object]:
    listed: dict[str, object] = {**kept._asdict(), "owners": [list(owner) for owner in kept.owners]}
    listed["written"] = None if kept.written is None else kept.written._asdict()
    return listed


def _parsed(value: Mapping[str, object]) -> Ledger:
    if value["version"] != VERSION:
        raise ValueError(f"version {value['version']} is not known")
    files, folders = value["files"], value["folders"]
    if not isinstance(files, dict) or not isinstance(folders, list):
        raise ValueError("files or folders are missing")
    return Ledger({Path(path): _kept(row) for path, row in files.items()}, tuple(map(str, folders)))


def _kept(row: dict[str, object]) -> Kept:
    written = row.pop("written")
    owners, command = row.pop("owners"), row.pop("command")
    if not isinstance(owners, list) or not isinstance(command, list):
        raise ValueError("owners or command are missing")
    made = Kept(owners=tuple(Owner(*owner) for owner in owners), command=tuple(command), **row)  # type: ignore[arg-type]
    if not isinstance(written, dict):
        return made
    return made._replace(written=Written(**{**written, "keys": tuple(written["keys"])}))
