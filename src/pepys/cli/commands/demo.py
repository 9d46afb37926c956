"""`pepys demo`: try Pepys on sample sessions, without touching anything."""

from __future__ import annotations

import argparse
import json
import os
import shlex
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pepys import samples
from pepys.cli import options, render
from pepys.cli.output import Output, Span
from pepys.errors import InvalidArgument, PepysError, StalePointer
from pepys.spelling import counted

if TYPE_CHECKING:
    from pepys.workspace import Workspace

OWN_HISTORY_S = 1.0
"""A demo is quick: this much indexing of the user's own sessions, newest first, then what is found is shown."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Nothing beyond the options of every command."""


def run(args: argparse.Namespace, out: Output) -> int:
    """Tell the story; leaves nothing behind."""
    if out.as_json:
        raise InvalidArgument("The demo is for people; it has no JSON.")
    from pepys import workspace

    with tempfile.TemporaryDirectory(prefix="pepys-demo-") as directory:
        home = Path(directory)
        samples.install(home)
        out.line("Sample sessions of a web shop, three written by Pi and one by OMP, in a temporary directory.")
        with workspace.open(cwd=samples.PROJECT, index_dir=home / "index", env={"HOME": str(home)}) as shop:
            _tell(shop, out)
        _own_history(args, out, home / "own-index")
    return 0


def _tell(shop: Workspace, out: Output) -> None:
    _search(shop, out, "Who remembers why we oversold?", "overselling", "race", limit=2)
    _search(shop, out, "The exact words", "conditional UPDATE", phrase=True, limit=2)
    _search(shop, out, "What tools printed, across both hosts", "timeout", "port", "8080", match="all", limit=1)
    _search(
        shop, out, "An idea that was given up lives on another branch", "lock", "containers", match="all", every=True
    )

    _title(out, "Every hit carries a call that opens it, bound to the file it came from")
    hit = shop.call("memory.recall", {"query": "ExecStop", "scope": "project"})["hits"][0]
    token = hit["follow"]
    out.line(Span(f"$ pepys call - <<< {shlex.quote(json.dumps(token))}", "dim"))
    _expand(shop.call(token["ref"], token["args"]), out)

    _title(out, "The session goes on; the old pointer says so instead of misquoting")
    file = Path(token["args"]["session"])
    with file.open("a", encoding="utf-8") as session:
        entry = {"type": "label", "id": "0000feed", "parentId": hit["entryId"], "timestamp": "2026-03-09T18:00:00.000Z"}
        session.write(json.dumps({**entry, "targetId": hit["entryId"], "label": "deploy"}) + "\n")
    try:
        carried = shop.call(token["ref"], token["args"]).get("error")
    except StalePointer as error:
        carried = error.as_json()
    if isinstance(carried, Mapping):
        out.line(Span(str(carried["code"]), "bold red"), f": {carried['message']}")


def _search(
    shop: Workspace,
    out: Output,
    title: str,
    *words: str,
    phrase: bool = False,
    match: str | None = None,
    every: bool = False,
    limit: int = 1,
) -> None:
    _title(out, title)
    flags = [*(["--phrase"] if phrase else []), *(["--match", match] if match else []), *(["--all"] if every else [])]
    out.line(Span(f"$ {shlex.join(['pepys', 'recall', *words, *flags])}", "dim"))
    request: dict[str, object] = {
        "query": " ".join(words),
        "scope": "project",
        "pageSize": limit,
        "queryMode": "phrase" if phrase else "literal",
        "branches": "all" if every else "active",
        **({"queryMatch": match} if match else {}),
    }
    _hits(shop.call("memory.recall", request), request, out)


def _hits(page: Mapping[str, Any], request: Mapping[str, object], out: Output) -> None:
    for hit in page["hits"]:
        for line in render.hit_lines(
            hit, str(request.get("query", "")), phrase=request.get("queryMode") == "phrase", options=[]
        ):
            out.line(*line)
    if page["total"] > len(page["hits"]):
        out.line(Span(f"({len(page['hits'])} of {counted(page['total'], 'hit')})", "dim"))


def _expand(page: Mapping[str, Any], out: Output) -> None:
    for entry in page["entries"]:
        for line in render.entry_lines(entry):
            out.line(*line)


def _own_history(args: argparse.Namespace, out: Output, index: Path) -> None:
    """The user's newest session, with an index that is thrown away; whatever goes wrong only ends the demo."""
    from pepys import workspace

    _title(out, "And your own sessions?")
    keywords = {**options.keywords(args, os.environ), "index_dir": index}
    try:
        with workspace.open(**keywords, env=os.environ, shown=True, patience_s=OWN_HISTORY_S) as own:
            for scope in ("project", "global"):
                request: dict[str, object] = {"scope": scope, "pageSize": 3, "snippetChars": 160}
                page = own.call("memory.recall", request)
                if page["hits"]:
                    out.line("The newest that Pi and OMP wrote" + (" for this project:" if scope == "project" else ":"))
                    _hits(page, request, out)
                    where = "" if scope == "project" else " --scope global"
                    out.line(Span(f"Search them: pepys recall{where} some words", "bold"))
                    return
        out.line("None were found here. Once Pi or OMP has written some: pepys recall some words")
    except PepysError as error:
        out.line(f"They cannot be read just now: {error.message}")
        out.line("`pepys doctor` says more.")


def _title(out: Output, text: str) -> None:
    out.line()
    out.line(Span(text, "bold"))
