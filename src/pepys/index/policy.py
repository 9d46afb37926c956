"""What may become searchable of a session, how, and how much of it at a time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple

from pepys.model.entry import Field

Tier = Literal["hot", "cold"]
"""hot: searched entry by entry. cold: only by the digest of its words (spec 1, "Tiers, refresh, and work budgets")."""


class Policy(NamedTuple):
    """What may enter the index (spec 1, "Local-cache privacy" and "Configuration")."""

    thinking: bool = False
    output: bool = True
    hot_sessions: int | None = None  # most recently modified sources that are hot; None: all, without spec 1's budgets
    entry_chars: int | None = None  # code points of an entry that are searchable in a hot session; None: all
    vocabulary_bytes: int = 1 << 19  # of a digest's vocabulary
    cache_bytes: int = 1 << 20  # of a whole digest
    sync_sessions: int | None = None  # sources that one call brings up to date; None: all
    sync_bytes: int | None = None
    cleanup_files: int = 100_000  # names in the index directory that one call inspects

    def record(self, tier: Tier) -> str:
        """What a record of a source depends on besides the source itself."""
        if tier == "cold":
            kind = f"vocab:{self.vocabulary_bytes};cache:{self.cache_bytes}"
        else:
            kind = f"entry:{self.entry_chars or 'all'}"
        return f"{kind};thinking:{int(self.thinking)};tool-output:{int(self.output)}"

    def records(self) -> Mapping[Tier, str]:
        """`record` of both tiers."""
        return {"hot": self.record("hot"), "cold": self.record("cold")}

    def of_whole_entries(self) -> Policy:
        """The same, but that nothing is cut: for digests, and for sessions that are resolved."""
        return self._replace(entry_chars=None)


def outdated(made: str, wanted: str, lengths: Mapping[Field, int], *, cut: bool, longest: int) -> bool:
    """Whether a record made under one policy says something else than it would under another.

    A session without thinking need not be read again because thinking is now searchable.

    Args:
        made: `Policy.record` as of then.
        wanted: As of now.
        lengths: Characters that the source holds by field, searchable or not.
        cut: Whether some entry was cut.
        longest: Characters of its longest entry.
    """
    if made == wanted:
        return False
    was, now = (dict(part.split(":") for part in record.split(";")) for record in (made, wanted))
    if was.keys() != now.keys() or "entry" not in now:
        return True
    bound = now["entry"]
    return (
        (was["thinking"] != now["thinking"] and lengths.get("thinking", 0) > 0)
        or (was["tool-output"] != now["tool-output"] and lengths.get("output", 0) > 0)
        or (was["entry"] != bound and (cut or (bound != "all" and longest > int(bound))))
    )
