"""Over every recorded session: each hit opens and shows what it promised, and is stale after an append."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

import pepys
from pepys.errors import PepysError
from tests.recall.diary import Json, following, size, whole

SHARED = Path(__file__).parents[3] / "shared" / "fixtures"
COPIED = Path(__file__).parents[1] / "data"

RECORDINGS = [("pi", COPIED / "pi"), ("omp", COPIED / "omp"), ("pi", SHARED / "pi"), ("omp", SHARED / "omp"),
              ("pi", SHARED / "pi-public")]  # fmt: skip


@pytest.fixture(params=RECORDINGS, ids=lambda of: f"{of[1].parent.name}-{of[1].name}")
def recorded(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str, list[Path]]:
    """The host, and copies of all its recorded files, archives among them, side by side in one folder."""
    host, folder = request.param
    if not folder.exists():
        pytest.skip(f"{folder.name}: the shared recordings are not beside this checkout")
    sessions = tmp_path / "sessions"
    sessions.mkdir()
    files = [
        path for path in sorted(folder.rglob("*.jsonl*")) if path.suffix in (".jsonl", ".gz") and path.name[0] != "."
    ]
    copies = [
        Path(shutil.copy(path, sessions / f"{at}{path.name[path.name.index('.jsonl') :]}"))
        for at, path in enumerate(files)
    ]
    assert copies
    return host, copies


@pytest.fixture
def workspace(recorded: tuple[str, list[Path]], tmp_path: Path) -> Iterator[pepys.Workspace]:
    sessions = recorded[1][0].parent
    with pepys.open(
        host=recorded[0], session_dirs=[sessions], index_dir=tmp_path / "index", env={"HOME": str(tmp_path)}
    ) as opened:
        yield opened


@pytest.mark.parametrize("branches", ["active", "all"])
def test_every_hit_of_every_file_opens_on_the_text_it_was_quoted_from(
    recorded: tuple[str, list[Path]], workspace: pepys.Workspace, branches: str
) -> None:
    total = 0
    for path in recorded[1]:
        asked: Json = {"scope": f"session:{path}", "pageSize": 50, "branches": branches, "includeOwn": True}
        answers = list(following(workspace, "memory.recall", asked))
        hits = [hit for page in answers for hit in page["hits"]]
        total += len(hits)

        assert max(map(size, answers)) <= 30_000
        assert [hit["index"] for hit in hits] == list(range(answers[0]["total"]))
        for hit in hits:
            record = workspace.call(hit["follow"])["entries"][0]
            assert record["index"] == hit["index"]
            assert hit["snippet"].removesuffix("…") in record["text"] or shows_in_order(workspace, hit)
    assert total > 0


def shows_in_order(workspace: pepys.Workspace, hit: Json) -> bool:
    """Whether the whole record holds the lines of a snippet in order: expansion has private reasoning between them."""
    text = whole(following(workspace, "memory.expand", hit["follow"]["args"]))[hit["index"]]
    at = 0
    for line in hit["snippet"].removesuffix("…").split("\n"):
        at = text.find(line, at)
        if at < 0:
            return False
    return True


def test_every_record_comes_whole_however_small_the_chunks_are(
    recorded: tuple[str, list[Path]], workspace: pepys.Workspace
) -> None:
    for path in recorded[1]:
        count = workspace.call("memory.expand", {"session": str(path), "branches": "all"})["entryCount"]
        some: Json = {
            "session": str(path),
            "branches": "all",
            "indices": list(range(0, count, max(1, count // 20)))[:100],
        }

        small = whole(following(workspace, "memory.expand", {**some, "maxChars": 256, "maxEntries": 1}))
        large = whole(following(workspace, "memory.expand", {**some, "maxChars": 24_000, "maxEntries": 20}))

        assert small == large
        assert list(large) == some["indices"]


def test_a_hit_of_every_file_is_stale_after_an_append(
    recorded: tuple[str, list[Path]], workspace: pepys.Workspace
) -> None:
    stale = 0
    for path in (path for path in recorded[1] if path.suffix == ".jsonl"):
        hits = workspace.call("memory.recall", {"scope": f"session:{path}", "pageSize": 1, "includeOwn": True})["hits"]
        with path.open("ab") as file:
            file.write(b'\n{"type":"custom","id":"zz","parentId":null,"customType":"x"}\n')
        for hit in hits:
            with pytest.raises(PepysError) as refused:
                workspace.call(hit["follow"])
            assert refused.value.code == "stale_pointer"
            stale += 1
    assert stale > 0


# Sub-agents


@pytest.fixture
def agents(tmp_path: Path) -> Iterator[pepys.Workspace]:
    agent = COPIED / "omp" / "dot-omp" / "agent"
    with pepys.open(host="omp", agent_dir=agent, index_dir=tmp_path / "index", env={"HOME": str(tmp_path)}) as opened:
        yield opened


def test_sub_agents_are_left_out_and_counted_unless_asked_for(agents: pepys.Workspace) -> None:
    usual = agents.call("memory.recall", {"scope": "global"})
    asked = agents.call("memory.recall", {"scope": "global", "subagents": True})

    assert usual["coverage"]["subagentSessionsLeftOut"] == 3
    assert usual["coverage"]["complete"]
    assert "subagentSessionsLeftOut" not in asked["coverage"]
    assert asked["coverage"]["eligibleSessions"] == usual["coverage"]["eligibleSessions"] + 3


def test_a_sub_agent_that_is_named_is_searched_and_says_what_it_is(agents: pepys.Workspace) -> None:
    rows = agents.call("memory.sessions", {"scope": "global", "subagents": True})["sessions"]
    path = next(row["file"] for row in rows if row["kind"] == "subagent")

    page = agents.call("memory.recall", {"scope": f"session:{path}"})

    assert {hit["sessionKind"] for hit in page["hits"]} == {"subagent"}
    assert page["coverage"]["eligibleSessions"] == 1


def test_an_archived_session_is_found_and_opens(agents: pepys.Workspace) -> None:
    rows = agents.call("memory.sessions", {"scope": "global"})["sessions"]
    path = next(row["file"] for row in rows if row["kind"] == "archived")

    page = agents.call("memory.recall", {"scope": f"session:{path}"})

    assert path.endswith(".jsonl.gz")
    assert all(agents.call(hit["follow"])["entries"][0]["index"] == hit["index"] for hit in page["hits"])
    assert page["total"] > 0
