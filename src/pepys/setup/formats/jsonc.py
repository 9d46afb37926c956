"""JSON, and JSON with comments and trailing commas, as text: a member is put in or taken out, the rest stays."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple, NoReturn

from pepys.setup.formats.base import Malformed, located, newline

_SPACE = " \t\r\n"
_BLANK = re.compile(r"[ \t\r\n]*")
_TRIVIA = re.compile(r"(?:[ \t\r\n]+|//[^\n]*|/\*[\s\S]*?\*/)*")
_STRING = re.compile(r'"[^"\\\x00-\x1f]*(?:\\.[^"\\\x00-\x1f]*)*"')
_PLAIN = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?|true|false|null")


class _Node(NamedTuple):
    """One value and where it stands: from *start* to before *end*."""

    start: int
    end: int
    value: object
    members: tuple[_Member, ...] = ()  # of an object, in order


class _Member(NamedTuple):
    key: str
    start: int  # of the key
    node: _Node
    comma: int | None  # where the comma behind it stands


def read(text: str, *, comments: bool) -> object:
    """The value of *text*; an empty text is an empty object.

    Raises:
        Malformed: It is not JSON.
    """
    if not comments:
        with suppress(ValueError, RecursionError):  # twenty times as quick; what it does not take is looked at below
            return json.loads(text, parse_constant=_no_value)
    root = _root(text, comments)
    return {} if root is None else root.value


def _no_value(name: str) -> NoReturn:
    raise ValueError(name)


def put(text: str, keys: Sequence[str], value: Mapping[str, object], *, comments: bool) -> str:
    """*text* with *value* at *keys*, as the last member of the innermost object that is there."""
    root = _root(text, comments)
    if root is None:
        return text + "\n".join(_lines(_nested(keys, value), "  ")) + "\n"
    *_, (count, node) = _way(root, keys)
    return _with_member(text, root, node, keys[count], _nested(keys[count + 1 :], value))


def take(text: str, keys: Sequence[str], made: int, *, comments: bool) -> str:
    """*text* without the member at *keys*; around it, *made* objects that hold nothing any more go too."""
    for count in range(len(keys), max(len(keys) - made, 1) - 1, -1):
        root = _root(text, comments)
        nodes = [] if root is None else [node for _, node in _way(root, keys[:count])]
        if len(nodes) <= count or (count < len(keys) and text[nodes[-1].start : nodes[-1].end] != "{}"):
            break
        parent = nodes[-2]
        text = _without_member(text, parent, _last(parent, keys[count - 1]))
    return text


def _way(root: _Node, keys: Sequence[str]) -> Iterator[tuple[int, _Node]]:
    """The nodes from the root towards *keys*, as far as they are there, with how many keys lead to each."""
    node = root
    yield 0, node
    for count, key in enumerate(keys, 1):
        if (index := _last(node, key)) < 0:
            return
        node = node.members[index].node
        yield count, node


def _last(node: _Node, key: str) -> int:
    """The index of the member *key*, -1 for none; where there are several, readers take the last."""
    return max((index for index, member in enumerate(node.members) if member.key == key), default=-1)


def _nested(keys: Sequence[str], value: object) -> object:
    for key in reversed(keys):
        value = {key: value}
    return value


def _with_member(text: str, root: _Node, node: _Node, key: str, value: object) -> str:
    last = node.members[-1] if node.members else None
    anchor = node.start + 1
    if last is not None:
        anchor = last.node.end if last.comma is None else last.comma + 1
    inside = text[anchor : node.end - 1]  # white space and comments
    at = anchor + len(inside.rstrip(_SPACE))
    lines = text[node.start : node.end].count("\n") > 0
    trailing = "," if last is not None and last.comma is not None else ""
    if lines or (last is None and (node is root or "\n" in text[: root.end])):
        base, indent = _indent(text, node.start), _member_indent(text, root, node)
        end = newline(text)
        first, *more = _lines(value, _unit(text, root))
        member = end + (end + indent).join((f"{indent}{_text(key)}: {first}", *more)) + trailing
        if "\n" not in text[at : node.end - 1]:
            member += end + base
    else:
        spaced = re.search(r"[:,] ", text) is not None
        separators = (", ", ": ") if spaced else (",", ":")
        member = json.dumps({key: value}, separators=separators, ensure_ascii=False)[1:-1] + trailing
        member = (" " if spaced and last is not None else "") + member
    comma = "," if last is not None and last.comma is None else ""
    return text[:anchor] + comma + text[anchor:at] + member + text[at:]


def _lines(value: object, unit: str) -> list[str]:
    """*value* in lines: an object has one a member, anything else is one."""
    if not isinstance(value, dict):
        return [_text(value)]
    members = []
    for key, item in value.items():
        first, *more = _lines(item, unit)
        members.append([f"{unit}{_text(key)}: {first}", *(unit + line for line in more)])
    for member in members[:-1]:
        member[-1] += ","
    return ["{", *(line for member in members for line in member), "}"]


def _text(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _without_member(text: str, node: _Node, index: int) -> str:
    member = node.members[index]
    end = member.node.end if member.comma is None else member.comma + 1
    if index + 1 < len(node.members):
        return text[: member.start] + text[_skipped(text, end) :]
    before = text[: member.start]
    bare = before.rstrip(_SPACE)
    rest = text[end:]
    # A comment up to the end of its line must not swallow what comes after it.
    head = bare if "\n" not in before[len(bare) :] or rest.lstrip(" \t\r").startswith("\n") else before
    if index and member.comma is None and (comma := node.members[index - 1].comma) is not None:
        head = head[:comma] + head[comma + 1 :]
    if not index and not text[node.start + 1 : member.start].strip() and not text[end : node.end - 1].strip():
        return text[: node.start] + "{}" + text[node.end :]
    return head + rest


def _skipped(text: str, at: int) -> int:
    found = _BLANK.match(text, at)
    return found.end() if found else at


def _indent(text: str, at: int) -> str:
    """The white space that the line of the offset *at* begins with."""
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _own_line(text: str, at: int) -> str | None:
    """The white space before *at*, if nothing else is before it on its line."""
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return None if line.strip(" \t") else line


def _unit(text: str, root: _Node) -> str:
    """What a level is indented by, going by the members of the root."""
    found = next((_own_line(text, member.start) for member in root.members), None)
    return found or "  "


def _member_indent(text: str, root: _Node, node: _Node) -> str:
    found = next((_own_line(text, member.start) for member in node.members), None)
    return _indent(text, node.start) + _unit(text, root) if found is None else found


class _Reader:
    def __init__(self, text: str, comments: bool) -> None:
        self.text = text
        self._trivia = _TRIVIA if comments else _BLANK
        self._lenient = comments

    def skip(self, at: int) -> int:
        found = self._trivia.match(self.text, at)
        return found.end() if found else at

    def wrong(self, at: int, expected: str) -> Malformed:
        there = "the end" if at >= len(self.text) else repr(self.text[at])
        return Malformed(f"{located(self.text, at)}: {expected} was expected, not {there}")

    def value(self, at: int) -> _Node:
        match self.text[at : at + 1]:
            case "{":
                return self._object(at)
            case "[":
                return self._array(at)
            case '"':
                return self._string(at)
            case _:
                if found := _PLAIN.match(self.text, at):
                    return _Node(at, found.end(), json.loads(found.group()))
                raise self.wrong(at, "a value")

    def _string(self, at: int) -> _Node:
        if not (found := _STRING.match(self.text, at)):
            raise self.wrong(at, "a text in double quotes")
        try:
            return _Node(at, found.end(), json.loads(found.group()))
        except ValueError as error:
            raise Malformed(f"{located(self.text, at)}: {error}") from error

    def _array(self, start: int) -> _Node:
        values: list[object] = []
        at = self.skip(start + 1)
        while not self.text.startswith("]", at):
            node = self.value(at)
            values.append(node.value)
            at, _ = self._separated(node.end, "]")
        return _Node(start, at + 1, values)

    def _object(self, start: int) -> _Node:
        members: list[_Member] = []
        at = self.skip(start + 1)
        while not self.text.startswith("}", at):
            key = self._string(at)
            colon = self.skip(key.end)
            if not self.text.startswith(":", colon):
                raise self.wrong(colon, "a colon")
            node = self.value(self.skip(colon + 1))
            at, comma = self._separated(node.end, "}")
            members.append(_Member(str(key.value), key.start, node, comma))
        return _Node(start, at + 1, {member.key: member.node.value for member in members}, tuple(members))

    def _separated(self, end: int, closing: str) -> tuple[int, int | None]:
        """Where what follows a value that ends at *end* begins, and where the comma between them stands."""
        at = self.skip(end)
        if self.text.startswith(closing, at):
            return at, None
        if not self.text.startswith(",", at):
            raise self.wrong(at, f"a comma or {closing}")
        after = self.skip(at + 1)
        if self.text.startswith(closing, after) and not self._lenient:
            raise self.wrong(after, "something after the comma")
        return after, at


def _root(text: str, comments: bool) -> _Node | None:
    reader = _Reader(text, comments)
    at = reader.skip(0)
    if at == len(text):
        return None
    try:
        root = reader.value(at)
    except RecursionError as error:
        raise Malformed("it is nested too deeply") from error
    if (end := reader.skip(root.end)) < len(text):
        raise reader.wrong(end, "the end")
    return root
