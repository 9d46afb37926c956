"""The tree of a session, and the states of its entries."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pepys.events.states import Fork, Node, State, Tree, context_role


def tree(*lines: str) -> Tree:
    """A tree of `id<parent`, with a type other than message and a target after blanks: `S<B branch_summary C`."""
    nodes = []
    for position, line in enumerate(lines):
        place, *rest = line.split()
        id_, _, parent = place.partition("<")
        kind, target = [*rest, *("message", "")[len(rest) :]][:2]
        nodes.append(Node(position, id_, parent or None, kind, target=target or None))
    return Tree(nodes)


SPEC = ("A", "B<A", "C<B", "D<C", "E<B", "F<E")
"""The example of the specification: E and F were written after going back from D to B."""


def ids(nodes: Sequence[Node]) -> str:
    return "".join(node.id for node in nodes)


def state(some: Tree, id_: str) -> State:
    node = some.find(id_)
    assert node is not None
    return some.state(node.position)


def branches(some: Tree) -> dict[str, str]:
    return {node.id: some.state(node.position).branch for node in some.nodes}


def selections(some: Tree) -> dict[str, str]:
    return {node.id: some.state(node.position).selection for node in some.nodes}


def where(some: Tree, state_: str) -> str:
    return "".join(id_ for id_, selection in selections(some).items() if selection == state_)


def forks(found: Sequence[Fork]) -> list[tuple[str, str, str | None]]:
    return [(fork.at.id, ids(fork.candidates), fork.chosen and fork.chosen.id) for fork in found]


def around(some: Tree, id_: str, before: int, after: int, cutoff: int | None = None) -> tuple[str, str, object]:
    node = some.find(id_)
    assert node is not None
    found = some.along_branch(node.position, before, after, cutoff)
    return ids(found.before), ids(found.after), forks(found.forks)


# The selected path


@pytest.mark.requirement("events.states")
def test_the_last_entry_of_the_file_is_the_materialized_leaf() -> None:
    some = tree(*SPEC)

    assert some.leaf is not None
    assert some.leaf.id == "F"
    assert ids(list(some.path)) == "ABEF"
    assert branches(some) == {
        "A": "selected",
        "B": "selected",
        "C": "alternate",
        "D": "alternate",
        "E": "selected",
        "F": "selected",
    }


def test_an_entry_of_any_type_is_the_leaf() -> None:
    some = tree("A", "B<A", "C<B", "L<A label B")

    assert ids(list(some.path)) == "AL"


def test_an_empty_session_has_no_leaf() -> None:
    some = tree()

    assert some.leaf is None
    assert list(some.path) == []


@pytest.mark.requirement("events.states")
def test_what_hangs_below_a_missing_parent_is_unknown() -> None:
    some = tree("A", "X<gone", "Y<X", "B<A")

    assert branches(some) == {"A": "selected", "X": "unknown", "Y": "unknown", "B": "selected"}
    assert selections(some)["Y"] == "unknown"


def test_a_branch_off_the_selected_path_is_known_even_if_the_root_is_not() -> None:
    some = tree("A<gone", "B<A", "C<A", "D<gone")

    assert branches(some) == {"A": "unknown", "B": "unknown", "C": "unknown", "D": "selected"}
    some.append(Node(4, "E", "B", "message"))
    assert branches(some) == {
        "A": "selected",
        "B": "selected",
        "C": "alternate",
        "D": "unknown",
        "E": "selected",
    }


def test_a_cycle_is_walked_once() -> None:
    some = tree("A<B", "B<A", "C<B", "R", "S<R")

    assert branches(some) == {"A": "unknown", "B": "unknown", "C": "unknown", "R": "selected", "S": "selected"}
    assert ids(list(some.ancestors(2))) == "BA"


def test_a_leaf_in_a_cycle_selects_what_leads_to_it() -> None:
    some = tree("A<C", "B<A", "C<B")

    assert ids(list(some.path)) == "ABC"
    assert around(some, "A", 5, 5) == ("BC", "", [])


def test_of_an_id_that_is_used_twice_the_last_entry_counts() -> None:
    some = tree("A", "B<A", "C<B", "B<A")

    assert ids(list(some.path)) == "AB"
    assert some.state(1) == State("unknown", "conversation", "unknown")
    assert some.state(3).branch == "selected"
    assert ids(some.children(0)) == "B"
    assert some.children(1) == ()
    assert ids(some.children(3)) == "C"


# Context


@pytest.mark.parametrize(
    ("type_", "role", "expected"),
    [
        ("message", "user", "conversation"),
        ("message", "toolResult", "conversation"),
        ("message", "bashExecution", "conversation"),
        ("message", "never heard of", "conversation"),
        ("custom_message", "custom", "conversation"),
        ("message", "branchSummary", "summary"),
        ("compaction", "compaction", "summary"),
        ("branch_summary", "branchSummary", "summary"),
        ("custom", None, "control"),
        ("model_change", None, "control"),
        ("thinking_level_change", None, "control"),
        ("never_heard_of", None, "control"),
        ("session_info", None, "metadata"),
        ("label", None, "metadata"),
        ("title_change", None, "metadata"),
    ],
)
def test_types_tell_what_an_entry_is_to_the_context(type_: str, role: str | None, expected: str) -> None:
    assert context_role(Node(0, "A", None, type_, role)) == expected


def test_a_command_kept_from_the_model_is_control() -> None:
    some = Tree([Node(0, "A", None, "message", "bashExecution", silent=True), Node(1, "B", "A", "message")])

    assert some.state(0) == State("selected", "control", "not-applicable")


def test_state_that_extensions_keep_never_applies() -> None:
    assert selections(tree("A", "X<A custom", "L<X label A", "B<L")) == {
        "A": "direct",
        "X": "not-applicable",
        "L": "not-applicable",
        "B": "direct",
    }


def test_what_is_on_another_branch_is_not_selected() -> None:
    assert where(tree(*SPEC), "not-selected") == "CD"


# Compaction


@pytest.mark.requirement("events.states")
def test_a_compaction_stands_for_what_comes_before_the_entry_that_it_keeps() -> None:
    some = tree("A", "B<A", "C<B", "D<C", "K<D compaction C", "E<K")

    assert where(some, "summarized") == "AB"
    assert where(some, "direct") == "CDKE"


@pytest.mark.parametrize("target", ["", "gone", "K", "X", "E"])
def test_a_compaction_that_keeps_nothing_of_its_path_stands_for_all_before_it(target: str) -> None:
    some = tree("A", "X<A", "B<A", f"K<B compaction {target}", "E<K")

    assert where(some, "summarized") == "AB"
    assert where(some, "direct") == "KE"


def test_an_older_compaction_is_summarized_by_a_newer_one_even_if_it_is_kept() -> None:
    before = tree("A", "B<A", "K<B compaction B", "C<K", "M<C compaction C", "D<M")
    kept = tree("A", "B<A", "K<B compaction B", "C<K", "M<C compaction B", "D<M")

    assert where(before, "summarized") == "ABK"
    assert where(kept, "summarized") == "AK"
    assert where(kept, "direct") == "BCMD"


def test_a_branch_summary_before_the_kept_entry_is_summarized() -> None:
    some = tree("A", "B<A", "S<A branch_summary B", "C<S", "D<C", "K<D compaction D")

    assert where(some, "summarized") == "ABSC"


def test_a_compaction_on_another_branch_stands_for_nothing_here() -> None:
    some = tree("A", "B<A", "K<B compaction B", "C<A")

    assert selections(some) == {"A": "direct", "B": "not-selected", "K": "not-selected", "C": "direct"}


def test_what_a_reset_put_away_is_neither_direct_nor_summarized() -> None:
    some = tree("A", "K<A compaction", "B<K", "R<B reset_boundary", "C<R", "M<C compaction", "D<M")

    assert where(some, "not-selected") == "AKB"
    assert where(some, "summarized") == "C"
    assert where(some, "direct") == "MD"


# Branch summaries


@pytest.mark.requirement("events.states")
def test_a_branch_summary_stands_for_the_branch_whose_leaf_it_names() -> None:
    some = tree("A", "B<A", "C<B", "D<C", "L<D label A", "S<B branch_summary L", "E<S")

    assert where(some, "summarized") == "CD"
    assert where(some, "not-selected") == "L"
    assert state(some, "C").inferred is False


@pytest.mark.parametrize("target", ["B", "root", "gone", ""])
def test_where_the_abandoned_leaf_is_not_named_it_is_inferred_to_be_what_was_written_before(target: str) -> None:
    some = tree("A", "B<A", "C<B", "D<C", f"S<B branch_summary {target}", "E<S")

    assert where(some, "summarized") == "CD"
    assert state(some, "C").inferred is True
    assert state(some, "A").inferred is False


def test_a_summary_at_a_new_root_stands_for_the_whole_old_tree() -> None:
    some = tree("A", "B<A", "S branch_summary root", "C<S")

    assert where(some, "summarized") == "AB"


def test_going_on_to_a_descendant_abandons_nothing() -> None:
    some = tree("A", "B<A", "C<B", "D<A", "S<C branch_summary B", "E<S")

    assert where(some, "summarized") == ""
    assert where(some, "not-selected") == "D"


def test_a_summary_reaches_down_to_where_the_two_branches_part() -> None:
    some = tree("A", "B<A", "C<A", "D<C", "S<B branch_summary B", "E<S")

    assert where(some, "summarized") == "CD"


def test_a_summarized_summary_still_stands_for_its_branch() -> None:
    nested = tree("A", "B<A", "C<B", "S<B branch_summary B", "D<S", "T<A branch_summary A", "E<T")
    compacted = tree("A", "B<A", "S<A branch_summary B", "C<S", "K<C compaction")

    assert where(nested, "summarized") == "BCSD"
    assert where(compacted, "summarized") == "ABSC"


def test_a_summary_on_an_abandoned_branch_stands_for_nothing() -> None:
    some = tree("A", "B<A", "S<A branch_summary B", "C<A")

    assert where(some, "not-selected") == "BS"


def test_a_summary_without_text_stands_for_nothing() -> None:
    some = tree("A", "B<A")
    some.append(Node(2, "S", "A", "branch_summary", target="A", silent=True))

    assert where(some, "not-selected") == "B"


# Neighbours


def test_append_order_and_branch_order_differ() -> None:
    some = tree(*SPEC)

    found = some.in_file(4, 1, 1)

    assert (ids(found.before), ids(found.after), found.forks) == ("D", "F", ())
    assert around(some, "E", 1, 1) == ("B", "F", [("B", "CE", "E")])


def test_neighbours_in_the_file_end_where_it_does() -> None:
    some = tree(*SPEC)

    assert ids(some.in_file(0, 5, 5).before) == ""
    assert ids(some.in_file(0, 5, 5).after) == "BCDEF"
    assert ids(some.in_file(5, 2, 5).before) == "DE"


def test_a_selected_entry_goes_on_to_the_leaf() -> None:
    assert around(tree(*SPEC), "A", 5, 5) == ("", "BEF", [("B", "CE", "E")])
    assert around(tree(*SPEC), "F", 1, 5) == ("E", "", [])


def test_an_alternate_entry_goes_on_while_there_is_one_child() -> None:
    some = tree("A", "B<A", "C<B", "D<C", "X<D", "Y<D", "E<A")

    assert around(some, "B", 1, 5) == ("A", "CD", [("A", "BE", "B"), ("D", "XY", None)])
    assert around(some, "D", 0, 1) == ("", "", [("D", "XY", None)])
    assert around(some, "D", 0, 0) == ("", "", [])
    assert around(some, "X", 2, 1) == ("CD", "", [("D", "XY", "X")])


def test_what_the_caller_may_not_see_yet_shortens_the_answer() -> None:
    some = tree(*SPEC)

    assert around(some, "A", 1, 5, cutoff=4) == ("", "B", [])
    assert around(some, "C", 5, 5, cutoff=4) == ("AB", "D", [])
    assert ids(some.in_file(2, 1, 5, cutoff=4).after) == "D"


def test_children_and_siblings_stand_in_append_order() -> None:
    some = tree("A", "B<A", "C<A", "D<A", "R")

    assert ids(some.children(0)) == "BCD"
    assert ids(some.siblings(2)) == "BD"
    assert some.siblings(0) == some.siblings(4) == ()  # roots
    assert (some.parent(1), some.parent(0)) == (some.nodes[0], None)
    assert some.selects(4)
    assert not some.selects(0)


# However a tree came to be

KINDS = ("message", "message", "message", "compaction", "branch_summary", "label", "reset_boundary")
NAMES = ("a", "b", "c", "d", "e", "f", "g", "h")


@st.composite
def files(draw: st.DrawFn, names: Sequence[str] = NAMES) -> list[Node]:
    """Nodes with any parents and targets: missing, later, cyclic; ids used twice."""
    some = st.none() | st.sampled_from([*names, "gone"])
    return [
        Node(position, draw(st.sampled_from(names)), draw(some), draw(st.sampled_from(KINDS)), target=draw(some))
        for position in range(draw(st.integers(0, 10)))
    ]


@st.composite
def orderly(draw: st.DrawFn) -> list[Node]:
    """Nodes as hosts write them."""
    nodes: list[Node] = []
    for position in range(draw(st.integers(1, 14))):
        earlier = st.sampled_from([None, *(node.id for node in nodes[-6:])])
        kind = draw(st.sampled_from(KINDS))
        nodes.append(Node(position, str(position), draw(earlier), kind, target=draw(earlier)))
    return nodes


@example(
    [Node(at, id_, up, "message") for at, (id_, up) in enumerate([("a", None), ("b", "a"), ("a", "b"), ("c", "b")])]
)
@given(files() | orderly())
def test_a_grown_tree_is_as_one_that_is_read_at_once(nodes: list[Node]) -> None:
    grown = Tree()
    for node in nodes:
        grown.append(node)
        grown.state(0)  # whatever is remembered must not be stale

    whole = Tree(nodes)

    assert list(grown.path) == list(whole.path)
    assert [grown.state(at) for at in range(len(nodes))] == [whole.state(at) for at in range(len(nodes))]
    assert [grown.along_branch(at, 3, 3) for at in range(len(nodes))] == [
        whole.along_branch(at, 3, 3) for at in range(len(nodes))
    ]


@given(files() | orderly())
def test_states_agree_with_each_other(nodes: list[Node]) -> None:
    some = Tree(nodes)
    states = [some.state(at) for at in range(len(nodes))]

    on_path = {node.position for node in some.path}

    assert {at for at, found in enumerate(states) if found.branch == "selected"} == on_path
    for found in states:
        assert (found.branch == "unknown") == (found.selection == "unknown")
        assert not found.inferred or found.selection == "summarized"
        if found.context in ("control", "metadata"):
            assert found.selection in ("not-applicable", "not-selected", "unknown")
        if found.selection == "direct":
            assert found.branch == "selected"
    compactions = [found for node, found in zip(nodes, states, strict=True) if node.type == "compaction"]
    assert sum(found.selection == "direct" for found in compactions) <= 1


@pytest.mark.requirement("events.states")
@given(orderly())
def test_selection_follows_from_its_definition(nodes: list[Node]) -> None:
    some = Tree(nodes)
    by_id = {node.id: node for node in nodes}

    def way(node: Node | None) -> list[str]:
        """From the root."""
        return [] if node is None else [*way(by_id.get(node.parent or "")), node.id]

    path = way(nodes[-1])
    types = {id_: by_id[id_].type for id_ in path}
    reset = max((at for at, id_ in enumerate(path) if types[id_] == "reset_boundary"), default=0)
    newest = max((at for at, id_ in enumerate(path) if types[id_] == "compaction" and at >= reset), default=None)
    target = None if newest is None else by_id[path[newest]].target
    kept = newest if newest is None or target not in path[:newest] else path.index(str(target))

    told: set[str] = set()
    waiting = [id_ for id_ in path if types[id_] == "branch_summary"]
    while waiting:
        summary = by_id[waiting.pop()]
        named = summary.target if summary.target in by_id and summary.target != summary.parent else None
        left = way(by_id[named] if named else nodes[summary.position - 1] if summary.position else None)
        fresh = {*left} - {*way(summary)} - told
        told |= fresh
        waiting += [id_ for id_ in fresh if by_id[id_].type == "branch_summary"]

    for node in nodes:
        found = some.state(node.position).selection
        silent = node.type in ("label", "reset_boundary")
        if node.id not in path:
            assert found == ("summarized" if node.id in told and not silent else "not-selected")
        elif silent:
            assert found == "not-applicable"
        else:
            at = path.index(node.id)
            older = newest is not None and at < newest and (at < (kept or 0) or node.type == "compaction")
            assert found == ("not-selected" if at < reset else "summarized" if older else "direct")


@given(orderly())
def test_before_and_after_are_each_other_s_reverse(nodes: list[Node]) -> None:
    some = Tree(nodes)

    for node in nodes:
        for next_ in some.along_branch(node.position, 0, 1).after:
            assert some.along_branch(next_.position, 1, 0).before == (node,)
