"""One order out of several lists, what a hit's relevance is, and vectors that need no library."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pepys.journal import vectors
from pepys.journal.fusion import HELD, Calibration, Ranked, calibrated, fused, rarity, share
from pepys.journal.vectors import SIGN_BYTES

LISTS = st.lists(
    st.tuples(st.floats(0, 1), st.dictionaries(st.integers(0, 30), st.floats(-5, 50), max_size=12)), max_size=3
)


@given(LISTS, st.data())
@pytest.mark.requirement("journal.index.held")
def test_everything_listed_is_in_the_order_once_and_what_is_held_is_third_at_the_latest(
    lists: list[tuple[float, dict[int, float]]], data: st.DataObject
) -> None:
    ranked = [Ranked(weight, scores) for weight, scores in lists]
    listed = sorted({chunk for _, scores in lists for chunk in scores})
    held = data.draw(st.sampled_from(listed)) if listed else None

    order = fused(ranked, held=held)

    assert sorted(order) == listed
    assert held is None or held in order[:HELD]


def test_how_much_better_the_first_of_a_list_is_counts() -> None:
    clear = Ranked(0.5, {1: 10.0, 2: 1.0, 3: 0.9})
    close = Ranked(0.5, {2: 10.0, 5: 9.9, 1: 9.8, 9: 0.0})

    assert fused([clear, close])[0] == 1


def test_a_chunk_gains_from_a_good_neighbour() -> None:
    assert fused([Ranked(1.0, {10: 9.0, 11: 5.0, 20: 5.1, 30: 0.0})]) == [10, 11, 20, 30]


def test_a_list_without_differences_or_chunks_is_taken_as_it_is() -> None:
    assert fused([Ranked(0.7, {}), Ranked(0.3, {4: 2.0})]) == [4]
    assert fused([]) == []


def test_rare_terms_make_up_more_of_a_query() -> None:
    wanted = {"varnish": rarity(1000, 1), "moved": rarity(1000, 600)}

    assert share(wanted, {"varnish", "moved"}) == 1
    assert share(wanted, {"varnish"}) > 0.8 > 0.2 > share(wanted, {"moved"}) > 0
    assert share({}, {"moved"}) == 0
    assert rarity(1, 1) > 0


@given(st.floats(-1, 1.01))
def test_relevance_of_a_cosine_lies_between_0_and_1_and_is_one_half_where_the_space_says_so(cosine: float) -> None:
    space = Calibration(0.1, 0.5)

    assert 0 <= calibrated(cosine, space) <= 1
    assert (calibrated(cosine, space) >= 0.5) == (cosine >= 0.5)
    assert calibrated(0.1, space) == 0
    assert calibrated(1, space) == 1


VECTORS = st.lists(st.binary(min_size=256, max_size=256), min_size=1, max_size=20)


@given(VECTORS, st.integers(1, 8))
def test_the_nearest_rows_are_those_whose_signs_differ_least(found: list[bytes], limit: int) -> None:
    query, *rows = [vectors.signs(vector) for vector in (found[0], *found, _negative(found[0]))]

    nearest = vectors.nearest(query, b"".join(rows), limit)

    wanted = [(int.from_bytes(row, "big") ^ int.from_bytes(query, "big")).bit_count() for row in rows]
    assert [wanted[row] for row in nearest] == sorted(wanted)[:limit]
    assert all(len(row) == SIGN_BYTES for row in rows)


def _negative(vector: bytes) -> bytes:
    return bytes((256 - byte) & 255 for byte in vector)


def test_more_rows_than_are_counted_at_once_are_all_counted() -> None:
    row, other = vectors.signs(b"\1" * 256), vectors.signs(b"\xff" * 256)

    assert vectors.nearest(row, other * 1500 + row + other * 700, 1) == [1500]


COORDINATES = st.lists(st.floats(-1, 1), min_size=64, max_size=64)


@given(COORDINATES, COORDINATES)
def test_a_cosine_survives_packing(one: list[float], two: list[float]) -> None:
    lengths = [math.sqrt(sum(value * value for value in values)) for values in (one, two)]
    if min(lengths) < 0.1:
        return

    exact = sum(a * b for a, b in zip(one, two, strict=True)) / lengths[0] / lengths[1]

    assert vectors.cosine(vectors.packed(one), vectors.packed(two)) == pytest.approx(exact, abs=0.02)


def test_a_vector_of_nothing_is_near_nothing() -> None:
    nothing = vectors.packed([0.0] * 256)

    assert vectors.cosine(nothing, vectors.packed([1.0] * 256)) == 0
