"""What somebody wrote in an editor and could not save: kept in a file, so that it is not lost."""

from __future__ import annotations

import tempfile
from pathlib import Path

from pepys.errors import PepysError


def temporary(text: str, name: str) -> Path:
    """A file of the user's alone, called *name*, with *text* in it byte for byte."""
    path = Path(tempfile.mkdtemp(prefix="pepys-")) / name
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    return path


def unsaved(error: PepysError, text: str, name: str) -> PepysError:
    """*error* again, with where *text* is now: it was to be saved as *name*."""
    hint = f"{error.hint} What you wrote is in {temporary(text, name)}.".lstrip()
    return type(error)(error.message, hint=hint, details=error.details)
