"""`.index-state.json` as memsearch writes it: other agents read it as the state of a collection (decision 16)."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pepys.journal.base import Place
from pepys.journal.scope import STATE_FILE, tree_root

_ERROR_CHARS = 2000


def path(place: Place, env: Mapping[str, str]) -> str | None:
    """Where memsearch would write it for a store; None: nowhere."""
    if place.state_dir:
        return os.path.join(place.state_dir, STATE_FILE)
    if override := env.get("MEMSEARCH_DIR"):
        return os.path.join(os.path.normpath(os.path.join(place.repository, override)), STATE_FILE)
    root = tree_root(place.store)
    return os.path.join(root, STATE_FILE) if root else None


class Run:
    """One indexing run, as it is recorded. A file that cannot be written fails no run."""

    def __init__(self, file: str | None, place: Place, milvus_uri: str) -> None:
        self._file = file
        self._known: dict[str, Any] = {
            "schema_version": 1,
            "operation": "index",
            "paths": [place.store],
            "collection": place.collection,
            "milvus_uri": milvus_uri,
            "last_started_at": _now(),
        }
        if success := _before(file).get("last_success_at"):
            self._known["last_success_at"] = success

    def running(self) -> None:
        """It has begun."""
        self._write("running", {})

    def done(self, *, files: int, chunks: int, failed: Mapping[str, str]) -> None:
        """It went through *files*, put in *chunks*, and *failed* at some files: path -> why."""
        now = _now()
        result: dict[str, Any] = {
            "last_completed_at": now,
            "indexed_chunks": chunks,
            "total_files": files,
            "indexed_files": files - len(failed),
            "failed_files": [{"path": path, "error": why[:_ERROR_CHARS]} for path, why in sorted(failed.items())],
        }
        if failed:
            result["last_failed_at"] = now
            result["last_error"] = f"{len(failed)} file(s) failed during indexing."
        else:
            result["last_success_at"] = now
        self._write("degraded" if failed else "ok", result)

    def failed(self, error: BaseException) -> None:
        """It ended before its time."""
        self._write(
            "error", {"last_failed_at": _now(), "last_error": f"{type(error).__name__}: {error}"[:_ERROR_CHARS]}
        )

    def _write(self, status: str, values: Mapping[str, Any]) -> None:
        if self._file is None:
            return
        text = json.dumps(
            {**self._known, **values, "status": status, "updated_at": _now()},
            indent=2,
            sort_keys=True,
            ensure_ascii=False,
        )
        directory = os.path.dirname(self._file)
        try:
            os.makedirs(directory, exist_ok=True)
            handle, temporary = tempfile.mkstemp(dir=directory, prefix=f"{STATE_FILE}.", suffix=".tmp")
            try:
                with open(handle, "w", encoding="utf-8") as file:
                    file.write(text + "\n")
                Path(temporary).chmod(0o644)  # other users' agents read it too
                Path(temporary).replace(self._file)
            except BaseException:
                Path(temporary).unlink(missing_ok=True)
                raise
        except OSError:
            return


def _before(file: str | None) -> dict[str, Any]:
    try:
        known = json.loads(Path(file).read_bytes()) if file else {}
    except (OSError, ValueError, RecursionError):
        return {}
    return known if isinstance(known, dict) else {}


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
