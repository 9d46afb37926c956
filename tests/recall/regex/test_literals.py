"""Literals that every match of a pattern holds."""

from __future__ import annotations

import sys
import unicodedata

import pytest
import regex
from hypothesis import given, settings

from pepys.recall.regex import required
from pepys.recall.regex.literals import _apart, _inert
from pepys.recall.regex.parse import InvalidRegex, parse
from pepys.recall.regex.translate import translate
from pepys.text import folded
from tests.recall.regex.patterns import matching, patterns, texts


@pytest.mark.parametrize(
    ("pattern", "literals"),
    [
        ("TypeError: ", ("typeerror: ",)),
        (r"error\s+\d+", ("error",)),
        (r"src\/foo\.ts", ("src/foo.t",)),  # a mark may follow and change the last letter
        (r"(?<word>foo)bar1", ("foobar1",)),
        ("foo1.*bar2", ("foo1", "bar2")),
        (r"^foo1\b$", ("foo1",)),
        ("foo1(?=bar1)(?<!baz1)", ("foo1",)),
        ("(?:foo1)+", ("foo1",)),
        ("(?:foo1){2,}bar1", ("foo1", "bar1")),
        ("(?:foo1)?bar1", ("bar1",)),
        ("(?:foo1)*", ()),
        ("a1|b1", ()),
        ("x1(?:a|b)y1", ("x1", "y1")),
        (r"(a1)x1\1y1", ("a1x1", "y1")),
        (r"\p{L}x1[ab]", ("x1",)),
        ("İ1x", ("1",)),
        ("straße1", ("straße1",)),
        ("ΣΑΣ1", ("σασ1",)),
        ("caf\u00e9 1", ("caf\u00e9 1",)),
        ("cafe\u03011", ("caf", "1")),
        ("中文", ("中文",)),
        ("가1", ("가1",)),
        ("fi1", ("fi1",)),
        ("ﬁ1", ("1",)),
        ("<=", ("<",)),
        ("ι1", ("1",)),  # it equals a mark
        ("ошибка1", ("шибка1",)),  # the first letter equals one that lower-casing leaves as it is
        ("\ud83d", ()),
        ("", ()),
    ],
)
def test_literals_of_a_pattern(pattern: str, literals: tuple[str, ...]) -> None:
    assert required(pattern) == literals


def lost(pattern: str, text: str) -> list[str]:
    """Literals of a pattern that its match in *text* lacks."""
    try:
        compiled = regex.compile(translate(parse(pattern)), regex.VERSION0)
    except InvalidRegex:
        return []
    if compiled.search(text, timeout=10) is None:
        return []
    return [literal for literal in required(pattern) if literal not in folded(text)]


@given(matching)
@settings(max_examples=500)
def test_what_matches_holds_every_literal(pair: tuple[str, str]) -> None:
    assert lost(*pair) == []


@given(patterns, texts)
def test_what_any_pattern_matches_holds_every_literal(pattern: str, text: str) -> None:
    assert lost(pattern, text) == []


def compositions() -> set[tuple[str, str]]:
    pairs = set()
    for code in range(sys.maxunicode + 1):
        parts = unicodedata.decomposition(chr(code))
        if " " in parts and not parts.startswith("<"):
            first, second = (chr(int(part, 16)) for part in parts.split())
            pairs.add((first, second))
    # Hangul is composed by rule.
    return pairs | {("\u1100", chr(code)) for code in (*range(0x1161, 0x1176), *range(0x11A8, 0x11C3))}


def test_what_stands_apart_joins_nothing_before_it() -> None:
    joining = {second for _, second in compositions()}

    wrong = [
        chr(code)
        for code in range(sys.maxunicode + 1)
        if _apart(code)
        and (unicodedata.normalize("NFKD", chr(code))[0] in joining or unicodedata.combining(chr(code)) != 0)
    ]

    assert wrong == []


def test_what_is_inert_takes_nothing_into_itself() -> None:
    assert not [first for first, _ in compositions() if _inert(first)]
