"""Catalog and text of one index, opened together: of one moment for readers, of one mind for the writer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pepys.index.catalog import Catalog
from pepys.index.directory import TRIES, Directory
from pepys.index.engines.tantivy import TantivyEngine
from pepys.index.source import Source
from pepys.index.standing import Known


@dataclass(slots=True)
class Stores:
    """Both stores, open for reading."""

    identity: tuple[int, int]
    catalog: Catalog
    engine: TantivyEngine
    _version: int | None = None
    _known: dict[str, Source] = field(default_factory=dict)
    standings: Known = field(default_factory=dict)
    trees: dict[int, object] = field(default_factory=dict)  # by generation; they grow as their sources do

    def consistent(self) -> tuple[Mapping[str, Source], frozenset[int]]:
        """Sources and garbage as of one moment, the text being of the same moment.

        A writer says in the catalog what it is about to do to the text before it commits text: if nothing was
        committed to the catalog around the opening of the text, the two belong together. The catalog stays at that
        moment until it is released, so that rows do not change while an answer is made of them.
        """
        for _ in range(TRIES):
            version = self.catalog.version()
            known, garbage = self.known(), self.catalog.garbage()
            self.engine.reload()
            self.catalog.hold()
            if self.catalog.version() == version:
                break
            self.catalog.release()
        return known, garbage

    def known(self) -> Mapping[str, Source]:
        """All sources by path, read again only when somebody has committed."""
        version = self.catalog.version()
        if version != self._version:
            self._known = {source.path: source for source in self.catalog.sources()}
            self.standings = {}
            live = {source.generation for source in self._known.values()}
            self.trees = {generation: tree for generation, tree in self.trees.items() if generation in live}
            self._version = version
        return self._known


def readable(directory: Directory, identity: tuple[int, int]) -> Stores | None:
    """The stores, opened for reading; None while a writer makes them.

    Args:
        identity: Device and inode of the catalog.
    """
    catalog = Catalog(directory.file("catalog.sqlite"), writable=False)
    try:
        if catalog.meta("text") is not None:
            return Stores(identity, catalog, TantivyEngine(directory.file("text"), writable=False))
    except BaseException:
        catalog.close()
        raise
    catalog.close()
    return None


def writable(directory: Directory) -> tuple[Catalog, TantivyEngine]:
    """The stores, opened for writing, made where there are none. Only for the lock's holder.

    Raises:
        ValueError: They do not belong together.
    """
    catalog = Catalog(directory.file("catalog.sqlite"), writable=True)
    try:
        if catalog.meta("text") is None:
            # Just made: a text index beside it is none of its own.
            catalog.close()
            directory.wipe()
            catalog = Catalog(directory.file("catalog.sqlite"), writable=True)
        engine = TantivyEngine(directory.file("text"), writable=True)
        if not engine.documents and any(source.records for source in catalog.sources() if source.tier == "hot"):
            raise ValueError("the text index has lost its documents")
        catalog.remember("text", "text")
    except BaseException:
        catalog.close()
        raise
    return catalog, engine
