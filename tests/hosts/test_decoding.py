from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pepys.hosts import HOSTS
from pepys.hosts.reading import examine
from pepys.model.entry import Block, Entry, Record
from pepys.model.source import Diagnostic, Header
from tests.hosts.sources import DATA, message


@pytest.fixture(params=sorted(HOSTS))
def host(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def decoded(host: str, value: dict[str, Any]) -> Entry:
    item = HOSTS[host].decode(Record(0, 1, value))
    assert isinstance(item, Entry)
    return item


def recorded_entries(host: str, stamp: str) -> list[Entry]:
    (path,) = (path for path in (DATA / host).rglob(f"*{stamp}*.jsonl*") if path.is_file())
    return [item for item in examine(HOSTS[host], str(path)).items() if isinstance(item, Entry)]


TEXT = {"type": "text", "text": "words"}
IMAGE = {"type": "image", "data": "iVBORw0KGgo=", "mimeType": "image/png"}
CALL = {"type": "toolCall", "id": "c1", "name": "read", "arguments": {"path": "a.py"}, "partialArgs": "{}"}


@pytest.mark.parametrize(
    ("line", "role", "blocks"),
    [
        (message("a", None, "user", "words"), "user", (Block("text", "words"),)),
        (message("a", None, "user", [TEXT, IMAGE, TEXT]), "user", (Block("text", "words"), Block("text", "words"))),
        (message("a", None, "user", None), "user", ()),
        (message("a", None, "user", []), "user", ()),
        (
            message(
                "a", None, "assistant", [{"type": "thinking", "thinking": "hm", "thinkingSignature": "x"}, TEXT, CALL]
            ),
            "assistant",
            (Block("thinking", "hm"), Block("text", "words"), Block("call", "", "read", "c1", {"path": "a.py"})),
        ),
        (
            message("a", None, "assistant", [], errorMessage="overloaded", stopReason="error"),
            "assistant",
            (Block("error", "overloaded"),),
        ),
        (
            message("a", None, "toolResult", [TEXT, IMAGE], toolName="read", toolCallId="c1"),
            "toolResult",
            (Block("text", "words"),),
        ),
        (
            message("a", None, "bashExecution", None, command="ls", output="a\n", exitCode=0),
            "bashExecution",
            (Block("command", "ls"), Block("output", "a\n")),
        ),
        (message("a", None, "hookMessage", "words", customType="x"), "custom", (Block("text", "words"),)),
        (
            {"type": "custom_message", "id": "a", "customType": "x", "content": [TEXT, IMAGE]},
            "custom",
            (Block("text", "words"),),
        ),
        ({"type": "compaction", "id": "a", "summary": "so far"}, "compaction", (Block("summary", "so far"),)),
        ({"type": "branch_summary", "id": "a", "summary": "there"}, "branchSummary", (Block("summary", "there"),)),
        ({"type": "custom", "id": "a", "customType": "state", "data": {"text": "secret"}}, None, ()),
        ({"type": "model_change", "id": "a", "provider": "p", "modelId": "m"}, None, ()),
    ],
)
def test_content_becomes_blocks_and_what_is_no_text_is_left_out(
    host: str, line: dict[str, Any], role: str | None, blocks: tuple[Block, ...]
) -> None:
    entry = decoded(host, line)

    assert (entry.role, entry.blocks, entry.notice) == (role, blocks, None)


@pytest.mark.parametrize(
    "line",
    [
        message("a", None, "user", 17),
        message("a", None, "user", [TEXT, "bare"]),
        message("a", None, "user", [{"type": "text", "text": 1}]),
        message("a", None, "user", [{"type": "future", "text": "unseen"}]),
        message("a", None, "nobody", "words"),
        message("a", None, "bashExecution", None, output="without a command"),
        {"type": "message", "id": "a", "message": "words"},
        {"type": "compaction", "id": "a"},
    ],
)
def test_an_unknown_shape_is_named_and_still_a_node_of_the_tree(host: str, line: dict[str, Any]) -> None:
    entry = decoded(host, line)

    assert (entry.id, entry.notice) == ("a", "unknown_shape")


def test_an_unknown_type_is_named_and_still_a_node_of_the_tree(host: str) -> None:
    entry = decoded(host, {"type": "future", "id": "a", "parentId": "p"})

    assert (entry.id, entry.parent, entry.type, entry.notice) == ("a", "p", "future", "unknown_record_type")


@pytest.mark.parametrize("line", [{}, {"id": "a"}, {"type": 1, "id": "a"}, {"type": "future"}])
def test_what_cannot_be_a_node_is_a_diagnostic_and_moves_no_leaf(host: str, line: dict[str, Any]) -> None:
    assert isinstance(HOSTS[host].decode(Record(0, 1, line)), Diagnostic)


@pytest.mark.parametrize(
    ("entry_time", "message_time", "expected"),
    [
        ("2026-03-01T10:00:01.250Z", 5, 1772359201250),
        ("2026-03-01T11:00:01.250+01:00", None, 1772359201250),
        ("2026-03-01T10:00:01.250", None, 1772359201250),
        (1772359201250, None, 1772359201250),
        ("yesterday", 1772359201250, 1772359201250),
        (None, 1772359201250.4, 1772359201250),
        (float("inf"), 10**30, None),
        (True, None, None),
    ],
)
def test_the_time_is_the_entrys_own_or_else_the_messages(
    host: str, entry_time: object, message_time: object, expected: int | None
) -> None:
    line = message("a", None, "user", "x", timestamp=message_time) | {"timestamp": entry_time}

    assert decoded(host, line).time == expected


@pytest.mark.parametrize(("parent", "expected"), [("p", "p"), (None, None), (3, None), ("", None)])
def test_a_parent_that_is_no_id_is_none(host: str, parent: object, expected: str | None) -> None:
    assert decoded(host, {"type": "label", "id": "a", "parentId": parent}).parent == expected


@pytest.mark.parametrize(("flag", "expected"), [(True, True), (1, True), (False, False), (None, False), ("", False)])
def test_an_error_is_what_javascript_takes_for_true(host: str, flag: object, expected: bool) -> None:
    assert decoded(host, message("a", None, "toolResult", [], isError=flag)).is_error is expected


@pytest.mark.parametrize(("code", "expected"), [(0, 0), (3, 3), (None, None), ("3", None), (float("inf"), None)])
def test_an_exit_code_is_a_number(host: str, code: object, expected: int | None) -> None:
    assert decoded(host, message("a", None, "bashExecution", None, command="x", exitCode=code)).exit_code == expected


def test_details_are_kept_only_where_they_are_evidence(host: str) -> None:
    details = {"readFiles": ["a"]}

    kept = [
        decoded(host, message("a", None, "toolResult", [], details=details)),
        decoded(host, {"type": "compaction", "id": "a", "summary": "", "details": details}),
        decoded(host, {"type": "branch_summary", "id": "a", "summary": "", "details": details}),
    ]
    dropped = decoded(host, {"type": "custom_message", "id": "a", "content": "", "details": details})

    assert all(entry.details is details for entry in kept)
    assert dropped.details is None


def test_what_an_entry_points_to_is_its_target(host: str) -> None:
    targets = [
        decoded(host, {"type": "label", "id": "a", "targetId": "t", "label": "x"}).target,
        decoded(host, {"type": "branch_summary", "id": "a", "summary": "", "fromId": "f"}).target,
        decoded(host, {"type": "compaction", "id": "a", "summary": "", "firstKeptEntryId": "k"}).target,
    ]

    assert targets == ["t", "f", "k"]


def test_a_label_says_its_words_and_one_that_is_taken_away_says_nothing(host: str) -> None:
    label = {"type": "label", "id": "a", "targetId": "t"}

    assert [block.text for block in decoded(host, {**label, "label": "good idea"}).blocks] == ["good idea"]
    assert decoded(host, {**label, "label": ""}).blocks == decoded(host, label).blocks == ()


def test_pis_names_set_change_and_clear_the_title() -> None:
    titles = [entry.title for entry in recorded_entries("pi", "21-37-49-202Z") if entry.title is not None]

    assert titles[-1] == ""
    assert len(titles) == 3


def test_pis_own_types_of_later_versions_are_known() -> None:
    types = {entry.type for entry in recorded_entries("pi", "21-38-18-333Z")}

    assert "usage" in types


def test_a_version_1_file_becomes_one_branch() -> None:
    entries = recorded_entries("pi", "21-33-02-742Z")

    assert [entry.parent for entry in entries] == [None, *(entry.id for entry in entries[:-1])]
    assert len({entry.id for entry in entries}) == len(entries)


def test_omps_longest_title_comes_from_its_last_change() -> None:
    (path,) = (DATA / "omp").rglob("*21-44-53-314Z*.jsonl")

    items = list(examine(HOSTS["omp"], str(path)).items())

    titles = [item.title for item in items if isinstance(item, Entry) and item.title is not None]
    assert isinstance(items[0], Header)
    assert len(titles[-1]) > 52


def test_omps_device_calls_carry_the_devices_name_and_arguments() -> None:
    entries = recorded_entries("omp", "21-45-44-392Z")

    calls = [block for entry in entries for block in entry.blocks if block.kind == "call"]
    assert (calls[0].name, calls[0].arguments) == ("mcp__echo_reverse", {"text": "stressed"})
    assert "mcp__echo_reverse" in {entry.tool for entry in entries if entry.role == "toolResult"}
    assert "write" not in {block.name for block in calls}


@pytest.mark.parametrize("path", ["a.md", "xd://", 3])
def test_omps_write_to_a_file_stays_a_write(path: object) -> None:
    call = {"type": "toolCall", "id": "c", "name": "write", "arguments": {"path": path, "content": "{}"}}

    entry = decoded("omp", message("a", None, "assistant", [call]))

    assert entry.blocks[0].name == "write"


@pytest.mark.parametrize(
    "more",
    [
        {"method": "snapcompact"},
        {"preserveData": {"snapcompact": {}}},
        {"preserveData": {"openaiRemoteCompaction": {}}},
    ],
)
def test_omps_summaries_without_content_are_not_quoted(more: dict[str, Any]) -> None:
    entry = decoded("omp", {"type": "compaction", "id": "a", "summary": "Resume prior conversation."} | more)

    assert entry.blocks == ()
    assert entry.notice is None


def test_omps_own_roles_keep_what_was_shown() -> None:
    python = decoded("omp", message("a", None, "pythonExecution", None, code="6*7", output="42", exitCode=0))
    mention = decoded(
        "omp", message("a", None, "fileMention", None, files=[{"path": "a.md", "content": "# A"}, {"path": "b"}])
    )

    assert (python.tool, python.blocks) == ("python", (Block("command", "6*7"), Block("output", "42")))
    assert mention.blocks == (Block("text", "@a.md"), Block("output", "# A"), Block("text", "@b"))


def test_every_host_answers_to_its_row() -> None:
    assert {name: host.name for name, host in HOSTS.items()} == {name: name for name in HOSTS}


def test_hosts_do_not_know_each_other() -> None:
    from pepys.hosts import omp, pi

    sources = {module.name: Path(str(module.__file__)).read_text() for module in (omp, pi)}

    assert "hosts.omp" not in sources["pi"]
    assert "hosts.pi" not in sources["omp"]
    assert "import pi" not in sources["omp"]
