"""What the formats share."""

from __future__ import annotations


class Malformed(Exception):
    """A text is not valid in its format, or cannot be changed as text; says where."""


def located(text: str, at: int) -> str:
    """Where in *text* the offset *at* is, for people: lines and columns from 1."""
    line = text.count("\n", 0, at) + 1
    return f"line {line}, column {at - (text.rfind(chr(10), 0, at) + 1) + 1}"


def newline(text: str) -> str:
    """How lines of *text* end."""
    return "\r\n" if "\r\n" in text else "\n"
