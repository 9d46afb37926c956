"""`pepys notes`: pick, list, change and check durable notes."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pepys.cli import options
from pepys.cli.output import Output, Span
from pepys.errors import InvalidArgument, PepysError
from pepys.model.notes import SCOPES
from pepys.notes.words import counts, outcome

if TYPE_CHECKING:
    from pepys.workspace import Workspace

Json = Mapping[str, Any]


def configure(parser: argparse.ArgumentParser) -> None:
    """Add what can be done with notes."""
    parser.usage = "pepys notes [WHAT] [WORD ...] [OPTIONS]"
    what = parser.add_argument("what", choices=[*_DOINGS], metavar="WHAT", help=f"{', '.join(_DOINGS)}; nothing: pick")
    words = parser.add_argument(
        "words",
        nargs="+",
        metavar="WORD",
        help="add, forget, move: the note; update: the note and what replaces it; merge: two notes and what they "
        "become; edit, clear: project or global",
    )
    what.required = words.required = False  # as optional ones, argparse would take none where an option comes first
    words.default = []
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
    for scope in SCOPES:
        for note in result[scope] if args.scope in (None, scope) else ():
            out.line(Span(f"{scope:<8}", "dim"), note)
    out.note(Span(f"{counts(result)}.", "dim"))
    _warn(result, out)
    where = workspace.call("notes.path")
    if not where["trusted"]:
        out.note(f"The project is not trusted: its notes are not read (`pepys trust {where['root']}`).")
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
    for line in outcome(result):
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
        if input(f"Remove all {count} notes of {scope} memory? y/N ").strip().lower() not in ("y", "yes"):
            out.note("Nothing was removed.")
            return 0
    result = workspace.call("notes.clear", {"scope": scope})
    return _changed(result, out, f"Removed {result['removed']} notes from {scope} memory.")


# Files


def _path(workspace: Workspace, args: argparse.Namespace, out: Output) -> int:
    _given(args, 0)
    where = workspace.call("notes.path")
    if out.as_json:
        out.json(where)
        return 0
    for scope in SCOPES:
        out.line(Span(f"{scope:<8}", "dim"), where[scope])
    out.note(f"The project is {'' if where['trusted'] else 'not '}trusted: {where['root']}")
    return 0


def _reload(workspace: Workspace, args: argparse.Namespace, out: Output) -> int:
    _given(args, 0)
    result = workspace.call("notes.reload")
    if out.as_json:
        out.json(result)
        return 0
    for scope in SCOPES:
        found = result[scope]
        changes = "".join(f", {len(found[name])} {name}" for name in ("added", "removed") if found[name])
        read = f"{found['notes']} notes{changes}" if found["read"] else "not read"
        out.line(Span(f"{scope:<8}", "dim"), f"{read}{_trouble(found)}")
    return 0


def _doctor(workspace: Workspace, args: argparse.Namespace, out: Output) -> int:
    from pepys.cli.render import size

    _given(args, 0)
    report = workspace.call("notes.doctor")
    if out.as_json:
        out.json(report)
        return 0
    for scope in SCOPES:
        found = report[scope]
        state = "" if found.get("trusted", True) else "; the project is not trusted"
        read = f"{found['notes']} notes" if found["read"] else "not read"
        told = f"{read}, {size(found['bytes'])} in {found['path']}{state}{_trouble(found)}"
        out.line(Span(f"{scope:<11}", "bold"), told)
    told = report["injection"]
    off = "" if told["inject"] else "; switched off (memory.inject)"
    out.line(Span("injection  ", "bold"), f"{told['bytes']} of {told['maxBytes']} bytes{off}")
    for note in told["omitted"]:
        out.line(Span("omitted    ", "yellow"), f"{note['scope']}: {note['text']}")
    for pair in report["duplicates"]:
        out.line(Span("duplicate  ", "yellow"), " = ".join(f"{note['scope']}: {note['text']}" for note in pair))
    return 0


def _edit(workspace: Workspace, args: argparse.Namespace, out: Output) -> int:
    scope = _scope(args)
    given = workspace.call("notes.read", {"scope": scope})
    edited = _edited(given["text"], Path(given["path"]).name)
    try:
        arguments = {"scope": scope, "text": edited, "revision": given["revision"], "exact": True}
        result = workspace.call("notes.save", arguments)
    except PepysError as error:
        kept = _temporary(edited, Path(given["path"]).name)
        raise type(error)(error.message, hint=f"{error.hint} What you wrote is in {kept}.".lstrip()) from error
    return _changed(result, out, "Saved." if result["changed"] else "Nothing was changed.")


def _edited(text: str, name: str) -> str:
    """What the user makes of *text* in an editor.

    Raises:
        InvalidArgument: There is no editor, or it failed.
    """
    import shlex
    import subprocess

    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR")
    if not editor:
        raise InvalidArgument("No editor is set.", hint="Set VISUAL or EDITOR, such as EDITOR=vi.")
    file = _temporary(text, name)
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


def _temporary(text: str, name: str) -> Path:
    """A file of the user's alone with *text* in it, byte for byte."""
    import tempfile

    path = Path(tempfile.mkdtemp(prefix="pepys-")) / name
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    return path


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
    out.note(f"Now {counts(result)}.")
    _warn(result, out)
    return 0


def _json(result: Json, out: Output) -> int:
    from pepys.cli.exits import page_status

    out.json(result)
    return page_status(result)


def _warn(result: Json, out: Output) -> None:
    for warning in result.get("warnings", ()):
        out.note(Span(warning, "yellow"))


def _trouble(found: Json) -> str:
    return f"; {found['trouble']}" if "trouble" in found else ""


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
