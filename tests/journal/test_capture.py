"""Every settled exchange becomes one entry, or a marker in its place."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

import pytest

from pepys.journal import capture, distil, entries, exchange, live, models, sessions, store
from pepys.journal.exchange import Exchange
from pepys.model.journal import OfferedModel
from tests.journal.project import NOW, Project
from tests.recall.diary import append, called, custom, entry, ran, returned, said, user

Json = dict[str, Any]

pytestmark = pytest.mark.usefixtures("plain")


class Model:
    """A model that notes what it is asked."""

    def __init__(self, *answers: str | Exception) -> None:
        self.answers = list(answers) or ["- the user moved the cache to Redis"]
        self.asked: list[tuple[str | None, str, str]] = []

    def __call__(self, model: str | None, system: str, prompt: str, timeout_s: float) -> str:
        self.asked.append((model, system, prompt))
        answer = self.answers[min(len(self.asked), len(self.answers)) - 1]
        if isinstance(answer, Exception):
            raise answer
        return answer


OFFERED = [
    {"provider": "anthropic", "id": "big", "input": 15, "output": 75},
    {"provider": "anthropic", "id": "small", "input": 1, "output": 5},
    {"provider": "openai", "id": "tiny", "input": 0.1, "output": 0.4},
    {"provider": "router", "id": "vendor/model", "input": 3, "output": 3},
]


def settle(project: Project, path: Path, model: Model | None = None, args: Json | None = None, **more: Any) -> Json:
    told = {"models": OFFERED, "provider": "anthropic", "model": "anthropic/big", "wait": True}
    return project.call("journal.settled", {**told, **(args or {})}, session_file=path, complete=model, **more)


def bodies(project: Project) -> list[str]:
    """What the entries of the day say, without headings and anchors."""
    found = []
    for block in entries.blocks(store.read(str(project.day()))):
        lines = block.text.split("\n")
        assert lines[1].startswith("<!-- session:")
        found.append("\n".join(lines[2:]))
    return found


@pytest.mark.requirement("journal.capture.entry", "journal.format.anchor")
def test_a_settled_exchange_becomes_one_entry_with_its_anchor(project: Project) -> None:
    path, model = project.talk(), Model()

    answer = settle(project, path, model)

    assert answer == {"captured": True, "kind": "distilled", "file": str(project.day())}
    assert project.day().read_text() == (
        f"\n## Session 22:41\n\n### 22:41\n<!-- session:s1 turn:a1 transcript:{path} -->\n"
        "- the user moved the cache to Redis\n\n"
    )
    ((_, system, prompt),) = model.asked
    assert prompt == "[User]\nMove the cache.\n\n[Agent]\nMoved it to Redis."
    assert "2 to 10 markdown bullets" in system


@pytest.mark.requirement("journal.capture.gate_text", "journal.capture.gate_aborted")
@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (called("a1", "u1", "ls"), "the assistant produced no text"),
        (said("a1", "u1", "  \n"), "the assistant produced no text"),
        (
            entry(
                "a1", "u1", {"role": "assistant", "content": [{"type": "text", "text": "x"}], "stopReason": "aborted"}
            ),
            "the run was aborted",
        ),
    ],
)
def test_what_does_not_pass_the_gates_is_not_captured(project: Project, answer: Json, why: str) -> None:
    path, model = project.session("s1", user("u1", None, "go"), answer), Model()

    assert settle(project, path, model) == {"captured": False, "why": why}
    assert model.asked == []
    assert not project.store.exists()


def test_an_aborted_answer_that_was_taken_up_again_is_captured(project: Project) -> None:
    cut = entry("a1", "u1", {"role": "assistant", "content": [{"type": "text", "text": "x"}], "stopReason": "aborted"})
    path = project.session("s1", user("u1", None, "go"), cut, said("a2", "a1", "done"))

    assert settle(project, path, Model())["captured"]


def test_a_host_can_say_that_the_run_was_aborted(project: Project) -> None:
    assert settle(project, project.talk(), Model(), {"aborted": True})["why"] == "the run was aborted"


@pytest.mark.requirement("journal.capture.window")
def test_a_rejected_exchange_does_not_leak_into_the_next(project: Project) -> None:
    path, model = project.session("s1", user("u1", None, "one"), called("a1", "u1", "ls")), Model()
    settle(project, path, model)
    append(path, user("u2", "a1", "two"), said("a2", "u2", "done"))

    settle(project, path, model)

    assert [prompt for *_, prompt in model.asked] == ["[User]\ntwo\n\n[Agent]\ndone"]


@pytest.mark.requirement("journal.capture.once")
def test_prose_of_a_model_becomes_bullets_and_is_known_for_the_exchange(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = project.talk()

    settle(project, path, Model("The cache moved\nto Redis.\n\nVarnish went."))
    monkeypatch.setattr(live, "SESSIONS", {})

    assert "-->\n- The cache moved to Redis.\n- Varnish went.\n\n" in project.day().read_text()
    assert settle(project, path, Model())["why"] == "it was captured before"


@pytest.mark.requirement("journal.capture.once")
def test_no_exchange_is_captured_twice_not_even_by_another_process(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = project.talk()
    settle(project, path, Model())
    again = settle(project, path, Model())
    monkeypatch.setattr(live, "SESSIONS", {})

    afresh = settle(project, path, Model())

    assert (again["why"], afresh["why"]) == ("nothing was said since", "it was captured before")
    assert len(bodies(project)) == 1


@pytest.mark.requirement("journal.capture.entry")
def test_a_file_of_the_store_that_cannot_be_read_costs_no_exchange_and_is_told(project: Project) -> None:
    (project.store / "notes.md").mkdir(parents=True)

    answer = settle(project, project.talk(), Model())

    assert answer["captured"] is True
    assert "turn:a1 " in project.day().read_text()
    [session] = live.of_store(str(project.store))
    assert [str(project.store / "notes.md") in why for why in session.failures] == [True]


def test_no_directory_is_made_for_an_exchange_but_one_of_a_store_that_is_there_is_kept(project: Project) -> None:
    path = project.talk()

    lost = settle(project, path, Model(), cwd=project.home / "gone")
    settle(project, path, Model(), cwd=project.root)
    kept = settle(project, project.talk("s2"), Model(), cwd=project.root / "gone")

    assert lost["error"]["code"] == "store_unavailable"
    assert not (project.home / "gone").exists()
    assert kept["captured"] is True
    assert len(bodies(project)) == 2


@pytest.mark.requirement("journal.capture.no_memory_of_memory")
def test_what_extensions_injected_is_not_captured(project: Project) -> None:
    path, model = (
        project.session(
            "s1",
            user("u1", None, "go"),
            custom("c1", "u1", "memsearch-auto-context", "old memory"),
            said("a1", "c1", "done"),
        ),
        Model(),
    )

    settle(project, path, model)

    assert "old memory" not in model.asked[0][2]


@pytest.mark.requirement("journal.capture.cheapest")
def test_the_cheapest_model_of_the_sessions_provider_distils(project: Project) -> None:
    model = Model()

    settle(project, project.talk(), model)

    assert model.asked[0][0] == "anthropic/small"


@pytest.mark.requirement("journal.capture.model_override")
@pytest.mark.parametrize(
    ("wanted", "name"),
    [
        ("tiny", "openai/tiny"),
        ("anthropic/big", "anthropic/big"),
        ("router/vendor/model", "router/vendor/model"),
    ],
)
def test_the_user_names_another_model(project: Project, wanted: str, name: str) -> None:
    model = Model()

    settle(project, project.talk(), model, env={**project.env, "PI_MEMSEARCH_CAPTURE_MODEL": wanted})

    assert model.asked[0][0] == name


def test_ties_of_price_go_by_id_and_a_provider_without_models_to_the_session() -> None:
    prices = {"b": (1, 1), "a": (0, 2), "c": (9, 0), "d": (0, 3)}
    offered = [OfferedModel("p", id_, *price) for id_, price in prices.items()] + [OfferedModel("q", "e", 0, 0)]

    assert models.chosen(offered, "", "p", "p/b") == "p/a"
    assert models.chosen(offered, "", "r", "r/x") == "r/x"
    assert models.chosen([], "", None, None) is None
    with pytest.raises(models.NoModel):
        models.chosen(offered, "", "r", None)


@pytest.mark.requirement("journal.capture.marker")
@pytest.mark.parametrize(
    ("model", "wanted", "why"),
    [
        (Model(RuntimeError("429 rate\nlimited")), "", "429 rate limited"),
        (Model("  \n"), "", "distillation returned no text"),
        (Model(TimeoutError()), "", "distillation timed out after 30000ms"),
        (Model(), "gone", "capture model 'gone' not found in the model registry"),
    ],
)
def test_a_failed_distillation_leaves_a_marker_with_the_anchor_and_no_other_model_is_taken(
    project: Project, model: Model, wanted: str, why: str
) -> None:
    answer = settle(project, project.talk(), model, env={**project.env, "PI_MEMSEARCH_CAPTURE_MODEL": wanted})

    assert (answer["kind"], answer["why"]) == ("marker", why)
    assert bodies(project) == [f"- [pepys] distillation failed: {why}"]
    assert len(model.asked) == (0 if wanted else 1)


@pytest.mark.requirement("journal.capture.marker")
def test_a_model_that_takes_too_long_is_not_waited_for(project: Project) -> None:
    release = threading.Event()

    def slow(model: str | None, system: str, prompt: str, timeout_s: float) -> str:
        release.wait(10)
        return "- too late"

    session = sessions.read(str(project.talk()), project.open().context)
    (found,) = exchange.exchanges(session.branch(session.leaf()))
    with pytest.raises(distil.Failed, match="distillation timed out after 50ms"):
        distil.distilled(slow, None, found, timeout_ms=50)
    release.set()


@pytest.mark.requirement("journal.capture.shutdown")
def test_at_the_shutdown_cap_the_marker_lands_and_the_late_answer_is_dropped(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pepys.journal.hooks.SHUTDOWN_CAP_MS", 50)
    release = threading.Event()

    def slow(model: str | None, system: str, prompt: str, timeout_s: float) -> str:
        release.wait(10)
        return "- too late"

    path = project.talk()
    with project.open(session_file=path, complete=slow) as workspace:
        assert workspace.call("journal.settled", {})["kind"] == "pending"
        answer = workspace.call("journal.shutdown", {})
        release.set()

    assert answer["captured"] is False
    assert bodies(project) == ["- [pepys] distillation failed: aborted by the shutdown cap"]


@pytest.mark.requirement("journal.capture.background", "journal.shutdown.flush")
def test_captures_run_in_order_and_shutdown_waits_for_them(project: Project) -> None:
    path = project.talk()
    model = Model("- one", "- two")
    with project.open(session_file=path, complete=model) as workspace:
        workspace.call("journal.settled", {})
        append(path, user("u2", "a1", "two"), said("a2", "u2", "done"))
        workspace.call("journal.settled", {})
        answer = workspace.call("journal.shutdown", {})

    assert (answer["captured"], answer["failures"]) == (True, [])
    assert bodies(project) == ["- one", "- two"]


@pytest.mark.requirement("journal.capture.time_of_settling")
def test_the_entry_stands_at_the_time_of_settling_however_long_the_model_takes(project: Project) -> None:
    session = sessions.read(str(project.talk()), project.open().context)
    (found,) = exchange.exchanges(session.branch(session.leaf()))
    made = capture.Capture(session, found, NOW, str(project.store))
    time.sleep(0.01)

    made.run(Model(), lambda: None)

    assert "### 22:41" in project.day().read_text()


@pytest.mark.requirement("journal.capture.extract")
def test_without_any_model_the_entry_is_an_extract_marked_as_one(project: Project) -> None:
    path = project.session(
        "s1",
        user("u1", None, "Fix the build. It is red.\n\nMore words."),
        called("a1", "u1", "edit", path="src/a.py"),
        returned("r1", "a1", "edit", "ok"),
        entry(
            "a2",
            "r1",
            {
                "role": "assistant",
                "content": [{"type": "toolCall", "id": "c2", "name": "bash", "arguments": {"command": "make  test"}}],
            },
        ),
        entry(
            "r2", "a2", {"role": "toolResult", "toolCallId": "c2", "toolName": "bash", "content": [], "isError": True}
        ),
        ran("b1", "r2", "npm ci", "no", 1),
        said("a3", "b1", "The cause was a typo. I fixed it.\n\n```\nx. y.\n```\nAll tests pass now."),
    )

    answer = settle(project, path)

    assert answer["kind"] == "extract"
    assert bodies(project)[0].split("\n") == [
        "- (extract) the user asked: Fix the build.",
        "- the agent answered: The cause was a typo. … All tests pass now.",
        "- files changed: src/a.py",
        "- commands that failed: `make test`, `npm ci` (exit 1)",
    ]


@pytest.mark.requirement("journal.capture.extract")
@pytest.mark.parametrize(
    ("answer", "extract"),
    [
        ("缓存迁到了 Redis。测试都通过了。", "缓存迁到了 Redis。测试都通过了。"),
        ("他说「好。」", "他说「好。」"),
        ("第一。第二。第三！", "第一。 … 第三！"),
        ("第一\n第二", "第一 第二"),
        ("One. Two.", "One. Two."),
        ('It said "done." Then it **stopped.**', 'It said "done." Then it **stopped.**'),
        ("One.\n```\ncode\n```\nTwo.", "One. … Two."),
        ("Same.\nSame.", "Same."),
    ],
)
def test_an_extract_marks_an_omission_only_where_something_is_left_out(
    project: Project, answer: str, extract: str
) -> None:
    settle(project, project.session("s1", user("u1", None, "x"), said("a1", "u1", answer)))

    assert bodies(project)[0].split("\n")[1] == f"- the agent answered: {extract}"


@pytest.mark.requirement("journal.capture.off")
def test_capture_can_be_switched_off(project: Project) -> None:
    answer = settle(project, project.talk(), Model(), env={**project.env, "PI_MEMSEARCH_CAPTURE": "off"})

    assert answer["why"] == "capture is off"
    assert not project.store.exists()


@pytest.mark.requirement("journal.capture.bounded")
def test_an_exchange_that_is_too_long_loses_its_middle(project: Project) -> None:
    path, model = project.session("s1", user("u1", None, "a" * 60_000), said("a1", "u1", "b" * 60_000)), Model()

    settle(project, path, model)

    prompt = model.asked[0][2]
    assert len(prompt) == 80_000 + len(exchange.CUT)
    assert prompt[:10_000].endswith("a" * 100)
    assert exchange.CUT in prompt


def test_a_prompt_that_steers_a_run_belongs_to_its_exchange(project: Project) -> None:
    using = entry(
        "a1", "u1", {"role": "assistant", "content": [{"type": "text", "text": "x"}], "stopReason": "toolUse"}
    )
    path = project.session("s1", user("u1", None, "go"), using, user("u2", "a1", "faster"), said("a2", "u2", "done"))

    session = sessions.read(str(path), project.open().context)

    assert [found.last.id for found in exchange.exchanges(session.branch(session.leaf()))] == ["a2"]


def test_the_branch_that_the_host_shows_is_captured(project: Project) -> None:
    from pepys.model.lineage import Live

    path, model = (
        project.session(
            "s1",
            user("u1", None, "go"),
            said("a1", "u1", "left"),
            user("u2", "u1", "other"),
            said("a2", "u2", "right"),
        ),
        Model(),
    )

    settle(project, path, model, live=Live("a1", ("u1", "a1")))

    assert model.asked[0][2] == "[User]\ngo\n\n[Agent]\nleft"


def test_memory_is_captured_exactly_without_masks(project: Project) -> None:
    secret = "ghp_" + "a1B2" * 9
    path, model = project.session("s1", user("u1", None, f"use {secret}"), said("a1", "u1", "ok")), Model(f"- {secret}")

    settle(project, path, model, shown=True)

    assert secret in model.asked[0][2]
    assert bodies(project) == [f"- {secret}"]


def test_the_last_message_of_an_exchange_may_be_a_users_command(project: Project) -> None:
    path = project.session("s1", user("u1", None, "go"), said("a1", "u1", "done"), ran("b1", "a1", "ls", "x"))
    session = sessions.read(str(path), project.open().context)

    (found,) = exchange.exchanges(session.branch(session.leaf()))

    assert isinstance(found, Exchange)
    assert found.last.id == "b1"
