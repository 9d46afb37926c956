"""How memsearch's configuration says that a store is indexed, as a project's calls see it."""

from __future__ import annotations

from pathlib import Path

import pytest

from pepys.journal.chunk import Cut
from pepys.journal.files import markdown
from pepys.journal.ignored import rules
from pepys.journal.memsearch import Indexing, indexing
from tests.journal.project import Project, entry

CONFIGURED = '[chunking]\nmax_chunk_size = 400\noverlap_lines = 0\n[indexing]\nignore_files = [".gitignore"]\n'


def written(home: Path, text: str, *, project: bool = True) -> None:
    path = home / ".memsearch.toml" if project else home / ".memsearch" / "config.toml"
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)


def read(home: Path) -> Indexing:
    return indexing({"HOME": str(home)}, str(home))


def test_without_configuration_memsearchs_defaults_hold(tmp_path: Path) -> None:
    assert read(tmp_path) == Indexing(Cut(1500, 2), (), ())


def test_the_project_wins_over_the_user_key_by_key(tmp_path: Path) -> None:
    written(tmp_path, '[chunking]\nmax_chunk_size = 900\n[indexing]\nexclude = ["a.md"]\n', project=False)
    written(tmp_path, CONFIGURED)

    assert read(tmp_path) == Indexing(Cut(400, 0), (".gitignore",), rules(["a.md"]))


@pytest.mark.parametrize(
    ("chars", "lines"), [('"300"', '"3"'), ("49", "101"), ("-5", "-1"), ("1.5", "1.0"), ("true", "true"), ("[]", "[]")]
)
def test_what_is_no_number_that_can_be_meant_stands_for_the_default(tmp_path: Path, chars: str, lines: str) -> None:
    written(tmp_path, f"[chunking]\nmax_chunk_size = {chars}\noverlap_lines = {lines}\n")

    assert read(tmp_path).cut == Cut(1500, 2)


def test_the_bounds_themselves_are_taken(tmp_path: Path) -> None:
    written(tmp_path, "[chunking]\nmax_chunk_size = 50\noverlap_lines = 100\n")

    assert read(tmp_path).cut == Cut(50, 100)


def test_only_names_of_files_and_texts_are_taken(tmp_path: Path) -> None:
    written(tmp_path, '[indexing]\nignore_files = ["../a", "..", "", "b"]\n')

    assert read(tmp_path) == Indexing(Cut(), ("b",), ())


BROKEN = [
    ("[indexing\nexclude = ['2026-08-12.md']\n", "is no TOML"),
    ('[indexing]\nexclude = "2026-08-12.md"\n', "indexing.exclude in"),
    ('[indexing]\nexclude = ["2026-08-12.md", 1]\n', "indexing.exclude in"),
    ('[indexing]\nexclude = "env:NOT_SET"\n', "indexing.exclude in"),
    ('[indexing]\nignore_files = ".gitignore"\n', "indexing.ignore_files in"),
    ("[indexing.exclude]\nfiles = ['2026-08-12.md']\n", "indexing.exclude in"),
    ("[[indexing]]\nexclude = ['2026-08-12.md']\n", "indexing in"),
]


@pytest.mark.parametrize("project_file", [True, False])
@pytest.mark.parametrize(("text", "why"), BROKEN)
def test_what_was_left_out_is_not_shown_because_the_configuration_broke(
    project: Project, text: str, why: str, project_file: bool
) -> None:
    project.write_day(entry("10:00", "the cache of the shop"))
    secret = entry("10:00", "the cache of a private day")
    project.write_day(secret, "2026-08-12")
    home = project.root if project_file else project.home
    asked: list[str] = []

    def complete(model: object, system: str, prompt: str, seconds: float) -> str:
        asked.append(prompt)
        return "- a summary"

    with project.open(complete=complete) as workspace:
        written(home, '[indexing]\nexclude = ["2026-08-12.md"]\n', project=project_file)
        (hit,) = workspace.call("journal.search", {"query": "cache"})["hits"]
        written(home, text, project=project_file)
        searched = workspace.call("journal.search", {"query": "cache"})
        opened = workspace.call("journal.expand", {"chunk_hash": hit["chunk_hash"]})
        compacted = workspace.call("journal.compact", {})
        status = workspace.call("journal.status", {})

    assert searched["hits"] == []
    for answer in (searched, opened, compacted):
        assert why in answer["unavailable"]
        assert "private day" not in answer["text"]
    assert not asked
    assert not status["backend"]["available"]
    assert "config: not in force: " in status["text"]
    assert why in status["text"]


def test_a_number_that_cannot_be_meant_is_named_by_the_status(project: Project) -> None:
    written(project.root, '[chunking]\nmax_chunk_size = "300"\noverlap_lines = 3\n')

    text = project.call("journal.status")["text"]

    assert "memsearch's chunking.max_chunk_size must be a whole number from 50" in text
    assert "overlap_lines" not in text


def test_the_broken_configuration_of_another_project_keeps_nothing_else_from_being_found(
    project: Project, tmp_path: Path
) -> None:
    project.write_day(entry("10:00", "the cache of the shop"))
    other = tmp_path / "roots" / "other"
    (other / ".memsearch" / "memory").mkdir(parents=True)
    (other / ".memsearch" / "memory" / "2026-08-13.md").write_text(entry("10:00", "the cache of another"))
    written(other, "[indexing\n")
    project.env["PI_MEMSEARCH_SCAN_ROOTS"] = str(other.parent)

    answer = project.call("journal.search", {"query": "cache", "scope": "all"})

    assert [Path(hit["source"]).parent for hit in answer["hits"]] == [project.store]
    assert answer["skipped"] == [str(other)]
    assert "is no TOML" in answer["unread"][str(other)]


@pytest.mark.requirement("journal.index.configured")
def test_a_process_that_is_open_follows_a_change_of_the_configuration(project: Project) -> None:
    project.write_day(entry("10:00", *(f"the cache holds fact number {number} of many" for number in range(40))))
    project.write_day(entry("10:00", "the cache of a private day"), "2026-08-12")

    with project.open() as workspace:

        def found() -> list[str]:
            hits = workspace.call("journal.search", {"query": "cache fact number 39"})["hits"]
            return [Path(hit["source"]).stem for hit in hits]

        whole = found()
        written(project.root, CONFIGURED)
        (project.store / ".gitignore").write_text("/2026-08-12.md\n")
        cut = found()

    assert sorted(set(whole)) == ["2026-08-12", "2026-08-13"]
    assert set(cut) == {"2026-08-13"}
    assert len(cut) == 5


@pytest.mark.requirement("journal.index.configured")
def test_another_project_is_indexed_as_its_own_configuration_says(project: Project, tmp_path: Path) -> None:
    project.write_day(entry("10:00", "the cache of the shop"))
    other = tmp_path / "roots" / "other"
    (other / ".memsearch" / "memory").mkdir(parents=True)
    for name in ("2026-08-12", "2026-08-13"):
        (other / ".memsearch" / "memory" / f"{name}.md").write_text(entry("10:00", "the cache of another"))
    written(other, '[indexing]\nexclude = ["2026-08-12.md"]\n')
    written(project.root, '[indexing]\nexclude = ["2026-08-13.md"]\n')
    project.env["PI_MEMSEARCH_SCAN_ROOTS"] = str(other.parent)

    hits = project.call("journal.search", {"query": "cache", "scope": "all"})["hits"]

    assert [Path(hit["source"]) for hit in hits] == [other / ".memsearch" / "memory" / "2026-08-13.md"]


@pytest.mark.requirement("journal.index.configured")
def test_memsearch_lists_the_same_files(tmp_path: Path) -> None:
    scanner = pytest.importorskip("memsearch.scanner", reason="memsearch is not installed beside these tests")
    for name in (
        "a.md",
        "b.markdown",
        "c.txt",
        ".hidden.md",
        "drafts/a.md",
        "drafts/deep/b.md",
        "old/a.md",
        "old/k.MD",
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("# x\n")
    (tmp_path / ".gitignore").write_text("/old/*\n!/old/k.MD\ndrafts/a.md\n")
    (tmp_path / "drafts" / ".gitignore").write_text("!a.md\ndeep/\n")

    for names, exclude in (
        ((), ()),
        ((".gitignore",), ()),
        ((".gitignore",), ("*.markdown", "!old/a.md")),
        ((), ("d*/",)),
    ):
        theirs = scanner.scan_paths([tmp_path], ignore_files=list(names), exclude=list(exclude))

        ours = markdown(str(tmp_path), Indexing(Cut(), names, rules(exclude)))

        assert sorted(path for path, _ in ours) == sorted(str(one.path.relative_to(tmp_path)) for one in theirs)


def test_links_out_of_the_store_are_not_followed_and_are_named(project: Project, tmp_path: Path) -> None:
    project.write_day(entry("10:00", "the cache of the shop"))
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "a.md").write_text(entry("10:00", "the cache of somebody else"))
    file, folder = project.store / "link.md", project.store / "more"
    file.symlink_to(outside / "a.md")
    folder.symlink_to(outside)
    (project.store / "same.md").symlink_to(project.day())
    (project.store / "text.txt").symlink_to(outside / "a.md")
    (project.store / "gone.md").symlink_to(outside / "nothing.md")

    searched = project.call("journal.search", {"query": "cache"})
    status = project.call("journal.status")

    assert {Path(hit["source"]).parent for hit in searched["hits"]} == {project.store}
    for answer in (searched, status):
        assert answer["unread"] == {
            str(path): "a link out of the store, which is not followed" for path in (file, folder)
        }
        assert str(folder) in answer["text"]
