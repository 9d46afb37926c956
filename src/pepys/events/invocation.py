"""Where the caller's own session ends for a call: before the event that makes it (spec 3, "Search corpus").

A host says which call that is, and says it at a time of its own: the event may not be in its file yet. Whatever is not
known counts against the caller, so that no event finds itself.
"""

from __future__ import annotations

from collections.abc import Iterator

from pepys.errors import InvalidEventArgument
from pepys.events.states import Node, Tree
from pepys.index.source import Source
from pepys.index.view import View
from pepys.model.context import Context
from pepys.recall import evidence, invocation


def cutoff(view: View, source: Source, made: Tree, context: Context) -> int:
    """The position in the caller's own session from which on nothing may be seen.

    It is that of the message that holds the call; else of the entry that the host names, or of the message whose calls
    that entry answers; else of the last message that waits for results of its calls, which may be the one that makes
    this call (by hand: only if it is newest). Where there is none, all of the file is older.

    Args:
        view: Where the session's rows are.
        source: The caller's own session.
        made: Its tree.
        context: Of the call.

    Raises:
        InvalidEventArgument: Nothing says which event makes the call.
    """
    for call in invocation.enclosing(context.tool_call_id):
        if (calling := _calling(view, source, call)) is not None:
            return calling
    if context.invocation_entry_id is not None and (named := made.find(context.invocation_entry_id)) is not None:
        return _asking(view, source, made, named)
    if context.tool_call_id is not None or context.invocation_entry_id is not None:
        waiting = next(_waiting(view, source, made), None)
    elif context.by_hand:
        # A person asks, or a command that a tool runs: then the tool's call is the newest thing there is.
        waiting = _newest(view, source, made)
    else:
        raise InvalidEventArgument("Current session retrieval requires an invocation cutoff.")
    return len(made.nodes) if waiting is None else waiting


def _calling(view: View, source: Source, call: str) -> int | None:
    """The last model's message with a call, else the first entry that names it."""
    messages = invocation.messages(view, source, call)
    # A result names the call too, but never comes before it.
    return messages[-1].position if messages else min(invocation.named(view, source, call), default=None)


def _asking(view: View, source: Source, made: Tree, named: Node) -> int:
    """Where the entry that a host names cuts off: a result of one call may be newest while another call runs."""
    if named.role == "toolResult":
        above = next((node for node in made.ancestors(named.position) if node.role == "assistant"), None)
        if above is not None and _waits(view, source, above.position):
            return min(above.position, named.position)
    return named.position


def _newest(view: View, source: Source, made: Tree) -> int | None:
    """The message that the selected path ends in, results of it aside, if it waits for more results."""
    path = reversed(list(made.path))
    node = next((node for node in path if node.role in ("user", "assistant")), None)
    waits = node is not None and node.role == "assistant" and _waits(view, source, node.position)
    return node.position if node is not None and waits else None


def _waiting(view: View, source: Source, made: Tree) -> Iterator[int]:
    """The model's messages that wait for results of their calls, the last first; none that a conversation went on from.

    A host that was killed leaves such messages behind, and somebody may have gone on from them.
    """
    left_behind: set[str | None] = set()
    for node in reversed(made.nodes):
        gone_on = node.id in left_behind
        if gone_on or node.role in ("user", "assistant"):
            left_behind.add(node.parent)
        if node.role == "assistant" and not gone_on and _waits(view, source, node.position):
            yield node.position


def _waits(view: View, source: Source, position: int) -> bool:
    """Whether some call of a message has no result."""
    (event,) = evidence.events([(source, row) for row in invocation.rows(view, source, [position])]) or ("",)
    if isinstance(event, str):
        return True
    calls = [block.call for block in event.entry.blocks if block.kind == "call"]
    return any(call is None or not _answered(view, source, call) for call in calls)


def _answered(view: View, source: Source, call: str) -> bool:
    return any(row.role == "toolResult" for row in invocation.rows(view, source, invocation.named(view, source, call)))
