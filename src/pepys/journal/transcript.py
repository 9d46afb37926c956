"""The third layer of recall: the conversation around a memory, read from its session file and from nothing else.

It works with the index gone and with every backend missing (spec 4, "Recall" and "Degradation").
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from pepys import paths
from pepys.errors import AddressNotFound, AmbiguousAddress, InvalidArgument, SourceUnavailable
from pepys.journal import sessions
from pepys.journal.constants import CALL_ARGUMENT_CHARS, CALL_ARGUMENTS, TURN_CHARS
from pepys.journal.entries import Anchor
from pepys.journal.sessions import Session
from pepys.model.context import Context
from pepys.model.entry import Block, Entry
from pepys.model.journal import TranscriptRequest
from pepys.normalise import arguments

CUT = "[... turn truncated ...]"


class Turn(NamedTuple):
    """A message that a person would call one."""

    id: str
    role: str  # user, assistant
    time: int | None  # ms since the epoch
    text: str


def transcript(context: Context, request: TranscriptRequest) -> dict[str, object]:
    """The turns around the entry that a memory is anchored to, along the branch that it lies on.

    A later fork does not change what is read: the branch goes on to the last entry that descends from the memory's.

    Raises:
        SourceUnavailable: There is no such file, it cannot be read, or it is no session.
        AddressNotFound: No entry's id begins so.
        AmbiguousAddress: Several do.
    """
    path = _placed(request.transcript_path, context)
    session = sessions.read(path, context)
    if not session.entries and sessions.header(path, context) is None:
        raise SourceUnavailable(
            f"{path} is no session: no line of it is one of a host's.",
            hint="Name the session's file, as an anchor does.",
        )
    target = None if request.turn is None else _entry(session, request.turn)
    branch = session.branch(session.leaf() if target is None else session.tip(target))
    shown = list(turns(branch))
    focus = None if target is None else _nearest(branch, shown, target)
    if focus is None:
        chosen = shown[-request.limit :] if target is None else []
    else:
        chosen = shown[max(0, focus - request.context) : focus + request.context + 1]
    focused = None if focus is None else shown[focus].id
    text = "\n\n".join(_printed(turn, target=turn.id == focused) for turn in chosen)
    return {
        "text": text or f"no renderable turns in {path}",
        "transcript": path,
        "session": session.id,
        "turns": [
            {"id": turn.id, "role": turn.role, "time": turn.time, "text": turn.text, "target": turn.id == focused}
            for turn in chosen
        ],
    }


def _placed(given: str, context: Context) -> str:
    if not given.strip():
        raise InvalidArgument("transcript_path is empty.")
    named = Anchor("", "", str(paths.expand(given.strip(), context.env, context.cwd)))
    path = named.file()
    if Path(path).is_dir():
        raise SourceUnavailable(f"{path} is a directory.", hint="Name the session's file, which an anchor holds.")
    if not Path(path).is_file():
        raise SourceUnavailable(f"There is no transcript {named.transcript}.")
    return path


def _entry(session: Session, turn: str) -> str:
    if not turn.strip():
        raise InvalidArgument("turn is empty.")
    if turn in session.entries:
        return turn
    found = [id_ for id_ in session.entries if id_.startswith(turn)]
    if not found:
        raise AddressNotFound(f"No entry of {session.path} has an id that begins with {turn}.")
    if len(found) > 1:
        raise AmbiguousAddress(f"{len(found)} entries of {session.path} have ids that begin with {turn}.")
    return found[0]


def turns(branch: list[Entry]) -> Iterator[Turn]:
    """The messages of users and models in *branch* that hold visible text; thinking and results are left out."""
    for entry in branch:
        if entry.type == "message" and entry.role in ("user", "assistant"):
            text = "\n".join(part for block in entry.blocks if (part := _visible(block)))
            if text:
                yield Turn(entry.id or "", entry.role, entry.time, _bounded(text))


def _visible(block: Block) -> str:
    if block.kind == "text":
        return block.text.strip()
    return call_line(block) if block.kind == "call" else ""


def call_line(call: Block) -> str:
    """A call on one line: its name and its first arguments, each cut."""
    given = call.arguments if isinstance(call.arguments, dict) else {}
    shown = [f"{name}={_short(value)}" for name, value in list(given.items())[:CALL_ARGUMENTS]]
    return f"{call.name or 'tool'}({', '.join([*shown, *(['…'] if len(given) > CALL_ARGUMENTS else [])])})"


def _short(value: object) -> str:
    text = " ".join((value if isinstance(value, str) else "null" if value is None else arguments(value)).split())
    return text if len(text) <= CALL_ARGUMENT_CHARS else text[:CALL_ARGUMENT_CHARS] + "…"


def _bounded(text: str) -> str:
    return text if len(text) <= TURN_CHARS else f"{text[:TURN_CHARS]}\n{CUT}"


def _nearest(branch: list[Entry], shown: list[Turn], target: str) -> int | None:
    """The turn at or before the entry *target*, else the first one."""
    places = {entry.id: at for at, entry in enumerate(branch)}
    at = places.get(target, -1)
    before = [number for number, turn in enumerate(shown) if places[turn.id] <= at]
    return before[-1] if before else 0 if shown else None


def _printed(turn: Turn, *, target: bool) -> str:
    name = "User" if turn.role == "user" else "Assistant"
    return f"[{name}] {clock(turn.time)}{' (target)' if target else ''}\n{turn.text}"


def clock(time: int | None) -> str:
    """`HH:MM`, local."""
    if time is None:
        return "--:--"
    try:
        return f"{datetime.fromtimestamp(time / 1000):%H:%M}"
    except (OverflowError, OSError, ValueError):
        return "--:--"
