"""Text about programming that every Python carries: paragraphs of the standard library's docstrings."""

from __future__ import annotations

import ast
import random
import sysconfig
from collections.abc import Iterator
from pathlib import Path


def paragraphs(count: int, seed: int) -> list[str]:
    """So many different paragraphs of 30 to 400 characters; the same ones for the same Python and seed."""
    found = sorted(set(_all(Path(sysconfig.get_path("stdlib")))))
    return random.Random(f"docstrings {seed}").sample(found, min(count, len(found)))


def _all(library: Path) -> Iterator[str]:
    for path in sorted(library.glob("*.py")):
        try:
            tree = ast.parse(path.read_text(encoding="utf-8"))
        except (OSError, ValueError, SyntaxError):
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                for paragraph in (ast.get_docstring(node) or "").split("\n\n"):
                    text = " ".join(paragraph.split())
                    if 30 <= len(text) <= 400 and ">>>" not in text:
                        yield text
