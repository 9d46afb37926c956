"""Indices and ranks are inverses of each other, whatever is skipped; a record is found by its rank alone."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from pepys.index.catalog import Catalog
from pepys.index.source import Row, Source, exceptions
from pepys.index.standing import _standing
from pepys.model.entry import FACT
from pepys.model.source import Stamp

ROWS = st.lists(st.tuples(st.booleans(), st.booleans(), st.integers(0, 3), st.integers(0, 3)), max_size=30)


def rows(drawn: list[tuple[bool, bool, int, int]]) -> list[Row]:
    """Entries (record or not, active or not) with as many children, each repeated or not by its bits."""
    made: list[Row] = []
    rank = 0
    for position, (record, active, children, repeated) in enumerate(drawn):
        for child in range(children + 1):
            counts = record or child > 0
            made.append(
                Row(
                    position,
                    child,
                    rank if counts else None,
                    0,
                    1,
                    f"{position}/{child}",
                    None,
                    FACT if child else "message",
                    None,
                    None,
                    None,
                    False,
                    active,
                    False,
                    0,
                    address=f"a{position}" if child else None,
                    repeated=repeated if child else 0,
                )
            )
            rank += counts
    return made


def source(found: list[Row]) -> Source:
    made = Source("/s", "pi", "/", None, None, "session", Stamp(1, 1, 1, 1, 1), 2, 1)
    made.records = sum(row.record is not None for row in found)
    return made


@given(ROWS)
def test_an_index_is_a_rank_without_those_that_are_not_in_the_mode(drawn: list[tuple[bool, bool, int, int]]) -> None:
    found = rows(drawn)

    for mode in ("active", "all"):
        standing = _standing(source(found), exceptions(found), "active" if mode == "active" else "all", own=False)
        held = [row for row in found if standing.holds(row)]
        assert [standing.rank(row) for row in held] == list(range(standing.records))
        assert [standing.record(index) for index in range(standing.records)] == [row.record for row in held]


@given(ROWS)
def test_a_record_is_found_by_its_rank_and_by_its_names(drawn: list[tuple[bool, bool, int, int]]) -> None:
    import tempfile

    found = rows(drawn)
    with tempfile.TemporaryDirectory() as directory:
        catalog = Catalog(str(Path(directory, "catalog.sqlite")), writable=True)
        with catalog.transaction():
            catalog.add_rows(7, found)
        ranked = [row for row in found if row.record is not None]

        assert [catalog.ranked(7, rank) for rank in range(len(ranked) + 1)] == [*ranked, None]
        for row in ranked[:3]:
            assert list(catalog.named(7, "id", row.id)) == [row]
            same = [other for other in ranked if other.address == row.address]
            assert row.address is None or list(catalog.named(7, "address", row.address)) == same
        catalog.close()
