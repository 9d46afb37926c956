"""Data flows one way: a module may import only what stands before it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import pepys

SOURCE = Path(pepys.__file__).parent

LAYERS: tuple[tuple[str, ...], ...] = (
    ("model", "errors", "jsontext", "text", "spelling", "redaction"),
    ("paths", "trust", "config"),
    ("hosts", "normalise"),
    ("index",),
    ("recall", "events", "journal"),
    ("notes",),
    ("actions",),
    ("guest",),
    ("samples",),
    ("workspace",),
    ("workspaces", "checks"),
    ("rpc", "mcp", "setup", "tui"),
    ("cli",),
    ("__main__",),
)
RANK = {name: rank for rank, names in enumerate(LAYERS) for name in names}

CONTEXT = {("model", "config"), ("model", "hosts")}
"""What `model.context` names in annotations only."""


def modules() -> list[Path]:
    return [path for path in sorted(SOURCE.rglob("*.py")) if path != SOURCE / "__init__.py"]


def imported(path: Path) -> Iterator[str]:
    """Full names of the modules of this package that a file imports at run time, wherever in it."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    annotations = {
        id(child)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        for child in ast.walk(node)
    }
    for node in ast.walk(tree):
        if id(node) in annotations:
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.split(".")[0] == "pepys")
        elif isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "pepys":
            parts = node.module.split(".")
            yield from (".".join([*parts, alias.name]) for alias in node.names)


def layer(dotted: str) -> str | None:
    """The first name below the package; None for what the package itself defines."""
    parts = dotted.split(".")
    return parts[1] if len(parts) > 1 and parts[1] in RANK else None


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(SOURCE)))
def test_a_module_imports_only_what_stands_before_it(path: Path) -> None:
    own = path.relative_to(SOURCE).parts[0].removesuffix(".py")

    wrong = [name for name in imported(path) if (other := layer(name)) and RANK[other] > RANK[own]]

    assert own in RANK, f"{own} has no place in the order yet"
    assert wrong == []


@pytest.mark.parametrize(
    ("folder", "shared"),
    [("hosts", {"base", "shapes", "jsonl", "locations"}), ("index/engines", {"base"})],
    ids=["hosts", "engines"],
)
def test_a_row_of_a_table_knows_no_other_row(folder: str, shared: set[str]) -> None:
    table = {"hosts": {"pi", "omp"}, "index/engines": {"scan", "tantivy"}}[folder]
    dotted = "pepys." + folder.replace("/", ".") + "."

    neighbours = {
        row: {
            name.removeprefix(dotted).split(".")[0]
            for name in imported(SOURCE / folder / f"{row}.py")
            if name.startswith(dotted)
        }
        for row in table
    }

    assert {row for row, names in neighbours.items() if names - shared} == set()


def test_the_check_sees_an_arrow_that_points_the_wrong_way(tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.py"
    wrong.write_text("def late() -> None:\n    from pepys.cli import main\n    import pepys.recall.scope\n")

    names = list(imported(wrong))

    assert names == ["pepys.cli.main", "pepys.recall.scope"]
