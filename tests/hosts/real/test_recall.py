"""Sessions and events: found by a model's tools in another session, opened, and cut off where the asking begins."""

from __future__ import annotations

import re

import pytest

from tests.hosts.real.machine import Machine, eventually
from tests.hosts.real.model import Call, Request
from tests.hosts.real.steps import DRIVER, MODES, OMP, asked, driven, opened, past
from tests.hosts.real.table import Mode


@pytest.mark.parametrize("mode", MODES)
def test_an_earlier_session_is_recalled_and_a_hit_of_it_opened(machine: Machine, mode: Mode) -> None:
    past(machine, "Why did we leave varnish?", "Because varnish leaked memory under load, about a gigabyte a day.")
    model = machine.model
    model.answers(Call("session_recall", {"query": "varnish gigabyte", "scope": "project"}), asked="remember the cache")
    model.answers(lambda request: opened(request, "session_recall"), after="session_recall")
    model.answers("It leaked memory.", after="session_expand")

    with machine.talk(mode) as conversation:
        shown = conversation.say("Do you remember the cache?")

    assert "It leaked memory." in shown
    assert "leaked memory under load, about a gigabyte a day." in model.turns[-1].result("session_expand")


@pytest.mark.parametrize("mode", MODES)
def test_events_of_other_sessions_are_found_and_read(machine: Machine, mode: Mode) -> None:
    past(machine, "Why does the deploy fail?", "The registry said: connection refused on port 8443.")
    model = machine.model
    model.answers(Call("event_search", {"query": '"connection refused"'}), asked="seen this")
    model.answers(lambda request: opened(request, "event_search"), after="event_search")
    model.answers("It was the registry.", after="event_read")

    with machine.talk(mode) as conversation:
        conversation.say("Have we seen this: connection refused?")

    found = model.turns[-2].result("event_search")
    assert "port 8443" in found
    assert "Have we seen this" not in found  # the caller's own session
    assert "The registry said: connection refused on port 8443." in model.turns[-1].result("event_read")


@pytest.mark.parametrize("mode", MODES)
def test_a_search_of_the_own_session_ends_before_the_call(machine: Machine, mode: Mode) -> None:
    with machine.talk(mode) as conversation:
        conversation.say("The walrus is in the garden.")
        found = asked(conversation, "event_search", {"query": "walrus", "sessionId": "current"})

    hits = [line for line in found.split("\n") if line.startswith("> ")]
    assert hits == ["> The walrus is in the garden."]  # and not the call, which asks for it


def test_a_word_that_nobody_has_said_is_not_found_in_the_call_that_asks_for_it(machine: Machine) -> None:
    with machine.talk("print") as conversation:
        found = asked(conversation, "session_recall", {"query": "zebrafish", "scope": "session"})

    assert found.startswith("No hits.")


def test_a_tool_that_fails_is_an_error_in_the_session(machine: Machine) -> None:
    with machine.talk("print") as conversation:
        told = asked(conversation, "memory_expand", {"chunk_hash": "0" * 16})

    messages = [entry["message"] for entry in machine.entries() if entry.get("type") == "message"]
    (result,) = [message for message in messages if message["role"] == "toolResult"]
    assert told.startswith("Error ")
    assert result["isError"] is True
    assert "pepys" in result["details"]


@pytest.mark.parametrize("mode", ["rpc", "tui"])
def test_recall_follows_the_branch_that_the_conversation_is_on(machine: Machine, mode: Mode) -> None:
    machine.extensions.append(DRIVER)

    with machine.talk(mode) as conversation:
        conversation.say("The heron stands in the pond.")
        before = machine.entries()[-1]["id"]
        conversation.say("The badger sleeps under the shed.")
        there = asked(conversation, "session_recall", {"query": "badger"})
        driven(conversation, tree=before)
        tree = conversation.give("/pepys tree")
        gone = asked(conversation, "session_recall", {"query": "badger"})
        kept = asked(conversation, "session_recall", {"query": "heron"})

    assert re.search(rf"{before}.*\[here\]", tree)  # though nothing in the file says so yet
    assert "> The badger sleeps" in there
    assert "> The badger sleeps" not in gone
    assert "> The heron stands" in kept


def test_what_pepys_told_is_not_found_as_if_it_had_been_said(machine: Machine) -> None:
    past(machine, "Where is the marmot?", "The marmot sits behind the greenhouse.")
    with machine.talk("print") as conversation:
        assert "> The marmot sits" in asked(conversation, "session_recall", {"query": "marmot", "scope": "project"})

    with machine.talk("print") as conversation:
        recalled = asked(conversation, "session_recall", {"query": "marmot greenhouse", "scope": "project"})
        events = asked(conversation, "event_search", {"query": "marmot greenhouse"})
        everything = asked(
            conversation, "session_recall", {"query": "marmot greenhouse", "scope": "project", "includeOwn": True}
        )

    assert "toolResult" not in recalled
    assert "> The marmot sits" in recalled
    assert "toolResult" not in events
    assert "toolResult" in everything


@pytest.mark.parametrize("host", OMP, indirect=True)
def test_a_sub_agent_recalls_and_leaves_no_memory_of_its_own(machine: Machine) -> None:
    past(machine, "Where is the marmot?", "The marmot sits behind the greenhouse.")
    model = machine.model
    model.answers(sent, asked="Send somebody")
    model.answers(Call("session_recall", {"query": "marmot", "scope": "project"}), asked="Look for the animal")
    model.answers("Behind the greenhouse.", after="session_recall")
    before = len(captured(machine))

    with machine.talk("rpc") as conversation:
        conversation.say("Send somebody to look.")
        eventually(lambda: captured(machine)[before:])

    (found,) = [request for request in model.turns if "session_recall" in dict(request.results)]
    assert "> The marmot sits" in found.result("session_recall")
    assert all("Send somebody to look." in request.text for request in captured(machine)[before:])


def sent(request: Request) -> Call:
    """A sub-agent is sent; OMP 18.3 wants a word more."""
    work = {"name": "One", "task": "Look for the animal"}
    items = request.tools["task"]["parameters"]["properties"]["tasks"]["items"]
    more = {"solutionSpace": "all of it"} if "solutionSpace" in items["properties"] else {}
    return Call("task", {"context": "none", "tasks": [{**work, **more}]})


def captured(machine: Machine) -> list[Request]:
    """What a model was given to capture."""
    return [request for request in machine.model.requests if request.aside and "project memory" in request.system]
