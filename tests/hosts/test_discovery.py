from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from pepys.hosts import HOSTS
from pepys.hosts.base import Surroundings
from pepys.hosts.discovery import listing, locate
from pepys.model.source import Listing, Root
from tests.hosts.sources import DATA, HEADER, written


@pytest.fixture(params=sorted(HOSTS))
def host(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def names(seen: Listing) -> set[tuple[str, str]]:
    return {(Path(path).name, found.kind) for path, found in seen.found.items()}


def around(
    home: Path, env: dict[str, str] | None = None, *, agent_dir: str | None = None, session_dirs: tuple[str, ...] = ()
) -> Surroundings:
    return Surroundings(
        {"HOME": str(home), **(env or {})}, str(home / "project"), agent_dir, session_dirs, str(home / "tmp")
    )


def test_project_folders_are_listed_one_level_deep(host: str, tmp_path: Path) -> None:
    written(tmp_path, HEADER, name="--p--/a.jsonl")
    for ignored in ("flat.jsonl", "--p--/b.json", "--p--/.c.jsonl", "--p--/.c.jsonl.1f.tmp", ".hidden/d.jsonl"):
        written(tmp_path, HEADER, name=ignored)

    seen = listing([Root(host, str(tmp_path), "folders", "/agent")])

    (found,) = seen.found.values()
    status = os.stat(found.path)
    assert (found.path, found.host, found.root) == (str(tmp_path / "--p--/a.jsonl"), host, str(tmp_path))
    assert (found.agent, found.folder, found.kind) == ("/agent", "--p--", "session")
    assert found.stamp == (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
    assert seen.unlisted == {}


def test_links_below_a_root_are_not_followed_but_the_root_may_be_one(host: str, tmp_path: Path) -> None:
    written(tmp_path / "real", HEADER, name="--p--/a.jsonl")
    (tmp_path / "real/--p--/b.jsonl").symlink_to(tmp_path / "real/--p--/a.jsonl")
    (tmp_path / "real/--q--").symlink_to(tmp_path / "real/--p--")
    (tmp_path / "link").symlink_to(tmp_path / "real")

    seen = listing([Root(host, str(tmp_path / "link"), "folders", None)])

    assert list(seen.found) == [str(tmp_path / "link/--p--/a.jsonl")]


def test_a_root_that_does_not_exist_is_empty_and_one_that_is_no_directory_is_unlisted(
    host: str, tmp_path: Path
) -> None:
    file = written(tmp_path, HEADER)
    roots = [Root(host, str(tmp_path / "none"), "folders", None), Root(host, file, "folders", None)]

    seen = listing(roots)

    assert seen.found == {}
    assert seen.unlisted == {file: "Not a directory"}
    assert seen.roots == tuple(roots)


def test_a_folder_that_may_not_be_listed_is_unlisted(
    host: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written(tmp_path, HEADER, name="--p--/a.jsonl")
    written(tmp_path, HEADER, name="--q--/b.jsonl")
    real = os.scandir

    def refuse(path: str) -> object:
        if path.endswith("--q--"):
            raise PermissionError(13, "Permission denied", path)
        return real(path)

    monkeypatch.setattr("os.scandir", refuse)
    seen = listing([Root(host, str(tmp_path), "folders", None)])

    assert names(seen) == {("a.jsonl", "session")}
    assert seen.unlisted == {str(tmp_path / "--q--"): "Permission denied"}


def test_a_file_that_vanishes_while_it_is_listed_is_absent(
    host: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = written(tmp_path, HEADER, name="--p--/a.jsonl")
    written(tmp_path, HEADER, name="--p--/b.jsonl")
    takes = HOSTS[host].takes

    def vanish(name: str) -> bool:
        Path(gone).unlink(missing_ok=True)
        return takes(name)

    monkeypatch.setattr(HOSTS[host], "takes", vanish)
    seen = listing([Root(host, str(tmp_path), "folders", None)])

    assert names(seen) == {("b.jsonl", "session")}
    assert seen.unlisted == {}


def test_listing_opens_no_session_file(host: str, tmp_path: Path) -> None:
    for number in range(30):
        written(tmp_path, HEADER, name=f"--p{number % 3}--/{number}.jsonl")
    opened: list[object] = []
    watching = [True]
    sys.addaudithook(lambda event, args: opened.append(args[0]) if watching and event == "open" else None)

    seen = listing([Root(host, str(tmp_path), "folders", None)])
    watching.clear()

    assert len(seen.found) == 30
    assert [path for path in opened if str(path).startswith(str(tmp_path))] == []


def test_a_flat_root_holds_files_and_a_mixed_one_folders_too(host: str, tmp_path: Path) -> None:
    written(tmp_path, HEADER, name="a.jsonl")
    written(tmp_path, HEADER, name="--p--/b.jsonl")

    flat = listing([Root(host, str(tmp_path), "flat", None)])
    mixed = listing([Root(host, str(tmp_path), "mixed", None)])

    assert names(flat) == {("a.jsonl", "session")}
    assert names(mixed) == {("a.jsonl", "session"), ("b.jsonl", "session")}
    assert {Path(path).name: found.folder for path, found in mixed.found.items()} == {
        "a.jsonl": None,
        "b.jsonl": "--p--",
    }


@pytest.mark.parametrize("layout", ["flat", "mixed"])
def test_omps_sub_agents_in_a_flat_root_lie_beside_their_session(layout: str, tmp_path: Path) -> None:
    written(tmp_path, HEADER, name="a.jsonl")
    written(tmp_path, HEADER, name="a/Asker.jsonl")

    seen = listing([Root("omp", str(tmp_path), layout, None)])  # type: ignore[arg-type]

    assert names(seen) == {("a.jsonl", "session"), ("Asker.jsonl", "subagent")}


def test_a_file_under_two_roots_belongs_to_the_first(host: str, tmp_path: Path) -> None:
    path = written(tmp_path, HEADER, name="--p--/a.jsonl")
    roots = [Root(host, str(tmp_path), "folders", "/agent"), Root(host, str(tmp_path / "--p--"), "flat", None)]

    seen = listing(roots)

    assert seen.found[path].agent == "/agent"


def test_omps_sub_agents_are_found_at_any_depth_and_advisors_are_not(tmp_path: Path) -> None:
    for name in ("-p/s.jsonl", "-p/s/A.jsonl", "-p/s/A/A.B.jsonl", "-p/s/__advisor1.jsonl", "-p/s/0.bash.log"):
        written(tmp_path, HEADER, name=name)

    omp = listing([Root("omp", str(tmp_path), "folders", None)])
    pi = listing([Root("pi", str(tmp_path), "folders", None)])

    assert names(omp) == {("s.jsonl", "session"), ("A.jsonl", "subagent"), ("A.B.jsonl", "subagent")}
    assert {found.folder for found in omp.found.values()} == {"-p"}
    assert names(pi) == {("s.jsonl", "session")}


def test_the_recorded_omp_home_is_listed_with_archive_sub_agents_and_outside_folder(tmp_path: Path) -> None:
    agent = DATA / "omp/dot-omp/agent"

    seen = listing(HOSTS["omp"].roots(around(tmp_path, agent_dir=str(agent))))

    kinds = [found.kind for found in seen.found.values()]
    assert (kinds.count("subagent"), kinds.count("archived")) == (3, 1)
    assert "/home/dev/my-sessions" in {root.path for root in seen.roots}


@pytest.mark.parametrize("version", ["0.27.9", "0.32.3", "0.73.1", "1.6.0"])
def test_the_recorded_pi_sessions_are_listed(version: str, tmp_path: Path) -> None:
    agent = DATA / "pi" / version

    seen = listing(HOSTS["pi"].roots(around(tmp_path, agent_dir=str(agent))))

    assert set(seen.found) == {str(path) for path in agent.rglob("*.jsonl")}


def test_a_named_file_is_located_under_its_root_or_for_itself(host: str, tmp_path: Path) -> None:
    inside = written(tmp_path, HEADER, name="root/--p--/a.jsonl")
    outside = written(tmp_path, HEADER, name="b.jsonl")
    root = Root(host, str(tmp_path / "root"), "folders", "/agent")

    found, alone = locate(inside, [root], "pi"), locate(outside, [root], "omp")

    assert found == listing([root]).found[inside]
    assert alone is not None
    assert (alone.host, alone.root, alone.agent, alone.folder) == ("omp", str(tmp_path), None, None)
    assert locate(str(tmp_path), [root], "pi") is None
    assert locate(str(tmp_path / "none.jsonl"), [root], "pi") is None


def test_a_named_sub_agent_or_archive_is_located_as_it_is_listed(tmp_path: Path) -> None:
    sub = written(tmp_path, HEADER, name="sessions/-p/s/A.jsonl")
    archived = written(tmp_path, HEADER, name="archive/-p/s.jsonl.gz")
    roots = [
        Root("omp", str(tmp_path / "sessions"), "folders", "/a"),
        Root("omp", str(tmp_path / "archive"), "archive", "/a"),
    ]

    found = [locate(path, roots, "pi") for path in (sub, archived)]

    assert found == [listing(roots).found[path] for path in (sub, archived)]
    assert [one and one.kind for one in found] == ["subagent", "archived"]


def test_pis_agent_directory_is_the_explicit_one_then_the_environments_then_the_default(tmp_path: Path) -> None:
    pi = HOSTS["pi"]

    assert pi.agent_dir(around(tmp_path)) == f"{tmp_path}/.pi/agent"
    assert pi.agent_dir(around(tmp_path, {"PI_CODING_AGENT_DIR": "~/other"})) == f"{tmp_path}/other"
    assert pi.agent_dir(around(tmp_path, {"PI_CODING_AGENT_DIR": "/x"}, agent_dir="/y")) == "/y"


def test_pis_configured_folders_are_listed_beside_the_default(tmp_path: Path) -> None:
    for path, folder in ((tmp_path / "project/.pi", "mine"), (tmp_path / ".pi/agent", "~/theirs")):
        path.mkdir(parents=True)
        (path / "settings.json").write_text(json.dumps({"sessionDir": folder}))

    roots = HOSTS["pi"].roots(around(tmp_path, {"PI_CODING_AGENT_SESSION_DIR": "/env"}, session_dirs=("/given",)))

    assert [(root.path, root.layout, root.agent is None) for root in roots] == [
        (f"{tmp_path}/.pi/agent/sessions", "folders", False),
        ("/env", "flat", False),
        (f"{tmp_path}/project/mine", "flat", False),
        (f"{tmp_path}/theirs", "flat", False),
        ("/given", "mixed", True),
    ]


@pytest.mark.parametrize("content", ["", "[", "[]", '{"sessionDir": 3}', "\ud800"])
def test_settings_that_cannot_be_read_are_as_if_absent(tmp_path: Path, content: str) -> None:
    (tmp_path / ".pi/agent").mkdir(parents=True)
    (tmp_path / ".pi/agent/settings.json").write_bytes(content.encode("utf-8", "surrogatepass"))

    assert len(HOSTS["pi"].roots(around(tmp_path))) == 1


def test_another_agent_directory_leaves_the_environments_session_folder_out(host: str, tmp_path: Path) -> None:
    env = {"PI_CODING_AGENT_SESSION_DIR": "/env"}
    own = HOSTS[host].agent_dir(around(tmp_path))

    other = HOSTS[host].roots(around(tmp_path, env, agent_dir="/elsewhere"))
    same = HOSTS[host].roots(around(tmp_path, env, agent_dir=own))

    assert "/env" not in {root.path for root in other}
    assert "/env" in {root.path for root in same}
    assert other[0].path == "/elsewhere/sessions"


@pytest.mark.parametrize(
    ("env", "expected"),
    [
        ({}, ".omp/agent"),
        ({"PI_CODING_AGENT_DIR": "~/x"}, "x"),
        ({"PI_CONFIG_DIR": ".other"}, ".other/agent"),
        ({"OMP_PROFILE": "work", "PI_CODING_AGENT_DIR": "/x"}, ".omp/profiles/work/agent"),
        ({"PI_PROFILE": "work"}, ".omp/profiles/work/agent"),
        ({"OMP_PROFILE": "", "PI_PROFILE": "work"}, ".omp/agent"),
        ({"OMP_PROFILE": "default"}, ".omp/agent"),
        ({"OMP_PROFILE": "../up"}, ".omp/agent"),
        ({"OMP_PROFILE": "dot."}, ".omp/agent"),
    ],
)
def test_omps_agent_directory_follows_profile_and_environment(
    tmp_path: Path, env: dict[str, str], expected: str
) -> None:
    assert HOSTS["omp"].agent_dir(around(tmp_path, env)) == f"{tmp_path}/{expected}"


def test_omps_xdg_folders_count_only_where_they_exist_and_nothing_else_was_chosen(tmp_path: Path) -> None:
    data, state = tmp_path / "data", tmp_path / "state"
    xdg = {"XDG_DATA_HOME": str(data), "XDG_STATE_HOME": str(state)}
    absent = HOSTS["omp"].roots(around(tmp_path, xdg))
    (data / "omp").mkdir(parents=True)
    (state / "omp/custom-session-files").mkdir(parents=True)
    (state / "omp/custom-session-files/1f").write_text("/far/away/s.jsonl\n")

    there = {root.path for root in HOSTS["omp"].roots(around(tmp_path, xdg))}
    chosen = {root.path for root in HOSTS["omp"].roots(around(tmp_path, {"PI_CODING_AGENT_DIR": "/x", **xdg}))}
    profile = {root.path for root in HOSTS["omp"].roots(around(tmp_path, {"OMP_PROFILE": "work", **xdg}))}

    added = {f"{data}/omp/sessions", "/far/away"}
    assert not added & {root.path for root in absent}
    assert added <= there
    assert not added & chosen
    assert not added & profile


def test_pis_folder_of_a_project_is_its_path_with_dashes(tmp_path: Path) -> None:
    assert HOSTS["pi"].folders("/srv/my shop/a:b", around(tmp_path)) == ("--srv-my shop-a-b--",)


def test_pis_folder_of_a_linked_project_is_the_one_it_leads_to(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")

    folders = HOSTS["pi"].folders(str(tmp_path / "link"), around(tmp_path))

    assert folders[0] == HOSTS["pi"].folders(str(tmp_path / "real"), around(tmp_path))[0]


@pytest.mark.parametrize(
    ("below", "expected"),
    [("", "-"), ("project", "-project"), ("my.app 日本/sub", "-my.app 日本-sub"), ("tmp/omp/app", "-tmp-omp-app")],
)
def test_omps_folder_of_a_project_under_home(tmp_path: Path, below: str, expected: str) -> None:
    assert HOSTS["omp"].folders(str(tmp_path / below), around(tmp_path))[0] == expected


def test_omps_folder_of_a_project_elsewhere(tmp_path: Path) -> None:
    place = Surroundings({"HOME": str(tmp_path / "home")}, "/", None, (), str(tmp_path / "t"))

    first = [HOSTS["omp"].folders(cwd, place)[0] for cwd in ("/srv/shop", str(tmp_path / "t"), str(tmp_path / "t/x/y"))]

    assert first == ["--srv-shop--", "-tmp", "-tmp-x-y"]


def test_omps_older_folder_names_are_tried_too(tmp_path: Path) -> None:
    folders = HOSTS["omp"].folders(str(tmp_path / "project"), around(tmp_path))

    assert folders[1] == f"--{str(tmp_path).lstrip('/').replace('/', '-')}-project--"
    assert folders[2].startswith("home-project-")


def test_a_folder_that_both_hosts_claim_is_told_apart_by_the_title_slot(tmp_path: Path) -> None:
    folder = tmp_path / "sessions" / "--p--"
    folder.mkdir(parents=True)
    (folder / "a.jsonl").write_text('{"type":"session","version":3,"id":"a","cwd":"/p"}\n')
    (folder / "b.jsonl").write_text('{"type":"title","v":1,"title":""}\n{"type":"session","version":3,"id":"b"}\n')
    roots = [Root(host, str(tmp_path / "sessions"), "folders", str(tmp_path)) for host in ("pi", "omp")]

    found = listing(roots).found

    assert {Path(path).name: seen.host for path, seen in found.items()} == {"a.jsonl": "pi", "b.jsonl": "omp"}
