"""Requests of the catalog of actions (spec 1, "Capability heads"). See `model.query` for how they are read."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pepys.model.query import about


@dataclass(frozen=True, slots=True)
class ProvidersRequest:
    """What `tools.providers` is asked: nothing."""


@dataclass(frozen=True, slots=True)
class CatalogRequest:
    """What `tools.catalog` is asked."""

    provider: str | None = field(default=None, metadata=about("Only this provider's actions.", minLength=1))
    limit: int = field(default=1000, metadata=about("Most actions to return.", minimum=1, maximum=1000))


@dataclass(frozen=True, slots=True)
class ListRequest:
    """What `tools.list` is asked."""

    provider: str | None = field(default=None, metadata=about("Only this provider's actions.", minLength=1))


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """What `tools.search` is asked."""

    query: str = field(metadata=about("Words that describe what to do, or a part of a ref.", maxLength=4096))
    limit: int = field(default=30, metadata=about("Most actions to return.", minimum=1, maximum=100))


@dataclass(frozen=True, slots=True)
class DescribeRequest:
    """What `tools.describe` is asked."""

    ref: str = field(metadata=about("An action such as memory.recall; its bare name if only one has it.", minLength=1))


@dataclass(frozen=True, slots=True)
class CallRequest:
    """What `tools.call` is asked. A hit with its `follow`, or a page with its `next`, may stand in its place."""

    ref: str = field(metadata=about("The action to call, such as memory.expand.", minLength=1))
    args: Mapping[str, Any] | None = field(default=None, metadata=about("Its arguments."))
