"""How names are spelled outside of Python, which known name was probably meant; sizes and counts in words."""

from __future__ import annotations

from collections.abc import Iterable


def camel(name: str) -> str:
    """The JSON spelling of a field name: `index_thinking` becomes `indexThinking`."""
    first, *rest = name.split("_")
    return first + "".join(part.capitalize() for part in rest)


def nearest(name: str, known: Iterable[str], count: int = 1, alike: float = 0.5) -> list[str]:
    """At most *count* of the *known* names that resemble *name*, the closest first.

    Args:
        alike: How much a name must resemble it: 1 is equal, 0 has nothing in common.
    """
    import difflib

    by_folded = {other.lower(): other for other in known}
    close = difflib.get_close_matches(name.lower(), by_folded, n=count, cutoff=alike)
    return [by_folded[folded] for folded in close]


def suggestion(name: str, known: Iterable[str]) -> str:
    """` (did you mean x?)`, or nothing when no *known* name resembles *name*."""
    close = nearest(name, known)
    return f" (did you mean {close[0]}?)" if close else ""


def counted(count: int, one: str, many: str = "") -> str:
    """So many things: `1 note`, `2 notes`; the other arguments are those of `form`."""
    return f"{count} {form(count, one, many)}"


def form(count: int, one: str, many: str = "") -> str:
    """The words for so many things, without their number.

    Args:
        one: The words for one; what else depends on the number may be among them, such as a verb.
        many: The words for any other number; empty for *one* with an s.
    """
    return one if count == 1 else many or one + "s"


def size(count: float) -> str:
    """A number of bytes for people."""
    for unit in ("bytes", "kB", "MB"):
        if count < 1000:
            return f"{count:.0f} {unit}" if unit == "bytes" or count >= 100 else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:.1f} GB"
