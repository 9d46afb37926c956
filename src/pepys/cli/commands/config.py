"""`pepys config list`: every key, its value and where it comes from."""

from __future__ import annotations

import argparse
import os
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
    for row in rows:
        origin = row["origin"] if row["origin"] == "default" else f"default: {row['default']}; from {row['origin']}"
        out.line(Span(str(row["key"]), "bold"), f" = {_shown(row['value'])}  ", Span(f"({origin})", "dim"))
        out.line(Span(f"    {row['description']}", "dim"))
    if resolved.ignored is not None:
        out.note(
            f"{resolved.ignored} is ignored: its project is not trusted (`pepys trust {resolved.ignored.parent}`)."
        )
    return 0


def _plain(value: object) -> object:
    if isinstance(value, tuple):
        return list(value)
    return str(value) if isinstance(value, Path) else value


def _shown(value: object) -> str:
    from pepys.cli.output import json_text

    return value if isinstance(value, str) else json_text(value)
