"""Where output goes: data to stdout, everything else to stderr, colours only to terminals."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple, TextIO

from pepys.text import printable

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from pepys.errors import PepysError


class Span(NamedTuple):
    """A run of text with one look."""

    text: str
    style: str = ""  # in rich's words: bold, dim, ...


MATCH = "bold yellow"


class Output:
    """The two streams of a command.

    Attributes:
        as_json: Whether stdout gets JSON; then it gets nothing else, not even for an error.
        color: Whether a terminal may get colours.
        lost: Why stdout did not take what it was given, for example of a full disk; None: it took everything.
            The command goes on: what it does besides printing must not be left half done.
    """

    def __init__(self, stdout: TextIO, stderr: TextIO, *, as_json: bool = False, color: bool = True) -> None:
        self.stdout = stdout
        self.stderr = stderr
        self.as_json = as_json
        self.color = color
        self.lost: OSError | None = None
        self._consoles: dict[TextIO, Console] = {}

    def json(self, value: object, *, stream: bool = False) -> None:
        """Print *value* as JSON: indented on a terminal, else, and in a *stream* of several, on one line."""
        from pepys.jsontext import json_text

        indent = 2 if self.stdout.isatty() and not stream else None
        self.text(json_text(value, indent) + "\n")

    def text(self, text: str) -> None:
        """Print *text* as it is: it is for programs."""
        with self._kept(self.stdout):
            self.stdout.write(text)

    def line(self, *spans: Span | str) -> None:
        """Print data for people. Control characters are made visible, wherever the text came from."""
        self._print(self.stdout, spans)

    def table(self, rows: Iterable[tuple[Sequence[Span], Sequence[Span], Sequence[Span]]]) -> None:
        """Print rows of cells for people at a terminal: a name, a value that keeps to its place, words that wrap."""
        from rich.table import Table

        console = self._console(self.stdout)
        table = Table.grid(padding=(0, 2, 0, 0))
        table.add_column(no_wrap=True)
        table.add_column(overflow="fold", max_width=console.width // 5)
        table.add_column(overflow="fold", ratio=1)
        for row in rows:
            table.add_row(*map(_assembled, row))
        with self._kept(self.stdout):
            console.print(table)

    def note(self, *spans: Span | str) -> None:
        """Say something that is not data, on stderr."""
        self._print(self.stderr, spans)

    def error(self, error: PepysError) -> None:
        """Show *error* the way this output is read: as JSON on stdout, or in words on stderr."""
        if self.as_json:
            self.json({"error": error.as_json()})
        else:
            self.note(Span("pepys: ", "bold red"), error.message)
            if error.hint:
                self.note(error.hint)
            candidates = error.details.get("candidates")
            for candidate in candidates if isinstance(candidates, list) else ():
                self.note(f"  {candidate}")

    def flush(self) -> None:
        """Hand everything over; a reader that is gone shows up here at the latest."""
        with self._kept(self.stdout):
            self.stdout.flush()

    def _print(self, stream: TextIO, spans: tuple[Span | str, ...]) -> None:
        with self._kept(stream):
            if stream.isatty():
                self._console(stream).print(_assembled(spans), soft_wrap=True)
            else:
                words = "".join(span.text if isinstance(span, Span) else span for span in spans)
                stream.write(printable(words) + "\n")

    @contextmanager
    def _kept(self, stream: TextIO) -> Iterator[None]:
        """Keep a failure to write; what stderr does not take, nobody can be told."""
        try:
            yield
        except BrokenPipeError:
            raise
        except OSError as error:
            if stream is self.stdout and self.lost is None:
                self.lost = error

    def _console(self, stream: TextIO) -> Console:
        if stream not in self._consoles:
            from rich.console import Console

            self._consoles[stream] = Console(file=stream, no_color=not self.color, highlight=False)
        return self._consoles[stream]


def _assembled(spans: Sequence[Span | str]) -> Text:
    from rich.text import Text

    runs = [span if isinstance(span, Span) else Span(span) for span in spans]
    return Text.assemble(*((printable(run.text), run.style) for run in runs))
