"""Over every recorded session: each event is read and traced, and found by the words of its fragments."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

import pepys
from pepys.events.snippet import collapsed
from pepys.hosts import HOSTS
from pepys.hosts.reading import examine
from pepys.model.entry import Entry
from tests.recall.diary import Json

SHARED = Path(__file__).parents[3] / "shared" / "fixtures"
COPIED = Path(__file__).parents[1] / "data"
RECORDINGS = [("pi", COPIED / "pi"), ("omp", COPIED / "omp"), ("pi", SHARED / "pi"), ("omp", SHARED / "omp"),
              ("pi", SHARED / "pi-public")]  # fmt: skip
MOST_A_FILE = 60


@pytest.fixture(params=RECORDINGS, ids=lambda of: f"{of[1].parent.name}-{of[1].name}")
def recorded(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str, list[Path]]:
    """The host, and copies of its recorded files side by side."""
    host, folder = request.param
    if not folder.exists():
        pytest.skip(f"{folder.name}: the shared recordings are not beside this checkout")
    sessions = tmp_path / "sessions"
    sessions.mkdir()
    files = [path for path in sorted(folder.rglob("*.jsonl")) if path.name[0] != "."]
    return host, [Path(shutil.copy(path, sessions / f"{at}.jsonl")) for at, path in enumerate(files)]


@pytest.fixture
def workspace(recorded: tuple[str, list[Path]], tmp_path: Path) -> Iterator[pepys.Workspace]:
    with pepys.open(
        host=recorded[0],
        session_dirs=[recorded[1][0].parent],
        index_dir=tmp_path / "index",
        workspace_root="/",
        env={"HOME": str(tmp_path)},
    ) as opened:
        yield opened


def test_every_event_is_read_traced_and_found(recorded: tuple[str, list[Path]], workspace: pepys.Workspace) -> None:
    read = found = 0
    for path in recorded[1]:
        entries = [item for item in examine(HOSTS[recorded[0]], str(path)).items() if isinstance(item, Entry)]
        if not any(source.path == str(path) and source.cwd for source in workspace.history.look().sources.values()):
            continue  # without a directory of its own, nobody may see it
        for id_ in dict.fromkeys(str(entry.id) for entry in entries[:MOST_A_FILE]):
            event = workspace.events.read(sessionId=str(path), entryId=id_)
            trace = workspace.events.trace(sessionId=str(path), entryId=id_)
            assert trace["target"]["branchState"] == event["branchState"]
            assert where(path, event).strip().startswith(b"{")
            read += 1
            for fragment in event["fragments"][:1]:
                found += self_found(workspace, path, id_, fragment)
    assert read > 0 < found


def where(path: Path, event: Json) -> bytes:
    return path.read_bytes()[event["source"]["byteStart"] : event["source"]["byteEnd"]]


def self_found(workspace: pepys.Workspace, path: Path, id_: str, fragment: Json) -> bool:
    """Whether an event is found by the first words of a fragment, as far as they can be asked for."""
    words = collapsed(fragment["preview"]["text"][:300].replace('"', " ")).split()[:4]
    asked = " ".join(words)
    if not any(char.isalnum() for char in asked) or len(asked) > 200:
        return False
    page = workspace.events.search(query=asked, sessionId=str(path), includeOwn=True)
    assert page["more"] or id_ in [hit["entryId"] for hit in page["hits"]], asked
    return True
