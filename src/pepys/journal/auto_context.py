"""What of the memory goes beside a prompt, and what becomes of the process that looks for it (spec 4, "Auto-context").

Decisions only; `journal.sidecar` does. Every failure is no injection, and is counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

from pepys.journal.base import Hit
from pepys.journal.constants import (
    AUTO_CONTEXT_CHAR_BUDGET,
    AUTO_CONTEXT_QUERY_LIMIT,
    AUTO_CONTEXT_SCORE_FLOOR,
    AUTO_CONTEXT_TOP_K,
    MAX_SIDECAR_RESPAWNS,
    TIMEOUT_CRASH_THRESHOLD,
)
from pepys.journal.recall import printed

PREAMBLE = (
    "Memory that bears on this prompt, found by search. It may be stale: the conversation wins. memory_expand takes a "
    "chunk's hash."
)

Outcome = Literal["injected", "skippedBudget", "skippedEmpty", "skippedError"]


def query(prompt: str) -> str:
    """What is searched for: the prompt's first characters."""
    return prompt[:AUTO_CONTEXT_QUERY_LIMIT]


def message(hits: Sequence[Hit], snapshot: str) -> str:
    """What is injected: chunks as `memory_search` prints them, best first; "" where none bears on the prompt.

    Dropped are hits below the floor, and those whose text the model already has in *snapshot*. The budget holds for
    all that is injected, preamble included; a first chunk that is too long is cut, a later one left out.
    """
    chosen = [hit for hit in hits if hit.relevance >= AUTO_CONTEXT_SCORE_FLOOR and hit.chunk.text not in snapshot][
        :AUTO_CONTEXT_TOP_K
    ]
    for count in range(len(chosen), 0, -1):
        made = f"{PREAMBLE}\n\n{printed(chosen[:count])}"
        if len(made) <= AUTO_CONTEXT_CHAR_BUDGET or count == 1:
            return made[:AUTO_CONTEXT_CHAR_BUDGET]
    return ""


class Counters(NamedTuple):
    """What became of a session's prompts."""

    prompts: int = 0
    injected: int = 0
    skippedBudget: int = 0  # noqa: N815  (the specification's names)
    skippedEmpty: int = 0  # noqa: N815
    skippedError: int = 0  # noqa: N815
    last_injection_ms: int | None = None

    def after(self, outcome: Outcome, ms: int) -> Counters:
        """One more prompt."""
        made = self._replace(prompts=self.prompts + 1, **{outcome: getattr(self, outcome) + 1})
        return made._replace(last_injection_ms=ms) if outcome == "injected" else made


class Health(NamedTuple):
    """The state of a session's sidecar.

    `warming` -> `warm`; either -> `crashed`, from where the next prompt respawns it, or `gave up` when that was done
    too often: auto-context is then off for the session.
    """

    state: Literal["warming", "warm", "crashed", "gave up"] = "warming"
    respawns: int = 0
    misses: int = 0  # consecutive deadlines missed while warm

    def ready(self) -> Health:
        """It has loaded what it needs."""
        return self._replace(state="warm") if self.state == "warming" else self

    def served(self) -> Health:
        """It answered in time."""
        return self._replace(misses=0)

    def missed(self) -> Health:
        """A deadline passed without an answer. While it warms up that says nothing; three times in a row is a crash."""
        if self.state != "warm":
            return self
        if self.misses + 1 >= TIMEOUT_CRASH_THRESHOLD:
            return self.died()
        return self._replace(misses=self.misses + 1)

    def died(self) -> Health:
        """Its process ended, or is to."""
        spent = self.respawns >= MAX_SIDECAR_RESPAWNS
        return self._replace(state="gave up" if spent else "crashed", misses=0)

    def respawned(self) -> Health:
        """It was started again after a crash."""
        return Health(respawns=self.respawns + 1)
