"""Engines: what indexes and searches text. A new one is one module and one row here."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from pepys.index.engines.base import Engine


def _scan(directory: str) -> Engine:
    from pepys.index.engines.scan import Scan

    return Scan()


def _tantivy(directory: str) -> Engine:
    from pepys.index.engines.tantivy import TantivyEngine

    return TantivyEngine(directory, writable=True)


ENGINES: Mapping[str, Callable[[str], Engine]] = {"scan": _scan, "tantivy": _tantivy}
"""Name -> opens the engine in a directory."""
