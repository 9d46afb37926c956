"""The query language of event search: words and quoted phrases, all of which one fragment must hold (spec 3).

A query has no operators: whatever looks like one is text. Its parts are compared in the form that `text.plain` gives,
piece by piece: a word is a run of letters and numbers (`_` separates), and every CJK character is a piece of its own.
The pieces of one part stand side by side; what is between two of them may be anything but a letter or a number. CJK
characters that touch in a query touch in the text: a part of a compound is found, and a stem without its ending.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from pepys.errors import InvalidQuery
from pepys.text import CJK, canonical, plain

_LETTER = f"[^\\W_{CJK}]"
_TOUCHES = re.compile(_LETTER)
_PIECES = re.compile(f"(?P<cjk>[{CJK}])|{_LETTER}+")

# Characters without a combining class that nevertheless join what stands before them: vowels and finals of Hangul, and
# the voicing marks of half-width kana.
_JOINING = re.compile("[\u1160-\u11ff\uff9e\uff9f]")


class Part(NamedTuple):
    """A word or a phrase of a query."""

    text: str  # as it was written, without quotes
    quoted: bool
    words: tuple[str, ...]  # distinct and plain: each is a token, or a part of one (`text.part_line`)
    cjk: tuple[str, ...]  # distinct runs of CJK characters that touch
    pattern: str  # matches it in plain text, but for what stands around its first and last word
    edges: tuple[bool, bool]  # whether it begins, and ends, with a word: no letter touches that


class Query(NamedTuple):
    """What is asked for; without parts, nothing matches."""

    parts: tuple[Part, ...]

    @property
    def words(self) -> tuple[str, ...]:
        """The distinct words of all parts: what every match holds as tokens or as parts of tokens."""
        return tuple(dict.fromkeys(word for part in self.parts for word in part.words))

    @property
    def cjk(self) -> tuple[str, ...]:
        """The distinct CJK runs of all parts: what every match holds as adjacent characters."""
        return tuple(dict.fromkeys(run for part in self.parts for run in part.cjk))

    def holds(self, texts: Iterable[str]) -> bool:
        """Whether one fragment, whose text is *texts* with gaps that nothing crosses, satisfies the whole query."""
        missing = list(self.parts)
        for text in texts:
            if not missing:
                break
            made = plain(text)
            missing = [part for part in missing if not _found(part, made)]
        return bool(self.parts) and not missing

    def spans(self, text: str) -> tuple[tuple[int, int], ...]:
        """Where the parts of the query stand in *text*: code points, half-open, ascending, none within another."""
        made, starts, ends = _aligned(text)
        found = sorted(
            (starts[match.start()], ends[match.end() - 1])
            for part in self.parts
            if _found(part, made)
            for match in _matches(part, made)
        )
        return tuple(_merged(found))


def parse(text: str) -> Query:
    """The query that *text* stands for. Parts without any letter or number are passed over.

    Raises:
        InvalidQuery: It is blank, a phrase in it is, or a quote is not closed.
    """
    if not text.strip():
        raise InvalidQuery("Invalid search query.", hint="Give at least one word.")
    # Quotes open and close wherever they stand, also within a word.
    outside = text.split('"')
    if len(outside) % 2 == 0:
        raise InvalidQuery("Invalid search query.", hint="Close the quotation mark, or leave it out.")
    parts: dict[Part, None] = {}
    for number, some in enumerate(outside):
        if number % 2 == 0:
            written = some.split()
        elif some.strip():
            written = [some.strip()]
        else:
            raise InvalidQuery("Invalid search query.", hint="Put something between the quotation marks.")
        for one in written:
            if (part := _part(one, quoted=number % 2 == 1)) is not None:
                parts[part] = None
    return Query(tuple(parts))


def _part(text: str, *, quoted: bool) -> Part | None:
    words: dict[str, None] = {}
    runs: list[str] = []
    pattern = ""
    begins_with_word = False
    previous: re.Match[str] | None = None
    for piece in _PIECES.finditer(plain(text)):
        written, is_cjk = piece.group(), piece["cjk"] is not None
        touches = previous is not None and previous.end() == piece.start()
        after_cjk = previous is not None and previous["cjk"] is not None
        if previous is None:
            begins_with_word = not is_cjk
        elif not (is_cjk or after_cjk):
            pattern += r"[\W_]+"
        elif not (is_cjk and after_cjk and touches):
            pattern += r"[\W_]*"
        pattern += re.escape(written)
        if not is_cjk:
            words[written] = None
        elif after_cjk and touches:
            runs[-1] += written
        else:
            runs.append(written)
        previous = piece
    if previous is None:
        return None
    edges = (begins_with_word, previous["cjk"] is None)
    return Part(text, quoted, tuple(words), tuple(dict.fromkeys(runs)), pattern, edges)


def _found(part: Part, made: str) -> bool:
    # Most texts lack some word, and a substring is found a hundred times faster than a pattern.
    return all(piece in made for piece in (*part.words, *part.cjk)) and any(True for _ in _matches(part, made))


def _matches(part: Part, made: str) -> Iterator[re.Match[str]]:
    """Where a part stands in plain text; none within another."""
    # The class of letters is large: to compile it into each pattern would cost more than to search most texts.
    pattern, (left, right) = re.compile(part.pattern), part.edges
    at = 0
    while (match := pattern.search(made, at)) is not None:
        start, end = match.span()
        touched = (left and start > 0 and _TOUCHES.match(made, start - 1)) or (right and _TOUCHES.match(made, end))
        if not touched:
            yield match
        at = start + 1 if touched else end


def _aligned(text: str) -> tuple[str, Sequence[int], Sequence[int]]:
    """Plain *text*, and where in *text* each of its characters begins and ends."""
    if text.isascii() or canonical(text) == text:  # whatever else `plain` does leaves lengths as they are
        return plain(text), range(len(text)), range(1, len(text) + 1)
    made = ""
    starts: list[int] = []
    ends: list[int] = []
    for start, end in _clusters(text):
        some = plain(text[start:end])
        made += some
        starts += [start] * len(some)
        ends += [end] * len(some)
    return made, starts, ends


def _clusters(text: str) -> Iterator[tuple[int, int]]:
    """Spans of characters with what combines with them: normalising joins nothing across these."""
    start = 0
    for at in range(1, len(text)):
        if not unicodedata.combining(text[at]) and not _JOINING.match(text[at]):
            yield start, at
            start = at
    if text:
        yield start, len(text)


def _merged(spans: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    last: tuple[int, int] | None = None
    for start, end in spans:
        if last is None or start >= last[1]:
            if last is not None:
                yield last
            last = start, end
        else:
            last = last[0], max(last[1], end)
    if last is not None:
        yield last
