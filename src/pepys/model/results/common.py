"""Parts that results have in common."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar, dataclass_transform

from pepys.model.query import about

T = TypeVar("T")


@dataclass_transform(kw_only_default=True, field_specifiers=(field,))
def declared(cls: type[T]) -> type[T]:
    """*cls* as a dataclass that nobody can make: writing constructors for all of them would take longer than a call."""
    return dataclass(init=False, repr=False, eq=False)(cls)


def spelled(name: str, text: str, **schema: Any) -> Mapping[str, Any]:
    """Field metadata, as `about` makes it, of a field whose JSON name is not camelCase."""
    return {**about(text, **schema), "name": name}


def failure(text: str) -> Any:
    """A field for the error that a result carries. Some codes have more fields than the declared ones."""
    return field(default=None, metadata=about(text, additionalProperties=True))


def masks() -> Any:
    """A field for the number of credentials that are masked."""
    return field(default=None, metadata=about("How many credentials are masked in it."))


@declared
class Failure:
    """An error, as every surface has it."""

    code: str = field(metadata=about("Which error it is."))
    message: str = field(metadata=about("What is wrong."))
    hint: str | None = field(default=None, metadata=about("What to do about it."))


@declared
class Call:
    """A ready call."""

    ref: str = field(metadata=about("The action."))
    args: Mapping[str, Any] = field(metadata=about("Its arguments; pass them as they are."))


def diagnostics() -> Any:
    """A field for what could not be read in sources."""
    return field(default=None, metadata=about("What in session files could not be read as it should: how often."))


def subagents_left_out() -> Any:
    """A field for the sessions of sub-agents that were not asked for."""
    return field(default=None, metadata=about("Sessions of sub-agents that were not searched."))


def own_left_out() -> Any:
    """A field for what Pepys wrote and was not asked for."""
    return field(default=None, metadata=about("Entries that Pepys itself wrote, and that were not searched."))
