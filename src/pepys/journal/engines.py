"""The engines that can index a journal. Add one by writing its module and one row here."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from importlib import import_module, invalidate_caches
from typing import TYPE_CHECKING, cast

from pepys.journal.base import BackendMissing
from pepys.journal.constants import PROBE_MEMORY_MS

if TYPE_CHECKING:
    from pepys.config import Journal
    from pepys.journal.base import Index, Place

Opened = Callable[["Place", "Journal", Mapping[str, str]], "Index"]

ENGINES: Mapping[str, str] = {
    # name: the module, whose function `opened` makes an index
    "pepys": "pepys.journal.index",
    "milvus": "pepys.journal.milvus",
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


class Indexes:
    """The indexes that a workspace has open. An engine that is missing is looked for again after a while."""

    def __init__(self, settings: Journal, env: Mapping[str, str]) -> None:
        self._settings, self._env = settings, env
        self._open: dict[Place, Index] = {}
        self._missing: tuple[BackendMissing, float] | None = None  # until when it is taken to be so

    def at(self, place: Place) -> Index:
        """The index of the store at *place*, opened once.

        Raises:
            BackendMissing: The engine is not installed.
        """
        if place not in self._open:
            if self._missing and time.monotonic() < self._missing[1]:
                raise self._missing[0]
            invalidate_caches()  # what is installed while a session runs is found without a restart
            try:
                self._open[place] = opened(self._settings.engine, place, self._settings, self._env)
            except BackendMissing as error:
                self._missing = error, time.monotonic() + PROBE_MEMORY_MS / 1000
                raise
        return self._open[place]

    def close(self) -> None:
        """Close them all."""
        while self._open:
            self._open.popitem()[1].close()
