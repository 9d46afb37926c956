"""File evidence of tool calls, summaries and mentions."""

from __future__ import annotations

from typing import Any

import pytest

from pepys.model.entry import Block, Entry
from pepys.normalise.touched import Touched, normalised, touched


def call(tool: str, arguments: Any) -> Entry:
    block = Block("call", "", tool, "call-1", arguments)
    return Entry(0, 1, "a", None, "message", "assistant", blocks=(Block("text", "src/prose.py"), block))


def evidence(entry: Entry, cwd: str | None = "/work") -> list[tuple[str, str]]:
    return [(found.path, found.access) for found in touched(entry, cwd)]


@pytest.mark.parametrize(
    ("tool", "arguments", "expected"),
    [
        ("read", {"path": "a.py", "offset": 3}, [("/work/a.py", "read")]),
        ("read", {"i": "look at it", "path": "/etc/hosts"}, [("/etc/hosts", "read")]),
        ("read_file", {"filePath": "src/../a.py"}, [("/work/a.py", "read")]),
        ("read_file", "a.py", [("/work/a.py", "read")]),
        ("grep", {"pattern": "x.*y", "path": "src"}, [("/work/src", "read")]),
        ("find", {"pattern": "*.py", "path": "src/"}, [("/work/src", "read")]),
        ("glob", {"path": "src/**/*.ts"}, [("/work/src", "read")]),
        ("glob", {"path": "*.ts"}, [("/work", "read")]),
        ("ls", {"path": "."}, [("/work", "read")]),
        ("ls", {}, []),
        ("write", {"path": "b.py", "content": "path: c.py"}, [("/work/b.py", "changed")]),
        ("edit", {"path": "b.py", "edits": [{"oldText": "[x]"}]}, [("/work/b.py", "changed")]),
        (
            "edit",
            {"input": "[a.py#5EF9]\nPUT 2.=2:\n+[no.py]\n[b/c.py]\n"},
            [("/work/a.py", "changed"), ("/work/b/c.py", "changed")],
        ),
        ("edit", {"path": "~/theme.json"}, [("~/theme.json", "changed")]),
        (
            "apply_patch",
            {"patch": "*** Update File: a.py\n@@\n*** Move to: b.py\n"},
            [("/work/a.py", "changed"), ("/work/b.py", "changed")],
        ),
        ("apply_patch", "*** Add File: n.py\n+x", [("/work/n.py", "changed")]),
        ("read_file", {"files": ["a", "b", 3, "a"]}, [("/work/a", "read"), ("/work/b", "read")]),
        (
            "write",
            {"to": "t", "from": "f", "path": "p"},
            [("/work/p", "changed"), ("/work/t", "changed"), ("/work/f", "changed")],
        ),
        ("bash", {"command": "cat a.py", "path": "a.py"}, []),
        ("someone_elses", {"path": "a.py"}, []),
        ("read", {"path": 3}, []),
        ("read", ["a.py"], []),
        ("read", None, []),
    ],
)
def test_known_tools_name_their_files(tool: str, arguments: Any, expected: list[tuple[str, str]]) -> None:
    assert evidence(call(tool, arguments)) == expected


def test_evidence_of_calls_is_derived_and_names_the_tool() -> None:
    assert touched(call("read", {"path": "a.py"}), "/work") == (Touched("/work/a.py", "read", False, "read"),)


@pytest.mark.parametrize("type_", ["compaction", "branch_summary"])
def test_what_a_summary_records_is_recorded(type_: str) -> None:
    details = {"readFiles": ["notes.txt"], "modifiedFiles": ["/x/out.txt", 7]}
    summary = Entry(0, 1, "a", None, type_, details=details)

    assert touched(summary, "/work") == (
        Touched("/work/notes.txt", "read", True),
        Touched("/x/out.txt", "changed", True),
    )


@pytest.mark.parametrize("details", [None, {}, {"readFiles": "a"}, {"readFiles": None, "modifiedFiles": {}}])
def test_other_details_name_nothing(details: Any) -> None:
    assert touched(Entry(0, 1, "a", None, "compaction", details=details), "/work") == ()


def test_details_of_results_are_no_evidence() -> None:
    result = Entry(0, 1, "a", None, "message", "toolResult", details={"readFiles": ["a"]})

    assert touched(result, "/work") == ()


def test_a_mention_of_a_file_is_a_recorded_reading() -> None:
    blocks = (Block("text", "@README.md"), Block("output", "@not.md"))
    mention = Entry(0, 1, "a", None, "message", "fileMention", blocks=blocks)

    assert touched(mention, "/work") == (Touched("/work/README.md", "read", True),)


@pytest.mark.parametrize(
    ("path", "cwd", "expected"),
    [
        ("a//b/./c/../d/", "/w", "/w/a/b/d"),
        ("../../../x", "/w", "/x"),
        ("//a", "/w", "/a"),
        ("file:///a%20b", "/w", "/a b"),
        ("a.py", None, "a.py"),
        ("a.py", "not/absolute", "a.py"),
        ("~", "/w", "~"),
        ("skill://review", "/w", None),
        ("https://example.test/a", "/w", None),
        ("xd://tool", "/w", None),
        ("two\nlines", "/w", None),
        ("nul\0", "/w", None),
        ("", "/w", None),
        ("x" * 5000, "/w", None),
        ("[slug].ts", "/w", "/w/[slug].ts"),
    ],
)
def test_paths_are_compared_in_one_form(path: str, cwd: str | None, expected: str | None) -> None:
    assert normalised(path, cwd) == expected
