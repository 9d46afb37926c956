"""Words whose frequencies look like those of real sessions, and the prose, code and logs that are made of them.

Nothing is downloaded: some common words are listed here, the rest is made of syllables. Frequencies follow Zipf and
Mandelbrot, and every session prefers a few hundred rare words of its own, as real ones do.
"""

from __future__ import annotations

import random
from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache


def _listed(text: str) -> list[str]:
    return text.split()


_FUNCTION = _listed(
    """the to of a and in is it that for this i we on with not be as are if from so but an was or can have you will
    there by at now it's let me has then when which do should all no one need does only also into just what more use
    after before where how first because here its they would than any each some other about both still same out up"""
)
_TRADE = _listed(
    """file test error function value return code line check run build data type name path call result string list
    config key set get read write user server client request response index cache query table update change fix
    import module class method object field parse token node tree branch commit merge version release package install
    command output input log debug trace time date size count number limit default option flag mode state start stop
    open close load save create delete remove add insert find search match filter sort order group map lock thread
    process worker queue event message session context handler signal timeout retry connection socket port host
    address url header body status schema model record row column entry fragment offset length buffer stream bytes
    text unicode encode decode hash digest format render template page view layout style color button form click
    window screen terminal shell script deploy docker container image network proxy router gateway database migration
    transaction rollback snapshot backup restore metric counter gauge latency budget threshold ratio weight score
    rank vector matrix embedding sample batch epoch train evaluate predict feature label"""
)
_ONSETS = _listed(
    "b bl br c ch cl cr d dr f fl fr g gl gr h j k l m n p pl pr qu r s sc sh sk sl sm sn sp st t th tr v w z"
)
_NUCLEI = _listed("a e i o u ai ea ee ie oa ou")
_CODAS = ["", *_listed("n r s t l m d nd nt st ck rt x ng")]
_CJK = _listed(
    """数据库连接池怎么配置 索引重建失败 为什么测试超时 请检查会话历史 把缓存大小改成二十 这个错误昨天也出现过
    会話履歴を検索します 設定ファイルを直してください なぜテストが遅いのですか 前回の変更を元に戻す
    데이터베이스 연결을 확인해 주세요 색인을 다시 만들어 한국어도 됩니다"""
)

_SLOTS = 1 << 21
_REFILL = 4096


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """Two urns, in which a word lies as often as its frequency says, and the words that sessions specialise in."""

    prose: Sequence[str]
    code: Sequence[str]
    special: Sequence[str]


@cache
def vocabulary(seed: int) -> Vocabulary:
    """Some 200,000 distinct words and identifiers, the same for the same seed."""
    draw = random.Random(f"vocabulary {seed}")
    made = _made(draw, 110_000)
    verbs, nouns = _TRADE[40:110], [*_TRADE, *made[:4_000]]
    names = _names(draw, verbs, nouns, 90_000)
    prose = [*_FUNCTION, *_interleaved(draw, _TRADE, made[:2_000]), *_interleaved(draw, made[2_000:], names[:20_000])]
    code = [*_interleaved(draw, _TRADE, names[:600]), *_interleaved(draw, names[600:], made[:40_000])]
    return Vocabulary(_urn(prose), _urn(code), [*made[20_000:], *names[10_000:]])


def _made(draw: random.Random, count: int) -> list[str]:
    # Frequent words are short in every language.
    words: dict[str, None] = {}
    while len(words) < count:
        done = len(words) / count
        syllables = 1 + (done > 0.005) + (done > 0.15 and draw.random() < 0.7) + (done > 0.5 and draw.random() < 0.4)
        word = "".join(draw.choice(_ONSETS) + draw.choice(_NUCLEI) for _ in range(syllables)) + draw.choice(_CODAS)
        words[word] = None
    return list(words)


def _names(draw: random.Random, verbs: Sequence[str], nouns: Sequence[str], count: int) -> list[str]:
    names: dict[str, None] = {}
    while len(names) < count:
        verb, one, two = draw.choice(verbs), draw.choice(nouns), draw.choice(nouns)
        style = draw.random()
        if style < 0.45:
            names[f"{verb}_{one}"] = None
        elif style < 0.7:
            names[f"{one}_{two}_{verb}"] = None
        elif style < 0.9:
            names[f"{verb}{one.title()}{two.title()}"] = None
        else:
            names[f"{one.title()}{two.title()}"] = None
    return list(names)


def _interleaved(draw: random.Random, one: Sequence[str], two: Sequence[str]) -> list[str]:
    # Keeps the order within each, so that short and common words stay in front.
    keyed = [(i / len(words) + draw.random() * 0.05, word) for words in (one, two) for i, word in enumerate(words)]
    return [word for _, word in sorted(keyed)]


def _urn(ranked: Sequence[str]) -> list[str]:
    ranked = list(dict.fromkeys(ranked))
    weights = [1 / (rank + 2.7) for rank in range(len(ranked))]
    scale = _SLOTS / sum(weights)
    urn: list[str] = []
    for word, weight in zip(ranked, weights, strict=True):
        urn += [word] * max(1, round(weight * scale))
    return urn


class _Stream:
    """An endless stream of words; drawn in bulk, because text is made by the gigabyte."""

    def __init__(self, draw: random.Random, urn: Sequence[str], topic: Sequence[str], every: int) -> None:
        self._draw, self._urn, self._topic, self._every = draw, urn, topic, every
        self._words: list[str] = []
        self._next = 0

    def take(self, count: int) -> list[str]:
        if self._next + count > len(self._words):
            self._fill(max(_REFILL, count))
        self._next += count
        return self._words[self._next - count : self._next]

    def _fill(self, count: int) -> None:
        urn, size = self._urn, len(self._urn)
        self._words = [urn[number % size] for number in array("I", self._draw.randbytes(4 * count))]
        places = len(self._words[:: self._every])
        self._words[:: self._every] = self._draw.choices(self._topic, k=places)
        self._next = 0


_CODE = (
    "    {0} = {1}({2}, {3})",
    "    {0} = self.{1}.{2}({3})",
    "    if {0} is None:",
    "        return {0}.{1}",
    "def {0}({1}, {2}={3}):",
    "    # {0} {1} {2} before {3}",
    "    for {0} in {1}.{2}():",
    '        raise ValueError(f"{0} {1}: {{{2}}}")',
    "",
    "    const {0} = await {1}.{2}({{ {3} }});",
    "    assert {0} == {1}[{2}], {3}",
    "from {0}.{1} import {2}",
    "        self._{0}: dict[str, {1}] = {{}}",
    "    with {0}({1}) as {2}:",
    '    """The {0} of {1}, by {2}."""',
    "            {0}.append({1}[{2}:{3}])",
)
_LOGS = (
    "{t} INFO  {0}.{1}: {2} {3} took {n} ms",
    "{t} WARN  {0}: {1} is over {2} ({n} of 4096)",
    "{t} DEBUG [{h}] {0} {1}={n} {2}={3}",
    "tests/{0}/test_{1}.py::test_{2}_{3} PASSED",
    "tests/{0}/test_{1}.py::test_{2} FAILED [ {n}%]",
    "src/{0}/{1}.py:{n}:    {2} = {3}",
    "src/{0}/{1}.ts:{n}:9 - error TS2345: Argument of type '{2}' is not assignable to '{3}'.",
    "-rw-r--r-- 1 dev dev {n} Mar  9 11:04 {0}_{1}.py",
    "  Compiling {0}-{1} v0.{n}.0",
    "E   {0}Error: {1} {2} at 0x{h}",
    " M src/{0}/{1}.py",
    "{h} {0}: {1} the {2} {3}",
    '  "{0}": {{"{1}": {n}, "{2}": "{3}"}},',
    "+    {0} = {1}({2})",
    "-    {0} = {1}",
)


class Author:
    """Writes one session's texts."""

    def __init__(self, draw: random.Random, words: Vocabulary) -> None:
        self._draw = draw
        first = draw.randrange(len(words.special) - 400)
        topic = words.special[first : first + 400]
        # Squared, so that a session's own words have a Zipf of their own.
        favourites = [topic[int(draw.random() ** 2 * 60)] for _ in range(200)] + list(topic)
        self._prose = _Stream(draw, words.prose, favourites, 9)
        self._code = _Stream(draw, words.code, favourites, 7)

    def prose(self, chars: int) -> str:
        """Sentences in paragraphs, with code spans and lists; about *chars* code points."""
        draw, parts, have = self._draw, [], 0
        while have < chars:
            words = self._prose.take(draw.choice((5, 8, 9, 11, 13, 14, 17, 22)))
            shape = draw.random()
            if shape < 0.2:
                words[-1] = f"`{self._code.take(1)[0]}`"
            elif shape < 0.25:
                words[0] = f"**{words[0]}**"
            end = ". " if shape < 0.7 else ", " if shape < 0.85 else ".\n\n" if shape < 0.94 else ":\n- "
            words[0] = words[0][:1].upper() + words[0][1:]
            parts.append(" ".join(words) + end)
            have += len(parts[-1])
        return "".join(parts)[:chars].rstrip()

    def code(self, chars: int) -> str:
        """Lines of source code; about *chars* code points."""
        lines, have = [], 0
        while have < chars:
            lines.append(self._draw.choice(_CODE).format(*self._code.take(4)))
            have += len(lines[-1]) + 1
        return "\n".join(lines)[:chars]

    def log(self, chars: int) -> str:
        """Lines that tools print; about *chars* code points."""
        draw, lines, have = self._draw, [], 0
        second = draw.randrange(86_400)
        while have < chars:
            bits = draw.getrandbits(32)
            second += bits & 1
            stamp = f"2026-03-09T{second // 3600 % 24:02d}:{second // 60 % 60:02d}:{second % 60:02d}.{bits % 1000:03d}Z"
            shape = _LOGS[bits % len(_LOGS)]
            lines.append(shape.format(*self._code.take(4), t=stamp, h=f"{bits:08x}", n=bits % 997))
            have += len(lines[-1]) + 1
        return "\n".join(lines)[:chars]

    def cjk(self) -> str:
        """A prompt in Chinese, Japanese or Korean."""
        return "、".join(self._draw.choices(_CJK, k=self._draw.randrange(1, 5))) + "。"

    def name(self) -> str:
        """An identifier."""
        return self._code.take(1)[0]

    def path(self) -> str:
        """A file path inside the project."""
        one, two = self._code.take(2)
        return f"src/{one}/{two}.py"
