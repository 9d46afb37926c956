"""The engine that indexes nothing: the oracle of the contract tests, and the reader of what no commit holds yet."""

from __future__ import annotations

import heapq
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from pepys.index.document import ASIDE, CHILD, Document, pieces
from pepys.index.engines.base import (
    EVENT_FIELDS,
    FIELDS,
    FINER,
    TEXTS,
    WEIGHTS,
    Among,
    Everything,
    Filters,
    Hits,
    Query,
    Run,
    Runs,
    Sought,
    Statistics,
    Wanted,
    Words,
)
from pepys.text import GIANT, cjk_line, part_line, token_line, tokens

K1, B = 1.2, 0.75


class Scan:
    """Documents in memory, read from end to end at every search."""

    def __init__(self, documents: Iterable[Document] = (), statistics: Statistics | None = None) -> None:
        """Start with *documents*.

        Args:
            documents: Found at once.
            statistics: Of the corpus that scores are to be comparable with; None: these documents' own.
        """
        self._documents = list(documents)
        self._pending: list[Document] = []
        self._statistics = statistics

    def add(self, documents: Iterable[Document]) -> None:
        """See `Engine`."""
        self._pending.extend(documents)

    def remove(self, generations: Iterable[int]) -> None:
        """See `Engine`."""
        gone = set(generations)
        self._documents = [document for document in self._documents if document.place.generation not in gone]
        self._pending = [document for document in self._pending if document.place.generation not in gone]

    def commit(self) -> None:
        """See `Engine`."""
        self._documents += self._pending
        self._pending = []

    def search(self, query: Query, filters: Filters, among: Among, limit: int) -> Hits:
        """See `Engine`."""
        found = [
            (score, document.place.packed(), document.time) for score, document in self._scored(query, filters, among)
        ]
        best = heapq.nlargest(limit, found, key=lambda hit: hit[:2])
        return Hits(len(found), tuple(hit[:2] for hit in best), tuple(time for _, _, time in best))

    def places(self, query: Query, filters: Filters, among: Among) -> list[int]:
        """See `Engine`."""
        return [document.place.packed() for _, document in self._scored(query, filters, among)]

    def _scored(self, query: Query, filters: Filters, among: Among) -> Iterator[tuple[float, Document]]:
        match query:
            case Words():
                yield from self._words(query, filters, among)
            case Sought():
                yield from self._sought(query, filters, among)
            case Runs():
                yield from (
                    (0.0, document) for document in self._records(filters, among) if _holds(document, query.runs)
                )
            case Everything():
                yield from ((0.0, document) for document in self._records(filters, among))

    def _passing(self, filters: Filters, among: Among) -> Iterator[Document]:
        for document in self._documents:
            if among.holds(document.place.generation) and filters.passes(document):
                yield document

    def _records(self, filters: Filters, among: Among) -> Iterator[Document]:
        return (document for document in self._passing(filters, among) if ASIDE not in document.traits)

    def _sought(self, sought: Sought, filters: Filters, among: Among) -> Iterator[tuple[float, Document]]:
        """Scores are over the terms and fields that `Sought` names; the corpus is all documents."""
        terms = frozenset(sought.terms)
        fields = (*sought.fields, *FINER)
        if not sought.wanted or not sought.fields:
            return
        counted = [(document, *_counts(document, terms, fields)) for document in self._documents]
        statistics = self._statistics or _statistics([(counts, lengths) for _, counts, lengths in counted], fields)
        passing = {document.place for document in self._passing(filters, among)}
        for document, counts, lengths in counted:
            if document.place in passing and _may_be(document, sought):
                score = sum(
                    _bm25(statistics, field, term, count, lengths[field]) for (field, term), count in counts.items()
                )
                yield score, document

    def _words(self, words: Words, filters: Filters, among: Among) -> Iterator[tuple[float, Document]]:
        wanted = frozenset(words.terms)
        counted = [(document, *_counts(document, wanted, FIELDS)) for document in self._documents]
        statistics = self._statistics or _statistics([(counts, lengths) for _, counts, lengths in counted], FIELDS)
        weights: Mapping[str, float] = dict((words.weights or WEIGHTS).items())
        needed = len(words.terms) if words.match == "all" else 1
        for document, counts, lengths in counted:
            found = {term for _, term in counts}
            if len(found) >= max(needed, 1) and among.holds(document.place.generation) and filters.passes(document):
                score = sum(
                    weights[field] * _bm25(statistics, field, term, count, lengths[field])
                    for (field, term), count in counts.items()
                )
                yield score, document


def _counts(
    document: Document, wanted: frozenset[str], fields: Sequence[str]
) -> tuple[Counter[tuple[str, str]], Mapping[str, int]]:
    counts: Counter[tuple[str, str]] = Counter()
    lengths: Counter[str] = Counter()
    for field, line in _lines(document, fields):
        lengths[field] += len(line)
        counts.update((field, token) for token in line if token in wanted)
    return counts, lengths


def _lines(document: Document, fields: Sequence[str]) -> Iterator[tuple[str, list[str]]]:
    """The tokens of each value that an engine has of a document in *fields*."""
    parts: dict[str, None] = {}
    for field, text in document.passages:
        for piece in pieces(text):
            if field in fields:
                yield field, token_line(piece).split()
            if field in EVENT_FIELDS and "parts" in fields:
                parts.update(dict.fromkeys(part_line(piece).split()))
                yield "cjk", cjk_line(piece).split()
    yield "parts", list(parts)


def _statistics(
    counted: Sequence[tuple[Counter[tuple[str, str]], Mapping[str, int]]], fields: Sequence[str]
) -> Statistics:
    frequency: Counter[tuple[str, str]] = Counter()
    totals: Counter[str] = Counter()
    for counts, lengths in counted:
        frequency.update(counts.keys())
        totals.update(lengths)
    size = max(len(counted), 1)
    return Statistics(len(counted), {field: totals[field] / size for field in fields}, frequency)


def _bm25(statistics: Statistics, field: str, term: str, count: int, length: int) -> float:
    size, frequency = statistics.documents, statistics.frequency.get((field, term), 0)
    frequency = min(max(frequency, 1), max(size, 1))
    rarity = math.log(1 + (size - frequency + 0.5) / (frequency + 0.5))
    mean = statistics.mean_tokens.get(field, 0.0) or max(length, 1)  # unknown: then length counts for nothing
    return rarity * count * (K1 + 1) / (count + K1 * (1 - B + B * length / mean))


def _may_be(document: Document, sought: Sought) -> bool:
    """Whether a document may be what is sought."""
    if CHILD in document.traits or (sought.roles is not None and document.role not in sought.roles):
        return False
    if any(accepted.isdisjoint(document.traits) for accepted in sought.traits):
        return False
    lines = list(_lines(document, (*EVENT_FIELDS, *FINER)))
    if sought.tools is not None:
        called = [line for field, line in lines if field == "call"]
        names = (tuple(tokens(tool)) for tool in sought.tools)
        if document.tool not in sought.tools and not any(
            words and any(_stands(Run(words), line) for line in called) for words in names
        ):
            return False
    if sought.paths is not None and not any(path.issubset(document.touched) for path in sought.paths):
        return False
    return all(_may_hold(wanted, lines, sought) for wanted in sought.wanted)


def _may_hold(wanted: Wanted, lines: Sequence[tuple[str, list[str]]], sought: Sought) -> bool:
    def stands(words: tuple[str, ...], places: Sequence[str]) -> bool:
        return any(field in places and _stands(Run(words), line) for field, line in lines)

    if not wanted.runs and not (sought.loose and wanted.reaches):
        within = all(stands((word,), ("parts",)) for word in wanted.words)
        return (
            within
            or any(stands(words, sought.fields) for words in wanted.phrases)
            or any(
                stands(name, [field for field in sought.fields if field == "call"])
                and stands(rest, [field for field in sought.fields if field in TEXTS])
                for name, rest in wanted.halves
            )
        )
    return (
        all(stands(tuple(run), ("cjk",)) for run in wanted.runs)
        and all(stands((word,), (*sought.fields, "parts")) for word in wanted.words)
        and (bool(wanted.runs) or any(stands((word,), ("parts",)) for word in wanted.words))
    )


def _holds(document: Document, runs: tuple[Run, ...]) -> bool:
    lines = [token_line(piece).split() for _, text in document.passages for piece in pieces(text)]
    return all(any(_stands(run, line) for line in lines) for run in runs)


def _stands(run: Run, line: Sequence[str]) -> bool:
    size = len(run.tokens)
    return any(_fits(run, line[start : start + size]) for start in range(len(line) - size + 1))


def _fits(run: Run, window: Sequence[str]) -> bool:
    last = len(run.tokens) - 1
    for index, (token, seen) in enumerate(zip(run.tokens, window, strict=True)):
        left, right = run.open_left and index == 0, run.open_right and index == last
        if left and right:
            fits = token in seen
        elif left:
            fits = seen.endswith(token)
        elif right:
            fits = seen.startswith(token)
        else:
            fits = token == seen
        if not fits and not ((left or right) and seen.startswith(GIANT)):
            return False
    return True
