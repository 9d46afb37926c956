"""What does not need the heavy parts does not load them."""

from __future__ import annotations

import subprocess
import sys
import time

from tests.cli.conftest import Pepys


def loaded_by(code: str) -> set[str]:
    """The modules that *code* loads beyond those that a bare interpreter has."""
    program = f"import sys; before = set(sys.modules); exec({code!r}); print(*sorted(set(sys.modules) - before))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return set(done.stdout.splitlines()[-1].split())


def test_the_version_costs_nothing_but_the_package_itself() -> None:
    typing_alone = loaded_by("import __future__, collections.abc, typing; print()")

    loaded = loaded_by("from pepys.cli import main; main(['--version'])")

    assert loaded - typing_alone == {"pepys", "pepys.cli"}
    assert not loaded & {"tantivy", "sqlite3", "msgspec", "rich", "shtab", "json", "dataclasses", "argparse"}


def test_the_version_is_printed() -> None:
    from pepys import __version__

    done = subprocess.run([sys.executable, "-m", "pepys", "--version"], capture_output=True, text=True, check=True)

    assert done.stdout == f"pepys {__version__}\n"


def test_help_loads_neither_engine_nor_database() -> None:
    loaded = loaded_by("""
from pepys.cli import main
main(['recall', '--help'])
print()
""")

    assert "pepys.cli.commands.recall" in loaded
    assert not loaded & {"tantivy", "sqlite3", "msgspec", "rich", "shtab", "pepys.workspace", "pepys.index"}


def test_a_search_over_an_index_that_is_up_to_date_loads_nothing_that_writes(
    shop: tuple[str, ...], pepys: Pepys
) -> None:
    pepys("index", *shop)
    time.sleep(0.1)  # stamps of sessions just written prove nothing
    pepys("index", *shop)

    loaded = loaded_by(f"from pepys.cli import main; main({['recall', 'stock', *shop]!r}); print()")

    assert {"pepys.recall.search", "tantivy"} <= loaded
    assert not loaded & {"pepys.index.apply", "pepys.index.overlay", "rich", "shtab", "msgspec"}
    assert not loaded & {"difflib", "tomllib", "tempfile", "shutil", "importlib.metadata", "subprocess", "logging"}
