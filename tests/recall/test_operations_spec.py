"""Operations of programs and facts of branch summaries are records (spec 1, "Expansion and guest-local ...")."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pepys.errors import PepysError
from tests.recall.details import called, executed, fact, operation, ran, summarised
from tests.recall.diary import NOON, Diary, append, ids, returned, said, size, user

Json = dict[str, Any]


def records(diary: Diary, session: str = "one", **more: Any) -> list[Json]:
    """All records of a session."""
    count = diary.expand(session=session, **more)["entryCount"]
    page = diary.expand(session=session, entryRange={"first": 0, "last": count - 1}, maxEntries=20, **more)
    assert page["next"] is None
    found: list[Json] = page["entries"]
    return found


def refused(diary: Diary, **args: Any) -> Json:
    with pytest.raises(PepysError) as error:
        diary.expand(session="one", **args)
    return error.value.as_json()


# Operations


@pytest.fixture
def program(diary: Diary) -> Diary:
    """A program that read a file, and failed to find something."""
    diary.session(
        "one",
        user("u", None, "look at the stock"),
        executed(
            "x",
            "u",
            operation(0, "pi.read", args={"path": "src/stock.py"}, result="def reserve(): ..."),
            operation(3, "pi.grep", "failed", args={"pattern": "oversell", "path": "src"}, error="no such pattern"),
            text="the program printed this",
        ),
        said("s", "x", "it is there"),
    )
    return diary


@pytest.mark.requirement("operations.children", "operations.place", "branches.counts")
def test_every_operation_is_a_record_right_after_its_outer_entry(program: Diary) -> None:
    found = records(program)

    assert [(one["index"], one["entryId"]) for one in found] == [(0, "u"), (1, "x"), (2, "x/0"), (3, "x/3"), (4, "s")]
    assert [one["role"] for one in found[2:4]] == ["fabricOperation"] * 2
    assert [one["type"] for one in found[2:4]] == ["fabric_operation"] * 2
    assert program.call("memory.sessions", {"scope": "global"})["sessions"][0]["entryCount"] == 5


@pytest.mark.requirement("operations.fields", "expand.carrier_link", "expand.tool")
def test_an_operation_says_what_was_called_by_whom_and_how_it_ended(program: Diary) -> None:
    outer, read, grep = records(program)[1:4]

    assert {name: read.get(name) for name in READ} == READ
    assert {name: grep.get(name) for name in GREP} == GREP
    assert read["filesTouched"] == ["src/stock.py"]
    assert "parentEntryId" not in outer
    assert outer["tool"] == "fabric_exec"


READ = {
    "parentEntryId": "x",
    "parentId": "u",
    "operationAddress": "x/0",
    "tool": "read",
    "ref": "pi.read",
    "provider": "pi",
    "action": "read",
    "outcome": "succeeded",
    "isError": False,
    "timestamp": NOON,
}
GREP = {
    **READ,
    "operationAddress": "x/3",
    "tool": "grep",
    "ref": "pi.grep",
    "action": "grep",
    "outcome": "failed",
    "isError": True,
}


@pytest.mark.requirement("operations.structure", "expand.structures")
def test_an_operation_comes_with_its_structure(program: Diary) -> None:
    read, grep = records(program)[2:4]

    assert read["operation"] == {
        "address": "x/0",
        "parentEntryId": "x",
        "sequence": 0,
        "tool": "read",
        "ref": "pi.read",
        "provider": "pi",
        "action": "read",
        "args": {"path": "src/stock.py"},
        "outcome": "succeeded",
        "result": "def reserve(): ...",
    }
    assert (grep["operation"]["error"], grep["operation"]["args"]["pattern"]) == ("no such pattern", "oversell")
    assert read["text"].startswith("Fabric operation pi.read\n")


@pytest.mark.requirement("expand.structures_large", "operations.structure")
def test_too_large_a_structure_is_left_out_and_said_so_while_the_text_is_whole(diary: Diary) -> None:
    large = "reserve " * 5000
    diary.session("one", executed("x", None, operation(0, result=large)))

    page = diary.expand(session="one", operationAddresses=["x/0"], maxChars=24_000)
    text, pages = page["entries"][0]["text"], [page]
    while pages[-1]["next"] is not None:
        pages.append(diary.call(pages[-1]["next"]["ref"], pages[-1]["next"]["args"]))
        text += pages[-1]["entries"][0]["text"]

    assert page["entries"][0]["structuredTruncated"] is True
    assert "operation" not in page["entries"][0]
    assert large in text
    assert max(map(size, pages)) <= 30_000


@pytest.mark.requirement("expand.operations", "identity.exactly_one")
def test_an_operation_is_read_by_its_address(program: Diary) -> None:
    alone = program.expand(session="one", operationAddresses=["x/3"])
    around = program.expand(session="one", operationAddresses=["x/3"], before=1, after=1)
    union = program.expand(session="one", operationAddresses=["x/3"], indices=[0], entryIds=["s"])

    assert [one["entryId"] for one in alone["entries"]] == ["x/3"]
    assert [(one["entryId"], one["anchor"]) for one in around["entries"]] == [
        ("x/0", False),
        ("x/3", True),
        ("s", False),
    ]
    assert [one["entryId"] for one in union["entries"]] == ["u", "x/3", "s"]


@pytest.mark.requirement("identity.none", "expand.operations")
def test_an_address_that_no_operation_has_is_not_found(program: Diary) -> None:
    body = refused(program, operationAddresses=["x/3", "x/1"])

    assert body["code"] == "address_not_found"
    assert (body["addressType"], body["address"], body["matches"]) == ("operation_address", "x/1", 0)
    assert "entries" not in body


@pytest.mark.requirement("identity.operation_addresses", "identity.many", "coverage.identities")
def test_an_address_that_a_trace_and_a_fact_share_is_ambiguous(diary: Diary) -> None:
    diary.session(
        "one",
        executed("x", None, operation(0)),
        summarised("b", "x", "x", called("x", 0, "pi.read")),
    )

    body = refused(diary, operationAddresses=["x/0"])
    coverage = diary.recall("read")["coverage"]

    assert body["code"] == "ambiguous_address"
    assert (body["addressType"], body["address"], body["matches"]) == ("operation_address", "x/0", 2)
    assert "duplicate_operation_address" in coverage["reasons"]
    assert (coverage["complete"], coverage["incompleteSessions"]) == (False, 1)


@pytest.mark.requirement("operations.no_prose")
def test_a_trace_that_was_only_printed_makes_no_record(diary: Diary) -> None:
    printed = json.dumps(executed("x", None, operation(0))["message"]["details"])
    diary.session("one", returned("r", None, "fabric_exec", printed))

    assert [one["entryId"] for one in records(diary)] == ["r"]
    assert diary.recall("", ref="pi.read")["total"] == 0
    assert diary.recall("")["coverage"]["complete"]


def test_a_trace_on_another_tools_result_makes_no_record(diary: Diary) -> None:
    other = executed("x", None, operation(0))
    other["message"]["toolName"] = "bash"
    diary.session("one", other)

    assert [one["entryId"] for one in records(diary)] == ["x"]


@pytest.mark.requirement("operations.invalid")
@pytest.mark.parametrize(
    "wrong",
    [
        {"version": 2},
        {"kind": "something.else"},
        {"outcome": "done"},
        {"more": 1},
        {"operations": [operation(1), operation(1)]},
        {"operations": [operation(0, outcome="lost")]},
        {"operations": [operation(0, more=1)]},
    ],
)
def test_a_trace_that_is_not_valid_makes_no_record_and_is_said(diary: Diary, wrong: Json) -> None:
    diary.session("one", executed("x", None, operation(0), **wrong))

    assert [one["entryId"] for one in records(diary)] == ["x"]
    coverage = diary.recall("nothing")["coverage"]
    assert (coverage["complete"], coverage["reasons"]) == (False, ["rejected_trace"])


@pytest.mark.requirement("page.entry_hit", "page.entry_follow", "workflow.one_follow")
def test_a_hit_on_an_operation_says_so_and_opens(program: Diary) -> None:
    page = program.recall("oversell")
    hit = page["hits"][0]

    assert ids(page) == ["x/3"]
    assert {name: hit.get(name) for name in HIT} == HIT
    assert program.follow(hit)["entries"][0]["operationAddress"] == "x/3"


HIT = {
    "kind": "entry",
    "index": 3,
    "operationAddress": "x/3",
    "type": "fabric_operation",
    "role": "fabricOperation",
    "tool": "grep",
    "ref": "pi.grep",
    "provider": "pi",
    "action": "grep",
    "outcome": "failed",
    "isError": True,
}


@pytest.mark.requirement("branches.addresses", "stale.off_lineage")
def test_operations_of_an_abandoned_branch_are_read_and_matched_with_all_branches_only(diary: Diary) -> None:
    diary.session("one", user("u", None, "root"), executed("x", "u", operation(0)), said("s", "u", "chosen"))

    active, every = diary.recall("", ref="pi.read"), diary.recall("", ref="pi.read", branches="all")

    assert (ids(active), ids(every)) == ([], ["x/0"])
    assert refused(diary, operationAddresses=["x/0"])["code"] == "address_not_found"
    assert diary.expand(session="one", operationAddresses=["x/0"], branches="all")["entries"][0]["ref"] == "pi.read"
    assert diary.expand(session="one")["entryCount"] == 2
    assert diary.expand(session="one", branches="all")["entryCount"] == 4


@pytest.mark.requirement("privacy.output_off", "privacy.output_on")
@pytest.mark.parametrize("mode", ["literal", "phrase"])
def test_without_tool_output_an_operations_result_is_not_searched_but_all_else_is(program: Diary, mode: str) -> None:
    setting: Json = {"config_overrides": {"memory": {"indexToolOutput": False}}}

    assert ids(program.recall("reserve", queryMode=mode)) == ["x/0"]
    assert program.recall("reserve", queryMode=mode, **setting)["total"] == 0
    assert ids(program.recall("oversell", queryMode=mode, **setting)) == ["x/3"]
    assert ids(program.recall("no such pattern", queryMode="phrase", **setting)) == ["x/3"]
    assert ids(program.recall("src/stock.py", queryMode="phrase", **setting)) == ["x/0"]
    assert ids(program.recall("", ref="pi.grep", outcome="failed", **setting)) == ["x/3"]


def test_operations_that_are_appended_are_found_and_take_their_indices(diary: Diary) -> None:
    path = diary.session("one", user("u", None, "root"))
    assert diary.recall("", ref="pi.read")["total"] == 0

    append(path, executed("x", "u", operation(0)), said("s", "x", "after"))

    assert [(hit["entryId"], hit["index"]) for hit in diary.recall("", ref="pi.read")["hits"]] == [("x/0", 2)]
    assert [(hit["entryId"], hit["index"]) for hit in diary.recall("after")["hits"]] == [("s", 3)]


# Facts of branch summaries


FACTS = (
    fact("user", "q", 0, text="please keep the zebra"),
    fact("phase", "q", 1, phase="survey"),
    called("q", 2, "pi.edit", "failed", args={"path": "src/zoo.py"}, error="no match"),
)


@pytest.mark.requirement("facts.v1")
def test_version_one_gives_user_phase_and_operation_facts(diary: Diary) -> None:
    diary.session("one", user("u", None, "root"), summarised("b", "u", "q", *FACTS, version=1))

    found = records(diary)[2:]

    assert [(one["entryId"], one["role"], one["type"]) for one in found] == [
        ("q/0", "branchUser", "fabric_branch_fact"),
        ("q/1", "fabricPhase", "fabric_branch_fact"),
        ("q/2", "fabricOperation", "fabric_branch_fact"),
    ]
    assert [one["text"].split("\n")[0] for one in found] == [
        "please keep the zebra",
        "Fabric phase survey",
        "Fabric branch operation pi.edit",
    ]


@pytest.mark.requirement("facts.v2", "facts.runs")
def test_version_two_gives_named_runs_too(diary: Diary) -> None:
    run = ran("q", "call:7", "census", "timed_out", description="counts the animals")
    diary.session("one", summarised("b", None, "q", *FACTS, run))

    found = records(diary)[1:]
    one = found[3]

    assert [each["role"] for each in found] == ["branchUser", "fabricPhase", "fabricOperation", "fabricRun"]
    assert one["text"] == "Fabric run census — counts the animals → timed_out"
    assert (one["tool"], one["ref"], one["outcome"], one["isError"]) == (
        "fabric_exec",
        "fabric_exec",
        "timed_out",
        True,
    )
    assert one["operationAddress"] == "q/call:7"
    assert ids(diary.recall("census", tool="fabric_exec")) == ["q/call:7"]
    assert ids(diary.recall("", ref="fabric_exec")) == ["q/call:7"]


@pytest.mark.requirement("facts.v1", "facts.malformed")
def test_version_one_knows_no_runs(diary: Diary) -> None:
    diary.session("one", summarised("b", None, "q", ran("q", "call:7", "census"), version=1))

    assert [one["entryId"] for one in records(diary)] == ["b"]
    assert diary.recall("x")["coverage"]["reasons"] == ["rejected_branch_summary"]


@pytest.mark.requirement("facts.fields", "expand.structures")
def test_an_operation_fact_keeps_what_was_called_with_what_and_where(diary: Diary) -> None:
    diary.session("one", summarised("b", None, "q", *FACTS))

    one = records(diary)[3]

    assert {name: one.get(name) for name in EDIT} == EDIT
    assert one["branchFact"]["args"] == {"path": "src/zoo.py"}


EDIT = {
    "factAddress": "q/2",
    "operationAddress": "q/2",
    "tool": "edit",
    "ref": "pi.edit",
    "provider": "pi",
    "action": "edit",
    "outcome": "failed",
    "isError": True,
    "filesTouched": ["src/zoo.py"],
}


@pytest.mark.requirement("facts.carriers", "expand.carrier_link")
def test_every_fact_names_its_carrier_the_carriers_parent_and_where_it_came_from(diary: Diary) -> None:
    diary.session("one", user("u", None, "root"), summarised("b", "u", "q", *FACTS))

    for one in records(diary)[2:]:
        assert (one["parentEntryId"], one["carrierEntryId"]) == ("b", "b")
        assert (one["carrierParentId"], one["carrierFromId"]) == ("u", "q")


@pytest.mark.requirement("facts.operation_address", "facts.entry_id")
def test_operation_facts_are_read_by_operation_address_and_the_others_by_entry_id(diary: Diary) -> None:
    diary.session("one", summarised("b", None, "q", *FACTS, ran("q", "call:7", "census")))

    operations = diary.expand(session="one", operationAddresses=["q/2", "q/call:7"])["entries"]
    others = diary.expand(session="one", entryIds=["q/0", "q/1"])["entries"]

    assert [one["entryId"] for one in operations] == ["q/2", "q/call:7"]
    assert [one["role"] for one in others] == ["branchUser", "fabricPhase"]
    assert all("operationAddress" not in one for one in others)
    assert refused(diary, operationAddresses=["q/0"])["code"] == "address_not_found"


@pytest.mark.requirement("facts.earliest")
def test_of_a_fact_that_later_summaries_repeat_the_earliest_carrier_is_kept(diary: Diary) -> None:
    diary.session(
        "one",
        user("u", None, "root"),
        summarised("b", "u", "q", FACTS[0]),
        summarised("c", "b", "r", *FACTS),
    )

    found = [(one["entryId"], one["carrierEntryId"]) for one in records(diary) if "factAddress" in one]
    page = diary.recall("zebra")

    assert found == [("q/0", "b"), ("q/1", "c"), ("q/2", "c")]
    assert (ids(page), page["coverage"]["complete"]) == (["q/0"], True)


@pytest.mark.requirement("facts.earliest")
def test_an_earlier_carrier_on_an_abandoned_branch_hides_nothing_on_the_active_one(diary: Diary) -> None:
    diary.session(
        "one",
        user("u", None, "root"),
        summarised("b", "u", "q", FACTS[0]),
        summarised("c", "u", "q", FACTS[0]),
    )

    active = [one["carrierEntryId"] for one in records(diary) if "factAddress" in one]
    every = [one["carrierEntryId"] for one in records(diary, branches="all") if "factAddress" in one]

    assert (active, every) == (["c"], ["b"])
    assert (diary.recall("zebra")["total"], diary.recall("zebra", branches="all")["total"]) == (1, 1)


@pytest.mark.requirement("facts.earliest")
def test_a_fact_that_is_repeated_after_the_index_was_built_is_still_found_once(diary: Diary) -> None:
    path = diary.session("one", summarised("b", None, "q", FACTS[0]))
    diary.recall("zebra")

    append(path, summarised("c", "b", "r", *FACTS))

    assert ids(diary.recall("zebra")) == ["q/0"]
    assert [one["carrierEntryId"] for one in records(diary) if "factAddress" in one] == ["b", "c", "c"]


@pytest.mark.requirement("facts.unique", "coverage.identities")
@pytest.mark.parametrize(
    ("repeated", "reasons"),
    [
        (FACTS[0], ["duplicate_branch_fact_address"]),
        (FACTS[2], ["duplicate_branch_fact_address", "duplicate_operation_address"]),
    ],
)
def test_details_that_name_an_address_twice_are_rejected_as_a_whole(
    diary: Diary, repeated: Json, reasons: list[str]
) -> None:
    diary.session("one", summarised("b", None, "q", *FACTS, repeated))

    coverage = diary.recall("zebra")["coverage"]

    assert [one["entryId"] for one in records(diary)] == ["b"]
    assert (coverage["complete"], coverage["incompleteSessions"], coverage["reasons"]) == (False, 1, reasons)


@pytest.mark.requirement("facts.malformed")
@pytest.mark.parametrize(
    ("given", "rejected"),
    [
        ({"version": 3}, True),
        ({"facts": [{**FACTS[0], "address": "elsewhere/0"}]}, True),
        ({"facts": [{**FACTS[0], "more": 1}]}, True),
        ({"facts": [fact("rumour", "q", 0)]}, True),
        ({"source": {}}, True),
        ({"kind": "somebody.else"}, False),
    ],
)
def test_details_that_are_malformed_or_unknown_make_no_records(diary: Diary, given: Json, rejected: bool) -> None:
    diary.session("one", summarised("b", None, "q", FACTS[0], **given))

    coverage = diary.recall("zebra")["coverage"]

    assert [one["entryId"] for one in records(diary)] == ["b"]
    assert coverage["reasons"] == (["rejected_branch_summary"] if rejected else [])


@pytest.mark.requirement("facts.summary_prose")
@pytest.mark.parametrize("mode", ["literal", "phrase"])
def test_prose_of_a_summary_is_not_found_beside_its_facts(diary: Diary, mode: str) -> None:
    diary.session("one", summarised("b", None, "q", *FACTS, prose="the okapi was renamed with pi.bash"))

    assert diary.recall("okapi", queryMode=mode)["total"] == 0
    assert diary.recall("", ref="pi.bash")["total"] == 0
    assert ids(diary.recall("zebra", queryMode=mode)) == ["q/0"]


def test_a_named_message_of_an_abandoned_branch_is_a_fact_too(diary: Diary) -> None:
    note = fact("customMessage", "q", 0, customType="note", text="remember the okapi", display=True)
    diary.session("one", summarised("b", None, "q", note))

    page = diary.recall("okapi")

    assert [(hit["role"], hit["snippet"]) for hit in page["hits"]] == [
        ("branchCustomMessage", "[note] remember the okapi")
    ]
