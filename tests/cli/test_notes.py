"""`pepys notes`: every verb, from arguments to bytes."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Pepys

Editor = Callable[[str], None]


@pytest.fixture
def project(home: Path, tmp_path: Path, pepys: Pepys) -> Path:
    """The working directory, as a trusted project."""
    assert pepys("trust", str(tmp_path)).status == 0
    return tmp_path


def written(project: Path) -> str:
    return (project / ".pi" / "memory.md").read_text("utf-8")


@pytest.mark.requirement("notes.command_list")
@pytest.mark.parametrize("arguments", [("notes",), ("notes", "list")])
def test_notes_are_listed_by_scope(pepys: Pepys, project: Path, arguments: tuple[str, ...]) -> None:
    pepys("notes", "add", "use", "bun")
    pepys("notes", "add", "--scope", "global", "be brief")

    listed = pepys(*arguments)

    assert listed.stdout == "project use bun\nglobal  be brief\n"
    assert listed.stderr == "1 project, 1 global.\n"
    assert pepys("notes", "list", "--scope", "global").stdout == "global  be brief\n"
    assert pepys(*arguments, "--json").json == {
        "action": "list",
        "scope": "project",
        "project": ["use bun"],
        "global": ["be brief"],
        "changed": False,
    }


@pytest.mark.requirement("notes.headless")
def test_an_untrusted_project_is_said_to_be_one(pepys: Pepys, home: Path, tmp_path: Path) -> None:
    listed, added = pepys("notes"), pepys("notes", "add", "x")

    assert "not trusted: its notes are not read (`pepys trust" in listed.stderr
    assert (listed.status, added.status) == (0, 3)
    assert "Use --scope global, or trust the project" in added.stderr
    assert pepys("notes", "add", "x", "--trust-project").status == 0
    path = tmp_path / ".pi" / "memory.md"
    told = f"project    not read, {path.stat().st_size} bytes in {path}; the project is not trusted"
    assert pepys("notes", "doctor").stdout.splitlines()[0] == told


def test_each_change_says_what_it_did(pepys: Pepys, project: Path) -> None:
    told = [
        pepys("notes", *arguments).stderr.splitlines()
        for arguments in (
            ("add", "use", "npm"),
            ("add", "Use npm."),
            ("update", "use npm", "use bun"),
            ("update", "use bun", "use bun"),
            ("add", "never npm"),
            ("merge", "use bun", "never npm", "bun, never npm"),
            ("move", "bun, never npm"),
            ("move", "--scope", "global", "bun, never npm"),
            ("forget", "bun, never npm"),
        )
    ]

    assert [lines[0] for lines in told] == [
        "Added to project memory: use npm",
        "Already in project memory: use npm",
        "Updated in project memory: use bun",
        "Nothing to update in project memory: both texts are the same.",
        "Added to project memory: never npm",
        "Merged.",
        "Moved to global memory.",
        "Moved to project memory.",
        "Removed from project memory: bun, never npm",
    ]
    assert told[0][1] == "Now 1 project, 0 global."
    assert told[-1][1] == "Now 0 project, 0 global."


@pytest.mark.parametrize(
    "arguments",
    [
        ("add", "c"),
        ("update", "a", "c"),
        ("forget", "a"),
        ("move", "a"),
        ("merge", "a", "b", "c"),
        ("clear", "--yes"),
        ("list",),
    ],
)
def test_json_is_the_action_s_own_result_and_nothing_else(
    pepys: Pepys, project: Path, arguments: tuple[str, ...]
) -> None:
    for note in ("a", "b"):
        pepys("notes", "add", note)

    told = pepys("notes", *arguments, "--json")

    assert (told.status, told.stderr) == (0, "")
    assert told.json["project"] == pepys("notes", "list", "--json").json["project"]
    assert told.json["changed"] is (arguments != ("list",))


@pytest.mark.parametrize(
    ("arguments", "status", "code"),
    [
        (("forget", "nothing"), 4, "note_not_found"),
        (("update", "nothing", "x"), 4, "note_not_found"),
        (("merge", "a", "b", "c"), 4, "note_not_found"),
        (("move", "nothing"), 4, "note_not_found"),
        (("add", "x" * 501), 2, "invalid_argument"),
        (("add",), 2, "invalid_argument"),
        (("update", "one"), 2, "invalid_argument"),
        (("path", "more"), 2, "invalid_argument"),
        (("edit", "team"), 2, "invalid_argument"),
        (("clear", "project", "--scope", "global"), 2, "invalid_argument"),
        (("clear",), 2, "invalid_argument"),
        (("list", "--yes"), 2, "invalid_argument"),
        (("wipe",), 2, "invalid_argument"),
    ],
)
def test_what_cannot_be_done_is_an_error_in_words_and_in_json(
    pepys: Pepys, project: Path, arguments: tuple[str, ...], status: int, code: str
) -> None:
    in_words, in_json = pepys("notes", *arguments), pepys("notes", *arguments, "--json")

    assert (in_words.status, in_words.stdout, in_words.stderr.startswith("pepys: ")) == (status, "", True)
    assert (in_json.status, in_json.json["error"]["code"]) == (status, code)


@pytest.mark.requirement("notes.command_path", "notes.headless")
def test_the_files_are_told(pepys: Pepys, project: Path, home: Path) -> None:
    where = pepys("notes", "path")

    assert where.stdout == f"project {project.resolve()}/.pi/memory.md\nglobal  {home}/.pi/agent/memory.md\n"
    assert where.stderr == f"The project is trusted: {project.resolve()}\n"
    assert pepys("notes", "path", "--json").json["trusted"] is True


@pytest.mark.requirement("notes.reload", "notes.headless")
def test_a_reload_counts(pepys: Pepys, project: Path) -> None:
    pepys("notes", "add", "a")

    assert pepys("notes", "reload").stdout == "project 1 note\nglobal  0 notes\n"
    told = pepys("notes", "reload", "--json").json["project"]
    assert told == {"read": True, "notes": 1, "added": [], "removed": []}


@pytest.mark.requirement("notes.doctor", "notes.headless")
def test_the_doctor_reports(pepys: Pepys, project: Path) -> None:
    pepys("notes", "add", "use bun")
    pepys("notes", "add", "Use bun.", "--scope", "global")
    (project / ".pi" / "memory.md").write_text("- use bun\n" + f"- {'x' * 499}\n" * 20)

    told = pepys("notes", "doctor").stdout.splitlines()

    assert told[0].startswith("project    21 notes, ")
    assert " of 8192 bytes" in told[2]
    assert f"omitted    project: {'x' * 499}" in told
    assert "duplicate  project: use bun = global: Use bun." in told
    assert len(pepys("notes", "doctor", "--json").json["duplicates"]) == 20


@pytest.mark.requirement("notes.doctor", "notes.read_cap")
def test_of_a_store_that_is_too_large_its_size_is_told_and_that_it_is_not_read(
    pepys: Pepys, project: Path, editor: Editor
) -> None:
    path = project / ".pi" / "memory.md"
    path.parent.mkdir()
    path.write_bytes(b"- a\n" + b"x" * 262_300)

    doctor, reload = pepys("notes", "doctor"), pepys("notes", "reload")

    assert doctor.stdout.splitlines()[0] == (
        f"project    not read, 262 kB in {path}; {path} is over 256 KiB and is not read."
    )
    assert pepys("notes", "doctor", "--json").json["project"]["bytes"] == path.stat().st_size
    assert reload.stdout.startswith(f"project not read; {path} is over 256 KiB")
    editor("raise SystemExit(1)")
    for arguments in (("add", "b"), ("forget", "a"), ("edit",), ("clear", "--yes")):
        refused = pepys("notes", *arguments)
        assert refused.status == 6
        assert "or would be" not in refused.stderr
        assert "in an editor of your own" in refused.stderr


@pytest.mark.requirement("notes.clear")
def test_without_a_terminal_clearing_needs_a_yes(pepys: Pepys, project: Path) -> None:
    pepys("notes", "add", "a")

    refused = pepys("notes", "clear")

    assert (refused.status, "- a\n" in written(project)) == (2, True)
    assert pepys("notes", "clear", "--yes", "project").stderr.startswith("Removed 1 note from project memory.")
    assert "- a" not in written(project)


@pytest.mark.requirement("notes.no_bulk_clear")
def test_the_tool_cannot_clear(pepys: Pepys, project: Path) -> None:
    pepys("notes", "add", "a")

    refused = pepys("call", "notes.memory", '{"action": "clear"}')

    assert (refused.status, refused.json["project"]) == (2, ["a"])


@pytest.fixture
def editor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Editor:
    """Take a program's text for the editor; `path` is the file and `old` its bytes there."""

    def take(program: str) -> None:
        script = tmp_path / "editor.py"
        head = "import sys; from pathlib import Path; path = Path(sys.argv[1]); old = path.read_bytes()\n"
        script.write_text(head + program)
        monkeypatch.setenv("EDITOR", shlex.join([sys.executable, str(script)]))

    return take


@pytest.mark.requirement("notes.edit")
def test_an_editor_gets_the_file_byte_for_byte(pepys: Pepys, project: Path, editor: Editor) -> None:
    store = project / ".pi" / "memory.md"
    store.parent.mkdir()
    store.write_bytes(b"\xff\x00junk\r\n- a")
    editor("path.write_bytes(old + b'\\r\\n- b')")

    edited = pepys("notes", "edit")

    assert (edited.status, edited.stderr.splitlines()[0]) == (0, "Saved.")
    assert store.read_bytes() == b"\xff\x00junk\r\n- a\r\n- b"
    editor("pass")
    assert pepys("notes", "edit", "project").stderr.startswith("Nothing was changed.")
    assert pepys("notes", "edit", "--json").json["changed"] is False


@pytest.mark.requirement("notes.edit")
def test_what_was_written_against_a_past_revision_is_kept_for_its_author(
    pepys: Pepys, project: Path, editor: Editor
) -> None:
    pepys("notes", "add", "a")
    store = project / ".pi" / "memory.md"
    editor(f"Path({str(store)!r}).write_text('- theirs\\n'); path.write_text('- mine\\n')")

    refused = pepys("notes", "edit")

    assert refused.status == 5
    kept = Path(refused.stderr.strip().rsplit(" ", 1)[1].rstrip("."))
    assert (store.read_text(), kept.read_text()) == ("- theirs\n", "- mine\n")
    kept.unlink()
    kept.parent.rmdir()


@pytest.mark.requirement("notes.edit")
@pytest.mark.parametrize("program", [None, "sys.exit(3)"])
def test_without_an_editor_that_ends_well_nothing_is_saved(
    pepys: Pepys, project: Path, editor: Editor, monkeypatch: pytest.MonkeyPatch, program: str | None
) -> None:
    for name in ("EDITOR", "VISUAL"):
        monkeypatch.delenv(name, raising=False)
    if program is not None:
        editor(f"path.write_text('- b'); {program}")
    before = set(os.listdir(project))

    assert pepys("notes", "edit").status == 2
    assert set(os.listdir(project)) == before


# On a terminal


class Terminal:
    """A stream that says it is one."""

    def __init__(self, stream: Any) -> None:
        self.stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)

    def isatty(self) -> bool:
        return True


def on_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    from pepys.cli.commands import notes

    class Sys:
        stdin, stdout = Terminal(sys.stdin), Terminal(sys.stdout)

    monkeypatch.setattr(notes, "sys", Sys)


@pytest.mark.requirement("notes.picker_screen")
def test_on_a_terminal_the_picker_opens(pepys: Pepys, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("textual")
    from pepys.tui.notes import Picker

    ran: list[Any] = []
    monkeypatch.setattr(Picker, "run", lambda self: ran.append(self._step({})["lines"]))
    on_terminal(monkeypatch)

    opened, as_json = pepys("notes"), pepys("notes", "--json")

    assert (opened.status, len(ran), as_json.json["action"]) == (0, 1, "list")


@pytest.mark.requirement("notes.picker_screen")
def test_without_textual_the_list_is_shown_and_what_to_install(
    pepys: Pepys, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pepys("notes", "add", "a")
    on_terminal(monkeypatch)
    monkeypatch.setitem(sys.modules, "pepys.tui.notes", None)

    shown = pepys("notes")

    assert (shown.status, shown.stdout) == (0, "project a\n")
    assert "pip install 'pepys[tui]'" in shown.stderr


@pytest.mark.requirement("notes.clear")
@pytest.mark.parametrize(("answer", "left"), [("y", False), ("", True), ("n", True), ("why", True)])
def test_on_a_terminal_clearing_asks(
    pepys: Pepys, project: Path, monkeypatch: pytest.MonkeyPatch, answer: str, left: bool
) -> None:
    pepys("notes", "add", "a")
    asked: list[str] = []

    def ask(prompt: str) -> str:
        asked.append(prompt)
        return answer

    monkeypatch.setattr("builtins.input", ask)
    on_terminal(monkeypatch)

    assert pepys("notes", "clear").status == 0
    assert asked == ["Remove the only note of project memory? y/N "]
    assert ("- a" in written(project)) == left


def test_listing_notes_loads_no_screen_and_no_search(pepys: Pepys, project: Path) -> None:
    from tests.cli.test_startup import loaded_by

    loaded = loaded_by("from pepys.cli import main; main(['notes', 'list']); print()")

    assert "pepys.notes.store" in loaded
    assert not loaded & {"textual", "rich", "msgspec", "subprocess", "tempfile", "pepys.recall.search"}
