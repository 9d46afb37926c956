"""The canonical tokens and the canonical form of text.

One tokenizer serves indexing, queries, the oracle and snippets (spec 1, "Exact lexical queries"): NFKC, then
maximal runs of letters, numbers and `_`, then lower-casing of each run. No stemming, no folding, no synonyms.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

MAX_TOKEN_BYTES = 60_000
"""Longer tokens are replaced by a digest: the engine would drop them silently at 65,530 bytes."""

GIANT = "giant_"
"""What the digests that stand for such tokens begin with."""

_RUN = re.compile(r"\w+")
_GIANT = re.compile(rf"\S{{{MAX_TOKEN_BYTES // 4}}}")

# For ASCII text, one table does what the pattern and the lower-casing do, some twenty times faster.
_ASCII = bytes(
    ord(chr(byte).lower()) if chr(byte).isalnum() or byte == ord("_") else ord(" ") for byte in range(128)
) + bytes([ord(" ")] * 128)


def canonical(text: str) -> str:
    """NFKC; ASCII text is its own NFKC and is returned as it is."""
    return text if text.isascii() else unicodedata.normalize("NFKC", text)


def folded(text: str) -> str:
    """The form in which phrases are compared: NFKC, lower-cased, white space untouched.

    A final sigma is written as any other one: which of the two lower-casing gives depends on what surrounds it.
    """
    return text.lower() if text.isascii() else canonical(text).lower().replace("\u03c2", "\u03c3")


def tokens(text: str) -> list[str]:
    """The canonical tokens of *text*, in order, repeated ones included."""
    return token_line(text).split()


def token_line(text: str) -> str:
    """The canonical tokens of *text* separated by white space: what the text engine is given."""
    if text.isascii():
        line = text.encode("ascii").translate(_ASCII).decode("ascii")
    else:
        # Lower-casing may add marks (İ becomes i and a dot above), so runs are cut before it.
        line = " ".join(_RUN.findall(unicodedata.normalize("NFKC", text))).lower()
    return line if len(line) * 4 < MAX_TOKEN_BYTES or not _GIANT.search(line) else _without_giants(line)


def query_terms(text: str) -> tuple[str, ...]:
    """The distinct tokens of a query in first-seen order."""
    return tuple(dict.fromkeys(tokens(text)))


def token_spans(text: str) -> Iterator[tuple[str, int, int]]:
    """Each token of *text* with its place in the *raw* text (code points, half-open).

    NFKC can change lengths, so text is normalised piece by piece between ASCII separators, across which NFKC
    never joins. The tokens of a piece that NFKC changes all carry the span of the whole piece.
    """
    for piece in _PIECE.finditer(text):
        raw, offset = piece.group(), piece.start()
        if canonical(raw) == raw:
            for run in _RUN.finditer(raw):
                yield bounded(run.group().lower()), offset + run.start(), offset + run.end()
        else:
            for token in tokens(raw):
                yield token, offset, piece.end()


_PIECE = re.compile(r"[^\x00-/:-@\[-^`{-\x7f]+")


CJK = (
    "\u1100-\u11ff\u3005-\u3007\u3031-\u3035\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u3105-\u312f\u31a0-\u31bf"
    "\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\U0001b000-\U0001b16f\U00020000-\U000323af"
)
"""Characters, as a pattern writes them, of scripts that put no spaces between words, or (Hangul) endings after them."""

_IDEOGRAM = re.compile(f"[{CJK}]")
_WORD = re.compile(f"[^\\W_{CJK}]+")
_MARKED = re.compile("[\u00e0-\u024f\u1e00-\u1eff]")


def plain(text: str) -> str:
    """The form in which event search compares text (spec 3): `folded`, and Latin letters without their marks."""
    if text.isascii():
        return text.lower()
    # Of all letters, only the first one here becomes two in lower case.
    return _MARKED.sub(_unmarked, canonical(text).replace("\u0130", "I").lower().replace("\u03c2", "\u03c3"))


def _unmarked(match: re.Match[str]) -> str:
    letter = unicodedata.normalize("NFD", match.group())[0]
    return letter if letter.isascii() else match.group()


def part_line(text: str) -> str:
    """What event search finds within the tokens of *text*, separated by white space.

    These are words that `_` joins, words beside CJK characters, and Latin words without their marks; not what is a
    canonical token already.
    """
    if text.isascii():
        if "_" not in text:
            return ""
        inner = (word for token in token_line(text).split() if "_" in token for word in token.split("_") if word)
        return " ".join(map(bounded, inner))
    found: list[str] = []
    for run in _RUN.findall(unicodedata.normalize("NFKC", text)):
        if not run.isascii() or "_" in run:
            words = _WORD.findall(plain(run))
            if words != [run.lower()]:
                found += map(bounded, words)
    return " ".join(found)


def distinct_parts(text: str, line: str) -> set[str]:
    """The distinct words of `part_line`, given the `token_line` of *text* too: little is looked at twice."""
    if not line.isascii():
        return set(part_line(text).split())
    if "_" not in line:
        return set()
    # Only what touches a `_` is looked at, not every token: the ends of the text before it and after it.
    between = line.split("_")
    found = {text[text.rfind(" ") + 1 :] for text in between[:-1]}
    found.update([text.split(" ", 1)[0] for text in between[1:]])
    found.discard("")
    return found


def cjk_line(text: str) -> str:
    """Every CJK character of *text*, separated by white space."""
    return "" if text.isascii() else " ".join(_IDEOGRAM.findall(unicodedata.normalize("NFKC", text)))


def printable(text: str) -> str:
    r"""*text* with control characters made visible, so that it cannot steer a terminal.

    Line feeds and tabs stay; every other C0, DEL and C1 character, and bidirectional overrides, become `\xNN` or
    `\uNNNN` escapes. Lone surrogates become U+FFFD.
    """
    return _UNPRINTABLE.sub(_visible, text)


_UNPRINTABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def _visible(match: re.Match[str]) -> str:
    code = ord(match.group())
    if 0xD800 <= code <= 0xDFFF:
        return "\ufffd"
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


def _without_giants(line: str) -> str:
    return " ".join(map(bounded, line.split()))


def bounded(token: str) -> str:
    """*token*, or a digest in its place where the engine would drop it for its length."""
    if len(token) * 4 < MAX_TOKEN_BYTES:
        return token
    encoded = token.encode("utf-8", "surrogatepass")
    if len(encoded) < MAX_TOKEN_BYTES:
        return token
    import hashlib

    return GIANT + hashlib.sha256(encoded).hexdigest()
