"""Configuration files as people and programs write them: any values, in any layout that the format allows."""

from __future__ import annotations

import json
import random
from typing import Any

from hypothesis import strategies as st

Value = dict[str, Any]

names = st.one_of(st.sampled_from(["a", "model", "command", "mcp", 'q"uote', "ключ", "two words"]), st.text(max_size=5))
texts = st.one_of(
    st.text(max_size=12), st.sampled_from(["// no comment", "{", '"', "a,]}", "/* */", "# no", "[x.pepys]"])
)
scalars = st.one_of(
    st.none(), st.booleans(), st.integers(-(10**9), 10**9), st.floats(allow_nan=False, allow_infinity=False), texts
)
values = st.recursive(
    scalars,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(names, inner, max_size=3)),
    max_leaves=8,
)


def tables(key: str) -> st.SearchStrategy[Value]:
    """The values of whole files; some have a table *key*, some of those are empty."""
    servers = st.dictionaries(names, values, max_size=3)
    rest = st.dictionaries(names, values, max_size=3)
    return st.one_of(rest, st.builds(lambda table, inner: {**table, key: inner}, rest, servers))


class JsonLayout:
    """One way to write JSON down, the same for the same *seed*."""

    def __init__(self, seed: int, *, comments: bool) -> None:
        self._random = random.Random(seed)
        self._comments = comments
        self._newline = self._random.choice(["\n", "\r\n"])
        self._style = self._random.choice(["minified", "spaced", "lines", "wild"])
        self._unit = self._random.choice(["  ", "    ", "\t"])

    def file(self, value: Value) -> bytes:
        """The whole file."""
        text = self._gap(0) + self._value(value, 0) + self._random.choice(["", self._newline])
        return (self._random.choice(["", "\ufeff"]) + text).encode("utf-8")

    def _value(self, value: object, depth: int) -> str:
        if not isinstance(value, dict | list) or (not value and self._random.random() < 0.5):
            return json.dumps(value, ensure_ascii=self._random.random() < 0.3)
        if isinstance(value, dict):
            colon = ": " if self._style in ("spaced", "lines") else ":"
            items = [
                f"{json.dumps(key)}{self._inner()}{colon}{self._inner()}{self._value(item, depth + 1)}"
                for key, item in value.items()
            ]
            opening, closing = "{", "}"
        else:
            items = [self._value(item, depth + 1) for item in value]
            opening, closing = "[", "]"
        text = opening
        for number, item in enumerate(items):
            last = number == len(items) - 1
            comma = "" if last and not (self._comments and self._random.random() < 0.3) else ","
            text += self._gap(depth + 1, spaced=number > 0) + item + self._inner() + comma
        return text + self._gap(depth) + closing

    def _inner(self) -> str:
        if self._style != "wild":
            return ""
        return self._random.choice(["", "", " ", self._comment()])

    def _gap(self, depth: int, *, spaced: bool = False) -> str:
        if self._style == "minified":
            return ""
        if self._style == "spaced":
            return " " if spaced else ""
        line = self._newline + self._unit * depth
        if self._style == "lines":
            return self._comment() + line if self._random.random() < 0.2 else line
        return "".join(self._random.choice(["", " ", line, self._comment()]) for _ in range(2))

    def _comment(self) -> str:
        if not self._comments:
            return ""
        return self._random.choice([f' // a, b] }} " {self._newline}', " /* one */", f"/* two{self._newline} */"])


def toml(seed: int) -> bytes:
    """A file of TOML, the same for the same *seed*: headers, dotted keys, texts and arrays over lines, comments."""
    chosen = random.Random(seed)
    newline = chosen.choice(["\n", "\r\n"])
    lines = [
        'model = "x" # [mcp_servers.pepys]',
        'text = """',
        "[mcp_servers.pepys]",
        'command = "not here" \\"""',
        '"""',
        "literal = '''",
        "[mcp_servers.pepys]'''",
        "list = [ # ]",
        '  "a]", # "',
        "  { b = 1 },",
        "]",
        "odd.'dotted key'.\"x y\" = 1979-05-27",
        "",
        "# about what comes",
    ]
    blocks = [
        ['[projects."/home/[x]"]', 'trust_level = "trusted"', ""],
        ["[mcp_servers.other]", "args = ['-y']", "[mcp_servers.other.env]", "A = 'b'"],
        ["[mcp_servers]", "", "  # indented", "  [ mcp_servers . 'third' ]", "  command = 'x'"],
        ["[[hooks]]", "on = 'start'", "[[hooks]]", "on = 'end'"],
        ["# only a comment"],
    ]
    kept = [lines[:1], lines[1:5], lines[5:7], lines[7:11], lines[11:12], lines[12:]]
    text = newline.join(line for part in kept if chosen.random() < 0.6 for line in part)
    chosen.shuffle(blocks)
    for block in blocks[: chosen.randrange(len(blocks) + 1)]:
        text += (
            (newline if text and not text.endswith("\n") else "") + newline * chosen.randrange(3) + newline.join(block)
        )
    text += newline * chosen.randrange(4)
    return (chosen.choice(["", "\ufeff"]) + text).encode("utf-8")
