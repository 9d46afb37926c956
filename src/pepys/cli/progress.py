"""A progress bar for indexing, for people who look at a terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress as Bar

    from pepys.cli.output import Output
    from pepys.model.context import Progress

TEXT_WIDTH = 62
"""Columns that all the words and numbers take; a narrower terminal gets fewer of them."""


@contextmanager
def shown(out: Output, doing: str = "Indexing") -> Iterator[Callable[[Progress], None] | None]:
    """A callback that draws a bar on stderr from its first call on; None when stderr is no terminal."""
    if not out.stderr.isatty():
        yield None
        return
    bar = _Bar(out, doing)
    try:
        yield bar.update
    finally:
        bar.close()


class _Bar:
    def __init__(self, out: Output, doing: str) -> None:
        self.out, self.doing = out, doing
        self.bar: Bar | None = None

    def update(self, at: Progress) -> None:
        if self.bar is None:
            self.bar = self._start()
        sources = f"{at.done_sources}/{at.total_sources}"
        self.bar.update(self.bar.task_ids[0], completed=at.done_bytes, total=at.total_bytes, sources=sources)
        if at.done_sources >= at.total_sources:
            # What is printed next must not meet a bar that is still drawn.
            self.close()

    def close(self) -> None:
        if self.bar is not None:
            self.bar.stop()
            self.bar = None

    def _start(self) -> Bar:
        # Most calls index nothing, and then rich is never imported.
        from rich.console import Console
        from rich.progress import BarColumn, DownloadColumn, ProgressColumn, TextColumn, TimeRemainingColumn
        from rich.progress import Progress as Bar

        console = Console(file=self.out.stderr, no_color=not self.out.color)
        columns: list[ProgressColumn] = [TextColumn(self.doing), DownloadColumn(), TimeRemainingColumn()]
        # A line that is full would be wrapped by the ^C that a terminal echoes, and then not be erased.
        if (room := console.width - TEXT_WIDTH) > 0:
            columns[1:1] = [BarColumn(bar_width=min(room, 40))]
            columns[3:3] = [TextColumn("{task.fields[sources]} sessions")]
        bar = Bar(*columns, console=console, transient=True)
        bar.add_task("", total=None, sources="")
        bar.start()
        return bar
