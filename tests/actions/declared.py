"""A result with a field of every kind. Annotations are evaluated here, because `actions.schema` reads them."""

from collections.abc import Mapping
from dataclasses import field
from typing import Any, Literal

from pepys.model.query import about
from pepys.model.results.common import declared


@declared
class Numbered:
    """A part of it."""

    number: int = field(metadata=about("Its number."))


@declared
class Named:
    """Another one."""

    name: str = field(metadata=about("Its name."))


@declared
class Result:
    """As results are declared."""

    always: str | None = field(metadata=about("Text or null."))
    sometimes: str | None = field(default=None, metadata=about("Text or nothing."))
    kind: Literal["a", "b"] | None = field(metadata=about("A word or null."))
    part: Named | None = field(metadata=about("An object or null."))
    parts: tuple[Named | Numbered, ...] = field(metadata=about("Objects of either kind."))
    counts: Mapping[str, int] = field(metadata=about("Numbers by name."))
    value: Any = field(metadata=about("Anything."))
    either: bool | tuple[str, ...] | None = field(default=None, metadata=about("Yes or no, or names."))
