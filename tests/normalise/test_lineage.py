from __future__ import annotations

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pepys.model.lineage import Live, Node
from pepys.normalise import lineage

# a - b - c - d, and from b: e - f
TREE = [
    Node(n, *pair) for n, pair in enumerate([("a", None), ("b", "a"), ("c", "b"), ("d", "c"), ("e", "b"), ("f", "e")])
]


def sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


@pytest.mark.requirement("branches.parent_walk", "branches.persisted_leaf")
def test_the_active_branch_leads_from_the_last_node_to_the_root() -> None:
    found = lineage.active(TREE)

    assert (found.branches, found.leaf) == ("active", "f")
    assert found.positions == {0, 1, 4, 5}
    assert found.fingerprint == sha256('{"branches":"active","leafId":"f","ids":["a","b","e","f"]}')
    assert not found.cyclic


def test_a_session_without_entries_has_an_empty_branch() -> None:
    found = lineage.active([])

    assert (found.leaf, found.positions) == (None, frozenset())
    assert found.fingerprint == sha256('{"branches":"active","leafId":null,"ids":[]}')


def test_the_branch_ends_at_a_parent_that_is_unknown_or_empty() -> None:
    for parent in ("gone", ""):
        found = lineage.active([Node(0, "a", None), Node(1, "b", parent), Node(2, "c", "b")])

        assert (found.positions, found.cyclic) == (frozenset({1, 2}), False)


@pytest.mark.requirement("branches.last_of_duplicates")
def test_of_nodes_with_one_id_the_last_is_on_the_branch() -> None:
    found = lineage.active([Node(0, "a", None), Node(1, "b", "a"), Node(2, "a", None), Node(3, "c", "b")])

    assert found.positions == {1, 2, 3}


@pytest.mark.requirement("branches.cycle")
def test_a_cycle_ends_the_branch_and_is_told() -> None:
    ring = lineage.active([Node(0, "a", "c"), Node(1, "b", "a"), Node(2, "c", "b")])
    self_made = lineage.active([Node(0, "a", "a")])

    assert (ring.positions, ring.cyclic) == (frozenset({0, 1, 2}), True)
    assert ring.fingerprint == sha256('{"branches":"active","leafId":"c","ids":["a","b","c"]}')
    assert (self_made.positions, self_made.cyclic) == (frozenset({0}), True)


def test_a_live_branch_counts_what_is_not_written_yet_in_its_fingerprint_only() -> None:
    found = lineage.live(TREE, Live("new", ("a", "b", "c", "new")))

    assert (found.branches, found.leaf) == ("active", "new")
    assert found.positions == {0, 1, 2}
    assert found.fingerprint == sha256('{"branches":"active","leafId":"new","ids":["a","b","c","new"]}')


def test_a_live_branch_before_the_first_entry_is_empty() -> None:
    found = lineage.live(TREE, Live(None, ()))

    assert (found.leaf, found.positions) == (None, frozenset())


def test_a_live_branch_takes_the_last_of_nodes_with_one_id() -> None:
    found = lineage.live([*TREE, Node(6, "a", None)], Live("a", ("a",)))

    assert found.positions == {6}


def test_every_branch_has_all_nodes_and_one_fingerprint() -> None:
    found = lineage.every(TREE)

    assert (found.branches, found.leaf) == ("all", None)
    assert found.positions == set(range(6))
    assert found.fingerprint == sha256('{"branches":"all","leafId":null,"ids":[]}') == lineage.every([]).fingerprint


def test_an_id_may_hold_any_character() -> None:
    found = lineage.active([Node(0, '日"\u2028', None)])

    assert found.fingerprint == sha256('{"branches":"active","leafId":"日\\"\u2028","ids":["日\\"\u2028"]}')


@given(st.lists(st.tuples(st.sampled_from("abcde"), st.none() | st.sampled_from("abcdef"))))
def test_a_host_that_shows_the_persisted_branch_selects_the_same(pairs: list[tuple[str, str | None]]) -> None:
    nodes = [Node(position, *pair) for position, pair in enumerate(pairs)]
    persisted = lineage.active(nodes)
    by_position = {node.position: node for node in nodes}
    path, at = [], persisted.leaf
    last = {node.id: node.position for node in nodes}
    while at in last and last[at] in persisted.positions and at not in path:
        path.append(at)
        at = by_position[last[at]].parent

    shown = lineage.live(nodes, Live(persisted.leaf, tuple(reversed(path))))

    assert (shown.positions, shown.fingerprint) == (persisted.positions, persisted.fingerprint)
