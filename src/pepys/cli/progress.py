"""A progress bar for indexing, for people who look at a terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pepys.cli.output import Output
    from pepys.model.context import Progress


@contextmanager
def shown(out: Output) -> Iterator[Callable[[Progress], None] | None]:
    """A callback that draws a bar on stderr from its first call on; None when stderr is no terminal."""
    if not out.stderr.isatty():
        yield None
        return
    bar = _Bar(out)
    try:
        yield bar.update
    finally:
        bar.close()


class _Bar:
    def __init__(self, out: Output) -> None:
        self.out = out
        self.stop: Callable[[], None] | None = None
        self.draw: Callable[[Progress], None] | None = None

    def update(self, progress: Progress) -> None:
        if self.draw is None:
            self._start()
        if self.draw is not None:
            self.draw(progress)

    def close(self) -> None:
        if self.stop is not None:
            self.stop()

    def _start(self) -> None:
        # Most calls index nothing, and then rich is never imported.
        from rich.console import Console
        from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

        bar = Progress(
            TextColumn("Indexing"),
            BarColumn(),
            DownloadColumn(),
            TextColumn("{task.fields[sources]} sessions"),
            TimeRemainingColumn(),
            console=Console(file=self.out.stderr, no_color=not self.out.color),
            transient=True,
        )
        task = bar.add_task("", total=None, sources="")
        bar.start()
        self.stop = bar.stop

        def draw(at: object) -> None:
            bar.update(
                task,
                completed=at.done_bytes,  # type: ignore[attr-defined]
                total=at.total_bytes,  # type: ignore[attr-defined]
                sources=f"{at.done_sources}/{at.total_sources}",  # type: ignore[attr-defined]
            )

        self.draw = draw
