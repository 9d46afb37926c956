"""Which file a project's notes are in: one for a repository and all its worktrees, and nobody else's."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

import pepys
from pepys import trust
from pepys.errors import NotesUnavailable
from pepys.notes import places
from tests.notes.conftest import Desk

needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="git makes the worktrees")


def git(directory: Path, *arguments: str) -> None:
    env = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    settings = ("-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "protocol.file.allow=always")
    subprocess.run(["git", *settings, *arguments], cwd=directory, env=env, check=True, capture_output=True)


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """A repository with one commit."""
    shop = tmp_path.resolve() / "shop"
    shop.mkdir()
    git(shop, "init", "-q")
    git(shop, "commit", "-q", "--allow-empty", "-m", "begin")
    return shop


@needs_git
@pytest.mark.requirement("notes.root_anchor", "notes.files")
def test_a_subdirectory_has_the_store_of_the_repository(shop: Path) -> None:
    (shop / "src" / "deep").mkdir(parents=True)

    assert places.root(shop / "src" / "deep") == places.root(shop) == shop
    assert places.project_store(shop) == shop / ".pi" / "memory.md"


@pytest.mark.requirement("notes.outside_git")
def test_outside_of_a_repository_the_working_directory_has_its_own(tmp_path: Path) -> None:
    (tmp_path / "plain" / "src").mkdir(parents=True)

    assert places.root(tmp_path / "plain" / "src") == (tmp_path / "plain" / "src").resolve()


@needs_git
@pytest.mark.requirement("notes.worktrees")
def test_every_worktree_has_the_store_of_the_main_checkout(shop: Path, tmp_path: Path) -> None:
    git(shop, "worktree", "add", "-q", str(tmp_path / "feature"))
    git(shop, "worktree", "add", "-q", str(shop / "inside"))
    (tmp_path / "feature" / "src").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "feature")

    roots = {places.root(path) for path in (tmp_path / "feature" / "src", tmp_path / "link", shop / "inside", shop)}

    assert roots == {shop}


@needs_git
@pytest.mark.requirement("notes.root_anchor", "notes.outside_git")
def test_a_repository_at_home_is_no_project_of_what_lies_below_it(shop: Path, tmp_path: Path) -> None:
    for folder in ("plain", "repository/src"):
        (shop / folder).mkdir(parents=True)
    git(shop / "repository", "init", "-q")
    git(shop, "worktree", "add", "-q", str(tmp_path / "feature"))
    below = {"plain": "plain", "repository/src": "repository", ".": "."}

    def root(cwd: Path, home: Path) -> object:
        with pepys.open(cwd=cwd, env={"HOME": str(home)}, trusted=True) as workspace:
            return workspace.notes.path()["root"]

    assert {name: root(shop / name, shop) for name in below} == {name: str(shop / at) for name, at in below.items()}
    assert root(shop / "plain", shop / "repository") == str(shop / "plain")  # a home below the root is one in it
    assert root(tmp_path / "feature", shop) == str((tmp_path / "feature").resolve())
    assert root(shop / "plain", tmp_path) == root(tmp_path / "feature", tmp_path) == str(shop)


@needs_git
@pytest.mark.requirement("notes.worktrees")
def test_the_environment_of_git_is_not_listened_to(shop: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "plain").mkdir()
    for name in ("GIT_DIR", "GIT_COMMON_DIR"):
        monkeypatch.setenv(name, str(shop / ".git"))
    monkeypatch.setenv("GIT_WORK_TREE", str(shop))

    assert places.root(tmp_path / "plain") == (tmp_path / "plain").resolve()


@needs_git
@pytest.mark.requirement("notes.worktrees")
@pytest.mark.parametrize("bare", [".bare", "shop.git"])
def test_worktrees_of_a_bare_repository_share_one_store(shop: Path, tmp_path: Path, bare: str) -> None:
    place = tmp_path.resolve() / "place"
    place.mkdir()
    git(place, "clone", "-q", "--bare", str(shop), bare)
    if bare == ".bare":  # a usual layout: a folder for the repository and its worktrees
        (place / ".git").write_text("gitdir: ./.bare\n")
    for name in ("one", "two"):
        git(place / bare, "worktree", "add", "-q", str(tmp_path / name))

    roots = {places.root(tmp_path / name) for name in ("one", "two")}

    assert roots == {place if bare == ".bare" else place / bare}


@needs_git
@pytest.mark.requirement("notes.worktrees")
def test_a_submodule_has_its_own_store_for_its_worktrees_too(shop: Path, tmp_path: Path) -> None:
    library = tmp_path.resolve() / "library"
    library.mkdir()
    git(library, "init", "-q")
    git(library, "commit", "-q", "--allow-empty", "-m", "begin")
    git(shop, "submodule", "--quiet", "add", str(library), "lib")
    git(shop / "lib", "worktree", "add", "-q", str(tmp_path / "wt"))

    assert places.root(shop / "lib") == places.root(tmp_path / "wt") == shop / "lib"


@needs_git
def test_a_folder_that_only_claims_to_be_a_worktree_has_its_own(shop: Path, tmp_path: Path) -> None:
    git(shop, "worktree", "add", "-q", str(tmp_path / "feature"))
    forged = tmp_path.resolve() / "forged"
    forged.mkdir()
    (forged / ".git").write_text((tmp_path / "feature" / ".git").read_text())

    assert places.root(forged) == forged


@pytest.mark.parametrize("link", ["gitdir: /nowhere\n", "gitdir:\n", "gitdir: \x00\n", "gitdir: .\n", "junk"])
def test_a_broken_link_is_nobody_s_worktree(tmp_path: Path, link: str) -> None:
    (tmp_path / "x").mkdir()
    (tmp_path / "x" / ".git").write_text(link)

    assert places.root(tmp_path / "x") == (tmp_path / "x").resolve()


@needs_git
@pytest.mark.requirement("notes.worktrees")
def test_a_note_of_one_worktree_is_known_in_all(shop: Path, tmp_path: Path) -> None:
    git(shop, "worktree", "add", "-q", str(tmp_path / "feature"))
    env = {"HOME": str(tmp_path)}

    with pepys.open(cwd=tmp_path / "feature", env=env, trusted=True) as here:
        here.notes.memory(action="add", text="use bun")
    with pepys.open(cwd=shop, env=env, trusted=True, host="omp") as there:
        listed = there.notes.memory(action="list")

    assert listed["project"] == ["use bun"]


@pytest.mark.requirement("notes.validation")
@pytest.mark.parametrize("trusted", [True, None])
@pytest.mark.parametrize("gone", ["gone1/gone2", "shop/gone", "shop/file", "link"])
def test_a_directory_that_does_not_exist_has_no_notes_and_nothing_is_created(
    tmp_path: Path, gone: str, trusted: bool | None
) -> None:
    desk = Desk(tmp_path)
    (desk.project / "file").touch()
    (desk.project / ".git").mkdir()
    (desk.project / ".git" / "HEAD").touch()
    (tmp_path / "link").symlink_to("nowhere")
    before = sorted(tmp_path.rglob("*"))

    with desk.open(cwd=tmp_path / gone, trusted=trusted) as workspace:
        added = workspace.notes.memory(action="add", text="x")
        for ref, given in (("clear", {}), ("read", {}), ("save", {"text": "", "revision": "x"})):
            with pytest.raises(NotesUnavailable, match="is no directory"):
                workspace.call(f"notes.{ref}", given)
        assert (added["error"]["code"], added["changed"], added["project"]) == ("notes_unavailable", False, [])
        assert sorted(tmp_path.rglob("*")) == before
        assert workspace.notes.memory(action="add", text="x", scope="global")["changed"]


# Hosts


@pytest.mark.requirement("notes.files")
@pytest.mark.parametrize(("host", "folder"), [("all", ".pi"), ("pi", ".pi"), ("omp", ".omp")])
def test_global_notes_are_the_host_s_and_project_notes_are_everybody_s(tmp_path: Path, host: str, folder: str) -> None:
    desk = Desk(tmp_path, host=host)

    where = desk.workspace.notes.path()

    assert where["global"] == str(desk.home / folder / "agent" / "memory.md")
    assert where["project"] == str(desk.project.resolve() / ".pi" / "memory.md")


def test_an_agent_directory_that_is_named_wins(tmp_path: Path) -> None:
    desk = Desk(tmp_path, agent_dir=tmp_path / "agent")

    desk.memory("add", "x", scope="global")

    assert (tmp_path / "agent" / "memory.md").is_file()


# Trust


@pytest.mark.requirement("notes.trust_read", "notes.trust_write")
@pytest.mark.parametrize("trusted", [False, None])
def test_an_untrusted_project_is_neither_read_nor_written(tmp_path: Path, trusted: bool | None) -> None:
    desk = Desk(tmp_path, trusted=trusted)
    desk.write("- do as I say\n")

    listed, added = desk.memory("list"), desk.memory("add", "new")

    assert (listed["project"], added["project"], desk.text()) == ([], [], "- do as I say\n")
    assert added["error"]["code"] == "untrusted_project"
    assert 'scope "global"' in added["error"]["hint"]
    assert desk.workspace.notes.injection()["text"] is None
    assert desk.workspace.notes.path()["trusted"] is False
    assert desk.memory("add", "new", scope="global")["changed"]


@needs_git
@pytest.mark.requirement("notes.trust_read")
def test_trust_in_a_repository_covers_its_worktrees_and_trust_in_a_worktree_is_enough(
    shop: Path, tmp_path: Path
) -> None:
    git(shop, "worktree", "add", "-q", str(tmp_path / "feature"))
    git(shop, "worktree", "add", "-q", str(tmp_path / "fix"))
    env = {"HOME": str(tmp_path)}

    def trusted(cwd: Path) -> object:
        with pepys.open(cwd=cwd, env=env) as workspace:
            return workspace.notes.path()["trusted"]

    before = trusted(tmp_path / "feature")
    trust.grant(tmp_path / "fix", env)
    one = trusted(tmp_path / "fix"), trusted(tmp_path / "feature")
    trust.grant(shop, env)

    assert (before, one, trusted(tmp_path / "feature")) == (False, (True, False), True)


@pytest.mark.requirement("notes.trust_read")
def test_the_host_s_answer_counts_more_than_the_list(tmp_path: Path) -> None:
    desk = Desk(tmp_path, trusted=False)
    trust.grant(desk.project, desk.env)

    assert desk.workspace.notes.path()["trusted"] is False


@needs_git
@pytest.mark.requirement("notes.trust_read")
def test_where_no_host_answers_what_pi_was_told_counts(shop: Path, tmp_path: Path) -> None:
    git(shop, "worktree", "add", "-q", str(tmp_path / "feature"))
    here = (tmp_path / "feature").resolve()
    (tmp_path / ".pi" / "agent").mkdir(parents=True)

    def trusted(answers: dict[Path, bool], **circumstances: bool) -> object:
        told = json.dumps({str(path): answer for path, answer in answers.items()})
        (tmp_path / ".pi" / "agent" / "trust.json").write_text(told)
        with pepys.open(cwd=here, env={"HOME": str(tmp_path)}, **circumstances) as workspace:  # type: ignore[arg-type]
            return workspace.notes.path()["trusted"]

    assert [trusted({shop: True}), trusted({here: True}), trusted({})] == [True, True, False]
    assert trusted({shop: True, here: False}) is False
    assert trusted({here: True}, trusted=False) is False
