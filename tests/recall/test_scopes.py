"""Which sessions a call is about (spec 1, "Scopes"), and what the live session adds."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any

import pytest

from pepys.errors import InvalidArgument, PepysError
from pepys.model.lineage import Live
from tests.recall.diary import Diary, append, following, ids, line, user


@pytest.mark.parametrize(
    "scope", ["everything", "sessions", "session:", "session:  ", "project:x", "", "  ", "global x"]
)
def test_a_scope_that_does_not_exist_is_an_error_and_not_a_guess(diary: Diary, scope: str) -> None:
    diary.talk("one", "word")

    with pytest.raises(InvalidArgument, match="Unknown scope"):
        diary.recall("word", scope=scope or " ")


@pytest.mark.parametrize(
    ("spelled", "scope"),
    [(" project ", "project"), ("PROJECT", "project"), ("cwd", "project"), ("repo", "project"), ("all", "global"),
     ("current", "session"), ("Session", "session")],
)  # fmt: skip
def test_spellings_that_models_use_are_understood(diary: Diary, spelled: str, scope: str) -> None:
    diary.talk("one", "word")
    diary.talk("two", "word", cwd="/srv/other")
    diary.talk("three", "word")

    assert diary.recall("word", scope=spelled)["hits"] == diary.recall("word", scope=scope)["hits"]


@pytest.mark.requirement("scope.global_explicit")
def test_the_default_scope_is_the_session(diary: Diary) -> None:
    diary.talk("one", "word")
    diary.talk("two", "word")

    page = diary.call("memory.recall", {"query": "word"})

    assert ids(page) == ["two-0"]


@pytest.mark.requirement("scope.one_session")
@pytest.mark.parametrize("name", ["id", "stem", "path", "relative", "home"])
def test_a_session_is_named_by_its_id_its_files_stem_or_its_path(diary: Diary, name: str) -> None:
    path = diary.talk("stem", "word", id_="the-id")
    diary.talk("other", "word")
    names = {
        "id": "the-id",
        "stem": "stem",
        "path": str(path),
        "relative": os.path.relpath(path, "/srv/shop"),
        "home": "~/" + str(path.relative_to(diary.home)),
    }

    page = diary.recall("word", scope=f"session:{names[name]}")
    expanded = diary.expand(session=names[name], indices=[0])

    assert ids(page) == ["stem-0"]
    assert expanded["session"] == str(path)


def test_a_name_in_front_of_the_home_sign_is_taken_from_the_calls_environment(
    diary: Diary, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = diary.talk("one", "word")
    monkeypatch.setenv("HOME", "/nowhere")

    page = diary.recall("word", scope="session:~/" + str(path.relative_to(diary.home)))

    assert page["total"] == 1


def test_a_file_outside_of_every_root_can_be_named(diary: Diary) -> None:
    path = diary.talk("inside", "word").rename(diary.home / "outside.jsonl")

    page = diary.recall("word", scope=f"session:{path}")

    assert ids(page) == ["inside-0"]
    assert diary.follow(page["hits"][0])["entries"][0]["text"] == "word"
    assert diary.recall("word", scope="global")["total"] == 0


@pytest.mark.parametrize(
    "session", ["nobody", "/no/such/file.jsonl", "missing.jsonl", "a b\x00c", "/a\x00b", "-", "~", "/"]
)
def test_a_session_that_does_not_exist_is_no_empty_answer(diary: Diary, session: str) -> None:
    diary.talk("one", "word")

    page = diary.recall("word", scope=f"session:{session}")

    assert (page["total"], page["hits"], page["next"]) == (0, [], None)
    assert page["error"]["code"] == "session_not_found"
    assert page["coverage"]["complete"] is False
    with pytest.raises(PepysError) as refused:
        diary.expand(session=session)
    assert refused.value.code == "session_not_found"


@pytest.mark.requirement("scope.ambiguous")
@pytest.mark.parametrize("action", ["memory.expand", "memory.sessions"])
def test_an_ambiguous_session_lists_its_candidates_everywhere(diary: Diary, action: str) -> None:
    files = sorted(
        str(diary.talk(name, "word", id_="same", cwd=cwd)) for name, cwd in (("a", "/srv/x"), ("b", "/srv/y"))
    )
    args = {"session": "same"} if action == "memory.expand" else {"scope": "session:same"}

    with pytest.raises(PepysError) as refused:
        diary.call(action, args)

    body = refused.value.as_json()
    assert (body["code"], body["session"], body["candidates"]) == ("ambiguous_session", "same", files)


def test_ambiguous_stems_list_their_candidates_too(diary: Diary) -> None:
    files = sorted(str(diary.talk("stem", "word", id_=id_, cwd=f"/srv/{id_}")) for id_ in ("a", "b"))

    page = diary.recall("word", scope="session:stem")

    assert page["error"]["candidates"] == files


def test_a_path_settles_an_ambiguous_id(diary: Diary) -> None:
    one, _ = (diary.talk(name, name, id_="same") for name in ("a", "b"))

    page = diary.recall("a", scope=f"session:{one}")

    assert ids(page) == ["a-0"]
    assert diary.expand(session=str(one), indices=[0])["entries"][0]["text"] == "a"


@pytest.mark.requirement("scope.project")
@pytest.mark.parametrize("cwd", ["/a/b-c", "/a/b/c"])
def test_projects_that_share_a_folder_are_told_apart_by_the_header(diary: Diary, cwd: str) -> None:
    diary.talk("dashed", "word", cwd="/a/b-c")
    diary.talk("nested", "word", cwd="/a/b/c")

    page = diary.recall("word", scope="project", cwd=cwd)

    assert ids(page) == ["dashed-0" if cwd == "/a/b-c" else "nested-0"]
    assert page["coverage"]["eligibleSessions"] == 1


def test_a_flat_folder_is_split_into_projects_by_the_header(diary: Diary) -> None:
    flat = diary.home / "flat"
    diary.talk("here", "word", folder=flat)
    diary.talk("there", "word", folder=flat, cwd="/srv/other")
    env = {"HOME": str(diary.home), "PI_CODING_AGENT_DIR": str(diary.agent), "PI_CODING_AGENT_SESSION_DIR": str(flat)}

    with diary.open(env=env, agent_dir=None) as workspace:
        project = workspace.call("memory.recall", {"query": "word", "scope": "project"})
        everything = workspace.call("memory.recall", {"query": "word", "scope": "global"})

    assert ids(project) == ["here-0"]
    assert sorted(ids(everything)) == ["here-0", "there-0"]


def test_more_session_folders_are_searched_whether_nested_or_flat(diary: Diary) -> None:
    more = diary.home / "more"
    diary.talk("flat", "word", folder=more)
    diary.talk("nested", "word", folder=more / "--srv-shop--")
    diary.talk("usual", "word")

    with diary.open(session_dirs=[more]) as workspace:
        project = workspace.call("memory.recall", {"query": "word", "scope": "project"})
        session = workspace.call("memory.recall", {"query": "word", "scope": "session:flat"})

    assert sorted(ids(project)) == ["flat-0", "nested-0", "usual-0"]
    assert ids(session) == ["flat-0"]


def test_links_and_other_files_are_no_sessions(diary: Diary) -> None:
    path = diary.talk("one", "word")
    path.with_name("link.jsonl").symlink_to(path)
    path.with_name("notes.txt").write_bytes(path.read_bytes())
    path.with_name("copy.jsonl.bak").write_bytes(path.read_bytes())
    (path.parent / "deeper").mkdir()
    (path.parent / "deeper" / "two.jsonl").write_bytes(path.read_bytes())

    page = diary.recall("word")

    assert page["coverage"]["eligibleSessions"] == 1


def test_a_session_without_header_is_named_by_its_stem(diary: Diary) -> None:
    diary.file(diary.folder() / "bare.jsonl", line(user("a", None, "word")).encode())

    page = diary.recall("word", scope="session:bare")

    assert page["hits"][0]["sessionId"] == "bare"
    assert page["coverage"]["diagnostics"] == {"missing_header": 1}
    assert page["coverage"]["complete"]


# The current session


@pytest.mark.requirement("scope.session_current")
def test_the_current_session_is_the_hosts_file_wherever_it_lies(diary: Diary) -> None:
    path = diary.talk("one", "word", folder=diary.home / "elsewhere")
    diary.talk("newer", "word")

    page = diary.recall("word", scope="session", session_file=path)

    assert ids(page) == ["one-0"]
    assert page["coverage"]["reasons"] == []


@pytest.mark.parametrize("name", ["odd name", "noext", "odd.txt"])
def test_a_current_file_of_any_name_can_be_followed_and_paged(diary: Diary, name: str) -> None:
    path = diary.talk("one", "word", "word").rename(diary.home / name)

    with diary.open(session_file=path) as workspace:
        answers = list(following(workspace, "memory.recall", {"query": "word", "pageSize": 1}))
        texts = [workspace.call(page["hits"][0]["follow"])["entries"][0]["text"] for page in answers]

    assert texts == ["word", "word"]


def test_the_current_session_may_be_known_by_its_id_alone(diary: Diary) -> None:
    diary.talk("one", "word")
    diary.talk("newer", "word")

    with diary.open(current_session_id="one") as workspace:
        page = workspace.call("memory.recall", {"query": "word"})

    assert ids(page) == ["one-0"]
    assert page["coverage"]["reasons"] == []


@pytest.mark.requirement("scope.session_newest")
def test_an_unknown_current_session_is_the_newest_of_the_project_and_says_so(diary: Diary) -> None:
    diary.talk("one", "word")
    diary.talk("two", "word")
    diary.talk("elsewhere", "word", cwd="/srv/other")

    page = diary.recall("word", scope="session")

    assert ids(page) == ["two-0"]
    assert page["coverage"]["reasons"] == ["current_session_unknown"]
    assert page["coverage"]["complete"]


def test_a_current_file_that_is_not_written_yet_is_no_proof_of_absence(diary: Diary) -> None:
    page = diary.recall("word", scope="session", session_file=diary.folder() / "later.jsonl")

    assert page["total"] == 0
    assert page["coverage"]["complete"] is False
    assert page["coverage"]["reasons"] == ["source_unavailable"]


@pytest.mark.parametrize("scope", ["session", "project"])
def test_a_project_without_sessions_says_that_it_has_none(diary: Diary, scope: str) -> None:
    diary.talk("elsewhere", "word", cwd="/srv/other")

    page = diary.recall("word", scope=scope)

    assert page["total"] == 0
    assert page["coverage"]["reasons"] == ["project_session_dir_missing"]
    assert page["coverage"]["complete"] is False


# Branches


@pytest.fixture
def forked(diary: Diary) -> Path:
    return diary.session(
        "fork", user("a", None, "idea root"), user("b", "a", "idea left"), user("c", "a", "idea right")
    )


@pytest.mark.requirement("branches.default_active", "branches.hits", "branches.follow_keeps_mode")
@pytest.mark.parametrize("scope", ["session", "project", "global", "session:fork"])
def test_an_abandoned_sibling_is_left_out_in_every_scope(diary: Diary, forked: Path, scope: str) -> None:
    active, every = diary.recall("idea", scope=scope), diary.recall("idea", scope=scope, branches="all")

    assert [(hit["entryId"], hit["index"]) for hit in sorted(active["hits"], key=lambda hit: str(hit["index"]))] == [
        ("a", 0),
        ("c", 1),
    ]
    assert (active["total"], every["total"]) == (2, 3)
    assert {hit["follow"]["args"]["branches"] for hit in every["hits"]} == {"all"}


def fingerprint(branches: str, leaf: str | None, *path: str) -> str:
    compact = (
        f'{{"branches":"{branches}","leafId":{json.dumps(leaf)},"ids":{json.dumps(list(path)).replace(", ", ",")}}}'
    )
    return hashlib.sha256(compact.encode()).hexdigest()


@pytest.mark.requirement("lineage.fingerprint", "lineage.hash_covers_all")
def test_the_fingerprint_is_over_mode_leaf_and_path_from_root_to_leaf(diary: Diary, forked: Path) -> None:
    active, every = diary.expand(session="fork"), diary.expand(session="fork", branches="all")

    assert active["lineageFingerprint"] == fingerprint("active", "c", "a", "c")
    assert every["lineageFingerprint"] == fingerprint("all", None)
    assert active["sourceHash"] == every["sourceHash"] == hashlib.sha256(forked.read_bytes()).hexdigest()


@pytest.mark.requirement("branches.live_every_action", "branches.live_navigation")
@pytest.mark.parametrize("action", ["memory.recall", "memory.sessions", "memory.expand"])
def test_every_action_sees_where_the_live_session_stands_without_an_append(
    diary: Diary, forked: Path, action: str
) -> None:
    args: dict[str, Any] = {
        "memory.recall": {"query": "idea", "scope": "session"},
        "memory.sessions": {"scope": "session"},
        "memory.expand": {"session": "fork"},
    }[action]

    with diary.open(session_file=forked, live=Live("b", ("a", "b", "not-written-yet"))) as workspace:
        answer = workspace.call(action, args)

    shown = {
        "memory.recall": lambda: answer["hits"][0]["follow"]["args"]["expectedLineageFingerprint"],
        "memory.sessions": lambda: answer["sessions"][0]["lineageFingerprint"],
        "memory.expand": lambda: answer["lineageFingerprint"],
    }[action]()
    assert shown == fingerprint("active", "b", "a", "b", "not-written-yet")


@pytest.mark.requirement("stale.navigation")
def test_navigation_makes_a_pointer_stale_although_nothing_was_written(diary: Diary, forked: Path) -> None:
    with diary.open(session_file=forked) as workspace:
        hit = workspace.call("memory.recall", {"query": "right"})["hits"][0]

    with diary.open(session_file=forked, live=Live("b", ("a", "b"))) as workspace, pytest.raises(PepysError) as refused:
        workspace.call(hit["follow"])

    body = refused.value.as_json()
    assert body["code"] == "stale_pointer"
    assert body["expectedLineageFingerprint"] != body["actualLineageFingerprint"]
    assert body["expectedSourceHash"] == body["actualSourceHash"]
    assert "lineage" in str(body["message"])


def test_a_live_branch_speaks_of_its_own_session_only(diary: Diary, forked: Path) -> None:
    other = diary.session("other", user("a", None, "idea"), user("b", "a", "idea left"), user("c", "a", "idea right"))

    with diary.open(session_file=forked, live=Live("b", ("a", "b"))) as workspace:
        page = workspace.call("memory.recall", {"query": "right", "scope": "project"})

    assert [hit["follow"]["args"]["session"] for hit in page["hits"]] == [str(other)]


@pytest.mark.requirement("branches.persisted_leaf", "branches.append_order")
def test_the_leaf_is_the_last_entry_of_any_kind(diary: Diary) -> None:
    label = {"type": "label", "id": "l", "parentId": "b", "targetId": "a", "label": "here"}
    diary.session("one", user("a", None, "word"), user("b", "a", "word"), user("c", "a", "word"), label)

    page = diary.recall("word")

    assert sorted(ids(page)) == ["a", "b"]


# Bindings


@pytest.mark.requirement("stale.append")
def test_a_stale_pointer_names_what_was_expected_and_what_is_there(diary: Diary) -> None:
    path = diary.talk("one", "secret word")
    token = diary.recall("word")["hits"][0]["follow"]
    append(path, user("x", "one-0", "more"))

    with pytest.raises(PepysError) as refused:
        diary.call(token["ref"], token["args"])

    body = refused.value.as_json()
    assert body["code"] == "stale_pointer"
    assert body["sessionFile"] == str(path)
    assert body["expectedSourceHash"] == token["args"]["expectedSourceHash"]
    assert body["actualSourceHash"] == hashlib.sha256(path.read_bytes()).hexdigest()
    assert "secret" not in json.dumps(body)


@pytest.mark.requirement("stale.append")
def test_the_next_chunk_of_a_changed_session_is_stale(diary: Diary) -> None:
    path = diary.talk("one", "x" * 1000)
    token = diary.expand(session="one", indices=[0], maxChars=256)["next"]
    append(path, user("x", "one-0", "more"))

    with pytest.raises(PepysError) as refused:
        diary.call(token["ref"], token["args"])

    assert refused.value.code == "stale_pointer"


@pytest.mark.requirement("stale.rewrite", "page.next_bound")
def test_the_next_page_of_a_rewritten_session_is_stale_although_size_and_time_are_equal(diary: Diary) -> None:
    path = diary.talk("one", "word alpha", "word gamma")
    token, before = diary.recall("word", scope="session:one", pageSize=1)["next"], path.stat()
    path.write_text(path.read_text().replace("gamma", "delta"))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))

    page = diary.call(token["ref"], token["args"])

    assert page["error"]["code"] == "stale_pointer"
    assert (page["total"], page["hits"], page["next"]) == (0, [], None)


@pytest.mark.requirement("lineage.hash_covers_all")
def test_all_branches_are_protected_by_the_source_hash(diary: Diary, forked: Path) -> None:
    token = diary.recall("left", branches="all")["hits"][0]["follow"]
    append(forked, user("d", "b", "more"))

    with pytest.raises(PepysError) as refused:
        diary.call(token["ref"], token["args"])

    assert refused.value.code == "stale_pointer"


def test_any_binding_alone_is_checked(diary: Diary) -> None:
    diary.talk("one", "word")
    right = diary.expand(session="one")

    by_hash = diary.recall("word", scope="session:one", expectedSourceHash=right["sourceHash"])
    by_lineage = diary.recall("word", scope="session:one", expectedLineageFingerprint=right["lineageFingerprint"])
    wrong = diary.recall("word", scope="session:one", expectedLineageFingerprint="0" * 64)

    assert by_hash["total"] == by_lineage["total"] == 1
    assert wrong["error"]["code"] == "stale_pointer"


def test_a_session_of_the_far_future_disturbs_no_search(diary: Diary) -> None:
    diary.talk("now", "word")
    late = diary.talk("late", "word")
    os.utime(late, (10_000_000_000, 10_000_000_000))  # 2286: its nanoseconds do not fit 63 bits

    page = diary.recall("word")

    assert sorted(hit["sessionId"] for hit in page["hits"]) == ["late", "now"]
    assert page["coverage"]["complete"]
