"""People and agents change one file in turn: whatever the people wrote, nothing is lost that was not asked for."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pepys.notes import markdown
from tests.notes.conftest import Desk

NOTE = re.compile(rb"(?:[\s]|\xef\xbb\xbf)*[-*][ \t]+(.*)", re.DOTALL)

COMMON = ["use bun", "Use bun", "use bun.", "日本"]
"""Notes that both write, so that they meet."""

junk = st.binary(max_size=8).map(lambda data: data.replace(b"\n", b""))
common = st.sampled_from([note.encode() for note in COMMON])
texts = (
    common | common | common | junk | st.sampled_from([b"  spaced   out ", b"\x1b[31mred", b"\xff", b"-", b"y" * 700])
)
bullets = st.builds(
    lambda indent, mark, space, text: indent + mark + space + text,
    st.sampled_from([b"", b"", b"   ", b"\t"]),
    st.sampled_from([b"-", b"*"]),
    st.sampled_from([b" ", b"\t "]),
    texts,
)
prose = st.sampled_from([b"", b"# Shop", b"1. one", b"+ plus", b"> - quoted", b"---", b"-", b"x" * 3000]) | junk
endings = st.sampled_from([[b"\n"], [b"\r\n"], [b"\n", b"\r\n"]])
lines = st.lists(st.tuples(bullets | bullets | prose, st.integers(0, 1)), min_size=1, max_size=8)
files = st.builds(
    lambda bom, ends, found, last: bom + b"".join(body + ends[at % len(ends)] for body, at in found) + last,
    st.sampled_from([b"", b"\xef\xbb\xbf"]),
    endings,
    lines,
    bullets | prose | st.just(b""),
)
which = st.integers(0, 7)  # of the notes that are there
new = st.sampled_from([*COMMON, "newer"])
changes = st.one_of(
    st.tuples(st.just("add"), new),
    st.tuples(st.just("forget"), which),
    st.tuples(st.just("update"), which, new),
    st.tuples(st.just("merge"), which, which, new),
    st.tuples(st.just("clear")),
    st.tuples(st.just("edit"), files),
)


def split(data: bytes) -> tuple[list[bytes], list[str]]:
    """The lines that are no notes, without blank ones, and the notes; told apart without the code under test."""
    others, notes = [], []
    for line in re.split(rb"\r?\n", data):
        found = NOTE.fullmatch(line)
        note = markdown.clean(found[1].decode("utf-8", "surrogateescape")) if found else ""
        notes += [note] if note else []
        others += [line.removeprefix(b"\xef\xbb\xbf")] if not note and line.strip() else []
    return [line for line in others if line], notes


def expected(notes: list[str], change: tuple[Any, ...]) -> list[str]:
    """What a change that succeeds makes of *notes*; a list that is written by hand knows no lines."""
    match change:
        case ("add", note):
            return (
                notes if any(markdown.key(note) == markdown.key(other) for other in notes) else sorted([*notes, note])
            )
        case ("forget", note):
            return [other for other in notes if other != note]
        case ("update", note, to):
            return [to if other == note else other for other in notes]
        case ("merge", first, second, to):
            at = notes.index(first)
            return [to if n == at else note for n, note in enumerate(notes) if n == at or note not in (first, second)]
    return []


@pytest.mark.requirement("notes.prose_kept", "notes.bullets", "notes.line_endings")
@settings(max_examples=150)
@given(files, st.lists(changes, min_size=1, max_size=6))
def test_no_turn_loses_what_it_was_not_asked_for(first: bytes, turns: list[tuple[Any, ...]]) -> None:
    with tempfile.TemporaryDirectory() as directory:
        desk = Desk(Path(directory))
        path = desk.write(first)
        for turn in turns:
            before = path.read_bytes()
            if turn[0] == "edit":
                path.write_bytes(turn[1])
                continue
            notes_there = split(before)[1]
            if not notes_there and turn[0] != "add":
                continue
            turn = tuple(notes_there[part % len(notes_there)] if isinstance(part, int) else part for part in turn)
            done = carry_out(desk, turn)
            after = path.read_bytes()

            (prose_before, notes_before), (prose_after, notes_after) = split(before), split(after)
            if not done:
                assert after == before
                continue
            if before:
                assert prose_after == prose_before
                assert set(re.findall(rb"\r?\n", after)) <= (set(re.findall(rb"\r?\n", before)) or {b"\n"})
                assert after.startswith(b"\xef\xbb\xbf") == before.startswith(b"\xef\xbb\xbf") or not after
            wanted = expected(notes_before, turn)
            assert (sorted(notes_after) if turn[0] == "add" else notes_after) == (
                sorted(wanted) if turn[0] == "add" else wanted
            )
            assert list(desk.listed()) == notes_after
        desk.workspace.close()


def carry_out(desk: Desk, turn: tuple[Any, ...]) -> bool:
    """Whether the change was made; one that fails must have changed nothing."""
    from pepys.errors import PepysError

    notes = desk.workspace.notes
    try:
        match turn:
            case ("add" | "forget" as action, note):
                return bool(desk.memory(action, note)["changed"])
            case ("update", note, to):
                return bool(desk.memory("update", note, to=to)["changed"])
            case ("merge", one, other, to):
                return bool(notes.merge(first=one, second=other, text=to)["changed"])
            case _:
                return bool(notes.clear()["changed"])
    except PepysError:
        return False
