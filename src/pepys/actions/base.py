"""What an action is, and what its function receives."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from pepys.index.history import History
    from pepys.journal.runtime import Runtime
    from pepys.model.context import Context
    from pepys.notes.stores import Views

Audience = Literal["model", "person", "host"]
"""Who may call an action. Only those for models become tools, guest calls and catalog entries."""


class Annotations(NamedTuple):
    """What calling an action can do to the world, in MCP's words."""

    read_only: bool
    destructive: bool
    idempotent: bool
    open_world: bool = False
    execution_mode: Literal["parallel", "sequential"] = "parallel"


class Action(NamedTuple):
    """One callable operation.

    `function`, `request` and `response` are `module:name`, loaded when they are first needed: defining the dataclasses
    of every request would cost each start-up more than most calls take.
    """

    ref: str  # such as memory.recall
    tool: str  # the name that agents see, such as session_recall
    title: str
    description: str  # one line, for a model that decides whether to call it
    function: str  # (parts, request) -> dict[str, object]
    request: str
    annotations: Annotations
    audience: Audience = "model"
    takes_token: bool = False  # a call token, a hit or a page may stand in place of its arguments
    response: str | None = None  # what its result is, where that is declared: a dataclass, or a tuple of one

    @property
    def provider(self) -> str:
        """What stands before the dot of its ref."""
        return self.ref.split(".", 1)[0]

    @property
    def name(self) -> str:
        """What stands after it."""
        return self.ref.split(".", 1)[1]


class Parts(NamedTuple):
    """What an action's function works with besides its request."""

    context: Context
    history: History
    guest: bool = False  # a guest program asks: it sees only what reads
    views: Views | None = None  # of the stores of notes, kept from call to call
    runtime: Callable[[], Runtime] | None = None  # the journal's; None where nobody can ask it
