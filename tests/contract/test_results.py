"""Over the table of actions: what each answers is what it declares, and what MCP says of it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from mcp_types import TextContent

import pepys
from pepys import samples
from pepys.actions import answers, load, schema
from pepys.actions.base import Action
from pepys.actions.table import ACTIONS
from pepys.errors import PepysError
from pepys.journal import engines
from pepys.mcp import tools
from tests.journal.project import Project, entry
from tests.journal.unreadable import unreadable

Json = dict[str, Any]

DATA = Path(__file__).parents[1] / "data"
MODELS = [action for action in ACTIONS.values() if action.audience == "model"]
DECLARED = [action for action in MODELS if action.response is not None]


@cache
def validator(ref: str) -> Draft202012Validator:
    described = schema.type_schema(load(ACTIONS[ref].response or ""))
    Draft202012Validator.check_schema(described)
    return Draft202012Validator(described)


@cache
def structured(ref: str) -> Draft202012Validator:
    return Draft202012Validator(tools.described(ACTIONS[ref]).output_schema or {})


class Checked:
    """A workspace whose every answer is held to its declaration, with a text that says as much."""

    def __init__(self, workspace: pepys.Workspace) -> None:
        self.workspace = workspace
        self.answers = 0

    def __call__(self, ref: str, /, **args: Any) -> Any:
        try:
            result = self.workspace.call(ref, args)
        except PepysError as error:
            result = {"error": error.as_json()}
        else:
            if ACTIONS[ref].response is not None:
                validator(ref).validate(json.loads(json.dumps(result)))
        answer = tools.answered(ACTIONS[ref], args, result)
        structured(ref).validate(answer.structured_content)
        (content,) = answer.content
        assert isinstance(content, TextContent)
        assert content.text == answers.text(args.get("ref", ref) if ref == "tools.call" else ref, result)
        assert content.text
        assert answer.is_error == answers.failed(result)
        self.answers += 1
        return result

    def follow(self, token: Json) -> Any:
        """Make a call that an answer names."""
        return self(token["ref"], **token["args"])


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Checked]:
    """The sample sessions, seen from their project."""
    samples.install(tmp_path)
    with pepys.open(cwd=samples.PROJECT, env={"HOME": str(tmp_path)}, shown=True) as workspace:
        yield Checked(workspace)


@pytest.fixture(params=["pi", "omp"])
def recorded(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Checked]:
    """All recorded sessions of a host, wherever they worked."""
    folders = sorted({path.parent for path in (DATA / request.param).rglob("*.jsonl")})
    with pepys.open(
        host=request.param,
        session_dirs=folders,
        index_dir=tmp_path / "index",
        workspace_root="/",
        cwd=tmp_path,
        env={"HOME": str(tmp_path)},
    ) as workspace:
        yield Checked(workspace)


@pytest.mark.parametrize("action", MODELS, ids=lambda action: action.ref)
def test_every_action_says_in_mcps_words_what_it_says_in_ours(action: Action) -> None:
    tool = tools.described(action)

    assert tool.name == action.tool
    assert tool.input_schema == schema.json_schema(load(action.request))
    Draft202012Validator.check_schema(tool.input_schema)
    if action.response is None:
        assert (tool.output_schema, action.takes_token) == (None, True)
    else:
        assert tool.output_schema is not None
        Draft202012Validator.check_schema(tool.output_schema)
        assert tool.output_schema["type"] == "object"
    assert tool.annotations is not None
    assert tool.annotations.read_only_hint == action.annotations.read_only
    assert tool.annotations.destructive_hint == action.annotations.destructive
    assert tool.annotations.idempotent_hint == action.annotations.idempotent
    assert tool.annotations.open_world_hint == action.annotations.open_world


@pytest.mark.parametrize("action", DECLARED, ids=lambda action: action.ref)
def test_a_schema_of_results_admits_no_other_result(action: Action) -> None:
    wrongs: list[object] = [{}, {"surprise": 1}, {"error": "text"}, {"error": {"code": 1, "message": ""}}, [], None]
    for wrong in wrongs:
        assert not structured(action.ref).is_valid(wrong)
    assert structured(action.ref).is_valid({"error": {"code": "c", "message": "m", "candidates": []}})


@pytest.mark.parametrize("action", MODELS, ids=lambda action: action.ref)
def test_an_action_without_the_right_arguments_is_an_error_as_declared(shop: Checked, action: Action) -> None:
    result = shop(action.ref, surprise=1)

    assert result["error"]["code"] in ("invalid_argument", "INVALID_ARGUMENT")
    assert "surprise" in answers.text(action.ref, result) or action.takes_token


QUERIES: list[Json] = [
    {},
    {"query": "overselling"},
    {"query": "stock race", "queryMatch": "all", "pageSize": 1},
    {"query": "conditional UPDATE", "queryMode": "phrase"},
    {"query": "res.rve", "queryMode": "regex"},
    {"query": "(", "queryMode": "regex"},
    {"query": "x" * 4000, "queryMode": "regex"},
    {"query": "zzzzzz"},
    {"query": "...."},
    {"query": "stock", "scope": "session"},
    {"query": "stock", "scope": "session:nowhere"},
    {"query": "stock", "tool": "bash", "branches": "all", "includeOwn": True, "subagents": True},
    {"since": 1, "until": 2},
]


@pytest.mark.parametrize("args", QUERIES, ids=repr)
def test_recall_and_what_it_leads_to_are_as_declared(shop: Checked, args: Json) -> None:
    page = shop("memory.recall", **{"scope": "project", **args})
    for hit in page.get("hits", ()):
        shop.follow(hit["follow"])
    if page.get("next"):
        shop.follow(page["next"])


def test_sessions_and_their_records_are_as_declared(shop: Checked) -> None:
    for branches in ("active", "all"):
        for session in shop("memory.sessions", scope="project", branches=branches)["sessions"]:
            given = {"session": session["file"], "branches": branches}
            last = shop("memory.expand", **given)["entryCount"] - 1
            page = shop("memory.expand", **given, entryRange={"first": 0, "last": last}, maxChars=300)
            while page["next"] is not None:
                page = shop.follow(page["next"])
            shop("memory.expand", **given, indices=[1], before=1, after=1)
    for wrong in ({"session": "nowhere"}, {**given, "indices": [999]}, {**given, "entryIds": ["x"]}):
        assert "error" in shop("memory.expand", **wrong)


def test_events_and_what_surrounds_them_are_as_declared(shop: Checked) -> None:
    for args in (
        {"query": "stock"},
        {"query": '"conditional UPDATE"', "sessionId": "current"},
        {"query": "zzzz stock"},
        {"query": "...."},
        {"query": '"open'},
        {"query": "stock", "kinds": ["summary.branch"], "errorOnly": True},
        {"query": "stock", "time": {"from": "2026-03-03", "to": "2026-03-04"}, "files": ["src/stock.py"]},
        {"query": "UPDATE stock", "branchStates": ["alternate"], "roles": ["user"]},
    ):
        page = shop("events.search", **args)
        for hit in page.get("hits", ()):
            named = {"sessionId": hit["sessionId"], "entryId": hit["entryId"]}
            shop.follow(hit["follow"])
            shop("events.read", **named, before=5, after=5, order="append", offset=3, windowChars=10)
            shop("events.trace", **named)
        if page.get("retry"):
            shop.follow(page["retry"])
    assert "error" in shop("events.read", sessionId="x", entryId="y")
    assert "error" in shop("events.trace", sessionId="x", entryId="y")
    assert shop.answers > 60


def test_the_catalog_and_programs_are_as_declared(shop: Checked) -> None:
    shop("tools.catalog")
    shop("tools.catalog", limit=2, provider="memory")
    shop("tools.search", query="session")
    for provider in shop("tools.providers"):
        shop("tools.list", provider=provider["name"])
    for row in shop("tools.list"):
        shop("tools.describe", ref=row["ref"])
    shop("tools.call", ref="memory.recall", args={"query": "stock", "scope": "project"})
    shop("tools.call", ref="tools.providers")
    shop("tools.call", ref="nowhere")
    for program in (
        "return {'a': [1, None]}",
        "print('x' * 100000)\nreturn 1",
        "1 / 0",
        "while True: pass",
        "return (",
    ):
        shop("guest.run", program=program, timeoutMs=300)


def test_every_recorded_session_is_as_declared(recorded: Checked) -> None:
    for branches in ("active", "all"):
        page = recorded("memory.recall", scope="global", branches=branches, pageSize=50, includeOwn=True)
        while page["next"] is not None:
            for hit in page["hits"][::5]:
                recorded.follow(hit["follow"])
            page = recorded.follow(page["next"])
    recorded("memory.sessions", scope="global", subagents=True)
    for query in ("the", "bash", "error", "read", "file", "main", "summary"):
        for hit in recorded("events.search", query=query, includeOwn=True, subagents=True)["hits"]:
            recorded.follow(hit["follow"])
            recorded("events.read", sessionId=hit["sessionId"], entryId=hit["entryId"], before=5, after=5)
            recorded("events.trace", sessionId=hit["sessionId"], entryId=hit["entryId"])
    assert recorded.answers > 50


def test_notes_are_as_declared(tmp_path: Path) -> None:
    (tmp_path / "shop").mkdir()
    env = {"HOME": str(tmp_path)}
    for trusted in (True, False):
        with pepys.open(cwd=tmp_path / "shop", env=env, trusted=trusted, shown=True) as workspace:
            notes = Checked(workspace)
            for args in (
                {"action": "add", "text": "Use tabs"},
                {"action": "add", "text": "use   TABS..."},
                {"action": "update", "text": "Use tabs", "to": "Use spaces"},
                {"action": "forget", "text": "nothing"},
                {"action": "list"},
                {"action": "wipe", "scope": "team"},
            ):
                notes("notes.memory", **args)


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Callable[..., Checked]]:
    project = Project(tmp_path)
    transcript = project.talk()
    bullets = [f"Moved the cache to Redis, step {step}." for step in range(3)]
    project.write_day("# 2026-08-13\n" + entry("10:00", *bullets, session="s1", turn="u1", path=str(transcript)))
    opened: list[pepys.Workspace] = []

    def open_(**keywords: Any) -> Checked:
        opened.append(project.open(**keywords))
        return Checked(opened[-1])

    yield open_
    for workspace in opened:
        workspace.close()


def test_the_journal_is_as_declared(
    journal: Callable[..., Checked], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    call = journal(complete=lambda model, system, prompt, timeout_s: "- Redis it is.", shown=True)
    call("journal.status")
    (hit, *_) = call("journal.search", query="cache Redis")["hits"]
    opened = call.follow(hit["follow"])
    assert opened["anchor"]["turn"] == "u1"
    call.follow(opened["follow"])
    call("journal.transcript", transcript_path=opened["anchor"]["transcript"])
    call("journal.transcript", transcript_path=str(tmp_path / "none"))
    call("journal.search", query="zzz")
    call("journal.search", query=" ")
    call("journal.expand", chunk_hash="none")
    call("journal.write", content="- Told to keep Redis.")
    call("journal.compact")
    call("journal.forget", chunk_hash=hit["chunk_hash"])
    call("journal.forget", date="2026-08-13")
    call("journal.forget", date="2026-08-13", time="10:00")
    store = tmp_path / "shop" / ".memsearch" / "memory"
    (store / "2026-08-14.md").write_text("# 2026-08-14\n")
    unreadable(monkeypatch, store / "2026-08-14.md")
    assert "unread" in call("journal.search", query="Redis")
    call("journal.status")


def test_the_journal_of_all_projects_is_as_declared(journal: Callable[..., Checked], tmp_path: Path) -> None:
    (tmp_path / "else" / ".memsearch" / "memory").mkdir(parents=True)
    call = journal(config_overrides={"journal": {"scanRoots": [str(tmp_path)]}})

    found = call("journal.search", query="cache Redis", scope="all")

    assert found["hits"][0]["project"]
    call.follow(found["hits"][0]["follow"])


def test_a_journal_without_a_backend_is_as_declared(
    journal: Callable[..., Checked], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(engines.ENGINES, "pepys", "tests.journal.absent")
    call = journal()

    assert "unavailable" in call("journal.search", query="cache")
    assert "unavailable" in call("journal.expand", chunk_hash="x")
    assert "unavailable" in call("journal.compact")
    assert call("journal.status")["backend"]["available"] is False
    assert "error" in call("journal.forget", chunk_hash="x")
