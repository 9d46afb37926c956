"""Answers about events in words: values in, lines of spans out. Nothing is printed here."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from pepys.cli.drawings import spans
from pepys.cli.output import MATCH, Span
from pepys.cli.render import Line
from pepys.cli.wording import NAMES
from pepys.events.drawing import Paper, Run, line
from pepys.spelling import counted, form, size

Json = Mapping[str, Any]


def hit_lines(hit: Json, options: Sequence[str]) -> Iterator[Line]:
    """One hit: where it is, what it says with the matches marked, and the command that opens it."""
    yield (
        Span(_time(hit), "dim"),
        f"  {hit['semanticKind']}{' ' + hit['toolName'] if hit.get('toolName') else ''}  ",
        *([Span("error  ", "red")] if hit.get("isError") else []),
        *_state(hit),
        Span(str(hit.get("sessionName") or hit["sessionId"]), "bold"),
    )
    yield _marked(hit["snippet"], hit.get("matches", ())) or (Span("(no text)", "dim"),)
    yield (Span(open_command(hit, options), "cyan"),)


def open_command(hit: Json, options: Sequence[str]) -> str:
    """The command that reads the event of a hit, quoted for a shell."""
    args = hit["follow"]["args"]
    words = [str(args["sessionId"]), str(args["entryId"])]
    # What begins like an option must not be taken for one.
    guard = ["--"] if any(word.startswith("-") for word in words) else []
    return shlex.join(["pepys", "events", "read", *options, *guard, *words])


def why_lines(page: Json, options: Sequence[str]) -> Iterator[Line]:
    """Why nothing was found, and the call that would find something."""
    why = page.get("why") or {}
    terms = why.get("terms", ())
    if not terms:
        yield ("The query has no word: only letters, digits and CJK are found.",)
        return
    if len(terms) > 1:
        for term in terms:
            yield (
                Span(f"{term['events']:>7} ", "bold"),
                f"{form(term['events'], 'event holds', 'events hold')} {term['term']}",
            )
    for name, kept in why.get("filters", {}).items() if why.get("withoutFilters") else ():
        yield (
            Span(f"{kept:>7} ", "bold"),
            f"of {why['withoutFilters']} found without filters pass {NAMES.get(name, name)}",
        )
    if why.get("ownEvents"):
        yield (Span(f"{why['ownEvents']:>7} ", "bold"), "are what Pepys itself put into sessions; --include-own")
    yield (Span("Only sessions of this workspace are searched; --cwd names another.", "dim"),)
    if retry := page.get("retry"):
        call = ["pepys", "call", *options, retry["ref"], json.dumps(retry["args"], ensure_ascii=False)]
        yield (Span("This finds more: ", "dim"), Span(shlex.join(call), "cyan"))


def event_lines(event: Json, texts: Mapping[str, str], paper: Paper) -> Iterator[Line]:
    """One event between its neighbours, and the forks that lie there.

    Args:
        event: Of `events.read`.
        texts: Whole texts, by fragment id, of fragments that *event* shows in part.
        paper: What neighbours have to fit on.
    """
    neighbours = event["neighbors"]
    for node in neighbours["before"]:
        yield _node("before", node, paper)
    yield (
        Span(str(event["entryId"]), "bold"),
        f"  {event['entryType']}  {event['role']}  ",
        *_state(event),
        Span(_time(event), "dim"),
    )
    for fragment in event["fragments"]:
        preview, whole = fragment["preview"], texts.get(fragment["fragmentId"])
        yield (
            Span(str(fragment["semanticKind"]), "bold"),
            f" {fragment['toolName']}" if fragment.get("toolName") else "",
            Span("  error" if fragment.get("isError") else "", "red"),
            Span(f"  {_shown(preview)}" if preview["truncated"] and whole is None else "", "dim"),
        )
        yield ((preview["text"] if whole is None else whole) or Span("(no text)", "dim"),)
    if not event["fragments"]:
        yield (Span("(no text)", "dim"),)
    for node in neighbours["after"]:
        yield _node("after", node, paper)
    for fork in neighbours["forks"]:
        yield (Span("fork    ", "dim"), *_fork(fork, event["sessionId"]))


def left_out_lines(event: Json) -> Iterator[Line]:
    """What an event holds and `event_lines` does not show."""
    for payload in event.get("omittedPayload", ()):
        if payload["kind"] == "provider-data":  # counters and signatures, with nearly every answer of a model
            continue
        yield (Span(f"Not shown: {payload['kind']} ({payload['count']}, {size(payload['bytes'])}).", "dim"),)
    coverage = event["fragmentCoverage"]
    if coverage["truncated"]:
        yield (Span(f"{counted(coverage['omitted'], 'more part')}; --fragment names one.", "dim"),)


def told(coverage: Json) -> dict[str, Any]:
    """Coverage without what goes without saying at a terminal: that it is in no session."""
    reasons = [reason for reason in coverage.get("reasons", ()) if reason != "current_session_unknown"]
    return {**coverage, "reasons": reasons}


def state_lines(coverage: Json) -> Iterator[Line]:
    """How much was looked at, if that is not everything."""
    if coverage.get("state", "ready") != "ready":
        sessions = counted(coverage["discoveredSessions"], "session was", "sessions were")
        yield (Span(f"{coverage['indexedSessions']} of {sessions} looked at ({coverage['state']}).", "dim"),)


def _marked(snippet: str, matches: Sequence[Sequence[int]]) -> list[Span]:
    made: list[Span] = []
    at = 0
    for start, end in matches:
        made += [Span(snippet[at:start]), Span(snippet[start:end], MATCH)]
        at = end
    return [span for span in (*made, Span(snippet[at:])) if span.text]


def _shown(preview: Json) -> str:
    ranges = ", ".join(f"{part['start']}-{part['end']}" for part in preview["shownRanges"]) or "nothing"
    return f"{ranges} of {counted(preview['totalChars'], 'character')}; --full shows all"


def _node(where: str, node: Json, paper: Paper) -> Line:
    parts = [
        Run(f"{where:8}", "note"),
        Run(str(node["entryId"]), "id"),
        Run(f"  {node['entryType']}", "what"),
        *(Run(f"  {span.text.strip()}", "mark") for span in _state(node)),
    ]
    return spans(line(parts, str(node.get("preview") or ""), paper))


def _fork(fork: Json, session: str) -> Iterator[Span | str]:
    def name(end: Json) -> str:
        return str(end["entryId"]) + (f" in {end['sessionId']}" if end["sessionId"] != session else "")

    yield f"at {name(fork['at'])}: "
    yield ", ".join(name(end) for end in fork["candidates"])
    yield Span(f"; on to {name(fork['chosen'])}" if fork.get("chosen") else "; none is selected", "dim")


def _state(event: Json) -> Iterator[Span]:
    """What is special about where an event stands."""
    if event.get("branchState") in ("alternate", "unknown"):
        yield Span(f"[{event['branchState']}] ", "yellow")
    if event.get("selectionState") == "summarized":
        yield Span("[summarized] ", "yellow")


def _time(event: Json) -> str:
    time = event.get("timestamp")
    try:
        return datetime.fromisoformat(time).astimezone().strftime("%Y-%m-%d %H:%M") if time else "no time"
    except (TypeError, ValueError, OverflowError, OSError):
        return str(time)
