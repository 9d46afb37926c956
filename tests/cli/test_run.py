"""`pepys run`, as people and programs use it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Pepys

PROGRAM = """
print("looking")
page = memory.recall(query="stock", scope="project")
return {"total": page["total"], "é": "ü"}
"""


@pytest.fixture
def program(home: Path) -> str:
    path = home / "count.py"
    path.write_text(PROGRAM, encoding="utf-8")
    return str(path)


def test_the_value_is_json_on_stdout_and_prints_go_to_stderr(pepys: Pepys, shop: tuple[str, ...], program: str) -> None:
    found = pepys("run", program, *shop)

    total = pepys("recall", "stock", "--json", *shop).json["total"]
    assert found.stdout == f'{{"total":{total},"é":"ü"}}\n'
    assert (found.status, found.stderr) == (0, "looking\n")


def test_a_program_may_come_on_stdin(pepys: Pepys, shop: tuple[str, ...]) -> None:
    found = pepys("run", "-", *shop, stdin="\ufeffreturn [1, None]")

    assert (found.status, found.stdout) == (0, "[1,null]\n")


def test_an_error_has_its_line_and_a_status_of_its_own(pepys: Pepys, home: Path) -> None:
    (home / "wrong.py").write_text("print('so far')\nx = 1\nraise ValueError('no')")

    found = pepys("run", str(home / "wrong.py"))

    assert (found.status, found.stdout) == (7, "")
    assert found.stderr.startswith("so far\nTraceback (most recent call last):\n")
    assert found.stderr.endswith("pepys: ValueError: no (wrong.py, line 3)\n")


def test_an_error_is_json_where_json_is_asked_for(pepys: Pepys, home: Path) -> None:
    found = pepys("run", "-", "--json", "--timeout", "0.1", stdin="while True:\n    pass")

    assert (found.status, found.json["error"]["code"]) == (7, "program_stopped")
    assert found.json["error"]["limit"] == "guest.timeoutMs"


def test_what_a_program_prints_cannot_steer_a_terminal(pepys: Pepys, home: Path) -> None:
    found = pepys("run", "-", stdin="print('\\x1b[31m')\nreturn '\\x9b'")

    assert "\x1b" not in found.stderr
    assert found.stdout == '"\\u009b"\n'


def test_prints_that_were_cut_are_said_to_be(pepys: Pepys, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PEPYS_GUEST_OUTPUT_CHARS", "10")

    found = pepys("run", "-", stdin="print('x' * 100)\nreturn 1")

    assert found.stderr == "xxxxxxxxxx\n… the program printed more; see guest.outputChars.\n"


@pytest.mark.parametrize(
    ("arguments", "stdin", "error"),
    [
        (("nowhere.py",), b"", "cannot be read"),
        ((".",), b"", "cannot be read"),
        (("-",), b"\xff", "is not UTF-8"),
        (("-",), b"#" * (1024 * 1024 + 1), "at most 1 MiB"),
        (("-", "--timeout", "nan"), b"1", "number of seconds"),
        (("-", "--timeout", "-1"), b"1", "number of seconds"),
        ((), b"", "required"),
    ],
)
def test_a_program_that_cannot_be_had_is_an_error_of_the_request(
    pepys: Pepys, home: Path, arguments: tuple[str, ...], stdin: bytes, error: str
) -> None:
    found = pepys("run", *arguments, stdin=stdin)

    assert (found.status, found.stdout) == (2, "")
    assert error in found.stderr


def test_programs_are_called_like_any_action(pepys: Pepys, home: Path) -> None:
    found = pepys("call", "guest.run", '{"program": "print(1)\\nreturn 2"}')

    assert found.json == {"value": 2, "calls": 0, "output": "1\n"}
