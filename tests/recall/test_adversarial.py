"""What no sane history holds and no sane caller asks must still be answered within its bounds."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pepys.errors import InvalidArgument, PepysError
from tests.recall.diary import NOON, Diary, append, called, entry, following, ids, line, returned, size, user, whole

FILES = {
    "empty": b"",
    "one line feed": b"\n",
    "blank lines": b"\n \n\t\n\r\n",
    "torn header": b'{"type":"session","id":"x"',
    "header only": b'{"type":"session","version":3,"id":"x","cwd":"/srv/shop"}\n',
    "no JSON": b"hello\n",
    "numbers": b'1\n2\nnull\n[]\n"text"\n',
    "NUL": b"\x00" * 4096,
    "two headers": b'{"type":"session","id":"x","cwd":"/srv/shop"}\n{"type":"session","id":"y","cwd":"/srv/shop"}\n',
    "strange header": b'{"type":"session","version":"three","id":7,"cwd":["a"],"timestamp":{}}\n',
    "UTF-16": 'ÿþ{"type":"session"}\n'.encode("utf-16"),
    "deep": b'{"type":"message","id":"a","parentId":null,"message":{"role":"user","content":'
    + b"[" * 5000
    + b"]" * 5000
    + b"}}\n",
    "huge number": b'{"type":"session","id":"x","timestamp":1e999}\n',
}


@pytest.mark.parametrize("content", FILES.values(), ids=FILES)
def test_a_file_that_is_hardly_a_session_disturbs_nothing(diary: Diary, content: bytes) -> None:
    path = diary.file(diary.folder() / "odd.jsonl", content)
    diary.talk("good", "word")

    page, rows = diary.recall("word"), diary.call("memory.sessions", {"scope": "global"})["sessions"]
    alone = diary.recall("", scope=f"session:{path}")
    expanded = diary.expand(session=str(path))

    assert ids(page) == ["good-0"]
    assert page["coverage"]["eligibleSessions"] == page["coverage"]["indexedSessions"] == len(rows) == 2
    assert (alone["total"], alone["next"], "error" in alone) == (0, None, False)
    assert (expanded["entryCount"], expanded["entries"]) == (0, [])
    with pytest.raises(PepysError) as refused:
        diary.expand(session=str(path), indices=[0])
    assert refused.value.code == "index_out_of_bounds"


@pytest.mark.parametrize(
    "message",
    [
        {},
        {"role": None},
        {"role": 5, "content": 5},
        {"role": "user"},
        {"role": "user", "content": None},
        {"role": "user", "content": {}},
        {"role": "user", "content": [None, 5, "text", [], {"type": "text"}, {"type": "text", "text": 7}]},
        {"role": "assistant", "content": [{"type": "toolCall"}]},
        {"role": "assistant", "content": [{"type": "toolCall", "name": 5, "arguments": "text"}]},
        {"role": "assistant", "content": [{"type": "toolCall", "name": "x", "arguments": [[[{"file": [1, None]}]]]}]},
        {"role": "toolResult", "content": "text", "toolName": {}, "details": 5},
        {"role": "bashExecution"},
        {"role": "bashExecution", "command": 5, "output": [], "exitCode": "x"},
        {"role": "compactionSummary", "summary": 9},
        {"role": "x" * 10_000, "content": "text"},
    ],
)
def test_a_message_of_any_shape_is_shown_somehow(diary: Diary, message: dict[str, Any]) -> None:
    diary.session("one", user("a", None, "word"), entry("b", "a", message), user("c", "b", "word"))

    words, everything = diary.recall("word"), diary.recall("")
    expanded = diary.expand(session="one", entryRange={"first": 0, "last": everything["total"] - 1})

    assert sorted(ids(words)) == ["a", "c"]
    assert [record["index"] for record in expanded["entries"]] == list(range(everything["total"]))
    json.dumps([words, everything, expanded])


@pytest.mark.parametrize(
    "stamp",
    ["yesterday", "", 1e300, -1e300, 10**40, [], {}, True, "0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-12:00"],
)
def test_a_strange_time_is_as_good_as_none_or_a_time(diary: Diary, stamp: Any) -> None:
    diary.session("one", user("a", None, "word", at=stamp))

    page = diary.recall("word", until=10**30)

    assert ids(page) == ["a"]
    assert page["hits"][0]["timestamp"] is None or isinstance(page["hits"][0]["timestamp"], int)


def test_lone_surrogates_are_found_around_and_can_be_printed(diary: Diary) -> None:
    raw = '{"type":"message","id":"a","parentId":null,"message":{"role":"user","content":"left \\ud83d right"}}\n'
    path = diary.session("one")
    path.write_bytes(path.read_bytes() + raw.encode())

    page = diary.recall("right")
    chunk = diary.expand(session="one", indices=[0])

    assert ids(page) == ["a"]
    assert "left" in page["hits"][0]["snippet"]
    json.dumps([page, chunk], ensure_ascii=False).encode()


def test_bytes_that_are_no_text_are_replaced(diary: Diary) -> None:
    path = diary.talk("one", "left XX right")
    path.write_bytes(path.read_bytes().replace(b"XX", b"\xff\xfe"))

    page = diary.recall("right")

    assert page["hits"][0]["snippet"] == "left \ufffd\ufffd right"
    assert page["coverage"]["diagnostics"] == {"invalid_utf8": 1}
    assert page["coverage"]["complete"]


@pytest.mark.parametrize(
    "query",
    [
        "\ud83d",
        "a\ud83d",
        "\x00",
        "word\x00",
        "\ufdfa" * 200,
        "ﷺ" * 4096,
        "a" * 4096,
        "word " * 800,
        "\U0010ffff",
        "\u0345\u0345word",
    ],
)
@pytest.mark.parametrize("mode", ["literal", "phrase"])
def test_any_query_is_answered(diary: Diary, query: str, mode: str) -> None:
    diary.talk("one", "word", "other")

    page = diary.recall(query, queryMode=mode)

    assert page.keys() == {"total", "hits", "next", "coverage"}


def test_four_thousand_characters_of_different_words_are_one_query(diary: Diary) -> None:
    diary.talk("one", "w500", "nothing")

    page = diary.recall(" ".join(f"w{number}" for number in range(800)))

    assert ids(page) == ["one-0"]


@pytest.mark.parametrize(
    "args",
    [
        {"query": None, "scope": "global"},
        {"query": "word", "scope": "global", "pageSize": "5"},
        {"Query": "word", "SCOPE": "global", "page_size": 5.0},
        {"q": "word", "scope": "all"},
        {"query": "word", "scope": "global", "branches": "ACTIVE", "role": None, "tool": None, "since": None},
    ],
)
def test_near_miss_spellings_are_understood(diary: Diary, args: dict[str, Any]) -> None:
    diary.talk("one", "word")

    assert ids(diary.call("memory.recall", args)) == ["one-0"]


@pytest.mark.parametrize(
    "args",
    [
        {"query": 5},
        {"query": ["word"]},
        {"scope": 5},
        {"scope": ["session"]},
        {"offset": "many"},
        {"offset": 1.5},
        {"offset": float("nan")},
        {"pageSize": float("inf")},
        {"since": float("nan")},
        {"until": float("inf")},
        {"since": True},
        {"entryRange": "0-5"},
        {"entryRange": {"first": "a", "last": 1}},
        {"entryRange": {"first": 0, "last": 1, "step": 1}},
        {"subagents": "yes"},
        {"": ""},
        {"limit": 5, "pageSize": 6, "query_": {}},
        {"expectedSourceHash": 5},
    ],
)
def test_senseless_arguments_are_refused(diary: Diary, args: dict[str, Any]) -> None:
    with pytest.raises(InvalidArgument):
        diary.call("memory.recall", {"scope": "session:one"} | args)


@pytest.mark.parametrize("offset", [0, 1, 2**31, 2**63, 10**40])
def test_huge_offsets_are_offsets(diary: Diary, offset: int) -> None:
    diary.talk("one", "word", "word")

    page = diary.recall("word", offset=offset, scope="session:one")

    assert len(page["hits"]) == max(0, 2 - offset)
    assert page["next"] is None


def test_ids_may_be_very_long(diary: Diary) -> None:
    ids_ = [f"{at}{'i' * 100_000}" for at in range(3)]
    diary.session("s" * 100, *(user(id_, None, "word") for id_ in ids_), id_="s" * 100_000)

    with diary.open() as workspace:
        page = workspace.call("memory.recall", {"query": "word", "scope": "global", "branches": "all"})
        args = {"session": "s" * 100_000, "branches": "all", "entryIds": ids_}
        answers = list(following(workspace, "memory.expand", args))

    assert size(page) <= 30_000
    assert [len(hit["entryId"]) for hit in page["hits"]] == [513] * 3
    assert whole(iter(answers)) == {0: "word", 1: "word", 2: "word"}
    assert max(map(size, answers)) <= 30_000


def test_addresses_that_look_like_something_else_are_only_ids(diary: Diary) -> None:
    odd = ["0", "-1", "a/7", "line-00000000", "../x", "NULL", "'; DROP TABLE rows; --", "%", "\u2028", " a ", "é"]
    diary.session("one", *(user(id_, None, f"text of {id_}") for id_ in odd))

    found = {id_: diary.expand(session="one", branches="all", entryIds=[id_])["entries"][0]["text"] for id_ in odd}

    assert found == {id_: f"text of {id_}" for id_ in odd}


@pytest.mark.parametrize(
    "tool", ["'; --", "\x00", "a b", "é", "e\u0301", "x" * 4000, "\U0001f600", "*", "?", '"', "\\"]
)
def test_tool_names_are_compared_exactly(diary: Diary, tool: str) -> None:
    diary.session("one", returned("a", None, tool, "word"), returned("b", "a", "other", "word"))

    for query in ("word", ""):
        page = diary.recall(query, tool=tool)

        assert ids(page) == ["a"]


def test_a_giant_token_is_found_whole_only(diary: Diary) -> None:
    diary.talk("one", "x" * 100_000)

    hit = diary.recall("", scope="session:one")["hits"][0]

    assert diary.recall("x" * 4000)["total"] == 0
    assert diary.recall("x" * 4000, queryMode="phrase")["total"] == 1
    assert hit["truncated"]


@pytest.mark.parametrize("phrase", ["needle", "z end", "start x", "x" * 500 + "needle", "start " + "x" * 3000])
@pytest.mark.parametrize("indexed", [True, False], ids=["indexed", "scanned"])
def test_a_phrase_within_a_giant_token_is_found(diary: Diary, phrase: str, indexed: bool) -> None:
    diary.talk("one", "start " + "x" * 30_000 + "needle" + "z" * 30_000 + " end", "nothing")
    (diary.home / "file").touch()

    with diary.open(index_dir=diary.home / ("index" if indexed else "file/index")) as workspace:
        page = workspace.call("memory.recall", {"query": phrase, "queryMode": "phrase", "scope": "global"})

    assert ids(page) == ["one-0"]


def test_a_long_word_is_found_by_any_long_part_of_it(diary: Diary) -> None:
    word = "".join(f"{number:04x}" for number in range(1000))
    diary.talk("one", f"key {word} end", word[:2000], "nothing")

    parts = {
        part: diary.recall(part, queryMode="phrase")["total"]
        for part in (word, word[7:3000], word[:1500], word[-99:] + " e")
    }

    assert list(parts.values()) == [1, 1, 2, 1]


def test_a_phrase_of_many_words_and_borders_is_compared_whole(diary: Diary) -> None:
    text = " ".join(f"w{number}:" for number in range(600))
    words = " ".join(f"w{number}" for number in range(600))
    diary.talk("one", text, words, words[:-1] + "x")

    bordered, plain = (diary.recall(query, queryMode="phrase") for query in (text, words))

    assert (ids(bordered), ids(plain)) == (["one-0"], ["one-1"])


def test_deeply_nested_arguments_are_printed_without_recursion(diary: Diary) -> None:
    nested: Any = "needle"
    for _ in range(400):
        nested = {"a": [nested]}
    diary.session("one", called("a", None, "write", content=nested))

    page = diary.recall("needle")

    assert ids(page) == ["a"]
    assert page["coverage"]["complete"]


def test_a_parent_chain_of_fifty_thousand_entries_is_walked(diary: Diary) -> None:
    diary.talk("one", *["w"] * 50_000)

    page = diary.recall("w", offset=9_990)

    assert (page["total"], len(page["hits"])) == (50_000, 10)
    assert page["next"] is None
    assert diary.expand(session="one", indices=[49_999])["entries"][0]["entryId"] == "one-49999"


def test_a_session_that_grows_between_pages_of_a_project_never_breaks_paging(diary: Diary) -> None:
    path = diary.talk("one", *["word"] * 5)
    seen = []

    with diary.open() as workspace:
        page = workspace.call("memory.recall", {"query": "word", "scope": "project", "pageSize": 2})
        for at in range(10):
            seen += ids(page)
            if page["next"] is None:
                break
            append(path, user(f"new-{at}", f"new-{at - 1}" if at else "one-4", "word", at=NOON - 1_000_000))
            page = workspace.call(page["next"])

    assert seen[:5] == ["one-4", "one-3", "one-2", "one-1", "one-0"]


def test_one_line_may_hold_a_thousand_tool_calls(diary: Diary) -> None:
    calls = [
        {"type": "toolCall", "id": f"c{at}", "name": f"t{at}", "arguments": {"path": f"f{at}"}} for at in range(1000)
    ]
    diary.session("one", entry("a", None, {"role": "assistant", "content": calls}))

    page = diary.recall("f999")

    assert (ids(page), page["hits"][0]["tool"]) == (["a"], "t0")


def test_a_header_in_the_middle_of_a_file_takes_no_index(diary: Diary) -> None:
    path = diary.talk("one", "word")
    with path.open("a") as file:
        file.write(line({"type": "session", "id": "again", "cwd": "/"}))
    append(path, user("b", "one-0", "word"))

    page = diary.recall("word")

    assert sorted((hit["index"], hit["sessionId"]) for hit in page["hits"]) == [(0, "one"), (1, "one")]
    assert page["coverage"]["diagnostics"] == {"repeated_header": 1}
