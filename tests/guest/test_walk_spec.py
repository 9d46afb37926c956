"""What guest programs do with sessions (spec 1, "Retrieval workflow" and "Expansion and guest-local computation")."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from pepys.errors import PepysError, UnknownAction
from tests.recall.details import executed, operation
from tests.recall.diary import Diary, said, user

Json = dict[str, Any]


def run(diary: Diary, program: str, **context: Any) -> Any:
    """The value of a program."""
    return diary.call("guest.run", {"program": dedent(program)}, **context)["value"]


@pytest.fixture
def diary(tmp_path: Path) -> Diary:
    return Diary(tmp_path)


@pytest.fixture
def shop(diary: Diary) -> Diary:
    diary.session(
        "one",
        user("a", None, "look at the stock"),
        said("left", "a", "abandoned"),
        executed(
            "x",
            "a",
            operation(0, "pi.read", args={"path": "src/stock.py"}),
            operation(1, "pi.edit", "failed", args={"path": "src/mail.py"}),
            operation(2, "pi.write", "failed", args={"path": "src/shop.py"}),
        ),
        said("b", "x", "long " * 10_000),
        user("c", "b", "thanks"),
    )
    return diary


@pytest.mark.requirement("walk.whole", "walk.visited", "walk.complete_entries")
def test_without_a_selector_the_whole_session_is_walked_in_complete_entries(shop: Diary) -> None:
    found = run(
        shop,
        """
        seen = []
        def visit(entry):
            seen.append([entry["entryId"], len(entry["text"]), entry["textRange"]])
        result = await memory.walk({"session": "one"}, visit)
        return {"seen": seen, "result": result}
        """,
    )

    assert [each[0] for each in found["seen"]] == ["a", "x", "x/0", "x/1", "x/2", "b", "c"]
    assert found["seen"][5][1] == 50_000
    for _, length, span in found["seen"]:
        assert span == {"start": 0, "end": length, "total": length, "complete": True}
    assert found["result"] == {"visited": 7, "stopped": False}


@pytest.mark.requirement("walk.whole", "branches.all")
def test_all_branches_are_walked_when_asked_for(shop: Diary) -> None:
    found = run(
        shop,
        """
        seen = []
        await memory.walk({"session": "one", "branches": "all"}, lambda entry: seen.append(entry["entryId"]))
        return seen
        """,
    )

    assert found == ["a", "left", "x", "x/0", "x/1", "x/2", "b", "c"]


@pytest.mark.requirement("walk.selection")
@pytest.mark.parametrize(
    ("selection", "seen"),
    [
        ('"indices": [0, 6]', ["a", "c"]),
        ('"entryIds": ["b"], "before": 1, "after": 1', ["x/2", "b", "c"]),
        ('"operationAddresses": ["x/1"]', ["x/1"]),
        ('"entryRange": {"first": 1, "last": 2}', ["x", "x/0"]),
    ],
)
def test_with_a_selector_only_that_and_its_context_is_walked(shop: Diary, selection: str, seen: list[str]) -> None:
    found = run(
        shop,
        f"""
        seen = []
        result = await memory.walk({{"session": "one", {selection}}}, lambda entry: seen.append(entry["entryId"]))
        return [seen, result["visited"]]
        """,
    )

    assert found == [seen, len(seen)]


@pytest.mark.requirement("walk.stops_on_false", "walk.visited")
@pytest.mark.parametrize(
    ("returned", "visited", "stopped"),
    [("False", 1, True), ("None", 7, False), ("0", 7, False), ("''", 7, False), ("[]", 7, False), ("True", 7, False)],
)
def test_exactly_false_stops(shop: Diary, returned: str, visited: int, stopped: bool) -> None:
    found = run(shop, f'return await memory.walk({{"session": "one"}}, lambda entry: {returned})')

    assert found == {"visited": visited, "stopped": stopped}


@pytest.mark.requirement("walk.original")
@pytest.mark.parametrize(
    "args", ['{"session": "one", "indices": [0], "textOffset": 3}', '{"session": "one", "before": 1}', "None", "5"]
)
def test_a_walk_starts_from_an_original_selection(shop: Diary, args: str) -> None:
    found = run(
        shop,
        f"""
        try:
            await memory.walk({args}, lambda entry: None)
        except TypeError as error:
            return "refused"
        return "walked"
        """,
    )

    assert found == "refused"


@pytest.mark.requirement("walk.original")
def test_a_visitor_must_be_callable(shop: Diary) -> None:
    found = run(
        shop,
        """
        try:
            await memory.walk({"session": "one"}, 5)
        except TypeError:
            return "refused"
        """,
    )

    assert found == "refused"


@pytest.mark.requirement("walk.awaits")
def test_visitors_may_be_asynchronous_and_call_tools(shop: Diary) -> None:
    found = run(
        shop,
        """
        texts = []
        async def visit(entry):
            page = memory.expand({"session": "one", "entryIds": [entry["entryId"]], "maxChars": 256})
            texts.append(page["entries"][0]["text"][:4])
            return len(texts) < 2
        result = await memory.walk({"session": "one", "indices": [0, 5, 6]}, visit)
        return [texts, result]
        """,
    )

    assert found == [["look", "long"], {"visited": 2, "stopped": True}]


@pytest.mark.requirement("walk.error")
def test_a_providers_error_is_returned(shop: Diary) -> None:
    unknown, beyond = run(
        shop,
        """
        return [
            await memory.walk({"session": "nobody"}, lambda entry: None),
            await memory.walk({"session": "one", "indices": [99]}, lambda entry: None),
        ]
        """,
    )

    assert (unknown["visited"], unknown["stopped"], unknown["error"]["code"]) == (0, False, "session_not_found")
    assert (beyond["visited"], beyond["stopped"], beyond["error"]["code"]) == (0, False, "index_out_of_bounds")


def test_an_exception_of_a_visitor_reaches_the_program(shop: Diary) -> None:
    found = run(
        shop,
        """
        def visit(entry):
            raise ValueError("enough")
        try:
            await memory.walk({"session": "one"}, visit)
        except ValueError as error:
            return str(error)
        """,
    )

    assert found == "enough"


@pytest.mark.requirement("walk.local")
def test_walking_is_no_action(shop: Diary) -> None:
    with pytest.raises(UnknownAction):
        shop.call("memory.walk", {"session": "one"})
    with shop.open() as workspace:
        catalog = workspace.call("tools.catalog")

    assert "memory.walk" not in {action["ref"] for provider in catalog["providers"] for action in provider["actions"]}


@pytest.mark.requirement("walk.whole", "truth.paths_typed")
def test_the_specifications_program_runs(shop: Diary) -> None:
    found = run(
        shop,
        """
        failed_files = set()
        parents = {}

        async def visit(entry):
            if entry["entryId"]:
                parents[entry["entryId"]] = entry["parentId"]
            if entry.get("outcome") == "failed":
                for file in entry.get("filesTouched") or []:
                    if file:
                        failed_files.add(file)
            return len(failed_files) < 20  # exactly False stops early

        walk = await memory.walk({"session": "one", "branches": "all"}, visit)
        return {"files": sorted(failed_files), "visited": walk["visited"], "parents": parents}
        """,
    )

    assert (found["files"], found["visited"]) == (["src/mail.py", "src/shop.py"], 8)
    assert (found["parents"]["left"], found["parents"]["x/1"], found["parents"]["a"]) == ("a", "a", None)


@pytest.mark.requirement("workflow.tools_call", "workflow.next_to_null", "page.dispatch")
def test_hits_and_pages_are_called_as_they_are(diary: Diary) -> None:
    diary.talk("one", *(f"timeout {number}" for number in range(25)))

    found = run(
        diary,
        """
        page = memory.recall({"query": "timeout", "scope": "project"})
        hits = list(page["hits"])
        while page["next"] is not None:
            page = memory.recall(page["next"]["args"])
            hits += page["hits"]
        again = tools.call(memory.recall(query="timeout", scope="project", pageSize=5)["next"])
        opened = [tools.call(hit["follow"])["entries"][0]["text"] for hit in hits]
        return [len(hits), sorted(opened), len(again["hits"])]
        """,
    )

    assert found == [25, sorted(f"timeout {number}" for number in range(25)), 5]


@pytest.mark.requirement("workflow.tools_call")
def test_a_follow_call_is_a_capability_call_outside_of_programs_too(diary: Diary) -> None:
    diary.talk("one", "apples", "apples")
    page = diary.recall("apples", pageSize=1)

    opened = diary.call("tools.call", page["hits"][0]["follow"])
    after = diary.call("tools.call", page["next"])

    assert opened["entries"][0]["text"] == "apples"
    assert len(after["hits"]) == 1


@pytest.mark.requirement("guest.isolated", "truth.sources_only_read")
@pytest.mark.parametrize(
    "attempt",
    [
        "open({path!r}).read()",
        "__import__('os').listdir('/')",
        """eval("open('/etc/passwd').read()")""",
        """exec("import os\\nos.listdir('/')")""",
        "__import__('subprocess').run(['true'])",
        "__import__('socket').socket()",
        "memory.recall.__globals__",
        "().__class__.__base__.__subclasses__()",
    ],
)
def test_a_program_reaches_nothing_but_its_tools(shop: Diary, attempt: str) -> None:
    path = next(Path(shop.agent).rglob("*.jsonl"))
    before = path.read_bytes()

    with pytest.raises(PepysError):
        run(shop, f"return str({attempt.format(path=str(path))})")

    assert path.read_bytes() == before


@pytest.mark.requirement("guest.isolated")
@pytest.mark.parametrize("module", ["os", "subprocess", "socket", "pathlib", "ctypes", "pepys"])
def test_a_program_imports_no_module_of_the_host(shop: Diary, module: str) -> None:
    opened = {"os": "os.listdir('/')", "pathlib": "pathlib.Path('/etc/passwd').read_text()"}

    with pytest.raises(PepysError):
        run(shop, f"import {module}\nreturn str({opened.get(module, f'{module}.open')})")


@pytest.mark.requirement("catalog.schemas")
def test_a_ref_found_in_the_catalog_is_looked_for_in_history(shop: Diary) -> None:
    found = run(
        shop,
        """
        heads = tools.search({"query": "search past sessions"})
        described = tools.describe({"ref": heads[0]["ref"]})
        history = memory.recall({"scope": "project", "ref": heads[0]["ref"]})
        failures = memory.recall({"scope": "project", "query": "mail", "ref": "pi.edit", "outcome": "failed"})
        return [sorted(described), history["total"], [hit["entryId"] for hit in failures["hits"]]]
        """,
    )

    assert "inputSchema" in found[0]
    assert found[1:] == [0, ["x/1"]]


@pytest.mark.requirement("walk.continuity")
@pytest.mark.parametrize("fault", ["text lost", "gap", "total changed", "another record", "endless"])
def test_pages_that_do_not_join_are_noticed(diary: Diary, monkeypatch: pytest.MonkeyPatch, fault: str) -> None:
    from pepys.actions import memory

    expand = memory.expand

    def faulty(parts: Any, request: Any) -> Any:
        page: Any = expand(parts, request)
        for entry in page["entries"]:
            match fault:
                case "text lost":
                    entry["text"] = entry["text"][:-1]
                case "gap" if request.text_offset:
                    entry["textRange"]["start"] += 1
                    entry["text"] = entry["text"][1:]
                case "total changed" if request.text_offset:
                    entry["textRange"]["total"] += 1
                case "another record" if request.text_offset:
                    entry["index"] += 1
                case "endless" if page["next"] is not None:
                    page["next"]["args"].pop("textOffset", None)
        return page

    diary.talk("one", "x" * 50_000)
    program = 'return await memory.walk({"session": "one", "maxChars": 20000}, lambda entry: None)'
    assert run(diary, program) == {"visited": 1, "stopped": False}
    monkeypatch.setattr(memory, "expand", faulty)

    with pytest.raises(PepysError):
        run(diary, program)
