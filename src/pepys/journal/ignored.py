"""Rules by which files are left out of an index, in the language of `.gitignore`. Pure: `files` applies them.

A later rule wins over an earlier one, and `!` takes a file back in, unless a directory above it is left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple


class Rule(NamedTuple):
    """One line that says something."""

    pattern: re.Pattern[str]  # of a path relative to where the rule stands, `/` between its parts
    ignores: bool  # false: it takes in again
    directories: bool  # it is about directories alone


def rules(lines: Iterable[str]) -> tuple[Rule, ...]:
    """The rules that *lines* hold, in order; blank lines and comments are none."""
    return tuple(_rules(lines))


def verdict(given: Sequence[Rule], path: str, *, directory: bool) -> bool | None:
    """Whether *given* leave *path* out: what the last rule that matches says. None: no rule does."""
    for rule in reversed(given):
        if (directory or not rule.directories) and rule.pattern.fullmatch(path):
            return rule.ignores
    return None


def _rules(lines: Iterable[str]) -> Iterator[Rule]:
    for line in lines:
        said = re.sub(r"(?<!\\)[ \t]+$", "", line.rstrip("\r\n"))
        if not said or said.startswith("#"):
            continue
        ignores = not said.startswith("!")
        said = said if ignores else said[1:]
        bare = said.removesuffix("/")
        if not bare.strip("/"):
            continue
        # A slash that is not the last character ties a rule to the directory in which it stands.
        tied = bare if "/" in bare else f"**/{bare}"
        yield Rule(_compiled(tied.removeprefix("/")), ignores, said != bare)


def _compiled(glob: str) -> re.Pattern[str]:
    made, parts = [], glob.split("/")
    for number, part in enumerate(parts):
        last = number == len(parts) - 1
        if len(part) > 1 and not part.strip("*"):
            made.append(".+" if last else "(?:[^/]+/)*")
        else:
            made.append(_part(part) + ("" if last else "/"))
    try:
        return re.compile("".join(made), re.DOTALL)
    except re.error:  # a range that runs backwards
        return re.compile(re.escape(glob))


_TOKEN = re.compile(r"\\(?P<literal>.)|\[(?P<negated>[!^]?)(?P<set>\]?[^\]]*)\]|(?P<stars>\*+)|(?P<one>\?)", re.DOTALL)


def _part(glob: str) -> str:
    """The expression for what stands between two slashes."""
    made, at = [], 0
    for found in _TOKEN.finditer(glob):
        made.append(re.escape(glob[at : found.start()]))
        if found["literal"] is not None:
            made.append(re.escape(found["literal"]))
        elif found["set"] is not None:
            inside = re.sub(r"([\\\[\]&~|^])", r"\\\1", found["set"])
            made.append(f"[^/{inside}]" if found["negated"] else f"(?!/)[{inside}]")
        else:
            made.append("[^/]*" if found["stars"] else "[^/]")
        at = found.end()
    return "".join((*made, re.escape(glob[at:])))
