"""Entries that carry records of their own in their details."""

from __future__ import annotations

from pepys.model.entry import Event
from pepys.normalise.details import Children
from pepys.normalise.facts import facts
from pepys.normalise.operations import TOOL, operations

_NONE = Children()


def children(event: Event) -> Children:
    """The operations or facts that *event*'s entry carries, in their order, and what was wrong with its details.

    Details of another kind are no business of ours: they give neither. What one address means in several carriers is
    for the index to say; within one carrier it is rejected here.
    """
    entry = event.entry
    if entry.details is None or entry.id is None:  # nearly every line of a history
        return _NONE
    if entry.role == "toolResult" and entry.tool == TOOL:
        return operations(event)
    if entry.role == "branchSummary":
        return facts(event)
    return _NONE
