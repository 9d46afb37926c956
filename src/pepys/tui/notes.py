"""The picker of notes on a terminal. What a key does, and what is shown, `notes.picker` decides."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from rich.text import Text
from textual import events
from textual.app import App, ComposeResult
from textual.widgets import Static

from pepys.errors import PepysError

Json = dict[str, Any]

STYLES: Mapping[str, str] = {
    "": "",
    "title": "bold",
    "dim": "dim",
    "tag": "cyan",
    "focus": "bold",
    "mark": "yellow",
    "error": "red",
    "cursor": "reverse",
}
"""The looks of the picker, in rich's words."""


class _Screenful(Static, can_focus=True):
    """Where the lines are; it takes every key, so that none means anything but what the picker says."""

    DEFAULT_CSS = "_Screenful { height: 1fr; background: transparent; text-wrap: nowrap; }"


class Picker(App[None]):
    """Shows the lines of each step until one is the last.

    Args:
        step: Calls `notes.picker` with these arguments.

    Attributes:
        failure: What ended it, if not a key.
    """

    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar = []
    CSS = "Screen { background: transparent; }"

    def __init__(self, step: Callable[[Json], Json], *, color: bool = True) -> None:
        super().__init__(ansi_color=True)
        self._step, self._color = step, color
        self._state: Json | None = None
        self._columns, self._rows = 0, 0
        self.failure: PepysError | None = None

    def compose(self) -> ComposeResult:
        """One widget fills the screen."""
        yield _Screenful()

    def on_mount(self) -> None:
        """Take the keys."""
        self.query_one(_Screenful).focus()

    def on_resize(self, event: events.Resize) -> None:
        """Draw for a new size, the first one too."""
        self._columns, self._rows = event.size
        self._turn({})

    async def on_event(self, event: events.Event) -> None:
        """Take keys before anything else does."""
        if isinstance(event, events.Key):
            typed = event.character if event.is_printable else None
            self._turn({"text": typed} if typed else {"key": event.key})
        elif isinstance(event, events.Paste):
            self._turn({"text": event.text})
        elif isinstance(event, (events.MouseScrollUp, events.MouseScrollDown)):
            self._turn({"key": "wheelup" if isinstance(event, events.MouseScrollUp) else "wheeldown"})
        else:
            await super().on_event(event)

    def _turn(self, typed: Json) -> None:
        if not self._columns or not self._rows:
            return
        given = {**typed, "width": self._columns, "height": self._rows}
        if self._state is not None:
            given["state"] = self._state
        try:
            shown = self._step(given)
        except PepysError as error:
            self.failure = error
            self.exit()
            return
        self._state = shown["state"]
        if shown["closed"]:
            self.exit()
            return
        lines = [Text.assemble(*((text, self._look(style)) for text, style in line)) for line in shown["lines"]]
        self.query_one(_Screenful).update(Text("\n", no_wrap=True).join(lines))

    def _look(self, style: str) -> str:
        return STYLES[style] if self._color or style == "cursor" else ""
