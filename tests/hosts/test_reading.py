from __future__ import annotations

import gzip
import hashlib
import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from pepys.hosts import HOSTS
from pepys.hosts.jsonl import MAX_LINE_BYTES
from pepys.hosts.reading import Checkpoint, Item, Reading, examine, read_entries
from pepys.model.entry import Entry
from pepys.model.source import DIAGNOSTICS, Diagnostic, Header, Title
from tests.hosts.sources import HEADER, SLOT, jsonl, message, recorded, written

ONE = message("a", None, "user", "one")
TWO = message("b", "a", "user", "two")


@pytest.fixture(params=sorted(HOSTS))
def host(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def read(host: str, path: str | Path, previous: Checkpoint | None = None) -> tuple[Reading, list[Item]]:
    reading = examine(HOSTS[host], str(path), previous)
    return reading, list(reading.items())


def entries(items: list[Item]) -> list[Entry]:
    return [item for item in items if isinstance(item, Entry)]


def codes(items: list[Item]) -> list[str]:
    return [item.code for item in items if isinstance(item, Diagnostic)]


def test_a_source_gives_its_header_and_its_entries_in_file_order(host: str, tmp_path: Path) -> None:
    path = written(tmp_path, HEADER, ONE, TWO)

    reading, items = read(host, path)

    data = Path(path).read_bytes()
    assert items[0] == Header("s1", "/p", 3, 1772359200000, None, None)
    assert [entry.id for entry in entries(items)] == ["a", "b"]
    assert [json.loads(data[entry.start : entry.end])["id"] for entry in entries(items)] == ["a", "b"]
    assert reading.sha256 == reading.checkpoint.sha256 == hashlib.sha256(data).hexdigest()
    assert (reading.checkpoint.offset, reading.stamp.size) == (len(data), len(data))
    assert not (reading.grown or reading.changed or reading.derived_ids)


def test_an_unfinished_last_line_is_neither_decoded_nor_checkpointed(host: str, tmp_path: Path) -> None:
    path = written(tmp_path, HEADER, ONE)
    whole = Path(path).read_bytes()
    Path(path).write_bytes(whole + json.dumps(TWO).encode())  # it would even parse

    reading, items = read(host, path)

    assert [entry.id for entry in entries(items)] == ["a"]
    assert items[-1] == Diagnostic(len(whole), "torn_tail", loses=True)
    assert reading.checkpoint == Checkpoint(len(whole), hashlib.sha256(whole).hexdigest())
    assert reading.sha256 == hashlib.sha256(Path(path).read_bytes()).hexdigest()


def test_a_grown_source_is_read_from_its_checkpoint(host: str, tmp_path: Path) -> None:
    path = written(tmp_path, HEADER, ONE)
    before, _ = read(host, path)
    with Path(path).open("ab") as file:
        file.write(jsonl(TWO))

    after, items = read(host, path, before.checkpoint)

    assert after.grown
    assert [entry.id for entry in entries(items)] == ["b"]
    assert len(items) == 1
    assert after.sha256 == hashlib.sha256(Path(path).read_bytes()).hexdigest()
    assert after.checkpoint.offset == after.stamp.size


@pytest.mark.parametrize("lines", [(HEADER, TWO, TWO), (HEADER,), ()])
def test_a_source_that_does_not_go_on_from_its_checkpoint_is_read_anew(
    host: str, tmp_path: Path, lines: tuple[Any, ...]
) -> None:
    path = written(tmp_path, HEADER, ONE)
    before, _ = read(host, path)
    written(tmp_path, *lines)

    after, items = read(host, path, before.checkpoint)

    assert not after.grown
    assert items == read(host, path)[1]
    assert after.sha256 == hashlib.sha256(Path(path).read_bytes()).hexdigest()


def test_a_title_overwritten_in_its_slot_is_not_growth(tmp_path: Path) -> None:
    path = written(tmp_path, SLOT, HEADER, ONE)
    before, _ = read("omp", path)
    written(tmp_path, SLOT | {"title": "Another one!!"}, HEADER, ONE)

    after, items = read("omp", path, before.checkpoint)

    assert not after.grown
    assert items[:2] == [Header("s1", "/p", 3, 1772359200000, None, None), Title("Another one!!")]


@pytest.mark.parametrize(
    ("lines", "titles"),
    [
        ((SLOT, HEADER | {"title": "From the header"}), ["From the header", "From the slot"]),
        ((SLOT | {"title": ""}, HEADER | {"title": "From the header"}), ["From the header", None]),
        ((HEADER | {"title": "From the header"},), ["From the header"]),
    ],
)
def test_of_all_names_of_a_session_the_last_one_read_counts(
    tmp_path: Path, lines: tuple[Any, ...], titles: list[str | None]
) -> None:
    path = written(tmp_path, *lines, ONE)

    items = read("omp", path)[1]

    named = [
        item.title if isinstance(item, Header) else item.text for item in items if isinstance(item, Header | Title)
    ]
    assert named == titles


def test_a_missing_header_is_said_once_and_a_late_or_second_one_is_named(host: str, tmp_path: Path) -> None:
    missing = read(host, written(tmp_path, ONE, TWO, name="missing"))[1]
    late = read(host, written(tmp_path, ONE, HEADER, TWO, name="late"))[1]
    second = read(host, written(tmp_path, HEADER, ONE, HEADER | {"id": "s2"}, name="second"))[1]
    empty = read(host, written(tmp_path, name="empty"))[1]

    assert codes(missing) == codes(late) == ["missing_header"]
    assert [item.session for item in late if isinstance(item, Header)] == ["s1"]
    assert codes(second) == ["repeated_header"]
    assert [item.session for item in second if isinstance(item, Header)] == ["s1"]
    assert empty == []


def test_good_lines_around_damage_stay(host: str, tmp_path: Path) -> None:
    path = written(
        tmp_path, HEADER, ONE, b'{"type":"mess', b"", b"  \r", b"\0\0\0\0", b"null", b'{"type":"x"}', b"{}", TWO
    )

    items = read(host, path)[1]

    assert [entry.id for entry in entries(items)] == ["a", "b"]
    assert codes(items) == ["malformed_record", "nul_run", "not_an_object", "unknown_record_type", "unknown_shape"]


def test_a_line_over_the_limit_is_a_diagnostic(host: str, tmp_path: Path) -> None:
    path = written(tmp_path, HEADER, message("big", None, "user", "x" * MAX_LINE_BYTES), TWO)

    reading, items = read(host, path)

    assert codes(items) == ["record_too_large"]
    assert [entry.id for entry in entries(items)] == ["b"]
    assert reading.checkpoint.offset == reading.stamp.size


def test_entries_without_an_id_are_chained_and_named_by_their_bytes(host: str, tmp_path: Path) -> None:
    same, other = message(None, None, "user", "same"), message(None, None, "user", "other")
    path = written(tmp_path, {"type": "session", "id": "s1", "cwd": "/p"}, same, other, same, ONE)

    reading, items = read(host, path)

    first, second, third, fourth = entries(items)
    digest = hashlib.sha256(json.dumps(same).encode()).hexdigest()[:8]
    assert (first.id, third.id) == (f"line-{digest}", f"line-{digest}-2")
    assert [entry.parent for entry in (first, second, third)] == [None, first.id, second.id]
    assert (fourth.id, fourth.parent) == ("a", None)
    assert reading.derived_ids


def test_spans_are_read_again_in_any_order(host: str, tmp_path: Path) -> None:
    path = written(tmp_path, HEADER, ONE, message(None, None, "user", "old"), TWO)
    one, old, two = entries(read(host, path)[1])

    found = read_entries(HOSTS[host], path, [(two.start, two.end), (one.start, one.end), (old.start, old.end)])

    assert found == [two, one, old._replace(id=None, parent=None)]


@pytest.mark.parametrize("shift", [(1, 0), (0, -1), (0, 1), (0, 10**6), (-10, 0)])
def test_a_span_that_holds_no_entry_gives_none(host: str, tmp_path: Path, shift: tuple[int, int]) -> None:
    path = written(tmp_path, HEADER, ONE, TWO)
    one, two = entries(read(host, path)[1])

    found = read_entries(HOSTS[host], path, [(one.start + shift[0], one.end + shift[1]), (two.start, two.end), (0, 9)])

    assert found == [None, two, None]


def test_an_archive_is_read_like_the_file_it_was(host: str, tmp_path: Path) -> None:
    plain = written(tmp_path, HEADER, ONE, TWO)
    archive = tmp_path / "s.jsonl.gz"
    archive.write_bytes(gzip.compress(Path(plain).read_bytes()))

    reading, items = read(host, archive)
    again = examine(HOSTS[host], str(archive), reading.checkpoint)

    assert items == read(host, plain)[1]
    assert reading.sha256 == hashlib.sha256(archive.read_bytes()).hexdigest()
    assert not again.grown
    assert list(again.items()) == items
    assert read_entries(HOSTS[host], str(archive), [(e.start, e.end) for e in entries(items)]) == entries(items)


def test_an_archive_that_was_cut_off_keeps_what_is_whole(host: str, tmp_path: Path) -> None:
    content = jsonl(HEADER, ONE, *(message(f"{n:08x}", "a", "user", os.urandom(40).hex()) for n in range(2000)))
    archive = tmp_path / "s.jsonl.gz"
    archive.write_bytes(gzip.compress(content)[:-60_000])

    items = read(host, archive)[1]

    assert "torn_tail" in codes(items)
    assert isinstance(items[0], Header)


def test_what_is_no_archive_cannot_be_read(host: str, tmp_path: Path) -> None:
    path = written(tmp_path, HEADER, ONE, name="s.jsonl.gz")

    with pytest.raises(OSError, match="gzip"):
        read(host, path)


def test_a_missing_source_cannot_be_examined(host: str, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        examine(HOSTS[host], str(tmp_path / "none.jsonl"))


def test_growth_while_reading_is_no_change_but_a_rewrite_is(host: str, tmp_path: Path) -> None:
    grown, rewritten = (Path(written(tmp_path, HEADER, ONE, name=name)) for name in ("grown", "rewritten"))
    readings = [examine(HOSTS[host], str(path)) for path in (grown, rewritten)]
    streams = [reading.items() for reading in readings]
    firsts = [next(stream) for stream in streams]

    with grown.open("ab") as file:
        file.write(jsonl(TWO))
    with rewritten.open("r+b") as file:
        file.truncate(10)
    rest = [list(stream) for stream in streams]

    assert all(isinstance(first, Header) for first in firsts)
    assert [entry.id for entry in entries(rest[0])] == ["a", "b"]
    assert [reading.changed for reading in readings] == [False, True]


@pytest.mark.parametrize(("name", "path"), recorded("pi") + recorded("omp"))
def test_a_recorded_session_is_read_without_loss(name: str, path: Path) -> None:
    reading, items = read(name, path)

    lost = [code for code in codes(items) if DIAGNOSTICS[code][0]]
    found = entries(items)
    again = read_entries(HOSTS[name], str(path), [(entry.start, entry.end) for entry in found])
    assert lost == (["malformed_record"] if "21-38-04-171Z" in path.name else [])
    assert [entry.notice for entry in found if entry.notice] == []
    assert sum(isinstance(item, Header) for item in items) == 1
    assert found
    assert [entry and (entry.start, entry.blocks, entry.details) for entry in again] == [
        (entry.start, entry.blocks, entry.details) for entry in found
    ]
    assert reading.checkpoint.offset >= found[-1].end


FRAGMENTS = st.sampled_from(
    [
        *(
            jsonl(line)
            for line in (
                HEADER, SLOT, ONE, TWO, message(None, None, "user", "old"), message(None, None, "user", "older"),
                {"type": "future", "id": "f", "parentId": "b"}, {"type": "session_info", "id": "n", "name": "x"},
                {}, {"type": "message", "id": "m", "message": []},
                message("c", "b", "assistant", [1, {"type": "text"}]),
            )
        ),
        b"\n", b"\r\n", b"null\n", b"\0", b"\xef\xbb\xbf", b"\xff", b'{"type":"mess', b'"', b"{", b"}",
        "\u2028".encode(),
    ]
)  # fmt: skip
SOUP = st.lists(FRAGMENTS | st.binary(max_size=6), max_size=14).map(b"".join)


@settings(deadline=None)
@given(data=SOUP, name=st.sampled_from(sorted(HOSTS)))
def test_every_line_is_read_or_reported_and_found_again_at_its_span(
    tmp_path_factory: pytest.TempPathFactory, data: bytes, name: str
) -> None:
    path = tmp_path_factory.getbasetemp() / "soup.jsonl"
    path.write_bytes(data)

    items = read(name, path)[1]

    found = entries(items)
    again = read_entries(HOSTS[name], str(path), [(entry.start, entry.end) for entry in found])
    assert [entry and entry._replace(id=None, parent=None) for entry in again] == [
        entry._replace(id=None, parent=None) for entry in found
    ]
    starts, at = set(), 0
    for line in data.split(b"\n"):
        if line.strip():
            starts.add(at)
        at += len(line) + 1
    accounted = {item.start for item in items if isinstance(item, Entry | Diagnostic)}
    headers = sum(isinstance(item, Header | Title) for item in items)
    assert accounted <= starts
    assert len(starts - accounted) <= headers


OLD = message(None, None, "user", "old")


@settings(deadline=None, max_examples=300)
@given(begun=SOUP, added=SOUP, name=st.sampled_from(sorted(HOSTS)))
@example(begun=jsonl(SLOT), added=jsonl(HEADER, ONE), name="omp")
@example(begun=jsonl(HEADER, OLD), added=jsonl(OLD, OLD), name="pi")
@example(begun=jsonl(ONE), added=jsonl(HEADER, TWO), name="pi")
def test_a_source_read_in_two_steps_gives_what_one_step_gives(
    tmp_path_factory: pytest.TempPathFactory, begun: bytes, added: bytes, name: str
) -> None:
    path = tmp_path_factory.getbasetemp() / "growing.jsonl"
    path.write_bytes(begun)
    first, early = read(name, path)
    path.write_bytes(begun + added)
    second, late = read(name, path, first.checkpoint)

    whole, items = read(name, path)

    kept = [item for item in early if not (isinstance(item, Diagnostic) and item.code == "torn_tail")]
    assert (kept if second.grown else []) + late == items
    assert (second.sha256, second.checkpoint) == (whole.sha256, whole.checkpoint)
    assert second.grown or not entries(kept)
