"""Which store a session's memory belongs to, and what others call it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pepys.errors import StoreCommandFailed
from pepys.journal import scope
from tests.journal.project import Project, command

COLLECTIONS = {
    "/home/user/my-app": "ms_my_app_62c1f414",
    "/tmp/My App.2024": "ms_my_app_2024_97af4de9",
    "/srv/UPPER_case-Dir": "ms_upper_case_dir_ac785078",
    "/tmp/---weird___name---": "ms_weird_name_22c76f13",
    "/data/a-very-long-project-directory-name-that-exceeds-forty-characters-limit": (
        "ms_a_very_long_project_directory_name_that__381b27d3"
    ),
    "/home/user/code/pi-memsearch.3": "ms_pi_memsearch_3_a1b79a60",
    "/tmp/über-app": "ms_ber_app_c7d538d4",
    "/": "ms__8a5edab2",
    "/home/用户/项目": "ms__32187d1b",
    "/home/u/.memsearch": "ms_memsearch_cee4acdd",
    "/x/İstanbul": "ms_stanbul_c984cf17",
}


@pytest.mark.requirement("journal.collection.name")
@pytest.mark.parametrize(("path", "name"), COLLECTIONS.items())
def test_the_collection_is_named_as_the_other_agents_name_it(
    path: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Where /tmp is a link, the vectors are still those of the paths as they are written.
    monkeypatch.setattr(os.path, "realpath", lambda path: path)

    assert scope.collection_name(path) == name


@pytest.mark.requirement("journal.collection.moves")
def test_a_repository_that_moves_gets_another_collection_and_a_link_to_it_does_not(tmp_path: Path) -> None:
    (tmp_path / "a" / "shop").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "a" / "shop")
    before = scope.collection_name(str(tmp_path / "a" / "shop"))

    assert scope.collection_name(str(tmp_path / "link")) == before
    (tmp_path / "a").rename(tmp_path / "b")
    assert scope.collection_name(str(tmp_path / "b" / "shop")) != before


@pytest.mark.requirement("journal.scope.git_root")
def test_memory_of_a_subdirectory_is_the_repositorys(project: Project) -> None:
    inner = project.root / "src" / "deep"
    inner.mkdir(parents=True)

    found = scope.resolve(str(inner), {})

    assert (found.repository, found.directory) == (str(project.root), str(project.root))
    assert found.store == str(project.store)
    assert found.collection == scope.collection_name(str(project.root))


def test_a_linked_worktree_is_a_repository_of_its_own(project: Project) -> None:
    tree = project.root / "trees" / "fix"
    tree.mkdir(parents=True)
    (tree / ".git").write_text("gitdir: elsewhere\n")

    assert scope.resolve(str(tree), {}).directory == str(tree)


@pytest.mark.requirement("journal.scope.cwd")
def test_without_a_repository_memory_is_the_working_directorys(tmp_path: Path) -> None:
    found = scope.resolve(str(tmp_path), {})

    assert found.store == str(tmp_path / ".memsearch" / "memory")
    assert found.repository == str(tmp_path)


@pytest.mark.requirement("journal.scope.memsearch_dir", "journal.scope.repository", "journal.collection.override")
def test_memsearch_dir_moves_store_and_collection_but_not_the_repository(project: Project, tmp_path: Path) -> None:
    elsewhere = tmp_path / "mesh"

    found = scope.resolve(str(project.root / "src"), {"MEMSEARCH_DIR": str(elsewhere)})

    assert found.store == str(elsewhere / "memory")
    assert found.collection == scope.collection_name(str(elsewhere))
    assert found.repository == str(project.root)
    assert found.state_file == str(elsewhere / ".index-state.json")


@pytest.mark.requirement("journal.scope.memsearch_dir_relative")
def test_a_relative_memsearch_dir_is_taken_from_the_repository(project: Project) -> None:
    (project.root / "src").mkdir()

    stores = {scope.resolve(str(cwd), {"MEMSEARCH_DIR": "m"}).store for cwd in (project.root, project.root / "src")}

    assert stores == {str(project.root / "m" / "memory")}


@pytest.mark.requirement("journal.store_command.answers", "journal.store_command.outranks", "journal.state.delegated")
def test_a_store_command_answers_for_everything_and_outranks_memsearch_dir(project: Project, tmp_path: Path) -> None:
    cmd = command(tmp_path / "cmd", memory_dir="/mesh/shop", collection="ms_mesh", state_dir="/mesh/state")

    found = scope.resolve(str(project.root), {"MEMSEARCH_DIR": "/other", "PATH": project.env["PATH"]}, cmd)

    assert (found.store, found.collection, found.state_dir) == ("/mesh/shop", "ms_mesh", "/mesh/state")
    assert found.directory == "/mesh"
    assert found.repository == str(project.root)
    assert found.state_file == "/mesh/state/.index-state.json"


@pytest.mark.requirement("journal.store_command.directory")
def test_a_store_command_stands_in_the_directory_it_is_asked_about(project: Project, tmp_path: Path) -> None:
    inner = project.root / "src"
    inner.mkdir()
    path = tmp_path / "cmd"
    path.write_text('#!/bin/sh\n[ "$1" = state-dir ] && exit 0\npwd\n')
    path.chmod(0o755)

    found = scope.resolve(str(inner), project.env, str(path))

    assert found.store == str(inner)  # the session's directory, not the git root


@pytest.mark.requirement("journal.store_command.fails", "journal.degrade.store_command")
@pytest.mark.parametrize(
    ("answers", "mode", "why"),
    [
        ({"memory_dir": "/m\n/n", "collection": "c", "state_dir": ""}, "memory-dir", "more than one line"),
        ({"memory_dir": "/m", "collection": "c\nd", "state_dir": ""}, "collection", "more than one line"),
        ({"memory_dir": "/m", "collection": "c", "state_dir": "/s\n/t"}, "state-dir", "more than one line"),
        ({"memory_dir": "!broken", "collection": "c", "state_dir": ""}, "memory-dir", "broken"),
        ({"memory_dir": "", "collection": "c", "state_dir": ""}, "memory-dir", "printed nothing"),
        ({"memory_dir": "rel/dir", "collection": "c", "state_dir": ""}, "memory-dir", "relative path"),
        ({"memory_dir": "/m", "collection": "", "state_dir": ""}, "collection", "printed nothing"),
        ({"memory_dir": "/m", "collection": "c", "state_dir": "rel"}, "state-dir", "relative path"),
        ({"memory_dir": "/m", "collection": "c", "state_dir": "!no"}, "state-dir", "no"),
    ],
)
def test_a_store_command_that_fails_is_an_error_and_never_a_fallback(
    project: Project, tmp_path: Path, answers: dict[str, str], mode: str, why: str
) -> None:
    cmd = command(tmp_path / "cmd", **answers)

    with pytest.raises(StoreCommandFailed, match=f"{mode}.*{why}") as caught:
        scope.resolve(str(project.root), project.env, cmd)

    assert cmd in caught.value.message
    assert "PI_MEMSEARCH_STORE_CMD" in caught.value.message


def test_a_store_command_that_is_not_there_is_an_error(project: Project) -> None:
    with pytest.raises(StoreCommandFailed, match="cannot be run"):
        scope.resolve(str(project.root), project.env, "/nowhere/cmd")


@pytest.mark.requirement("journal.store_command.declines")
def test_declining_the_state_directory_leaves_everything_as_it_was(project: Project, tmp_path: Path) -> None:
    cmd = command(tmp_path / "cmd", memory_dir="/tree/.memsearch/memory", collection="c", state_dir="")

    found = scope.resolve(str(project.root), project.env, cmd)

    assert found.state_dir is None
    assert found.state_file == "/tree/.memsearch/.index-state.json"


@pytest.mark.requirement("journal.store_command.memoised")
def test_a_store_command_is_asked_once_a_directory_and_a_failure_again(project: Project, tmp_path: Path) -> None:
    cmd = command(tmp_path / "cmd", memory_dir="!later", collection="c", state_dir="")
    with pytest.raises(StoreCommandFailed):
        scope.resolve(str(project.root), project.env, cmd)
    command(tmp_path / "cmd", memory_dir="/m", collection="c", state_dir="")

    for _ in range(3):
        scope.resolve(str(project.root), project.env, cmd)

    asked = (tmp_path / "cmd.log").read_text().split()
    assert asked == ["memory_dir", "memory_dir", "state_dir", "collection"]


@pytest.mark.requirement("journal.state.tree_root")
@pytest.mark.parametrize("below", ["memory", "a/b/memory", "deep/.memsearch/memory"])
def test_index_state_lies_at_the_root_of_the_memsearch_tree(tmp_path: Path, below: str) -> None:
    store = tmp_path / ".memsearch" / below

    assert scope.tree_root(str(store)) == str(tmp_path / ".memsearch")


@pytest.mark.requirement("journal.state.links")
def test_the_tree_is_found_through_links_of_a_store_that_does_not_exist_yet(tmp_path: Path) -> None:
    (tmp_path / "real" / ".memsearch" / "x").mkdir(parents=True)
    (tmp_path / "store").symlink_to(tmp_path / "real" / ".memsearch" / "x")

    found = scope.tree_root(str(tmp_path / "store" / "not" / "yet"))

    assert found == str(tmp_path / "real" / ".memsearch")


@pytest.mark.requirement("journal.state.none")
def test_no_state_file_is_reported_where_nothing_will_ever_write_one(project: Project, tmp_path: Path) -> None:
    cmd = command(tmp_path / "cmd", memory_dir="/outside/shop", collection="c", state_dir="")

    assert scope.resolve(str(project.root), project.env, cmd).state_file is None
