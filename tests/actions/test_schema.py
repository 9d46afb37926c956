"""Schemas and parsing are two readings of one description."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import is_dataclass
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from pepys.actions import load, schema
from pepys.actions.table import ACTIONS
from pepys.actions.wire import CallContext
from pepys.errors import InvalidArgument
from pepys.model import events, journal
from pepys.model.query import EntryRange, ExpandRequest, RecallRequest, SessionsRequest
from pepys.paths import refusal
from tests.actions.declared import Result

REQUESTS: list[type] = [*(load(action.request) for action in ACTIONS.values()), CallContext]

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-200, 30_000)
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from(["active", "ALL", "12", "user", "Phrase"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["first", "last", "leafId", "entryIds", "x"]), inner, max_size=3)
    ),
    max_leaves=4,
)


def fits(value: object, described: Mapping[str, Any]) -> bool:
    """A validator for as much of JSON Schema as our schemas use, written apart from `parse`."""
    kind = described["type"]
    if kind == "object":
        if not isinstance(value, dict) or any(name not in value for name in described.get("required", ())):
            return False
        properties = described.get("properties", {})
        if described.get("additionalProperties") is False and any(name not in properties for name in value):
            return False
        return all(fits(value[name], properties[name]) for name in value if name in properties)
    if kind == "array":
        within = isinstance(value, list) and len(value) <= described.get("maxItems", 10**9)
        return within and all(fits(item, described["items"]) for item in value)  # type: ignore[attr-defined]
    if kind == "string":
        return (
            isinstance(value, str)
            and described.get("minLength", 0) <= len(value) <= described.get("maxLength", 10**9)
            and value in described.get("enum", [value])
            and not (described.get("format") == "path" and refusal(value))
        )
    if kind == "boolean":
        return isinstance(value, bool)
    number = isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < float("inf")
    if kind == "integer":
        number = number and value == int(value)  # type: ignore[call-overload]
    return number and described.get("minimum", value) <= value <= described.get("maximum", value)


def strategy(described: Mapping[str, Any]) -> st.SearchStrategy[Any]:
    """Values that the schema accepts."""
    match described:
        case {"type": "object", "properties": properties}:
            required = {name: strategy(properties[name]) for name in described.get("required", ())}
            optional = {name: strategy(each) for name, each in properties.items() if name not in required}
            return st.fixed_dictionaries(required, optional=optional)
        case {"type": "object"}:
            return st.dictionaries(st.text(max_size=4), st.integers(), max_size=2)
        case {"type": "array", "items": items}:
            return st.lists(strategy(items), max_size=min(described.get("maxItems", 4), 4))
        case {"enum": choices}:
            return st.sampled_from(choices)
        case {"type": "string", "format": "path"}:
            return st.text(min_size=described.get("minLength", 0), max_size=12).filter(lambda text: not refusal(text))
        case {"type": "string"}:
            return st.text(min_size=described.get("minLength", 0), max_size=12)
        case {"type": "boolean"}:
            return st.booleans()
        case {"type": "integer"}:
            whole = st.integers(described.get("minimum", -99), described.get("maximum", 10**6))
            return whole | whole.map(float)
        case _:
            return st.integers(-(10**15), 10**15) | st.floats(allow_nan=False, allow_infinity=False)


@pytest.mark.parametrize("cls", REQUESTS, ids=lambda cls: cls.__name__)
@given(data=st.data())
def test_what_the_schema_accepts_is_parsed_value_for_value(cls: type, data: st.DataObject) -> None:
    args = data.draw(strategy(schema.json_schema(cls)))

    request: Any = schema.parse(cls, args, "x")

    for name, parameter in schema.parameters(cls).items():
        found = getattr(request, parameter.field)
        if name not in args:
            assert found == parameter.default
        elif isinstance(args[name], list):
            plain = [item for item in args[name] if not isinstance(item, dict)]
            assert len(found) == len(args[name])
            assert [item for item in found if not is_dataclass(item)] == plain
        elif not isinstance(args[name], dict):
            assert found == args[name]
            assert not (parameter.type is int and isinstance(found, float))


def parsed_by(cls: type) -> dict[str, Any]:
    """The schema of *cls*, but for lists of texts that the action itself refuses, with an answer of its own."""
    described = schema.json_schema(cls)
    for name, parameter in schema.parameters(cls).items():
        if parameter.type is str:
            described["properties"][name].pop("enum", None)
    return described


@pytest.mark.parametrize("cls", REQUESTS, ids=lambda cls: cls.__name__)
@given(data=st.data())
def test_parsing_refuses_exactly_what_the_schema_refuses_after_repair(cls: type, data: st.DataObject) -> None:
    names = [*schema.parameters(cls), "nonsense", "q", "page_size"]
    args = data.draw(st.dictionaries(st.sampled_from(names), JSON, max_size=4))
    accepted = fits(schema.repair(cls, args), parsed_by(cls))

    try:
        schema.parse(cls, args, "x")
        parsed = True
    except InvalidArgument:
        parsed = False

    assert parsed == accepted


@pytest.mark.parametrize("cls", REQUESTS, ids=lambda cls: cls.__name__)
@given(data=st.data())
def test_repair_leaves_alone_what_is_right_already(cls: type, data: st.DataObject) -> None:
    args = data.draw(strategy(schema.json_schema(cls)))

    repaired = schema.repair(cls, args)

    assert repaired == args


@pytest.mark.parametrize(
    ("cls", "given", "meant"),
    [
        (RecallRequest, {"q": "x"}, {"query": "x"}),
        (RecallRequest, {"QueryMode": "PHRASE", "query_match": "Any"}, {"queryMode": "phrase", "queryMatch": "any"}),
        (RecallRequest, {"page-size": "5", "snippet_chars": " 100 "}, {"pageSize": 5, "snippetChars": 100}),
        (RecallRequest, {"limit": 5}, {"pageSize": 5}),
        (RecallRequest, {"max": 5}, {"pageSize": 5}),
        (RecallRequest, {"since": "1796074455.5", "until": None, "role": None}, {"since": 1796074455.5}),
        (RecallRequest, {"offset": None}, {}),
        (RecallRequest, {"branch": "All", "subagent": True}, {"branches": "all", "subagents": True}),
        (RecallRequest, {"query": "right", "q": "wrong"}, {"query": "right"}),
        (RecallRequest, {"q": "wrong", "query": "right"}, {"query": "right"}),
        (RecallRequest, {"entryRange": {"First": "1", "LAST": 2}}, {"entryRange": {"first": 1, "last": 2}}),
        (RecallRequest, {"role": "toolresult"}, {"role": "toolResult"}),
        (SessionsRequest, {"pageSize": 3}, {"limit": 3}),
        (SessionsRequest, {"max": 3}, {"limit": 3}),
        (ExpandRequest, {"id": "s", "index": 3}, {"session": "s", "indices": [3]}),
        (ExpandRequest, {"path": "s", "entry_id": "e"}, {"session": "s", "entryIds": ["e"]}),
        (ExpandRequest, {"sessionId": "s", "indices": ["1", "-2"]}, {"session": "s", "indices": [1, -2]}),
        (ExpandRequest, {"file": "s"}, {"session": "s"}),
        (ExpandRequest, {"sessions": "s"}, {"session": "s"}),
    ],
)
def test_a_near_miss_is_read_as_what_was_meant(cls: type, given: dict[str, object], meant: dict[str, object]) -> None:
    repaired = schema.repair(cls, given)

    assert repaired == meant
    assert schema.parse(cls, given, "x") == schema.parse(cls, meant, "x")


@pytest.mark.parametrize(
    ("cls", "args", "message"),
    [
        (RecallRequest, {"querry": "x"}, "unknown parameter querry (did you mean query?)"),
        (RecallRequest, {"session": "x"}, "unknown parameter session"),
        (ExpandRequest, {"session": "s", "max": 300}, "unknown parameter max"),
        (ExpandRequest, {"file": "a", "path": "b"}, "unknown parameter path"),
        (ExpandRequest, {}, "session is required"),
        (ExpandRequest, {"session": None}, "session must be a string"),
        (ExpandRequest, {"session": ""}, "session must have at least 1 character"),
        (RecallRequest, {"query": "x" * 4097}, "query must have at most 4096 characters"),
        (RecallRequest, {"pageSize": True}, "pageSize must be an integer"),
        (RecallRequest, {"pageSize": 1.5}, "pageSize must be an integer"),
        (RecallRequest, {"pageSize": 51}, "pageSize must be at most 50"),
        (RecallRequest, {"offset": -1}, "offset must be at least 0"),
        (RecallRequest, {"since": float("nan")}, "since must be a number"),
        (RecallRequest, {"since": float("inf")}, "since must be a number"),
        (RecallRequest, {"since": "yesterday"}, "since must be a number"),
        (RecallRequest, {"queryMode": "regexp"}, "queryMode must be one of literal, phrase"),
        (RecallRequest, {"subagents": 1}, "subagents must be true or false"),
        (RecallRequest, {"entryRange": {"first": 1}}, "entryRange.last is required"),
        (RecallRequest, {"entryRange": [1, 2]}, "entryRange must be an object"),
        (events.SearchRequest, {"query": "q", "cwd": "a\0b"}, "cwd is no path: it holds the character U+0000"),
        (journal.TranscriptRequest, {"transcript_path": "/\ud800"}, "transcript_path is no path: it is not Unicode"),
        (
            journal.ExpandRequest,
            {"chunk_hash": "abcd", "project": "x" * 300},
            "project is no path: it has a name of more than",
        ),
        (ExpandRequest, {"session": "s", "indices": [1, "x"]}, "indices[1] must be an integer"),
        (ExpandRequest, {"session": "s", "indices": list(range(101))}, "indices must have at most 100 items"),
    ],
)
def test_what_is_wrong_is_said_in_one_message(cls: type, args: dict[str, object], message: str) -> None:
    with pytest.raises(InvalidArgument) as caught:
        schema.parse(cls, args, "memory.recall")

    assert caught.value.message.startswith(f"Invalid arguments for memory.recall: {message}")


@pytest.mark.parametrize("name", ["since", "until", "Since"])
@pytest.mark.parametrize("text", ["2026", " 1999 ", "2026-01-31", "7d"])
def test_a_year_is_no_time_in_milliseconds(name: str, text: str) -> None:
    with pytest.raises(InvalidArgument, match=f"{name.lower()} must be a number") as caught:
        schema.parse(RecallRequest, {name: text}, "memory.recall")

    assert "ms since 1970" in caught.value.hint
    assert "--since` takes dates" in caught.value.hint


@pytest.mark.parametrize(("text", "time"), [("1767225600000", 1767225600000), ("0", 0), ("12026", 12026), ("-5", -5)])
def test_other_numbers_as_text_are_times(text: str, time: int) -> None:
    assert schema.parse(RecallRequest, {"since": text}, "memory.recall").since == time


def test_at_most_five_things_are_said_at_once() -> None:
    args = {f"unknown{n}": 1 for n in range(9)}

    with pytest.raises(InvalidArgument) as caught:
        schema.parse(RecallRequest, args, "memory.recall")

    assert caught.value.message.count("unknown parameter") == 5


def test_a_negative_index_passes_so_that_the_action_can_answer_out_of_bounds() -> None:
    args = {"session": "s", "indices": [-1], "entryRange": {"first": -3, "last": 2}}

    request = schema.parse(ExpandRequest, args, "memory.expand")

    assert (request.indices, request.entry_range) == ((-1,), EntryRange(-3, 2))


def test_a_schema_says_what_a_model_must_know() -> None:
    described = schema.json_schema(ExpandRequest)

    assert described["required"] == ["session"]
    assert described["additionalProperties"] is False
    assert described["properties"]["maxChars"] == {
        "type": "integer",
        "minimum": 256,
        "maximum": 24_000,
        "default": 20_000,
        "description": "Most code points of text.",
    }
    assert described["properties"]["indices"]["items"] == {"type": "integer"}
    assert described["properties"]["entryRange"]["required"] == ["first", "last"]
    assert described["properties"]["branches"]["enum"] == ["active", "all"]
    assert all(each["description"] for each in described["properties"].values())


def test_the_union_of_both_number_types_is_a_number() -> None:
    types: Literal["number"] = schema.json_schema(RecallRequest)["properties"]["since"]["type"]

    assert types == "number"


# Results

GOOD: dict[str, Any] = {
    "always": None,
    "kind": None,
    "part": None,
    "parts": [{"name": "x"}, {"number": 1}],
    "counts": {"x": 1},
    "value": [{}, None],
}


@pytest.mark.parametrize(
    "change",
    [
        {},
        {"always": "x", "sometimes": "y", "kind": "b", "part": {"name": "x"}, "parts": [], "counts": {}, "value": None},
        {"either": True},
        {"either": ["x"]},
    ],
)
def test_a_result_as_it_is_declared_fits_its_schema(change: dict[str, Any]) -> None:
    validator = Draft202012Validator(schema.json_schema(Result))

    assert validator.is_valid({**GOOD, **change})


@pytest.mark.parametrize(
    "change",
    [
        {"always": 1},
        {"sometimes": None},
        {"kind": "c"},
        {"part": {}},
        {"parts": [{"name": 1}]},
        {"parts": [{"name": "x", "number": 1}]},
        {"counts": {"x": "y"}},
        {"either": "x"},
        {"surprise": 1},
    ],
)
def test_a_result_that_is_declared_otherwise_does_not(change: dict[str, Any]) -> None:
    validator = Draft202012Validator(schema.json_schema(Result))

    assert not validator.is_valid({**GOOD, **change})


@pytest.mark.parametrize("missing", GOOD)
def test_what_a_result_always_has_is_required(missing: str) -> None:
    validator = Draft202012Validator(schema.json_schema(Result))

    assert not validator.is_valid({name: value for name, value in GOOD.items() if name != missing})
