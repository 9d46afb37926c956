"""Facts in the details of branch summaries."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given

from pepys import normalise
from pepys.hosts import pi
from pepys.model.entry import Entry, Record
from pepys.normalise import Children
from tests.normalise.carried import (
    MESSAGE,
    OPERATION,
    PHASE,
    RUN,
    USER,
    Json,
    carried,
    fact,
    left,
    mutated,
    nested,
    result,
    summary,
    trace,
)


@pytest.mark.requirement("facts.v2", "facts.fields", "facts.carriers", "facts.entry_id")
def test_every_fact_is_a_record_that_names_its_carrier() -> None:
    facts = (USER, MESSAGE, PHASE, OPERATION, RUN)

    children = carried(left(summary(*facts)))

    assert children.notices == ()
    assert [child.role for child in children.events] == [
        "branchUser",
        "branchCustomMessage",
        "fabricPhase",
        "fabricOperation",
        "fabricRun",
    ]
    for child, held in zip(children.events, facts, strict=True):
        assert child.entry == Entry(
            10,
            20,
            held["address"],
            "fork",
            "fabric_branch_fact",
            child.role,
            5,
            tool=child.tool,
            is_error=held.get("outcome", "succeeded") != "succeeded",
            target="leaf",
        )
        assert child.record
        assert (child.carrier, child.carrier_from, child.payload) == ("summary", "leaf", held)


@pytest.mark.requirement("facts.v1")
def test_version_1_has_the_same_facts_but_for_runs() -> None:
    facts = (USER, MESSAGE, PHASE, OPERATION)

    assert carried(left(summary(*facts, version=1))) == carried(left(summary(*facts)))
    assert carried(left(summary(*facts, RUN, version=1))).notices == ("rejected_branch_summary",)


@pytest.mark.requirement("facts.fields")
def test_an_operation_fact_has_its_address_capability_outcome_and_files() -> None:
    args = {"path": " a ", "edits": [{"filePath": "b"}], "query": "c"}
    (child,) = carried(left(summary(OPERATION | {"args": args}))).events

    assert (child.address, child.entry.id, child.outcome) == ("e1/3", "e1/3", "failed")
    assert (child.ref, child.provider, child.action, child.tool) == ("pi.grep", "pi", "grep", "grep")
    assert child.files == ("a", "b")


def test_an_operation_facts_own_provider_action_and_tool_count() -> None:
    (child,) = carried(left(summary(OPERATION | {"provider": "p", "action": "x", "tool": "y"}))).events

    assert (child.ref, child.provider, child.action, child.tool) == ("pi.grep", "p", "x", "y")


@pytest.mark.requirement("facts.runs")
def test_a_run_counts_as_the_program_tool_and_has_an_operation_address() -> None:
    (child,) = carried(left(summary(RUN))).events

    assert (child.tool, child.ref, child.provider, child.action) == ("fabric_exec", "fabric_exec", None, None)
    assert (child.address, child.outcome, child.entry.is_error) == ("e1/call:c1", "timed_out", True)


def test_what_was_said_and_phases_have_neither_tool_nor_operation_address() -> None:
    for child in carried(left(summary(USER, MESSAGE, PHASE))).events:
        assert (child.tool, child.ref, child.outcome, child.address, child.files) == (None, None, None, None, ())


PRINTED = json.dumps({key: value for key, value in OPERATION.items() if key != "result"}, separators=(",", ":"))


@pytest.mark.parametrize(
    ("given", "text", "fragments"),
    [
        (USER, "Please look", [("prose", "branch.user::0")]),
        (USER | {"text": ""}, "", []),
        (MESSAGE, "[note] seen", [("label", "branch.message::0"), ("prose", "branch.message::0")]),
        (MESSAGE | {"text": ""}, "[note] ", [("label", None)]),
        (PHASE, "Fabric phase look", [("label", None), ("call", "branch.phase::0")]),
        (PHASE | {"phase": ""}, "Fabric phase ", [("label", None)]),
        (RUN, "Fabric run census — counts files → timed_out", [("label", None), ("call", "branch.run::0")]),
        (
            fact("fabricRun", "call:1", name="n", outcome="succeeded"),
            "Fabric run n → succeeded",
            [("label", None), ("call", "branch.run::0")],
        ),
        (
            OPERATION,
            f'Fabric branch operation pi.grep\n{PRINTED[:-1]},"result":["hit"]}}',
            [
                ("label", None),
                ("call", "branch.operation.call::0"),
                ("output", "branch.operation.result::0"),
                ("label", None),
            ],
        ),
    ],
)
def test_the_text_of_a_fact(given: Json, text: str, fragments: list[tuple[str, str | None]]) -> None:
    (child,) = carried(left(summary(given))).events

    assert normalise.text(child) == text
    assert [(passage.field, passage.fragment) for passage in child.passages] == fragments


@pytest.mark.requirement("privacy.output_off")
def test_without_tool_output_a_facts_result_is_left_out() -> None:
    (child,) = carried(left(summary(OPERATION | {"error": "no match"}))).events

    text = normalise.text(child, output=False)
    assert "hit" not in text
    assert text.endswith('"error":"no match"}')


@pytest.mark.requirement("facts.summary_prose")
def test_the_prose_of_a_summary_is_in_no_text() -> None:
    entry = left(summary(USER))

    events = (normalise.event(entry), *carried(entry).events)

    assert [normalise.text(event) for event in events] == ["", "Please look"]


def test_a_summary_may_be_a_message_whose_line_has_the_details() -> None:
    body = {"role": "branchSummary", "summary": "prose", "fromId": "from", "details": summary(PHASE)}
    line = {"type": "message", "id": "s", "parentId": "fork", "message": body}
    inner, outer = pi.decode(Record(0, 1, line)), pi.decode(Record(0, 1, line | {"details": summary(USER)}))
    assert isinstance(inner, Entry)
    assert isinstance(outer, Entry)

    assert [(child.role, child.carrier_from) for child in carried(inner).events] == [("fabricPhase", "from")]
    assert [child.role for child in carried(outer).events] == ["branchUser"]


SOURCE, REQUEST = summary()["source"], summary()["request"]
WIDE = {"args": {str(number): list(range(255)) for number in range(16)}}
"""Arguments of exactly 4,097 values: the object, sixteen lists, and what these hold."""

VALID: dict[str, Json] = {
    "nothing": summary(),
    "no old leaf": summary(USER, source={k: v for k, v in SOURCE.items() if k != "oldLeafId"}),
    "an old leaf": summary(USER, source=SOURCE | {"oldLeafId": "l"}),
    "most facts": summary(*(fact("phase", number, phase="p") for number in range(256))),
    "most sections": summary(sections=["s"] * 64),
    "details of a message": summary(MESSAGE | {"details": [None, 1.5]}),
    "the deepest details": summary(MESSAGE | {"details": nested(16)}),
    "most members": summary(MESSAGE | {"details": [0] * 256}),
    "most keys": summary(MESSAGE | {"details": dict.fromkeys(map(str, range(256)))}),
    "most values": summary(OPERATION | {"result": 0, "args": WIDE["args"] | {"0": list(range(253))}}),
    "the longest run": summary(RUN | {"name": "é" * 128, "description": "é" * 512}),
    "an empty description": summary(RUN | {"description": ""}),
}


@pytest.mark.parametrize("given", VALID.values(), ids=VALID)
def test_valid_details_give_all_their_facts(given: Json) -> None:
    children = carried(left(given))

    assert children.notices == ()
    assert [child.payload for child in children.events] == given["facts"]


INVALID: dict[str, Json] = {
    "an unknown version": summary(version=3),
    "a boolean version": summary(version=True),
    "a version of text": summary(version="2"),
    "an extra key": summary(more=1),
    "a source that is no object": summary(source=[]),
    "an extra key of the source": summary(source=SOURCE | {"more": 1}),
    "an id that is no text": summary(source=SOURCE | {"firstEntryId": None}),
    "a last id that is no text": summary(source=SOURCE | {"lastEntryId": 9}),
    "a negative number of entries": summary(source=SOURCE | {"entryCount": -1}),
    "a boolean number of entries": summary(source=SOURCE | {"entryCount": True}),
    "an old leaf that is no text": summary(source=SOURCE | {"oldLeafId": 1}),
    "facts that are no list": summary() | {"facts": {}},
    "too many facts": summary(*(fact("phase", number, phase="p") for number in range(257))),
    "a negative number of omitted facts": summary(omittedFacts=-1),
    "a boolean number of omitted facts": summary(omittedFacts=False),
    "sections that are no list": summary(sections="Goal"),
    "a section that is no text": summary(sections=[1]),
    "too many sections": summary(sections=["s"] * 65),
    "a request that is no object": summary(request="Summarise"),
    "an extra key of the request": summary(request=REQUEST | {"more": 1}),
    "a request without text": summary(request=REQUEST | {"text": None}),
    "a negative number of bytes": summary(request=REQUEST | {"sourceBytes": -1}),
    "a truncation that is no boolean": summary(request=REQUEST | {"truncated": 0}),
    "a fact that is no object": summary(USER, "text"),
    "an unknown kind": summary(USER | {"kind": "thought"}),
    "a kind that is no text": summary(USER | {"kind": ["user"]}),
    "an address of another": summary(USER | {"address": "e1/other"}),
    "an address that is no text": summary(USER | {"address": None}),
    "an entry id that is no text": summary(USER | {"entryId": 1, "address": "1/u"}),
    "a subordinal that is no text": summary(USER | {"subordinal": None, "address": "e1/None"}),
    "a boolean subordinal": summary(USER | {"subordinal": True, "address": "e1/True"}),
    "a negative subordinal": summary(USER | {"subordinal": -1, "address": "e1/-1"}),
    "words that are no text": summary(USER | {"text": []}),
    "a key of another kind": summary(USER | {"phase": "p"}),
    "a message without a type": summary(MESSAGE | {"customType": None}),
    "a message whose words are no text": summary(MESSAGE | {"text": None}),
    "a display that is no boolean": summary(MESSAGE | {"display": 1}),
    "an extra key of a message": summary(MESSAGE | {"outcome": "failed"}),
    "details that are nested too deep": summary(MESSAGE | {"details": nested(17)}),
    "details without bounds": summary(MESSAGE | {"details": nested(100_000)}),
    "an endless number": summary(MESSAGE | {"details": [-math.inf]}),
    "too many members": summary(MESSAGE | {"details": [0] * 257}),
    "too many keys": summary(MESSAGE | {"details": dict.fromkeys(map(str, range(257)))}),
    "too many values in one": summary(OPERATION | WIDE),
    "too many values in all": summary(
        OPERATION | {"args": {}, "result": [[0] * 200] * 10}, MESSAGE | {"details": [[0] * 208] * 10}
    ),
    "a phase that is no text": summary(PHASE | {"phase": 1}),
    "an extra key of a phase": summary(PHASE | {"text": "t"}),
    "a ref that is no text": summary(OPERATION | {"ref": 1}),
    "a tool that is no text": summary(OPERATION | {"tool": None}),
    "arguments that are no object": summary(OPERATION | {"args": []}),
    "an unknown outcome": summary(OPERATION | {"outcome": "done"}),
    "an error that is no text": summary(OPERATION | {"error": None}),
    "a provider that is no text": summary(OPERATION | {"provider": 1}),
    "an action that is no text": summary(OPERATION | {"action": None}),
    "an extra key of an operation": summary(OPERATION | {"type": "call"}),
    "a run that is no call": summary(RUN | {"subordinal": "c1", "address": "e1/c1"}),
    "a run of no call": summary(RUN | {"subordinal": "call:", "address": "e1/call:"}),
    "a run with a number": summary(RUN | {"subordinal": 1, "address": "e1/1"}),
    "a blank name": summary(RUN | {"name": " \n"}),
    "a name that is no text": summary(RUN | {"name": None}),
    "too long a name": summary(RUN | {"name": "é" * 128 + "e"}),
    "too long a description": summary(RUN | {"description": "é" * 512 + "e"}),
    "a description that is no text": summary(RUN | {"description": None}),
    "a run's unknown outcome": summary(RUN | {"outcome": None}),
    "an extra key of a run": summary(RUN | {"ref": "fabric_exec"}),
    "one bad fact of many": summary(USER, MESSAGE, PHASE | {"phase": None}, OPERATION, RUN),
    **{f"no {key}": {k: v for k, v in summary(USER).items() if k != key} for key in summary() if key != "kind"},
    **{f"a source without {key}": summary(source={k: v for k, v in SOURCE.items() if k != key})
       for key in ("firstEntryId", "lastEntryId", "entryCount")},
    **{f"a request without its {key}": summary(request={k: v for k, v in REQUEST.items() if k != key})
       for key in REQUEST},
    **{f"a fact {of['kind']} without {key}": summary({k: v for k, v in of.items() if k != key})
       for of in (USER, MESSAGE, PHASE, OPERATION, RUN) for key in of if key not in ("result", "description")},
}  # fmt: skip


def test_what_is_noticed_of_a_carrier_is_not_said_again_of_its_facts() -> None:
    (child,) = carried(left(summary(USER), notice="unknown_shape")).events

    assert child.entry.notice is None


@pytest.mark.requirement("facts.malformed")
@pytest.mark.parametrize("given", INVALID.values(), ids=INVALID)
def test_details_that_are_not_valid_give_no_facts_and_say_so(given: Json) -> None:
    assert carried(left(given)) == Children((), ("rejected_branch_summary",))


def test_details_may_have_128_kib_of_json() -> None:
    room = 128 * 1024 - len(json.dumps(summary(fact("user", text="")), separators=(",", ":")))

    assert carried(left(summary(fact("user", text="e" * room)))).notices == ()
    assert carried(left(summary(fact("user", text="e" * (room + 1))))).notices == ("rejected_branch_summary",)


@pytest.mark.requirement("facts.unique")
@pytest.mark.parametrize(
    ("repeated", "notices"),
    [
        ((USER, PHASE, USER), ("duplicate_branch_fact_address",)),
        ((USER, fact("phase", "u", phase="p")), ("duplicate_branch_fact_address",)),
        ((RUN, RUN), ("duplicate_branch_fact_address",)),
        ((OPERATION, OPERATION, USER), ("duplicate_branch_fact_address", "duplicate_operation_address")),
        ((USER, USER, OPERATION), ("duplicate_branch_fact_address",)),
        ((fact("user", "3", text="t"), OPERATION), ("duplicate_branch_fact_address", "duplicate_operation_address")),
    ],
)
def test_details_that_name_an_address_twice_give_no_facts_and_say_so(
    repeated: tuple[Json, ...], notices: tuple[str, ...]
) -> None:
    assert carried(left(summary(*repeated))) == Children((), notices)


@pytest.mark.parametrize(
    "entry",
    [
        left(None),
        left({}),
        left({"readFiles": [], "modifiedFiles": []}),
        left(summary(USER) | {"kind": "discarded-entry-branch"}),
        left(summary(USER) | {"kind": ["pi-fabric.branch-summary"]}),
        left(summary(USER), role="compaction"),
        left(summary(USER))._replace(id=None),
        result(None, details=summary(USER)),
        left({"trace": trace()}),
    ],
)
def test_details_of_another_kind_give_no_facts_and_nothing_to_say(entry: Entry) -> None:
    assert carried(entry) == Children()


@given(mutated(summary(USER, MESSAGE | {"details": {"a": [1]}}, PHASE, OPERATION, RUN)))
def test_any_details_give_their_facts_or_say_that_they_do_not(changed: Any) -> None:
    children = carried(left(changed))

    if children.notices:
        assert children.events == ()
        assert children.notices[0] in ("rejected_branch_summary", "duplicate_branch_fact_address")
    elif changed.get("kind") == "pi-fabric.branch-summary":
        assert [child.entry.id for child in children.events] == [given["address"] for given in changed["facts"]]
        assert len({child.entry.id for child in children.events}) == len(children.events)
        for child in children.events:
            normalise.text(child)
    else:
        assert children == Children()
