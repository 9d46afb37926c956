"""What a store of notes says, and how it is changed. Text in, text out; nothing is read or written here.

A note is a bullet: white space, `-` or `*`, at least one space or tab, text. Every other line is its author's, and
stays as it is: heading, prose, blank line, comment. So do line endings, and a last line without one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

MAX_CHARS = 500
"""Most code points of a note, once it is `clean`."""

HEADER = '<!-- Durable notes, one "- " line each. Edit them as you like: all other lines stay as they are. -->'
"""What a store begins with that Pepys made."""

_BOM = "\ufeff"
_BULLET = re.compile(r"([\s\ufeff]*[-*][ \t]+)(.*)", re.DOTALL)
_ENDING = re.compile(r"(\r?\n)")
_CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f]")
_SPACES = re.compile(r"[\s\ufeff]+")
_SURROGATES = re.compile("[\ud800-\udfff]")
_SENTENCE_ENDS = ".!?,;:"


def clean(text: str) -> str:
    """*text* as one line that can steer no terminal: control characters and runs of white space become a space.

    What is no character, as bytes that are not UTF-8, becomes U+FFFD.
    """
    return _SPACES.sub(" ", _CONTROLS.sub(" ", _SURROGATES.sub("\ufffd", text))).strip(" ")


def key(note: str) -> str:
    """What near-duplicates have in common: nothing but case, white space and punctuation at the end is ignored."""
    lowered = clean(note).lower()
    return lowered.rstrip(_SENTENCE_ENDS) or lowered


def notes(text: str) -> tuple[str, ...]:
    """The notes of a store in order, each `clean`."""
    return tuple(line.note for line in _lines(text) if line.note)


def held(note: str, among: Iterable[str]) -> str | None:
    """The first of *among* that is *note*, or a near-duplicate of it."""
    wanted = key(note)
    return next((other for other in among if key(other) == wanted), None)


def add(text: str, note: str) -> str:
    """*text* with one more note: after the last one where that is its last line, else at its end."""
    if not text:
        return f"{HEADER}\n\n- {note}\n"
    lines = _lines(text)
    last = max((at for at, line in enumerate(lines) if clean(line.body)), default=-1)
    end = len(lines) if lines[-1].body else len(lines) - 1  # before the final newline
    at = last + 1 if last >= 0 and lines[last].note else end
    # As the lines before it end; the first line, as those after it.
    ending = next((line.ending for line in (*reversed(lines[:at]), *lines) if line.ending), "\n")
    if at == len(lines):
        lines[-1] = lines[-1]._replace(ending=ending)
        lines.append(_Line(f"- {note}", ""))
    else:
        lines.insert(at, _Line(f"- {note}", ending))
    return _joined(lines)


def update(text: str, note: str, to: str) -> str:
    """*text* with *to* in the place of every *note*; the same text where they are equal."""
    if note == to:
        return text
    return _joined(line.saying(to) if line.note == note else line for line in _lines(text))


def forget(text: str, note: str) -> str:
    """*text* without any *note*."""
    lines = _lines(text)
    return _without(lines, {at for at, line in enumerate(lines) if line.note == note})


def merge(text: str, first: str, second: str, to: str) -> str:
    """*text* with *to* in the place of the first note that is *first*, and without any other *first* or *second*."""
    lines = _lines(text)
    place = next(at for at, line in enumerate(lines) if line.note == first)
    lines[place] = lines[place].saying(to)
    return _without(lines, {at for at, line in enumerate(lines) if at != place and line.note in (first, second)})


def clear(text: str) -> str:
    """*text* without notes."""
    lines = _lines(text)
    return _without(lines, {at for at, line in enumerate(lines) if line.note})


class _Line(NamedTuple):
    body: str
    ending: str  # of the last line: none
    note: str = ""  # empty: not a note
    bullet: str = ""  # what stands before the note

    def saying(self, note: str) -> _Line:
        """The same bullet with another text."""
        return self._replace(body=self.bullet + note, note=note)


def _lines(text: str) -> list[_Line]:
    parts = [*_ENDING.split(text), ""]
    return list(map(_line, parts[::2], parts[1::2]))


def _line(body: str, ending: str) -> _Line:
    bullet = _BULLET.fullmatch(body)
    return _Line(body, ending) if bullet is None else _Line(body, ending, clean(bullet[2]), bullet[1])


def _joined(lines: Iterable[_Line]) -> str:
    return "".join(line.body + line.ending for line in lines)


def _without(lines: list[_Line], gone: set[int]) -> str:
    kept = [line for at, line in enumerate(lines) if at not in gone]
    if 0 in gone and lines[0].body.startswith(_BOM):
        kept[:1] = [line._replace(body=_BOM + line.body) for line in kept[:1]]
    if kept and len(lines) - 1 in gone:
        # Like the line that ended the file before, the one that ends it now has no ending.
        kept[-1] = kept[-1]._replace(ending="")
    return _joined(kept)
