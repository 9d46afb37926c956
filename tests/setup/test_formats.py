"""Settings are put into files and taken out of them, and everything else keeps every character."""

from __future__ import annotations

import json
import re
import tomllib

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from pepys.setup import formats
from pepys.setup.formats import Malformed
from tests.setup.layouts import JsonLayout, Value, tables, toml

KEYS = ("mcpServers", "pepys")
ENTRY = {"command": "/usr/bin/py thon", "args": ["-m", "pepys"], "env": {"A": 'b"'}}

seeds = st.integers(0, 2**32)


def squeezed(data: bytes) -> str:
    return re.sub(r"\s", "", data.decode("utf-8"))


def has(value: Value) -> bool:
    return "pepys" in value.get("mcpServers", {})


@given(tables("mcpServers"), seeds, st.booleans())
def test_the_reader_knows_every_layout(value: Value, seed: int, comments: bool) -> None:
    data = JsonLayout(seed, comments=comments).file(value)

    read = formats.FORMATS["jsonc" if comments else "json"].read(data.decode("utf-8").removeprefix("\ufeff"))

    assert read == value


@given(tables("mcpServers"), seeds, st.booleans())
def test_a_setting_is_put_into_json_and_taken_out_without_a_trace(value: Value, seed: int, comments: bool) -> None:
    assume(not has(value))
    name = "jsonc" if comments else "json"
    before = JsonLayout(seed, comments=comments).file(value)

    during = formats.with_setting(name, before, KEYS, ENTRY)
    made = len(KEYS) - 1 - formats.depth(name, before, KEYS)
    after = formats.without_setting(name, during, KEYS, made)

    assert formats.setting(name, during, KEYS) == ENTRY
    if not comments:
        expected = {**value, "mcpServers": {**value.get("mcpServers", {}), "pepys": ENTRY}}
        assert json.loads(during.decode("utf-8-sig")) == expected
    assert squeezed(after) == squeezed(before)


@given(tables("mcpServers"), seeds, st.booleans())
def test_only_insertions_are_made(value: Value, seed: int, comments: bool) -> None:
    assume(not has(value))
    before = JsonLayout(seed, comments=comments).file(value)

    during = formats.with_setting("jsonc" if comments else "json", before, KEYS, ENTRY)

    rest = iter(during)
    assert all(byte in rest for byte in before)


@given(seeds)
def test_a_setting_is_put_into_toml_and_taken_out_without_a_trace(seed: int) -> None:
    before, keys = toml(seed), ("mcp_servers", "pepys")
    value = tomllib.loads(before.decode("utf-8-sig"))

    during = formats.with_setting("toml", before, keys, ENTRY)
    after = formats.without_setting("toml", during, keys, 1)

    read = tomllib.loads(during.decode("utf-8-sig"))
    assert read == {**value, "mcp_servers": {**value.get("mcp_servers", {}), "pepys": ENTRY}}
    assert during.startswith(before)
    assert after.rstrip() == before.rstrip()
    if before.endswith(b"\n"):
        assert after == before


@pytest.mark.parametrize(
    ("before", "during"),
    [
        ("", '{\n  "mcpServers": {\n    "pepys": {\n      "a": ["b"]\n    }\n  }\n}\n'),
        ("{}", '{\n  "mcpServers": {\n    "pepys": {\n      "a": ["b"]\n    }\n  }\n}'),
        ('{"x":1}', '{"x":1,"mcpServers":{"pepys":{"a":["b"]}}}'),
        ('{"x": 1}\n', '{"x": 1, "mcpServers": {"pepys": {"a": ["b"]}}}\n'),
        (
            '{\r\n\t"mcpServers": {\r\n\t\t"o": {}\r\n\t}\r\n}',
            '{\r\n\t"mcpServers": {\r\n\t\t"o": {},\r\n\t\t"pepys": {\r\n\t\t\t"a": ["b"]\r\n\t\t}\r\n\t}\r\n}',
        ),
        (
            '{\n    "mcpServers": {}\n}\n',
            '{\n    "mcpServers": {\n        "pepys": {\n            "a": ["b"]\n        }\n    }\n}\n',
        ),
        (
            '{\n  "mcpServers": {\n    "o": 1, // why\n    // more\n  }\n}',
            '{\n  "mcpServers": {\n    "o": 1, // why\n    // more\n    "pepys": {\n      "a": ["b"]\n    },\n  }\n}',
        ),
    ],
)
def test_a_setting_looks_like_what_is_around_it(before: str, during: str) -> None:
    assert formats.with_setting("jsonc", before.encode(), KEYS, {"a": ["b"]}).decode() == during


@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        ("json", '{\n  "a": 1,\n}', "line 3, column 1: something after the comma was expected, not '}'"),
        ("json", '{"a": 1} // no', "line 1, column 10: the end was expected, not '/'"),
        ("json", '{"a": NaN}', "line 1, column 7: a value was expected, not 'N'"),
        ("json", '{"a": "b', "line 1, column 7: a text in double quotes was expected"),
        ("json", '{"a" 1}', "a colon was expected"),
        ("json", '{"a": [1 2]}', "a comma or ] was expected"),
        ("json", "[]", "the whole of it is no table of settings"),
        ("jsonc", '{"mcpServers": null}', "mcpServers is no table of settings"),
        ("jsonc", "/* open", "line 1, column 1: a value was expected"),
        ("jsonc", "[" * 100_000, "it is nested too deeply"),
        ("toml", "a = 1\nb = \n", "line 2, column 5"),
        ("toml", "mcpServers = { o = 1 }\n", "it is written in a way that Pepys cannot change safely"),
    ],
)
def test_what_cannot_be_changed_is_refused_and_says_where(name: str, text: str, reason: str) -> None:
    with pytest.raises(Malformed) as refused:
        formats.with_setting(name, text.encode(), KEYS, ENTRY)

    assert reason in str(refused.value)


def test_bytes_that_are_no_utf8_are_refused() -> None:
    with pytest.raises(Malformed, match="byte 3"):
        formats.with_setting("toml", b"# \xff", KEYS, ENTRY)


def test_a_setting_is_taken_out_of_tables_that_are_written_otherwise() -> None:
    written = b"[mcp_servers]\npepys = { command = 'x' }\nother.command = 'y'\n"
    dotted = b"mcp_servers.pepys.command = 'x'\nmcp_servers.pepys.args = [\n  'y',\n]\nz = 1\n"

    keys = ("mcp_servers", "pepys")

    assert formats.without_setting("toml", written, keys, 1) == b"[mcp_servers]\nother.command = 'y'\n"
    assert formats.without_setting("toml", dotted, keys, 1) == b"z = 1\n"


def test_of_a_table_that_is_there_twice_the_one_that_counts_is_changed() -> None:
    text = b'{"mcpServers": {"a": 1}, "mcpServers": {"b": 2}}'

    during = formats.with_setting("json", text, KEYS, {})

    assert during == b'{"mcpServers": {"a": 1}, "mcpServers": {"b": 2, "pepys": {}}}'
    assert formats.without_setting("json", during, KEYS, 0) == text


def test_a_comment_beside_a_setting_swallows_nothing_when_it_goes() -> None:
    text = b'{"mcpServers": {"o": 1, // why\n "pepys": {} }}'

    after = formats.without_setting("jsonc", text, KEYS, 0)

    assert formats.FORMATS["jsonc"].read(after.decode()) == {"mcpServers": {"o": 1}}
    assert b"// why\n" in after


def test_a_table_that_pepys_did_not_make_stays_when_it_is_empty() -> None:
    text = b'{"mcpServers": {"pepys": {}}}'

    assert formats.without_setting("json", text, KEYS, 0) == b'{"mcpServers": {}}'
    assert formats.without_setting("json", text, KEYS, 1) == b"{}"
