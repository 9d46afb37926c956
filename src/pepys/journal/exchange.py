"""An exchange: from a user's prompt to the settled answer. Capture turns it into one entry (spec 4, "Capture")."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from pepys.journal.constants import EXCHANGE_CHARS, EXCHANGE_HEAD_CHARS, EXCHANGE_TAIL_CHARS
from pepys.journal.sessions import Session
from pepys.journal.transcript import call_line
from pepys.model.entry import Entry

CUT = "\n\n[... exchange truncated ...]\n\n"

_ROLES = ("user", "assistant", "toolResult", "bashExecution", "pythonExecution")
_RESULT_CHARS = 2000
_UNSETTLED = "toolUse"


class Exchange(NamedTuple):
    """Messages of one branch, in order; at least one."""

    messages: tuple[Entry, ...]

    @property
    def last(self) -> Entry:
        """What the anchor names."""
        return self.messages[-1]

    @property
    def ends(self) -> tuple[str, ...]:
        """The last answer and what came after it: what the anchor of its entry may name. All, where nobody answered."""
        last = next((at for at, entry in reversed(list(enumerate(self.messages))) if entry.role == "assistant"), 0)
        return tuple(entry.id for entry in self.messages[last:] if entry.id)

    @property
    def settled(self) -> bool:
        """Whether the model has answered, and was not about to use a tool."""
        answers = [entry for entry in self.messages if entry.role == "assistant"]
        return bool(answers) and answers[-1].stop != _UNSETTLED and self.last.role not in ("user", "toolResult")

    @property
    def rejected(self) -> str:
        """Why there is nothing to capture; empty where there is (the two gates of spec 4)."""
        answers = [entry for entry in self.messages if entry.role == "assistant"]
        if not any(said(entry) for entry in answers):
            return "the assistant produced no text"
        if answers[-1].stop == "aborted":
            return "the run was aborted"
        return ""


def said(entry: Entry) -> str:
    """The text of a message."""
    return "\n".join(text for block in entry.blocks if block.kind == "text" and (text := block.text.strip()))


def since(session: Session, tip: str | None, captured: str | None) -> Exchange | None:
    """What a live session has settled: all messages after *captured*, else the last exchange; None when there is none.

    Args:
        tip: Of the branch that is live.
        captured: The last message that was looked at before; it counts only if it lies on that branch.
    """
    branch = session.branch(tip)
    ids = [entry.id for entry in branch]
    if captured in ids:
        messages = tuple(_messages(branch[ids.index(captured) + 1 :]))
        return Exchange(messages) if messages else None
    return next(reversed(exchanges(branch)), None)


def exchanges(branch: Sequence[Entry]) -> list[Exchange]:
    """The exchanges of a branch, in order. A prompt that steers a run which has not settled begins no new one."""
    made: list[list[Entry]] = []
    settled = True
    for entry in _messages(branch):
        if entry.role == "user" and settled:
            made.append([])
        if made:
            made[-1].append(entry)
        if entry.role == "assistant":
            settled = entry.stop != _UNSETTLED
    return [Exchange(tuple(messages)) for messages in made]


def past(session: Session) -> list[Exchange]:
    """Every exchange of a session that is not under way, of abandoned branches too, in the order of their answers.

    What was tried and given up was an exchange that settled, and a live session's capture has written it down as one.
    """
    parents = {entry.parent for entry in session.entries.values()}
    tips = [session.leaf(), *(id_ for id_ in session.entries if id_ not in parents)]
    found: dict[str, Exchange] = {}
    for tip in tips:
        made = exchanges(session.branch(tip))
        if made and not made[-1].settled:
            made = made[:-1]  # it is under way, or will be taken up again
        for one in made:
            found.setdefault(one.ends[0], one)  # branches that part later repeat it
    places = {id_: at for at, id_ in enumerate(session.entries)}
    return sorted(found.values(), key=lambda one: places[one.ends[0]])


def holding(session: Session, id_: str) -> Exchange | None:
    """The exchange that the entry *id_* belongs to; None when it belongs to none."""
    branch = session.branch(session.tip(id_))
    places = {entry.id: at for at, entry in enumerate(branch)}
    found = None
    for exchange in exchanges(branch):
        if places[exchange.messages[0].id] <= places[id_]:
            found = exchange
    return found


def _messages(entries: Sequence[Entry]) -> Iterator[Entry]:
    # What extensions put into a session is of other types, so that memory never captures memory.
    return (entry for entry in entries if entry.type == "message" and entry.role in _ROLES)


def printed(exchange: Exchange) -> str:
    """The exchange as a model is given it, within its bound: the beginning, and much of the end."""
    text = "\n\n".join(part for entry in exchange.messages if (part := _printed(entry)))
    if len(text) <= EXCHANGE_CHARS:
        return text
    return text[:EXCHANGE_HEAD_CHARS] + CUT + text[-EXCHANGE_TAIL_CHARS:]


def _printed(entry: Entry) -> str:
    match entry.role:
        case "user":
            return f"[User]\n{said(entry)}"
        case "assistant":
            parts = [
                block.text.strip() if block.kind == "text" else f"[calls {call_line(block)}]"
                for block in entry.blocks
                if block.kind == "call" or (block.kind == "text" and block.text.strip())
            ]
            return "[Agent]\n" + "\n".join(parts) if parts else ""
        case "toolResult":
            failed = ", failed" if entry.is_error else ""
            return f"[Result of {entry.tool or 'a tool'}{failed}]\n{said(entry)[:_RESULT_CHARS]}"
        case _:
            code = f" (exit {entry.exit_code})" if entry.exit_code else ""
            body = "\n".join(block.text for block in entry.blocks)
            return f"[The user ran{code}]\n{body[:_RESULT_CHARS]}"
