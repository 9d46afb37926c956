"""Answers in words: values in, lines of spans out. Nothing is printed here."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pepys.cli.dates import local
from pepys.cli.output import MATCH, Span
from pepys.model.coverage import REASONS
from pepys.spelling import counted
from pepys.text import printable, query_terms, token_spans

Line = Sequence[Span | str]
Json = Mapping[str, Any]


def hit_lines(hit: Json, query: str, *, phrase: bool, options: Sequence[str]) -> Iterator[Line]:
    """One hit: where it is, what it says with the matches marked, and the command that opens it."""
    if hit["kind"] != "entry":
        yield (Span(_time(hit.get("lastTimestamp")), "dim"), f"  {hit.get('cwd') or ''}  ", Span(_name(hit), "bold"))
        yield (f"cold: {_cold(hit)}",)
        yield (Span(resolving_command(hit, options), "cyan"),)
        return
    yield (
        Span(_time(hit.get("timestamp")), "dim"),
        f"  {_role(hit)}  ",
        *([Span(f"{hit.get('outcome') or 'error'}  ", "red")] if hit.get("isError") else []),
        Span(_name(hit), "bold"),
    )
    snippet = hit.get("snippet") or ""
    yield marked(snippet, query, phrase=phrase) if snippet else (Span("(no text)", "dim"),)
    yield (Span(open_command(hit, options), "cyan"),)


def open_command(hit: Json, options: Sequence[str]) -> str:
    """The command that shows the full record of an entry hit, quoted for a shell."""
    args = hit.get("follow", {}).get("args", {})
    session = str(hit.get("file") or hit["sessionId"])
    if session.startswith("-") or printable(session) != session:
        # Such an id could not be pasted as it is shown.
        session = str(args.get("session", session))
    words = ["pepys", "expand", session, "--index", str(hit["index"])]
    if args.get("branches") == "all":
        words.append("--all")
    return shlex.join([*words, *options])


def resolving_command(hit: Json, options: Sequence[str]) -> str:
    """The command that asks a cold session for its entries, quoted for a shell."""
    args: Json = hit["follow"]["args"]
    words = ["pepys", "recall", "--scope", str(args["scope"])]
    words += {"phrase": ["--phrase"], "regex": ["--regex"]}.get(str(args.get("queryMode")), [])
    for name, option in _RESOLVING.items():
        words += [option, str(args[name])] if name in args else []
    if args.get("branches") == "all":
        words.append("--all")
    query = [str(args["query"])] if args.get("query") else []
    return shlex.join([*words, *options, *(["--", *query] if query and query[0].startswith("-") else query)])


_RESOLVING = {
    "queryMatch": "--match",
    "role": "--role",
    "tool": "--tool",
    "ref": "--ref",
    "provider": "--provider",
    "action": "--action",
    "outcome": "--outcome",
}


def _cold(hit: Json) -> str:
    found = [f"{hit['matchedTerms']} of the words"] if hit["matchedTerms"] else []
    if hit["matchedStructuralEntries"]:
        found.append(
            counted(hit["matchedStructuralEntries"], "entry that fits the filters", "entries that fit the filters")
        )
    return f"the session holds {' and '.join(found)}" if found else "an older session"


def marked(snippet: str, query: str, *, phrase: bool) -> list[Span]:
    """*snippet* with every match of *query* as a span of its own."""
    spans: list[Span] = []
    end = 0
    for start, stop in _matches(snippet, query, phrase=phrase):
        if start >= end:
            spans += [Span(snippet[end:start]), Span(snippet[start:stop], MATCH)]
            end = stop
    spans.append(Span(snippet[end:]))
    return [span for span in spans if span.text]


def session_line(row: Json, *, place: bool) -> Line:
    """One session of a list; with its project where *place* says that there may be several."""
    name = row.get("name")
    return (
        Span(_time(row.get("mtime")), "dim"),
        f"  {row.get('entryCount', 0):>5}  ",
        Span(str(row["id"]), "bold"),
        f"  {row.get('host') or '':3}",
        *([f"  {row.get('cwd') or '(no project)'}"] if place else []),
        *([f"  {name}"] if name else []),
        *([Span(f"  ({row['kind']})", "dim")] if row.get("kind") not in (None, "session") else []),
    )


def entry_lines(entry: Json) -> Iterator[Line]:
    """One record."""
    yield (
        Span(f"[{entry['index']}]", "bold"),
        f" {_role(entry)}  ",
        Span(_time(entry.get("timestamp")), "dim"),
        *([Span("  error", "red")] if entry.get("isError") else []),
        Span(f"  {entry.get('entryId') or ''}", "dim"),
    )
    yield (entry.get("text") or Span("(no text)", "dim"),)


def no_sessions_lines(scope: object, coverage: Json) -> Iterator[Line]:
    """What to try when nothing was found in *scope*."""
    if scope == "project":
        yield (Span("Only sessions of this project were looked at; --scope global takes all.", "dim"),)
    elif not coverage.get("eligibleSessions"):
        yield (Span("There are no sessions at all; `pepys doctor` says where they were looked for.", "dim"),)


def coverage_lines(coverage: Json) -> Iterator[Line]:
    """What an answer did not look at; nothing when it is complete and nothing was left out."""
    for reason in coverage.get("reasons", ()):
        incomplete, meaning = REASONS.get(reason, (True, reason))
        yield (Span("Incomplete: " if incomplete else "Note: ", "yellow"), f"{meaning} ({reason})")
    error = coverage.get("error")
    if error:
        yield (Span("Error: ", "red"), str(error.get("message") or error.get("code")))
    left_out = coverage.get("subagentSessionsLeftOut")
    if left_out:
        sessions = counted(left_out, "session of sub-agents was", "sessions of sub-agents were")
        yield (Span(f"{sessions} left out; --subagents searches them too.", "dim"),)


def redacted_lines(count: int, whole: str = "`pepys call`") -> Iterator[Line]:
    """That credentials are masked, and in what *whole* answer they are not."""
    if count:
        what = counted(count, "credential is", "credentials are")
        yield (Span(f"{what} masked; {whole} shows {'it' if count == 1 else 'them'}.", "dim"),)


def _matches(snippet: str, query: str, *, phrase: bool) -> Iterator[tuple[int, int]]:
    if phrase:
        if query.strip():
            for found in re.finditer(re.escape(query.strip()), snippet, re.IGNORECASE):
                yield found.span()
        return
    terms = set(query_terms(query))
    for token, start, end in token_spans(snippet):
        if token in terms:
            yield start, end


def _name(hit: Json) -> str:
    # The command that opens the hit holds the id anyhow.
    return str(hit.get("name") or hit["sessionId"])


def _role(record: Json) -> str:
    role = record.get("role") or record.get("type") or "entry"
    return f"{role} {record['tool']}" if record.get("tool") else str(role)


def _time(value: object) -> str:
    if isinstance(value, (int, float)):
        return local(value)
    return str(value) if value else "no time"
