"""From a dataclass to its JSON Schema, and from JSON arguments to a request.

Both read the same field metadata (`model.query.about`), so that what the schema accepts is what `parse` accepts.
Before validation, near-miss spellings that models produce are repaired, but only where one reading is possible.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Any, Literal, NamedTuple, TypeVar, Union, get_args, get_origin

from pepys import paths
from pepys.errors import InvalidArgument
from pepys.spelling import camel, counted, suggestion

T = TypeVar("T")

MAX_MESSAGES = 5

ALIASES: Mapping[str, tuple[str, ...]] = {
    # folded alias: the names it may stand for; it is repaired only where exactly one of them exists
    "q": ("query",),
    "index": ("indices",),
    "id": ("session",),
    "file": ("session",),
    "path": ("session",),
    "sessionid": ("session",),
    "max": ("limit", "pageSize"),
    "limit": ("pageSize",),
    "pagesize": ("limit",),
}


class Parameter(NamedTuple):
    """One field of a request, as callers see it."""

    field: str
    name: str  # the JSON name
    type: Any  # without None
    required: bool
    default: Any
    description: str
    schema: Mapping[str, Any]  # JSON Schema keywords
    nullable: bool = False  # it is always there, and may be null; only results have such fields


@cache
def parameters(cls: type) -> Mapping[str, Parameter]:
    """The parameters of the request *cls*, by JSON name. Its module must not postpone the evaluation of annotations."""
    found = {}
    for item in fields(cls):
        about = item.metadata
        name = about.get("name") or camel(item.name)
        required = item.default is MISSING and item.default_factory is MISSING
        found[name] = Parameter(
            item.name,
            name,
            _without_none(item.type),
            required,
            item.default,
            about["description"],
            about["schema"],
            required and NoneType in get_args(item.type),
        )
    return found


_NO_BOUND = ("maximum", 2**53 - 1)  # JavaScript has no larger integers: models need not be told


def json_schema(cls: type) -> dict[str, Any]:
    """The JSON Schema of the request or result *cls*: an object that takes no other properties."""
    properties = {}
    for parameter in parameters(cls).values():
        kind = type_schema(parameter.type)
        if parameter.nullable:
            kind = _or_null(kind)
        bounds = {word: bound for word, bound in parameter.schema.items() if (word, bound) != _NO_BOUND}
        schema = {**kind, "description": parameter.description, **bounds}
        if not parameter.required and parameter.default not in (None, (), MISSING):
            schema["default"] = parameter.default
        properties[parameter.name] = schema
    result: dict[str, Any] = {"type": "object", "properties": properties, "additionalProperties": False}
    required = [parameter.name for parameter in parameters(cls).values() if parameter.required]
    if required:
        result["required"] = required
    return result


def parse(cls: type[T], args: Mapping[str, object], ref: str) -> T:
    """The request that *args* describe, near-miss spellings repaired first.

    Raises:
        InvalidArgument: Naming *ref* and everything that is wrong, at most five things.
    """
    problems: list[str] = []
    repaired = repair(cls, args)
    request = _object(cls, repaired, "", problems)
    if problems:
        hint = _TIMES_HINT if any(isinstance(repaired.get(name), str) for name in TIMES) else None
        raise InvalidArgument(f"Invalid arguments for {ref}: {'; '.join(problems[:MAX_MESSAGES])}", hint=hint)
    return request  # type: ignore[no-any-return]  # checked field by field


def repair(cls: type, args: Mapping[str, object]) -> dict[str, object]:
    """*args* with near-miss names and values spelled as the schema has them; the rest is left for validation."""
    known = parameters(cls)
    # Names that are right come first: an alias never replaces them.
    repaired = {name: value for name, value in args.items() if name in known}
    for name, value in args.items():
        if name in known:
            continue
        canonical = _canonical(name, known)
        if canonical is None or (canonical in repaired and canonical not in args):
            repaired[name] = value
        elif canonical not in repaired:
            repaired[canonical] = value
    return {
        name: _repaired(known[name].type, value) if name in known and not _is_year(name, value) else value
        for name, value in repaired.items()
        if value is not None or name not in known or known[name].required
    }


TIMES = ("since", "until")
"""Parameters that are points in time, in ms since 1970."""

_TIMES_HINT = "Times are ms since 1970, such as 1767225600000; `pepys recall --since` takes dates."


def _is_year(name: str, value: object) -> bool:
    """Whether a time is the text of a year, which would be a moment of 1970."""
    return name in TIMES and isinstance(value, str) and re.fullmatch(r"\s*\d{4}\s*", value, re.ASCII) is not None


def _canonical(name: str, known: Mapping[str, Parameter]) -> str | None:
    folded = _folded(name)
    by_folded = {_folded(other): other for other in known}
    if folded in by_folded:
        return by_folded[folded]
    plurals = (folded + "s", folded + "es", folded.removesuffix("s"), folded.removesuffix("es"))
    for candidates in (
        {other for other in ALIASES.get(folded, ()) if other in known},
        {by_folded[plural] for plural in plurals if plural in by_folded},
    ):
        if len(candidates) == 1:
            return candidates.pop()
    return None


def _folded(name: str) -> str:
    return re.sub(r"[_\-\s]", "", name).lower()


_NUMBER = re.compile(r"\s*[+-]?\d{1,18}(\.\d{1,18})?\s*", re.ASCII)


def _repaired(kind: Any, value: object) -> object:
    if _is_number(kind) and isinstance(value, str) and _NUMBER.fullmatch(value):
        return float(value) if "." in value else int(value)
    if get_origin(kind) is Literal and isinstance(value, str) and value not in get_args(kind):
        same = [choice for choice in get_args(kind) if choice.lower() == value.lower()]
        return same[0] if len(same) == 1 else value
    if get_origin(kind) is tuple:
        items = value if isinstance(value, list) else [value] if isinstance(value, (str, int, float)) else value
        return [_repaired(get_args(kind)[0], item) for item in items] if isinstance(items, list) else items
    if is_dataclass(kind) and isinstance(kind, type) and isinstance(value, Mapping):
        return repair(kind, value)
    return value


def _object(cls: type, value: object, where: str, problems: list[str]) -> Any:
    if not isinstance(value, Mapping):
        problems.append(f"{where or 'arguments'} must be an object")
        return None
    known = parameters(cls)
    prefix = f"{where}." if where else ""
    problems += [
        f"unknown parameter {prefix}{name}{suggestion(str(name), known)}" for name in value if name not in known
    ]
    made: dict[str, Any] = {}
    for parameter in known.values():
        path = prefix + parameter.name
        if parameter.name in value:
            made[parameter.field] = _value(parameter.type, value[parameter.name], path, problems)
            problems += [f"{path} {text}" for text in _outside(parameter.schema, value[parameter.name])]
        elif parameter.required:
            problems.append(f"{path} is required")
    return None if problems else cls(**made)


def _value(kind: Any, value: object, path: str, problems: list[str]) -> Any:
    if get_origin(kind) is tuple:
        if isinstance(value, (list, tuple)):
            return tuple(_value(get_args(kind)[0], item, f"{path}[{at}]", problems) for at, item in enumerate(value))
    elif is_dataclass(kind) and isinstance(kind, type):
        return _object(kind, value, path, problems)
    elif get_origin(kind) is Mapping or kind is Mapping:
        if isinstance(value, Mapping):
            return value
    elif get_origin(kind) is Literal:
        if isinstance(value, str) and value in get_args(kind):
            return value
    elif kind is bool or kind is str:
        if isinstance(value, kind):
            return value
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        if isinstance(value, float) and value.is_integer():
            return int(value)  # also keeps 3.0 and 3 one request
        if isinstance(value, int) or (kind is not int and abs(value) < float("inf")):
            return value
    problems.append(f"{path} must be {_in_words(kind)}")
    return None


def _outside(schema: Mapping[str, Any], value: object) -> Iterator[str]:
    """What *value* breaks of the bounds in *schema*; a value of another type breaks none."""
    if isinstance(value, (int, float)):
        if "minimum" in schema and value < schema["minimum"]:
            yield f"must be at least {schema['minimum']}"
        if "maximum" in schema and value > schema["maximum"]:
            yield f"must be at most {schema['maximum']}"
    elif isinstance(value, str):
        if len(value) < schema.get("minLength", 0):
            yield f"must have at least {counted(schema['minLength'], 'character')}"
        if "maxLength" in schema and len(value) > schema["maxLength"]:
            yield f"must have at most {counted(schema['maxLength'], 'character')}"
        if schema.get("format") == "path" and (refused := paths.refusal(value)):
            yield f"is no path: it {refused}"
    elif isinstance(value, (list, tuple)) and "maxItems" in schema and len(value) > schema["maxItems"]:
        yield f"must have at most {counted(schema['maxItems'], 'item')}"


def type_schema(kind: Any) -> dict[str, Any]:
    """The JSON Schema of what a field, or a whole result, holds: a dataclass, a tuple of one kind, a scalar, ..."""
    if kind is Any:
        return {}
    if get_origin(kind) is tuple:
        return {"type": "array", "items": type_schema(get_args(kind)[0])}
    if is_dataclass(kind) and isinstance(kind, type):
        return json_schema(kind)
    if get_origin(kind) is Mapping or kind is Mapping:
        values = type_schema(get_args(kind)[1]) if get_args(kind) else {}
        return {"type": "object", **({"additionalProperties": values} if values else {})}
    if get_origin(kind) is Literal:
        return {"type": "string", "enum": list(get_args(kind))}
    if get_origin(kind) in (Union, UnionType) and not _is_number(kind):
        return {"anyOf": [type_schema(one) for one in get_args(kind)]}
    return {"type": {bool: "boolean", str: "string", int: "integer"}.get(kind, "number")}


def _or_null(schema: Mapping[str, Any]) -> dict[str, Any]:
    """What *schema* admits, or null."""
    return {
        **schema,
        **({"type": [schema["type"], "null"]} if "type" in schema else {}),
        **({"enum": [*schema["enum"], None]} if "enum" in schema else {}),
        **({"anyOf": [*schema["anyOf"], {"type": "null"}]} if "anyOf" in schema else {}),
    }


def _in_words(kind: Any) -> str:
    if get_origin(kind) is tuple:
        return "an array"
    if get_origin(kind) is Literal:
        return "one of " + ", ".join(get_args(kind))
    if get_origin(kind) is Mapping or kind is Mapping:
        return "an object"
    return {bool: "true or false", str: "a string", int: "an integer"}.get(kind, "a number")


def _is_number(kind: Any) -> bool:
    return kind is int or kind is float or set(get_args(kind)) == {int, float}


def _without_none(kind: Any) -> Any:
    if get_origin(kind) not in (Union, UnionType):
        return kind
    rest = tuple(part for part in get_args(kind) if part is not NoneType)
    return rest[0] if len(rest) == 1 else Union[rest]  # noqa: UP007  (built at run time)
