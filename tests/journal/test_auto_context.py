"""Memory beside a prompt: what is chosen, how long is waited, and what becomes of the process that looks for it."""

from __future__ import annotations

import io
import json
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict
from typing import Any, ClassVar, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pepys.config import Journal
from pepys.journal import auto_context, constants, live, sidecar
from pepys.journal.auto_context import PREAMBLE, Counters, Health, Outcome
from pepys.journal.base import Chunk, Hit, Place
from pepys.journal.recall import printed
from pepys.journal.sidecar import AutoContext, Failed, Process
from tests.journal.plain import Plain
from tests.journal.project import Project, entry

Json = dict[str, Any]


def hit(relevance: float, text: str = "### 10:00\n- a memory", id_: str = "0123456789abcdef") -> Hit:
    return Hit(Chunk(id_, "/s/2026-08-13.md", "10:00", 3, 1, 2, text), relevance)


@pytest.mark.requirement("journal.auto.constants")
def test_the_numbers_are_those_of_the_specification() -> None:
    assert {name: value for name, value in vars(constants).items() if name.startswith("AUTO_CONTEXT")} == {
        "AUTO_CONTEXT_TOP_K": 3,
        "AUTO_CONTEXT_SCORE_FLOOR": 0.5,
        "AUTO_CONTEXT_CHAR_BUDGET": 2000,
        "AUTO_CONTEXT_CAP_MS": 300,
        "AUTO_CONTEXT_QUERY_LIMIT": 500,
    }
    assert constants.TIMEOUT_CRASH_THRESHOLD == 3
    assert constants.MAX_SIDECAR_RESPAWNS == 2
    assert constants.SHUTDOWN_GRACE_MS == 2000


@pytest.mark.requirement("journal.auto.floor")
def test_hits_below_the_floor_are_not_injected() -> None:
    assert auto_context.message([hit(0.5), hit(0.4999, "below")], "") == f"{PREAMBLE}\n\n{printed([hit(0.5)])}"
    assert auto_context.message([hit(0.4999)], "") == ""


@pytest.mark.requirement("journal.auto.snapshot")
def test_what_the_snapshot_shows_already_is_not_injected() -> None:
    known, other = hit(0.9, "### 10:00\n- known"), hit(0.8, "### 10:05\n- other")

    made = auto_context.message([known, other], "## Project memory\n\n### 10:00\n- known\n\n### 11:00\n- x")

    assert made == f"{PREAMBLE}\n\n{printed([other])}"


@pytest.mark.requirement("journal.auto.budget")
def test_a_first_chunk_that_is_too_long_is_cut_and_later_ones_are_left_out() -> None:
    long, short = hit(0.9, "x" * 5000), hit(0.8, "short")

    assert auto_context.message([long, short], "") == f"{PREAMBLE}\n\n{printed([long])}"[:2000]
    assert auto_context.message([short, long], "") == f"{PREAMBLE}\n\n{printed([short])}"


@given(
    st.lists(st.tuples(st.floats(0, 1), st.text(max_size=1500)), max_size=6),
    st.text(max_size=20),
)
@pytest.mark.requirement("journal.auto.budget", "journal.auto.constants")
def test_whatever_is_found_at_most_three_chunks_and_two_thousand_characters_are_injected(
    found: list[tuple[float, str]], snapshot: str
) -> None:
    hits = [hit(relevance, text, f"{number:016x}") for number, (relevance, text) in enumerate(found)]

    made = auto_context.message(hits, snapshot)

    assert len(made) <= 2000
    shown = [each for each in hits if f"| chunk {each.chunk.id} |" in made]
    assert len(shown) <= 3
    assert all(each.relevance >= 0.5 and each.chunk.text not in snapshot for each in shown)
    assert bool(made) == any(each.relevance >= 0.5 and each.chunk.text not in snapshot for each in hits)


def test_long_prompts_are_cut_before_they_are_searched_for() -> None:
    assert auto_context.query("x" * 501) == "x" * 500


EVENTS: dict[str, Callable[[Health], Health]] = {
    "ready": Health.ready,
    "served": Health.served,
    "missed": Health.missed,
    "died": Health.died,
}


@given(st.lists(st.sampled_from([*EVENTS, "respawned"])))
@pytest.mark.requirement("journal.auto.misses", "journal.auto.respawns")
def test_three_misses_in_a_row_are_a_crash_and_the_third_crash_is_the_last(events: list[str]) -> None:
    health, row, crashes = Health(), 0, 0
    for event in events:
        before = health
        if event == "respawned":
            if health.state != "crashed":
                continue  # nobody does
            health = health.respawned()
            assert health.state == "warming"
            row = 0
            continue
        if before.state in ("crashed", "gave up"):
            continue  # there is no process that anything could happen to
        health = EVENTS[event](health)
        row = row + 1 if event == "missed" and before.state == "warm" else 0 if event != "ready" else row
        crashed = event == "died" or row == 3
        crashes += crashed
        assert (health.state in ("crashed", "gave up")) == crashed
        assert (health.state == "gave up") == (crashes == 3)
        row = 0 if crashed else row
    assert health.respawns <= 2


def test_misses_while_it_warms_up_say_nothing() -> None:
    health = Health()
    for _ in range(10):
        health = health.missed()

    assert health == Health("warming")


OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)


@given(st.lists(st.sampled_from(OUTCOMES)))
@pytest.mark.requirement("journal.auto.counters")
def test_every_prompt_is_counted_once(outcomes: list[Outcome]) -> None:
    counters = Counters()
    for ms, outcome in enumerate(outcomes):
        counters = counters.after(outcome, ms)

    assert counters.prompts == len(outcomes)
    assert {name: getattr(counters, name) for name in OUTCOMES} == {name: outcomes.count(name) for name in OUTCOMES}
    last = max((ms for ms, outcome in enumerate(outcomes) if outcome == "injected"), default=None)
    assert counters.last_injection_ms == last


class Scripted:
    """A process that does what the test says, without being one."""

    made: ClassVar[list[Scripted]] = []
    script: ClassVar[list[Any]] = []

    def __init__(self, *_: object) -> None:
        self.embedder, self.memory, self.alive, self.killed = "static", 0, True, False
        self.asked: list[tuple[str, int, float]] = []
        Scripted.made.append(self)

    def ask(self, query: str, top_k: int, until: float) -> list[Hit]:
        self.asked.append((query, top_k, until))
        does = Scripted.script.pop(0)
        if isinstance(does, Exception):
            raise does
        return does  # type: ignore[no-any-return]

    def kill(self) -> None:
        self.killed, self.alive = True, False

    def close(self, grace_s: float) -> None:
        self.kill()


@pytest.fixture
def scripted(monkeypatch: pytest.MonkeyPatch) -> Callable[..., AutoContext]:
    Scripted.made, Scripted.script = [], []
    monkeypatch.setattr(sidecar, "Process", Scripted)

    def begun(*script: Any) -> AutoContext:
        Scripted.script = list(script)
        return AutoContext(Place("/s", "c", "/i", "/r"), Journal(), {})

    return begun


@pytest.mark.requirement("journal.auto.deadline")
def test_readiness_and_search_share_one_deadline_from_when_the_prompt_came(
    scripted: Callable[..., AutoContext],
) -> None:
    auto = scripted([hit(0.9)])

    auto.prompt("p" * 600, "", began=100.0)

    assert Scripted.made[0].asked == [("p" * 500, 3, 100.3)]


@pytest.mark.requirement("journal.auto.counters")
def test_each_outcome_has_its_counter(scripted: Callable[..., AutoContext]) -> None:
    auto = scripted([hit(0.9)], [], [hit(0.2)], TimeoutError(), Failed("MemoryLocked"))

    outcomes = [auto.prompt("cache", "").outcome for _ in range(5)]

    assert outcomes == ["injected", "skippedEmpty", "skippedEmpty", "skippedBudget", "skippedError"]
    assert auto.counters[:5] == (5, 1, 1, 2, 1)


@pytest.mark.requirement("journal.auto.misses")
def test_the_third_miss_in_a_row_kills_it_and_the_next_prompt_starts_another(
    scripted: Callable[..., AutoContext],
) -> None:
    auto = scripted(TimeoutError(), TimeoutError(), [hit(0.9)], *[TimeoutError()] * 3, [hit(0.9)])

    outcomes = [auto.prompt("cache", "").outcome for _ in range(6)]
    assert outcomes == ["skippedBudget", "skippedBudget", "injected", *["skippedBudget"] * 3]
    assert [process.killed for process in Scripted.made] == [True]  # lazily: nothing is started without a prompt

    assert auto.prompt("cache", "").outcome == "injected"
    assert [process.killed for process in Scripted.made] == [True, False]


@pytest.mark.requirement("journal.auto.respawns", "journal.auto.counters")
def test_after_two_respawns_it_is_off_for_the_session(scripted: Callable[..., AutoContext]) -> None:
    auto = scripted(*[BrokenPipeError()] * 3)

    outcomes = [auto.prompt("cache", "").outcome for _ in range(5)]

    assert outcomes == ["skippedError"] * 5
    assert len(Scripted.made) == 3
    assert auto.health.state == "gave up"
    assert auto.counters.skippedError == 5


SCRIPT = """
import json, sys, time
sys.stdin.readline()
mode = sys.argv[1]
if mode == "cold":
    time.sleep(60)
print(json.dumps({"event": "ready", "embedder": "scripted"}), flush=True)
for line in sys.stdin:
    asked = json.loads(line)
    if mode == "dies":
        sys.exit(3)
    if mode == "hangs":
        time.sleep(60)
    print("no JSON")
    print(json.dumps({"id": asked["id"] - 1, "hits": []}))
    chunk = ["a" * 16, "/s/d.md", "h", 3, 1, 2, asked["query"]]
    print(json.dumps({"id": asked["id"], "hits": [{"chunk": chunk, "relevance": 0.75}], "memory": 1 << 20}), flush=True)
"""


@pytest.fixture
def process(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], Process]]:
    made: list[Process] = []

    def begun(mode: str) -> Process:
        monkeypatch.setattr(sidecar, "COMMAND", (sys.executable, "-c", SCRIPT, mode))
        made.append(Process(Place("/s", "c", "/i", "/r"), Journal(), {}))
        return made[-1]

    yield begun
    for each in made:
        each.close(0)


def soon() -> float:
    return time.monotonic() + 30


def test_lines_that_say_something_else_and_late_answers_are_dropped(process: Callable[[str], Process]) -> None:
    there = process("answers")

    (found,) = there.ask("a query", 3, soon())

    assert (found.chunk.text, found.relevance) == ("a query", 0.75)
    assert (there.embedder, there.memory, there.alive) == ("scripted", 1 << 20, True)


@pytest.mark.requirement("journal.auto.deadline")
@pytest.mark.parametrize("mode", ["cold", "hangs"])
def test_a_process_that_gives_no_answer_is_left_behind(mode: str, process: Callable[[str], Process]) -> None:
    there = process(mode)

    with pytest.raises(TimeoutError):
        there.ask("a query", 3, time.monotonic() + 0.3)

    there.kill()
    there.close(0)
    assert not there.alive


def test_a_process_that_dies_is_noticed_at_once(process: Callable[[str], Process]) -> None:
    there = process("dies")

    with pytest.raises(OSError, match="ended"):
        there.ask("a query", 3, soon())
    with pytest.raises(OSError):
        there.ask("a query", 3, soon())

    assert not there.alive


def served(*lines: Json | str, place: Place) -> list[Json]:
    first = {"place": place._asdict(), "settings": asdict(Journal()), "env": {}}
    written = "\n".join(line if isinstance(line, str) else json.dumps(line) for line in (first, *lines))
    out = io.BytesIO()
    sidecar.serve(io.BytesIO(written.encode()), out)
    return [json.loads(line) for line in out.getvalue().splitlines()]


@pytest.mark.usefixtures("plain")
def test_it_answers_questions_and_ignores_other_lines(project: Project) -> None:
    project.write_day(entry("10:00", "moved the hot cache to Redis"))
    place = Place(str(project.store), "c", str(project.home / "i"), str(project.root))

    ready, answer, none = served(
        "", "no JSON", {"id": 1, "query": "cache", "top_k": 3}, {"id": 2, "query": "zeppelin", "top_k": 3}, place=place
    )

    assert ready == {"event": "ready", "embedder": "none"}
    assert [found["chunk"][6].rpartition("\n")[2] for found in answer["hits"]] == ["- moved the hot cache to Redis"]
    assert none["hits"] == []


@pytest.mark.usefixtures("plain")
def test_a_search_that_fails_is_an_answer(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> None:
        raise OSError("locked")

    monkeypatch.setattr(Plain, "search", fails)
    place = Place(str(project.store), "c", str(project.home / "i"), str(project.root))

    _, answer = served({"id": 1, "query": "cache", "top_k": 3}, place=place)

    assert answer == {"id": 1, "error": "OSError: locked"}


@pytest.fixture
def on(project: Project) -> Iterator[Project]:
    project.env["PI_MEMSEARCH_AUTO_CONTEXT"] = "on"
    yield project
    project.call("journal.shutdown")


def warm(project: Project, prompt: str) -> Json:
    """The answer to *prompt*, asked until the process is warm: on a busy machine that takes a while."""
    until = soon()
    while (answer := project.call("journal.autoContext", {"prompt": prompt}))["outcome"] == "skippedBudget":
        assert time.monotonic() < until, answer
    return answer


@pytest.mark.requirement("journal.auto.off")
def test_it_is_off_unless_it_was_asked_for(project: Project) -> None:
    project.write_day(entry("10:00", "moved the hot cache to Redis"))

    started = project.call("journal.start")
    answer = project.call("journal.autoContext", {"prompt": "hot cache"})

    assert started["autoContext"] is False
    assert answer == {"message": None, "why": "auto-context is off"}
    assert "auto-context: off (set PI_MEMSEARCH_AUTO_CONTEXT=on to enable)" in project.call("journal.status")["text"]
    assert all(session.auto_context is None for session in live.SESSIONS.values())


@pytest.mark.requirement("journal.auto.injects", "journal.auto.session", "journal.auto.memory", "journal.auto.status")
def test_memory_that_bears_on_a_prompt_is_put_beside_it(on: Project) -> None:
    on.write_day(
        "".join(
            entry(f"10:0{number}", text)
            for number, text in enumerate(["moved the hot cache to Redis", "dropped varnish", "tests run with xdist"])
        ),
        "2026-08-11",
    )
    assert on.call("journal.start")["autoContext"] is True
    (session,) = live.of_store(str(on.store))
    assert session.auto_context is not None  # since the session began
    on.call("journal.search", {"query": "index it"})

    answer = warm(on, "Where does the hot cache live now?")
    nothing = warm(on, "Write a poem about the sea, please.")

    assert answer["outcome"] == "injected"
    message = answer["message"]
    assert (message["customType"], message["display"]) == ("pepys-auto-context", False)
    head, block = message["content"].split("\n\n", 1)
    assert head == PREAMBLE
    assert block.startswith("1. score ")
    id_ = block.split("| chunk ")[1].split(" ")[0]
    assert "hot cache" in on.call("journal.expand", {"chunk_hash": id_})["content"]
    assert (nothing["outcome"], nothing["message"]) == ("skippedEmpty", None)
    text = on.call("journal.status")["text"]
    assert "auto-context: on (warm, embedder static, " in text
    assert " 1 injected, " in text
    assert "auto-context last injection: " in text
    assert 0 < session.auto_context._process.memory < 150 << 20
    on.call("journal.shutdown")
    assert not session.auto_context._process.alive


@pytest.mark.requirement("journal.auto.snapshot")
def test_an_entry_of_today_is_in_the_snapshot_and_not_injected_again(on: Project) -> None:
    on.write_day(entry("10:00", "moved the hot cache to Redis"))
    on.call("journal.start")
    on.call("journal.search", {"query": "index it"})

    assert warm(on, "hot cache")["outcome"] == "skippedEmpty"


@pytest.mark.requirement("journal.auto.session")
def test_a_new_session_has_a_new_process_and_new_counters(on: Project) -> None:
    on.write_day(entry("10:00", "moved the hot cache to Redis"))
    on.call("journal.start")
    (before,) = live.of_store(str(on.store))
    warm(on, "hot cache")

    on.call("journal.start")

    (after,) = live.of_store(str(on.store))
    assert before.auto_context is not None and after.auto_context is not None
    assert not before.auto_context._process.alive
    assert after.auto_context.counters == Counters()


@pytest.mark.requirement("journal.auto.degrades")
def test_without_a_backend_the_prompt_proceeds(on: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sidecar, "COMMAND", (sys.executable, "-c", "raise SystemExit(1)"))
    on.call("journal.start")

    answers = [on.call("journal.autoContext", {"prompt": "hot cache"}) for _ in range(4)]

    assert [answer["message"] for answer in answers] == [None] * 4
    assert {answer["outcome"] for answer in answers} == {"skippedError"}


@pytest.mark.requirement("journal.auto.degrades")
def test_a_store_command_that_fails_costs_the_injection_and_nothing_else(on: Project) -> None:
    on.env["PI_MEMSEARCH_STORE_CMD"] = "/nowhere"

    answer = on.call("journal.autoContext", {"prompt": "hot cache"})

    assert answer["error"]["code"] == "store_command_failed"
    del on.env["PI_MEMSEARCH_STORE_CMD"]
