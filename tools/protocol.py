"""Write what is generated from the protocol's messages: `pepys.rpc.protocol` and the table of actions are the source.

    PYTHONPATH=src python tools/protocol.py

`protocol/rpc.schema.json` is a JSON Schema of every line that the two sides send: `#/$defs/fromClient` and
`#/$defs/fromServer` tell whole lines, the other definitions what they are made of. Its `methods` name, for each method,
the definitions of its parameters and of its answer. `src/pepys/extensions/core/tools.json` has the tools of models as
the extensions register them. A test fails where either is not what this writes.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import is_dataclass
from pathlib import Path
from typing import Any, get_args

from pepys.actions import schema
from pepys.actions.wire import CallContext
from pepys.rpc import protocol, tools, wire

ROOT = Path(__file__).parents[1]

Json = dict[str, Any]

ERRORS: Mapping[str, int] = {
    "parseError": wire.PARSE_ERROR,
    "invalidRequest": wire.INVALID_REQUEST,
    "methodNotFound": wire.METHOD_NOT_FOUND,
    "invalidParams": wire.INVALID_PARAMS,
    "internalError": wire.INTERNAL_ERROR,
    "failed": wire.FAILED,
    "notInitialized": wire.NOT_INITIALIZED,
    "cancelled": wire.CANCELLED,
}

_FAILURE: Json = {
    "type": "object",
    "description": "An error of Pepys, in the one shape that it has on every surface.",
    "properties": {"code": {"type": "string"}, "message": {"type": "string"}, "hint": {"type": "string"}},
    "required": ["code", "message"],
}


def main() -> None:
    """Write both files."""
    for path, text in generated().items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def generated() -> Mapping[Path, str]:
    """What is generated, by its path."""
    return {
        ROOT / "protocol/rpc.schema.json": _text(rpc_schema()),
        ROOT / "src/pepys/extensions/core/tools.json": _text(tools.described()),
    }


def rpc_schema() -> Json:
    """The JSON Schema of the protocol."""
    asked, answered = _lines(protocol.REQUESTS), _answers(protocol.REQUESTS, _THEIR_ID)
    called, given = _lines(protocol.CALLBACKS), _answers(protocol.CALLBACKS, _OUR_ID)
    told, signalled = _lines(protocol.NOTIFICATIONS), _lines(protocol.SIGNALS)
    error = {
        "type": "object",
        "properties": {
            "code": {"type": "integer", "enum": sorted(ERRORS.values())},
            "message": {"type": "string"},
            "data": _ref("Failure"),
        },
        "required": ["code", "message"],
        "additionalProperties": False,
    }
    refused = {"code": {"type": "integer"}, "message": {"type": "string"}, "data": {}}
    error_of_client = {"type": "object", "properties": refused, "required": ["message"]}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "The protocol between `pepys serve` and the extensions of hosts",
        "version": protocol.VERSION,
        "errors": dict(ERRORS),
        "methods": {
            "requests": _named(protocol.REQUESTS),
            "notifications": _named(protocol.NOTIFICATIONS),
            "callbacks": _named(protocol.CALLBACKS),
            "signals": _named(protocol.SIGNALS),
        },
        "$defs": {
            "fromClient": {"anyOf": [*asked, *told, *given, _line(id=_OUR_ID, error=error_of_client)]},
            "fromServer": {"anyOf": [*called, *signalled, *answered, _line(id=_ANY_ID, error=error)]},
            "Failure": _FAILURE,
            **{cls.__name__: _message(cls) for cls in _messages()},
        },
    }


_THEIR_ID = {"type": "integer"}
_OUR_ID = {"type": "string", "pattern": "^pepys-[0-9]+$"}
_ANY_ID: Json = {}  # of what was no request, the id that it had is given back


def _lines(methods: Mapping[str, Any]) -> Iterator[Json]:
    """Lines that name a method: with an id if they want an answer."""
    for method, types in methods.items():
        params = {"params": _ref((types[0] if isinstance(types, tuple) else types).__name__)}
        if methods is protocol.REQUESTS:
            yield _line(id=_THEIR_ID, method={"const": method}, **params)
        elif methods is protocol.CALLBACKS:
            yield _line(id=_OUR_ID, method={"const": method}, **params)
        else:
            yield _line(method={"const": method}, **params)


def _answers(methods: Mapping[str, tuple[type, type | None]], id_: Json) -> Iterator[Json]:
    """Lines that answer one of *methods*, once for each kind of answer."""
    for answer in dict.fromkeys(answer for _, answer in methods.values()):
        yield _line(id=id_, result=_ref(answer.__name__) if answer else {"type": "object"})


def _line(**properties: Json) -> Json:
    properties = {"jsonrpc": {"const": "2.0"}, **properties}
    return {"type": "object", "properties": properties, "required": [*properties], "additionalProperties": False}


def _named(methods: Mapping[str, Any]) -> Json:
    """For each method, what its parameters and its answer are called."""
    named = {}
    for method, types in methods.items():
        params, answer = types if isinstance(types, tuple) else (types, None)
        named[method] = {"params": params.__name__, **({"result": answer.__name__} if answer else {})}
    return named


def _messages() -> list[type]:
    """Every class that messages are made of, by name."""
    found: dict[str, type] = {}
    tables = (protocol.REQUESTS, protocol.NOTIFICATIONS, protocol.CALLBACKS, protocol.SIGNALS)
    rest: list[Any] = [CallContext]
    for table in tables:
        for types in table.values():
            rest += types if isinstance(types, tuple) else (types,)
    while rest:
        cls = rest.pop()
        if cls is not None and cls.__name__ not in found:
            found[cls.__name__] = cls
            rest += filter(None, (_within(given.type) for given in schema.parameters(cls).values()))
    return [found[name] for name in sorted(found)]


def _message(cls: type) -> Json:
    """The schema of *cls*. Classes within it stand apart, and what may be left out may be null."""
    made = schema.json_schema(cls)
    for name, given in schema.parameters(cls).items():
        shape: Json = made["properties"][name]
        inner = CallContext if name == "context" else _within(given.type)
        if inner is not None:
            listed = shape.get("type") == "array"
            described = {word: shape[word] for word in ("description", "default") if word in shape}
            one = _ref(inner.__name__)
            shape = described | ({"type": "array", "items": one} if listed else one)
        if not given.required and given.default is None:
            shape = {"description": shape.pop("description"), "anyOf": [shape, {"type": "null"}]}
        made["properties"][name] = shape
    return {**made, "description": " ".join(str(cls.__doc__).split())}


def _within(kind: Any) -> type | None:
    """The class of messages that *kind* is, or is a list of."""
    inner = get_args(kind)[0] if get_args(kind) else kind
    return inner if is_dataclass(inner) and isinstance(inner, type) else None


def _ref(name: str) -> Json:
    return {"$ref": f"#/$defs/{name}"}


def _text(value: object) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    main()
