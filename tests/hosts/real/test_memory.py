"""Daily memory: captured from what was said, put before the model, kept the same, and forgotten."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.hosts.real.machine import Machine, eventually
from tests.hosts.real.model import Reply
from tests.hosts.real.steps import DRIVER, MODES, asked, driven
from tests.hosts.real.table import Mode


def store(machine: Machine) -> Path:
    return machine.project / ".memsearch" / "memory"


def written(machine: Machine) -> str:
    """All of daily memory."""
    return "".join(path.read_text() for path in sorted(store(machine).glob("*.md")))


def remembered(machine: Machine, *bullets: str, days_ago: int = 0) -> None:
    """Daily memory of a day, as another session left it."""
    store(machine).mkdir(parents=True)
    entries = [f"### 00:0{minute}\n- {bullet}\n" for minute, bullet in enumerate(bullets, 1)]
    day = store(machine) / f"{datetime.now(UTC) - timedelta(days_ago):%Y-%m-%d}.md"
    day.write_text("\n".join(["## Session 00:00\n", *entries]))


@pytest.mark.parametrize("mode", MODES)
def test_what_was_said_is_captured_through_the_cheapest_model(machine: Machine, mode: Mode) -> None:
    machine.model.answers("- the user and the agent moved the hot cache to Redis", aside=True)

    with machine.talk(mode) as conversation:
        conversation.say("Let us move the hot cache to Redis.")

    captured = eventually(lambda: written(machine), 5)
    assert "- the user and the agent moved the hot cache to Redis" in captured
    assert str(machine.sessions()[-1]) in captured
    (aside,) = [request for request in machine.model.requests if request.aside]
    assert aside.body["model"].endswith("-mini")
    assert "Let us move the hot cache to Redis." in aside.text


def test_a_project_that_nobody_was_asked_about_configures_nothing(machine: Machine) -> None:
    (machine.project / ".pepys.toml").write_text("[journal]\ncapture = false\n")
    machine.model.answers("- the user keeps bees", aside=True)

    with machine.talk("print") as conversation:
        conversation.say("I keep bees.")

    assert "the user keeps bees" in eventually(lambda: written(machine), 5)


@pytest.mark.parametrize("mode", MODES)
def test_a_model_that_fails_leaves_a_marker_in_daily_memory(machine: Machine, mode: Mode) -> None:
    machine.model.answers(Reply(""), aside=True)

    with machine.talk(mode) as conversation:
        conversation.say("Let us move the hot cache to Redis.")

    captured = eventually(lambda: written(machine), 5)
    assert "distillation failed" in captured
    assert str(machine.sessions()[-1]) in captured


@pytest.mark.parametrize("settings", [{"compaction": {"keepRecentTokens": 1}}], ids=[""])
@pytest.mark.parametrize("mode", ["rpc", "tui"])
def test_the_snapshot_stays_the_same_until_a_compaction(machine: Machine, mode: Mode) -> None:
    remembered(machine, "the user keeps bees")
    machine.extensions.append(DRIVER)
    machine.model.answers("- the user sold the bees", aside=True)

    with machine.talk(mode) as conversation:
        for prompt in ("One.", "Two.", "Three."):
            conversation.say(prompt + " word" * 60)  # hosts refuse to compact next to nothing
        eventually(lambda: "sold the bees" in written(machine))
        conversation.say("Four.")
        driven(conversation, compact=True)
        conversation.say("Five.")

    *before, after = [request.system for request in machine.model.turns]
    assert len(set(before)) == 1
    assert "the user keeps bees" in before[0]
    assert "sold the bees" not in before[0]
    assert "sold the bees" in after


@pytest.mark.parametrize("mode", MODES)
def test_memory_that_fits_stands_beside_the_prompt_once(machine: Machine, mode: Mode) -> None:
    machine.env["PI_MEMSEARCH_AUTO_CONTEXT"] = "on"
    machine.env["PI_MEMSEARCH_CAPTURE"] = "off"
    remembered(machine, "the staging database listens on port 6432 behind pgbouncer", days_ago=9)  # not in the snapshot
    # The search beside the prompt has 300 ms: the index is made first.
    assert machine.run(*json.loads(machine.env["PEPYS_COMMAND"]), "journal", "search", "staging").returncode == 0

    with machine.talk(mode) as conversation:
        conversation.say("Which port does the staging database listen on?")
        conversation.say("And the staging database behind pgbouncer, which port?")

    first, second = machine.model.turns[0], machine.model.turns[-1]
    assert any("6432" in text and "Which port" not in text for text in first.asked)
    assert second.text.count("port 6432 behind pgbouncer") == 1


@pytest.mark.parametrize("mode", MODES)
def test_what_is_forgotten_is_gone_from_the_file_and_from_the_prompt(machine: Machine, mode: Mode) -> None:
    remembered(machine, "the user keeps bees", "the user likes marzipan")
    machine.env["PI_MEMSEARCH_CAPTURE"] = "off"

    with machine.talk(mode) as conversation:
        found = asked(conversation, "memory_search", {"query": "marzipan"})
        chunk = re.search(r"\b[0-9a-f]{16}\b", found)
        assert chunk, found
        asked(conversation, "memory_forget", {"chunk_hash": chunk[0]})
        conversation.say("What do you know?")

    assert "marzipan" not in written(machine)
    assert "keeps bees" in written(machine)
    assert "marzipan" in machine.model.turns[0].system
    assert "marzipan" not in machine.model.turns[-1].system
    assert "keeps bees" in machine.model.turns[-1].system
