"""Every recorded session answers: each hit opens, and is stale after an append."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

import pepys
from pepys.errors import PepysError

SHARED = Path(__file__).parents[3] / "shared" / "fixtures"
COPIED = Path(__file__).parents[1] / "data"

SOURCES = [("pi", COPIED / "pi"), ("omp", COPIED / "omp"), ("pi", SHARED / "pi"), ("omp", SHARED / "omp"),
           ("pi", SHARED / "pi-public")]  # fmt: skip


@pytest.mark.parametrize(("host", "folder"), SOURCES, ids=lambda value: value if isinstance(value, str) else value.name)
def test_every_hit_opens_and_is_stale_after_an_append(tmp_path: Path, host: str, folder: Path) -> None:
    if not folder.exists():
        pytest.skip(f"{folder.name}: the shared recordings are not beside this checkout")
    sessions = tmp_path / "sessions"
    sessions.mkdir()
    files = [path for path in sorted(folder.rglob("*.jsonl")) if not path.name.startswith(".")]
    copies = [Path(shutil.copy(path, sessions / f"{number}.jsonl")) for number, path in enumerate(files)]
    assert copies

    with pepys.open(host=host, session_dirs=[sessions], index_dir=tmp_path / "index", env={"HOME": str(tmp_path)}) as w:
        stale = 0
        for path in copies:
            page: dict[str, Any] = w.call("memory.recall", {"scope": f"session:{path}", "pageSize": 50})
            for hit in page["hits"]:
                text = w.call(hit["follow"])["entries"][0]["text"]
                assert hit["snippet"].strip("…")[:200] in text
            if page["hits"]:
                with path.open("ab") as file:
                    file.write(b'\n{"type":"custom","id":"zz","parentId":null,"customType":"x"}\n')
                with pytest.raises(PepysError) as refused:
                    w.call(page["hits"][0]["follow"])
                stale += refused.value.code == "stale_pointer"
    assert stale > 0
