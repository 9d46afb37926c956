"""A whole run of the benchmark of events over a tiny corpus."""

from __future__ import annotations

import json
from pathlib import Path

from bench.__main__ import main


def test_a_tiny_run_reports_every_figure(tmp_path: Path) -> None:
    out = tmp_path / "figures.json"

    tiny = "events --mb 4 --files 12 --queries 2 --appends 2"

    status = main([*tiny.split(), "--work", str(tmp_path), "--out", str(out)])

    figures = json.loads(out.read_text())
    assert status == 0
    assert figures.keys() == {"part", "whole", "search", "read", "trace", "fts5"}
    assert figures["whole"].keys() == {"corpus", "build", "index", "append"}
    assert figures["search"].keys() == figures["fts5"]["search"].keys()
    assert all(not kind["failed"] for kind in figures["search"].values())
    assert figures["part"]["append"]["n"] == 2
