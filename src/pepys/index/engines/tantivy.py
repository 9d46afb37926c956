"""The engine of the index on disk. No text is stored in it; positions are, for phrases."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import tantivy

from pepys.index.document import ASIDE, CHILD, Document, pieces
from pepys.index.engines.base import (
    EVENT_FIELDS,
    EXACT,
    FIELDS,
    FINER,
    TEXTS,
    WEIGHTS,
    Among,
    EngineBroken,
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
from pepys.index.segments import Segments
from pepys.model.entry import Field
from pepys.text import GIANT, bounded, cjk_line, distinct_parts, token_line, tokens

if TYPE_CHECKING:
    pass

SELECTIVE = 2_000
"""So few candidates are verified sooner than the term dictionary is walked for an open left edge."""

MAX_PATTERN_CHARS = 100
"""Of a token in a pattern; the engine takes a thousand states, a character up to four."""

_TIMELESS = -(1 << 62)

_Q, _O = tantivy.Query, tantivy.Occur

_EVERYTHING = _Q.const_score_query(_Q.all_query(), 0.0)


class TantivyEngine(Segments):
    """A tantivy index in one directory. Many may read it; one, holding the index lock, writes."""

    def __init__(self, directory: str, *, writable: bool) -> None:
        """Open the index in *directory*.

        Args:
            directory: Of this engine alone.
            writable: Create the index if there is none. Only for the holder of the index lock.

        Raises:
            OSError: The directory cannot be read or written.
            ValueError: What is there is not an index of this version.
        """
        if writable:
            os.makedirs(directory, mode=0o700, exist_ok=True)
            index = tantivy.Index(_schema(), path=directory, reuse=True)
        else:
            index = tantivy.Index.open(directory)
        super().__init__(index)

    def add(self, documents: Iterable[Document]) -> None:
        """See `Engine`."""
        for document in documents:
            self._writing().add_document(_engine_document(document))

    def remove(self, generations: Iterable[int]) -> None:
        """See `Engine`."""
        self._remove("generation", generations)

    def search(self, query: Query, filters: Filters, among: Among, limit: int) -> Hits:
        """See `Engine`."""
        total, hits = self._matching(query, filters, among, max(limit, 1))
        addresses = [address for _, address in hits[:limit]]
        places = self._searcher.fast_field_values("place", addresses)
        times = self._searcher.fast_field_values("time", addresses)
        best = tuple((float(score), int(place or 0)) for (score, _), place in zip(hits, places, strict=False))
        return Hits(total, best, tuple(None if time == _TIMELESS else int(time or 0) for time in times))

    def places(self, query: Query, filters: Filters, among: Among) -> list[int]:
        """See `Engine`."""
        _, hits = self._matching(query, filters, among, max(self.documents, 1))
        found: Any = self._searcher.fast_field_values("place", [address for _, address in hits])
        return list(found)

    def _matching(
        self, query: Query, filters: Filters, among: Among, limit: int
    ) -> tuple[int, list[tuple[Any, tantivy.DocAddress]]]:
        if isinstance(query, Runs):
            try:
                return self._found(self._restricted(self._runs(query, filters, among), filters, among), limit)
            except EngineBroken:
                # Most likely an open edge that thousands of tokens fit, which the engine refuses beside others.
                wanted: tantivy.Query | None = self._loose(query)
        elif isinstance(query, Sought):
            wanted = self._sought(query)
        elif isinstance(query, Words):
            wanted = self._words(query)
        else:
            wanted = self._records()
        return (0, []) if wanted is None else self._found(self._restricted(wanted, filters, among), limit)

    def _found(self, query: tantivy.Query, limit: int) -> tuple[int, list[tuple[Any, tantivy.DocAddress]]]:
        try:
            result: Any = self._searcher.search(query, limit, count=True)  # the count is missing from the stubs
        except (ValueError, SystemError) as error:
            raise EngineBroken(str(error)) from error
        return int(result.count), result.hits

    def frequency(self, field: str, term: str) -> int:
        """Documents that hold *term* in *field*."""
        try:
            return int(self._searcher.doc_freq(field, term))
        except (ValueError, SystemError) as error:
            raise EngineBroken(str(error)) from error

    def statistics(self, terms: Sequence[str], mean_tokens: Mapping[str, float]) -> Statistics:
        """What `scan` needs to score a few documents on this engine's scale."""
        fields = (*FIELDS, "aside", *FINER)
        frequency = {(field, term): self.frequency(field, term) for field in fields for term in terms}
        return Statistics(self.documents, mean_tokens, frequency)

    def _restricted(self, wanted: tantivy.Query, filters: Filters, among: Among) -> tantivy.Query:
        clauses = [(_O.Must, wanted)]
        for name in EXACT:
            value = getattr(filters, name)
            if value is not None:
                clauses.append((_O.Must, _unscored(_Q.term_query(self._schema, name, bounded(value), "basic"))))
        if filters.since is not None or filters.until is not None:
            clauses.append((_O.Must, _unscored(self._within(filters.since, filters.until))))
        listed = _Q.term_set_query(self._schema, "generation", sorted(among.generations))
        if not among.inverted:
            clauses.append((_O.Must, _unscored(listed)))
        elif among.generations:
            clauses.append((_O.MustNot, listed))
        return wanted if len(clauses) == 1 else _Q.boolean_query(clauses)

    def _within(self, since: int | None, until: int | None) -> tantivy.Query:
        number = tantivy.FieldType.Integer
        lower = _TIMELESS + 1 if since is None else since
        dated = _Q.range_query(self._schema, "time", number, lower, until)
        timeless = _Q.range_query(self._schema, "time", number, _TIMELESS, _TIMELESS)
        return _Q.boolean_query([(_O.Should, dated), (_O.Should, timeless)])

    def _words(self, words: Words) -> tantivy.Query | None:
        weights = words.weights or WEIGHTS
        clauses = []
        for term in words.terms:
            anywhere = [
                (_O.Should, _Q.boost_query(_Q.term_query(self._schema, field, term, "freq"), weights[field]))
                for field in FIELDS
                # A field without the term would only cost a scorer.
                if self.frequency(field, term)
            ]
            if words.match == "any":
                clauses += anywhere
            elif anywhere:
                clauses.append((_O.Must, _Q.boolean_query(anywhere)))
            else:
                return None
        return _Q.boolean_query(clauses) if clauses else None

    def _records(self) -> tantivy.Query:
        """All records: not what only event search finds."""
        if not self.frequency("trait", ASIDE):
            return _EVERYTHING
        return _unscored(_Q.boolean_query([(_O.Must, _Q.all_query()), (_O.MustNot, self._trait(ASIDE))]))

    def _trait(self, trait: str) -> tantivy.Query:
        return _Q.term_query(self._schema, "trait", bounded(trait), "basic")

    def _sought(self, sought: Sought) -> tantivy.Query | None:
        if not sought.wanted or not sought.fields:
            return None
        clauses = [(_O.Must, _unscored(self._may_hold(wanted, sought))) for wanted in sought.wanted]
        clauses += [
            (_O.Should, _Q.term_query(self._schema, field, term, "basic" if field == "parts" else "freq"))
            for term in sought.terms
            for field in (*sought.fields, *FINER)
            if self.frequency(field, term)
        ]
        for accepted in sought.traits:
            clauses.append((_O.Must, _unscored(_any([self._trait(trait) for trait in sorted(accepted)]))))
        if sought.roles is not None:
            roles = [_Q.term_query(self._schema, "role", bounded(role), "basic") for role in sorted(sought.roles)]
            clauses.append((_O.Must, _unscored(_any(roles))))
        if sought.tools is not None:
            clauses.append((_O.Must, _unscored(_any([self._named(tool) for tool in sorted(sought.tools)]))))
        if sought.paths is not None:
            paths = [
                _Q.boolean_query([(_O.Must, self._component(name)) for name in sorted(path)]) for path in sought.paths
            ]
            clauses.append((_O.Must, _unscored(_any(paths))))
        if self.frequency("trait", CHILD):
            clauses.append((_O.MustNot, self._trait(CHILD)))
        return _Q.boolean_query(clauses)

    def _named(self, tool: str) -> tantivy.Query:
        own = _Q.term_query(self._schema, "tool", bounded(tool), "basic")
        words = tuple(tokens(tool))
        return _any([own, self._run("call", Run(words))]) if words else own

    def _component(self, name: str) -> tantivy.Query:
        return _Q.term_query(self._schema, "touched", bounded(name), "basic")

    def _may_hold(self, wanted: Wanted, sought: Sought) -> tantivy.Query:
        if not wanted.runs and not (sought.loose and wanted.reaches):
            within = _Q.boolean_query([(_O.Must, self._side_by_side("parts", (word,))) for word in wanted.words])
            fields = sought.fields
            whole = [self._side_by_side(field, words) for words in wanted.phrases for field in fields]
            parted = [
                _Q.boolean_query(
                    [
                        (_O.Must, self._side_by_side("call", name)),
                        (_O.Must, _any([self._side_by_side(field, rest) for field in fields if field in TEXTS])),
                    ]
                )
                for name, rest in wanted.halves
                if "call" in fields and any(field in TEXTS for field in fields)
            ]
            return _any([within, *whole, *parted])
        everywhere = (*sought.fields, "parts")
        pieces = [self._side_by_side("cjk", tuple(run)) for run in wanted.runs]
        pieces += [_any([self._side_by_side(field, (word,)) for field in everywhere]) for word in wanted.words]
        if not wanted.runs:
            pieces.append(_any([self._side_by_side("parts", (word,)) for word in wanted.words]))
        return _Q.boolean_query([(_O.Must, piece) for piece in pieces])

    def _side_by_side(self, field: str, words: tuple[str, ...]) -> tantivy.Query:
        if len(words) == 1:
            return _Q.term_query(self._schema, field, words[0], "basic")
        return _Q.phrase_query(self._schema, field, list(words))

    def _runs(self, runs: Runs, filters: Filters, among: Among) -> tantivy.Query:
        clauses: list[tuple[tantivy.Occur, tantivy.Query]] = []
        hard: list[Run] = []
        for run in runs.runs:
            if run.open_left:
                hard.append(run)
            else:
                clauses.append((_O.Must, self._anywhere(run)))
        for run in hard:
            # Finding every token that *ends* in something means walking the whole dictionary. The rest of the phrase
            # is often selective enough, and candidates are verified anyway.
            rest = [*clauses, *((_O.Must, self._anywhere(part)) for part in _without_first(run))]
            if rest:
                easy = _Q.boolean_query(rest)
                if self._found(self._restricted(easy, filters, among), 1)[0] <= SELECTIVE:
                    clauses = rest
                    continue
            clauses.append((_O.Must, self._anywhere(run)))
        return _unscored(_Q.boolean_query(clauses)) if clauses else self._records()

    def _loose(self, runs: Runs) -> tantivy.Query:
        """The same tokens, but an open one may stand anywhere: more candidates, none lost."""
        loose = [
            Run((token,), open_left=run.open_left and at == 0, open_right=run.open_right and at == len(run.tokens) - 1)
            for run in runs.runs
            for at, token in enumerate(run.tokens)
        ]
        return _unscored(_Q.boolean_query([(_O.Must, self._anywhere(run)) for run in loose]))

    def _anywhere(self, run: Run) -> tantivy.Query:
        return _Q.boolean_query([(_O.Should, self._run(field, run)) for field in FIELDS])

    def _run(self, field: Field, run: Run) -> tantivy.Query:
        # Tokens are letters, numbers and `_`: nothing in them is special in a pattern.
        if not run.open_left and not run.open_right:
            if len(run.tokens) == 1:
                return _Q.term_query(self._schema, field, run.tokens[0], "basic")
            return _Q.phrase_query(self._schema, field, list(run.tokens))
        last = len(run.tokens) - 1
        patterns: list[str | tuple[int, str]] = [
            _pattern(token, open_left=run.open_left and at == 0, open_right=run.open_right and at == last)
            for at, token in enumerate(run.tokens)
        ]
        if not last:
            return _Q.regex_query(self._schema, field, str(patterns[0]))
        return _Q.regex_phrase_query(self._schema, field, patterns)


def _pattern(token: str, *, open_left: bool, open_right: bool) -> str:
    """A pattern that a token, or one that it is part of, fits.

    What is part of a giant token cannot be told, so each of those fits an open one. The engine bounds the size of a
    pattern; of a long token the beginning is enough, since what is found is verified.
    """
    cut = token[:MAX_PATTERN_CHARS]
    if not open_left and not open_right and cut == token:
        return token
    pattern = ".*" * open_left + cut + ".*" * (open_right or cut != token)
    return f"({pattern}|{GIANT}.*)"


def _without_first(run: Run) -> list[Run]:
    rest = run.tokens[1:]
    return [Run(rest, open_right=run.open_right)] if rest else []


def _any(queries: Sequence[tantivy.Query]) -> tantivy.Query:
    return queries[0] if len(queries) == 1 else _Q.boolean_query([(_O.Should, query) for query in queries])


def _unscored(query: tantivy.Query) -> tantivy.Query:
    return _Q.const_score_query(query, 0.0)


def _schema() -> tantivy.Schema:
    builder = tantivy.SchemaBuilder()
    for field in (*FIELDS, "aside", "cjk"):
        builder.add_text_field(field, tokenizer_name="whitespace", index_option="position")
    builder.add_text_field("parts", tokenizer_name="whitespace", index_option="basic")
    for name in (*EXACT, "trait", "touched"):
        builder.add_text_field(name, tokenizer_name="raw", index_option="basic")
    builder.add_unsigned_field("generation", indexed=True)
    builder.add_unsigned_field("place", fast=True)
    builder.add_integer_field("time", fast=True)
    return builder.build()


def _engine_document(document: Document) -> tantivy.Document:
    made = tantivy.Document()
    parts: set[str] = set()
    for field, text in document.passages:
        for piece in pieces(text):
            line = token_line(piece)
            made.add_text(field, line)
            if field in EVENT_FIELDS:
                parts |= distinct_parts(piece, line)
                if not line.isascii() and (characters := cjk_line(piece)):
                    made.add_text("cjk", characters)
    if parts:
        made.add_text("parts", " ".join(parts))  # in no order: places of parts are not kept
    for name in EXACT:
        value = getattr(document, name)
        if value is not None:
            made.add_text(name, bounded(value))
    for trait in document.traits:
        made.add_text("trait", bounded(trait))
    for name in document.touched:
        made.add_text("touched", bounded(name))
    made.add_unsigned("generation", document.place.generation)
    made.add_unsigned("place", document.place.packed())
    made.add_integer("time", _TIMELESS if document.time is None else document.time)
    return made
