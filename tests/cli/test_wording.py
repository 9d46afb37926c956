"""Complaints name what is written on the command line, and no parameter of an action."""

from __future__ import annotations

import re

import pytest

from pepys import actions
from pepys.actions import schema
from pepys.actions.table import ACTIONS
from pepys.cli import wording
from tests.cli.conftest import Pepys
from tests.cli.test_documents import commands, option_names

SESSION = "019cdd56-0a83-7415-bb92-90e47cf1d004"


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ("run - --timeout 0", "--timeout must be a number of seconds above 0."),
        ("run - --timeout soon", "--timeout must be a number, not 'soon'."),
        ("recall --limit 0", "--limit must be at least 1."),
        ("recall --limit 99", "--limit must be at most 50."),
        ("recall --limit few", "--limit must be a whole number, not 'few'."),
        ("recall x --snippet-chars 5 --offset -1", "--offset must be at least 0; --snippet-chars must be at least 80."),
        ("sessions --limit 0", "--limit must be at least 1."),
        ("expand x --max-chars 10", "--max-chars must be at least 256."),
        (f"expand {SESSION} --range 9:99", "--range 9..99 is not within the session's 10 records."),
        ("expand x --range -1:2", "--range needs A:B: records A to B, both included."),
        ("recall --since", "--since needs WHEN: a date, a time, 7d, 12h, today or yesterday."),
        ("recall --match al", "--match must be one of any, all, not 'al' (did you mean all?)."),
        (f"events read {SESSION} x --before -1", "--before must be at least 0."),
        ("journal search x --top-k 0", "--top-k must be at least 1."),
        (f"journal transcript {'x' * 300}", "FILE is no path: it has a name of more than 255 bytes."),
        (f"journal expand abcd --project {'x' * 300}", "--project is no path: it has a name of more than 255 bytes."),
        (f"events search x --in {'x' * 300}", "--in is no path: it has a name of more than 255 bytes."),
    ],
)
def test_a_number_that_is_out_of_bounds_is_called_by_its_option(
    pepys: Pepys, shop: tuple[str, ...], arguments: str, complaint: str
) -> None:
    for_people = pepys(*arguments.split(), *shop)
    for_programs = pepys("--json", *arguments.split(), *shop)

    assert for_people.status == for_programs.status == 2
    assert for_people.stderr.splitlines()[0] == f"pepys: {complaint}"
    assert for_programs.json["error"]["message"] == complaint


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        ("expand nowhere", "`pepys sessions --scope global` lists them."),
        ("tree nowhere", "Only sessions of this workspace are shown; --cwd names another."),
        ("index show nowhere", "`pepys sessions --scope global` lists them."),
        ("recall --scope session:nowhere", "`pepys sessions --scope global` lists them."),
        (f"expand {SESSION} --entry none", "An abandoned branch is read with --all."),
        ("recal x", "See `pepys --help`."),
        ("journal search -foo", "See `pepys journal search --help`; put -- before words that begin with a dash."),
        ("journal write", "See `pepys journal write --help`."),
        ("recall x -foo", "See `pepys --help`; put -- before words that begin with a dash."),
    ],
)
def test_a_hint_is_something_to_write_on_the_command_line(
    pepys: Pepys, shop: tuple[str, ...], arguments: str, hint: str
) -> None:
    found = pepys(*arguments.split(), *shop)

    assert found.stderr.splitlines()[-1] == hint


def test_a_command_that_is_not_there_names_the_one_that_was_meant(pepys: Pepys) -> None:
    assert "not 'recal' (did you mean recall?)." in pepys("recal", "x").stderr


def test_what_is_called_with_json_is_told_in_its_words(pepys: Pepys, shop: tuple[str, ...]) -> None:
    refused = pepys("call", "memory.recall", '{"pageSize": 0}', *shop).json["error"]
    missing = pepys("call", "memory.expand", '{"session": "nowhere"}', *shop).json["error"]

    assert refused["message"] == "Invalid arguments for memory.recall: pageSize must be at least 1"
    assert missing["hint"].startswith("List sessions with memory.sessions")


def test_every_name_is_a_parameter_s_and_every_option_exists() -> None:
    known: set[str] = set()
    for action in ACTIONS.values():
        for parameter in schema.parameters(actions.load(action.request)).values():
            known.add(parameter.name)
            if isinstance(parameter.type, type) and hasattr(parameter.type, "__dataclass_fields__"):
                known |= {f"{parameter.name}.{inner}" for inner in schema.parameters(parameter.type)}
    options = {option for parser in commands().values() for option in option_names(parser)}

    assert wording.NAMES.keys() <= known
    assert {name for name in wording.NAMES.values() if name.startswith("--")} <= options
    assert all(re.fullmatch(r"--[a-z-]+|[A-Z]+", name) for name in wording.NAMES.values())
