"""What is to be done so that an index follows its store's files. Pure: reads nothing, changes nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from pepys.index.source import settled
from pepys.journal.ledger import Known
from pepys.model.source import Stamp


class Plan(NamedTuple):
    """Which files differ from their rows, by path relative to the store."""

    read: list[str]  # not indexed as they are now, the newest day first
    drop: list[str]  # indexed, and gone from the store

    @property
    def idle(self) -> bool:
        """Whether nothing is to be done."""
        return not self.read and not self.drop


def planned(listed: Mapping[str, Stamp], known: Mapping[str, Known], space: str, cut: str) -> Plan:
    """What a refresh does.

    Args:
        listed: The files of the store, all of them.
        known: What is indexed.
        space: Of the vectors that are wanted.
        cut: How chunks are to be made, as rows keep it.
    """
    behind = [path for path, stamp in listed.items() if not _current(known.get(path), stamp, space, cut)]
    return Plan(sorted(behind, reverse=True), [path for path in known if path not in listed])


def _current(known: Known | None, stamp: Stamp, space: str, cut: str) -> bool:
    return (
        known is not None
        and (known.stamp, known.space, known.cut) == (stamp, space, cut)
        and settled(stamp, known.examined_ns)
    )
