"""Patterns mean what they mean in JavaScript with the flags `iu`."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator

import pytest
import regex
from hypothesis import example, given

from pepys.recall.regex import properties
from pepys.recall.regex.case import cased, closed, equal
from pepys.recall.regex.parse import SPACE, WORD, InvalidRegex, parse
from pepys.recall.regex.ranges import ALL, complement, holds, union
from pepys.recall.regex.translate import translate
from pepys.recall.regex.tree import Property
from tests.recall.regex.examples import EXAMPLES, ONLY_JAVASCRIPT, REFUSED
from tests.recall.regex.patterns import patterns, texts

NODE = shutil.which("node")

PROGRAM = r"""
require("readline").createInterface({input: process.stdin}).on("line", (line) => {
  const [pattern, text] = JSON.parse(line);
  let answer;
  try {
    const match = new RegExp(pattern, "iu").exec(text);
    answer = match === null ? null : match.index;
  } catch (error) { answer = String(error.message); }
  console.log(JSON.stringify(answer));
});
"""


class JavaScript:
    """One process that answers for many patterns."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._input, self._output = process.stdin, process.stdout

    def search(self, pattern: str, text: str) -> int | str | None:
        """The UTF-16 index of the first match; None without one, the message if the pattern is invalid."""
        self._input.write(json.dumps([pattern, text]) + "\n")
        self._input.flush()
        answer = json.loads(self._output.readline())
        assert answer is None or isinstance(answer, int | str)
        return answer


@pytest.fixture(scope="module")
def javascript() -> Iterator[JavaScript]:
    if NODE is None:
        pytest.skip("node is not installed")
    command = [NODE, "-e", PROGRAM]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8"
    ) as process:
        yield JavaScript(process)
        assert process.stdin is not None
        process.stdin.close()


def search(pattern: str, text: str) -> int | None:
    match = regex.compile(translate(parse(pattern)), regex.VERSION0).search(text, timeout=10)
    return None if match is None else match.start()


def units(text: str) -> int:
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


@pytest.mark.parametrize(("pattern", "text", "start"), EXAMPLES)
def test_a_pattern_matches_where_it_does_in_javascript(pattern: str, text: str, start: int | None) -> None:
    assert search(pattern, text) == start


@pytest.mark.parametrize(("pattern", "message"), REFUSED)
def test_what_javascript_refuses_is_refused_with_the_place(pattern: str, message: str) -> None:
    with pytest.raises(InvalidRegex) as caught:
        parse(pattern)

    assert message in str(caught.value)


@pytest.mark.parametrize("pattern", ONLY_JAVASCRIPT)
def test_what_cannot_be_kept_to_its_meaning_is_refused(pattern: str) -> None:
    with pytest.raises(InvalidRegex):
        translate(parse(pattern))


def test_the_examples_are_what_javascript_answers(javascript: JavaScript) -> None:
    answers = {(pattern, text): javascript.search(pattern, text) for pattern, text, _ in EXAMPLES}

    assert answers == {
        (pattern, text): None if start is None else units(text[:start]) for pattern, text, start in EXAMPLES
    }
    assert all(isinstance(javascript.search(pattern, ""), str) for pattern, _ in REFUSED)
    assert not any(isinstance(javascript.search(pattern, ""), str) for pattern in ONLY_JAVASCRIPT)


@given(patterns, texts)
@example(r"(?:\2(a))+()|b", "b")
def test_any_pattern_matches_where_it_does_in_javascript(javascript: JavaScript, pattern: str, text: str) -> None:
    expected = javascript.search(pattern, text)

    try:
        start = search(pattern, text)
    except InvalidRegex as error:
        assert isinstance(expected, str) or "earlier round" in str(error)
        return

    if isinstance(expected, int) and expected not in {units(text[:at]) for at in range(len(text) + 1)}:
        return  # the engine begins an empty match within a surrogate pair, where the standard has no place
    assert expected == (None if start is None else units(text[:start]))


def test_case_is_simple_case_folding_of_all_of_unicode() -> None:
    classes: dict[str, set[int]] = {}
    for code in range(0x110000):
        classes.setdefault(chr(code).casefold(), set()).add(code)

    expected = {code: tuple(sorted(codes)) for codes in classes.values() if len(codes) > 1 for code in codes}

    assert cased() == expected


def test_the_package_ignores_case_in_ascii_as_javascript_does_but_for_the_letter_i() -> None:
    everything = "".join(map(chr, range(0x110000)))

    differing = {
        chr(code)
        for code in range(0x80)
        if {ord(char) for char in regex.findall(rf"(?i:\u{code:04x})", everything, regex.VERSION0)} != set(equal(code))
    }

    assert differing == {"i", "I"}


@pytest.mark.parametrize(
    "name", [*properties._CATEGORY, *properties._BOOLEAN, *(f"sc={n}" for n in properties._SCRIPT)]
)
def test_the_package_knows_every_property(name: str) -> None:
    term = properties.named(name)

    assert isinstance(term, Property)
    regex.compile(rf"\p{{{term.name}}}", regex.VERSION0)


def test_word_and_space_are_closed_under_case() -> None:
    assert closed(WORD) == WORD
    assert closed(SPACE) == SPACE


def test_a_complement_holds_the_rest() -> None:
    some = union(((5, 9), (0, 3)), ((8, 12), (0x10FFFF, 0x10FFFF)))

    rest = complement(some)

    assert some == ((0, 3), (5, 12), (0x10FFFF, 0x10FFFF))
    assert union(some, rest) == ALL
    assert not any(holds(rest, first) for first, _ in some)
