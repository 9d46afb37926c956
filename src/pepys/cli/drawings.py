"""Drawings on a terminal, or wherever else output goes."""

from __future__ import annotations

import locale
import os
from collections.abc import Iterable, Mapping

from pepys.cli.output import Output, Span
from pepys.events.drawing import ASCII, INK, Line, Look, Paper

STYLES: Mapping[Look, str] = {
    "line": "dim",
    "id": "cyan",
    "what": "bold",
    "mark": "yellow",
    "note": "dim",
    "text": "",
}


def paper(out: Output) -> Paper:
    """What there is to draw on: a terminal is as wide as it is, and may know no box characters; all else is ASCII."""
    if not out.stdout.isatty():
        return Paper(None, ASCII)
    try:
        width = os.get_terminal_size(out.stdout.fileno()).columns or 80
    except (OSError, ValueError):
        width = 80
    return Paper(width, INK if locale.getencoding().lower().replace("-", "") == "utf8" else ASCII)


def show(lines: Iterable[Line], out: Output) -> None:
    """Print a drawing."""
    for line in lines:
        out.line(*spans(line))


def spans(line: Line) -> list[Span]:
    """One line of a drawing."""
    return [Span(run.text, STYLES[run.look]) for run in line]
