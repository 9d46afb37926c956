"""The grammar of daily files: what is written can be taken apart again, and taken out whole."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pepys.journal import entries
from pepys.journal.entries import Anchor
from tests.journal.project import entry

ORIGIN = Anchor("3f2c9b1e", "ab12cd34", "/t/a.jsonl")

LINES = st.sampled_from(
    [
        "- plain",
        "# heading",
        "### 10:00",
        "## Session 10:00",
        "## Memory Compact",
        "```sh",
        "```",
        "~~~",
        "- ```sh",
        "  ```",
        "1. one",
        "    ~~~",
        "````",
        "    # code",
        "#",
        "#tag",
        "#\u00a0no-break",
        "##\u3000ideographic",
        "<!-- session:x turn:y transcript:/z -->",
        "<!--\tsession:x  turn:y transcript:/z-->",
        "",
        "text",
    ]
)


@pytest.mark.requirement("journal.format.entry")
def test_an_entry_is_printed_as_the_mesh_writes_it() -> None:
    text = entries.printed("22:41", "- moved the hot cache to Redis", ORIGIN, heading=True)

    assert text == (
        "\n## Session 22:41\n\n### 22:41\n<!-- session:3f2c9b1e turn:ab12cd34 transcript:/t/a.jsonl -->\n"
        "- moved the hot cache to Redis\n\n"
    )


@pytest.mark.requirement("journal.format.anchor")
@pytest.mark.parametrize("path", ["/t/a.jsonl", "/my files/a b.jsonl", "/t/100%/x.jsonl", "/t/a%20 b.jsonl"])
def test_an_anchor_survives_printing(path: str) -> None:
    made = Anchor("s", "t", path)

    found = entries.anchor(made.printed())

    assert found is not None
    assert found.file() == path
    assert len(made.printed().split()) == 5  # no white space that other agents' parsers could stumble over


def test_an_anchor_of_a_path_that_is_no_text_leads_there(tmp_path: Path) -> None:
    path = os.fsdecode(os.fsencode(tmp_path) + b"/\xff.jsonl")
    try:
        Path(path).touch()
    except OSError:
        pytest.skip("the file system takes names of text only")

    found = entries.anchor(Anchor("s", "t", path).printed())

    assert found is not None
    assert found.transcript.isascii()
    assert found.file() == path


def test_an_anchor_with_white_space_that_others_wrote_is_read() -> None:
    found = entries.anchor("### 10:00\n<!-- session:s turn:t transcript:/my files/a.jsonl -->\n- x")

    assert found == Anchor("s", "t", "/my files/a.jsonl")


@pytest.mark.requirement("journal.forget.whole")
@given(st.lists(LINES, max_size=12), st.lists(LINES, max_size=12))
def test_an_entry_is_one_block_whatever_it_says(one: list[str], two: list[str]) -> None:
    first = entries.printed("10:00", "\n".join(one), ORIGIN, heading=True)
    second = entries.printed("10:01", "\n".join(two), ORIGIN)

    found = list(entries.blocks(first + second))

    assert [block.time for block in found] == ["10:00", "10:01"]
    assert found[0].text == first.removeprefix("\n## Session 10:00\n\n").rstrip()
    assert found[1].text == second.rstrip()
    assert entries.without(first + second, found[1]) is not None
    assert entries.whole("\n".join(one)) in found[0].text


@pytest.mark.requirement("journal.forget.whole")
@given(st.lists(LINES, max_size=12))
def test_no_line_of_an_entry_is_a_heading_or_an_anchor(lines: list[str]) -> None:
    text = entries.whole("\n".join(lines))

    assert not [line for line in text.split("\n") if re.match(r"#{1,6}(\s|$)", line)]
    assert entries.anchor(text) is None


@pytest.mark.parametrize("space", ["", " ", "   ", "\t", " \t ", "\n", "\u00a0"])
def test_no_white_space_makes_an_anchor_of_what_an_entry_says(space: str) -> None:
    forged = f"<!--{space}session:s9 turn:t9 transcript:/x.jsonl -->"

    for text in (
        entries.whole(f"- {forged} and {forged}"),
        entries.whole(f"```\n{forged}\n```"),
        entries.compaction(forged),
    ):
        assert entries.anchor(text) is None
        assert "<!--" not in text


def test_what_needs_no_escape_stays_as_it_is() -> None:
    content = "- a #tag\n- `# x`\n  #hash\n```sh\nls\n```\n- ünï 漢字"

    assert entries.whole(content) == content


IN_LISTS = [
    "- ran it:\n  ```sh\n  # a comment\n  ls\n  ```\n- after\n- and `#` more",
    "- ```sh\n  # a comment\n  ```\n- after",
    "* - ~~~\n    code\n    ~~~\n* after",
    "1. first:\n\n    ```sh\n    # a comment\n    ```\n\n2. after",
    "10) first:\n\n\t```sh\n\tls\n\t```\n\nafter",
    "- outer\n  - inner\n\n    ````md\n    ```\n    # a heading of code\n    ```\n    ````\n- after",
]


@pytest.mark.requirement("journal.forget.whole")
@pytest.mark.parametrize("content", IN_LISTS)
def test_code_in_a_list_item_comes_back_as_it_was_and_ends_where_it_ends(content: str) -> None:
    text = entries.printed("10:00", content, ORIGIN) + entries.printed("10:05", "- two")

    one, two = entries.blocks(text)

    assert one.text == f"### 10:00\n{ORIGIN.printed()}\n{content}"
    assert two.text == "### 10:05\n- two"
    # What follows the code is prose again, where a heading is escaped as one, and nothing is left to close.
    assert entries.whole(content + "\n\n## Later\ntext") == content + "\n\n\\## Later\ntext"


def test_code_in_a_list_item_that_lacks_its_indentation_is_code() -> None:
    assert (
        entries.whole("- ran:\n  ```sh\n# a comment\n  ```\n# End") == "- ran:\n  ```sh\n # a comment\n  ```\n\\# End"
    )
    assert entries.whole("- ran:\n  ```sh\n  ls") == "- ran:\n  ```sh\n  ls\n  ```"


@pytest.mark.parametrize("heading", ["# not a heading", "## Session handling"])
def test_code_in_a_list_item_of_others_belongs_to_its_entry(heading: str) -> None:
    text = f"### 10:00\n- ```sh\n{heading}\n  ```\n- after\n\n### 10:05\n- two\n"

    assert [block.text for block in entries.blocks(text)] == [
        f"### 10:00\n- ```sh\n{heading}\n  ```\n- after",
        "### 10:05\n- two",
    ]


def test_fenced_code_of_others_belongs_to_its_entry() -> None:
    text = "### 10:00\n```sh\n# not a heading\nls\n```\n- after\n\n### 10:05\n- two\n"

    assert [block.text for block in entries.blocks(text)] == [
        "### 10:00\n```sh\n# not a heading\nls\n```\n- after",
        "### 10:05\n- two",
    ]


@pytest.mark.parametrize("line", ["## Session handling", "## Session", "## Sessions 10:00"])
def test_only_a_time_makes_a_session_heading_of_a_line_in_code(line: str) -> None:
    text = f"### 10:00\n- setup\n```md\n{line}\nsecret\n```\n- after\n\n### 10:05\n- other\n"

    one, two = entries.blocks(text)

    assert one.text == f"### 10:00\n- setup\n```md\n{line}\nsecret\n```\n- after"
    assert entries.without(text, one) == "### 10:05\n- other\n"
    assert two.time == "10:05"


def test_a_fence_that_is_never_closed_swallows_no_other_entry() -> None:
    text = "### 10:00\n```sh\nls\n\n### 10:05\n```sh\nls\n```\n"

    assert [block.time for block in entries.blocks(text)] == ["10:00", "10:05"]


@pytest.mark.requirement("journal.compact.block")
def test_a_compaction_ends_where_the_next_entry_begins() -> None:
    text = "## Memory Compact 09:30\n\n## Topics\n- x\n# Top\n#### more\n\n### 10:05\n- two\n"

    found = list(entries.blocks(text))

    assert [(block.kind, block.time) for block in found] == [("compact", ""), ("entry", "10:05")]
    assert found[0].text.endswith("#### more")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (f"\n## Session 10:00\n\n{entry('10:00', 'a')}", None),
        (f"\n## Session 10:00\n\n{entry('10:00', 'a')}\n## Session 11:00\n\n{entry('11:00', 'b')}", None),
        ("### 10:00\n- a\n", None),
    ],
)
def test_the_heading_goes_with_the_last_entry_below_it(before: str, after: None) -> None:
    first = next(entries.blocks(before))

    left = entries.without(before, first)

    assert left is None or "10:00" not in left
    assert left is None or left.endswith(entry("11:00", "b"))


def test_freeform_text_keeps_its_heading() -> None:
    text = f"\n## Session 10:00\n\nnotes of mine\n\n{entry('10:00', 'a')}"

    assert entries.without(text, next(entries.blocks(text))) == "\n## Session 10:00\n\nnotes of mine\n\n"


def test_an_entry_of_the_same_session_keeps_the_heading() -> None:
    text = f"\n## Session 10:00\n\n{entry('10:00', 'a')}{entry('10:05', 'b')}"

    assert entries.without(text, next(entries.blocks(text))) == f"\n## Session 10:00\n\n{entry('10:05', 'b')}"


def test_line_ends_of_others_stay_as_they_are() -> None:
    text = "### 10:00\r\n- one\r\n\r\n### 10:05\r\n- two\r\n"

    assert entries.without(text, next(entries.blocks(text))) == "### 10:05\r\n- two\r\n"
