"""How well the journal's search finds what it should: figures of ranked lists, for any set of questions."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from statistics import fmean
from typing import NamedTuple

from pepys.journal.finding import Lists, ordered
from pepys.journal.index import StoreIndex

RRF_K = 60

System = Callable[[StoreIndex, str, Lists], list[int]]


class Asked(NamedTuple):
    """A question, and what answers it."""

    query: str
    answers: frozenset[object]


def figures(
    index: StoreIndex, asked: Sequence[Asked], named: Mapping[str, object], systems: Mapping[str, System]
) -> dict[str, list[dict[str, float]]]:
    """Each system's figures for each question.

    Args:
        index: Up to date.
        asked: Questions that have answers.
        named: Chunk id -> what the answers call it.
        systems: By name.
    """
    found: dict[str, list[dict[str, float]]] = {name: [] for name in systems}
    for one in asked:
        lists = index.finding.lists(one.query)
        for name, system in systems.items():
            ranked = [named.get(index.finding.id_at(place)) for place in system(index, one.query, lists)[:20]]
            found[name].append(_figure(ranked, one.answers))
    return found


def _figure(ranked: Sequence[object], answers: Collection[object]) -> dict[str, float]:
    first = next((rank for rank, name in enumerate(ranked, start=1) if name in answers), 0)
    return {
        **{f"recall@{k}": len(set(ranked[:k]) & set(answers)) / len(answers) for k in (5, 10)},
        "hit@1": float(first == 1),
        "mrr": 1 / first if first else 0.0,
    }


def mean(rows: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """The means of figures."""
    return {name: round(fmean(row[name] for row in rows), 4) for name in rows[0]} if rows else {}


def default(index: StoreIndex, query: str, lists: Lists) -> list[int]:
    """What `journal.search` does."""
    return index.finding.order(query, lists)


def without_vectors(index: StoreIndex, query: str, lists: Lists) -> list[int]:
    """The same by words alone."""
    return ordered(lists._replace(near={}), 0, 1)


def bm25(index: StoreIndex, query: str, lists: Lists) -> list[int]:
    """A chunk's own words, its day and its heading."""
    return list(lists.own)


def dense(index: StoreIndex, query: str, lists: Lists) -> list[int]:
    """Vectors alone."""
    return list(lists.near)


def naive_rrf(index: StoreIndex, query: str, lists: Lists) -> list[int]:
    """Reciprocal ranks of words and vectors, as memsearch fuses its two lists."""
    scores: dict[int, float] = {}
    for found in (lists.own, lists.near):
        for rank, place in enumerate(found, start=1):
            scores[place] = scores.get(place, 0.0) + 1 / (RRF_K + rank)
    return sorted(scores, key=lambda place: -scores[place])


SYSTEMS: Mapping[str, System] = {
    "bm25": bm25,
    "dense": dense,
    "naive_rrf": naive_rrf,
    "without_vectors": without_vectors,
    "default": default,
}
