"""Several processes change one store at once: nothing is lost, and nobody ever sees a torn file."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from pepys.notes import markdown
from tests.notes.conftest import Desk

TURNS = 25

CHANGING = """
import json, sys
sys.path[:0] = {paths!r}
from pathlib import Path
from tests.notes.conftest import Desk
desk = Desk(Path({directory!r}))
name, whole = {name!r}, True
for turn in range({turns}):
    for kind in ("kept", "old", "gone"):
        assert desk.memory("add", f"{{name}} {{kind}} {{turn}}")["changed"]
    assert desk.memory("update", f"{{name}} old {{turn}}", to=f"{{name}} new {{turn}}")["changed"]
    assert desk.memory("forget", f"{{name}} gone {{turn}}")["changed"]
    text = desk.text()
    whole = whole and text.startswith("# Shop\\r\\n") and "\\nThe end.\\n" in text and text.endswith("\\n")
print(json.dumps(whole))
"""


@pytest.mark.requirement("notes.processes")
def test_four_processes_that_add_update_and_forget_at_once_lose_nothing(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    desk.write("# Shop\r\n- first\r\nThe end.\n")
    programs = [CHANGING.format(paths=sys.path, directory=str(tmp_path), name=name, turns=TURNS) for name in "abcd"]

    running = [
        subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for program in programs
    ]
    ended = [process.communicate(timeout=240) for process in running]

    assert [process.returncode for process in running] == [0] * 4, ended
    assert [json.loads(out) for out, _ in ended] == [True] * 4
    expected = {f"{name} {kind} {turn}" for name in "abcd" for kind in ("kept", "new") for turn in range(TURNS)}
    found = list(markdown.notes(desk.text()))
    assert (found[0], len(found), set(found[1:])) == ("first", 1 + len(expected), expected)
    assert [path.name for path in desk.path().parent.iterdir()] == ["memory.md"]
    for name in "abcd":
        kept = [note for note in found if note.startswith(f"{name} kept")]
        assert kept == [f"{name} kept {turn}" for turn in range(TURNS)]
