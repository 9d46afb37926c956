"""`memory.walk` beyond the specification's words: what a visitor may be, and pages that are cut anywhere."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pepys.errors import ProgramFailed
from tests.guest.conftest import Run, alone
from tests.recall.diary import Diary, Json, append, said

Value = Callable[..., Any]


@pytest.mark.parametrize(
    ("visitor", "seen"),
    [
        ("lambda entry: seen.append(entry['text'])", ["a", "b"]),
        ("lambda entry, ordinal: seen.append([ordinal, entry['text']])", [[0, "a"], [1, "b"]]),
        ("lambda *given: seen.append(len(given))", [2, 2]),
        ("lambda entry, ordinal=7: seen.append(ordinal)", [0, 1]),
        ("functools.partial(lambda kept, entry: seen.append(kept), 5)", [5, 5]),
        ("Visitor().one", ["one", "one"]),
        ("Visitor().two", [0, 1]),
        ("Visitor()", ["called", "called"]),
        ("later", ["later", "later"]),
        ("Visitor().later", ["later", "later"]),
        ("print", []),
    ],
)
def test_a_visitor_takes_the_entry_and_perhaps_its_ordinal(
    diary: Diary, value: Value, visitor: str, seen: list[object]
) -> None:
    diary.talk("s", "a", "b")
    program = f"""
import functools
seen = []
async def later(entry):
    seen.append('later')
class Visitor:
    def one(self, entry):
        seen.append('one')
    def two(self, entry, ordinal):
        seen.append(ordinal)
    def __call__(self, entry):
        seen.append('called')
    async def later(self, entry, ordinal):
        seen.append('later')
walk = await memory.walk({{'session': 's'}}, {visitor})
return [seen, walk]
"""

    assert value(program) == [seen, {"visited": 2, "stopped": False}]


@pytest.mark.parametrize("error", ["KeyError('mine')", "TypeError('len() takes exactly one argument')", "TypeError()"])
@pytest.mark.parametrize("visitor", ["def visit(entry):", "def visit(entry, ordinal):", "async def visit(entry):"])
def test_a_visitor_s_error_is_raised_as_it_is(diary: Diary, value: Value, visitor: str, error: str) -> None:
    diary.talk("s", "a", "b")
    program = f"""
{visitor}
    raise {error}
try:
    await memory.walk({{'session': 's'}}, visit)
except Exception as error:
    return repr(error)
"""

    assert value(program) == error.replace("'", '"' if "'" not in error else "'")


def test_the_traceback_leads_into_the_visitor(diary: Diary, run: Run) -> None:
    diary.talk("s", "a")

    with pytest.raises(ProgramFailed) as caught:
        run("def visit(entry):\n    x = 1\n    return entry['nothing']\nawait memory.walk({'session': 's'}, visit)")

    assert caught.value.details["line"] == 3


def test_keywords_are_a_selection_too(diary: Diary, value: Value) -> None:
    diary.talk("s", "a", "b", "c")

    seen = value(
        "seen = []\n"
        "await memory.walk(session='s', indices=[2], visitor=lambda entry: seen.append(entry['text']))\n"
        "await memory.walk({'session': 's'}, lambda entry: seen.append(entry['text']), index=0)\n"
        "return seen"
    )

    assert seen == ["c", "a"]


@pytest.mark.parametrize("returned", ["0", "None", "''", "[]", "True", "1 > 0"])
def test_only_false_itself_stops(diary: Diary, value: Value, returned: str) -> None:
    diary.talk("s", "a", "b")

    assert value(f"return await memory.walk({{'session': 's'}}, lambda entry: {returned})")["visited"] == 2


def test_a_session_that_grows_under_a_walk_ends_it_with_an_error(diary: Diary, value: Value) -> None:
    path = diary.talk("s", *("x" * 9000 for _ in range(6)))
    grown = False

    with diary.open() as workspace:
        call = workspace.call

        def answer(ref: str, args: Mapping[str, Any]) -> object:
            nonlocal grown
            page: Json = call(ref, args)
            if page["entries"] and not grown:
                append(path, said("late", "s-5", "more"))
                grown = True
            return page

        from pepys.errors import PepysError

        def stale(ref: str, args: Mapping[str, Any]) -> object:
            try:
                return answer(ref, args)
            except PepysError as error:
                return {"error": error.as_json()}

        walk = alone("return await memory.walk({'session': 's'}, lambda entry: None)", stale).value

    assert walk["error"]["code"] == "stale_pointer"
    assert (0 < walk["visited"] < 6, walk["stopped"]) == (True, False)


def paged(texts: list[str], cuts: list[int]) -> Callable[[str, Mapping[str, Any]], object]:
    """An expand whose chunks end where *cuts* say, over and over; a cut of 0 ends a page without an entry."""
    steps = iter(cuts * 1000)

    def answer(ref: str, args: Mapping[str, Any]) -> object:
        state = {"session": "s", "sourceHash": "h", "lineageFingerprint": "f", "branches": "active"}
        if "entryRange" not in args:
            return {**state, "entryCount": len(texts), "entries": [], "next": None}
        index, start = args.get("entryOffset", 0), args.get("textOffset", 0)
        entries = []
        while index < len(texts) and (size := next(steps)):
            end = min(start + size, len(texts[index]))
            span = {"start": start, "end": end, "total": len(texts[index]), "complete": end == len(texts[index])}
            found = {"index": index, "text": texts[index][start:end], "textRange": span}
            entries.append({**found, "first": True} if start == 0 else {**found, "later": True})
            if not span["complete"]:
                start = end
                break
            index, start = index + 1, 0
        if index == len(texts):
            return {**state, "entries": entries, "next": None}
        following = {**args, "entryOffset": index, "textOffset": start}
        # A page without an entry is asked for again, which only the number of the asking tells apart.
        following["asked"] = args.get("asked", 0) + 1
        return {**state, "entries": entries, "next": {"ref": "memory.expand", "args": following}}

    return answer


WALK = """
seen = []
walk = await memory.walk({'session': 's'}, lambda entry, ordinal: seen.append([ordinal, entry]))
return [walk, seen]
"""


@given(
    st.lists(st.text("ab é😀\n", max_size=12), max_size=5),
    st.lists(st.integers(0, 5), min_size=1, max_size=6).filter(any),
)
def test_however_texts_are_cut_every_visit_gets_the_whole(texts: list[str], cuts: list[int]) -> None:
    walk, seen = alone(WALK, paged(texts, cuts)).value

    assert walk == {"visited": len(texts), "stopped": False}
    assert [(ordinal, entry["index"], entry["text"]) for ordinal, entry in seen] == [
        (at, at, text) for at, text in enumerate(texts)
    ]
    for _, entry in seen:
        size = len(entry["text"])
        assert entry["textRange"] == {"start": 0, "end": size, "total": size, "complete": True}
        assert entry["first"]


def test_fields_that_only_a_later_chunk_has_are_kept() -> None:
    _, seen = alone(WALK, paged(["abcdef"], [3])).value

    assert seen[0][1]["first"]
    assert seen[0][1]["later"]


@pytest.mark.parametrize(
    ("following", "error"),
    [
        ({"ref": "memory.expand", "args": {"session": "s", "n": 1}}, "next leads nowhere"),
        ({"ref": "memory.recall", "args": {}}, "next leads nowhere"),
        (None, "the last entry is not complete"),
    ],
)
def test_pages_that_lead_nowhere_end_the_walk(following: object, error: str) -> None:
    entry = {"index": 0, "text": "", "textRange": {"start": 0, "end": 0, "total": 5, "complete": False}}

    outcome = alone(
        "return await memory.walk({'session': 's', 'index': 0}, print)",
        lambda ref, args: {"entries": [entry], "next": following},
    )

    assert outcome.error is not None
    assert f"RuntimeError: memory.walk: {error}" in outcome.error.message


def test_nothing_but_calls_of_expand_crosses_during_a_walk(diary: Diary) -> None:
    seen: list[tuple[str, object]] = []

    def answer(ref: str, args: Mapping[str, object]) -> object:
        seen.append((ref, args))
        return paged(["ab"], [9])(ref, args)

    alone("secret = 41\nreturn await memory.walk({'session': 's'}, lambda entry: secret == 42)", answer)

    assert [ref for ref, _ in seen] == ["memory.expand", "memory.expand"]
    assert "secret" not in str(seen)
