"""Which sessions a caller may see."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pepys.errors import InvalidConfiguration
from pepys.events.authorisation import Authority, homes, within, workspace, worktree


@pytest.fixture
def base(tmp_path: Path) -> Path:
    return Path(os.path.realpath(tmp_path))


def repository(directory: Path) -> Path:
    (directory / ".git").mkdir(parents=True)
    (directory / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    return directory


def folder(path: Path) -> Path:
    path.mkdir(parents=True, exist_ok=True)
    return path


# The workspace


def test_outside_of_git_the_workspace_is_the_working_directory(base: Path) -> None:
    assert workspace([], str(folder(base / "a")), []) == (str(base / "a"),)


def test_inside_git_it_is_the_worktree(base: Path) -> None:
    repository(base / "shop")

    assert workspace([], str(folder(base / "shop/src/deep")), []) == (str(base / "shop"),)
    assert workspace([], str(base / "shop"), []) == (str(base / "shop"),)


def test_a_nested_repository_is_a_workspace_of_its_own(base: Path) -> None:
    repository(base / "shop")
    repository(base / "shop/vendor/lib")

    assert workspace([], str(folder(base / "shop/vendor/lib/src")), []) == (str(base / "shop/vendor/lib"),)


def test_a_linked_worktree_is_a_workspace_of_its_own(base: Path) -> None:
    repository(base / "shop")
    linked = folder(base / "shop/trees/fix")
    (linked / ".git").write_text(f"gitdir: {base}/shop/.git/worktrees/fix\n")

    assert worktree(str(folder(linked / "src")), []) == str(linked)


def test_git_agrees(base: Path) -> None:
    subprocess.run(["git", "init", "-q", str(base / "shop")], check=True)
    inside = folder(base / "shop/src")

    said = subprocess.run(
        ["git", "-C", str(inside), "rev-parse", "--show-toplevel"], check=True, capture_output=True, text=True
    ).stdout.strip()

    assert worktree(str(inside), []) == said


def test_what_is_only_named_git_is_no_repository(base: Path) -> None:
    folder(base / "a/.git")
    folder(base / "b/.git").parent.joinpath("c").mkdir()
    (base / "b/.git/HEAD").mkdir()
    (folder(base / "d") / ".git").write_text("something else")

    for name in ("a", "b/c", "d"):
        assert worktree(str(base / name), []) is None


def test_no_variable_of_git_moves_the_workspace(base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    repository(base / "elsewhere")
    monkeypatch.setenv("GIT_DIR", str(base / "elsewhere/.git"))
    monkeypatch.setenv("GIT_WORK_TREE", str(base))

    assert workspace([], str(folder(base / "a")), []) == (str(base / "a"),)


@pytest.mark.parametrize("where", ["home/dev", "home", ""])
def test_a_repository_at_home_or_above_it_does_not_widen_the_workspace(base: Path, where: str) -> None:
    repository(base / where)
    cwd = folder(base / "home/dev/project/src")

    assert workspace([], str(cwd), [str(base / "home/dev")]) == (str(cwd),)


def test_a_repository_below_home_is_a_workspace(base: Path) -> None:
    repository(base / "home/dev")
    repository(base / "home/dev/project")

    assert workspace([], str(base / "home/dev/project"), [str(base / "home/dev")]) == (str(base / "home/dev/project"),)


def test_a_home_is_known_whatever_its_name_and_the_environment_says(base: Path) -> None:
    repository(base / "real")
    (base / "link").symlink_to("real")

    assert worktree(str(folder(base / "real/project")), [str(base / "link")]) is None
    assert homes({"HOME": "/made/up"})[0] == "/made/up"
    assert homes({"HOME": "/made/up"})[1:] == homes({})


def test_configured_roots_come_first_and_together(base: Path) -> None:
    repository(base / "shop")
    (base / "link").symlink_to("other")
    roots = [str(folder(base / "other")), "", "  ", str(base / "gone"), str(base / "link")]

    assert workspace(roots, str(base / "shop"), []) == (str(base / "other"), str(base / "gone"))
    assert workspace(["", " "], str(base / "shop"), []) == (str(base / "shop"),)


@pytest.mark.parametrize("root", ["shop", "./shop", "..", "~/shop", "/nul\0"])
def test_a_configured_root_is_absolute(base: Path, root: str) -> None:
    with pytest.raises(InvalidConfiguration):
        workspace([root], str(base), [])


# What lies inside


@pytest.mark.parametrize(
    ("path", "root", "inside"),
    [
        ("/a/b", "/a/b", True),
        ("/a/b/c", "/a/b", True),
        ("/a/bc", "/a/b", False),
        ("/a", "/a/b", False),
        ("/a", "/", True),
        ("/", "/", True),
    ],
)
def test_components_are_compared_whole(path: str, root: str, inside: bool) -> None:
    assert within(path, root) is inside


def test_links_are_judged_by_where_they_lead(base: Path) -> None:
    root, outside = folder(base / "root"), folder(base / "outside")
    (root / "out").symlink_to(outside)
    (outside / "in").symlink_to(root)
    allows = Authority([str(root)]).allows

    assert allows(str(root))
    assert allows(str(outside / "in"))
    assert allows(str(outside / "in/gone/deep"))
    assert not allows(str(root / "out"))
    assert not allows(str(root / "out/gone/deep"))
    assert not allows(str(root / "gone/../out/x"))
    assert not allows(str(root / "out/in/../x"))


def test_what_is_gone_is_judged_by_what_is_left(base: Path) -> None:
    root = folder(base / "root")
    (root / "file").write_text("")
    (root / "dangling").symlink_to(base / "elsewhere")
    (root / "loop").symlink_to("loop")
    allows = Authority([str(root)]).allows

    assert allows(str(root / "gone/deeper"))
    assert allows(str(root / "file/was/a/folder"))
    assert not allows(str(root / "gone/../.."))
    assert not allows(str(root / "dangling"))
    assert not allows(str(root / "dangling/x"))
    assert not allows(str(root / "loop"))
    assert not allows(str(root / "loop/x"))


@pytest.mark.parametrize("cwd", [None, "", ".", "root", "./root", "~/root", "root\0", "/\0", "/\ud83d"])
def test_what_is_unknown_relative_or_no_path_is_never_allowed(
    base: Path, monkeypatch: pytest.MonkeyPatch, cwd: str | None
) -> None:
    folder(base / "root")
    monkeypatch.chdir(base)

    assert not Authority([str(base)]).allows(cwd)


def test_a_missing_and_an_outer_directory_look_the_same(base: Path) -> None:
    authority = Authority([str(folder(base / "root"))])

    assert authority.allows(str(base / "missing")) is authority.allows(str(folder(base / "outer"))) is False


def test_within_one_call_an_answer_stays(base: Path) -> None:
    root, outside = folder(base / "root"), folder(base / "outside")
    authority = Authority([str(root)])
    assert authority.allows(str(root / "later"))

    (root / "later").symlink_to(outside)

    assert authority.allows(str(root / "later"))
    assert not Authority([str(root)]).allows(str(root / "later"))


NAMES = ("workspace", "elsewhere", "first", "second")  # nothing of these names lies above the test's own folder
COMPONENTS = st.lists(st.sampled_from([*NAMES, "..", ".", "gone"]), max_size=5)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    entries=st.lists(
        st.tuples(st.lists(st.sampled_from(NAMES), min_size=1, max_size=3), st.none() | COMPONENTS), max_size=6
    ),
    asked=st.lists(COMPONENTS, max_size=4),
)
def test_whatever_links_there_are_what_really_lies_inside_is_allowed_and_nothing_else(
    tmp_path_factory: pytest.TempPathFactory, entries: list[tuple[list[str], list[str] | None]], asked: list[list[str]]
) -> None:
    base = Path(os.path.realpath(tmp_path_factory.mktemp("links")))
    root = folder(base / "workspace")
    for place, target in entries:
        path = base.joinpath(*place)
        try:
            if target is None:
                path.mkdir(parents=True)
            else:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.symlink_to(base.joinpath(*target))
        except OSError:
            continue
    authority = Authority([str(root)])

    for components in asked:
        cwd, rest = nearest(str(base), components)
        if ".." not in rest and not (rest and os.path.lexists(os.path.join(cwd, rest[0]))):
            assert authority.allows(os.path.join(base, *components)) is really_below(cwd, root)


def nearest(base: str, components: list[str]) -> tuple[str, list[str]]:
    """The longest path of folders that leads along *components*, links followed, and what is left of them."""
    at = base
    for number, component in enumerate(components):
        if not Path(at, component).is_dir():
            return at, components[number:]
        at = os.path.join(at, component)
    return at, []


def really_below(directory: str, root: Path) -> bool:
    """Whether *root* is among the parents that the kernel gives, which knows no links any more."""
    return any(Path(directory + "/.." * up).samefile(root) for up in range(12))
