"""`pepys recall`: search sessions."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any, get_args

from pepys.cli import options
from pepys.cli.output import Output, Span
from pepys.errors import InvalidArgument
from pepys.model.entry import Outcome
from pepys.model.query import Role
from pepys.spelling import counted


def configure(parser: argparse.ArgumentParser) -> None:
    """Add what `memory.recall` takes, in a person's words."""
    parser.add_argument("words", nargs="*", metavar="WORD", help="what to find; without it: the newest session")
    mode = parser.add_mutually_exclusive_group()
    mode.add_argument("--phrase", action="store_true", help="the words as one contiguous text")
    mode.add_argument("--regex", action="store_true", help="the words as a JavaScript regular expression")
    mode.add_argument("--match", choices=["any", "all"], help="entries with any of the words (default) or all of them")
    parser.add_argument("--scope", default="project", help="session, project (default), global or session:<id-or-path>")
    options.add_branches(parser)
    parser.add_argument("--role", choices=get_args(Role), metavar="ROLE", help=", ".join(get_args(Role)))
    parser.add_argument("--tool", metavar="NAME", help="only entries of this tool")
    parser.add_argument("--ref", metavar="REF", help="only operations of programs with this ref, such as pi.grep")
    parser.add_argument("--provider", metavar="NAME", help="only operations of this provider, such as pi")
    parser.add_argument("--action", metavar="NAME", help="only operations of this action, such as grep")
    parser.add_argument("--outcome", choices=get_args(Outcome), help="only operations that ended so")
    parser.add_argument("--since", metavar="WHEN", help="a date, a time, 7d, 12h, today or yesterday")
    parser.add_argument("--until", metavar="WHEN", help="the same; a day counts to its end")
    parser.add_argument("--limit", type=int, metavar="N", help="most hits, 1 to 50; default: 10")
    parser.add_argument("--offset", type=int, metavar="N", help="hits to skip")
    parser.add_argument("--snippet-chars", type=int, metavar="N", help="length of a snippet, 80 to 2000; default: 480")
    parser.add_argument("--subagents", action="store_true", help="also sessions of sub-agents")
    parser.add_argument("--include-own", action="store_true", help="also what Pepys itself put into sessions")


def run(args: argparse.Namespace, out: Output) -> int:
    """Search and print the hits; the exit status of the page's own error, if it has one."""
    request = arguments(args)
    with options.opened(args, out, shows=True) as workspace:
        page = workspace.call("memory.recall", request)
    return show_page(page, request, out, options.given(args))


def arguments(args: argparse.Namespace) -> dict[str, object]:
    """The arguments of `memory.recall` that the options stand for; what is not given is left to its default."""
    given: dict[str, object] = {
        "query": " ".join(args.words),
        "queryMode": "phrase" if args.phrase else "regex" if args.regex else None,
        "queryMatch": args.match,
        "scope": args.scope,
        "branches": args.branches,
        "role": args.role,
        "tool": args.tool,
        "ref": args.ref,
        "provider": args.provider,
        "action": args.action,
        "outcome": args.outcome,
        "since": _moment(args.since, end=False),
        "until": _moment(args.until, end=True),
        "offset": args.offset,
        "pageSize": args.limit,
        "snippetChars": args.snippet_chars,
        "subagents": args.subagents or None,
        "includeOwn": args.include_own or None,
    }
    return {name: value for name, value in given.items() if value is not None}


def show_page(page: Mapping[str, Any], request: Mapping[str, object], out: Output, given: list[str]) -> int:
    """Print a recall page and return its exit status.

    Args:
        page: The result of `memory.recall`.
        request: Its arguments, for marking matches.
        given: Options that a command needs to see the same sessions.

    Raises:
        PepysError: The page carries it, and people are to read it.
    """
    from pepys.cli import render
    from pepys.cli.exits import carried, page_status

    if out.as_json:
        out.json(page)
        return page_status(page)
    if error := carried(page):
        raise error  # an answer that is none has neither hits nor hints
    phrase = request.get("queryMode") == "phrase"
    # What a pattern matched is not told, and this process evaluates none.
    query = "" if request.get("queryMode") == "regex" else str(request.get("query", ""))
    for number, hit in enumerate(page["hits"]):
        if number:
            out.line()
        for line in render.hit_lines(hit, query, phrase=phrase, options=given):
            out.line(*line)
    _conclude(page, request, out)
    return 0


def _conclude(page: Mapping[str, Any], request: Mapping[str, object], out: Output) -> None:
    from pepys.cli import render

    shown, total = len(page["hits"]), page["total"]
    offset = int(str(request.get("offset", 0)))
    if not shown:
        out.note("No hits." if not total else f"No hits so far down: there {counted(total, 'is', 'are')}.")
        for line in () if total else render.no_sessions_lines(request.get("scope"), page["coverage"]):
            out.note(*line)
    elif page.get("next"):
        out.note()
        out.note(
            Span(
                f"{offset + 1} to {offset + shown} of {counted(total, 'hit')}; more with --offset {offset + shown}",
                "dim",
            )
        )
    for line in (*render.redacted_lines(page.get("redacted", 0)), *render.coverage_lines(page["coverage"])):
        out.note(*line)


def _moment(text: str | None, *, end: bool) -> int | None:
    if text is None:
        return None
    from datetime import datetime

    from pepys.cli.dates import moment

    try:
        return moment(text, datetime.now().astimezone(), end=end)
    except InvalidArgument as error:
        raise InvalidArgument(f"--{'until' if end else 'since'}: {error.message}", hint=error.hint) from error
