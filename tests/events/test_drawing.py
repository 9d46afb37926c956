"""Drawings of trees, as people see them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from pepys.events.drawing import ASCII, Drawn, Line, Paper, session, trace
from pepys.events.states import Node, Tree
from tests.events.test_states import files, orderly, tree

CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
PLAIN = Paper(None, ASCII)


def text(line: Line) -> str:
    return "".join(run.text for run in line)


def lines(some: Tree, marks: Mapping[str, str] | None = None) -> list[str]:
    """A session without words; entries with marks stand out."""
    marked = marks or {}
    drawn = [
        Drawn("user", "", (marked[node.id],) if node.id in marked else (), node.id in marked) for node in some.nodes
    ]
    return [text(line) for line in session(some, drawn, PLAIN)]


# A whole session


def test_the_selected_path_goes_straight_down_and_others_are_indented() -> None:
    some = tree("A", "B<A", "C<B", "D<C", "E<B", "F<E")

    assert lines(some) == [
        "* A  user",
        "* B  user",
        "|-o C  user",
        "| o D  user",
        "* E  user",
        "* F  user  [leaf]",
    ]


def test_where_nothing_happens_entries_are_counted() -> None:
    some = tree("A", *(f"{number}<{number - 1 if number else 'A'}" for number in range(20)))

    assert lines(some) == ["* A  user", ": 19 entries", "* 19  user  [leaf]"]


def test_one_entry_takes_no_more_room_than_its_count() -> None:
    assert lines(tree("A", "B<A", "C<B")) == ["* A  user", "* B  user", "* C  user  [leaf]"]


def test_what_stands_out_is_drawn_wherever_it_is() -> None:
    some = tree("A", *(f"{number}<{number - 1 if number else 'A'}" for number in range(9)))

    assert lines(some, {"4": "good idea"}) == [
        "* A  user",
        ": 4 entries",
        "* 4  user  [good idea]",
        ": 3 entries",
        "* 8  user  [leaf]",
    ]


def test_branches_of_branches_are_indented_further() -> None:
    some = tree("A", "B<A", "C<B", "D<B", "E<B", "Z<A")

    assert lines(some) == [
        "* A  user",
        "|-o B  user",
        "| |-o C  user",
        "| |-o D  user",
        "| o E  user",
        "* Z  user  [leaf]",
    ]


def test_every_root_is_drawn_and_missing_parents_are_told() -> None:
    some = tree("A", "X<gone", "B<A")

    assert lines(some) == ["* A  user", "* B  user  [leaf]", "o X  user  [parent gone is missing]"]


def test_an_empty_session_draws_nothing() -> None:
    assert lines(tree()) == []


def test_a_very_deep_session_is_drawn() -> None:
    some = Tree(Node(at, str(at), str(at - 2) if at > 1 else None, "message") for at in range(20_000))

    assert len(lines(some)) == 6


def test_lines_give_way_to_words_where_branches_are_nested_deeply() -> None:
    nodes = [Node(0, "0", None, "message")]
    for depth in range(30):
        nodes.append(Node(len(nodes), f"x{depth}", nodes[-1].id if depth == 0 else f"x{depth - 1}", "message"))
        nodes.append(Node(len(nodes), f"y{depth}", nodes[-1].parent, "message"))
    nodes.append(Node(len(nodes), "z", "0", "message"))
    some = Tree(nodes)
    drawn = [Drawn("user", f"the words of {node.id}") for node in nodes]

    made = [text(line) for line in session(some, drawn, Paper(50, ASCII))]

    deep = next(line for line in made if " x28 " in line)
    assert deep.startswith("...")
    assert deep.endswith("the words of x28")


@given(files() | orderly(), st.sampled_from([20, 50, 80]))
def test_every_entry_is_drawn_or_counted_once(nodes: list[Node], width: int) -> None:
    some = Tree(nodes)
    drawn = [Drawn("what", f"#{node.position}#") for node in nodes]

    made = [text(line) for line in session(some, drawn, PLAIN)]

    shown = re.findall("#([0-9]+)#", "\n".join(made))
    counted = [int(number) for number in re.findall(r": (\d+) entries", "\n".join(made))]
    assert len(shown) == len(set(shown))
    assert len(shown) + sum(counted) == len({node.id for node in nodes})


STRANGE = st.text("ab \n\t\x1b\x07\u202e日本한e\u0301\u200b👩", max_size=60)


@given(orderly(), st.lists(STRANGE, min_size=14, max_size=14), st.sampled_from([20, 33, 80]), st.booleans())
def test_lines_fit_and_cannot_steer_a_terminal(nodes: list[Node], words: list[str], width: int, plain: bool) -> None:
    drawn = [Drawn(some[:9], some, (some[:5],), True) for some, _ in zip(words, nodes, strict=False)]
    paper = Paper(width, ASCII) if plain else Paper(width)

    for line in session(Tree(nodes), drawn, paper):
        assert cell_len(text(line)) <= width
        assert not CONTROLS.search(text(line))


# What surrounds one event


def end(id_: str, session_: str = "s1", **more: object) -> dict[str, object]:
    return {"sessionId": session_, "entryId": id_, **more}


def edge(kind: str, from_: str, to: Any, **more: object) -> dict[str, object]:
    target = to if isinstance(to, dict) else end(to)
    return {"type": kind, "from": end(from_), "to": target, "recorded": True, "leadsToMaterializedLeaf": False, **more}


TARGET = {**end("E"), "entryType": "message", "branchState": "selected", "preview": "go on"}


def drawn_trace(**parts: object) -> list[str]:
    result = {"target": TARGET, "children": [], "branchSiblings": [], "related": [], "truncated": False, **parts}
    return [text(line) for line in trace(result, PLAIN)]


def test_an_event_stands_between_its_parent_its_siblings_and_its_children() -> None:
    made = drawn_trace(
        parent=edge("parent", "E", "B", leadsToMaterializedLeaf=True, preview="how it began"),
        branchSiblings=[edge("branch-sibling", "E", end("C", entryType="message", preview="not so"))],
        children=[edge("child", "E", "X"), edge("child", "E", "F", leadsToMaterializedLeaf=True)],
    )

    assert made == [
        "* B  how it began",
        "|-o C  message  not so",
        "`-* E  message  [this event]  go on",
        "  |-o X",
        "  `-* F  [to the leaf]",
    ]


def test_a_root_stands_alone() -> None:
    assert drawn_trace() == ["* E  message  [this event]  go on"]


def test_an_unknown_place_is_told() -> None:
    made = drawn_trace(parent=edge("parent", "E", "ghost", targetBranchState="unknown"))

    assert made[0] == "? ghost"


def test_relations_point_their_own_way() -> None:
    made = drawn_trace(
        related=[
            edge("file-changed", "E", {"fileRef": "file:/shop/a.py"}, recorded=False, derived=True, detail="edit"),
            edge("labels", "L", "E"),
            edge("session-fork", "E", end("Q", "s2"), recorded=False),
        ],
        truncated=True,
    )

    assert made[1:] == [
        "file-changed -> /shop/a.py  edit  (derived)",
        "labels <- L",
        "session-fork -> Q in s2  (derived)",
        "There are more than are shown.",
    ]


@given(STRANGE, st.sampled_from([20, 33, 80]))
def test_a_trace_fits_and_cannot_steer_a_terminal(words: str, width: int) -> None:
    target = {**TARGET, "preview": words, "entryType": words}
    result = {
        "target": target,
        "parent": edge("parent", "E", words, preview=words),
        "related": [edge("labels", "E", words, detail=words)],
    }

    for line in trace(result, Paper(width)):
        assert cell_len(text(line)) <= width
        assert not CONTROLS.search(text(line))
