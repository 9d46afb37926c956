from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pepys import normalise
from pepys.hosts import HOSTS
from pepys.hosts.reading import examine
from pepys.model.entry import Block, Entry, Passage
from tests.hosts.sources import DATA, recorded


def entry(role: str | None, *blocks: Block, type_: str = "message", **more: Any) -> Entry:
    return Entry(0, 1, "a", None, type_, role, 0, blocks, **more)


def call(arguments: object, name: str | None = "read") -> Block:
    return Block("call", "", name, "c1", arguments)


WORDS = Block("text", "words")
OUTPUT = Block("output", "one\ntwo")
READ = call({"path": "a.py", "limit": 5})


@pytest.mark.parametrize(
    ("given", "role", "tool", "text"),
    [
        (entry("user", WORDS), "user", None, "words"),
        (entry("user", WORDS, Block("text", "more")), "user", None, "words\nmore"),
        (
            entry("assistant", WORDS, Block("thinking", "hm"), READ, call({}, "ls"), Block("error", "overloaded")),
            "assistant",
            "read",
            'words\nhm\nTool: read({"path":"a.py","limit":5})\nTool: ls({})\nError: overloaded',
        ),
        (entry("assistant", READ), "assistant", "read", 'Tool: read({"path":"a.py","limit":5})'),
        (entry("assistant", call(None, None)), "assistant", None, "Tool: ()"),
        (entry("toolResult", WORDS, WORDS, tool="read"), "toolResult", "read", "toolResult(read): words\nwords"),
        (
            entry("toolResult", WORDS, tool="read", is_error=True),
            "toolResult",
            "read",
            "toolResult(read) [error]: words",
        ),
        (entry("toolResult", tool="read"), "toolResult", "read", "toolResult(read): "),
        (
            entry("bashExecution", Block("command", "ls"), OUTPUT, tool="bash", exit_code=2),
            "bashExecution",
            "bash",
            "bash$ ls [exit 2]\none\ntwo",
        ),
        (
            entry("bashExecution", Block("command", "ls"), Block("output", ""), tool="bash", exit_code=0),
            "bashExecution",
            "bash",
            "bash$ ls",
        ),
        (entry("custom", WORDS, custom_type="note", type_="custom_message"), "custom", None, "[note] words"),
        (entry("custom", custom_type="note"), "custom", None, "[note] "),
        (entry("compaction", Block("summary", "so far"), type_="compaction"), "compaction", None, "compaction: so far"),
        (entry("compactionSummary", Block("summary", "so far")), "compactionSummary", None, "compaction: so far"),
        (entry("branchSummary", Block("summary", "there"), type_="branch_summary"), "branchSummary", None, ""),
        (entry("system", WORDS), "system", None, ""),
        (
            entry("pythonExecution", Block("command", "6*7"), Block("output", "42"), tool="python"),
            "pythonExecution",
            "python",
            "python> 6*7\n42",
        ),
        (
            entry("fileMention", Block("text", "@a"), OUTPUT, Block("text", "@b")),
            "fileMention",
            None,
            "@a\none\ntwo\n@b",
        ),
        (entry("developer", WORDS), "developer", None, "words"),
    ],
)
def test_an_entry_becomes_the_text_of_its_record(given: Entry, role: str, tool: str | None, text: str) -> None:
    event = normalise.event(given)

    assert normalise.text(event, thinking=True) == text
    assert (event.role, event.tool, event.record) == (role, tool, True)
    assert event.entry is given


@pytest.mark.parametrize(
    ("given", "record"),
    [
        (entry("user"), True),
        (entry(None), False),
        (entry(None, type_="custom"), False),
        (entry(None, type_="label"), False),
        (entry("user", WORDS, type_="future"), False),
    ],
)
def test_a_record_is_a_known_type_with_a_role_or_words(given: Entry, record: bool) -> None:
    assert normalise.event(given).record is record


def test_thinking_and_output_are_left_out_with_their_separators() -> None:
    answer = normalise.event(entry("assistant", Block("thinking", "hm"), WORDS, READ))
    result = normalise.event(entry("toolResult", WORDS, tool="read"))
    command = normalise.event(entry("bashExecution", Block("command", "ls"), OUTPUT))

    assert normalise.text(answer) == 'words\nTool: read({"path":"a.py","limit":5})'
    assert normalise.text(result, output=False) == "toolResult(read): "
    assert normalise.text(command, output=False) == "bash$ ls"


def test_fragments_are_numbered_within_their_kind_and_fields_tell_who_wrote_them() -> None:
    event = normalise.event(
        entry("assistant", WORDS, READ, Block("thinking", "hm"), Block("text", "more"), READ, Block("error", "late"))
    )

    parts = [(passage.field, passage.fragment) for passage in event.passages if passage.field != "label"]
    assert parts == [
        ("prose", "assistant.text::0"),
        ("call", "tool.call::0"),
        ("thinking", "assistant.thinking::0"),
        ("prose", "assistant.text::1"),
        ("call", "tool.call::1"),
        ("output", "assistant.error::0"),
    ]


def test_a_results_fragment_is_its_tool_and_its_body() -> None:
    event = normalise.event(entry("toolResult", WORDS, tool="read"))

    assert [passage for passage in event.passages if passage.fragment] == [
        Passage("call", "read", "tool.result::0"),
        Passage("output", "words", "tool.result::0"),
    ]


def test_a_custom_messages_fragment_is_its_type_and_its_body() -> None:
    fragments = [
        (passage.text, passage.fragment)
        for passage in normalise.event(entry("custom", WORDS, custom_type="note")).passages
    ]

    assert fragments == [("[note] ", "custom.message::0"), ("words", "custom.message::0")]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, ""),
        ({}, "{}"),
        ([], "[]"),
        ("x", '"x"'),
        (
            {"path": "a.py", "content": 'def f():\n    return "x\\y"'},
            '{"path":"a.py","content":"def f():\n    return "x\\y""}',
        ),
        ({"2": 1, "1": [True, None, 1.5, {"k": "日本"}, []]}, '{"2":1,"1":[true,null,1.5,{"k":"日本"},[]]}'),
        ({"big": 1e22, "inf": float("inf")}, '{"big":1e+22,"inf":Infinity}'),
    ],
)
def test_arguments_are_json_with_their_strings_as_they_are(value: object, text: str) -> None:
    assert normalise.arguments(value) == text


PLAIN = st.text(st.characters(exclude_characters='"\\', min_codepoint=32))
ARGUMENTS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | PLAIN,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(PLAIN, inner, max_size=3),
    max_leaves=10,
)


@given(ARGUMENTS.filter(lambda value: value is not None))
def test_arguments_without_anything_to_escape_are_compact_json(value: object) -> None:
    assert normalise.arguments(value) == json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def test_arguments_may_be_nested_to_any_depth() -> None:
    deep: object = "x"
    for _ in range(5_000):
        deep = {"path": [deep]}

    event = normalise.event(entry("assistant", call(deep)))

    assert event.files == ("x",)
    assert len(normalise.text(event)) > 5_000 * len('{"path":[]}')


@pytest.mark.requirement("truth.paths_typed")
@pytest.mark.parametrize(
    ("arguments", "files"),
    [
        ({"path": " a.py "}, ("a.py",)),
        ({"filePath": "b", "FILES": ["a", ["c"], "a", ""], "profile": "p"}, ("b", "a", "c", "p")),
        ({"edits": [{"path": "x", "text": "no"}], "paths": {"other": "no"}}, ("x",)),
        ({"pathname": "no", "path": 3}, ()),
        ("a.py", ()),
        (None, ()),
    ],
)
def test_files_are_what_arguments_name_as_file_or_path(arguments: object, files: tuple[str, ...]) -> None:
    event = normalise.event(entry("assistant", call(arguments)))

    assert event.files == files


def test_files_of_several_calls_are_distinct_and_in_order() -> None:
    event = normalise.event(entry("assistant", call({"path": "b"}), call({"path": "a"}), call({"path": "b"})))

    assert event.files == ("b", "a")


@pytest.mark.parametrize(
    ("given", "own"),
    [
        (entry("custom", custom_type="pepys"), True),
        (entry("custom", custom_type="pepys.recall"), True),
        (entry("custom", custom_type="samuel"), False),
        (entry("toolResult", tool="session_recall", details={"pepys": 1}), True),
        (entry("toolResult", tool="mcp__pepys__session_recall", details={"server": "pepys", "tool": "x"}), True),
        (entry("toolResult", details={"xdev": {"tool": "x", "inner": {"serverName": "pepys"}}}), True),
        (entry("toolResult", tool="write", details={"xdev": {"tool": "x", "inner": {"pepys": {"ref": "a.b"}}}}), True),
        (entry("toolResult", tool="session_recall", details={"server": "other"}), False),
        (entry("toolResult", tool="mcp__pepys__session_recall", details={"xdev": {"inner": None}}), False),
        (entry("toolResult", tool="pepys"), False),
        (entry("user", Block("text", "pepys")), False),
    ],
)
def test_what_pepys_wrote_is_known_by_type_marker_or_server_never_by_a_tools_name(given: Entry, own: bool) -> None:
    assert normalise.event(given).own is own


@pytest.mark.parametrize(("name", "path"), recorded("pi") + recorded("omp"))
def test_recorded_sessions_give_text_and_unambiguous_fragments(name: str, path: Path) -> None:
    entries = [item for item in examine(HOSTS[name], str(path)).items() if isinstance(item, Entry)]

    events = [normalise.event(item) for item in entries]

    assert any(event.record for event in events) or {item.type for item in entries} <= {
        "thinking_level_change",
        "service_tier_change",
    }
    for event in events:
        whole = normalise.text(event, thinking=True)
        assert all(passage.text in whole for passage in event.passages if passage.field != "aside")
        # The same fragment is one run: nothing of another fragment stands between its passages.
        ids = [passage.fragment for passage in event.passages if passage.fragment]
        assert len(dict.fromkeys(ids)) == 1 + sum(a != b for a, b in pairwise(ids)) or not ids


@pytest.mark.parametrize("host", sorted(HOSTS))
def test_what_must_not_be_taken_is_nowhere_in_the_text(host: str) -> None:
    paths = [path for path in (DATA / host).rglob("*.jsonl") if not path.name.startswith(".")]

    text = "".join(
        normalise.text(normalise.event(item), thinking=True)
        for path in paths
        for item in examine(HOSTS[host], str(path)).items()
        if isinstance(item, Entry)
    )

    assert len(text) > 1_000
    for marker in ("iVBORw0KGgo", "UklGR", "thinkingSignature", "partialArgs", "cacheRead", "stopReason"):
        assert marker not in text
