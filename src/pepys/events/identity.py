"""How events are named to callers: by session and entry; by file where a session's files differ."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from pepys.events.trees import tree
from pepys.index.document import Place
from pepys.index.source import Row, Source
from pepys.index.view import View


def follow(ref: str, session: str, entry: str, **more: object) -> dict[str, object]:
    """A ready call about an event."""
    return {"ref": ref, "args": {"sessionId": session, "entryId": entry, **more}}


class Labels:
    """The names of some sources, of which several may be files of one session."""

    def __init__(self, sources: Iterable[Source]) -> None:
        """Take in all sources that an answer may name."""
        sources = list(sources)
        counts = Counter(source.session for source in sources)
        newest = sorted(sources, key=lambda source: (-source.stamp.mtime_ns, source.path))
        self._files: dict[str, list[Source]] = {}
        for source in newest:
            if counts[source.session] > 1:
                self._files.setdefault(source.session, []).append(source)

    def session(self, source: Source) -> str:
        """What a caller passes as `sessionId` to mean this source and no other."""
        return source.path if source.session in self._files else source.session

    def is_copy(self, view: View, source: Source, row: Row) -> bool:
        """Whether a newer file of the session holds the very same entry."""
        for other in self._files.get(source.session, ()):
            if other.path == source.path:
                return False
            node = tree(view, other).find(row.id)
            copy = None if node is None else view.row(Place(other.generation, node.position, 0))
            if copy is not None and (copy.type, copy.time, copy.crc) == (row.type, row.time, row.crc):
                return True
        return False
