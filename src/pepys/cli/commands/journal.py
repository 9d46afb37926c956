"""`pepys journal`: search, read, write and forget daily memory, and capture sessions into it."""

from __future__ import annotations

import argparse
import io
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from pepys.cli import options
from pepys.cli.output import Output, Span
from pepys.errors import InvalidArgument
from pepys.spelling import counted

if TYPE_CHECKING:
    from pepys.workspace import Workspace

Json = Mapping[str, Any]


def configure(parser: argparse.ArgumentParser) -> None:
    """Add what can be done with the journal; each doing takes the options of every command too."""
    shared = options.Parser(add_help=False, parents=[parser])
    doings = parser.add_subparsers(dest="doing", metavar="WHAT", required=True, prog="pepys journal")

    def doing(name: str, summary: str) -> argparse.ArgumentParser:
        description = f"{summary[:1].upper()}{summary[1:]}."
        return doings.add_parser(name, help=summary, description=description, parents=[shared], add_help=False)

    search = doing("search", "search memory, in any words")
    search.add_argument("words", nargs="+", metavar="WORD", help="what to look for")
    search.add_argument("--top-k", type=int, metavar="N", help="most chunks; default: 5")
    search.add_argument("--all", action="store_true", help="every project under the scan roots")
    expand = doing("expand", "read the whole memory behind a chunk")
    expand.add_argument("chunk_hash", metavar="HASH", help="of a chunk that a search found")
    expand.add_argument("--project", metavar="PATH", help="the project that the hit was labelled with")
    transcript = doing("transcript", "read the conversation behind a memory")
    transcript.add_argument("transcript_path", metavar="FILE", help="the session's file, as an anchor names it")
    transcript.add_argument("--turn", metavar="ID", help="the entry that the anchor names")
    transcript.add_argument("--context", type=int, metavar="N", help="turns before and after it; default: 3")
    transcript.add_argument("--limit", type=int, metavar="N", help="without --turn: how many turns; default: 20")
    write = doing("write", "write a memory entry")
    write.add_argument("words", nargs="+", metavar="TEXT", help="what to remember; - reads it from stdin")
    forget = doing("forget", "remove exactly one memory entry, for good")
    forget.add_argument("chunk_hash", nargs="?", metavar="HASH", help="of a chunk of the entry")
    forget.add_argument("--date", metavar="DATE", help="with --time: the day of its file, YYYY-MM-DD")
    forget.add_argument("--time", metavar="TIME", help="the time in its heading, HH:MM")
    doing("compact", "have a model condense the whole memory; spends its budget")
    doing("snapshot", "print what hosts append to the system prompt")
    doing("status", "show where memory is, what indexes it, and what is missing")
    capture = doing("capture", "make an exchange of a session a memory entry")
    capture.add_argument("--session", metavar="FILE", help="the session's file; default: the current session's")
    capture.add_argument("--turn", metavar="ID", help="an entry of the exchange; default: the last exchange")
    backfill = doing("backfill", "make all exchanges of past sessions of this project memory entries")
    backfill.add_argument("--model", metavar="NAME", help="the model that distils them; default: none, extracts")


def run(args: argparse.Namespace, out: Output) -> int:
    """Do it, and print the answer."""
    with options.opened(args, out) as workspace:
        return _DOINGS[args.doing](workspace, args, out)


def _answered(ref: str, *names: str) -> Callable[[Workspace, argparse.Namespace, Output], int]:
    """A doing that is an action: its arguments are the options of these names, its answer is text."""

    def do(workspace: Workspace, args: argparse.Namespace, out: Output) -> int:
        given = {name: value for name in names if (value := getattr(args, name)) is not None}
        return _show(workspace.call(ref, given), out)

    return do


def _search(workspace: Workspace, args: argparse.Namespace, out: Output) -> int:
    given: dict[str, Any] = {"query": " ".join(args.words), "scope": "all" if args.all else "project"}
    if args.top_k is not None:
        given["top_k"] = args.top_k
    answer = workspace.call("journal.search", given)
    if out.as_json or not answer["hits"]:
        return _show(answer, out)
    for number, hit in enumerate(answer["hits"]):
        if number:
            out.line()
        for line in _hit_lines(hit, [*options.given(args), *(["--cwd", args.cwd] if args.cwd is not None else [])]):
            out.line(*line)
    for note in _notes(answer):
        out.note(Span(note, "dim"))
    return 0


def _hit_lines(hit: Json, given: list[str]) -> Iterator[list[Span | str]]:
    """A hit for people: when, how well it fits, what it says without its anchor, and the command that opens it."""
    import shlex

    from pepys.journal.chunk import is_heading
    from pepys.journal.entries import ANCHOR

    day = os.path.basename(hit["source"]).removesuffix(".md")
    place = f"  {hit['project']}" if "project" in hit else ""
    yield [Span(f"{day} {hit['heading']}", "bold"), Span(f"  {hit['score']:.2f}{place}", "dim")]
    for line in hit["content"].split("\n"):
        # The later parts of a long section begin with text.
        if not is_heading(line) and not ANCHOR.fullmatch(line.strip()):
            yield [line]
    project = ["--project", hit["project"]] if "project" in hit else []
    words = ["pepys", "journal", "expand", hit["chunk_hash"], *project, *given]
    yield [Span(shlex.join(words), "dim")]


def _notes(answer: Json) -> Iterator[str]:
    if answer.get("pending"):
        yield "The index is still being built: more may be found by the next search."
    if "searched" in answer:
        yield f"{counted(len(answer['searched']), 'project')} searched."
    for path in answer.get("skipped", ()):
        yield f"Skipped, no readable memory: {path}"
    for path, why in answer.get("unread", {}).items():
        yield f"Could not be read, and may hold more: {path} ({why})"
    for path in answer.get("collapsed", ()):
        yield f"Left out, its collection is that of a project already searched: {path}"


def _write(workspace: Workspace, args: argparse.Namespace, out: Output) -> int:
    if isinstance(sys.stdin, io.TextIOWrapper):
        sys.stdin.reconfigure(encoding="utf-8", errors="surrogateescape")  # as arguments are decoded
    content = sys.stdin.read() if args.words == ["-"] else " ".join(args.words)
    # Python's own mark of a byte that is no UTF-8; it must not be told of as if somebody had sent half a character.
    content, lost = _UNDECODED.subn("\ufffd", content)
    if args.words != ["-"] and not content.lstrip().startswith(("-", "*")):
        content = f"- {content}"
    status = _show(workspace.call("journal.write", {"content": content}), out)
    if lost:
        out.note(counted(lost, "byte that is not UTF-8 was", "bytes that are not UTF-8 were") + " stored as U+FFFD.")
    return status


_UNDECODED = re.compile("[\udc80-\udcff]")


def _snapshot(workspace: Workspace, args: argparse.Namespace, out: Output) -> int:
    answer = workspace.call("journal.snapshot", {})
    if "error" in answer:
        from pepys.cli.exits import error_of

        raise error_of(answer["error"])
    return _show({"text": answer["snapshot"], **answer}, out)


def _capture(workspace: Workspace, args: argparse.Namespace, out: Output) -> int:
    from pepys import paths
    from pepys.journal import past

    context = workspace.context
    if args.session is None and context.session_file is None:
        raise InvalidArgument("Name a session: --session FILE.")
    given = (
        paths.expand(paths.named(args.session, "--session"), os.environ, context.cwd)
        if args.session
        else context.session_file
    )
    path = str(given)
    outcome = past.capture_one(workspace.context, workspace.runtime(), path, args.turn)
    done = outcome.captured
    if out.as_json:
        body = done._asdict() if done else {"why": outcome.why, **({"path": outcome.path} if outcome.path else {})}
        out.json({"captured": done is not None, **body, **({"unread": outcome.unread} if outcome.unread else {})})
    elif done is None:
        place = f", into {outcome.path}" if outcome.path else ""
        out.note(f"Nothing was captured: {outcome.why}{place}.")
    else:
        what = {"distilled": "", "extract": " as an extract: there is no model", "marker": f" as a marker: {done.why}"}
        out.line(f"Captured into {done.path}{what[done.kind]}")
    if not out.as_json:
        for why in outcome.unread:
            out.note(why)
    return 0


def _backfill(workspace: Workspace, args: argparse.Namespace, out: Output) -> int:
    from pepys.cli.progress import shown
    from pepys.journal import past

    with shown(out, "Capturing") as progress:
        done = past.backfill(workspace.context, progress, args.model)
    if out.as_json:
        out.json(done._asdict())
        return 0
    out.line(
        f"{counted(done.sessions, 'session')} of this project: {counted(done.captured, 'exchange')} captured, "
        f"{done.before} captured before, {done.forgotten} forgotten, {done.rejected} without an answer or aborted"
    )
    if done.elsewhere:
        out.note(Span(f"{counted(done.elsewhere, 'session belongs', 'sessions belong')} to other projects.", "dim"))
    for path, why in done.failed.items():
        out.note(f"{path}: {why}")
    return 0


def _show(answer: Json, out: Output) -> int:
    if out.as_json:
        out.json(answer)
        return 0
    text = str(answer["text"])
    if not text:
        raise InvalidArgument("The snapshot is switched off.", hint="Set journal.snapshot to true.")
    for line in text.split("\n"):
        out.line(line)
    return 0


_DOINGS: Mapping[str, Callable[[Workspace, argparse.Namespace, Output], int]] = {
    "search": _search,
    "expand": _answered("journal.expand", "chunk_hash", "project"),
    "transcript": _answered("journal.transcript", "transcript_path", "turn", "context", "limit"),
    "write": _write,
    "forget": _answered("journal.forget", "chunk_hash", "date", "time"),
    "compact": _answered("journal.compact"),
    "snapshot": _snapshot,
    "status": _answered("journal.status"),
    "capture": _capture,
    "backfill": _backfill,
}
