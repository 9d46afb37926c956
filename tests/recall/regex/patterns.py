"""Patterns and texts that hypothesis makes up."""

from __future__ import annotations

from hypothesis import strategies as st

CHARS = [
    *"abikKsSſ\u212aIİıßẞ1_-é \n\r",
    *"\u2028\u0085\ufeff\xa0\x1c\u0301\u0345µμΜισςΣотᲂ中か\u3099가\u11a8😀Ⓜⓜ𝐀ﬁ<>=\u0338",
]
ATOMS = [
    *(char for char in CHARS if char not in "-"),
    *".^$",
    *(rf"\{letter}" for letter in "dDwWsSbB"),
    *(
        rf"\{letter}{{{name}}}"
        for letter in "pP"
        for name in ("Lu", "Ll", "L", "sc=Greek", "sc=Common", "ASCII", "IDS")
    ),
    *("[^]", "[]", "[^a-z]", "[K-ſ]", r"[^\w]", r"[\s\p{Lu}]", r"[^\P{Lu}]", r"\ud83d", r"\u212a", r"\1", r"\2"),
]
REPEATS = ["", "", "", "*", "+", "?", "{2}", "{0,2}", "*?", "+?", "??", "{1,}?"]
GROUPS = ["(%s)", "(?:%s)", "(?=%s)", "(?!%s)", "(?<=%s)", "(?<!%s)"]


def _wider(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    term = st.builds(lambda group, body, repeat: group % body + repeat, st.sampled_from(GROUPS), inner, _REPEAT)
    sequence = st.lists(term | _TERM, min_size=1, max_size=3).map("".join)
    return sequence | st.lists(sequence, min_size=2, max_size=2).map("|".join)


_REPEAT = st.sampled_from(REPEATS)
_TERM = st.builds("{}{}".format, st.sampled_from(ATOMS), _REPEAT)

patterns = st.recursive(st.lists(_TERM, max_size=3).map("".join), _wider, max_leaves=6)
"""Patterns, most of them valid."""

texts = st.lists(st.sampled_from(CHARS), max_size=8).map("".join)


def _variants(char: str) -> list[str]:
    return [char, *(other for other in CHARS if other.casefold() == char.casefold())]


def _literal(char: str) -> st.SearchStrategy[tuple[str, str]]:
    return st.tuples(st.just(char), st.sampled_from(_variants(char)))


_literals = st.sampled_from([char for char in CHARS if char not in "-"]).flatmap(_literal)
_pieces = st.one_of(
    _literals,
    _literals,
    _literals,
    st.sampled_from(
        [(r"\d", "7"), (r"\s+", " \n"), (".", "\u0301"), (r"\b", ""), (r"(?=[^])", ""), ("[^x]?", "\u3099")]
    ),
    _literals.map(lambda pair: (f"(?:{pair[0]})?", "")),
    _literals.map(lambda pair: (f"(?:{pair[0]})+", pair[1] * 2)),
    _literals.map(lambda pair: (f"({pair[0]})", pair[1])),
    _literals.map(lambda pair: (f"({pair[0]}|x)", pair[1])),
)
matching = st.tuples(texts, st.lists(_pieces, max_size=6), texts).map(
    lambda parts: ("".join(piece[0] for piece in parts[1]), parts[0] + "".join(p[1] for p in parts[1]) + parts[2])
)
"""A pattern, and a text that it as a rule matches."""
