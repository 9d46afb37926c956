"""Phrases: contiguous text, found through runs of tokens and then verified in the text itself."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping
from itertools import islice

from pepys.index.engines.base import Run, Runs
from pepys.model.entry import Event, Field
from pepys.text import canonical, folded, tokens

# Wherever one passage of an entry's text ends and the next begins, one of these stands (see `normalise`): a phrase that
# holds none of them lies within one passage, and between two of them its tokens do.
_BORDERS = re.compile(r"[\n:()\[\]$>]")

_SIGMA = re.compile("[\u03c2\u03c3]")

# An engine is asked for no more than this of a phrase: more costs seconds and hardly narrows what is found.
_MAX_RUNS, _MAX_TOKENS, _MAX_EDGE_CHARS = 32, 32, 64


def candidates(phrase: str) -> Runs:
    """What documents must hold to hold *phrase*. No run at all: any document may."""
    text = canonical(phrase)
    if any(unicodedata.combining(char) for char in text) or len(text.lower()) != len(text):
        # Marks join or split tokens depending on what surrounds them: nothing is certain, everything is read.
        return Runs(())
    return Runs(tuple(islice(_runs(text), _MAX_RUNS)))


def _runs(text: str) -> Iterator[Run]:
    start = 0
    for border in (*_BORDERS.finditer(text), None):
        end = len(text) if border is None else border.start()
        words = tuple(tokens(text[start:end]))
        open_left = start == 0 and _is_word(text[0])
        open_right = border is None and _is_word(text[-1])
        yield from map(_bounded, _certain(Run(words, open_left, open_right)))
        start = end if border is None else border.end()


def _certain(run: Run) -> Iterator[Run]:
    """What of a run engines are sure to hold alike: how they lower-case a sigma depends on what surrounds it."""
    start = 0
    for end in (*(at for at, token in enumerate(run.tokens) if _SIGMA.search(token)), len(run.tokens)):
        if start < end:
            open_right = run.open_right and end == len(run.tokens)
            yield Run(run.tokens[start:end], run.open_left and start == 0, open_right)
        start = end + 1


def _bounded(run: Run) -> Run:
    words = list(run.tokens[:_MAX_TOKENS])
    open_right = run.open_right and len(run.tokens) <= _MAX_TOKENS
    if run.open_left:
        words[0] = words[0][-_MAX_EDGE_CHARS:]
    if open_right:
        words[-1] = words[-1][:_MAX_EDGE_CHARS]
    return Run(tuple(words), run.open_left, open_right)


def _is_word(char: str) -> bool:
    return char == "_" or char.isalnum()


def weight(event: Event, text: str, phrase: str, weights: Mapping[Field, float]) -> float | None:
    """The score of a record for *phrase* (folded); None if its *text* does not hold it.

    It is the weight of the strongest kind of text that holds the phrase.
    """
    if phrase not in folded(text):
        return None
    holding = [weights[passage.field] for passage in event.passages if phrase in folded(passage.text)]
    return max(holding, default=weights["label"])
