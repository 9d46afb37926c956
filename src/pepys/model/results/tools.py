"""What the catalog of actions answers (spec 1), and what a program gives. See `model.results`."""

from collections.abc import Mapping
from dataclasses import field
from typing import Any, Literal

from pepys.model.query import about
from pepys.model.results.common import declared

Risk = Literal["read", "write", "destructive"]
Effect = Literal["none", "idempotent", "cumulative"]


@declared
class Provider:
    """A group of actions."""

    name: str = field(metadata=about("Its name."))
    description: str = field(metadata=about("What it is for."))


Providers = tuple[Provider, ...]
"""What `tools.providers` answers."""


@declared
class Row:
    """An action in one line."""

    ref: str = field(metadata=about("How it is called."))
    provider: str = field(metadata=about("Its provider."))
    name: str = field(metadata=about("Its name within the provider."))
    description: str = field(metadata=about("What it does."))
    risk: Risk = field(metadata=about("The worst that a call can do."))
    effect: Effect = field(metadata=about("What a call leaves behind."))


Rows = tuple[Row, ...]
"""What `tools.list` answers."""


@declared
class Description:
    """Everything about an action: what `tools.describe` answers."""

    ref: str = field(metadata=about("How it is called."))
    provider: str = field(metadata=about("Its provider."))
    name: str = field(metadata=about("Its name within the provider."))
    description: str = field(metadata=about("What it does."))
    input_schema: Mapping[str, Any] = field(metadata=about("JSON Schema of its arguments."))
    risk: Risk = field(metadata=about("The worst that a call can do."))
    effect: Effect = field(metadata=about("What a call leaves behind."))
    annotations: Mapping[str, Any] = field(metadata=about("What a call can do, in detail."))
    output_schema: Mapping[str, Any] | None = field(default=None, metadata=about("JSON Schema of its result."))


Descriptions = tuple[Description, ...]
"""What `tools.search` answers, the best first."""


@declared
class Head:
    """An action in the tree."""

    key: str = field(metadata=about("Its key."))
    parent_key: str = field(metadata=about("The key of its provider."))
    ref: str = field(metadata=about("How it is called."))
    name: str = field(metadata=about("Its name within the provider."))
    description: str = field(metadata=about("What it does."))
    risk: Risk = field(metadata=about("The worst that a call can do."))
    effect: Effect = field(metadata=about("What a call leaves behind."))
    descriptor_hash: str = field(metadata=about("Changes when its description does."))


@declared
class ProviderHead:
    """A provider in the tree."""

    key: str = field(metadata=about("Its key."))
    parent_key: str = field(metadata=about("The key of the root."))
    name: str = field(metadata=about("Its name."))
    description: str = field(metadata=about("What it is for."))
    descriptor_hash: str = field(metadata=about("Changes when anything below it does."))
    actions: tuple[Head, ...] = field(metadata=about("Its actions."))


@declared
class Root:
    """The root of the tree."""

    key: str = field(metadata=about("Its key."))
    name: str = field(metadata=about("Its name."))
    description: str = field(metadata=about("What it is."))
    descriptor_hash: str = field(metadata=about("Changes when anything in the tree does."))


@declared
class Catalog:
    """What `tools.catalog` answers."""

    kind: str = field(metadata=about("What this is."))
    version: int = field(metadata=about("Of this form."))
    root: Root = field(metadata=about("The root."))
    providers: tuple[ProviderHead, ...] = field(metadata=about("The providers."))
    total_actions: int = field(metadata=about("How many actions there are."))
    indexed_actions: int = field(metadata=about("How many of them are here."))
    complete: bool = field(metadata=about("Whether all are."))
    reasons: tuple[str, ...] | None = field(default=None, metadata=about("Why not."))


@declared
class Run:
    """What `guest.run` answers."""

    value: Any = field(metadata=about("What the program returned."))
    calls: int = field(metadata=about("How many actions it called."))
    output: str = field(metadata=about("What it printed."))
    output_truncated: bool | None = field(default=None, metadata=about("That it printed more."))
