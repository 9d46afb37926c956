"""Retrieval on LoCoMo (Maharana et al., 2024), whose files are read where they lie and are no part of the project.

Every turn becomes an entry of a daily file. Conversations 26, 30 and 41 are for choosing, 42 and 43 for reporting.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from datetime import date
from pathlib import Path
from typing import Any

from bench.retrieval import SYSTEMS, Asked, figures, mean
from pepys.journal.base import Place
from pepys.journal.index import StoreIndex

HALVES = {"choose": ("26", "30", "41"), "report": ("42", "43")}
CATEGORIES = {1: "multi_hop", 2: "temporal", 3: "open_domain", 4: "single_hop", 5: "adversarial"}

_MONTHS = [f"{date(2026, month, 1):%B}" for month in range(1, 13)]
_WHEN = re.compile(r"(\d+):(\d+) ([ap])m on (\d+) (\w+), (\d+)")

Json = dict[str, Any]


def measured(directory: Path, work: Path, opened: Callable[[Place], StoreIndex], say: Callable[[str], None]) -> Json:
    """Figures of every system: all questions with evidence, and by category; adversarial ones apart.

    Args:
        directory: Of the data's files.
        work: Where stores and indexes are made.
        opened: Makes an index.
        say: Told what is being done.
    """
    made: Json = {}
    for half, names in HALVES.items():
        rows: dict[str, dict[str, list[dict[str, float]]]] = {name: {} for name in SYSTEMS}
        questions = 0
        for name in names:
            path = directory / f"{name}.json"
            if not path.exists():
                continue
            say(f"LoCoMo {name}")
            conversation = json.loads(path.read_text(encoding="utf-8"))
            store = work / f"locomo-{name}" / "memory"
            lines = _written(conversation, store)
            index = opened(Place(str(store), f"locomo_{name}", str(store.with_name("index")), str(store.parent)))
            index.refresh()
            named: dict[str, object] = {chunk.id: lines[Path(chunk.path).name, chunk.first] for chunk in index.chunks()}
            for category, asked in _asked(conversation):
                questions += category != "adversarial"
                for system, (row,) in figures(index, [asked], named, SYSTEMS).items():
                    rows[system].setdefault(category, []).append(row)
            index.close()
        if questions:
            made[half] = {"questions": questions, **{system: _summed(found) for system, found in rows.items()}}
    return made


def _summed(found: dict[str, list[dict[str, float]]]) -> Json:
    answerable = [row for category, rows in found.items() if category != "adversarial" for row in rows]
    return {
        **mean(answerable),
        "recall@10_by_category": {name: mean(rows)["recall@10"] for name, rows in found.items()},
    }


def _asked(conversation: Json) -> Iterator[tuple[str, Asked]]:
    for row in conversation["qa"]:
        if row.get("evidence"):
            yield CATEGORIES[row["category"]], Asked(row["question"], frozenset(row["evidence"]))


def _written(conversation: Json, store: Path) -> dict[tuple[str, int], object]:
    """Write a conversation as daily files; (file name, line of the heading) -> id of the turn."""
    store.mkdir(parents=True, exist_ok=True)
    where: dict[tuple[str, int], object] = {}
    names: set[str] = set()
    number = 1
    while f"session_{number}" in conversation:
        found = _WHEN.search(conversation[f"session_{number}_date_time"])
        assert found is not None
        hour = int(found[1]) % 12 + 12 * (found[3] == "p")
        name = f"{found[6]}-{_MONTHS.index(found[5]) + 1:02}-{int(found[4]):02}"
        name = f"{name}-{number}.md" if f"{name}.md" in names else f"{name}.md"
        names.add(name)
        lines = [f"## Session {hour:02}:{found[2]}", ""]
        for turn in conversation[f"session_{number}"]:
            where[name, len(lines) + 1] = turn["dia_id"]
            shared = f" [shares {turn['blip_caption']}]" if turn.get("blip_caption") else ""
            text = " ".join(turn["text"].split())
            lines += [f"### {hour:02}:{found[2]}", f"- {turn['speaker']}: {text}{shared}", ""]
        (store / name).write_text("\n".join(lines), encoding="utf-8")
        number += 1
    return where
