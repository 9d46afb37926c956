"""Sessions made up for `pepys demo`: a web shop sells its last mug twice.

Below `pi` and `omp` lie session folders as these hosts write them, all of the project `PROJECT`.
"""

from __future__ import annotations

import shutil
from pathlib import Path

PROJECT = Path("/srv/shop")
"""The project that the sessions say they belong to; it need not exist."""


def install(home: Path) -> None:
    """Copy the sessions to where Pi and OMP keep theirs when *home* is the home directory."""
    samples = Path(__file__).parent
    for host in ("pi", "omp"):
        # File contents only: what is installed may be read-only, and the demo appends.
        shutil.copytree(
            samples / host, home / f".{host}" / "agent" / "sessions", copy_function=shutil.copyfile, dirs_exist_ok=True
        )
