"""Hosts out of the npm registry, installed once into a folder that stays.

The folder is `.cache/hosts` in the checkout, or what `PEPYS_TEST_HOSTS` names. A host is there when its own folder is:
it is made beside it and takes its name when it is whole.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

FOLDER = Path(os.environ.get("PEPYS_TEST_HOSTS") or Path(__file__).parents[3] / ".cache" / "hosts")

_SECONDS = 600


class NotInstalled(Exception):
    """A host is not there, and could not be installed."""


@dataclass(frozen=True)
class Package:
    """What npm is asked for."""

    name: str  # of the folder
    dependencies: Mapping[str, str]
    overrides: Mapping[str, str] = field(default_factory=dict)
    patches: Mapping[str, tuple[tuple[str, str], ...]] = field(
        default_factory=dict
    )  # file: (text, what takes its place)
    additions: Mapping[str, str] = field(default_factory=dict)  # file: what is put at its end


def installed(package: Package) -> Path:
    """The folder of *package*, whose `node_modules` holds it.

    Raises:
        NotInstalled: npm is missing or failed.
    """
    folder = FOLDER / package.name
    if folder.is_dir():
        return folder
    FOLDER.mkdir(parents=True, exist_ok=True)
    with _alone(FOLDER / f"{package.name}.lock"):
        if not folder.is_dir():
            _install(package, folder)
    return folder


@contextmanager
def _alone(lock: Path) -> Iterator[None]:
    with lock.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _install(package: Package, folder: Path) -> None:
    npm = shutil.which("npm")
    if npm is None:
        raise NotInstalled("npm is not on PATH.")
    partial = folder.with_name(f"{package.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)  # of a run that was killed: we hold the lock
    partial.mkdir()
    wanted = {"private": True, "dependencies": dict(package.dependencies), "overrides": dict(package.overrides)}
    (partial / "package.json").write_text(json.dumps(wanted, indent=1))
    command = [npm, "install", "--no-audit", "--no-fund", "--loglevel=error"]
    try:
        done = subprocess.run(command, cwd=partial, capture_output=True, text=True, timeout=_SECONDS)
    except subprocess.TimeoutExpired as error:
        raise NotInstalled(f"npm took more than {_SECONDS} s for {package.name}.") from error
    if done.returncode:
        raise NotInstalled(f"npm could not install {package.name}: {(done.stderr or done.stdout).strip()[-600:]}")
    for name, changes in package.patches.items():
        file = partial / name
        text = file.read_text()
        for old, new in changes:
            text = text.replace(old, new)
        file.write_text(text)
    for name, addition in package.additions.items():
        with (partial / name).open("a") as file_:
            file_.write(addition)
    partial.rename(folder)
