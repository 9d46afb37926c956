"""Rules by which files are left out of an index, in the language of `.gitignore`. Pure: `files` applies them.

A later rule wins over an earlier one, and `!` takes a file back in, unless a directory above it is left out. Where Git
and memsearch differ, which is about `/**` at the end of a rule, they mean what they mean to memsearch.
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
        if directory and rule.pattern.fullmatch(f"{path}/"):  # by `a/**`, of whose insides nothing is taken in again
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
        # To Git, `a/**/` is about directories. To memsearch it is not, and whoever differs must not take in more.
        yield Rule(_compiled(tied.removeprefix("/")), ignores, said != bare and not bare.endswith("/**"))


def _compiled(glob: str) -> re.Pattern[str]:
    """A pattern for whole paths. What a star leaves to its successor is decided once: no pattern takes for ever."""
    runs: list[list[str]] = [[]]  # of parts, between those that stand for any directories
    for part in glob.split("/"):
        if len(part) > 1 and not part.strip("*"):
            runs.append([])
        else:
            runs[-1].append(_part(part))
    first, *others = ("".join(f"{part}/" for part in run) for run in runs)
    if not others:
        made = first.removesuffix("/")
    else:
        *between, last = others
        some = "".join(f"(?>(?:[^/]+/)*?{run})" for run in between if run)
        made = first + some + (f"(?:[^/]+/)*{last.removesuffix('/')}" if last else ".*")
    try:
        return re.compile(made, re.DOTALL)
    except re.error:  # a range that runs backwards
        return re.compile(re.escape(glob))


_TOKEN = re.compile(r"\\(?P<literal>.)|\[(?P<negated>[!^]?)(?P<set>\]?[^\]]*)\]|(?P<stars>\*+)|(?P<one>\?)", re.DOTALL)


def _part(glob: str) -> str:
    """The expression for what stands between two slashes, which is never nothing."""
    if glob == "*":
        return "[^/]+"
    runs, at = [""], 0  # between stars
    for found in _TOKEN.finditer(glob):
        runs[-1] += re.escape(glob[at : found.start()])
        if found["literal"] is not None:
            runs[-1] += re.escape(found["literal"])
        elif found["set"] is not None:
            inside = re.sub(r"([\\\[\]&~|^])", r"\\\1", found["set"])
            runs[-1] += f"[^/{inside}]" if found["negated"] else f"(?!/)[{inside}]"
        elif found["stars"]:
            runs.append("")
        else:
            runs[-1] += "[^/]"
        at = found.end()
    runs[-1] += re.escape(glob[at:])
    first, *others = runs
    if not others:
        return first
    *between, last = others
    return first + "".join(f"(?>[^/]*?{run})" for run in between) + f"[^/]*{last}"
