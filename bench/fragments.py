"""What every engine is given: the documents that the product's own readers make, under its default policy."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from pepys import normalise
from pepys.hosts import HOSTS
from pepys.hosts.reading import examine
from pepys.index.document import Document, Place, document
from pepys.index.policy import Policy
from pepys.model.entry import Entry


def documents(paths: Iterable[str]) -> Iterator[Document]:
    """The documents of these session files, in order; a file is the generation that is its number from 1."""
    for generation, path in enumerate(paths, 1):
        for position, item in enumerate(examine(HOSTS["pi"], path, None).items()):
            if isinstance(item, Entry):
                event = normalise.event(item)
                if event.record:
                    yield document(Place(generation, position, 0), event, Policy())
