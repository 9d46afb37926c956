"""The commands over the sample sessions, from arguments to bytes."""

from __future__ import annotations

import json
import os
import shlex
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from pepys import samples
from pepys.recall.regex import matching
from tests.cli.conftest import Pepys

Shop = tuple[str, ...]


def test_recall_prints_where_what_and_the_command_that_opens_it(pepys: Pepys, shop: Shop) -> None:
    found = pepys("recall", "ExecStop", *shop)

    where, *_, command = found.stdout.rstrip("\n").split("\n")
    opened = pepys(*shlex.split(command)[1:])
    assert found.status == 0
    assert "Deploy of the stock fix" in where
    assert "assistant" in where
    assert "ExecStop" in found.stdout
    assert command.startswith("pepys expand 019cd2f9-93f4-7b5c-a0de-1c8845aad003 --index ")
    assert "its service file has no ExecStop." in opened.stdout


def test_options_may_stand_before_and_after_the_command(pepys: Pepys, shop: Shop) -> None:
    before, after = pepys(*shop, "recall", "mug", "--json"), pepys("--json", "recall", "mug", *shop)

    assert before.json == after.json
    assert before.json["total"] > 0


def test_recall_reads_both_hosts_unless_one_is_named(pepys: Pepys, shop: Shop) -> None:
    hosts = [pepys("recall", "stock", "--json", "--host", host, *shop).json["total"] for host in ("all", "pi", "omp")]

    assert hosts[0] == hosts[1] + hosts[2]
    assert min(hosts) > 0


def test_an_abandoned_branch_is_found_only_when_every_branch_is_asked_for(pepys: Pepys, shop: Shop) -> None:
    active = pepys("recall", "containers", *shop)
    every = pepys("recall", "containers", "--all", *shop)

    command = every.stdout.rstrip().split("\n")[-1]
    assert active.stdout == ""
    assert "No hits" in active.stderr
    assert command.endswith("--all")
    assert "separate containers" in pepys(*shlex.split(command)[1:]).stdout


@pytest.mark.parametrize(
    ("options", "total"),
    [
        (["--phrase", "conditional", "UPDATE"], 2),
        (["--phrase", "update", "conditional"], 0),
        (["--match", "all", "port", "8080", "timeout"], 1),
        (["--role", "bashExecution", "--branches", "all"], 1),
        (["--tool", "grep"], 4),
        (["--since", "2026-03-11", "restock"], 3),
        (["--until", "2026-03-01", "mug"], 0),
    ],
)
def test_filters_narrow_the_answer(options: list[str], total: int, pepys: Pepys, shop: Shop) -> None:
    found = pepys("recall", "--json", *options, *shop)

    assert found.json["total"] == total


def test_paging_is_offered_and_continues_where_it_stopped(pepys: Pepys, shop: Shop) -> None:
    first = pepys("recall", "stock", "--limit", "2", *shop)
    second = pepys("recall", "stock", "--limit", "2", "--offset", "2", *shop)

    assert "more with --offset 2" in first.stderr
    assert not {line for line in first.stdout.split("\n") if line.startswith("pepys expand")} & {
        line for line in second.stdout.split("\n") if line.startswith("pepys expand")
    }


def test_sessions_are_listed_newest_first(pepys: Pepys, shop: Shop) -> None:
    listed = pepys("sessions", *shop)
    rows = pepys("sessions", "--json", *shop).json["sessions"]

    assert [line.count("019c") for line in listed.stdout.splitlines()] == [1, 1, 1, 1]
    assert [row["mtime"] for row in rows] == sorted((row["mtime"] for row in rows), reverse=True)
    assert {row["host"] for row in rows} == {"pi", "omp"}


def test_expand_without_a_selector_says_how_many_records_there_are(pepys: Pepys, shop: Shop) -> None:
    found = pepys("expand", "019cdd56-0a83-7415-bb92-90e47cf1d004", *shop)

    assert found.stdout.startswith("10 records")


def test_expand_prints_a_range_in_order(pepys: Pepys, shop: Shop) -> None:
    found = pepys("expand", "019cdd56-0a83-7415-bb92-90e47cf1d004", "--range", "0:3", *shop)

    heads = [line.split()[0] for line in found.stdout.splitlines() if line.startswith("[")]
    assert heads == ["[0]", "[1]", "[2]", "[3]"]


def test_a_long_record_is_printed_whole(pepys: Pepys, home: Path, tmp_path: Path) -> None:
    text = " ".join(f"word{n}" for n in range(9000))
    write_session(home, [text])

    found = pepys("expand", "long", "--index", "0", "--cwd", str(tmp_path))
    page = pepys("expand", "long", "--index", "0", "--cwd", str(tmp_path), "--json").json

    assert text in found.stdout
    assert page["next"] is not None


@pytest.mark.parametrize(
    ("arguments", "code", "status"),
    [
        (["expand", "nowhere"], "session_not_found", 4),
        (["expand", "019cdd56-0a83-7415-bb92-90e47cf1d004", "--index", "99"], "index_out_of_bounds", 2),
        (["expand", "019cdd56-0a83-7415-bb92-90e47cf1d004", "--index", "-1"], "index_out_of_bounds", 2),
        (["expand", "019cdd56-0a83-7415-bb92-90e47cf1d004", "--entry", "none"], "address_not_found", 4),
        (["expand", "x", "--range", "3"], "invalid_argument", 2),
        (["recall", "x", "--limit", "99"], "invalid_argument", 2),
        (["recall", "x", "--since", "soon"], "invalid_argument", 2),
        (["sessions", "--scope", "session:nowhere"], "session_not_found", 4),
        (["recall", "x", "--scope", "session:nowhere"], "session_not_found", 4),
        (["recall", "--nonsense"], "invalid_argument", 2),
        (["recall", "x", "--sessions", "missing"], "invalid_argument", 2),
        (["sessions", "--agent-dir", "missing"], "invalid_argument", 2),
        (["call", "memory.recal", "{}"], "unknown_action", 2),
        (["call", "memory.recall", "[]"], "invalid_argument", 2),
        (["call", "memory.recall", '{"since": NaN}'], "invalid_argument", 2),
        (["call", "memory.recall", "{"], "invalid_argument", 2),
        (["call", "-"], "invalid_argument", 2),
        (["index", "status", "--watch"], "invalid_argument", 2),
    ],
)
def test_an_error_has_a_code_for_programs_and_words_for_people(
    arguments: list[str], code: str, status: int, pepys: Pepys, shop: Shop
) -> None:
    for_programs = pepys(*arguments, *shop, "--json")
    for_people = pepys(*arguments, *shop)

    assert for_programs.json["error"]["code"] == code
    assert for_programs.status == for_people.status == status
    if arguments[0] != "call":
        assert for_people.stdout == ""
        assert for_people.stderr.startswith("pepys: ")


@pytest.mark.requirement("regex.no_proof")
@pytest.mark.parametrize(
    ("pattern", "code", "status"),
    [
        ("time(out", "invalid_regex", 2),
        ("x" * 1025, "regex_pattern_too_large", 2),
        ("stock", "regex_timeout", 7),
        ("stock", "regex_worker_error", 7),
    ],
)
def test_a_pattern_that_could_not_be_matched_is_an_error_and_not_an_answer_without_hits(
    pepys: Pepys, shop: Shop, monkeypatch: pytest.MonkeyPatch, pattern: str, code: str, status: int
) -> None:
    def ask(*given: object) -> dict[int, int]:
        raise matching._Refused(code, "It did not end well.")

    monkeypatch.setattr(matching, "_ask", ask)

    for_people = pepys("recall", "--regex", pattern, *shop)
    for_programs = pepys("recall", "--regex", pattern, "--json", *shop)
    called = pepys(
        "call", "memory.recall", json.dumps({"query": pattern, "queryMode": "regex", "scope": "project"}), *shop
    )

    assert for_people.status == for_programs.status == called.status == status
    assert for_people.stdout == ""
    assert for_people.stderr.startswith("pepys: ")
    assert "No hits" not in for_people.stderr
    assert "--scope" not in for_people.stderr
    for page in (for_programs.json, called.json):
        assert page["coverage"]["error"]["code"] == code
        assert page["hits"] == []


def test_a_hit_a_token_and_a_page_can_be_pasted_into_call(pepys: Pepys, shop: Shop) -> None:
    page = pepys("call", "memory.recall", '{"query": "stock", "scope": "project", "pageSize": 1}', *shop).json
    hit = page["hits"][0]

    pasted = [pepys("call", "-", *shop, stdin=json.dumps(value)).json for value in (hit, hit["follow"], page)]
    argument = pepys("call", json.dumps(hit["follow"]), *shop).json
    split = pepys("call", "memory.expand", "-", *shop, stdin=json.dumps(hit["follow"]["args"])).json

    assert pasted[0] == pasted[1] == argument == split
    assert pasted[0]["entries"][0]["entryId"] == hit["entryId"]
    assert pasted[2]["hits"] != page["hits"]


def test_a_pointer_to_a_session_that_went_on_is_stale(pepys: Pepys, shop: Shop) -> None:
    hit = pepys("recall", "ExecStop", "--json", *shop).json["hits"][0]
    file = Path(hit["follow"]["args"]["session"])
    file.write_text(
        file.read_text("utf-8") + '{"type":"label","id":"00000001","parentId":null,"targetId":"x"}\n', "utf-8"
    )

    followed = pepys("call", "-", *shop, stdin=json.dumps(hit))

    assert followed.status == 5
    assert followed.json["error"]["code"] == "stale_pointer"


@pytest.mark.requirement("privacy.index_deletion")
def test_the_index_can_be_built_shown_and_deleted(pepys: Pepys, shop: Shop, home: Path) -> None:
    absent = pepys("index", "status", "--json", *shop).json
    built = pepys("index", "--json", *shop).json
    again = pepys("index", "--json", *shop).json
    rebuilt = pepys("index", "--rebuild", "--json", *shop).json
    status = pepys("index", "status", "--json", *shop).json
    deleted = [pepys("index", "delete", "--json", *shop).json["deleted"] for _ in range(2)]

    assert absent["exists"] is False
    assert (built["new"], again["new"], again["grown"], again["rebuilt"], rebuilt["new"]) == (4, 0, 0, 0, 4)
    assert status["sources"] == 4
    assert deleted == [True, False]
    assert not list((home / ".cache" / "pepys").iterdir())


@pytest.mark.skipif(sys.platform == "win32", reason="file modes are POSIX")
def test_the_index_is_for_the_user_alone(pepys: Pepys, shop: Shop, home: Path) -> None:
    pepys("index", *shop)

    modes = {(path.is_dir(), stat.S_IMODE(path.stat().st_mode)) for path in (home / ".cache" / "pepys").rglob("*")}
    assert modes == {(True, 0o700), (False, 0o600)}


@pytest.mark.requirement("config.index_dir")
def test_the_index_directory_can_be_chosen(pepys: Pepys, shop: Shop, home: Path, tmp_path: Path) -> None:
    pepys("index", *shop, "--index-dir", "elsewhere")

    assert list((tmp_path / "elsewhere").iterdir())
    assert not (home / ".cache").exists()


def test_the_current_session_comes_from_pi(
    pepys: Pepys, shop: Shop, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (file,) = (home / ".pi").rglob("*d001.jsonl")
    monkeypatch.setenv("PI_SESSION_FILE", str(file))
    monkeypatch.setenv("PI_SESSION_ID", "019caefa-5d10-7a31-9c44-2b7f0e61d001")

    found = pepys("recall", "--scope", "session", "--json", *shop).json

    assert {hit["sessionId"] for hit in found["hits"]} == {"019caefa-5d10-7a31-9c44-2b7f0e61d001"}


def test_doctor_is_content_with_a_sound_machine(pepys: Pepys, shop: Shop) -> None:
    pepys("index", *shop)

    found = pepys("doctor", *shop, "--json")

    findings = {(check["subject"], check["finding"].split(": ")[-1]) for check in found.json["checks"]}
    assert found.status == 0
    assert {check["state"] for check in found.json["checks"]} == {"ok"}
    assert ("pi sessions", "3 sessions") in findings
    assert ("omp sessions", "1 session") in findings
    assert any(subject == "index" and finding.startswith("4 sessions") for subject, finding in findings)


def test_doctor_counts_a_session_of_a_shared_folder_once(pepys: Pepys, home: Path, tmp_path: Path) -> None:
    write_session(home, ["sound"])
    (home / ".pi" / "agent" / "sessions").rename(tmp_path / "shared")

    checks = pepys("doctor", "--sessions", "shared", "--json").json["checks"]

    counted = [check["finding"] for check in checks if "1 session" in check["finding"]]
    assert counted == [f"{tmp_path / 'shared'}: 1 session"]


def test_doctor_is_content_with_an_empty_machine(pepys: Pepys) -> None:
    found = pepys("doctor")

    assert found.status == 0
    assert "no sessions were found" in found.stdout


def test_doctor_says_what_to_do_about_each_finding(pepys: Pepys, home: Path, tmp_path: Path) -> None:
    write_session(home, ["sound"])
    (file,) = (home / ".pi").rglob("*.jsonl")
    with file.open("ab") as session:
        session.write(b'nonsense\n\xef\xbb\xbf{"type":"label"}\n[1]\n{"type":"novelty","id":"9"}\n{"type":"mess')
    (tmp_path / ".pepys.toml").write_text("[memory]\n", "utf-8")
    pepys("index")

    checks = pepys("doctor", "--json").json["checks"]

    findings = [check for check in checks if check["state"] != "ok"]
    assert {check["subject"] for check in findings} == {"configuration", "session files"}
    assert len(findings) >= 5
    assert all(check["step"] for check in findings)


@pytest.mark.skipif(sys.platform == "win32", reason="file modes are POSIX")
def test_doctor_wants_an_index_that_others_can_read_closed(pepys: Pepys, shop: Shop, home: Path) -> None:
    pepys("index", *shop)
    (directory,) = (home / ".cache" / "pepys").iterdir()
    directory.chmod(0o755)

    found = pepys("doctor", *shop)

    assert found.status == 1
    assert f"chmod 700 {directory}" in found.stdout


def test_doctor_wants_another_directory_where_none_can_be_made(pepys: Pepys, shop: Shop, tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    found = pepys("doctor", *shop, "--index-dir", "file")

    assert found.status == 1
    assert f"nothing can be written to {tmp_path / 'file'}" in found.stdout
    assert "--index-dir" in found.stdout


def test_doctor_names_a_configuration_that_cannot_be_used(pepys: Pepys, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PEPYS_MEMORY_HOT_SESSIONS", "few")

    found = pepys("doctor")

    assert found.status == 1
    assert "memory.hotSessions" in found.stdout


@pytest.mark.requirement("config.enabled")
def test_recall_can_be_switched_off(pepys: Pepys, shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PEPYS_MEMORY_ENABLED", "false")

    found = pepys("recall", "mug", *shop)

    assert found.status == 3
    assert "memory.enabled" in found.stderr


def test_config_list_names_the_origin(pepys: Pepys, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PEPYS_INDEX_BUDGET_MS", "5")

    rows = {row["key"]: row for row in pepys("config", "list", "--json").json["keys"]}

    assert (rows["index.budgetMs"]["value"], rows["index.budgetMs"]["origin"]) == (
        5,
        "environment PEPYS_INDEX_BUDGET_MS",
    )
    assert rows["memory.enabled"]["origin"] == "default"


def test_trust_is_given_listed_and_taken_back(pepys: Pepys, tmp_path: Path) -> None:
    given = pepys("trust", ".", "--json").json["trusted"]
    listed = pepys("trust").stdout.splitlines()
    taken = pepys("trust", ".", "--revoke", "--json").json["trusted"]

    assert given == listed == [str(tmp_path.resolve())]
    assert taken == []
    assert pepys("trust", ".", "--revoke").status == 2
    assert pepys("trust", "missing").status == 2


def test_trust_tells_of_the_list_of_pi_and_that_only_pi_changes_it(pepys: Pepys, home: Path, tmp_path: Path) -> None:
    path = home / ".pi" / "agent" / "trust.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({str(tmp_path.resolve()): True}))

    listed, revoked = pepys("trust"), pepys("trust", "--revoke", str(tmp_path))

    assert (listed.stdout, listed.stderr) == ("", f"What Pi was told to trust counts too: {path}\n")
    assert (revoked.status, "use /trust in Pi" in revoked.stderr) == (2, True)


def test_trust_says_that_no_project_is_trusted(pepys: Pepys) -> None:
    found = pepys("trust")

    assert (found.status, found.stdout) == (0, "")
    assert found.stderr == "No project is trusted; `pepys trust PATH` trusts one.\n"
    assert pepys("trust", "--json").json == {"trusted": []}


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish", "tcsh"])
def test_completion_knows_commands_and_options(shell: str, pepys: Pepys) -> None:
    script = pepys("completion", shell).stdout

    assert "recall" in script
    assert "snippet" in script


def test_without_arguments_help_is_shown(pepys: Pepys) -> None:
    shown = pepys()

    assert shown.status == 0
    assert "recall" in shown.stdout


def test_the_demo_runs_on_an_empty_machine_and_leaves_nothing(pepys: Pepys, home: Path) -> None:
    shown = pepys("demo")

    assert shown.status == 0
    assert "Decision: stock is reserved by a conditional UPDATE" in shown.stdout
    assert "its service file has no ExecStop." in shown.stdout
    assert "stale_pointer" in shown.stdout
    assert "None were found here" in shown.stdout
    assert list(home.iterdir()) == []


def test_the_demo_shows_the_users_own_newest_entries(pepys: Pepys, home: Path, tmp_path: Path) -> None:
    write_session(home, ["my own prompt"])

    shown = pepys("demo")

    assert shown.status == 0
    assert "my own prompt" in shown.stdout
    assert not (home / ".cache").exists()


def test_the_samples_hold_no_damage(pepys: Pepys, shop: Shop) -> None:
    pepys("index", *shop)

    status = pepys("index", "status", "--json", *shop).json

    assert status["diagnostics"] == {}


@pytest.mark.parametrize("command", [f"recall --cwd {samples.PROJECT} --limit 50 --all", "--help", "--version"])
def test_a_reader_that_leaves_early_is_no_error(command: str, shop: Shop, home: Path) -> None:
    # Through a real pipe: only there does writing fail.
    program = f"{shlex.quote(sys.executable)} -m pepys {command}"
    done = subprocess.run(
        ["bash", "-c", f"{program} | true; echo ${{PIPESTATUS[0]}}"],
        capture_output=True,
        text=True,
        env={**os.environ, "HOME": str(home)},
        check=True,
    )

    assert done.stdout == "0\n"
    assert done.stderr == ""


def write_session(home: Path, prompts: list[str]) -> None:
    """A Pi session `long` of some project under *home*."""
    folder = home / ".pi" / "agent" / "sessions" / "--some-project--"
    folder.mkdir(parents=True)
    lines = [
        {"type": "session", "version": 3, "id": "long", "timestamp": "2026-03-01T00:00:00.000Z", "cwd": "/some/project"}
    ]
    parent = None
    for number, prompt in enumerate(prompts):
        message = {
            "role": "user",
            "content": [{"type": "text", "text": prompt}],
            "timestamp": 1_772_000_000_000 + number,
        }
        entry = {"type": "message", "id": f"0000000{number}", "parentId": parent, "message": message}
        lines.append({**entry, "timestamp": "2026-03-01T00:00:01.000Z"})
        parent = f"0000000{number}"
    (folder / "2026-03-01T00-00-00-000Z_long.jsonl").write_text(
        "".join(json.dumps(line) + "\n" for line in lines), "utf-8"
    )
