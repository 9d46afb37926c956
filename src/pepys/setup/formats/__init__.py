"""The formats of configuration files: one table, one function each to read, to put a setting in, to take it out.

A file is changed as text: what is not the setting keeps every character. Each change is proved by reading the file as
it would become; where that is not the old file and the setting, or without it, the change is refused.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

from pepys.setup.formats import jsonc, toml
from pepys.setup.formats.base import Malformed

__all__ = ["FORMATS", "Malformed", "depth", "is_empty", "setting", "with_setting", "without_setting"]

BOM = "\ufeff"


class Format(Protocol):
    """What every format can do. Texts come without a byte order mark; keys lead from the root to the setting."""

    def read(self, text: str) -> object:
        """The value of the whole text.

        Raises:
            Malformed: It is not valid in this format.
        """
        ...

    def put(self, text: str, keys: Sequence[str], value: Mapping[str, object]) -> str:
        """*text* with a setting at *keys*, where nothing is yet.

        Raises:
            Malformed: Text or structure leave no place for it.
        """
        ...

    def take(self, text: str, keys: Sequence[str], made: int) -> str:
        """*text* without the setting at *keys*, and without the *made* tables around it if they are then empty.

        Raises:
            Malformed: It is written in a way that cannot be taken out.
        """
        ...


class _Json(NamedTuple):
    comments: bool

    def read(self, text: str) -> object:
        return jsonc.read(text, comments=self.comments)

    def put(self, text: str, keys: Sequence[str], value: Mapping[str, object]) -> str:
        return jsonc.put(text, keys, value, comments=self.comments)

    def take(self, text: str, keys: Sequence[str], made: int) -> str:
        return jsonc.take(text, keys, made, comments=self.comments)


class _Toml(NamedTuple):
    def read(self, text: str) -> object:
        return toml.read(text)

    def put(self, text: str, keys: Sequence[str], value: Mapping[str, object]) -> str:
        return toml.put(text, keys, value)

    def take(self, text: str, keys: Sequence[str], made: int) -> str:
        del made  # a table that is not written down is there only as long as something is in it
        return toml.take(text, keys)


FORMATS: Mapping[str, Format] = {"json": _Json(comments=False), "jsonc": _Json(comments=True), "toml": _Toml()}


def setting(name: str, data: bytes, keys: Sequence[str]) -> object | None:
    """What the file *data* has at *keys*; None for nothing.

    Raises:
        Malformed: The file is not valid, or something stands in the way.
    """
    return _at(_read(name, _text(data)), keys)


def depth(name: str, data: bytes, keys: Sequence[str]) -> int:
    """How many of the tables around the setting the file *data* has already.

    Raises:
        Malformed: As for `setting`.
    """
    value = _read(name, _text(data))
    return max(count for count in range(len(keys)) if count == 0 or _at(value, keys[:count]) is not None)


def with_setting(name: str, data: bytes, keys: Sequence[str], value: Mapping[str, object]) -> bytes:
    """The file *data* with *value* at *keys*, where nothing is yet.

    Raises:
        Malformed: The file is not valid, or has no place for it.
    """
    text = _text(data)
    before = _read(name, text)
    _at(before, keys)
    after = FORMATS[name].put(text.removeprefix(BOM), keys, value)
    return _proved(name, text, after, _added(before, keys, value))


def without_setting(name: str, data: bytes, keys: Sequence[str], made: int) -> bytes:
    """The file *data* without what it has at *keys*, and without the *made* tables around it if they are then empty.

    Raises:
        Malformed: The file is not valid, or the setting is written in a way that cannot be taken out.
    """
    text = _text(data)
    before = _read(name, text)
    after = FORMATS[name].take(text.removeprefix(BOM), keys, made)
    return _proved(name, text, after, _removed(before, keys))


def is_empty(name: str, data: bytes) -> bool:
    """Whether the file *data* says nothing.

    Raises:
        Malformed: It is not valid.
    """
    return _text(data).removeprefix(BOM).strip() in ("", "{}") and _read(name, _text(data)) == {}


def _text(data: bytes) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise Malformed(f"it is not UTF-8 (byte {error.start + 1})") from error


def _read(name: str, text: str) -> object:
    try:
        return FORMATS[name].read(text.removeprefix(BOM))
    except Malformed as error:
        raise _refused(error) from error


def _refused(error: Malformed) -> Malformed:
    return Malformed(str(error))


def _at(value: object, keys: Sequence[str]) -> object | None:
    for count, key in enumerate(keys):
        if not isinstance(value, dict):
            raise Malformed(f"{'.'.join(keys[:count]) or 'the whole of it'} is no table of settings")
        if key not in value:
            return None
        value = value[key]
    return value


def _proved(name: str, before: str, after: str, expected: object) -> bytes:
    try:
        proved = _pruned(FORMATS[name].read(after)) == _pruned(expected)
    except Malformed:
        proved = False
    if not proved:
        raise Malformed("it is written in a way that Pepys cannot change safely")
    return ((BOM if before.startswith(BOM) else "") + after).encode("utf-8")


def _added(value: object, keys: Sequence[str], setting: Mapping[str, object]) -> object:
    if not keys:
        return setting
    table = value if isinstance(value, dict) else {}
    return {**table, keys[0]: _added(table.get(keys[0]), keys[1:], setting)}


def _removed(value: object, keys: Sequence[str]) -> object:
    if not isinstance(value, dict) or keys[0] not in value:
        return value
    rest = {key: item for key, item in value.items() if key != keys[0]}
    return rest if len(keys) == 1 else {**rest, keys[0]: _removed(value[keys[0]], keys[1:])}


def _pruned(value: object) -> object:
    """*value* without empty tables: whether one is written down or merely not denied is all the same."""
    if not isinstance(value, dict):
        return value
    pruned = {key: _pruned(item) for key, item in value.items()}
    return {key: item for key, item in pruned.items() if item != {}}
