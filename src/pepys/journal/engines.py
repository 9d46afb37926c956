"""The engines that can index a journal. Add one by writing its module and one row here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, cast

from pepys.journal.base import BackendMissing

if TYPE_CHECKING:
    from pepys.config import Journal
    from pepys.journal.base import Index, Place

Opened = Callable[["Place", "Journal", Mapping[str, str]], "Index"]

ENGINES: Mapping[str, str] = {
    # name: the module, whose function `opened` makes an index
    "pepys": "pepys.journal.index",
}


def opened(name: str, place: Place, settings: Journal, env: Mapping[str, str]) -> Index:
    """The index of the store at *place*.

    Raises:
        BackendMissing: The engine's module, or something that it is made of, is not installed.
    """
    try:
        made = cast(Opened, import_module(ENGINES[name]).opened)
    except ImportError as error:
        raise BackendMissing(
            f"engine {name} cannot be loaded",
            f"The memory index is unavailable: {error}. Reinstall Pepys (pip install --force-reinstall pepys), or "
            "choose another journal.engine. Memory is still written to the daily files and can be searched later.",
        ) from error
    return made(place, settings, env)
