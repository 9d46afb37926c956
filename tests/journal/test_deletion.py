"""The proof that forgetting is complete: what is forgotten is nowhere, and the proof can fail."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from pepys.journal import forgotten
from tests.journal.project import Project, entry

Json = dict[str, Any]

SECRET = "zweihunderteins marzipanschwein"
WORDS = [b"zweihunderteins", b"marzipanschwein", b"wildturn", b"wildsession"]
TEXT = f"the door code is {SECRET}"
NEIGHBOURS = ("the gate faces north", "the lift is slow")


@pytest.fixture
def store(project: Project) -> Project:
    """An entry between two others, indexed."""
    project.write_day(
        "\n## Session 10:00\n\n"
        + entry("10:00", NEIGHBOURS[0])
        + entry("10:05", TEXT, session="wildsession", turn="wildturn")
        + entry("10:10", NEIGHBOURS[1])
    )
    project.write_day(
        "".join(entry(f"09:{number:02}", f"filler number {number}") for number in range(30)), "2026-08-12"
    )
    assert project.call("journal.search", {"query": SECRET})["hits"]
    return project


def on_disk(project: Project, needles: list[bytes]) -> set[bytes]:
    """Which of *needles* some file below the home holds, whatever the file is.

    The list of what must not be captured again is there to hold ids; whatever else it held would be found.
    """
    files = {path: path.read_bytes() for path in project.home.rglob("*") if path.is_file()}
    listed = files.pop(forgotten.path(project.env), b"")
    files[Path("listed")] = listed.replace(b'"wildsession", "wildturn"', b"")
    return {needle for needle in needles for data in files.values() if needle in data}


def elsewhere(project: Project, ref: str, args: Json) -> Json:
    """The call, made by a fresh process."""
    context = {"cwd": str(project.root), "index_dir": str(project.home / "index")}
    program = (
        "import json, sys, pepys\n"
        "ref, args, keywords = json.load(sys.stdin)\n"
        "with pepys.open(**keywords) as workspace: print(json.dumps(workspace.call(ref, args)))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        input=json.dumps([ref, args, context]),
        env={**project.env, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
        capture_output=True,
        text=True,
        check=True,
    )
    answer: Json = json.loads(done.stdout)
    return answer


def hashes(project: Project) -> dict[str, str]:
    return {
        name: project.call("journal.search", {"query": query})["hits"][0]["chunk_hash"]
        for name, query in (("secret", SECRET), ("neighbour", NEIGHBOURS[1]))
    }


def found(project: Project, query: str, *, fresh: bool) -> str:
    args = {"query": query, "top_k": 20}
    answer = elsewhere(project, "journal.search", args) if fresh else project.call("journal.search", args)
    return json.dumps(answer["hits"], ensure_ascii=False)


@pytest.mark.requirement("journal.forget.deletion_proof")
@pytest.mark.parametrize("by", ["hash", "time"])
def test_what_is_forgotten_is_found_by_nothing_and_lies_nowhere(store: Project, by: str) -> None:
    known = hashes(store)
    needles = [*WORDS, known["secret"].encode(), bytes.fromhex(known["secret"])]
    before = on_disk(store, needles)
    address = {"chunk_hash": known["secret"]} if by == "hash" else {"date": "2026-08-13", "time": "10:05"}

    answer = store.call("journal.forget", address)
    after = [on_disk(store, needles)]
    store.call("journal.search", {"query": "lift"})
    after.append(on_disk(store, needles))
    shutil.rmtree(store.home / "index")
    store.call("journal.search", {"query": "lift"})
    after.append(on_disk(store, needles))

    # The control: these bytes can be found, and the words were in the file.
    assert set(WORDS) <= before
    assert answer["purgePending"] is False
    assert after == [set(), set(), set()]
    for fresh in (False, True):
        for query in (SECRET, "marzipanschwein", "door code", *NEIGHBOURS, known["secret"]):
            assert "marzipanschwein" not in found(store, query, fresh=fresh)
        assert NEIGHBOURS[0] in found(store, NEIGHBOURS[0], fresh=fresh)


@pytest.mark.requirement("journal.forget.deletion_proof")
def test_the_proof_can_fail(store: Project) -> None:
    # An entry that is only taken out of its file, behind the index's back, leaves traces until the index is purged.
    text = store.day().read_text().replace(entry("10:05", TEXT, session="wildsession", turn="wildturn"), "")
    known = hashes(store)
    store.day().write_text(text)

    left = on_disk(store, [*WORDS, known["secret"].encode(), bytes.fromhex(known["secret"])])

    assert left


@pytest.mark.requirement("journal.forget.deletion_proof")
def test_a_neighbour_of_what_was_forgotten_keeps_its_hash(store: Project) -> None:
    known = hashes(store)

    store.call("journal.forget", {"date": "2026-08-13", "time": "10:05"})

    section = store.call("journal.expand", {"chunk_hash": known["neighbour"]})
    assert section["content"] == entry("10:10", NEIGHBOURS[1]).rstrip()


@pytest.mark.requirement("journal.forget.deletion_proof")
def test_while_a_reader_is_open_the_index_is_purged_or_says_so(store: Project) -> None:
    known = hashes(store)
    needles = [*WORDS, known["secret"].encode(), bytes.fromhex(known["secret"])]
    with store.open() as reader:
        reader.call("journal.search", {"query": SECRET})
        answer = elsewhere(store, "journal.forget", {"date": "2026-08-13", "time": "10:05"})
        assert "marzipanschwein" not in json.dumps(reader.call("journal.search", {"query": SECRET})["hits"])
    if answer["purgePending"]:
        elsewhere(store, "journal.search", {"query": "lift"})

    assert on_disk(store, needles) == set()


def test_the_directory_of_the_index_is_private(store: Project) -> None:
    made = [path for path in (store.home / "index" / "pepys-journal-1").iterdir() if path.is_dir()]

    assert [path.stat().st_mode & 0o777 for path in made] == [0o700]


def test_an_index_that_was_deleted_loses_nothing(store: Project) -> None:
    before = hashes(store)
    shutil.rmtree(store.home / "index")

    assert hashes(store) == before
    assert Path(store.day()).exists()


@pytest.mark.requirement("journal.store.links")
def test_a_link_in_a_store_makes_nothing_elsewhere_searchable(store: Project) -> None:
    secret = store.home / "secret.md"
    secret.write_text("### 10:00\n- walrus\n")
    (store.store / "2026-08-11.md").symlink_to(secret)
    (store.store / "more").symlink_to(store.home)

    assert store.call("journal.search", {"query": "walrus"})["hits"] == []
