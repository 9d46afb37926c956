"""`pepys config list`: every key, its value and where it comes from."""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from pepys import config
from pepys.cli import options
from pepys.cli.output import Output, Span


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the one thing to do with configuration."""
    parser.add_argument("what", choices=["list"], metavar="list", help="list every key")


def run(args: argparse.Namespace, out: Output) -> int:
    """Print key, value, default and origin."""
    cwd = options.keywords(args, os.environ)["cwd"]
    flags = {} if args.index_dir is None else {"memory": {"indexDir": str(Path.cwd() / args.index_dir)}}
    resolved = config.load(os.environ, cwd, trusted=True if args.trust_project else None, flags=flags)
    rows = [
        {
            "key": name,
            "value": _plain(resolved.get(key)),
            "default": key.shown,
            "origin": resolved.origins.get(name, "default"),
            "variable": key.variable,
            "description": key.description,
        }
        for name, key in config.KEYS.items()
    ]
    if out.as_json:
        out.json({"keys": rows, "ignored": None if resolved.ignored is None else str(resolved.ignored)})
        return 0
    if out.stdout.isatty():
        _tabulate(rows, out)
    else:
        for row in rows:
            out.line(f"{row['key']} = {_shown(row['value'])}  ({_origin(row)})")
            out.line(f"    {row['description']}")
    if resolved.ignored is not None:
        out.note(
            f"{resolved.ignored} is ignored: its project is not trusted (`pepys trust {resolved.ignored.parent}`)."
        )
    return 0


def _tabulate(rows: Sequence[Mapping[str, object]], out: Output) -> None:
    """One table a section, under the heading that it has in a file."""
    for section in config.SECTIONS:
        cells = []
        for row in rows:
            prefix, _, name = str(row["key"]).partition(".")
            if prefix == section:
                style = "" if row["origin"] == "default" else "bold yellow"
                meaning = [Span(str(row["description"]), "dim")]
                if style:
                    meaning.append(Span(f" ({_origin(row)})", "yellow"))
                cells.append(([Span(name, "bold")], [Span(_shown(row["value"]), style)], meaning))
        out.line(Span(f"[{section}]", "cyan"))
        out.table(cells)
        out.line()


def _origin(row: Mapping[str, object]) -> str:
    origin = str(row["origin"])
    return origin if origin == "default" else f"default: {row['default']}; from {origin}"


def _plain(value: object) -> object:
    if isinstance(value, tuple):
        return list(value)
    return str(value) if isinstance(value, Path) else value


def _shown(value: object) -> str:
    from pepys.jsontext import json_text

    return value if isinstance(value, str) else json_text(value)
