"""`pepys notes`: pick, list, change and check durable notes."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pepys.cli import options
from pepys.cli.output import Output, Span
from pepys.errors import InvalidArgument, PepysError
from pepys.model.notes import SCOPES
from pepys.notes import words

if TYPE_CHECKING:
    from pepys.workspace import Workspace

Json = Mapping[str, Any]


def configure(parser: argparse.ArgumentParser) -> None:
    """Add what can be done with notes."""
    parser.usage = "pepys notes [WHAT] [WORD ...] [OPTIONS]"
    what = parser.add_argument("what", choices=[*_DOINGS], metavar="WHAT", help=f"{', '.join(_DOINGS)}; nothing: pick")
    texts = parser.add_argument(
        "words",
        nargs="+",
        metavar="WORD",
        help="add, forget, move: the note; update: the note and what replaces it; merge: two notes and what they "
        "become; edit, clear: project or global",
    )
    what.required = texts.required = False  # as optional ones, argparse would take none where an option comes first
    texts.default = []
    parser.add_argument("--scope", choices=SCOPES, help="project (default), or global; of move: where the note is")
    parser.add_argument("--yes", action="store_true", help="clear without asking")


def run(args: argparse.Namespace, out: Output) -> int:
    """Do it. Without a word, open the picker on a terminal, and list the notes elsewhere."""
    if args.yes and args.what != "clear":
        raise InvalidArgument("Only `pepys notes clear` takes --yes.")
    with options.opened(args, out) as workspace:
        if args.what is None and not out.as_json and sys.stdin.isatty() and sys.stdout.isatty():
            return _pick(workspace, args, out)
        return _DOINGS[args.what or "list"](workspace, args, out)


def _pick(workspace: Workspace, args: argparse.Namespace, out: Output) -> int:
    try:
        from pepys.tui.notes import Picker
    except ImportError:
        status = _list(workspace, args, out)
        out.note(Span("The picker needs the package textual: pip install 'pepys[tui]'", "dim"))
        return status
    picker = Picker(lambda given: workspace.call("notes.picker", given), color=out.color)
    picker.run()
    if picker.failure is not None:
        raise picker.failure
    return 0


# Notes


def _list(workspace: Workspace, args: argparse.Namespace, out: Output) -> int:
    _given(args, 0)
    result = workspace.call("notes.memory", {"action": "list"})
    if out.as_json:
        return _json(result, out)
    _rows((row for row in words.listing(result) if args.scope in (None, row.name)), out)
    out.note(Span(f"{words.counts(result)}.", "dim"))
    _warn(result, out)
    for line in words.unread(workspace.call("notes.path")):
        out.note(line)
    return 0


def _add(workspace: Workspace, args: argparse.Namespace, out: Output) -> int:
    return _memory(workspace, args, out, {"action": "add", "text": _text(args)})


def _forget(workspace: Workspace, args: argparse.Namespace, out: Output) -> int:
    return _memory(workspace, args, out, {"action": "forget", "text": _text(args)})


def _update(workspace: Workspace, args: argparse.Namespace, out: Output) -> int:
    text, to = _given(args, 2)
    return _memory(workspace, args, out, {"action": "update", "text": text, "to": to})


def _memory(workspace: Workspace, args: argparse.Namespace, out: Output, given: Json) -> int:
    result = workspace.call("notes.memory", {**given, "scope": args.scope or "project"})
    if out.as_json:
        return _json(result, out)
    if "error" in result:
        from pepys.cli.exits import error_of

        raise error_of(result["error"])
    for line in words.outcome(result):
        out.note(line)
    _warn(result, out)
    return 0


def _move(workspace: Workspace, args: argparse.Namespace, out: Output) -> int:
    scope = args.scope or "project"
    result = workspace.call("notes.move", {"text": _text(args), "scope": scope})
    there = "global" if scope == "project" else "project"
    told = f"Already in {there} memory: {result['existing']}" if "existing" in result else f"Moved to {there} memory."
    return _changed(result, out, told)


def _merge(workspace: Workspace, args: argparse.Namespace, out: Output) -> int:
    first, second, text = _given(args, 3)
    given = {"first": first, "second": second, "text": text, "scope": args.scope or "project"}
    return _changed(workspace.call("notes.merge", given), out, "Merged.")


def _clear(workspace: Workspace, args: argparse.Namespace, out: Output) -> int:
    scope = _scope(args)
    if not args.yes:
        if out.as_json or not sys.stdin.isatty():
            raise InvalidArgument("Clearing is confirmed on a terminal, or with --yes.")
        workspace.call("notes.read", {"scope": scope})  # what cannot be cleared is not asked about
        count = len(workspace.call("notes.memory", {"action": "list"})[scope])
        if input(f"{words.clearing(count, scope)} y/N ").strip().lower() not in ("y", "yes"):
            out.note(words.NOT_CLEARED)
            return 0
    result = workspace.call("notes.clear", {"scope": scope})
    return _changed(result, out, words.cleared(result))


# Files


def _path(workspace: Workspace, args: argparse.Namespace, out: Output) -> int:
    _given(args, 0)
    where = workspace.call("notes.path")
    if out.as_json:
        out.json(where)
        return 0
    _rows(words.places(where), out)
    out.note(words.trust(where))
    return 0


def _reload(workspace: Workspace, args: argparse.Namespace, out: Output) -> int:
    _given(args, 0)
    result = workspace.call("notes.reload")
    if out.as_json:
        out.json(result)
        return 0
    _rows(words.changes(result), out)
    return 0


def _doctor(workspace: Workspace, args: argparse.Namespace, out: Output) -> int:
    _given(args, 0)
    report = workspace.call("notes.doctor")
    if out.as_json:
        out.json(report)
        return 0
    for row in words.health(report):
        style = "yellow" if row.name in (words.OMITTED, words.DUPLICATE) else "bold"
        out.line(Span(f"{row.name:<11}", style), row.text)
    return 0


def _edit(workspace: Workspace, args: argparse.Namespace, out: Output) -> int:
    scope = _scope(args)
    from pepys.notes import drafts

    given = workspace.call("notes.read", {"scope": scope})
    edited = _edited(given["text"], Path(given["path"]).name)
    try:
        arguments = {"scope": scope, "text": edited, "revision": given["revision"], "exact": True}
        result = workspace.call("notes.save", arguments)
    except PepysError as error:
        raise drafts.unsaved(error, edited, Path(given["path"]).name) from error
    return _changed(result, out, words.saved(result))


def _edited(text: str, name: str) -> str:
    """What the user makes of *text* in an editor.

    Raises:
        InvalidArgument: There is no editor, or it failed.
    """
    import shlex
    import subprocess

    from pepys.notes import drafts

    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR")
    if not editor:
        raise InvalidArgument("No editor is set.", hint="Set VISUAL or EDITOR, such as EDITOR=vi.")
    file = drafts.temporary(text, name)
    try:
        try:
            done = subprocess.run([*shlex.split(editor), str(file)], check=False)  # noqa: S603  (the user's own words)
        except (OSError, ValueError) as error:
            raise InvalidArgument(f"The editor {editor} cannot be started: {error}.") from error
        if done.returncode:
            raise InvalidArgument(f"The editor {editor} ended with {done.returncode}; nothing was saved.")
        return file.read_bytes().decode("utf-8", "surrogateescape")
    finally:
        with suppress(OSError):
            file.unlink()
            file.parent.rmdir()  # what else an editor left there stays


# Arguments and answers


def _given(args: argparse.Namespace, count: int) -> list[str]:
    given: list[str] = args.words
    if len(given) != count:
        wanted = f"{count} texts, quoted" if count else "no further words"
        raise InvalidArgument(f"`pepys notes {args.what or ''}` takes {wanted}; {len(given)} are given.")
    return given


def _text(args: argparse.Namespace) -> str:
    if not args.words:
        raise InvalidArgument(f"`pepys notes {args.what}` needs the note.")
    return " ".join(args.words)


def _scope(args: argparse.Namespace) -> str:
    named = [*args.words, *([args.scope] if args.scope else [])]
    if len(named) > 1 or (named and named[0] not in SCOPES):
        raise InvalidArgument(f"`pepys notes {args.what}` takes one scope: {' or '.join(SCOPES)}.")
    return named[0] if named else "project"


def _changed(result: Json, out: Output, told: str) -> int:
    if out.as_json:
        return _json(result, out)
    out.note(told)
    out.note(words.now(result))
    _warn(result, out)
    return 0


def _json(result: Json, out: Output) -> int:
    from pepys.cli.exits import page_status

    out.json(result)
    return page_status(result)


def _rows(rows: Iterable[words.Row], out: Output) -> None:
    for row in rows:
        out.line(Span(f"{row.name:<8}", "dim"), row.text)


def _warn(result: Json, out: Output) -> None:
    for warning in result.get("warnings", ()):
        out.note(Span(warning, "yellow"))


_DOINGS: Mapping[str, Callable[[Workspace, argparse.Namespace, Output], int]] = {
    "list": _list,
    "add": _add,
    "update": _update,
    "forget": _forget,
    "path": _path,
    "doctor": _doctor,
    "reload": _reload,
    "edit": _edit,
    "clear": _clear,
    "move": _move,
    "merge": _merge,
}
