"""Workspaces that stay open while contexts come and go: what surfaces that serve many calls work with."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pepys import workspace
from pepys.actions import wire
from pepys.jsontext import json_text
from pepys.workspace import CIRCUMSTANCES, Workspace

if TYPE_CHECKING:
    from pepys.model.context import Progress
    from pepys.notes.stores import Views

MAX_OPEN = 4


class Workspaces:
    """Opened workspaces by the place that a context names, the ones used lately; others are closed again.

    They belong to the thread that uses them.
    """

    def __init__(
        self,
        base: Mapping[str, Any],
        cwd: Path,
        env: Mapping[str, str],
        progress: Callable[[Progress], None] | None = None,
        views: Views | None = None,
    ) -> None:
        """Nothing is opened yet.

        Args:
            base: Keywords of `workspace.open`; a context says more precisely what they say for all of them.
            views: Notes as they were last read; threads may share them, so that one reading anew is one for all.
        """
        self._base, self._cwd, self._env, self._progress = base, cwd, env, progress
        self._views: Views = {} if views is None else views
        self._opened: OrderedDict[str, Workspace] = OrderedDict()

    def get(self, context: Mapping[str, object], **circumstances: Any) -> Workspace:
        """The workspace for a call in *context* (see `actions.wire.CallContext`) and *circumstances*.

        Raises:
            InvalidArgument: The context cannot be read.
            InvalidConfiguration: Some configuration cannot be used.
        """
        stated = wire.read_context(context, self._cwd, self._env)
        place = {name: value for name, value in stated.items() if name not in CIRCUMSTANCES}
        key = json_text(sorted((name, repr(value)) for name, value in place.items()))
        if key not in self._opened:
            self._opened[key] = self._open(place)
            if len(self._opened) > MAX_OPEN:
                self._opened.popitem(last=False)[1].close()
        self._opened.move_to_end(key)
        of_call = {name: value for name, value in stated.items() if name in CIRCUMSTANCES}
        return self._opened[key].during(**of_call, **circumstances)

    def close(self) -> None:
        """Close all of them."""
        while self._opened:
            self._opened.popitem()[1].close()

    def _open(self, place: Mapping[str, Any]) -> Workspace:
        keywords = {"cwd": self._cwd, **self._base, **place}
        return workspace.open(**keywords, env=self._env, hurried=True, progress=self._progress, views=self._views)
