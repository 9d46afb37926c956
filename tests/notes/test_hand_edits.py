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

junk = st.binary(max_size=8).map(lambda data: data.replace(b"\n", b""))
texts = st.sampled_from(
    [b"use bun", b"Use bun.", b"\xe6\x97\xa5\xe6\x9c\xac", b"  spaced   out ", b"\x1b[31mred", b"\xff", b"-"]
)
bullets = st.builds(
    lambda indent, mark, space, text: indent + mark + space + text,
    st.sampled_from([b"", b"   ", b"\t"]),
    st.sampled_from([b"-", b"*"]),
    st.sampled_from([b" ", b"\t "]),
    texts | junk | st.just(b"y" * 700),
)
prose = st.sampled_from([b"", b"", b"# Shop", b"1. one", b"+ plus", b"> - quoted", b"---", b"-", b"x" * 3000]) | junk
written = st.lists(st.tuples(bullets | prose, st.sampled_from([b"\n", b"\r\n"])), max_size=8)
files = st.builds(
    lambda bom, lines, last: bom + b"".join(body + ending for body, ending in lines) + last,
    st.sampled_from([b"", b"\xef\xbb\xbf"]),
    written,
    bullets | prose,
)
some_note = st.sampled_from(
    ["use bun", "USE BUN!", "日本", "spaced out", "[31mred", "\ufffd", "y" * 700, "new", "newer"]
)
changes = st.one_of(
    st.tuples(st.just("add"), some_note),
    st.tuples(st.just("forget"), some_note),
    st.tuples(st.just("update"), some_note, some_note),
    st.tuples(st.just("merge"), some_note, some_note, some_note),
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
@settings(max_examples=60)
@given(files, st.lists(changes, max_size=8))
def test_no_turn_loses_what_it_was_not_asked_for(first: bytes, turns: list[tuple[Any, ...]]) -> None:
    with tempfile.TemporaryDirectory() as directory:
        desk = Desk(Path(directory))
        path = desk.write(first)
        for turn in turns:
            before = path.read_bytes()
            if turn[0] == "edit":
                path.write_bytes(turn[1])
                continue
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
