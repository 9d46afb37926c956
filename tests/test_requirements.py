"""The table of promises and the tests that show them are held to each other."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from tests.requirements import PROMISES, REQUIREMENTS

TESTS = Path(__file__).parent


def marks() -> Iterator[tuple[str, str]]:
    """Every id that a test carries, and where."""
    for path in sorted(TESTS.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "pytest.mark.requirement":
                where = f"{path.relative_to(TESTS)}:{node.lineno}"
                for argument in node.args:
                    assert isinstance(argument, ast.Constant), f"{where}: an id is written out"
                    yield str(argument.value), where


def test_every_promise_has_a_test() -> None:
    shown = {id_ for id_, _ in marks()}

    assert sorted(REQUIREMENTS.keys() - shown) == []


def test_every_mark_names_a_promise() -> None:
    unknown = [(id_, where) for id_, where in marks() if id_ not in REQUIREMENTS]

    assert unknown == []


def test_every_promise_has_its_own_id() -> None:
    assert len(REQUIREMENTS) == sum(map(len, PROMISES.values()))
