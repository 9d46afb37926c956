"""Who may see what: workspaces, the caller's own session, budgets, and coverage that says what was left out."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from pepys.actions import wire
from pepys.errors import EventNotFound, InvalidConfiguration, InvalidEventArgument, SourceUnavailable
from pepys.hosts import reading
from tests.events.shop import Shop, calls, result
from tests.recall.diary import Json, append, user


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    folder = tmp_path / "outside"
    folder.mkdir()
    return folder


@pytest.mark.requirement("events.authorised")
def test_only_sessions_of_the_workspace_are_found(shop: Shop, outside: Path) -> None:
    inner = shop.cwd / "packages" / "core"
    shop.session("here", user("a", None, "needle"))
    shop.session("below", user("b", None, "needle"), cwd=str(inner))
    shop.session("beside", user("c", None, "needle"), cwd=f"{shop.cwd}-2")
    shop.session("away", user("d", None, "needle"), cwd=str(outside))
    shop.session("relative", user("e", None, "needle"), cwd="shop")

    assert sorted(shop.found("needle")) == ["a", "b"]
    assert sorted(shop.found("needle", cwd=str(inner))) == ["b"]
    assert shop.found("needle", cwd=str(outside)) == []


@pytest.mark.requirement("events.authorised")
def test_a_worktree_is_the_workspace_whatever_the_environment_says(shop: Shop, outside: Path) -> None:
    (shop.cwd / ".git").mkdir()
    (shop.cwd / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    deep = shop.cwd / "deep"
    deep.mkdir()
    shop.session("here", user("a", None, "needle"))
    shop.session("away", user("b", None, "needle"), cwd=str(outside))
    env = {"HOME": str(shop.home), "GIT_DIR": str(outside), "GIT_WORK_TREE": str(outside)}

    assert shop.found("needle", context={"cwd": deep, "env": env}) == ["a"]


@pytest.mark.requirement("events.authorised")
def test_configured_roots_are_absolute_and_replace_the_workspace(shop: Shop, outside: Path) -> None:
    shop.session("here", user("a", None, "needle"))
    shop.session("away", user("b", None, "needle"), cwd=str(outside))

    def found(**context: object) -> list[str]:
        return sorted(shop.found("needle", context=context))

    roots = {"events": {"workspaceRoots": [str(outside), str(shop.cwd)]}}
    assert found(config_overrides=roots) == ["a", "b"]
    assert found(workspace_root=outside) == ["b"]
    variable = "PI_EVENT_SEARCH_WORKSPACE_ROOT"
    assert found(env={"HOME": str(shop.home), variable: str(outside)}) == ["b"]
    with pytest.raises(InvalidConfiguration):
        found(env={"HOME": str(shop.home), variable: "outside"})


@pytest.mark.requirement("events.authorised")
@pytest.mark.parametrize("root", ["..", "../..", "rel", "~", "~/shop", " ", "", "."])
def test_the_root_of_a_workspace_is_absolute_wherever_it_is_named(shop: Shop, root: str) -> None:
    shop.session("here", user("a", None, "needle"))

    with pytest.raises(InvalidConfiguration, match="absolute"):
        shop.found("needle", context={"workspace_root": root})
    stated = wire.read_context({"workspaceRoot": root}, shop.cwd, {"HOME": str(shop.home)})
    with pytest.raises(InvalidConfiguration, match="absolute"):
        shop.found("needle", context=stated)


@pytest.mark.requirement("events.authorised.alike")
def test_missing_and_unauthorised_look_the_same(shop: Shop, outside: Path) -> None:
    path = shop.session("away", user("b", None, "needle"), cwd=str(outside))
    shop.session("here", user("a", None, "needle"))

    errors = []
    for session, entry in (("away", "b"), ("nowhere", "b"), (str(path), "b"), ("here", "nowhere")):
        for ask in (shop.read, shop.trace):
            with pytest.raises(EventNotFound) as caught:
                ask(session, entry)
            errors.append(caught.value.as_json())
    for session in ("away", "nowhere", str(path)):
        with pytest.raises(EventNotFound) as caught:
            shop.search("needle", sessionId=session)
        errors.append(caught.value.as_json())

    assert errors == [{"code": "NOT_FOUND", "message": "Session or entry not found."}] * len(errors)


@pytest.mark.requirement("events.authorised")
def test_without_any_session_that_may_be_seen_nothing_is_found(shop: Shop) -> None:
    page = shop.search("needle")

    assert (page["hits"], page["coverage"]["state"], page["coverage"]["discoveredSessions"]) == ([], "ready", 0)


# The caller's own session


def invoking(shop: Shop) -> Path:
    """A session whose last message holds two calls, the first of which has a result already."""
    return shop.session(
        "own",
        user("a", None, "needle one"),
        calls("b", "a", ("c1", "bash", {"command": "needle"}), ("c2", "event_search", {"query": "needle"})),
        result("r", "b", "c1", "bash", "needle found"),
    )


def append_later(shop: Shop, *entries: Json) -> None:
    append(shop.folder(str(shop.cwd)) / "own.jsonl", *entries)


@pytest.mark.requirement("events.current.excluded")
def test_the_callers_own_session_is_left_out_unless_it_is_named(shop: Shop) -> None:
    invoking(shop)
    shop.session("other", user("x", None, "needle"))
    cut = {"current_session_id": "own", "tool_call_id": "c2"}

    assert shop.found("needle", context=cut) == ["x"]
    assert shop.found("needle", context=cut, sessionId="current") == ["a"]
    assert shop.found("needle", context=cut, sessionId="own") == ["a"]
    assert shop.found("needle", context={"session_file": invoking(shop), "tool_call_id": "c2"}) == ["x"]


@pytest.mark.requirement("events.current.cutoff")
def test_the_event_that_holds_the_call_and_all_after_it_are_cut_off(shop: Shop) -> None:
    invoking(shop)
    cut = {"current_session_id": "own", "tool_call_id": "c2", "invocation_entry_id": "r"}

    for entry in ("b", "r"):
        with pytest.raises(EventNotFound):
            shop.read("own", entry, context=cut)
    event = shop.read("own", "a", context=cut, after=5)
    assert event["neighbors"]["after"] == []
    assert shop.trace("own", "a", context=cut)["children"] == []
    # A result that came first does not show the message whose other call this is.
    assert shop.found("needle", context={**cut, "tool_call_id": None}, sessionId="own") == ["a"]


@pytest.mark.requirement("events.current.cutoff")
@pytest.mark.parametrize("made", ["c2/1", "c2/2/1", "c2/10/3/4"])
def test_what_a_program_calls_is_cut_off_where_the_program_was_called(shop: Shop, made: str) -> None:
    invoking(shop)
    append_later(shop, user("z", "r", "needle"))
    cut = {"current_session_id": "own", "tool_call_id": made}

    assert shop.found("needle", context=cut, sessionId="own") == ["a"]


@pytest.mark.requirement("events.current.cutoff")
@pytest.mark.parametrize(
    "unknown",
    [{"tool_call_id": "c9"}, {"tool_call_id": "c9/1"}, {"tool_call_id": "c2/x"}, {"invocation_entry_id": "zz"}],
    ids=str,
)
def test_a_call_that_is_not_in_the_file_may_be_of_the_message_that_waits_for_results(shop: Shop, unknown: Json) -> None:
    invoking(shop)
    cut = {"current_session_id": "own", **unknown}

    assert shop.found("needle", context=cut, sessionId="own") == ["a"]
    append_later(shop, result("s", "r", "c2", "event_search", "needle"))
    assert sorted(shop.found("needle", context=cut, sessionId="own", includeOwn=True)) == ["a", "b", "r", "s"]


@pytest.mark.requirement("events.current.cutoff")
def test_a_message_that_waits_in_vain_since_a_crash_cuts_nothing_off(shop: Shop) -> None:
    invoking(shop)
    append_later(shop, user("z", "b", "needle"))
    cut = {"current_session_id": "own", "tool_call_id": "c9"}

    assert sorted(shop.found("needle", context=cut, sessionId="own")) == ["a", "b", "r", "z"]


@pytest.mark.requirement("events.current.cutoff")
def test_what_another_process_appends_meanwhile_does_not_show_the_message_that_waits(shop: Shop) -> None:
    invoking(shop)
    append_later(shop, user("z", "a", "needle"))
    cut = {"current_session_id": "own", "tool_call_id": "c9"}

    assert shop.found("needle", context=cut, sessionId="own") == ["a"]


@pytest.mark.requirement("events.current.cutoff")
def test_by_hand_everything_is_older_but_a_message_that_waits(shop: Shop) -> None:
    invoking(shop)
    by_hand = {"current_session_id": "own", "by_hand": True}

    assert shop.found("needle", context=by_hand, sessionId="current") == ["a"]
    append_later(shop, result("s", "r", "c2", "bash", "needle"))
    assert sorted(shop.found("needle", context=by_hand, sessionId="current")) == ["a", "b", "r", "s"]


@pytest.mark.requirement("events.current.unknown")
def test_without_a_known_session_or_cutoff_the_callers_own_cannot_be_asked_for(shop: Shop) -> None:
    invoking(shop)

    with pytest.raises(InvalidEventArgument, match='"current" session is not available') as unknown:
        shop.search("needle", sessionId="current")
    with pytest.raises(InvalidEventArgument, match="requires an invocation cutoff"):
        shop.search("needle", sessionId="current", context={"current_session_id": "own"})
    assert unknown.value.code == "INVALID_ARGUMENT"
    assert "current_session_unknown" in shop.search("needle")["coverage"]["reasons"]


# Discovery and budgets


@pytest.mark.requirement("events.discovery")
def test_configured_folders_are_searched_and_grant_nothing(shop: Shop, outside: Path) -> None:
    archive = shop.home / "archive"
    shop.session("old", user("a", None, "needle"), folder=archive)
    shop.session("foreign", user("b", None, "needle"), folder=archive, cwd=str(outside))

    context = {"config_overrides": {"events": {"sessionDirs": [str(archive)]}}}

    assert shop.found("needle") == []
    assert shop.found("needle", context=context) == ["a"]


@pytest.mark.requirement("events.budgets")
@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({}, ["a", "b", "c"]),
        ({"PI_EVENT_SEARCH_STARTUP_FILE_LIMIT": "2"}, ["b", "c"]),
        ({"PI_EVENT_SEARCH_STARTUP_FILE_LIMIT": "0"}, []),
        ({"PI_EVENT_SEARCH_STARTUP_FILE_LIMIT": "unlimited"}, ["a", "b", "c"]),
        ({"PI_EVENT_SEARCH_STARTUP_FILE_LIMIT": "many"}, ["a", "b", "c"]),
        ({"PI_EVENT_SEARCH_STARTUP_BUDGET_MB": "0.01"}, ["a", "c"]),
    ],
    ids=str,
)
def test_budgets_take_the_newest_sessions_and_pass_over_what_is_too_large(
    shop: Shop, variables: dict[str, str], expected: list[str]
) -> None:
    for name, text in (("a", "needle"), ("b", "needle " + "x" * 20_000), ("c", "needle")):
        shop.session(name, user(name, None, text))

    page = shop.search("needle", context={"env": {"HOME": str(shop.home), **variables}})

    assert sorted(hit["entryId"] for hit in page["hits"]) == expected
    left_out = 3 - len(expected)
    assert page["coverage"].get("skippedSessions", 0) == left_out
    assert page["coverage"]["state"] == ("partial" if left_out else "ready")
    assert {one["reason"] for one in page["coverage"].get("skipped", ())} == ({"startup_budget"} if left_out else set())


# Coverage


@pytest.mark.requirement("events.coverage")
def test_coverage_is_ready_when_everything_was_read(shop: Shop) -> None:
    shop.session("one", user("a", None, "needle"))

    coverage = shop.search("needle", context={"current_session_id": "none"})["coverage"]

    reconciled = coverage.pop("lastReconciled")
    assert coverage == {"state": "ready", "indexedSessions": 1, "discoveredSessions": 1, "reasons": []}
    assert reconciled.endswith("Z")


@pytest.mark.requirement("events.coverage")
def test_a_first_index_that_is_not_done_is_catching_up(shop: Shop) -> None:
    for at in range(4):
        shop.session(f"s{at}", user("a", None, "needle"))

    page = shop.search("zebra", context={"patience_s": 0.0})

    assert page["coverage"]["state"] == "catching-up"
    assert page["coverage"]["discoveredSessions"] == 4
    assert page["coverage"]["lastReconciled"] is None
    assert {one["reason"] for one in page["coverage"]["skipped"]} == {"catching_up"}


CATCHING_UP: Json = {"patience_s": 0.0}


@pytest.mark.requirement("events.coverage")
@pytest.mark.parametrize("named", ["id", "path", "stem"])
def test_a_session_that_is_named_is_read_while_the_index_catches_up(shop: Shop, named: str) -> None:
    path = shop.session("first", user("a", None, "needle"), id_="wanted")
    for at in range(4):
        shop.session(f"s{at}", user("b", None, "needle"))
    session = {"id": "wanted", "path": str(path), "stem": "first"}[named]

    assert shop.found("needle", sessionId=session, context=CATCHING_UP) == ["a"]
    (shop.home / "index").rename(shop.home / "used")
    assert shop.read(session, "a", context=CATCHING_UP)["entryId"] == "a"
    (shop.home / "index").rename(shop.home / "used again")
    assert shop.trace(session, "a", context=CATCHING_UP)["target"]["entryId"] == "a"


@pytest.mark.requirement("events.current.cutoff")
@pytest.mark.parametrize("known", ["current_session_id", "session_file"])
def test_the_callers_own_session_is_read_while_the_index_catches_up(shop: Shop, known: str) -> None:
    path = invoking(shop)
    for at in range(4):
        shop.session(f"s{at}", user("b", None, "needle"))
    context = {**CATCHING_UP, "tool_call_id": "c2", known: "own" if known == "current_session_id" else path}

    assert shop.found("needle", sessionId="current", context=context) == ["a"]


@pytest.mark.requirement("events.coverage")
def test_what_was_appended_to_a_named_session_is_read_while_the_index_catches_up(shop: Shop) -> None:
    path = shop.session("wanted", user("a", None, "needle"))
    time.sleep(0.05)
    shop.search("needle")
    append(path, user("b", "a", "needle"))
    os.utime(path, (1, 1))  # the oldest is read last
    for at in range(4):
        shop.session(f"s{at}", user("c", None, "needle"))

    assert sorted(shop.found("needle", sessionId="wanted", context=CATCHING_UP)) == ["a", "b"]


@pytest.mark.requirement("events.authorised.alike")
def test_while_the_index_catches_up_other_workspaces_are_neither_shown_nor_counted(shop: Shop, outside: Path) -> None:
    away = shop.session("away", user("z", None, "needle"), cwd=str(outside))
    for at in range(4):
        shop.session(f"away{at}", user("z", None, "needle"), cwd=str(outside))
    shop.session("early", user("a", None, "needle"))
    shop.session("late", user("b", None, "needle"))

    coverage = shop.search("needle", context=CATCHING_UP)["coverage"]

    assert (coverage["discoveredSessions"], coverage["skippedSessions"]) == (2, 1)
    assert coverage["skipped"][0]["sessionId"] == "early"
    for session in ("away", str(away)):
        (shop.home / "index").rename(shop.home / f"used {len(session)}")
        with pytest.raises(EventNotFound):
            shop.read(session, "z", context=CATCHING_UP)


@pytest.mark.requirement("events.coverage")
@pytest.mark.parametrize("context", [{}, CATCHING_UP], ids=["indexed", "catching up"])
def test_sessions_whose_header_is_damaged_are_counted_and_not_shown(shop: Shop, context: Json) -> None:
    path = shop.session("one", user("a", None, "needle"))
    path.write_bytes(b'{"type": "session", "id"' + path.read_bytes()[30:])
    for name in ("two", "three"):
        shop.session(name, user("b", None, "needle"))

    page = shop.search("zebra", context=context)

    assert page["coverage"]["state"] == ("partial" if not context else "catching-up")
    assert {"sessions": 1, "reason": "workspace_unknown"} in page["coverage"]["skipped"]
    assert "workspace_unknown" in page["coverage"]["reasons"]
    assert str(path) not in str(page)


@pytest.mark.requirement("events.coverage")
def test_skipped_sessions_are_named_if_the_caller_may_see_them(shop: Shop, outside: Path) -> None:
    paths = [shop.session(name, user("a", None, "needle")) for name in ("one", "two")]
    shop.session("away", user("a", None, "needle"), cwd=str(outside))
    env = {"HOME": str(shop.home), "PI_EVENT_SEARCH_STARTUP_FILE_LIMIT": "0"}

    coverage = shop.search("needle", context={"env": env})["coverage"]

    assert [one["file"] for one in coverage["skipped"]] == [str(path) for path in paths]
    assert str(outside) not in str(coverage) and "away" not in str(coverage)


@pytest.mark.requirement("events.coverage.cold")
def test_cold_sessions_are_not_searched_unless_they_are_named_and_coverage_says_so(shop: Shop) -> None:
    shop.session("old", user("a", None, "needle"))
    shop.session("new", user("b", None, "needle"))
    context = {"config_overrides": {"memory": {"hotSessions": 1}}}
    time.sleep(0.05)  # files as young as the clock's tick are read once more, whatever their tier

    page = shop.search("needle", context=context)

    assert [hit["entryId"] for hit in page["hits"]] == ["b"]
    assert (page["coverage"]["state"], page["coverage"]["skipped"][0]["sessionId"]) == ("partial", "old")
    assert "cold_session" in page["coverage"]["reasons"]
    assert shop.found("needle", sessionId="old", context=context) == ["a"]
    assert shop.read("old", "a", context=context)["entryId"] == "a"


@pytest.mark.requirement("events.coverage")
def test_damage_and_torn_tails_are_partial_and_whole_records_are_served(shop: Shop) -> None:
    path = shop.session("one", user("a", None, "needle"))
    with path.open("ab") as file:
        file.write(b"\0\0\0\n{broken\n")
    append(path, user("b", "a", "needle"))
    with path.open("ab") as file:
        file.write(b'{"type": "message", "id": "c"')

    page = shop.search("needle")

    assert sorted(hit["entryId"] for hit in page["hits"]) == ["a", "b"]
    assert page["coverage"]["state"] == "partial"
    assert page["coverage"]["diagnostics"] == {"malformed_record": 1, "nul_run": 1, "torn_tail": 1}


@pytest.mark.requirement("events.coverage")
def test_without_an_index_events_are_scanned(shop: Shop) -> None:
    shop.session(
        "one", calls("a", None, ("c1", "bash", {"command": "needle_thread"})), result("r", "a", "c1", "bash", "x")
    )
    blocked = shop.home / "blocked"
    blocked.write_text("a file where a directory should be")
    context: Json = {"index_dir": blocked}

    page = shop.search("thread", context=context)

    assert [hit["entryId"] for hit in page["hits"]] == ["a"]
    assert "index_unavailable" in page["coverage"]["reasons"]
    assert shop.related("one", "a", context=context) == [("tool-result-for", "one/r", "one/a", True)]


@pytest.mark.requirement("events.sources_only_read")
def test_nothing_is_written_beside_the_sessions(shop: Shop) -> None:
    path = shop.session("one", user("a", None, "needle"))
    before = (path.read_bytes(), sorted(os.listdir(path.parent)))

    shop.search("needle")
    shop.read("one", "a")
    shop.trace("one", "a")

    assert (path.read_bytes(), sorted(os.listdir(path.parent))) == before


@pytest.mark.requirement("events.current.cutoff")
def test_what_is_cut_off_is_not_counted_either(shop: Shop) -> None:
    invoking(shop)
    cut = {"current_session_id": "own", "tool_call_id": "c2"}

    why = shop.search("needle found", context=cut, sessionId="own")["why"]

    assert [(one["term"], one["events"]) for one in why["terms"]] == [("needle", 1), ("found", 0)]


@pytest.mark.requirement("events.authorised")
def test_sessions_of_sub_agents_are_searched_if_asked_for_and_counted_if_not(shop: Shop) -> None:
    folder = shop.home / "omp" / "sessions" / "project"
    shop.session("main", user("a", None, "needle"), folder=folder)
    shop.session("worker", user("b", None, "needle"), folder=folder / "main")
    context: Json = {"host": "omp", "agent_dir": shop.home / "omp"}

    page, asked = shop.search("needle", context=context), shop.search("needle", context=context, subagents=True)

    assert [hit["entryId"] for hit in page["hits"]] == ["a"]
    assert page["coverage"]["subagentSessionsLeftOut"] == 1
    assert sorted(hit["entryId"] for hit in asked["hits"]) == ["a", "b"]
    assert shop.found("needle", context=context, sessionId="worker") == ["b"]


@pytest.mark.requirement("events.coverage")
def test_a_named_session_that_is_too_large_to_be_read_beside_the_index_is_not_missing(
    shop: Shop, outside: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop.session("wanted", user("a", None, "needle " * 100))
    shop.session("away", user("a", None, "needle " * 100), cwd=str(outside))
    for at in range(3):
        shop.session(f"s{at}", user("b", None, "needle"))
    monkeypatch.setattr("pepys.index.overlay.SCAN_BYTES", 100)

    with pytest.raises(SourceUnavailable, match="not in the index yet"):
        shop.search("needle", sessionId="wanted", context=CATCHING_UP)
    with pytest.raises(EventNotFound):
        shop.search("needle", sessionId="away", context=CATCHING_UP)


@pytest.mark.requirement("events.coverage")
def test_sessions_that_cannot_be_read_are_counted_as_such(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    path = shop.session("one", user("a", None, "needle"))
    opened = reading.open_source

    def refused(name: str) -> object:
        if name == str(path):
            raise PermissionError(name)
        return opened(name)

    monkeypatch.setattr(reading, "open_source", refused)

    coverage = shop.search("needle")["coverage"]

    assert coverage["state"] == "error"
    assert coverage["skipped"] == [{"sessions": 1, "reason": "source_unavailable"}]
