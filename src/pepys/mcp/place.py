"""Which project a server works for: what its client opened, where its own directory says nothing. Pure."""

from __future__ import annotations

import os.path
from collections.abc import Iterable, Mapping
from pathlib import Path
from urllib.parse import unquote, urlsplit

from pepys import paths


def is_nowhere(directory: Path, env: Mapping[str, str]) -> bool:
    """Whether *directory* is where programs start that belong to no project: the root of the file system, or home."""
    real = os.path.realpath(directory)
    return os.path.dirname(real) == real or real == os.path.realpath(paths.home(env))


def of_roots(uris: Iterable[str]) -> str | None:
    """The first directory that is named, a file URI; None where none is one of this machine."""
    for uri in uris:
        parts = urlsplit(uri)
        path = unquote(parts.path)
        if parts.scheme == "file" and parts.netloc in ("", "localhost") and os.path.isdir(path):
            return os.path.realpath(path)
    return None
