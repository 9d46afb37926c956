"""What makes vectors of text. Add an embedder by writing its module and one row here; no other is imported with it."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, cast

from pepys.journal.base import BackendMissing

if TYPE_CHECKING:
    from collections.abc import Callable

    from pepys.config import Journal
    from pepys.journal.embedders.base import Embedder

EMBEDDERS: Mapping[str, str] = {
    # name: the module, whose function `opened` makes an embedder
    "static": "pepys.journal.embedders.static",
    "minilm": "pepys.journal.embedders.minilm",
    "e5": "pepys.journal.embedders.e5",
    "openai": "pepys.journal.embedders.openai",
}


def opened(name: str, settings: Journal, env: Mapping[str, str]) -> Embedder:
    """The embedder called *name*.

    Raises:
        BackendMissing: What it is made of is not installed, or not configured.
    """
    make = cast("Callable[[Journal, Mapping[str, str]], Embedder]", import_module(EMBEDDERS[name]).opened)
    try:
        return make(settings, env)
    except ImportError as error:
        raise BackendMissing(
            f"embedder {name} is not installed",
            f"The memory index is unavailable: {error}. Install it (pip install 'pepys[{name}]') or set "
            "journal.embedder to static. Memory is still written to the daily files and can be searched later.",
        ) from error
