"""What a program is, what it can call, and what comes of it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pepys import actions
from pepys.actions.base import Action, Annotations
from pepys.actions.table import ACTIONS
from pepys.errors import AddressNotFound, GuestUnavailable, ProgramFailed, ProgramStopped
from pepys.guest import bridge
from tests.guest.conftest import Run, alone
from tests.recall.diary import Diary, Json, called, returned, said, user

Value = Callable[..., Any]


# The value


@pytest.mark.parametrize(
    ("program", "expected"),
    [
        ("return {'a': [1, 2.5, None, True, 'é']}", {"a": [1, 2.5, None, True, "é"]}),
        ("x = 2\nx + 1", 3),
        ("async def double(n):\n    return 2 * n\nawait double(4)", 8),
        ("async def double(n):\n    return 2 * n\nreturn await double(4)", 8),
        ("for n in range(9):\n    if n == 4:\n        return n", 4),
        ("x = 1", None),
        ("", None),
        ("(1, (2,))", [1, [2]]),
        ("{1: 'a', 'b': 2}", {"1": "a", "b": 2}),
        ("10 ** 30", 10**30),
    ],
)
def test_a_program_s_value_is_what_it_returns_or_its_last_expression(
    value: Value, program: str, expected: object
) -> None:
    assert value(program) == expected


@pytest.mark.requirement("guest.value")
@pytest.mark.parametrize(
    ("program", "what"),
    [
        ("return {1, 2}", "it is a set: give a list, as in `sorted(...)`"),
        ("return {'a': [b'x']}", "a[0] is of type bytes"),
        ("return float('nan')", "it is nan"),
        ("return {'rate': float('inf')}", "rate is inf"),
        ("class A: pass\nreturn [A()]", "[0] is an object"),
        ("return {(1, 2): 3}", "it has a key of type tuple"),
        ("return len", "it is a function"),
        ("return memory.walk({'session': 's'}, print)", "it is a coroutine: await it"),
        ("import datetime\nreturn datetime.date(2026, 1, 1)", "it is of type date"),
        ("return 10**5000", "it is a number of more than 4300 digits"),
        ("return {'a': [-(10**4300)]}", "a[0] is a number of more than 4300 digits"),
        ("return {10**5000: 1}", "a key is a number of more than 4300 digits"),
        ("return [float('-inf')]", "[0] is -inf"),
        ("x = []\nfor n in range(100000):\n    x = [x]\nreturn x", "it is nested deeper than 100"),
        ("x = {}\nfor n in range(300):\n    x = {'a': x}\nreturn x", "it is nested deeper than 100"),
        ("x = []\nx.append(x)\nreturn x", "[0] holds itself"),
        ("x = {}\nx['a'] = {'b': x}\nreturn x", "a.b holds itself"),
        ("x = []\ny = (1, x)\nx.append(y)\nreturn {'y': y}", "y[1][0] holds itself"),
        ("return {1: 'a', '1': 'b'}", "it has the key 1 twice"),
        ("return [lambda: 1]", "[0] is a function"),
    ],
)
def test_a_value_that_is_no_json_is_an_error_that_names_the_place(value: Value, program: str, what: str) -> None:
    with pytest.raises(ProgramFailed) as caught:
        value(program)

    assert caught.value.message.startswith(f"The program's value is no JSON: {what}")


@pytest.mark.parametrize(
    "found",
    [
        10**4300 - 1,
        -(10**4300) + 1,
        "[...]",
        {"text": "[...]"},
        ["{...}", "(...)"],
        ["<function name='f'>\n</function>"],
    ],
    ids=range(6),
)
def test_what_only_resembles_a_value_that_is_no_json_is_returned(value: Value, found: object) -> None:
    assert value(f"return {found!r}") == found


def test_one_value_in_two_places_does_not_hold_itself(value: Value) -> None:
    assert value("x = [1]\nreturn [x, {'a': x, 'b': [x]}]") == [[1], {"a": [1], "b": [[1]]}]


def test_a_value_is_bounded(value: Value) -> None:
    assert value("'c' * 98", limits={"outputChars": 100}) == "c" * 98

    with pytest.raises(ProgramStopped, match="has 101 characters of JSON; at most 100") as caught:
        value("'c' * 99", limits={"outputChars": 100})

    assert caught.value.details["limit"] == "guest.outputChars"


def test_what_is_printed_is_returned_apart_from_the_value(run: Run) -> None:
    result = run("print('looking', 1)\nprint('é', end='')\nreturn 2")

    assert result == {"value": 2, "calls": 0, "output": "looking 1\né"}


def test_prints_are_bounded_and_say_so(run: Run) -> None:
    result = run("for n in range(1000):\n    print('x' * 1000)", limits={"outputChars": 1500})

    assert (len(result["output"]), result["outputTruncated"]) == (1500, True)


# Calls


def test_calls_take_a_dict_or_keywords_and_give_dicts(diary: Diary, value: Value) -> None:
    diary.talk("s", "lemon one", "lemon two")

    by_dict, by_keywords, by_both = value(
        "a = memory.recall({'query': 'lemon', 'scope': 'global', 'pageSize': 1})\n"
        "b = memory.recall(query='lemon', scope='global', page_size=1)\n"
        "c = memory.recall({'query': 'lime'}, query='lemon', scope='global', pageSize=1)\n"
        "return [a, b, c]"
    )

    assert by_dict == by_keywords == by_both == diary.recall("lemon", pageSize=1)


def test_a_call_may_be_awaited(diary: Diary, value: Value) -> None:
    diary.talk("s", "lemon")

    awaited = value(
        "async def total(query):\n"
        "    page = await memory.recall(query=query, scope='global')\n"
        "    return page['total']\n"
        "return [await total('lemon'), (await memory.recall(query='lemon', scope='global'))['total']]"
    )

    assert awaited == [1, 1]


def test_several_tasks_call_without_await(diary: Diary, value: Value) -> None:
    diary.talk("s", "lemon", "lime")
    task = "import asyncio\nasync def total(query):\n    return {}memory.recall(query=query, scope='global')\n"
    both = "return [page['total'] for page in await asyncio.gather(total('lemon'), total('lime'))]"

    assert value(task.format("") + both) == [1, 1]
    with pytest.raises(ProgramFailed) as caught:
        value(task.format("await ") + both)

    assert "calls are written without await" in caught.value.hint


@pytest.mark.parametrize(
    "program",
    [
        "import memory\nmemory.sessions(scope='global')",
        "import memory as diary\ndiary.sessions(scope='global')",
        "from memory import sessions\nsessions(scope='global')",
        "from memory import sessions as listed, walk, recall\nlisted(scope='global')",
        "def listed():\n    import memory\n    return memory.sessions(scope='global')\nlisted()",
        "memory = 3\nfrom memory import sessions\nsessions(scope='global')",
        "from tools import call\ncall({'ref': 'memory.sessions', 'args': {'scope': 'global'}})",
    ],
)
def test_modules_can_be_imported_and_need_not_be(diary: Diary, value: Value, program: str) -> None:
    diary.talk("s", "lemon")

    assert value(program) == diary.call("memory.sessions", {"scope": "global"})


def test_an_imported_module_is_the_one_that_is_there(value: Value) -> None:
    assert value("import memory as other\nother is memory") is True


def test_pages_are_followed_as_the_specification_does_it(diary: Diary, value: Value) -> None:
    diary.talk("s", *(f"timeout {n}" for n in range(7)))

    snippets = value(
        "snippets = []\n"
        "page = memory.recall({'query': 'timeout', 'scope': 'global', 'pageSize': 2})\n"
        "snippets += [hit['snippet'] for hit in page['hits']]\n"
        "while page['next'] is not None:\n"
        "    page = memory.recall(page['next']['args'])\n"
        "    snippets += [hit['snippet'] for hit in page['hits']]\n"
        "return snippets"
    )

    assert sorted(snippets) == [f"timeout {n}" for n in range(7)]


@pytest.mark.requirement("workflow.tools_call")
def test_a_hit_and_a_page_are_opened_by_tools_call(diary: Diary, value: Value) -> None:
    diary.talk("s", "lemon one", "lemon two")

    by_follow, by_hit, by_page = value(
        "page = memory.recall(query='lemon', scope='global', pageSize=1)\n"
        "hit = page['hits'][0]\n"
        "return [await tools.call(hit['follow']), tools.call(hit), tools.call(page)]"
    )

    assert by_follow == by_hit
    assert len(by_follow["entries"]) == len(by_page["hits"]) == 1


def test_the_catalog_leads_to_history_as_the_specification_does_it(diary: Diary, value: Value) -> None:
    diary.session("s", user("a", None, "hello"), called("b", "a", "grep", pattern="x"), returned("c", "b", "grep", "y"))

    ref, found = value(
        "heads = await tools.search({'query': 'recall'})\n"
        "return [heads[0]['ref'], tools.call({'ref': heads[0]['ref'], 'args': {'scope': 'global', 'tool': 'grep'}})]"
    )

    assert ref == "memory.recall"
    assert found["total"] == 2


@pytest.mark.requirement("guest.reads_only")
def test_the_catalog_of_a_guest_has_only_what_it_can_call(value: Value, monkeypatch: pytest.MonkeyPatch) -> None:
    row = ACTIONS["memory.sessions"]._replace(ref="memory.wipe", annotations=Annotations(False, True, False))
    monkeypatch.setitem(cast(dict[str, Action], ACTIONS), row.ref, row)

    refs, provided, wipe = value(
        "refs = [action['ref'] for action in tools.list()]\n"
        "return [refs, [each['name'] for each in tools.providers()], hasattr(memory, 'wipe')]"
    )

    assert "memory.recall" in refs
    assert not {"memory.wipe", "guest.run"} & set(refs)
    assert {"memory", "tools"} <= set(provided)
    assert "guest" not in provided
    assert not wipe


@pytest.mark.requirement("guest.reads_only")
@pytest.mark.parametrize(
    "call",
    [
        "tools.call({'ref': 'memory.wipe', 'args': {}})",
        "tools.call({'ref': 'tools.call', 'args': {'ref': 'memory.wipe'}})",
        "tools.call({'follow': {'ref': 'memory.wipe', 'args': {}}})",
        "tools.call({'ref': 'memory.picked'})",
        "tools.call({'ref': 'guest.run', 'args': {'program': '1'}})",
        "tools.call({'ref': 'nobody.knows'})",
        "tools.describe({'ref': 'memory.wipe'})",
    ],
)
def test_what_does_not_only_read_is_beyond_a_guest(run: Run, monkeypatch: pytest.MonkeyPatch, call: str) -> None:
    def refuse(*given: object) -> None:
        raise AssertionError("it was called")

    wipe = ACTIONS["memory.sessions"]._replace(ref="memory.wipe", annotations=Annotations(False, True, False))
    picked = ACTIONS["memory.sessions"]._replace(ref="memory.picked", audience="person")
    for row in (wipe, picked):
        monkeypatch.setitem(cast(dict[str, Action], ACTIONS), row.ref, row)
    load = actions.load
    monkeypatch.setattr(actions, "load", lambda name: refuse if name == wipe.function else load(name))

    with pytest.raises(ProgramFailed, match="LookupError: unknown_action"):
        run(call)


# Errors of calls


@pytest.mark.requirement("guest.errors")
@pytest.mark.parametrize("code", sorted(bridge.RESULT_CODES))
def test_what_is_not_there_is_a_result_with_its_error(code: str) -> None:
    def answer(ref: str, args: Mapping[str, object]) -> object:
        error = AddressNotFound("Not there.", details={"address": "a"})
        error.code = code
        raise error

    outcome = alone("page = memory.expand(session='s')\nreturn [page['error'], page['entries'], page['next']]", answer)

    assert outcome.value == [{"code": code, "message": "Not there.", "address": "a"}, [], None]


@pytest.mark.parametrize(
    "call",
    [
        "page = memory.expand({'session': 'nobody', 'index': 0})",
        "page = tools.call({'ref': 'memory.expand', 'args': {'session': 'nobody'}})",
        "page = tools.call(ref='tools.call', args={'next': {'ref': 'memory.expand', 'args': {'session': 'x'}}})",
    ],
)
def test_a_loop_over_pages_ends_with_an_error_however_they_are_called(value: Value, call: str) -> None:
    page = value(f"{call}\nwhile page['next'] is not None:\n    page = tools.call(page)\nreturn page")

    assert (page["error"]["code"], page["entries"]) == ("session_not_found", [])


@pytest.mark.requirement("guest.errors")
@pytest.mark.parametrize(
    ("call", "error"),
    [
        ("memory.recall(quarry='x')", "ValueError: invalid_argument: .*did you mean query"),
        ("memory.recall(pageSize=51)", "ValueError: invalid_argument: .*pageSize must be at most 50"),
        ("memory.expand()", "ValueError: invalid_argument: .*session is required"),
        ("memory.recall('lemon')", "TypeError: memory.recall takes one dict, or keywords"),
        ("memory.recall({}, {})", "TypeError: memory.recall takes one dict, or keywords"),
        ("memory.recall(query={1})", "TypeError: memory.recall: the arguments are no JSON: query is a set"),
        ("memory.recall(query=lambda: 1)", "TypeError: memory.recall: the arguments are no JSON: query is a function"),
        ("memory.recall(since=10**5000)", "no JSON: since is a number of more than 4300 digits"),
        ("memory.recall(since=float('nan'))", "no JSON: since is nan"),
        ("x = []\nx.append(x)\nmemory.expand(session='s', indices=x)", r"no JSON: indices\[0\] holds itself"),
        ("memory.remember()", "AttributeError: 'memory' object has no attribute 'remember'"),
        ("from memory import remember", "ImportError: cannot import name 'remember'"),
        ("tools.call({'args': {}})", "ValueError: invalid_argument: Expected a call"),
    ],
)
def test_a_wrong_call_raises_in_the_program(run: Run, call: str, error: str) -> None:
    with pytest.raises(ProgramFailed, match=error):
        run(call)


def test_a_program_can_catch_what_a_call_raises(value: Value) -> None:
    caught = value("try:\n    memory.recall(quarry=1)\nexcept ValueError as error:\n    return str(error)")

    assert caught.startswith("invalid_argument: Invalid arguments for memory.recall")


def test_recall_that_is_switched_off_says_so_in_the_program(diary: Diary) -> None:
    with pytest.raises(ProgramFailed, match=r"RuntimeError: disabled: .*memory\.enabled is false"):
        diary.call("guest.run", {"program": "memory.recall()"}, config_overrides={"memory": {"enabled": False}})


def test_a_defect_of_an_action_is_no_error_of_the_program() -> None:
    def answer(ref: str, args: Mapping[str, object]) -> object:
        raise ZeroDivisionError("a defect")

    with pytest.raises(ZeroDivisionError):
        alone("try:\n    memory.recall()\nexcept Exception:\n    return 1", answer)


# Errors of programs


def test_an_error_has_its_line_and_traceback_and_what_was_printed(run: Run) -> None:
    with pytest.raises(ProgramFailed) as caught:
        run("print('before')\ndef check(n):\n    raise ValueError(f'no {n}')\n\ncheck(3)")

    error = caught.value.as_json()
    assert error["message"] == "ValueError: no 3 (program.py, line 3)"
    assert (error["line"], error["output"]) == (3, "before\n")
    assert 'File "program.py", line 5, in <module>' in str(error["traceback"])


@pytest.mark.parametrize(
    ("program", "line", "error"),
    [
        ("x = 1\ny = (", 2, "SyntaxError"),
        ("x = 1\nyield x", 2, "NotImplementedError|SyntaxError"),
        ("x = 1\n\nnobody", 3, "NameError: name 'nobody' is not defined"),
        ("pirnt('x')", 1, "NameError: name 'pirnt' is not defined"),
        ("x = 1\nx = globals()", 2, "NameError: name 'globals' is not defined"),
        ("import asyncio\nawait nobody({})", 2, "NameError: name 'nobody' is not defined"),
        ("__import__('os')", 1, "NameError: name '__import__' is not defined"),
        ("await memory.walk({'session': 's'}, print)['x']", 1, "TypeError"),
    ],
)
def test_a_program_that_is_not_valid_says_where(run: Run, program: str, line: int, error: str) -> None:
    with pytest.raises(ProgramFailed, match=error) as caught:
        run(program)

    assert caught.value.details["line"] == line


def test_a_walk_without_await_gets_advice(run: Run) -> None:
    with pytest.raises(ProgramFailed) as caught:
        run("walk = memory.walk({'session': 's'}, print)\nreturn walk['visited']")

    assert "await memory.walk" in caught.value.hint


@pytest.mark.parametrize(
    "program",
    [
        "memory.walk({'session': 's'}, print)\nreturn 1",
        "walk = memory.walk({'session': 's'}, print)",
        "from memory import walk\ndef all(session):\n    walk({'session': session}, print)\nall('s')",
        "await memory.walk({'session': 's'}, print)\nmemory.walk({'session': 't'}, print)\n1",
    ],
)
def test_a_walk_that_nobody_awaits_is_an_error(run: Run, program: str) -> None:
    with pytest.raises(ProgramFailed, match=r"memory\.walk was called without await") as caught:
        run(program)

    assert "`await memory.walk(...)`" in caught.value.hint


def test_a_function_that_is_not_there_can_be_caught_and_is_no_call(run: Run) -> None:
    result = run("try:\n    dir()\nexcept NameError as error:\n    return str(error)")

    assert (result["value"], result["calls"]) == ("name 'dir' is not defined", 0)


def test_long_messages_are_cut(run: Run) -> None:
    with pytest.raises(ProgramFailed) as caught:
        run("raise ValueError('x' * 1000000)")

    assert len(str(caught.value.as_json())) < 20_000


def test_without_the_sandbox_the_error_says_what_to_install(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "pepys.guest.program", raising=False)
    monkeypatch.setitem(sys.modules, "pydantic_monty", None)
    import pepys.guest

    monkeypatch.delattr(pepys.guest, "program", raising=False)

    with pytest.raises(GuestUnavailable) as caught:
        run("1")

    assert "pip install pydantic-monty" in caught.value.hint


def test_a_sandbox_that_does_not_start_is_no_error_of_the_program(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MONTY_BIN", "/nowhere/monty")

    with pytest.raises(GuestUnavailable, match="does not start"):
        run("1")


# What crosses


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(JSON)
def test_json_is_json_as_it_is(found: object) -> None:
    assert bridge.as_json(found) == found
    assert bridge.sendable(found, 10**6) == found


@pytest.mark.parametrize(
    "text", ["plain", "\u2028 é 😀 \x00", "lone \ud83d surrogate", "x" * 5000], ids=["ascii", "wide", "lone", "long"]
)
def test_results_reach_a_program_and_come_back_as_they_are(text: str) -> None:
    outcome = alone("return memory.recall()", lambda ref, args: {"text": text, "n": 2**70, "deep": [[[{"a": None}]]]})

    assert outcome.value == {"text": text.replace("\ud83d", "\ufffd"), "n": 2**70, "deep": [[[{"a": None}]]]}


def test_a_giant_result_is_a_preview() -> None:
    outcome = alone("return memory.recall()", lambda ref, args: {"text": "x" * 3000}, result_chars=3000)

    assert outcome.value == {"resultTruncated": True, "chars": 3011, "preview": '{"text":"' + "x" * 1991}


@pytest.mark.requirement("guest.exact")
@pytest.mark.parametrize("redact", ["off", "surfaces", "always"])
def test_a_program_gets_the_text_itself_unless_everything_is_masked(diary: Diary, redact: str) -> None:
    key = "ghp_" + "a1B2" * 10
    diary.session("s", said("a", None, f"the key is {key}"))
    program = "return memory.recall(query='key', scope='global')['hits'][0]['snippet']"
    settings: Json = {"shown": True, "config_overrides": {"memory": {"redact": redact}}}

    found = diary.call("guest.run", {"program": program}, **settings)

    shown = diary.call("memory.recall", {"query": "key", "scope": "global"}, **settings)["hits"][0]["snippet"]
    masked = f"the key is {'*' * len(key)}"
    assert shown == (f"the key is {key}" if redact == "off" else masked)
    assert found["value"] == (masked if redact == "always" else f"the key is {key}")
