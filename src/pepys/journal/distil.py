"""One exchange to a few bullets: by a model where there is one, else by taking the exchange's own words."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from typing import NamedTuple

from pepys.journal import calls
from pepys.journal.constants import DISTILLATION_TIMEOUT_MS
from pepys.journal.exchange import Exchange, printed, said
from pepys.model.journal import Completion
from pepys.normalise.touched import touched

SYSTEM = """\
You take notes for the project memory of a coding agent. You are given one exchange between a user and the agent. Write
down what is worth knowing in a later session, as 2 to 10 markdown bullets and nothing else.

- Third person, past tense; say "the user" and "the agent".
- Every bullet stands on its own: a decision and its reason, a fix and its cause, a fact that was found out, a
  preference, something left to do. Name the files, commands, versions and numbers that it is about.
- Write in the language that the user mainly writes in.
- No headings, no introduction, no closing remark. Write something down even if little happened."""

MARKER = "- [pepys] distillation failed: "
EXTRACT = "(extract)"

BULLET = re.compile(r"^[ \t]*(?:[-*+]|\d+[.)])[ \t]", re.MULTILINE)
"""What every text of an exchange has, of whichever agent; see `bulleted`."""

_CLOSING = r"[\"'”’)\]」』》〉】）*_`]*"  # noqa: RUF001  (what belongs to the sentence before it)
_SENTENCE = re.compile(rf".+?(?:[.!?]{_CLOSING}(?=\s|$)|[。！？]+{_CLOSING}|$)")  # noqa: RUF001  (full stops of CJK text)
_FULL_WIDTH = re.compile(rf"[。！？]{_CLOSING}$")  # noqa: RUF001  (after which no space is put)
_SENTENCE_CHARS = 240
_REASON_CHARS = 300
_LISTED = 8


class Failed(Exception):
    """A model gave no usable text; the message says why."""


def distilled(
    complete: Completion,
    model: str | None,
    exchange: Exchange,
    abort: threading.Event | None = None,
    timeout_ms: int = DISTILLATION_TIMEOUT_MS,
) -> str:
    """The bullets that a model makes of *exchange*.

    Raises:
        Failed: Timed out, aborted, failed, or returned nothing.
    """
    seconds = timeout_ms / 1000
    try:
        text = calls.within(lambda: complete(model, SYSTEM, printed(exchange), seconds), seconds, abort)
    except calls.Aborted:
        raise Failed("aborted by the shutdown cap") from None
    except TimeoutError:
        raise Failed(f"distillation timed out after {timeout_ms}ms") from None
    except Exception as error:
        raise Failed(reason(str(error) or type(error).__name__)) from error
    if not isinstance(text, str) or not text.strip():
        raise Failed("distillation returned no text")
    return bulleted(text.strip())


def bulleted(text: str) -> str:
    """*text* with a bullet: of a model that wrote prose, every paragraph is one."""
    if BULLET.search(text):
        return text
    paragraphs = (" ".join(part.split()) for part in re.split(r"\n[ \t]*\n", text))
    return "\n".join(f"- {part}" for part in paragraphs if part)


def marker(why: str) -> str:
    """What stands in the place of bullets that could not be made: the anchor above it still leads to the exchange."""
    return MARKER + reason(why)


def reason(text: str) -> str:
    """*text* on one line, bounded."""
    return " ".join(text.split())[:_REASON_CHARS]


class Ran(NamedTuple):
    """A command that failed."""

    command: str
    code: int | None


def extracted(exchange: Exchange, cwd: str | None) -> str:
    """Bullets in the exchange's own words, marked as such: prompt, answer, files changed, commands that failed.

    Capture works without any model, and on a plane.
    """
    lines = []
    if prompt := next((text for entry in exchange.messages if entry.role == "user" and (text := said(entry))), ""):
        lines.append(f"{EXTRACT} the user asked: {_first(prompt)}")
    answers = [text for entry in exchange.messages if entry.role == "assistant" and (text := said(entry))]
    if answers:
        lines.append(f"the agent answered: {_ends(answers[-1])}")
    if files := list(dict.fromkeys(_changed(exchange, cwd))):
        lines.append(f"files changed: {_listed(files)}")
    if failed := list(dict.fromkeys(_failed(exchange))):
        lines.append(f"commands that failed: {_listed([_shown(each) for each in failed])}")
    return "\n".join(f"- {line}" for line in lines)


def _first(text: str) -> str:
    return _cut(next(_sentences(text), ""))


def _ends(text: str) -> str:
    """The first sentence and the last one, with a mark where something between them is left out."""
    sentences = list(_sentences(text))
    if len(set(sentences)) < 2:
        return _cut(next(iter(sentences), ""))
    space = "" if _FULL_WIDTH.search(sentences[0]) else " "
    left_out = len(sentences) > 2 or "```" in text or "~~~" in text
    return _cut(sentences[0]) + (" … " if left_out else space) + _cut(sentences[-1])


def _sentences(text: str) -> Iterator[str]:
    fenced = False
    for line in text.split("\n"):
        if line.lstrip().startswith(("```", "~~~")):
            fenced = not fenced
        elif not fenced:
            plain = line.strip().lstrip("#>*-+ ").strip()
            yield from (found for match in _SENTENCE.finditer(plain) if (found := match[0].strip()))


def _cut(text: str) -> str:
    return text if len(text) <= _SENTENCE_CHARS else text[:_SENTENCE_CHARS].rstrip() + "…"


def _listed(items: list[str]) -> str:
    more = f" and {len(items) - _LISTED} more" if len(items) > _LISTED else ""
    return ", ".join(items[:_LISTED]) + more


def _changed(exchange: Exchange, cwd: str | None) -> Iterator[str]:
    inside = None if cwd is None else cwd.rstrip("/") + "/"
    for entry in exchange.messages:
        for each in touched(entry, cwd):
            if each.access == "changed":
                yield each.path.removeprefix(inside) if inside else each.path


def _failed(exchange: Exchange) -> Iterator[Ran]:
    commands = {
        block.call: command
        for entry in exchange.messages
        for block in entry.blocks
        if block.kind == "call"
        and isinstance(block.arguments, dict)
        and isinstance(command := block.arguments.get("command"), str)
    }
    for entry in exchange.messages:
        if entry.role == "toolResult" and entry.is_error and entry.call is not None and entry.call in commands:
            yield Ran(commands[entry.call], entry.exit_code)
        elif entry.exit_code and entry.role in ("bashExecution", "pythonExecution"):
            yield Ran(next((block.text for block in entry.blocks if block.kind == "command"), ""), entry.exit_code)


def _shown(ran: Ran) -> str:
    command = _cut(" ".join(ran.command.split())).replace("`", "'")
    return f"`{command}`" + (f" (exit {ran.code})" if ran.code else "")
