"""However a history came to be as it is: what a refreshed index answers, a fresh one and no index answer too."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from pepys.errors import PepysError
from pepys.workspace import Workspace
from tests.index.history_files import Agent, append, entry, jsonl, recall

LONG = bool(os.environ.get("PEPYS_TEST_LONG"))

WORDS = ("alpha", "beta", "gamma", "delta_x", "naïve", "記憶", "alphabet")
TEXTS = st.lists(st.sampled_from(WORDS), min_size=1, max_size=6).map(" ".join)
ROLES = st.sampled_from(("user", "assistant", "toolResult"))
EVENT_SEARCHES: tuple[dict[str, object], ...] = (
    {"query": "alpha"},
    {"query": "delta"},
    {"query": "憶"},
    {"query": '"beta gamma"'},
    {"query": "naive", "branchStates": ["selected"]},
    {"query": "alpha beta", "selectionStates": ["summarized", "unknown"]},
    {"query": "gamma", "kinds": ["tool.result", "tool.call"]},
    {"query": "py", "files": ["src/alpha.py"]},
    {"query": "alpha", "roles": ["summary"]},
    {"query": "beta", "errorOnly": True},
)
CLOSE = 1.05
"""Scores nearer to one another than this may be ordered either way."""

QUERIES: tuple[dict[str, object], ...] = (
    {"query": "alpha"},
    {"query": "alpha beta gamma"},
    {"query": "alpha beta", "queryMatch": "all"},
    {"query": "lpha be", "queryMode": "phrase"},
    {"query": "記憶", "queryMode": "phrase"},
    {},
    {"role": "user", "query": "beta 記憶"},
    {"tool": "bash", "query": "gamma"},
    {"role": "assistant"},
    {"since": 1772359205000, "until": 1772359210000},
)


class Histories(RuleBasedStateMachine):
    """Writers do to session files whatever writers do; readers never notice how the index kept up."""

    def __init__(self) -> None:
        super().__init__()
        self.home = Path(tempfile.mkdtemp(prefix="pepys-property-"))
        self.agent = Agent(self.home)
        self.refreshed = self.opened("index")
        self.made = self.turn = 0
        self.every = 1

    def teardown(self) -> None:
        try:
            if self.turn:
                self.compare(QUERIES)
        finally:
            self.end()

    def end(self) -> None:
        self.refreshed.close()
        shutil.rmtree(self.home, ignore_errors=True)

    # What writers do

    @initialize(texts=st.lists(TEXTS, min_size=1, max_size=3), every=st.integers(1, 3))
    def first(self, texts: list[str], every: int) -> None:
        self.every = every
        self.agent.talk("s0", *texts)
        self.made = 1

    @rule(texts=st.lists(TEXTS, max_size=3))
    def new_session(self, texts: list[str]) -> None:
        self.agent.talk(f"s{self.made}", *texts)
        self.made += 1

    @precondition(lambda self: self.files())
    @rule(data=st.data(), text=TEXTS, role=ROLES)
    def goes_on(self, data: Any, text: str, role: str) -> None:
        path = self.chosen(data)
        ids = self.ids(path)
        append(path, entry(self.fresh(), ids[-1] if ids else None, text, role, self.second()))

    @precondition(lambda self: self.files())
    @rule(data=st.data(), text=TEXTS, role=ROLES)
    def branches_off(self, data: Any, text: str, role: str) -> None:
        path = self.chosen(data)
        parent = data.draw(st.sampled_from([None, *self.ids(path)]))
        append(path, entry(self.fresh(), parent, text, role, self.second()))

    @precondition(lambda self: self.files())
    @rule(data=st.data(), text=TEXTS)
    def repeats_an_id(self, data: Any, text: str) -> None:
        path = self.chosen(data)
        ids = self.ids(path)
        if ids:
            append(path, entry(data.draw(st.sampled_from(ids)), ids[-1], text, second=self.second()))

    @precondition(lambda self: self.files())
    @rule(data=st.data())
    def labels(self, data: Any) -> None:
        path = self.chosen(data)
        ids = self.ids(path)
        if ids:
            line = {"type": "label", "id": self.fresh(), "parentId": ids[-1], "timestamp": "2026-03-01T10:00:00.000Z"}
            append(path, line | {"targetId": data.draw(st.sampled_from(ids)), "label": "alpha"})

    @precondition(lambda self: self.files())
    @rule(data=st.data(), text=TEXTS, path=st.sampled_from(("src/alpha.py", "/project/src/alpha.py", "b.py")))
    def calls_a_tool(self, data: Any, text: str, path: str) -> None:
        file = self.chosen(data)
        ids = self.ids(file)
        line = entry(self.fresh(), ids[-1] if ids else None, text, "assistant", self.second())
        line["message"]["content"].append({"type": "toolCall", "id": "c1", "name": "read", "arguments": {"path": path}})
        append(file, line)

    @precondition(lambda self: self.files())
    @rule(data=st.data(), text=TEXTS)
    def tells_of_a_branch(self, data: Any, text: str) -> None:
        path = self.chosen(data)
        ids = self.ids(path)
        if ids:
            line = {"type": "branch_summary", "id": self.fresh(), "parentId": data.draw(st.sampled_from(ids))}
            told = {"timestamp": "2026-03-01T10:00:00.000Z", "fromId": data.draw(st.sampled_from(ids)), "summary": text}
            append(path, line | told)

    @precondition(lambda self: self.files())
    @rule(data=st.data(), text=TEXTS)
    def compacts(self, data: Any, text: str) -> None:
        path = self.chosen(data)
        ids = self.ids(path)
        if ids:
            line = {"type": "compaction", "id": self.fresh(), "parentId": ids[-1], "summary": text, "tokensBefore": 9}
            kept = {"timestamp": "2026-03-01T10:00:00.000Z", "firstKeptEntryId": data.draw(st.sampled_from(ids))}
            append(path, line | kept)

    @precondition(lambda self: self.files())
    @rule(data=st.data())
    def has_no_id(self, data: Any) -> None:
        line = entry("x", None, "alpha without an id")
        append(self.chosen(data), {key: value for key, value in line.items() if key not in ("id", "parentId")})

    @precondition(lambda self: self.files())
    @rule(data=st.data(), texts=st.lists(TEXTS, max_size=3))
    def is_rewritten(self, data: Any, texts: list[str]) -> None:
        self.agent.talk(self.chosen(data).stem, *texts)

    @precondition(lambda self: self.files())
    @rule(data=st.data())
    def is_edited_behind_our_back(self, data: Any) -> None:
        path = self.chosen(data)
        before = path.stat()
        path.write_bytes(path.read_bytes().replace(b"alpha", b"omega").replace(b"gamma", b"alpha"))
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))

    @precondition(lambda self: self.files())
    @rule(data=st.data(), text=TEXTS)
    def is_edited_early_while_it_grows(self, data: Any, text: str) -> None:
        path = self.chosen(data)
        path.write_bytes(path.read_bytes().replace(b"beta", b"zeta"))
        append(path, entry(self.fresh(), None, text, second=self.second()))

    @precondition(lambda self: self.files())
    @rule(data=st.data(), part=st.floats(0, 1))
    def is_cut(self, data: Any, part: float) -> None:
        path = self.chosen(data)
        os.truncate(path, int(path.stat().st_size * part))

    @precondition(lambda self: self.files())
    @rule(data=st.data(), text=TEXTS, part=st.floats(0.1, 0.9))
    def is_half_written(self, data: Any, text: str, part: float) -> None:
        path = self.chosen(data)
        line = jsonl(entry(self.fresh(), None, text, second=self.second()))
        cut = int(len(line) * part)
        append(path, line[:cut])
        if data.draw(st.booleans()):
            self.refreshed.history.refresh()
            append(path, line[cut:])

    @precondition(lambda self: self.files())
    @rule(
        data=st.data(), damage=st.sampled_from((b"\0" * 9 + b"\n", b"{broken\n", b"[]\n", b'{"type":"new"}\n', b"\n"))
    )
    def is_damaged(self, data: Any, damage: bytes) -> None:
        append(self.chosen(data), damage)

    @precondition(lambda self: self.files())
    @rule(data=st.data())
    def is_renamed(self, data: Any) -> None:
        path = self.chosen(data)
        path.rename(path.with_name(f"renamed-{self.fresh()}.jsonl"))

    @precondition(lambda self: self.files())
    @rule(data=st.data())
    def is_deleted(self, data: Any) -> None:
        self.chosen(data).unlink()

    @precondition(lambda self: self.files())
    @rule(data=st.data(), text=TEXTS)
    def is_copied(self, data: Any, text: str) -> None:
        path = self.chosen(data)
        copy = path.with_name(f"copy-{self.fresh()}.jsonl")
        copy.write_bytes(path.read_bytes())
        if data.draw(st.booleans()):
            append(copy, entry(self.fresh(), None, text, second=self.second()))

    # What readers do

    @rule()
    def is_only_refreshed(self) -> None:
        self.refreshed.history.refresh()

    @rule()
    def another_process_begins(self) -> None:
        self.refreshed.close()
        self.refreshed = self.opened("index")

    @invariant()
    def answers_agree(self) -> None:
        self.turn += 1
        if self.turn % self.every == 0:
            self.compare(QUERIES[self.turn % 5 :: 5])

    def compare(self, requests: Sequence[dict[str, object]]) -> None:
        self.refreshed.history.refresh()
        fresh, scanning = self.opened(f"fresh-{self.fresh()}"), self.opened(self.agent.unusable())
        try:
            for branches in ("active", "all"):
                for request in requests:
                    self.compare_recall(fresh, scanning, {**request, "branches": branches})
                    for path in self.files()[:1]:
                        scoped = {**request, "branches": branches, "scope": f"session:{path}"}
                        self.compare_recall(fresh, scanning, scoped)
                self.compare_records(fresh, scanning, branches)
            for search in EVENT_SEARCHES[self.turn % 4 :: 4]:
                self.compare_events(fresh, scanning, search)
            self.compare_trees(fresh, scanning)
        finally:
            fresh.close()
            scanning.close()
            shutil.rmtree(fresh.history.directory, ignore_errors=True)

    def compare_recall(self, fresh: Workspace, scanning: Workspace, request: dict[str, object]) -> None:
        oracle, ours, rebuilt = (recall(workspace, **request) for workspace in (scanning, self.refreshed, fresh))

        assert evidence(ours) == evidence(oracle), request
        assert evidence(rebuilt) == evidence(oracle), request
        in_order(rebuilt, oracle)
        if len(str(request.get("query", "")).split()) <= 1:
            # Removed documents count in the weight of each term until they are merged away.
            in_order(ours, oracle)

    def compare_records(self, fresh: Workspace, scanning: Workspace, branches: str) -> None:
        everywhere = (self.refreshed, fresh, scanning)
        sessions = [answer(workspace, "memory.sessions", scope="global", branches=branches) for workspace in everywhere]
        for page in sessions:
            assert isinstance(page, dict)
            page["coverage"] = coverage(page)
        assert sessions[0] == sessions[1] == sessions[2]
        for row in sessions[2]["sessions"]:
            for index in range(row["entryCount"] + 1):
                request = {"session": row["file"], "branches": branches, "indices": [index]}
                entries = [answer(workspace, "memory.expand", **request) for workspace in everywhere]
                assert entries[0] == entries[1] == entries[2]

    def compare_events(self, fresh: Workspace, scanning: Workspace, request: dict[str, object]) -> None:
        pages = [answer(workspace, "events.search", **request) for workspace in (scanning, self.refreshed, fresh)]
        if any(page["more"] for page in pages):
            return  # of events with nearly the same scores, any may be among the best
        for page in pages:
            page["hits"].sort(key=repr)
            page["coverage"].pop("lastReconciled")
            page["coverage"] = coverage(page)
        assert pages[0] == pages[1] == pages[2], request

    def compare_trees(self, fresh: Workspace, scanning: Workspace) -> None:
        """States, neighbours, forks and relations of every event of the newest file."""
        for path in self.files()[-1:]:
            for id_ in dict.fromkeys(self.ids(path)):
                request = {"sessionId": str(path), "entryId": id_}
                for ref, more in (("events.read", {"after": 3}), ("events.trace", {})):
                    answers = [answer(one, ref, **request, **more) for one in (scanning, self.refreshed, fresh)]
                    for one in answers:
                        one.get("coverage", {}).pop("lastReconciled", None)
                        one["coverage"] = coverage(one) if "coverage" in one else None
                    assert answers[0] == answers[1] == answers[2], (ref, request)

    # Names

    def opened(self, index: Path | str) -> Workspace:
        return self.agent.open(index, workspace_root="/project")

    def files(self) -> list[Path]:
        return sorted(self.agent.folder.iterdir())

    def chosen(self, data: Any) -> Path:
        path: Path = data.draw(st.sampled_from(self.files()))
        return path

    def ids(self, path: Path) -> list[str]:
        """The ids in a file, as its own writer knows them."""
        import json

        ids = []
        for line in path.read_bytes().splitlines():
            try:
                value = json.loads(line)
            except ValueError:
                continue
            if isinstance(value, dict) and value.get("type") != "session" and "id" in value:
                ids.append(str(value["id"]))
        return ids

    def fresh(self) -> str:
        self.made += 1
        return f"e{self.made}"

    def second(self) -> int:
        return self.made % 20


def answer(workspace: Workspace, ref: str, **request: object) -> Any:
    """A page, or the error instead of one."""
    try:
        return workspace.call(ref, request)
    except PepysError as error:
        return error.as_json()


def coverage(page: dict[str, Any]) -> dict[str, Any]:
    """Coverage without the remark that there is no index."""
    reasons = [reason for reason in page["coverage"]["reasons"] if reason != "index_unavailable"]
    return {**page["coverage"], "reasons": reasons}


def evidence(page: dict[str, Any]) -> Any:
    """All of an answer but scores and the order of hits."""
    hits = Counter(repr(sorted((key, value) for key, value in hit.items() if key != "score")) for hit in page["hits"])
    return page["total"], hits, coverage(page), page.get("error")


def in_order(page: dict[str, Any], oracle: dict[str, Any]) -> None:
    """Assert that the hits of *page* come in the order of the oracle's scores."""
    scores: dict[Any, float] = {}
    for hit in oracle["hits"]:
        scores[place(hit)] = hit["score"]
    lowest = float("inf")
    for hit in page["hits"]:
        score = scores[place(hit)]
        assert score <= lowest * CLOSE, (page, oracle)
        lowest = min(lowest, score)


def place(hit: dict[str, Any]) -> Any:
    return str(hit["follow"])


TestHistories = Histories.TestCase
TestHistories.settings = settings(
    max_examples=400 if LONG else 20,
    stateful_step_count=40 if LONG else 20,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    phases=(Phase.explicit, Phase.reuse, Phase.generate) if not LONG else tuple(Phase),
)
