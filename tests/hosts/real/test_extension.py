"""The extension's TypeScript without a host: its types, and the keys that terminals send."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.hosts.real.conftest import EXTENSIONS, provided
from tests.hosts.real.installed import Package
from tests.hosts.real.table import HOSTS, NODE

COMPILER = Package("typescript", {"node": NODE, "typescript": "^7", "@types/node": "^22"})


def test_the_types_of_the_extension_hold() -> None:
    modules = provided(COMPILER) / "node_modules"
    command = [modules / "node" / "bin" / "node", modules / "typescript" / "bin" / "tsc"]

    done = subprocess.run(
        [*command, "-p", EXTENSIONS / "tsconfig.json", "--typeRoots", modules / "@types"],
        capture_output=True,
        text=True,
    )

    assert (done.stdout, done.returncode) == ("", 0)


KEYS: dict[str, dict[str, str] | None] = {
    "a": {"text": "a"},
    "日": {"text": "日"},
    "é": {"text": "é"},
    " ": {"text": " "},
    "\r": {"key": "enter"},
    "\t": {"key": "tab"},
    "\x1b": {"key": "escape"},
    "\x7f": {"key": "backspace"},
    "\x0b": {"key": "ctrl+k"},
    "\x1b[A": {"key": "up"},
    "\x1bOB": {"key": "down"},
    "\x1b[Z": {"key": "shift+tab"},
    "\x1b[9;2u": {"key": "shift+tab"},
    "\x1b[27u": {"key": "escape"},
    "\x1b[13;1u": {"key": "enter"},
    "\x1b[97u": {"text": "a"},
    "\x1b[97;2u": {"text": "A"},
    "\x1b[107;5u": {"key": "ctrl+k"},
    "\x1b[3~": {"key": "delete"},
    "\x1b[5~": {"key": "pageup"},
    "\x1b[1;5C": {"key": "ctrl+right"},
    "\x1b[1;1:3A": None,  # a key that was let go
    "\x1b[200~pasted\ntext\x1b[201~": {"text": "pasted\ntext"},
    "\x1bf": {"key": "alt+f"},
    "\x1b[?1;2c": None,  # what a terminal says of itself
}


def test_keys_are_named_as_the_picker_names_them(tmp_path: Path) -> None:
    assert _typed(list(KEYS), tmp_path) == list(KEYS.values())


def _typed(keys: list[str], scratch: Path) -> Any:
    node = provided(HOSTS["pi-1.6.0"].package) / "node_modules" / "node" / "bin" / "node"
    script = scratch / "keys.mjs"
    picker = (EXTENSIONS / "core" / "picker.ts").as_uri()
    script.write_text(
        f"import {{ typed }} from {json.dumps(picker)};\n"
        f"console.log(JSON.stringify({json.dumps(keys)}.map((key) => typed(key) ?? null)));\n"
    )
    done = subprocess.run([node, "--no-warnings", script], capture_output=True, text=True, timeout=60)
    if done.returncode:
        pytest.fail(done.stderr)
    return json.loads(done.stdout)
