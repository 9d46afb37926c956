"""The reference pages say what the tables say."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from pepys import config
from pepys.cli import options
from pepys.cli.app import COMMANDS
from pepys.cli.exits import error_classes
from pepys.model.coverage import REASONS
from pepys.model.source import DIAGNOSTICS

REFERENCE = Path(__file__).parents[2] / "docs" / "reference"


def page(name: str) -> str:
    return (REFERENCE / name).read_text(encoding="utf-8")


def commands() -> dict[str, argparse.ArgumentParser]:
    top = options.parser(COMMANDS, None)
    (subparsers,) = (action for action in top._actions if isinstance(action, argparse._SubParsersAction))
    return dict(subparsers.choices)


def option_names(parser: argparse.ArgumentParser) -> Iterator[str]:
    """The options of a command, and of the actions that it has."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for choice in action.choices.values():
                yield from option_names(choice)
        yield from (name for name in action.option_strings if name.startswith("--") and name != "--help")


def sections(text: str) -> dict[str, str]:
    parts = re.split(r"^### `pepys (\w+)", text, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def test_every_command_and_each_of_its_options_is_described() -> None:
    described = sections(page("cli.md"))
    common = page("cli.md").split("## Commands")[0]

    missing = [
        f"{name} {option}"
        for name, parser in commands().items()
        for option in option_names(parser)
        if f"`{option}" not in common and f"`{option}" not in described[name]
    ]

    assert described.keys() == COMMANDS.keys()
    assert missing == []


def test_every_option_that_is_described_exists() -> None:
    known = {option for parser in commands().values() for option in option_names(parser)}

    described = set(re.findall(r"`(--[a-z-]+)", page("cli.md")))

    assert described <= known | {"--help"}


def test_every_exit_status_is_described() -> None:
    table = page("cli.md").split("## Exit statuses")[1]

    described = {int(status) for status in re.findall(r"^\| (\d+) \|", table, flags=re.MULTILINE)}

    assert described == {0, 130, *(cls.exit_status for cls in error_classes())}


def test_every_error_is_described_with_its_status() -> None:
    described = dict(re.findall(r"^\| `(\w+)` \| (\d+) \|", page("errors.md"), flags=re.MULTILINE))

    assert described == {cls.code: str(cls.exit_status) for cls in error_classes()}


@pytest.mark.parametrize("table", [REASONS, DIAGNOSTICS], ids=["reasons", "diagnostics"])
def test_every_reason_is_described_in_the_words_of_its_table(table: Mapping[str, tuple[bool, str]]) -> None:
    heading = "## Reasons" if table is REASONS else "## Diagnostics"
    (section,) = (
        part for part in re.split(r"^(?=## )", page("errors.md"), flags=re.MULTILINE) if part.startswith(heading)
    )

    described = re.findall(r"^\| `(\w+)` \| (yes|no) \| (.*) \|$", section, flags=re.MULTILINE)

    assert described == [(code, "yes" if grave else "no", meaning) for code, (grave, meaning) in table.items()]


@pytest.mark.parametrize("key", config.KEYS.values(), ids=lambda key: key.name)
def test_every_key_is_described(key: config.Key) -> None:
    (row,) = (line for line in page("configuration.md").splitlines() if line.startswith(f"| `{key.name}` |"))

    cells = [cell.strip() for cell in row.strip("|").split(" | ")]
    assert cells[2] == f"`{key.shown}`"
    assert cells[3] == (f"{key.minimum} to {key.maximum}" if key.counts else "")
    assert cells[4:] == [f"`{key.variable}`", key.description]


def test_no_key_is_described_that_does_not_exist() -> None:
    described = re.findall(r"^\| `(\w+\.\w+)` \|", page("configuration.md"), flags=re.MULTILINE)

    assert sorted(described) == sorted(config.KEYS)
