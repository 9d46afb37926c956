"""Whatever doctor and the index's own commands look at may be unreadable, a file, or a link that leads nowhere."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.cli.conftest import Pepys

Shop = tuple[str, ...]


def _reads_everything(folder: Path) -> bool:
    folder.chmod(0)
    try:
        os.listdir(folder)
    except PermissionError:
        return False
    finally:
        folder.chmod(0o700)
    return True


@pytest.fixture
def closed(tmp_path: Path) -> Iterator[Callable[[Path, int], None]]:
    """Take modes away until the test is over; skips for users whom modes do not stop."""
    (tmp_path / "probe").mkdir()
    if _reads_everything(tmp_path / "probe"):
        pytest.skip("modes do not stop this user")
    changed: list[tuple[Path, int]] = []

    def close(path: Path, mode: int = 0) -> None:
        changed.append((path, path.stat().st_mode))
        path.chmod(mode)

    yield close
    for path, mode in reversed(changed):
        path.chmod(mode)


def circle(tmp_path: Path) -> Path:
    (tmp_path / "there").symlink_to("back")
    (tmp_path / "back").symlink_to("there")
    return tmp_path / "there"


def nowhere(tmp_path: Path) -> Path:
    (tmp_path / "dangling").symlink_to("nothing")
    return tmp_path / "dangling"


def file(tmp_path: Path) -> Path:
    (tmp_path / "file").touch()
    return tmp_path / "file"


PLACES = pytest.mark.parametrize("place", [circle, nowhere, file, lambda tmp_path: Path("/proc/nope")])


@PLACES
def test_where_no_index_can_be_kept_doctor_wants_another_directory(
    pepys: Pepys, shop: Shop, tmp_path: Path, place: Callable[[Path], Path]
) -> None:
    found = pepys("doctor", *shop, "--index-dir", str(place(tmp_path)), "--json")

    (check,) = (check for check in found.json["checks"] if check["subject"] == "index")
    assert (found.status, found.stderr) == (1, "")
    assert check["state"] == "action"
    assert check["finding"].startswith("nothing can be written to /")
    assert "--index-dir" in check["step"]


@PLACES
def test_where_no_index_can_be_kept_status_promises_none(
    pepys: Pepys, shop: Shop, tmp_path: Path, place: Callable[[Path], Path]
) -> None:
    directory = str(place(tmp_path))

    for_people = pepys("index", "status", *shop, "--index-dir", directory).stdout
    trouble = pepys("index", "status", *shop, "--index-dir", directory, "--json").json["trouble"]

    assert trouble in for_people
    assert "nothing can be written to /" in trouble
    assert "answers come by scanning" in trouble
    assert "builds it" not in for_people
    assert "will be rebuilt" not in for_people


def test_an_index_that_does_not_exist_yet_is_no_trouble(pepys: Pepys, shop: Shop) -> None:
    assert "the first search, or `pepys index`, builds it" in pepys("index", "status", *shop).stdout
    assert "trouble" not in pepys("index", "status", *shop, "--json").json


def test_a_link_in_a_circle_is_not_taken_for_an_index_that_is_not_there(
    pepys: Pepys, shop: Shop, tmp_path: Path
) -> None:
    found = pepys("index", "delete", *shop, "--index-dir", str(circle(tmp_path)))

    assert (found.status, found.stdout) == (6, "")
    assert "cannot be removed: Too many levels of symbolic links." in found.stderr
    assert "Free space" not in found.stderr


def test_an_index_directory_that_may_not_be_read_is_said_to_be_one(
    pepys: Pepys, shop: Shop, home: Path, closed: Callable[[Path], None]
) -> None:
    pepys("index", *shop)
    (folder,) = (home / ".cache" / "pepys").iterdir()

    for path in (folder, folder.parent):
        closed(path)
        checked, status, deleted = (
            pepys(*words, *shop) for words in (["doctor"], ["index", "status"], ["index", "delete"])
        )

        assert checked.status == 1
        assert f"nothing can be written to {path}: Permission denied" in checked.stdout
        assert status.status == 0
        assert "cannot be read, and cannot be rebuilt" in status.stdout
        assert (deleted.status, deleted.stdout) == (6, "")
        assert "cannot be removed: Permission denied." in deleted.stderr
        assert "Give yourself access" in deleted.stderr


def test_a_read_only_index_is_not_promised_to_be_rebuilt(
    pepys: Pepys, shop: Shop, home: Path, closed: Callable[[Path, int], None]
) -> None:
    pepys("index", *shop)
    (folder,) = (home / ".cache" / "pepys").iterdir()
    closed(folder, 0o500)

    shown = pepys("index", "status", *shop).stdout

    assert "trouble" in shown
    assert "will be rebuilt" not in shown


def test_sessions_that_may_not_be_read_are_found_by_doctor(
    pepys: Pepys, shop: Shop, home: Path, closed: Callable[[Path], None]
) -> None:
    first, second, *_ = sorted((home / ".pi").rglob("*.jsonl"))
    closed(first)
    closed(second)

    found = pepys("doctor", *shop)

    assert found.status == 1
    assert f"{first} cannot be read, nor can 1 more" in found.stdout
    assert f"chmod u+r {first}" in found.stdout


@pytest.mark.parametrize(
    ("place", "finding", "step"),
    [(circle, "Too many levels of symbolic links", "a link in a circle"), (file, "Not a directory", "the folder")],
)
def test_a_folder_of_sessions_that_is_none_is_found_by_doctor(
    pepys: Pepys, home: Path, tmp_path: Path, place: Callable[[Path], Path], finding: str, step: str
) -> None:
    (home / ".pi" / "agent").mkdir(parents=True)
    (home / ".pi" / "agent" / "sessions").symlink_to(place(tmp_path))

    found = pepys("doctor")

    assert (found.status, found.stderr) == (1, "")
    assert f"{home / '.pi' / 'agent' / 'sessions'} cannot be listed: {finding}" in found.stdout
    assert step in found.stdout
    assert "chmod" not in found.stdout


def test_a_project_that_may_not_be_looked_at_has_no_configuration(
    pepys: Pepys, home: Path, tmp_path: Path, closed: Callable[[Path], None]
) -> None:
    (tmp_path / "private" / "inner").mkdir(parents=True)
    closed(tmp_path / "private")

    found = pepys("sessions", "--cwd", str(tmp_path / "private" / "inner"))

    assert (found.status, found.stdout) == (0, "")
    assert found.stderr.startswith("No sessions.")
