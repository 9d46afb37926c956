"""The benchmark of capability heads: the catalog is for choosing, history alone is evidence (spec 1).

A deterministic history of programs that called actions; half of its sessions are cold. Each part is measured apart, and
the run fails if the catalog's words are found in history, if what is found is not what was written, if a cold session
is offered for words and filters together without a warning, or if a ref that was never called has a history.
"""

from __future__ import annotations

import json
import os
import random
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pepys
from pepys.errors import AddressNotFound
from pepys.recall.records import record
from pepys.workspace import Workspace

REFS = tuple(
    f"{provider}.{action}"
    for provider, actions in (
        ("pi", ("read", "grep", "find", "ls", "edit", "write")),
        ("agents", ("run", "status", "stop")),
        ("mesh", ("publish", "claim")),
    )
    for action in actions
)
OUTCOMES = ("succeeded", "succeeded", "succeeded", "failed", "aborted", "timed_out")
NEVER = "pi.teleport"
NOON_MS = 1_767_355_200_000

Json = dict[str, Any]


class Operation(NamedTuple):
    """One call that a program made, as it was written."""

    session: str
    address: str
    ref: str
    outcome: str
    word: str


class Failure(NamedTuple):
    """One of the four conditions under which the benchmark fails, and an example."""

    condition: str
    example: str


def measured(sessions: int, seed: int, say: Callable[[str], None]) -> Json:
    """All figures, and the failures; none is what is wanted."""
    with tempfile.TemporaryDirectory() as home:
        agent = Path(home, "agent")
        say(f"writing {sessions} sessions")
        written = list(_history(agent, sessions, random.Random(f"heads {seed}")))
        with pepys.open(
            host="pi",
            agent_dir=agent,
            index_dir=Path(home, "index"),
            cwd="/srv/shop",
            env={"HOME": home},
            config_overrides={"memory": {"hotSessions": sessions // 2, "maxEntryChars": 1_000_000}},
        ) as workspace:
            say("indexing")
            started = time.perf_counter()
            workspace.history.refresh()
            build_s = time.perf_counter() - started
            cold = {
                row["id"]
                for row in workspace.memory.sessions(scope="global", limit=100_000)["sessions"]
                if row["tier"] == "cold"
            }
            say("measuring")
            return _Run(workspace, written, cold).figures() | {"sessions": sessions, "build_s": round(build_s, 3)}


class _Run:
    """One run over an open history."""

    def __init__(self, workspace: Workspace, written: list[Operation], cold: set[str]) -> None:
        self._workspace = workspace
        self._written = written
        self._cold = cold
        self._times: dict[str, list[float]] = {}
        self._failures: list[Failure] = []

    def figures(self) -> Json:
        parts: Mapping[str, Callable[[], Json]] = {
            "catalog": self._catalog,
            "source_retrieval": self._source_retrieval,
            "hot_addresses": self._hot_addresses,
            "cold_sessions": self._cold_sessions,
            "combined": self._combined,
            "negative_controls": self._negative_controls,
        }
        made: Json = {name: part() | {"latency": self._latency(name)} for name, part in parts.items()}
        ratios = [
            float(
                record(self._workspace.history, self._workspace.context, session, "active").fields["cacheSourceRatio"]
            )
            for session in sorted(self._cold)
        ]
        made["cold_digest_to_source"] = round(sum(ratios) / max(len(ratios), 1), 4)
        made["failures"] = [failure._asdict() for failure in self._failures]
        return made

    def _call(self, part: str, action: str, /, **args: Any) -> Any:
        started = time.perf_counter()
        try:
            return self._workspace.call(action, args)
        finally:
            self._times.setdefault(part, []).append(time.perf_counter() - started)

    def _recall(self, part: str, /, **args: Any) -> Json:
        page: Json = self._call(part, "memory.recall", scope="global", **args)
        return page

    def _latency(self, part: str) -> Json:
        times = sorted(self._times[part])
        return {
            f"p{share}_ms": round(times[min(len(times) * share // 100, len(times) - 1)] * 1000, 3)
            for share in (50, 95, 99)
        }

    def _fail(self, condition: str, example: object) -> None:
        self._failures.append(Failure(condition, str(example)[:300]))

    def _catalog(self) -> Json:
        """Whether each action is the first that its own description finds."""
        descriptions = {row["ref"]: row["description"] for row in self._call("catalog", "tools.list")}
        first = sum(
            self._call("catalog", "tools.search", query=text[:200])[0]["ref"] == ref
            for ref, text in descriptions.items()
        )
        return {"heads": len(descriptions), "found_first": first}

    def _source_retrieval(self) -> Json:
        """Whether as many operations of each ref, outcome and provider are found as were written into hot sessions."""
        found = 0
        for ref in REFS:
            for filters in ({"ref": ref}, {"ref": ref, "outcome": "failed"}):
                wanted = {one.address for one in self._hot(ref, filters.get("outcome"))}
                entries = self._entries("source_retrieval", **filters)
                found += len(entries)
                if {hit["operationAddress"] for hit in entries} != wanted:
                    self._fail("structural provenance is lost", filters)
        return {"queries": 2 * len(REFS), "operations_found": found}

    def _hot_addresses(self) -> Json:
        """Whether an operation is expanded by its address as it was written."""
        exact = 0
        sample = self._hot(None, None)[:200]
        for one in sample:
            provider, _, action = one.ref.partition(".")
            same = (one.address, one.ref, provider, action, one.outcome)
            names = ("operationAddress", "ref", "provider", "action", "outcome")
            try:
                page = self._call(
                    "hot_addresses", "memory.expand", session=one.session, operationAddresses=[one.address]
                )
                found = [tuple(entry[name] for name in names) for entry in page["entries"]]
            except AddressNotFound:
                found = []
            if found == [same]:
                exact += 1
            else:
                self._fail("structural provenance is lost", one)
        return {"asked": len(sample), "exact": exact}

    def _cold_sessions(self) -> Json:
        """Whether each cold session that called a ref is a candidate, and says so when it is followed."""
        found = wanted = 0
        for ref in REFS:
            holding = {one.session for one in self._written if one.session in self._cold and one.ref == ref}
            candidates = self._candidates("cold_sessions", ref=ref)
            wanted += len(holding)
            found += len(holding & {hit["sessionId"] for hit in candidates})
            if {hit["sessionId"] for hit in candidates} != holding:
                self._fail("structural provenance is lost", {"ref": ref, "tier": "cold"})
            for hit in candidates[:2]:
                followed = self._call("cold_sessions", hit["follow"]["ref"], **hit["follow"]["args"])
                if not followed["hits"] or any(entry["ref"] != ref for entry in followed["hits"]):
                    self._fail("structural provenance is lost", hit["follow"])
        return {"wanted": wanted, "found": found}

    def _combined(self) -> Json:
        """Words and filters together: exact where sessions are hot, said to be uncertain where they are cold."""
        warned = asked = 0
        for one in [one for one in self._written if one.session in self._cold][:100]:
            page = self._recall("combined", query=one.word, ref=one.ref)
            if any(hit["kind"] == "session" for hit in page["hits"]):
                asked += 1
                if "cold_structural_filter_requires_hydration" in page["coverage"]["reasons"]:
                    warned += 1
                else:
                    self._fail("a cold candidate lacks the hydration requirement", page["coverage"])
        return {"with_cold_candidates": asked, "warned": warned}

    def _negative_controls(self) -> Json:
        """Nothing is found of a ref that was never called, nor of the catalog's own words."""
        nothing = 0
        for filters in ({"ref": NEVER}, {"ref": NEVER, "query": "item"}, {"provider": "teleport"}):
            total = self._recall("negative_controls", **filters)["total"]
            nothing += not total
            if total:
                self._fail("a nonexistent ref returns history", filters)
        texts = [row["description"] for row in self._call("negative_controls", "tools.list")]
        for text in texts:
            total = self._recall("negative_controls", query=text[:200], queryMode="phrase")["total"]
            nothing += not total
            if total:
                self._fail("catalog text is found in history", text)
        return {"asked": 3 + len(texts), "found_nothing": nothing}

    def _hot(self, ref: str | None, outcome: str | None) -> list[Operation]:
        return [
            one
            for one in self._written
            if one.session not in self._cold and ref in (None, one.ref) and outcome in (None, one.outcome)
        ]

    def _entries(self, part: str, /, **filters: Any) -> list[Json]:
        return [hit for hit in self._hits(part, **filters) if hit["kind"] == "entry"]

    def _candidates(self, part: str, /, **filters: Any) -> list[Json]:
        return [hit for hit in self._hits(part, **filters) if hit["kind"] == "session"]

    def _hits(self, part: str, /, **filters: Any) -> Iterator[Json]:
        page = self._recall(part, pageSize=50, **filters)
        yield from page["hits"]
        while page["next"] is not None:
            page = self._call(part, page["next"]["ref"], **page["next"]["args"])
            yield from page["hits"]


def _history(agent: Path, sessions: int, draw: random.Random) -> Iterator[Operation]:
    """Write the sessions; what they hold."""
    folder = agent / "sessions" / "--srv-shop--"
    folder.mkdir(parents=True)
    for number in range(sessions):
        session = f"session-{number:04}"
        lines: list[Json] = [
            {"type": "session", "version": 3, "id": session, "timestamp": NOON_MS, "cwd": "/srv/shop"},
            _entry("u", None, {"role": "user", "content": f"prompt {number} item{draw.randrange(1000)}"}),
        ]
        parent = "u"
        for program in range(draw.randint(2, 6)):
            id_ = f"{session}-p{program}"
            made = [
                Operation(
                    session,
                    f"{id_}/{sequence}",
                    draw.choice(REFS),
                    draw.choice(OUTCOMES),
                    f"item{draw.randrange(1000)}",
                )
                for sequence in range(draw.randint(1, 12))
            ]
            lines.append(_program(id_, parent, made))
            parent = id_
            yield from made
        path = folder / f"{session}.jsonl"
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
        os.utime(path, (NOON_MS // 1000 + number,) * 2)


def _program(id_: str, parent: str, operations: list[Operation]) -> Json:
    counts = dict.fromkeys(("droppedValues", "truncatedValues", "redactedValues", "droppedOperations"), 0)
    calls = [
        {
            "type": "call",
            "sequence": sequence,
            "ref": one.ref,
            "args": {"path": f"src/{one.word}.py"},
            "outcome": one.outcome,
            "result": "printed " * 20 + one.word,
        }
        for sequence, one in enumerate(operations)
    ]
    trace = {
        "kind": "pi-fabric.execution",
        "version": 1,
        "outcome": "succeeded",
        "phases": [],
        "counts": counts,
        "operations": calls,
    }
    message = {
        "role": "toolResult",
        "toolName": "fabric_exec",
        "toolCallId": f"call-{id_}",
        "content": [{"type": "text", "text": f"done with {len(operations)}"}],
        "details": {"trace": trace},
    }
    return _entry(id_, parent, message)


def _entry(id_: str, parent: str | None, message: Json) -> Json:
    return {"type": "message", "id": id_, "parentId": parent, "timestamp": NOON_MS, "message": message}
