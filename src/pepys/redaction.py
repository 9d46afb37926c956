"""Credentials in text that is quoted from sessions, and the mask that stands for them where the text is shown.

Only what is recognised by its form is masked: tokens with a fixed beginning, and private keys. Nothing is judged by
entropy or by the words around it, and nothing is asked of a network. The index knows nothing of it: a masked text is
found by its own words. Why these rules are ours: `docs/adr/0012-redaction.md`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, NamedTuple

MASK = "*"


class Rule(NamedTuple):
    """One form of credential.

    A pattern that begins with letters, not with a look behind them, is searched for twenty times faster.
    """

    issuer: str
    anchors: tuple[str, ...]  # in lower case; text without any of them, whatever its case, cannot hold the form
    pattern: str  # the credential is its group `secret`, or else all of it
    within: bool = False  # whether it may stand within a word; its beginning tells enough


RULES = (
    Rule("age", ("age-secret-key-1",), r"AGE-SECRET-KEY-1[0-9A-Z]{20,}", within=True),
    Rule("Anthropic", ("sk-ant-",), r"sk-ant-[\w-]{20,}"),
    Rule("AWS", ("a3t", "abia", "acca", "akia", "asia"), r"A(?:3T[A-Z0-9]|BIA|CCA|KIA|SIA)[0-9A-Z]{16}", within=True),
    Rule(
        "AWS",  # the secret itself has no beginning of its own; what names it has
        ("aws",),
        r"[aA][wW][sS].{0,20}?(?i:key|pwd|pw|password|pass|token)(?:.{0,20}?['\"]|['\"]?\s{0,3}[:=]\s{0,3})"
        r"(?P<secret>[0-9a-zA-Z/+]{40})(?![0-9a-zA-Z/+])",
        within=True,
    ),
    Rule("Azure", ("accountkey=",), r"AccountKey=(?P<secret>[a-zA-Z0-9+/=]{88})", within=True),
    Rule("DigitalOcean", ("dop_v1_",), r"dop_v1_[0-9a-f]{64}", within=True),
    Rule("Discord", (".",), r"[MNO][a-zA-Z\d_-]{23,25}\.[a-zA-Z\d_-]{6}\.[a-zA-Z\d_-]{27,}"),
    Rule("GitHub", ("ghp_", "gho_", "ghu_", "ghs_", "ghr_"), r"gh[pousr]_\w{36,}", within=True),
    Rule("GitHub", ("github_pat_",), r"github_pat_\w{22,}", within=True),
    Rule(
        "GitLab",
        tuple(f"gl{kind}-" for kind in ("pat", "dt", "ft", "soat", "rt", "cbt", "imt", "ptt", "agent", "oas")),
        r"gl(?:pat|dt|ft|soat|rt|cbt|imt|ptt|agent|oas)-[\w-]{20,}",
        within=True,
    ),
    Rule("GitLab", ("gr1348941",), r"GR1348941[\w-]{20,}", within=True),
    Rule("Google", ("aiza",), r"AIza[\w-]{35,}"),
    Rule("Google", ("gocspx-", "ya29."), r"(?:GOCSPX-|ya29\.)[\w-]{20,}"),
    Rule("Groq", ("gsk_",), r"gsk_\w{40,}"),
    Rule("Hugging Face", ("hf_",), r"hf_[a-zA-Z0-9]{34,}"),
    Rule(  # looks behind itself, so that a long run of letters is not tried from every place in it
        "JSON web token", ("eyj",), r"eyJ(?:(?<![\w-]eyJ)|(?<=\\[nrt]eyJ))[\w-]{8,}={0,2}(?:\.{1,2}[\w-]+={0,2}){1,4}"
    ),
    Rule("Mailchimp", ("-us",), r"[0-9a-z]{32}-us\d{1,2}(?!\w)"),
    Rule("npm", ("npm_",), r"npm_[a-zA-Z0-9]{36,}"),
    Rule("npm", ("_authtoken=",), r":_authToken=(?P<secret>npm_\w+|[A-Fa-f0-9-]{36})", within=True),
    Rule("OpenAI", ("t3blbkfj",), r"sk-[\w-]{16,256}?T3BlbkFJ[\w-]{16,}"),
    Rule("OpenAI", ("sk-proj-", "sk-svcacct-", "sk-admin-"), r"sk-(?:proj|svcacct|admin)-[\w-]{40,}"),
    Rule("OpenRouter", ("sk-or-v1-",), r"sk-or-v1-[0-9a-f]{64}"),
    Rule("PyPI", ("pypi-ag",), r"pypi-Ag[\w-]{70,}", within=True),
    Rule("SendGrid", ("sg.",), r"SG\.[\w-]{22}\.[\w-]{43,}", within=True),
    Rule("Slack", ("xox",), r"[xX][oO][xX][a-zA-Z](?:\.(?i:xox)[a-zA-Z])?-(?:\d+-)+[a-zA-Z0-9-]+", within=True),
    Rule("Slack", ("xapp-",), r"xapp-\d+-\w+-\d+-\w+"),
    Rule("Slack", ("hooks.slack.com/services/",), r"(?i)hooks\.slack\.com/services/(?P<secret>T\w+/B\w+/\w+)"),
    Rule("Square", ("sq0csp-", "sq0atp-"), r"sq0(?:csp|atp)-[\w-]{22,}", within=True),
    Rule("Stripe", ("k_live_",), r"[rs]k_live_[0-9a-zA-Z]{24,}", within=True),
    Rule("Telegram", (":",), r"\d{8,10}:[\w-]{35}(?![\w-])"),
    Rule("Twilio", ("ac",), r"AC[a-z0-9]{32}(?!\w)"),
    Rule("Twilio", ("sk",), r"SK[a-z0-9]{32}(?!\w)"),
    Rule("xAI", ("xai-",), r"xai-[a-zA-Z0-9]{40,}"),
)

_KEY_ANCHORS = ("private key", "putty-user-key-file-")
_KEY_MARKERS = (
    r"(?P<begin>-{4,5} ?BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)? ?-{4,5}|PuTTY-User-Key-File-\d(?=: ))"
    r"|(?P<end>-{4,5} ?END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)? ?-{4,5}|Private-MAC: [0-9a-f]+)"
)
# A marker without its counterpart is the edge of a key only where it has a line to itself; else it is talked about.
_LINE_ENDS = r"[ \t]*(?:\Z|[\r\n]|\\+[rn])|: (?:ssh|ecdsa|rsa|dss)-"
_LINE_BEGINS = r"(?:\A|[\r\n]|\\[rn])[ \t\d:|>+-]{0,12}\Z"


class Masked(NamedTuple):
    """A text as it is shown. It is as long as the original, code point for code point."""

    text: str
    spans: tuple[tuple[int, int], ...] = ()  # what is masked: disjoint, ascending, half-open

    def masks(self, start: int, end: int) -> int:
        """How many masks reach into the part from *start* to *end*."""
        return sum(1 for first, last in self.spans if first < end and last > start)


def masked(text: str) -> Masked:
    """*text* with every credential masked; white space in private keys stays, and so do the lines."""
    spans = tuple(_joined(sorted(_found(text))))
    if not spans:
        return Masked(text)
    parts, end = [], 0
    for start, stop in spans:
        parts += [text[end:start], re.sub(r"\S", MASK, text[start:stop])]
        end = stop
    return Masked("".join([*parts, text[end:]]), spans)


def masked_values(value: Any) -> tuple[Any, int]:
    """A JSON value with every credential in its strings masked, and how many there were. Keys stay as they are."""
    if isinstance(value, str):
        shown = masked(value)
        return shown.text, len(shown.spans)
    if isinstance(value, Mapping):
        pairs = {key: masked_values(each) for key, each in value.items()}
        return {key: each for key, (each, _) in pairs.items()}, sum(count for _, count in pairs.values())
    if isinstance(value, (list, tuple)):
        items = [masked_values(each) for each in value]
        return [each for each, _ in items], sum(count for _, count in items)
    return value, 0


def _found(text: str) -> Iterator[tuple[int, int]]:
    lowered = text.lower()
    for rule in RULES:
        if any(anchor in lowered for anchor in rule.anchors):
            pattern = _compiled(rule.pattern)
            group = "secret" if pattern.groups else 0
            for match in pattern.finditer(text):
                if rule.within or _begins_word(text, match.start()):
                    yield match.span(group)
    if any(anchor in lowered for anchor in _KEY_ANCHORS):
        yield from _private_keys(text)


def _begins_word(text: str, at: int) -> bool:
    before = text[max(at - 2, 0) : at]
    # In tool arguments, white space is written as an escape.
    return not (before[-1:].isascii() and before[-1:].isalnum()) or before in ("\\n", "\\r", "\\t")


def _private_keys(text: str) -> Iterator[tuple[int, int]]:
    """Whole keys, and the halves of keys that begin before the text or end after it."""
    begun: list[re.Match[str]] = []
    first = True
    for marker in _compiled(_KEY_MARKERS).finditer(text):
        if marker["begin"]:
            begun.append(marker)
        elif begun:
            yield begun[0].start(), marker.end()
            begun = []
        elif first and _compiled(_LINE_BEGINS).search(text[max(marker.start() - 14, 0) : marker.start()]):
            yield 0, marker.end()
        first = False
    for marker in begun:
        if _compiled(_LINE_ENDS).match(text, marker.end()):
            yield marker.start(), len(text)
            return


def _joined(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """*spans*, sorted, as disjoint ones."""
    joined: list[tuple[int, int]] = []
    for start, end in spans:
        if joined and start < joined[-1][1]:
            joined[-1] = (joined[-1][0], max(joined[-1][1], end))
        else:
            joined.append((start, end))
    return joined


# Compiled when a text first holds an anchor: most hold few.
@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.ASCII)
