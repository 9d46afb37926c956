"""Bindings of a call token: the source and the lineage that it was made from (spec 1, "Compact results")."""

from __future__ import annotations

from pepys.errors import StalePointer
from pepys.index.source import Source
from pepys.index.standing import Standing


def check(source: Source, standing: Standing, source_hash: str | None, fingerprint: str | None) -> None:
    """Raise `StalePointer` unless source and lineage are the expected ones; None expects nothing."""
    lineage_differs = fingerprint is not None and fingerprint != standing.fingerprint
    if lineage_differs or (source_hash is not None and source_hash != source.sha256):
        raise StalePointer(
            f"The {'lineage' if lineage_differs else 'source'} of {source.path} has changed since this call was made.",
            hint="Recall again: the new hit carries a new call.",
            details={
                "sessionFile": source.path,
                "expectedSourceHash": source_hash,
                "actualSourceHash": source.sha256,
                "expectedLineageFingerprint": fingerprint,
                "actualLineageFingerprint": standing.fingerprint,
            },
        )
