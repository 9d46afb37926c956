"""What of the notes goes into a model's context, within a cap (spec 5; the doctor tells by the same plan)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from pepys.model.notes import SCOPES, Scope

HEAD = (
    "[MEMORY]",
    "Durable notes from earlier sessions, as background; what the user says now comes first.",
)


class Plan(NamedTuple):
    """Which notes fit."""

    taken: Mapping[Scope, Sequence[str]]
    omitted: Sequence[tuple[Scope, str]]

    @property
    def body(self) -> str:
        """The text that is injected; empty where there are no notes."""
        if not any(self.taken.values()) and not self.omitted:
            return ""
        lines = [*HEAD]
        for scope, notes in self.taken.items():
            if notes:
                lines += [_section(scope), *map(_bullet, notes)]
        if self.omitted:
            lines.append(_tail(len(self.omitted)))
        return "\n".join(lines)

    @property
    def size(self) -> int:
        """Bytes of the body."""
        return _bytes(self.body)


def plan(notes: Mapping[Scope, Sequence[str]], max_bytes: int) -> Plan:
    """Choose the notes whose body has at most *max_bytes*, in their order.

    One that does not fit is passed over: a shorter one after it may. Where all fit, no room is kept for saying that
    some do not.
    """
    everything = Plan({scope: notes.get(scope, ()) for scope in SCOPES}, ())
    if everything.size <= max_bytes:
        return everything
    taken: dict[Scope, list[str]] = {scope: [] for scope in SCOPES}
    omitted: list[tuple[Scope, str]] = []
    # Each line costs itself and the line feed before it; the tail is at its longest when nothing fits.
    left = max_bytes - _bytes("\n".join(HEAD)) - _cost(_tail(sum(map(len, notes.values()))))
    for scope, of_scope in everything.taken.items():
        for note in of_scope:
            cost = _cost(_bullet(note)) + (0 if taken[scope] else _cost(_section(scope)))
            if cost <= left:
                taken[scope].append(note)
                left -= cost
            else:
                omitted.append((scope, note))
    return Plan(taken, omitted)


def _section(scope: Scope) -> str:
    return f"{scope}:"


def _bullet(note: str) -> str:
    return f"- {note}"


def _tail(omitted: int) -> str:
    return f"- (+{omitted} more; use the memory tool)"


def _cost(line: str) -> int:
    return 1 + _bytes(line)


def _bytes(text: str) -> int:
    return len(text.encode("utf-8"))
