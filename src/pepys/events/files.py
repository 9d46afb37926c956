"""Which paths a caller means, among those that entries read or changed."""

from __future__ import annotations

import posixpath
from typing import NamedTuple

from pepys.normalise.touched import normalised


class Wanted(NamedTuple):
    """A path to look for.

    An absolute one is meant as it is. A relative one is meant from wherever a session worked: history speaks of other
    checkouts of the same project too, so it holds for every path that ends in it. A folder holds for what is in it.
    """

    path: str  # normalised

    @property
    def name(self) -> str:
        """Its last component."""
        return posixpath.basename(self.path)

    def holds(self, path: str) -> bool:
        """Whether *path*, as `normalise.touched` gives it, is meant."""
        if self.path == "/":
            return path.startswith("/")
        if self.path.startswith(("/", "~")):
            return f"{path}/".startswith(f"{self.path}/")
        return f"/{self.path}/" in f"/{path}/"


def wanted(path: str, cwd: str) -> Wanted | None:
    """What a caller in *cwd* means by *path*; None where that names no file.

    Paths that begin with `.` are taken from *cwd*; others are left as they are.
    """
    text = path.strip()
    here = text in (".", "..") or text.startswith(("./", "../"))
    made = normalised(text, cwd if here else None)
    if made in (".", "..") or (made or "").startswith("../"):  # such as `a/../..`
        made = normalised(text, cwd)
    return None if made is None else Wanted(made)
