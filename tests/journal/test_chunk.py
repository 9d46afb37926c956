"""Chunks are a convention of all agents that share a store: their lines and hashes are memsearch's."""

from __future__ import annotations

import hashlib
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pepys.journal.chunk import Piece, content_hash, ids, pieces, shared_ids, without_comments

TWO_ENTRIES = (
    "\n## Session 22:41\n\n### 22:41\n<!-- session:3f2c9b1e turn:ab12cd34 transcript:/t/a.jsonl -->\n"
    "- moved the hot cache to Redis\n\n### 22:55\n<!-- session:3f2c9b1e turn:cd34ab12 transcript:/t/a.jsonl -->\n"
    "- dropped varnish\n\n"
)
SOURCE = "/p/.memsearch/memory/2026-08-13.md"
MODELS = ("gpahal/bge-m3-onnx-int8", "wl-256")


def cut(text: str, max_chars: int = 1500, overlap: int = 2) -> list[tuple[int, int, str]]:
    return [(piece.first, piece.last, piece.text) for piece in pieces(text, max_chars, overlap)]


@pytest.mark.requirement("journal.index.chunks")
@pytest.mark.parametrize(
    ("heading", "lines", "content", "shared"),
    [
        ("22:41", (4, 7), "710bd02ab7b785a2", ("bcc814eef4e8f88c", "01b0243ce8f42611")),
        ("22:55", (8, 12), "039ee699f788696a", ("6b5639c5bf8117a7", "186610dd80b6bf49")),
    ],
)
def test_sections_have_the_lines_and_hashes_that_memsearch_gives_them(
    heading: str, lines: tuple[int, int], content: str, shared: tuple[str, str]
) -> None:
    found = {piece.heading: piece for piece in pieces(TWO_ENTRIES)}

    piece = found[heading]
    assert sorted(found) == ["22:41", "22:55"]
    assert (piece.level, (piece.first, piece.last), content_hash(piece.text)) == (3, lines, content)
    assert tuple(shared_ids(SOURCE, piece, MODELS)) == shared


@pytest.mark.requirement("journal.index.chunks")
def test_carriage_returns_and_headings_in_fenced_code_are_read_as_memsearch_reads_them() -> None:
    windows = list(pieces("### 10:00\r\n- one\r\n\r\n### 10:05\r\n- two\r\n"))
    fenced = list(pieces("### 10:00\n```sh\n# not a heading\nls\n```\n- after\n"))

    assert [(piece.heading, piece.first, piece.last, *shared_ids("/a.md", piece, "m")) for piece in windows] == [
        ("10:00", 1, 3, "a86fe7cd9cd3cb54"),
        ("10:05", 4, 6, "423b65932795a75f"),
    ]
    assert [
        (piece.heading, piece.level, piece.first, piece.last, *shared_ids("/a.md", piece, "m")) for piece in fenced
    ] == [
        ("10:00", 3, 1, 2, "092d0bc0ebba3efa"),
        ("not a heading", 1, 3, 7, "e52afefe62522069"),
    ]


def test_a_section_of_fewer_than_two_characters_is_no_chunk() -> None:
    assert not list(pieces("## Session 10:00\n\n### 10:00\n<!-- session:a turn:b transcript:/c -->\nx\n"))


@pytest.mark.requirement("journal.index.chunks")
@pytest.mark.parametrize(
    ("text", "most", "overlap", "expected"),
    [
        # Runs of lines share their ends.
        ("# H\nbb\ncc\ndd", 5, 1, [(1, 1, "# H"), (1, 2, "# H\nb"), (1, 2, "b"), (2, 3, "bb\ncc"), (3, 4, "cc\ndd")]),
        # A blank line goes to what it ends.
        ("aaaaa\nbbb\n\ncc\ndd", 10, 0, [(1, 3, "aaaaa\nbbb"), (4, 5, "cc\ndd")]),
        # A line that is too long stands alone when it comes first.
        ("aaaaaaa\nb\nc", 5, 2, [(1, 1, "aaaaa"), (1, 1, "aa"), (2, 3, "b\nc")]),
    ],
)
def test_long_sections_are_cut_at_lines(
    text: str, most: int, overlap: int, expected: list[tuple[int, int, str]]
) -> None:
    assert cut(text, most, overlap) == expected


def test_long_lines_are_cut_at_the_end_of_a_sentence_where_there_is_one() -> None:
    assert [text for *_, text in cut("Ab. Cd ef. Ghijklmnopqrst", 12)] == ["Ab. Cd ef.", "Ghijklmnopqr", "st"]
    assert [text for *_, text in cut("我们搬了缓存。然后删了它。再见", 9)] == ["我们搬了缓存。", "然后删了它。再见"]


LINES = st.lists(
    st.sampled_from(
        ["# H", "## Session 10:00", "### 10:01", "<!-- session:a turn:b transcript:/x -->", "- a bullet", "", "   ",
         "#", "word. next! done", "我们。他们", "a" * 30, "b" * 75, "```", "#\ttab", "\r", "text\r", "#  ", "…",
         "a\u2028b"]
    ),
    max_size=14,
)  # fmt: skip


@given(LINES, st.sampled_from([10, 20, 40, 1500]), st.integers(0, 3))
def test_every_chunk_is_made_of_its_own_lines_and_none_is_too_long(lines: list[str], most: int, overlap: int) -> None:
    for piece in pieces("\n".join(lines), most, overlap):
        assert 0 < len(piece.text) <= most
        assert piece.text == piece.text.strip()
        assert piece.text in "\n".join(lines[piece.first - 1 : piece.last])


@given(LINES, st.sampled_from([10, 20, 40, 80, 1500]), st.integers(0, 3))
@pytest.mark.requirement("journal.index.chunks")
def test_memsearch_cuts_every_text_alike(lines: list[str], most: int, overlap: int) -> None:
    theirs = pytest.importorskip("memsearch.chunker", reason="memsearch is not installed beside these tests")
    text = "\n".join(lines)

    found = theirs.chunk_markdown(text, "/a.md", max_chunk_size=most, overlap_lines=overlap)

    assert [
        Piece(chunk.heading, chunk.heading_level, chunk.start_line, chunk.end_line, chunk.content) for chunk in found
    ] == list(pieces(text, most, overlap))


def named(path: str, text: str) -> list[str]:
    return list(ids(path, pieces(text)))


@pytest.mark.requirement("journal.index.ids")
def test_a_chunk_keeps_its_id_wherever_its_lines_move() -> None:
    first, second = named("2026-08-13.md", TWO_ENTRIES)

    moved = named("2026-08-13.md", "### 09:00\n- earlier, by another agent\n\n" + TWO_ENTRIES + "### 23:10\n- later\n")

    assert moved[1:3] == [first, second]
    assert len({*moved}) == 4


@pytest.mark.requirement("journal.index.ids")
def test_equal_chunks_of_a_file_have_different_ids() -> None:
    assert len(set(named("a.md", "### 10:00\n- the same\n\n### 10:00\n- the same\n"))) == 2
    assert named("a.md", "### 10:00\n- the same\n") != named("b.md", "### 10:00\n- the same\n")


@pytest.mark.requirement("journal.index.ids")
def test_an_id_is_of_path_heading_content_and_number() -> None:
    content = content_hash("### 10:00\n- one")

    digest = hashlib.sha256(f"a.md\0{'10:00'}\0{content}\0{0}".encode())

    assert named("a.md", "### 10:00\n- one\n") == [digest.hexdigest()[:16]]


def test_anchors_are_not_searched() -> None:
    assert without_comments("### 10:00\n<!-- session:a turn:b transcript:/c -->\n- one") == "### 10:00\n\n- one"


def test_a_line_of_millions_of_characters_is_cut_in_a_time_that_grows_with_it() -> None:
    def seconds(words: int) -> float:
        line = "- " + "word " * words
        begun = time.process_time()
        cut = list(pieces(line))
        assert "".join(piece.text for piece in cut).count("word") == words
        return time.process_time() - begun

    seconds(1_000)
    assert seconds(1_600_000) < 40 * max(seconds(100_000), 0.01)  # sixteen times as long; cut by copying, some 250
