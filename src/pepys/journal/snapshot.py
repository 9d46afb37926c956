"""The stable snapshot: one block for the system prompt, the same bytes from one checkpoint to the next.

Providers cache prompts by their beginning. What is written in mid-session stands in the conversation already; putting
it into the prompt too would cost the cache on every write (spec 4, "Stable snapshot").
"""

from __future__ import annotations

import os
from datetime import date, timedelta
from typing import NamedTuple

from pepys.errors import StoreUnavailable
from pepys.journal import store
from pepys.journal.constants import TODAY_CHARS, YESTERDAY_CHARS

USAGE = """\
## Project memory

This project has a memory: daily markdown files that you and other agents write, one short entry an exchange. \
Exchanges are captured on their own when they settle. Call memory_write for what must not be lost: decisions, \
preferences, follow-ups, and whatever you are told to remember; look at the entries below first, so that nothing is \
written twice. Call memory_search before you ask the user again or decide again, memory_expand to read a whole memory, \
and memory_transcript for the conversation behind it. Memories may be stale: what the user says now, and what the code \
says, wins. The entries below are the newest ones as of the last checkpoint; no write refreshes them."""

TRUNCATED = "[earlier entries truncated]"


class Snapshot(NamedTuple):
    """A snapshot, and the local date that it was made on."""

    day: date
    text: str
    redacted: int | None  # when something of the store had last been forgotten, ns; None: nobody knows

    def holds(self, today: date, redactions: str) -> bool:
        """Whether no checkpoint has passed since: another day, or a redaction, be it by another process.

        A mark that is gone, with the whole index directory, is no redaction.
        """
        marked = _marked(redactions)
        return self.day == today and (marked is None or marked == self.redacted)


def _marked(path: str) -> int | None:
    try:
        return os.stat(path).st_mtime_ns
    except OSError:
        return None


def build(directory: str, today: date, redactions: str) -> Snapshot:
    """The snapshot of a store: what memory is for, the tail of today's file, the tail of yesterday's.

    A file that is there and cannot be read is said in its place: the other one still helps.

    Args:
        redactions: The file that is touched when something of the store is forgotten.
    """
    marked = _marked(redactions)
    parts = [USAGE]
    for name, day, budget in (
        ("Today", today, TODAY_CHARS),
        ("Yesterday", today - timedelta(days=1), YESTERDAY_CHARS),
    ):
        try:
            text = tail(store.read(store.day_file(directory, day)), budget)
        except StoreUnavailable as error:
            text = f"[cannot be read: {error.message}]"
        if text:
            parts.append(f"### {name} ({day.isoformat()})\n\n{text}")
    return Snapshot(today, "\n\n".join(parts), marked)


def tail(text: str, budget: int) -> str:
    """The last *budget* characters of *text*, from the beginning of a line; cut text says so.

    Where that would cost more than half of them, lines are long, and the first one is cut. Code points are counted,
    where the original counts UTF-16 units.
    """
    text = text.strip()
    if len(text) <= budget:
        return text
    kept = text[-budget:]
    if text[-budget - 1] != "\n":
        _, _, aligned = kept.partition("\n")
        kept = aligned if 2 * len(aligned) >= budget else kept
    return f"{TRUNCATED}\n{kept}"
