"""`pepys events`: search, read and trace single events of the sessions of a workspace."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from pepys.cli import options
from pepys.cli.output import Output, Span
from pepys.errors import InvalidArgument

if TYPE_CHECKING:
    from pepys.workspace import Workspace

Json = Mapping[str, Any]

ROLES = ("user", "assistant", "tool", "summary", "metadata", "custom")
BRANCHES = ("selected", "alternate", "unknown")
STATES = ("direct", "summarized", "not-selected", "not-applicable", "unknown")

WINDOW_CHARS = 4000


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the three actions; each takes the options of every command too."""
    shared = options.Parser(add_help=False, parents=[parser])
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True, prog="pepys events")

    def action(name: str, summary: str) -> argparse.ArgumentParser:
        description = f"{summary[:1].upper()}{summary[1:]}."
        # Help is among what is shared.
        return actions.add_parser(name, help=summary, description=description, parents=[shared], add_help=False)

    _configure_search(action("search", "find events by their words"))
    _configure_read(action("read", "read one event, with its neighbours"))
    _configure_trace(action("trace", "draw what surrounds one event, and what it is related to"))


def run(args: argparse.Namespace, out: Output) -> int:
    """Ask, and print the answer."""
    ref = f"events.{args.action}"
    given = _REQUESTS[args.action](args)
    request = {name: value for name, value in given.items() if value is not None and value is not False and value != []}
    with options.opened(args, out, shows=not out.as_json) as workspace:
        result = workspace.call(ref, request)
        if out.as_json:
            out.json(result)
        else:
            _SHOWN[args.action](result, args, out, workspace)
    return 0


# Search


def _configure_search(parser: argparse.ArgumentParser) -> None:
    many: dict[str, Any] = {"action": "append", "default": []}
    parser.add_argument("words", nargs="+", metavar="WORD", help="what to find, all of it in one part of an event")
    parser.add_argument("--phrase", action="store_true", help="the words side by side")
    parser.add_argument("--session", metavar="SESSION", help="only this session: its id, its file, or current")
    parser.add_argument("--in", dest="folder", metavar="DIR", help="only sessions that worked in this folder or below")
    parser.add_argument("--kind", metavar="KIND", help="only parts of this kind, such as tool.result", **many)
    parser.add_argument("--type", metavar="TYPE", help="only entries of this type, such as compaction", **many)
    parser.add_argument("--role", choices=ROLES, metavar="ROLE", help=", ".join(ROLES), **many)
    parser.add_argument("--tool", metavar="NAME", help="only calls and results of this tool", **many)
    parser.add_argument("--errors", action="store_true", help="only what reports an error")
    parser.add_argument("--since", metavar="WHEN", help="a date, a time, 7d, 12h, today or yesterday")
    parser.add_argument("--until", metavar="WHEN", help="the same; a day counts to its end")
    parser.add_argument("--branch", choices=BRANCHES, metavar="STATE", help=", ".join(BRANCHES), **many)
    parser.add_argument("--state", choices=STATES, metavar="STATE", help=", ".join(STATES), **many)
    parser.add_argument("--file", metavar="PATH", help="only events that read or changed this file or folder", **many)
    access = parser.add_mutually_exclusive_group()
    access.add_argument("--read", dest="access", action="store_const", const="read", help="with --file: that read it")
    access.add_argument(
        "--changed", dest="access", action="store_const", const="changed", help="with --file: that changed it"
    )
    parser.add_argument("--subagents", action="store_true", help="also sessions of sub-agents")
    parser.add_argument("--include-own", action="store_true", help="also what Pepys itself put into sessions")


def _search_request(args: argparse.Namespace) -> dict[str, object]:
    words = " ".join(args.words)
    if args.phrase and '"' in words:
        raise InvalidArgument("--phrase takes words without quotation marks.")
    if args.access and not args.file:
        raise InvalidArgument(f"--{args.access} goes with --file.")
    time = {"from": _instant("--since", args.since), "to": _instant("--until", args.until)}
    return {
        "query": f'"{words}"' if args.phrase else words,
        "sessionId": args.session,
        "cwd": args.folder,
        "kinds": args.kind,
        "entryTypes": args.type,
        "roles": args.role,
        "toolNames": args.tool,
        "errorOnly": args.errors,
        "time": {name: end for name, end in time.items() if end is not None} or None,
        "branchStates": args.branch,
        "selectionStates": args.state,
        "files": args.file,
        "fileAccess": args.access,
        "subagents": args.subagents,
        "includeOwn": args.include_own,
    }


def _instant(option: str, text: str | None) -> str | None:
    if text is None:
        return None
    from datetime import UTC, datetime

    from pepys.cli.dates import moment

    try:
        ms = moment(text, datetime.now().astimezone(), end=option == "--until")
        return datetime.fromtimestamp(ms / 1000, UTC).isoformat(timespec="milliseconds")
    except InvalidArgument as error:
        raise InvalidArgument(f"{option}: {error.message}", hint=error.hint) from error
    except (ValueError, OverflowError, OSError) as error:
        raise InvalidArgument(f"{option}: {text} is in no calendar.") from error


def _show_hits(page: Json, args: argparse.Namespace, out: Output, _: Workspace) -> None:
    from pepys.cli import render_events

    given = _given(args)
    for number, hit in enumerate(page["hits"]):
        if number:
            out.line()
        for line in render_events.hit_lines(hit, given):
            out.line(*line)
    if page.get("more"):
        out.note()
        out.note(Span(f"There are more than these {len(page['hits'])}; more words or a filter narrow it down.", "dim"))
    if not page["hits"]:
        out.note("No hits.")
        for line in render_events.why_lines(page, given):
            out.note(*line)
    _show_coverage(page, out)


# Read


def _configure_read(parser: argparse.ArgumentParser) -> None:
    _add_event(parser)
    parser.add_argument("--fragment", metavar="ID", help="only this part of it")
    parser.add_argument("--append", action="store_true", help="neighbours in the order of the file, not of the branch")
    parser.add_argument("--before", type=int, metavar="N", help="neighbours before it, at most 5; default: 1")
    parser.add_argument("--after", type=int, metavar="N", help="neighbours after it, at most 5; default: 1")
    parser.add_argument("--offset", type=int, metavar="N", help="show a window from this character on")
    parser.add_argument("--window", type=int, metavar="N", help="length of that window, at most 4000; default: 2000")
    parser.add_argument("--full", action="store_true", help="whole texts, however long")


def _add_event(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("session", metavar="SESSION", help="session id, path of its file, or current")
    parser.add_argument("entry", metavar="ENTRY", help="id of the entry")


def _read_request(args: argparse.Namespace) -> dict[str, object]:
    if args.full and (args.offset is not None or args.window is not None):
        raise InvalidArgument("--full shows everything: it goes with neither --offset nor --window.")
    return {
        "sessionId": args.session,
        "entryId": args.entry,
        "fragmentId": args.fragment,
        "order": "append" if args.append else None,
        "before": args.before,
        "after": args.after,
        "offset": args.offset,
        "windowChars": args.window,
    }


def _show_event(event: Json, args: argparse.Namespace, out: Output, workspace: Workspace) -> None:
    from pepys.cli import drawings, render_events
    from pepys.model.events import MAX_NEIGHBOURS

    texts = {
        fragment["fragmentId"]: "".join(_windows(workspace, args, fragment["fragmentId"]))
        for fragment in event["fragments"]
        if args.full and fragment["preview"]["truncated"]
    }
    for line in render_events.event_lines(event, texts, drawings.paper(out)):
        out.line(*line)
    for line in render_events.left_out_lines(event):
        out.note(*line)
    for side, asked in (("--before", args.before), ("--after", args.after)):
        if asked is not None and asked > MAX_NEIGHBOURS:
            out.note(Span(f"{side} shows at most {MAX_NEIGHBOURS}.", "dim"))
    _show_coverage(event, out)


def _windows(workspace: Workspace, args: argparse.Namespace, fragment: str) -> Iterator[str]:
    """The whole text of a fragment, window by window."""
    offset = 0
    while True:
        request = {"sessionId": args.session, "entryId": args.entry, "fragmentId": fragment, "before": 0, "after": 0}
        page = workspace.call("events.read", {**request, "offset": offset, "windowChars": WINDOW_CHARS})
        preview = page["fragments"][0]["preview"]
        yield preview["text"]
        shown = preview["shownRanges"]
        if not shown or shown[-1]["end"] >= preview["totalChars"]:
            return
        offset = shown[-1]["end"]


# Trace


def _configure_trace(parser: argparse.ArgumentParser) -> None:
    _add_event(parser)


def _trace_request(args: argparse.Namespace) -> dict[str, object]:
    return {"sessionId": args.session, "entryId": args.entry}


def _show_trace(result: Json, args: argparse.Namespace, out: Output, _: Workspace) -> None:
    from pepys.cli import drawings
    from pepys.events import drawing

    drawings.show(drawing.trace(result, drawings.paper(out)), out)
    session = result.get("session", {})
    if session.get("parentSessionId"):
        out.line(Span("parent session  ", "dim"), str(session["parentSessionId"]))
    for child in session.get("childSessionIds", ()):
        out.line(Span("child session   ", "dim"), str(child))
    _show_coverage(result, out)


# All three


def _given(args: argparse.Namespace) -> list[str]:
    """The options that another command needs to see the same events: what may be seen depends on the project too."""
    return [*options.given(args), *(["--cwd", args.cwd] if args.cwd is not None else [])]


def _show_coverage(page: Json, out: Output) -> None:
    from pepys.cli import render, render_events

    coverage = page.get("coverage", {})
    for line in (
        *render.redacted_lines(page.get("redacted", 0)),
        *render.coverage_lines(render_events.told(coverage)),
        *render_events.state_lines(coverage),
    ):
        out.note(*line)


_REQUESTS: Mapping[str, Callable[[argparse.Namespace], dict[str, object]]] = {
    "search": _search_request,
    "read": _read_request,
    "trace": _trace_request,
}
_SHOWN: Mapping[str, Callable[[Json, argparse.Namespace, Output, Workspace], None]] = {
    "search": _show_hits,
    "read": _show_event,
    "trace": _show_trace,
}
