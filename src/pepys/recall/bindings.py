"""Bindings of a call token: the source and the lineage that it was made from (spec 1, "Compact results")."""

from __future__ import annotations

from pepys.errors import StalePointer
from pepys.index.source import Source
from pepys.index.standing import Standing


def check(source: Source, standing: Standing, source_hash: str | None, fingerprint: str | None) -> None:
    """Raise `StalePointer` unless source and lineage are the expected ones; None expects nothing."""
    changed = ["source"] * (source_hash not in (None, source.sha256))
    changed += ["lineage"] * (fingerprint not in (None, standing.fingerprint))
    if changed:
        raise StalePointer(
            f"The {' and the '.join(changed)} of {source.path} {_HAVE[len(changed)]} changed since this call was made.",
            hint="Recall again: the new hit carries a new call.",
            details={
                "sessionFile": source.path,
                "expectedSourceHash": source_hash,
                "actualSourceHash": source.sha256,
                "expectedLineageFingerprint": fingerprint,
                "actualLineageFingerprint": standing.fingerprint,
            },
        )


_HAVE = {1: "has", 2: "have"}
