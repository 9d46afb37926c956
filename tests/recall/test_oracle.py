"""What a search finds is what reading every record from end to end would find."""

from __future__ import annotations

import random
import re
import unicodedata
from pathlib import Path

import pytest

from tests.recall.diary import Diary, Json, called, custom, following, ids, ran, returned, said, user, whole

PIECES = [
    *("a", "b", "ab", "B", "_", "1", "-", " ", "  ", "\n", ":", "(", ")", "[", "]", "$", ">", '"', "{", "}", ","),
    *("é", "e\u0301", "\u0301", "ﬁ", "İ", "ß", "\u1e9e", "²", "検", "索", "😀", "\u2028", "\u212a", "ǆ", "Σ", "ς"),
    *("ŉ", "…", "\u00a0", "\ufdfa", "각", "\u1100", "\u1161"),
]


def written(chance: random.Random, most: int) -> str:
    return "".join(chance.choice(PIECES) for _ in range(chance.randint(1, most)))


def record(chance: random.Random, number: int) -> Json:
    id_, parent = f"e{number}", f"e{number - 1}" if number else None
    match chance.randrange(6):
        case 0:
            return user(id_, parent, written(chance, 20))
        case 1:
            return said(id_, parent, written(chance, 20))
        case 2:
            return called(id_, parent, written(chance, 3), path=written(chance, 8), text=written(chance, 10))
        case 3:
            return returned(id_, parent, written(chance, 3), written(chance, 20), error=chance.random() < 0.5)
        case 4:
            return ran(id_, parent, written(chance, 10), written(chance, 10), chance.randrange(3))
        case _:
            return custom(id_, parent, written(chance, 4), written(chance, 12))


def folded(text: str) -> str:
    return unicodedata.normalize("NFKC", text).lower().replace("\u03c2", "\u03c3")


def words(text: str) -> set[str]:
    return {word.lower() for word in re.findall(r"\w+", unicodedata.normalize("NFKC", text))}


@pytest.mark.requirement("truth.index_derived", "lexical.one_tokenizer")
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("indexed", [True, False], ids=["indexed", "scanned"])
def test_searches_find_what_reading_everything_finds(diary: Diary, seed: int, indexed: bool) -> None:
    chance = random.Random(seed)
    diary.session("one", *(record(chance, number) for number in range(40)))
    index: Path = diary.home / "index"
    if not indexed:
        (diary.home / "file").touch()
        index = diary.home / "file" / "index"

    with diary.open(index_dir=index) as workspace:
        everything: Json = {"session": "one", "entryRange": {"first": 0, "last": 39}}
        texts = {f"e{index}": text for index, text in whole(following(workspace, "memory.expand", everything)).items()}

        def found(**asked: str) -> list[str]:
            pages = following(workspace, "memory.recall", {"scope": "global", "pageSize": 50, **asked})
            return sorted(entry for page in pages for entry in ids(page))

        for _ in range(60):
            text = chance.choice(list(texts.values()))
            start = chance.randrange(len(text))
            query = text[start : start + chance.randint(1, 10)]
            wanted, phrase = words(query), folded(query.strip())
            if not phrase:
                continue

            assert found(query=query, queryMode="phrase") == sorted(i for i in texts if phrase in folded(texts[i]))
            if wanted:
                any_of = sorted(i for i in texts if wanted & words(texts[i]))
                all_of = sorted(i for i in texts if wanted <= words(texts[i]))
                assert found(query=query) == any_of
                assert found(query=query, queryMatch="all") == all_of
