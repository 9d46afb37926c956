"""`pepys setup`, from arguments to the files of agents and back."""

from __future__ import annotations

import json
import os
import re
import stat
import subprocess
import sys
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from pepys import paths, samples
from pepys.actions.table import ACTIONS
from pepys.setup import formats, standing
from pepys.setup.targets import TARGETS
from tests.setup.conftest import CONFIGURATIONS, Pepys, tree

COMMAND = [sys.executable, "-P", "-m", "pepys"]


def entry(home: Path, target: str) -> Any:
    """What the target's configuration has as Pepys's entry."""
    path, _ = CONFIGURATIONS[target]
    data = (home / path).read_bytes()
    name = "toml" if path.endswith("toml") else "jsonc"
    keys = {"codex": "mcp_servers", "opencode": "mcp", "vscode": "servers", "zed": "context_servers"}
    return formats.setting(name, data, (keys.get(target, "mcpServers"), "pepys"))


@pytest.fixture
def shipped(monkeypatch: pytest.MonkeyPatch) -> Callable[[Mapping[str, bytes]], None]:
    """Replace what comes with Pepys for agents."""
    return lambda files: monkeypatch.setattr(standing, "shipped", lambda: files)


VERSION_1 = {
    "core/core.ts": b"1",
    "core/gone.ts": b"1",
    "pi/index.ts": b"1",
    "omp/index.ts": b"1",
    "skills/recall/SKILL.md": b"1",
}
VERSION_2 = {**{path: b"2" for path in VERSION_1 if path != "core/gone.ts"}, "core/more.ts": b"2"}


# There and back


@pytest.mark.parametrize("there", [True, False], ids=["beside what is there", "where nothing is"])
def test_what_was_set_up_is_taken_back_without_a_trace(
    target: str, there: bool, request: pytest.FixtureRequest
) -> None:
    home: Path = request.getfixturevalue("agents" if there else "home")
    pepys: Pepys = request.getfixturevalue("pepys")
    before = tree(home)

    done = pepys("setup", target, "--yes", "--no-index")
    during = tree(home)
    undone = pepys("setup", target, "--remove", "--yes")

    assert (done.status, undone.status) == (0, 0)
    assert during != before
    assert tree(home) == before


def test_setting_up_again_changes_nothing_and_says_so(target: str, agents: Path, pepys: Pepys) -> None:
    pepys("setup", target, "--yes", "--no-index")
    before = tree(agents)

    again = pepys("setup", target)

    assert (again.status, again.stdout) == (0, "")
    assert "Nothing to do" in again.stderr
    assert tree(agents) == before


def test_taking_back_again_changes_nothing_and_says_so(target: str, agents: Path, pepys: Pepys) -> None:
    pepys("setup", target, "--yes", "--no-index")
    pepys("setup", target, "--remove", "--yes")

    again = pepys("setup", target, "--remove")

    assert again.status == 0
    assert "Nothing to do" in again.stderr


@pytest.mark.parametrize("client", sorted(CONFIGURATIONS))
def test_a_client_gets_an_entry_beside_what_it_had(client: str, agents: Path, pepys: Pepys) -> None:
    pepys("setup", client, "--yes")

    found = entry(agents, client)
    command = found["command"] if client == "opencode" else [found["command"], *found["args"]]
    assert command == [*COMMAND, "mcp"]
    for word in (b"numStartups", b"# mine", b"// theme", b"/* none */", b'"z": [1, 2]', b"// Zed"):
        path, before = CONFIGURATIONS[client]
        assert (word in before) == (word in (agents / path).read_bytes())


@pytest.mark.parametrize("host", ["pi", "omp"])
def test_a_host_gets_a_package_that_it_finds_and_the_command_that_starts_pepys(
    host: str, agents: Path, pepys: Pepys
) -> None:
    pepys("setup", host, "--yes", "--no-index")

    folder = agents / f".{host}" / "agent" / "extensions" / "pepys"
    package = json.loads((folder / "package.json").read_text())
    (main,) = package[host]["extensions"]
    assert (folder / main).is_file()
    assert (folder / "core" / "core.ts").is_file()
    assert json.loads((folder / "launch.json").read_text()) == {"command": COMMAND}


def test_omp_gets_an_entry_that_is_off_and_shadows_those_of_other_agents(agents: Path, pepys: Pepys) -> None:
    pepys("setup", "omp", "pi", "--yes", "--no-index")

    entry = {"command": COMMAND[0], "args": [*COMMAND[1:], "mcp"], "enabled": False}
    assert json.loads((agents / ".omp/agent/mcp.json").read_text()) == {"mcpServers": {"pepys": entry}}
    assert not (agents / ".pi/agent/mcp.json").exists()


@pytest.mark.parametrize(
    ("target", "skill"),
    [
        ("pi", ".pi/agent/skills"),
        ("omp", ".omp/agent/skills"),
        ("claude-code", ".claude/skills"),
        ("codex", ".codex/skills"),
        ("cursor", ".cursor/skills"),
    ],
)
def test_agents_with_skills_get_the_skill(target: str, skill: str, agents: Path, pepys: Pepys) -> None:
    pepys("setup", target, "--yes", "--no-index")

    text = (agents / skill / "recall" / "SKILL.md").read_text()
    assert text.startswith("---\nname: recall\ndescription: ")
    assert len(text.split("\n")[2]) <= len("description: ") + 1024  # the longest that skills may have


def test_the_skill_names_tools_that_there_are(agents: Path, pepys: Pepys) -> None:
    pepys("setup", "claude-code", "--yes")
    text = (agents / ".claude" / "skills" / "recall" / "SKILL.md").read_text()

    names = {word for word in re.findall(r"`([a-z_]+)`", text) if "_" in word or word == "memory"}
    assert names - {"chunk_hash", "mcp__pepys__session_recall"} <= {action.tool for action in ACTIONS.values()}
    assert {"memory_search", "session_recall", "event_search"} <= names


def test_what_is_made_is_private_and_what_was_there_keeps_its_mode(agents: Path, pepys: Pepys) -> None:
    config = agents / ".claude.json"
    config.chmod(0o640)

    pepys("setup", "claude-code", "pi", "--yes", "--no-index")

    assert stat.S_IMODE(config.stat().st_mode) == 0o640
    for path in (agents / ".pi" / "agent" / "extensions").rglob("*"):
        assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600)
    for path in (agents / ".local" / "state" / "pepys").rglob("*"):
        assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0


def test_a_configuration_file_that_is_a_link_stays_one(agents: Path, pepys: Pepys, tmp_path: Path) -> None:
    config, dotfile = agents / ".claude.json", tmp_path / "dotfiles" / "claude.json"
    dotfile.parent.mkdir()
    config.rename(dotfile)
    config.symlink_to(dotfile)

    shown = pepys("setup", "claude-code", "--yes")
    during = dotfile.read_bytes()
    pepys("setup", "claude-code", "--remove", "--yes")

    assert f"{config} is a link to {dotfile}" in shown.stdout
    assert config.is_symlink()
    assert b"pepys" in during
    assert dotfile.read_bytes() == CONFIGURATIONS["claude-code"][1]


def test_folders_that_a_dangling_link_led_to_are_taken_back(home: Path, pepys: Pepys, tmp_path: Path) -> None:
    (home / ".cursor").mkdir()
    (home / ".cursor" / "mcp.json").symlink_to(tmp_path / "nowhere" / "deep" / "x.json")
    before = tree(home)

    pepys("setup", "cursor", "--yes")
    written = (tmp_path / "nowhere" / "deep" / "x.json").is_file()
    undone = pepys("setup", "cursor", "--remove", "--yes")

    assert written
    assert undone.status == 0
    assert tree(home) == before
    assert not (tmp_path / "nowhere").exists()


@pytest.mark.parametrize("linked", [False, True], ids=["itself", "through a link"])
def test_a_file_that_its_owner_made_read_only_is_written_by_force_alone(
    linked: bool, agents: Path, pepys: Pepys
) -> None:
    config, before = agents / ".cursor" / "mcp.json", tree(agents)
    if linked:
        config.rename(agents / "dotfile")
        config.symlink_to(agents / "dotfile")
        before = tree(agents)
    config.chmod(0o400)

    refused = pepys("setup", "cursor", "--yes")
    untouched = tree(agents)
    forced = pepys("setup", "cursor", "--yes", "--force")
    mode = stat.S_IMODE(config.stat().st_mode)
    same = pepys("setup", "cursor", "--yes")
    kept = pepys("setup", "cursor", "--remove", "--yes")
    removed = pepys("setup", "cursor", "--remove", "--yes", "--force")

    assert [run.status for run in (refused, forced, same, kept, removed)] == [5, 0, 0, 5, 0]
    assert f"{config} is read-only." in refused.stderr
    assert untouched == before
    assert mode == 0o400
    assert tree(agents) == before
    assert stat.S_IMODE(config.stat().st_mode) == 0o400


# Asking


@pytest.mark.parametrize(("options", "status"), [([], 2), (["--dry-run"], 0)])
def test_nothing_is_written_where_nobody_agreed(options: list[str], status: int, agents: Path, pepys: Pepys) -> None:
    before = tree(agents)

    shown = pepys("setup", "codex", "pi", *options)

    assert shown.status == status
    assert "+[mcp_servers.pepys]" in shown.stdout
    assert "extensions/pepys/pi/index.ts" in shown.stdout
    assert "Nothing was written" in shown.stderr
    assert tree(agents) == before
    assert not (agents / ".local").exists()


@pytest.mark.parametrize(("answer", "written"), [("y", True), ("", False), ("n", False)])
def test_a_person_is_asked(
    answer: str, written: bool, agents: Path, pepys: Pepys, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pepys.cli.commands.setup._is_interactive", lambda out: True)
    monkeypatch.setattr("builtins.input", lambda prompt: answer)

    done = pepys("setup", "cursor")

    assert done.status == 0
    assert (entry(agents, "cursor") is not None) is written


def test_the_end_of_input_is_no_agreement(agents: Path, pepys: Pepys, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pepys.cli.commands.setup._is_interactive", lambda out: True)  # the input is empty

    done = pepys("setup", "cursor")

    assert done.status == 0
    assert entry(agents, "cursor") is None


def test_json_tells_what_was_changed(agents: Path, pepys: Pepys) -> None:
    asked = pepys("setup", "codex", "--json")
    done = pepys("setup", "codex", "--json", "--yes")

    assert (asked.status, asked.json["written"]) == (2, False)
    assert (done.status, done.json["written"]) == (0, True)
    assert asked.json["targets"] == done.json["targets"]
    first = done.json["targets"][0]["changes"][0]
    assert first["path"] == str(agents / ".codex" / "config.toml")
    assert '\n+command = "' in first["diff"]


def test_a_diff_tells_a_missing_newline_at_the_end(agents: Path, pepys: Pepys) -> None:
    shown = pepys("setup", "codex", "--dry-run").stdout

    assert '-command = "y"\n\\ No newline at end of file\n+command = "y"\n' in shown


def test_own_files_are_shown_whole_when_asked_for(agents: Path, pepys: Pepys) -> None:
    shown = pepys("setup", "pi", "--dry-run", "--full").stdout

    assert "+name: recall" in shown


def test_terminal_escapes_of_others_are_not_obeyed(agents: Path, pepys: Pepys) -> None:
    (agents / ".codex" / "config.toml").write_bytes(b"# \xc2\x9b31m red\n")

    shown = pepys("setup", "codex", "--dry-run").stdout

    assert "red" in shown
    assert "\x9b" not in shown


def test_an_unknown_target_is_refused_with_the_nearest(home: Path, pepys: Pepys) -> None:
    found = pepys("setup", "claude_code")

    assert found.status == 2
    assert "did you mean claude-code?" in found.stderr


def test_a_client_needs_the_extra_before_anything_is_written(
    agents: Path, pepys: Pepys, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(standing, "missing_extra", lambda name: TARGETS[name].extra)
    before = tree(agents)

    found = pepys("setup", "pi", "cursor", "--yes")

    assert found.status == 2
    assert "pip install 'pepys[mcp]'" in found.stderr
    assert tree(agents) == before
    assert pepys("setup", "pi", "--yes", "--no-index").status == 0


# What others have done


def edited(agents: Path) -> None:
    config = agents / ".claude.json"
    config.write_bytes(config.read_bytes().replace(b'"numStartups": 3', b'"numStartups": 4'))


def test_edits_since_then_stay_when_it_is_taken_back(agents: Path, pepys: Pepys) -> None:
    pepys("setup", "claude-code", "--yes")
    edited(agents)

    undone = pepys("setup", "claude-code", "--remove", "--yes")

    assert undone.status == 0
    assert (agents / ".claude.json").read_bytes() == CONFIGURATIONS["claude-code"][1].replace(b"3", b"4")


def test_a_file_that_pepys_made_goes_when_nothing_else_is_left_in_it(home: Path, pepys: Pepys) -> None:
    pepys("setup", "cursor", "--yes")
    config = home / ".cursor" / "mcp.json"
    config.write_bytes(config.read_bytes() + b"\n")

    pepys("setup", "cursor", "--remove", "--yes")

    assert tree(home) == {}


def test_a_file_that_pepys_made_stays_when_others_use_it_too(home: Path, pepys: Pepys) -> None:
    pepys("setup", "cursor", "--yes")
    config = home / ".cursor" / "mcp.json"
    config.write_bytes(formats.with_setting("json", config.read_bytes(), ("mcpServers", "other"), {"command": "x"}))

    pepys("setup", "cursor", "--remove", "--yes")

    assert json.loads(config.read_text()) == {"mcpServers": {"other": {"command": "x"}}}


def test_an_entry_that_the_user_took_out_is_put_in_again(agents: Path, pepys: Pepys) -> None:
    pepys("setup", "codex", "--yes")
    path, before = CONFIGURATIONS["codex"]
    (agents / path).write_bytes(before + b"\r\nmore = 1\r\n")

    again = pepys("setup", "codex", "--yes")
    during = entry(agents, "codex")
    pepys("setup", "codex", "--remove", "--yes")

    assert again.status == 0
    assert during is not None
    assert (agents / path).read_bytes() == before + b"\r\nmore = 1\r\n"


def test_what_the_user_adds_to_the_entry_stays(agents: Path, pepys: Pepys, monkeypatch: pytest.MonkeyPatch) -> None:
    pepys("setup", "codex", "--yes")
    config = agents / ".codex" / "config.toml"
    config.write_bytes(config.read_bytes() + b"startup_timeout_sec = 20\r\n[mcp_servers.pepys.env]\r\nA = 'b'\r\n")

    same = pepys("setup", "codex", "--yes")
    monkeypatch.setattr(sys, "executable", "/elsewhere/python")
    moved = pepys("setup", "codex", "--yes")

    assert "Nothing to do" in same.stderr
    assert moved.status == 0
    assert entry(agents, "codex") == {
        "command": "/elsewhere/python",
        "args": [*COMMAND[1:], "mcp"],
        "startup_timeout_sec": 20,
        "env": {"A": "b"},
    }
    pepys("setup", "codex", "--remove", "--yes")
    assert entry(agents, "codex") is None
    assert tomllib.loads(config.read_text()) == tomllib.loads(CONFIGURATIONS["codex"][1].decode())


def other_entry(agents: Path) -> Path:
    config = agents / ".claude.json"
    config.write_text('{"mcpServers": {"pepys": {"command": "theirs"}}}')
    return config


def test_an_entry_that_is_not_pepys_s_is_left_alone(agents: Path, pepys: Pepys) -> None:
    config = other_entry(agents)
    before = config.read_bytes()

    found = pepys("setup", "claude-code", "cursor", "--yes")

    assert found.status == 5
    assert f"mcpServers.pepys in {config} is there already, and is not Pepys's" in found.stderr
    assert config.read_bytes() == before
    assert entry(agents, "cursor") is not None  # the other target is done all the same
    assert not (agents / ".claude").exists()  # and nothing of this one


@pytest.mark.parametrize(
    ("client", "by_hand"),
    [
        (
            "claude-code",
            b'{"mcpServers": {"pepys": {"type": "stdio", "command": "pepys", "args": ["mcp", "--tools", "all"]}}}',
        ),
        ("opencode", b'{"mcp": {"pepys": {"type": "local", "command": ["uvx", "pepys", "mcp"]}}}'),
        ("codex", b"[mcp_servers.pepys]\ncommand = 'C:/x/pepys.exe'\nargs = ['mcp']\n"),
    ],
)
def test_an_entry_by_hand_is_as_good(client: str, by_hand: bytes, agents: Path, pepys: Pepys) -> None:
    config = agents / CONFIGURATIONS[client][0]
    config.write_bytes(by_hand)

    done = pepys("setup", client, "--yes")
    states = {row["target"]: row["state"] for row in pepys("setup", "--json").json["targets"]}
    undone = pepys("setup", client, "--remove", "--yes")

    assert (done.status, undone.status) == (0, 0)
    assert states[client] == "installed"
    assert config.read_bytes() == by_hand


def test_by_force_an_entry_takes_its_place_and_gives_it_back(agents: Path, pepys: Pepys) -> None:
    config = other_entry(agents)
    before = config.read_bytes()

    done = pepys("setup", "claude-code", "--force", "--yes")
    during = entry(agents, "claude-code")
    pepys("setup", "claude-code", "--remove", "--yes")

    assert done.status == 0
    assert during["command"] == sys.executable
    assert config.read_bytes() == before


def test_an_entry_by_force_is_brought_up_to_date_and_still_gives_back_what_was_there(
    agents: Path, pepys: Pepys, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = other_entry(agents)
    before = config.read_bytes()

    pepys("setup", "claude-code", "--force", "--yes")
    monkeypatch.setattr(sys, "executable", "/elsewhere/python")
    done = pepys("setup", "claude-code", "--yes")
    during = entry(agents, "claude-code")
    pepys("setup", "claude-code", "--remove", "--yes")

    assert done.status == 0
    assert during["command"] == "/elsewhere/python"
    assert config.read_bytes() == before


def test_an_entry_that_was_changed_since_is_left_alone(agents: Path, pepys: Pepys) -> None:
    pepys("setup", "codex", "--yes")
    config = agents / ".codex" / "config.toml"
    config.write_bytes(config.read_bytes().replace(sys.executable.encode(), b"theirs"))
    before = config.read_bytes()

    again, undone = pepys("setup", "codex", "--yes"), pepys("setup", "codex", "--remove", "--yes")

    assert (again.status, undone.status) == (5, 5)
    assert "was changed since Pepys wrote it" in again.stderr
    assert config.read_bytes() == before
    forced = pepys("setup", "codex", "--remove", "--force", "--yes")
    assert forced.status == 0
    assert entry(agents, "codex") is None
    (copy,) = (agents / ".local/state/pepys/setup/replaced").iterdir()
    assert copy.read_bytes() == before
    assert str(copy) in forced.stderr


def test_a_folder_that_is_not_pepys_s_is_left_alone_and_comes_back(agents: Path, pepys: Pepys) -> None:
    folder = agents / ".pi" / "agent" / "extensions" / "pepys"
    (folder / "lib").mkdir(parents=True)
    (folder / "index.ts").write_text("theirs")
    (folder / "lib" / "x.ts").write_text("theirs too")
    before = tree(agents)

    refused = pepys("setup", "pi", "--yes", "--no-index")
    untouched = tree(agents)
    forced = pepys("setup", "pi", "--yes", "--no-index", "--force")
    during = tree(agents)
    pepys("setup", "pi", "--remove", "--yes")

    assert refused.status == 5
    assert f"{folder} is not Pepys's" in refused.stderr
    assert untouched == before
    assert forced.status == 0
    assert ".pi/agent/extensions/pepys/index.ts" not in during
    assert tree(agents) == before


def test_a_linked_folder_is_never_written_through(agents: Path, pepys: Pepys, tmp_path: Path) -> None:
    checkout = tmp_path / "checkout"
    checkout.mkdir()
    (agents / ".pi/agent/extensions").mkdir()
    (agents / ".pi/agent/extensions/pepys").symlink_to(checkout)

    found = [pepys("setup", "pi", "--yes", "--no-index", *options) for options in ([], ["--force"])]

    assert [run.status for run in found] == [6, 6]
    assert "is a symbolic link" in found[1].stderr
    assert list(checkout.iterdir()) == []


def test_a_linked_file_of_its_own_is_never_written_through(agents: Path, pepys: Pepys, tmp_path: Path) -> None:
    pepys("setup", "cursor", "--yes")
    skill, elsewhere = agents / ".cursor" / "skills" / "recall" / "SKILL.md", tmp_path / "skill.md"
    elsewhere.write_text("mine")
    skill.unlink()
    skill.symlink_to(elsewhere)

    found = [pepys("setup", "cursor", "--yes", "--force", *options) for options in ([], ["--remove"])]

    assert [run.status for run in found] == [6, 6]
    assert elsewhere.read_text() == "mine"


def test_a_file_of_its_own_that_was_changed_is_left_alone(
    agents: Path, pepys: Pepys, shipped: Callable[[Mapping[str, bytes]], None]
) -> None:
    shipped(VERSION_1)
    pepys("setup", "pi", "--yes", "--no-index")
    changed = agents / ".pi" / "agent" / "extensions" / "pepys" / "core" / "core.ts"
    changed.write_text("mine")
    shipped(VERSION_2)

    found = pepys("setup", "pi", "--yes", "--no-index")

    assert found.status == 5
    assert f"{changed} was changed since Pepys wrote it" in found.stderr
    assert changed.read_text() == "mine"
    assert (changed.parents[1] / "pi" / "index.ts").read_bytes() == b"1"


def test_a_skill_of_somebody_else_is_left_alone(agents: Path, pepys: Pepys) -> None:
    skill = agents / ".claude" / "skills" / "recall" / "SKILL.md"
    skill.parent.mkdir(parents=True)
    skill.write_text("theirs")

    found = pepys("setup", "claude-code", "--yes")

    assert found.status == 5
    assert skill.read_text() == "theirs"
    assert entry(agents, "claude-code") is None


def test_a_changed_skill_stays_unless_it_is_forced_out(agents: Path, pepys: Pepys) -> None:
    pepys("setup", "cursor", "--yes")
    skill = agents / ".cursor" / "skills" / "recall" / "SKILL.md"
    skill.write_text("mine now")

    kept = pepys("setup", "cursor", "codex", "--remove", "--yes")
    left = skill.read_text()
    forced = pepys("setup", "cursor", "--remove", "--yes", "--force")

    assert kept.status == 5
    assert f"{skill} was changed since Pepys wrote it" in kept.stderr
    assert left == "mine now"
    assert forced.status == 0
    assert not skill.exists()
    (copy,) = (agents / ".local/state/pepys/setup/replaced").iterdir()
    assert copy.read_text() == "mine now"


def test_everything_is_taken_back_in_one_go_though_one_target_fails(agents: Path, pepys: Pepys) -> None:
    before = tree(agents)
    pepys("setup", *TARGETS, "--yes", "--no-index")
    (agents / ".gemini" / "settings.json").write_text("{ broken")

    undone = pepys("setup", "--remove", "--yes")

    assert undone.status == 6
    assert str(agents / ".gemini" / "settings.json") in undone.stderr
    left = {name for name, data in tree(agents).items() if before.get(name, "") != data}
    assert left == {
        ".gemini/settings.json",
        ".gemini/skills",
        ".gemini/skills/recall",
        ".gemini/skills/recall/SKILL.md",
    }


def test_a_file_that_is_not_valid_is_refused_and_says_where(agents: Path, pepys: Pepys) -> None:
    config = agents / ".codex" / "config.toml"
    config.write_bytes(b"a = 1\nb =\n")

    found = pepys("setup", "codex", "--yes", "--json")

    (error,) = found.json["targets"][0]["errors"]
    assert found.status == 6
    assert error["code"] == "setup_refused"
    assert error["message"].startswith(f"{config} cannot be changed: ")
    assert "line 2" in error["message"]
    assert config.read_bytes() == b"a = 1\nb =\n"


@pytest.mark.parametrize("kind", ["folder", "pipe", "link in a circle", "below a file"])
def test_what_is_no_file_is_refused(kind: str, home: Path, pepys: Pepys) -> None:
    config = home / ".cursor" / "mcp.json"
    if kind == "below a file":
        (home / ".cursor").write_text("")
    else:
        config.parent.mkdir()
    if kind == "folder":
        config.mkdir()
    if kind == "pipe":
        os.mkfifo(config)
    if kind == "link in a circle":
        config.symlink_to(config)

    found = pepys("setup", "cursor", "--yes")

    assert found.status == 6
    assert f"{config} cannot be changed" in found.stderr


def test_a_file_that_changes_while_one_is_asked_is_left_alone(
    agents: Path, pepys: Pepys, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = agents / ".claude.json"

    def answer(prompt: str) -> str:
        edited(agents)
        return "y"

    monkeypatch.setattr("pepys.cli.commands.setup._is_interactive", lambda out: True)
    monkeypatch.setattr("builtins.input", answer)

    found = pepys("setup", "claude-code")

    assert found.status == 5
    assert "it has changed just now" in found.stderr
    assert config.read_bytes() == CONFIGURATIONS["claude-code"][1].replace(b"3", b"4")
    assert not (agents / ".claude").exists()


@pytest.mark.parametrize("writes", range(1, 8))
def test_a_run_that_was_cut_short_can_be_finished_and_taken_back(
    writes: int, agents: Path, pepys: Pepys, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = tree(agents)
    left = writes
    whole = paths.write_whole

    def cut(path: Path, data: bytes, mode: int = 0o600) -> None:
        nonlocal left
        left -= 1
        if left < 0:
            raise OSError(28, "No space left on device", str(path))
        whole(path, data, mode)

    with monkeypatch.context() as patched:
        patched.setattr(paths, "write_whole", cut)
        stopped = pepys("setup", "claude-code", "--yes")
    undone = pepys("setup", "claude-code", "--remove", "--yes")
    clean = tree(agents)
    with monkeypatch.context() as patched:
        left = writes
        patched.setattr(paths, "write_whole", cut)
        pepys("setup", "claude-code", "--yes")
    finished = pepys("setup", "claude-code", "--yes")

    needed = 5  # list, original, skill, list, configuration: as many are written
    assert (stopped.status == 6) is (writes < needed)
    assert (undone.status, clean) == (0, before)
    assert finished.status == 0
    assert entry(agents, "claude-code") is not None
    pepys("setup", "claude-code", "--remove", "--yes")
    assert tree(agents) == before


def test_a_list_of_what_was_written_that_cannot_be_read_stops_everything(agents: Path, pepys: Pepys) -> None:
    pepys("setup", "cursor", "--yes")
    (agents / ".local/state/pepys/setup/installed.json").write_text('{"version": 9}')

    found = pepys("setup", "--remove", "--yes")

    assert found.status == 6
    assert "version 9 is not known" in found.stderr


# Other versions, other places


def test_a_newer_version_brings_its_own_files_up_to_date(
    agents: Path, pepys: Pepys, shipped: Callable[[Mapping[str, bytes]], None]
) -> None:
    before = tree(agents)
    shipped(VERSION_1)
    pepys("setup", "pi", "--yes", "--no-index")
    shipped(VERSION_2)
    listed = pepys("setup", "--json").json["targets"][0]

    done = pepys("setup", "pi", "--yes", "--no-index")

    folder = agents / ".pi" / "agent" / "extensions" / "pepys"
    assert listed["state"] == "outdated"
    assert done.status == 0
    assert {path.name: path.read_bytes() for path in (folder / "core").iterdir()} == {"core.ts": b"2", "more.ts": b"2"}
    pepys("setup", "pi", "--remove", "--yes")
    assert tree(agents) == before


def test_what_a_newer_version_left_as_it_was_is_known_to_be_its_own(
    agents: Path, pepys: Pepys, monkeypatch: pytest.MonkeyPatch
) -> None:
    pepys("setup", "codex", "--yes")
    monkeypatch.setattr("pepys.__version__", "9.9")
    tried = pepys("setup", "codex", "--dry-run")
    before = pepys("doctor", "--json").json["checks"]

    pepys("setup", "codex")

    found = [
        next(check["finding"] for check in checks if check["subject"] == "Codex")
        for checks in (before, pepys("doctor", "--json").json["checks"])
    ]
    assert tried.status == 0
    assert "by Pepys 9.9," not in found[0]
    assert "by Pepys 9.9," in found[1]


def test_hosts_that_share_an_agent_directory_share_the_package(
    agents: Path, pepys: Pepys, monkeypatch: pytest.MonkeyPatch
) -> None:
    shared = agents / "shared"
    monkeypatch.setenv("PI_CODING_AGENT_DIR", str(shared))
    pepys("setup", "pi", "--yes", "--no-index")
    second = pepys("setup", "omp", "--yes", "--no-index")
    both = tree(agents)

    pepys("setup", "pi", "--remove", "--yes")
    one = tree(agents)
    pepys("setup", "omp", "--remove", "--yes")

    package = json.loads((both["shared/extensions/pepys/package.json"] or b"").decode())  # type: ignore[union-attr]
    assert "extensions" not in second.stdout  # it is there already
    assert package["pi"] != package["omp"]
    assert one == both
    assert not shared.exists()


@pytest.mark.parametrize(
    ("variable", "value", "target", "path"),
    [
        ("CODEX_HOME", "~/c", "codex", "c/config.toml"),
        ("CLAUDE_CONFIG_DIR", "~/c", "claude-code", "c/.claude.json"),
        ("CLAUDE_CONFIG_DIR", "~/c", "claude-code", "c/skills/recall/SKILL.md"),
        ("GEMINI_CLI_HOME", "~/c", "gemini-cli", "c/.gemini/settings.json"),
        ("XDG_CONFIG_HOME", "~/c", "opencode", "c/opencode/opencode.json"),
        ("PI_CODING_AGENT_DIR", "~/c", "pi", "c/extensions/pepys/package.json"),
        ("OMP_PROFILE", "work", "omp", ".omp/profiles/work/agent/extensions/pepys/package.json"),
    ],
)
def test_places_follow_each_agent_s_own_variables(
    variable: str, value: str, target: str, path: str, home: Path, pepys: Pepys, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, value)

    pepys("setup", target, "--yes", "--no-index")

    assert (home / path).is_file()


def test_no_two_targets_write_the_same_file(home: Path) -> None:
    on = standing.machine({"HOME": str(home)}, home, None)

    written = [piece.path for target in TARGETS.values() for piece in target.pieces(on)]

    assert len(written) == len(set(written))


@pytest.mark.parametrize("platform", ["linux", "darwin", "win32"])
def test_every_target_has_a_place_on_every_platform(target: str, platform: str, home: Path) -> None:
    on = standing.machine({"HOME": str(home)}, home, None)._replace(platform=platform)

    pieces = TARGETS[target].pieces(on)

    assert pieces
    assert all(piece.path.is_relative_to(home) for piece in pieces)


# One project


def test_one_project_gets_its_own_files(agents: Path, pepys: Pepys, tmp_path: Path) -> None:
    project = tmp_path / "shop"
    project.mkdir()
    (project / ".mcp.json").write_text('{"mcpServers": {}}')
    before = tree(agents)

    done = pepys("setup", "claude-code", "--project", "--yes", "--cwd", str(project))
    during = tree(project)
    everywhere = pepys("setup", "claude-code", "--remove", "--yes")
    still = tree(project)
    undone = pepys("setup", "claude-code", "--remove", "--project", "--yes", "--cwd", str(project))

    assert (done.status, undone.status) == (0, 0)
    assert set(during) == {
        ".mcp.json",
        ".claude",
        ".claude/skills",
        ".claude/skills/recall",
        ".claude/skills/recall/SKILL.md",
    }
    assert "Nothing to do" in everywhere.stderr
    assert still == during
    assert tree(project) == {".mcp.json": b'{"mcpServers": {}}'}
    assert tree(agents) == before


def test_a_project_sends_pepys_nowhere_else(agents: Path, pepys: Pepys, tmp_path: Path) -> None:
    project, secret = tmp_path / "shop", tmp_path / "secret.json"
    (project / ".cursor").mkdir(parents=True)
    secret.write_text("{}")
    (project / ".cursor" / "mcp.json").symlink_to(secret)
    (project / ".claude").symlink_to(tmp_path)

    found = [
        pepys("setup", target, "--project", "--yes", "--force", "--cwd", str(project))
        for target in ("cursor", "claude-code")
    ]

    assert [run.status for run in found] == [6, 6]
    assert "it leads out of the project" in found[0].stderr
    assert secret.read_text() == "{}"
    assert not (tmp_path / "skills").exists()


@pytest.mark.parametrize("options", [[], ["--force"]])
def test_a_folder_that_leads_out_of_the_project_is_told_once(
    options: list[str], agents: Path, pepys: Pepys, tmp_path: Path
) -> None:
    project, elsewhere = tmp_path / "shop", tmp_path / "elsewhere"
    project.mkdir()
    (elsewhere / "skills" / "recall").mkdir(parents=True)
    (elsewhere / "skills" / "recall" / "SKILL.md").write_text("theirs")
    (project / ".gemini").symlink_to(elsewhere)

    found = pepys("setup", "gemini-cli", "--project", "--yes", "--cwd", str(project), "--json", *options)

    (error,) = found.json["targets"][0]["errors"]
    assert error["code"] == "setup_refused"
    assert error["message"] == (
        f"{project / '.gemini'} cannot be changed: it leads out of the project, to {elsewhere}."
    )
    assert tree(elsewhere)["skills/recall/SKILL.md"] == b"theirs"
    assert not (elsewhere / "settings.json").exists()


def test_a_host_is_not_set_up_for_one_project(agents: Path, pepys: Pepys) -> None:
    found = pepys("setup", "pi", "--project", "--yes")

    assert found.status == 2
    assert "leave out --project" in found.stderr


# How targets stand


def test_targets_on_this_machine_are_listed_with_their_states(
    agents: Path, pepys: Pepys, monkeypatch: pytest.MonkeyPatch
) -> None:
    (agents / ".config" / "zed" / "settings.json").unlink()
    (agents / ".config" / "zed").rmdir()
    pepys("setup", "codex", "cursor", "--yes")
    other_entry(agents)
    monkeypatch.setattr(sys, "executable", "/elsewhere/python")
    config = agents / ".cursor" / "mcp.json"
    config.write_bytes(config.read_bytes().replace(COMMAND[0].encode(), b"/elsewhere/python"))

    listed = pepys("setup")
    states = {row["target"]: (row["found"], row["state"]) for row in pepys("setup", "--json").json["targets"]}

    assert listed.status == 0
    assert states == {
        "pi": (True, "not installed"),
        "omp": (True, "not installed"),
        "claude-code": (True, "conflict"),
        "codex": (True, "outdated"),
        "cursor": (True, "installed"),
        "gemini-cli": (True, "not installed"),
        "opencode": (True, "not installed"),
        "vscode": (True, "not installed"),
        "windsurf": (True, "not installed"),
        "zed": (False, "not installed"),
    }
    told = {re.split("  +", line)[0]: line for line in listed.stdout.splitlines()}
    assert re.fullmatch(r"Pi \(pi\) +Pepys not set up", told["Pi (pi)"])
    assert re.fullmatch(r"Cursor \(cursor\) +Pepys set up", told["Cursor (cursor)"])
    assert re.fullmatch(r"Codex \(codex\) +Pepys outdated +`pepys setup codex` brings .*", told["Codex (codex)"])
    assert re.fullmatch(
        r"Claude Code \(claude-code\) +conflict +mcpServers\.pepys in .*", told["Claude Code (claude-code)"]
    )
    assert "zed" not in listed.stdout
    assert "Not found on this machine: zed" in listed.stderr
    assert "pepys setup pi omp gemini-cli opencode vscode windsurf" in listed.stderr


@pytest.mark.parametrize(
    ("there", "found"),
    [
        (["shared/settings.json", "shared/auth.json"], {"pi"}),
        (["shared/config.yml", "shared/models.db"], {"omp"}),
        (["shared/settings.json", "shared/agent.db"], {"pi", "omp"}),
        (["shared/trust.json", ".omp/agent/history.db"], {"pi", "omp"}),
        (["shared/sessions/none", "bin/omp"], {"omp"}),
        (["shared/sessions/none", "bin/pi"], {"pi"}),
    ],
)
def test_of_hosts_whose_directory_is_named_alike_those_are_found_that_are_used(
    there: list[str], found: set[str], home: Path, pepys: Pepys, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PI_CODING_AGENT_DIR", "~/shared")
    monkeypatch.setenv("PATH", os.pathsep.join(["bin", str(home / "bin")]))
    for name in there:
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).touch()

    listed = pepys("setup")

    states = {row["target"] for row in pepys("setup", "--json").json["targets"] if row["found"]}
    assert states == found
    assert f"Set them up: pepys setup {' '.join(sorted(found, reverse=True))}" in listed.stderr


def test_a_changed_file_of_pi_is_not_told_as_omps(home: Path, pepys: Pepys, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PI_CODING_AGENT_DIR", "~/shared")
    monkeypatch.setenv("PATH", "")
    (home / "shared").mkdir()
    (home / "shared" / "settings.json").write_text("{}")
    pepys("setup", "pi", "--yes", "--no-index")
    changed = home / "shared" / "extensions" / "pepys" / "launch.json"
    changed.write_text("{}")

    checks = pepys("doctor", "--json").json["checks"]

    assert [check["subject"] for check in checks if str(changed) in check["finding"]] == ["Pi"]


def test_doctor_tells_of_each_agent_whether_pepys_starts_in_it(
    agents: Path, pepys: Pepys, monkeypatch: pytest.MonkeyPatch
) -> None:
    pepys("setup", "codex", "--yes")
    with monkeypatch.context() as patched:
        patched.setattr(sys, "executable", "/gone/python")
        pepys("setup", "cursor", "--yes")

    found = pepys("doctor", "--json")

    checks = {check["subject"]: check for check in found.json["checks"]}
    assert found.status == 1
    assert checks["Codex"]["state"] == "ok"
    assert checks["Cursor"]["state"] == "action"
    assert "/gone/python does not start it any more" in checks["Cursor"]["finding"]
    assert "`pepys setup cursor`" in checks["Cursor"]["step"]
    assert checks["Zed"] == {
        "subject": "Zed",
        "state": "ok",
        "finding": "found, and Pepys is not set up in it",
        "step": "`pepys setup zed` does that.",
    }
    pepys("setup", "cursor", "--yes")
    assert pepys("doctor").status == 0


def test_doctor_tells_what_an_agent_needs(agents: Path, pepys: Pepys, monkeypatch: pytest.MonkeyPatch) -> None:
    pepys("setup", "codex", "--yes")
    other_entry(agents)
    monkeypatch.setattr(standing, "missing_extra", lambda name: TARGETS[name].extra if name == "codex" else "")

    checks = {check["subject"]: check for check in pepys("doctor", "--json").json["checks"]}

    assert checks["Codex"]["step"] == "Install it: pip install 'pepys[mcp]'"
    assert checks["Claude Code"]["state"] == "note"
    assert "is not Pepys's" in checks["Claude Code"]["finding"]


# What is started


def test_a_project_with_a_folder_of_that_name_does_not_become_the_program(
    agents: Path, pepys: Pepys, tmp_path: Path
) -> None:
    pepys("setup", "pi", "--yes", "--no-index")
    command = json.loads((agents / ".pi/agent/extensions/pepys/launch.json").read_text())["command"]
    (tmp_path / "pepys").mkdir()
    (tmp_path / "pepys" / "__main__.py").write_text("print('taken over')")

    started = subprocess.run([*command, "--version"], cwd=tmp_path, capture_output=True, text=True, check=True)

    assert started.stdout.startswith("pepys ")


@pytest.mark.parametrize("client", ["codex", "cursor", "opencode"])
def test_the_entry_starts_a_server_that_speaks_mcp(client: str, agents: Path, pepys: Pepys, tmp_path: Path) -> None:
    pepys("setup", client, "--yes")
    found = entry(agents, client)
    command = found["command"] if client == "opencode" else [found["command"], *found["args"]]
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    line = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}) + "\n"

    server = subprocess.run(command, cwd=tmp_path, input=line, capture_output=True, text=True, timeout=60)

    assert json.loads(server.stdout.split("\n")[0])["result"]["serverInfo"]["name"] == "pepys"


@pytest.mark.parametrize(("options", "built"), [([], True), (["--no-index"], False)])
def test_setting_up_a_host_builds_the_first_index(options: list[str], built: bool, home: Path, pepys: Pepys) -> None:
    samples.install(home)

    done = pepys("setup", "pi", "--yes", *options)

    assert done.status == 0
    assert ("The index holds" in done.stderr) is built
    assert (home / ".cache" / "pepys" / "pepys-1").exists() is built


def test_an_index_that_cannot_be_built_keeps_no_host_from_being_set_up(
    home: Path, pepys: Pepys, tmp_path: Path
) -> None:
    samples.install(home)
    blocked = tmp_path / "file"
    blocked.touch()

    done = pepys("setup", "pi", "--yes", "--index-dir", str(blocked))

    assert done.status == 0
    assert "The index was not built" in done.stderr
