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
    written(tmp_path, '[indexing]\nignore_files = ["../a", "..", "", "b", 1]\nexclude = "*.md"\n')

    assert read(tmp_path) == Indexing(Cut(), ("b",), ())


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
