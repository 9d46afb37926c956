"""The index over daily files: what is found, what stays, and what is gone when it is forgotten."""

from __future__ import annotations

import os
import shutil
import sqlite3
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pepys.config import Journal
from pepys.index.lock import exclusive
from pepys.journal.base import BackendMissing, Hit, Place
from pepys.journal.chunk import Cut, Piece, pieces, shared_ids
from pepys.journal.embedders import static
from pepys.journal.embedders.base import Embedder, EmbedderFailed, Rarity
from pepys.journal.files import stamp
from pepys.journal.fusion import Calibration
from pepys.journal.ignored import rules
from pepys.journal.index import StoreIndex
from pepys.journal.ledger import Ledger
from pepys.journal.lexicon import Lexicon
from pepys.journal.memsearch import Indexing

MONDAY, TUESDAY = "2026-08-10", "2026-08-11"


def entry(time: str, *bullets: str) -> str:
    lines = "".join(f"- {bullet}\n" for bullet in bullets)
    return f"### {time}\n<!-- session:3f2c9b1e turn:ab12cd34 transcript:/t/a.jsonl -->\n{lines}\n"


class Counting:
    """The static embedder, which counts what it is asked for and can fail."""

    def __init__(self, name: str = "counting") -> None:
        self._real = static.opened(Journal(), {})
        self.name = self.space = name
        self.weight, self.calibration = 0.3, Calibration(0.1, 0.5)
        self.embedded: list[str] = []
        self.failing = False

    def documents(self, texts: Sequence[str]) -> list[bytes]:
        if self.failing:
            raise EmbedderFailed("no network")
        self.embedded += texts
        return self._real.documents(texts)

    def query(self, text: str, rarity: Rarity) -> bytes | None:
        if self.failing:
            raise EmbedderFailed("no network")
        return self._real.query(text, rarity)


class Home:
    """A store, and an index of it."""

    def __init__(self, home: Path) -> None:
        self.store = home / "memory"
        self.store.mkdir()
        self.place = Place(str(self.store), "ms_shop_12345678", str(home / "index"), str(home))
        self.embedder: Embedder = Counting()
        self.index = StoreIndex(self.place, lambda: self.embedder)

    def write(self, day: str, *entries: str) -> None:
        """Append to a day's file."""
        with (self.store / f"{day}.md").open("a") as file:
            file.write("".join(entries))

    def replace(self, day: str, *entries: str) -> None:
        """Write a day's file anew."""
        (self.store / f"{day}.md").write_text("".join(entries))

    def find(self, query: str, k: int = 5, **more: str) -> list[str]:
        """The last lines of what a search finds."""
        self.index.refresh()
        return [last(hit) for hit in self.index.search(query, k, **more)]

    def again(self, embedder: Embedder | None = None) -> StoreIndex:
        """Another process's index of the same store."""
        return StoreIndex(self.place, lambda: embedder or self.embedder)

    def frequencies(self, *terms: str) -> list[int]:
        """How many chunks hold each term, whether removed or not, by every index of words that is on the disk."""
        found = [Lexicon(str(path)) for path in Path(self.place.directory).glob("text-*")]
        return [sum(lexicon.frequency(term) for lexicon in found) for term in terms]

    def bytes(self) -> bytes:
        """All that the index has on the disk."""
        return b"".join(path.read_bytes() for path in Path(self.place.directory).rglob("*") if path.is_file())


def last(hit: Hit) -> str:
    return hit.chunk.text.rpartition("\n- ")[2]


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    made = Home(tmp_path)
    yield made
    made.index.close()


def embedded(home: Home) -> list[str]:
    assert isinstance(home.embedder, Counting)
    found, home.embedder.embedded = home.embedder.embedded, []
    return found


def test_what_was_written_is_found_by_its_words_best_first(home: Home) -> None:
    home.write(MONDAY, entry("10:00", "moved the hot cache to Redis"), entry("11:00", "dropped varnish"))
    home.write(TUESDAY, entry("09:00", "the cache of thumbnails stays where it is"))

    found = home.find("Redis cache")

    assert found[0] == "moved the hot cache to Redis"
    assert "the cache of thumbnails stays where it is" in found


@pytest.mark.requirement("journal.index.stems")
@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("the caches were moved", "caching"),
        ("decided on PostgreSQL", "decisions about postgresql"),
        ("fixed getUserName in write_file.py", "user name"),
        ("fixed getUserName in write_file.py", "write_file"),
        ("the café's menu", "cafe menus"),
        ("我们把热缓存迁移到了 Redis", "缓存迁移"),
        ("支付回调的签名校验失败", "签名"),
        ("データベースのデッドロック", "デッドロックの原因"),
        ("die Straße heißt jetzt Größe", "strasse"),
        ("die Straße heißt jetzt Größe", "GROSSE"),
        ("数据库连接池的大小改成了二十，因为超时太多", "连接数为什么改了？"),
        ("前端按钮改成蓝色", "按钮是什么颜色？"),
        ("the \x1b[31mredword\x1b[0m of a log, \x1b]8;;https://example.org\x07linked\x1b]8;;\x07", "redword linked"),
        ("사용자는 데이터베이스를 모킹하지 않는다", "데이터베이스"),
    ],
)
def test_words_are_found_in_other_forms_in_identifiers_and_without_spaces(home: Home, text: str, query: str) -> None:
    home.write(MONDAY, entry("10:00", text), *(entry("11:00", f"something else {number}") for number in range(9)))

    assert home.find(query)[:1] == [text]


@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("数据库连接池的大小改成了二十，因为超时太多", "连接数为什么改了？"),
        ("前端按钮改成蓝色", "按钮是什么颜色？"),
    ],
)
def test_a_question_without_spaces_finds_the_only_entry_that_shares_a_word_with_it(
    home: Home, text: str, question: str
) -> None:
    home.write(MONDAY, entry("10:00", text))

    assert home.find(question) == [text]


@pytest.mark.parametrize(
    ("text", "query"), [("die Straße", "STRASSE"), ("die STRASSE", "straße"), ("die Größe", "grosse"), ("café", "CAFE")]
)
def test_letters_that_are_the_same_in_capitals_are_the_same_word(home: Home, text: str, query: str) -> None:
    home.write(MONDAY, entry("10:00", text))
    home.index.refresh()

    (hit,) = home.index.search(query, 5)

    assert hit.relevance == 1.0


def test_a_word_in_colour_is_worth_as_much_as_one_without(home: Home) -> None:
    home.write(MONDAY, entry("10:00", "the \x1b[31mredword\x1b[0m"), entry("11:00", "the \x1b[1;32mgre\x1b[0men"))
    home.index.refresh()

    (red,) = home.index.search("redword", 1)
    (green,) = home.index.search("green", 1)

    assert (red.relevance, green.relevance) == (1.0, 1.0)
    assert "\x1b[31m" in red.chunk.text


@pytest.mark.requirement("journal.index.anchors")
def test_anchors_are_not_found(home: Home) -> None:
    home.write(MONDAY, entry("10:00", "moved the cache"))

    assert home.find("3f2c9b1e ab12cd34 transcript jsonl") == []


@pytest.mark.requirement("journal.index.context")
def test_a_chunk_is_found_by_its_day_its_heading_and_what_came_before_it(home: Home) -> None:
    home.write(MONDAY, "### Payments\n- the signature of webhooks is checked\n\n")
    home.write(MONDAY, entry("11:00", "it took three hours"))
    home.write(TUESDAY, entry("10:00", "an unrelated thing"))

    assert home.find("payments")[0] == "the signature of webhooks is checked"
    assert home.find("Monday 10 August")[0] != "an unrelated thing"
    assert "it took three hours" in home.find("signature webhooks")
    lists = home.index.finding.lists("signature webhooks")
    assert (len(lists.own), len(lists.context)) == (1, 2)


@pytest.mark.requirement("journal.l1.empty")
def test_where_nothing_has_to_do_with_the_query_nothing_is_found(home: Home) -> None:
    assert home.find("cache") == []
    home.write(MONDAY, entry("10:00", "moved the hot cache to Redis"))

    assert home.find("sourdough bread with a crust") == []


@pytest.mark.requirement("journal.l1.empty")
@pytest.mark.parametrize("nonsense", ["zzqqxx", "zzyzzx qqq", "asdfghjkl", "trrpq", "今天晚饭吃什么", "x"])
def test_what_is_no_word_finds_nothing_in_a_store_of_many_entries(home: Home, nonsense: str) -> None:
    for number in range(40):
        home.write(
            MONDAY,
            entry(f"10:{number:02}", f"the queue of worker {number} moved to another cluster"),
            entry(f"11:{number:02}", f"pinned numpy below {number}: the wheels are built against it"),
            entry(f"12:{number:02}", f"第{number}个按钮改成蓝色"),
        )

    assert home.find(nonsense) == []
    assert home.find("numpy 7")


@pytest.mark.parametrize("indexed", [True, False])
def test_one_long_line_is_found_once_and_leaves_room_for_others(home: Home, indexed: bool) -> None:
    line = " ".join(f"The deploy of the shop failed at migration number {number}." for number in range(90))
    home.write(MONDAY, entry("10:00", line), entry("11:00", "the deploy of the shop is repaired"))
    if indexed:
        home.index.refresh()
        hits = home.index.search("deploy shop", 20)
    else:
        hits = home.index.finding.hits("deploy shop", 20, None, [f"{MONDAY}.md"])

    bodies = [hit.chunk.text.rpartition(" -->\n")[2] for hit in hits]
    assert len(bodies) == len(set(bodies))
    assert sum(body.count("migration number") for body in bodies) == 90
    assert "- the deploy of the shop is repaired" in bodies
    assert all("deploy" in hit.chunk.text for hit in home.index.search("Monday 10 August", 20))


@pytest.mark.requirement("journal.index.bullets")
def test_one_bullet_of_many_is_found_by_its_meaning(home: Home) -> None:
    home.write(MONDAY, entry("10:00", "renamed a branch", "the developer likes dark colours", "ran the linter"))
    home.write(MONDAY, *(entry(f"11:{number:02}", f"looked at log file {number} of it") for number in range(20)))

    found = home.find("black theme of the editor")

    assert "ran the linter" in found


@pytest.mark.requirement("journal.index.incremental")
def test_lines_that_move_are_not_embedded_again(home: Home) -> None:
    one, two, three = (entry(f"1{at}:00", f"memory number {at}") for at in range(3))
    home.write(MONDAY, one, two)
    home.index.refresh()
    assert len(embedded(home)) == 2

    home.replace(MONDAY, three, one, two)
    assert home.index.refresh().embedded == 1
    home.replace(MONDAY, three)
    home.write(TUESDAY, two, one)
    home.index.refresh()

    assert embedded(home) == ["memory number 2"]
    assert home.find("memory number 1")[:1] == ["memory number 1"]


@pytest.mark.requirement("journal.index.incremental")
def test_files_that_did_not_change_are_not_read(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    home.write(MONDAY, entry("10:00", "moved the cache"))
    time.sleep(0.05)  # as long as a stamp is young
    home.index.refresh()
    opened: list[str] = []
    real = open

    def spy(path: object, *rest: object, **more: object) -> object:
        opened.append(str(path))
        return real(path, *rest, **more)  # type: ignore[call-overload]

    monkeypatch.setattr("builtins.open", spy)

    home.index.refresh()

    assert not [path for path in opened if path.endswith(".md")]


@pytest.mark.parametrize("ahead_s", [-3_600, 3_600])
def test_a_search_cuts_a_file_once_also_if_its_clock_is_ahead(
    home: Home, monkeypatch: pytest.MonkeyPatch, ahead_s: int
) -> None:
    home.write(MONDAY, *(entry(f"10:{number:02}", f"moved cache {number}") for number in range(20)))
    path = home.store / f"{MONDAY}.md"
    when = time.time() + ahead_s
    os.utime(path, (when, when))
    home.index.refresh()
    cut: list[int] = []
    real = pieces

    def spy(text: str, *how: int) -> Iterator[Piece]:
        cut.append(len(text))
        return real(text, *how)

    monkeypatch.setattr("pepys.journal.chunk.pieces", spy)
    other = home.again()

    for _ in range(3):
        other.refresh()
        assert len(other.search("moved cache", 5)) == 5
    assert len(cut) == 1
    home.replace(MONDAY, entry("10:00", "moved nothing"))
    os.utime(path, (when, when))
    other.refresh()
    assert [last(hit) for hit in other.search("moved", 5)] == ["moved nothing"]
    other.close()


def test_vectors_that_are_gone_are_left_out(home: Home) -> None:
    home.write(MONDAY, entry("10:00", "moved the cache"), entry("11:00", "dropped varnish"))
    home.index.refresh()
    ledger = Ledger(str(Path(home.place.directory) / "ledger.sqlite"))
    (known,) = ledger.files().values()

    found = ledger.vectors({known.id: [1, 0, 7], known.id + 1: [0]}, 256)

    assert sorted(found) == [(known.id, 0), (known.id, 1)]
    assert {len(vector) for vector in found.values()} == {256}
    assert found[known.id, 0] != found[known.id, 1]
    ledger.close()


@pytest.mark.requirement("journal.index.ids")
def test_an_id_that_a_search_returned_stays_valid_until_its_text_changes(home: Home) -> None:
    home.write(MONDAY, entry("10:00", "moved the cache"), entry("11:00", "dropped varnish"))
    home.index.refresh()
    (hit,) = home.index.search("varnish", 1)

    home.replace(MONDAY, entry("09:00", "earlier"), entry("10:00", "changed"), entry("11:00", "dropped varnish"))
    unrefreshed = home.index.chunk(hit.chunk.id)
    home.index.refresh()
    moved = home.index.chunk(hit.chunk.id)

    assert unrefreshed is not None
    assert unrefreshed == moved
    assert (moved.text, moved.first) == (hit.chunk.text, hit.chunk.first + 4)
    home.replace(MONDAY, entry("11:00", "dropped Varnish."))
    assert home.index.chunk(hit.chunk.id) is None


@pytest.mark.requirement("journal.index.ids")
def test_ids_of_memsearch_are_taken_too(home: Home) -> None:
    home.write(MONDAY, entry("10:00", "moved the cache"))
    source = os.path.realpath(home.store / f"{MONDAY}.md")
    (piece,) = pieces(Path(source).read_text())
    (theirs,) = shared_ids(source, piece, ["gpahal/bge-m3-onnx-int8"])

    found = home.index.chunk(theirs)

    assert found is not None
    assert found.text == piece.text
    assert home.index.chunk("0" * 16) is None
    assert home.index.chunk("nothing") is None


def test_a_hit_is_quoted_from_the_file_as_it_is_now(home: Home) -> None:
    home.write(MONDAY, entry("10:00", "moved the cache"), entry("11:00", "dropped the cache of varnish"))
    home.index.refresh()

    home.replace(MONDAY, entry("11:00", "dropped the cache of varnish"))

    (hit,) = home.index.search("cache", 5)
    assert (hit.chunk.first, last(hit)) == (1, "dropped the cache of varnish")


def test_only_files_below_a_prefix_are_looked_at(home: Home) -> None:
    home.write(MONDAY, entry("10:00", "moved the cache"))
    home.write(TUESDAY, entry("10:00", "dropped the cache"))

    assert home.find("cache", path_prefix=str(home.store / TUESDAY)) == ["dropped the cache"]


@pytest.mark.requirement("journal.index.embedder")
def test_another_embedder_embeds_everything_again_and_no_spaces_are_mixed(home: Home) -> None:
    home.write(MONDAY, entry("10:00", "moved the cache"), entry("11:00", "dropped varnish"))
    home.index.refresh()
    other = Counting("another")
    index = home.again(other)

    before = index.finding.lists("cache").near
    done = index.refresh()

    assert not before
    assert (done.embedded, len(other.embedded), len(index.finding.lists("cache").near)) == (2, 2, 2)
    index.close()


@pytest.mark.requirement("journal.index.embedder")
def test_an_embedder_that_fails_leaves_the_words_and_is_asked_again(home: Home) -> None:
    counting = Counting()
    counting.failing = True
    home.embedder = counting
    home.write(MONDAY, entry("10:00", "moved the cache"))

    assert home.find("cache") == ["moved the cache"]
    assert "no network" in home.index.status().note
    counting.failing = False
    assert home.index.refresh().embedded == 1
    assert home.index.status().note == ""


def test_a_file_that_cannot_be_read_keeps_its_last_good_rows_and_is_named(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    home.write(MONDAY, entry("10:00", "moved the cache"))
    home.write(TUESDAY, entry("10:00", "dropped varnish"))
    home.index.refresh()
    home.write(MONDAY, entry("12:00", "later"))
    home.write(TUESDAY, entry("12:00", "later too"))
    real = open

    def failing(path: object, *rest: object, **more: object) -> object:
        if str(path).endswith(f"{MONDAY}.md"):
            raise PermissionError(13, "Permission denied")
        return real(path, *rest, **more)  # type: ignore[call-overload]

    monkeypatch.setattr("builtins.open", failing)
    done = home.index.refresh()
    monkeypatch.undo()

    assert list(done.failed) == [str(home.store / f"{MONDAY}.md")]
    assert MONDAY in home.index.status().note
    assert [last(hit) for hit in home.index.search("moved the cache", 1)] == ["moved the cache"]
    assert [last(hit) for hit in home.index.search("later too", 1)] == ["later too"]


def test_a_store_that_cannot_be_listed_proves_nothing_gone(home: Home) -> None:
    home.write(MONDAY, entry("10:00", "moved the cache"))
    home.index.refresh()
    away = home.store.rename(home.store.with_name("away"))

    assert home.index.refresh().chunks == 1

    away.rename(home.store)
    assert home.find("cache") == ["moved the cache"]


def test_a_file_that_is_gone_leaves_the_index(home: Home) -> None:
    home.write(MONDAY, entry("10:00", "moved the cache"))
    home.write(TUESDAY, entry("10:00", "dropped varnish"))
    home.index.refresh()
    (home.store / f"{MONDAY}.md").unlink()

    done = home.index.refresh()

    assert (done.files, done.chunks, done.removed) == (1, 1, 1)
    assert home.find("cache") == []


@pytest.mark.requirement("journal.index.replaces")
def test_old_chunks_leave_only_after_what_replaces_them_is_in(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    home.write(MONDAY, entry("10:00", "moved the cache"))
    home.index.refresh()
    home.write(MONDAY, entry("11:00", "dropped varnish"))

    def crash(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Ledger, "put", crash)  # the words are in by now, and no row points at them
    with pytest.raises(KeyboardInterrupt):
        home.index.refresh()
    monkeypatch.undo()
    home.index.close()

    other = home.again()
    assert [last(hit) for hit in other.search("cache varnish", 5)] == ["moved the cache"]
    assert len(other.finding.lists("cache varnish").own) == 1
    other.refresh()
    assert sorted(last(hit) for hit in other.search("cache varnish", 5)) == ["dropped varnish", "moved the cache"]
    other.close()


@pytest.mark.requirement("journal.index.catch_up")
def test_a_budget_ends_a_refresh_and_keeps_what_was_done(home: Home) -> None:
    for day in (MONDAY, TUESDAY):
        home.write(day, entry("10:00", f"memory of {day}"))

    none = home.index.refresh(budget_s=-1)
    whole = home.index.refresh()

    assert none.pending
    assert not whole.pending
    assert whole.chunks == 2


def test_who_does_not_get_the_lock_answers_from_the_last_commit(home: Home) -> None:
    home.write(MONDAY, entry("10:00", "moved the cache"))
    home.index.refresh()
    home.write(MONDAY, entry("11:00", "dropped varnish"))

    with exclusive(os.path.join(home.place.directory, "lock"), 1):
        done = home.index.refresh(budget_s=0.05)

    assert done.pending
    assert "moved the cache" in [last(hit) for hit in home.index.search("cache", 5)]


def test_what_a_failed_refresh_had_begun_is_not_committed_by_the_next_one(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    home.write(MONDAY, entry("10:00", "moved the cache"))
    monkeypatch.setattr(Lexicon, "commit", lambda _: 1 / 0)
    with pytest.raises(ZeroDivisionError) as failed:
        home.index.refresh()
    monkeypatch.undo()

    assert failed.tb is not None  # it keeps what the refresh held
    assert home.find("cache") == ["moved the cache"]
    assert home.frequencies("cach") == [1]


def test_two_processes_see_each_other_s_commits(home: Home) -> None:
    home.write(MONDAY, entry("10:00", "moved the cache"))
    other = home.again()
    other.refresh()
    assert home.find("cache") == ["moved the cache"]

    home.write(MONDAY, entry("11:00", "dropped varnish"))
    home.index.refresh()
    assert len(other.finding.lists("varnish").own) == 1
    home.write(MONDAY, entry("12:00", "fixed the login"))
    home.index.refresh()
    home.index.purge()
    assert [last(hit) for hit in other.search("login", 1)] == ["fixed the login"]
    other.close()


def test_who_reads_creates_nothing_even_under_an_old_name(home: Home) -> None:
    home.write(MONDAY, entry("10:00", "moved the cache"))
    home.index.refresh()
    other = home.again()
    other.search("cache", 1)
    home.index.purge()

    home.index._directory._words("text-1")

    assert [path.name for path in Path(home.place.directory).glob("text-*")] == ["text-2"]
    other.close()


SECRET = "xylophone quarterdeck zeppelin"


@pytest.mark.requirement("journal.forget.gone")
def test_what_is_forgotten_is_gone_from_the_disk_and_could_be_seen_before(home: Home) -> None:
    home.write(MONDAY, entry("10:00", "moved the cache"), entry("11:00", SECRET), entry("12:00", "dropped varnish"))
    home.write(TUESDAY, entry("10:00", "fixed the login"))
    home.index.refresh()
    (hit,) = home.index.search(SECRET, 1)
    (vector,) = static.opened(Journal(), {}).documents([SECRET])
    unique = ("xylophon", "quarterdeck", "zeppelin")
    assert vector in home.bytes()
    assert bytes.fromhex(hit.chunk.id) in home.bytes()

    home.replace(MONDAY, entry("10:00", "moved the cache"), entry("12:00", "dropped varnish"))
    home.index.refresh()
    # The control: an index of words keeps those of what was removed, and were the proof blind, it would not see them.
    assert home.frequencies(*unique) == [1, 1, 1]
    assert home.index.purge()

    left = home.bytes()
    assert home.frequencies(*unique, "cach") == [0, 0, 0, 1]
    assert vector not in left
    assert bytes.fromhex(hit.chunk.id) not in left
    for index in (home.index, home.again()):
        assert index.chunk(hit.chunk.id) is None
        assert [last(one) for one in index.search(SECRET, 5)] == []
        assert sorted(last(one) for one in index.search("cache varnish", 5)) == ["dropped varnish", "moved the cache"]
        assert not index.status().purge_pending
        index.close()
    assert home.index.purge()
    assert home.frequencies(*unique) == [0, 0, 0]


@pytest.mark.requirement("journal.forget.pending")
def test_a_reader_that_blocks_a_purge_leaves_it_pending_and_the_next_refresh_finishes_it(home: Home) -> None:
    home.write(MONDAY, entry("10:00", "moved the cache"), entry("11:00", SECRET))
    home.index.refresh()
    reader = sqlite3.connect(os.path.join(home.place.directory, "ledger.sqlite"), isolation_level=None)
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM files").fetchone()
    home.replace(MONDAY, entry("10:00", "moved the cache"))
    home.index.refresh()

    done = home.index.purge()
    pending = home.index.status().purge_pending
    words = home.index._directory.text()
    assert home.frequencies("zeppelin") == [0]
    home.index.refresh()
    assert home.index._directory.text() == words  # the words are not made anew again and again
    reader.close()
    other = home.again()
    other.refresh()
    other.close()

    assert (done, pending) == (False, True)
    assert not home.index.status().purge_pending
    assert static.opened(Journal(), {}).documents([SECRET])[0] not in home.bytes()


def test_nothing_is_created_before_something_is_written(home: Home) -> None:
    assert home.index.search("cache", 5) == []
    assert home.index.status().chunks is None
    assert home.index.purge()

    assert not Path(home.place.directory).exists()


def test_the_index_is_private(home: Home) -> None:
    home.write(MONDAY, entry("10:00", "moved the cache"))
    home.index.refresh()

    assert Path(home.place.directory).stat().st_mode & 0o777 == 0o700
    assert (Path(home.place.directory) / "ledger.sqlite").stat().st_mode & 0o777 == 0o600


def test_status_tells_what_there_is(home: Home) -> None:
    home.write(MONDAY, entry("10:00", "moved the cache"), entry("11:00", "dropped varnish"))
    assert home.index.status().pending

    home.index.refresh()
    status = home.index.status()

    assert (status.chunks, status.embedder, status.purge_pending) == (2, "counting", False)
    assert status.bytes > 0


def test_a_file_whose_name_is_no_text_is_passed_over(home: Home) -> None:
    home.write(MONDAY, entry("10:00", "moved the cache"))
    try:
        Path(os.fsdecode(os.fsencode(home.store) + b"/\xff.md")).write_text(entry("10:00", "the cache of nobody"))
    except OSError:
        pytest.skip("the file system takes names of text only")

    assert home.find("cache") == ["moved the cache"]


@given(st.lists(st.text(max_size=40), max_size=4), st.text(max_size=60))
@settings(max_examples=60)
def test_any_text_is_indexed_and_any_query_is_answered(
    tmp_path_factory: pytest.TempPathFactory, texts: list[str], query: str
) -> None:
    home = Home(tmp_path_factory.mktemp("home"))
    text = "".join(f"### 10:0{at}\n{text}\n\n" for at, text in enumerate(texts))
    (home.store / f"{MONDAY}.md").write_bytes(text.encode("utf-8", "surrogatepass"))

    home.index.refresh()
    hits = home.index.search(query, 5)

    assert all(0 < hit.relevance <= 1 for hit in hits)
    assert [home.index.chunk(hit.chunk.id) for hit in hits] == [hit.chunk for hit in hits]
    home.index.close()


def test_every_chunk_is_listed_by_path_and_line(home: Home) -> None:
    home.write(TUESDAY, entry("10:00", "second"))
    home.write(MONDAY, entry("10:00", "first"), entry("11:00", "then"))

    found = [(Path(chunk.path).stem, chunk.first) for chunk in home.index.chunks()]

    assert found == [(MONDAY, 1), (MONDAY, 5), (TUESDAY, 1)]


WORDS = st.sampled_from(["cache", "redis", "varnish", "moved", "dropped", "login", "broke", "缓存", "deploy_now"])
ENTRIES = st.lists(st.lists(WORDS, min_size=1, max_size=3).map(" ".join), max_size=4)
STEPS = st.lists(st.tuples(st.sampled_from([MONDAY, TUESDAY, "notes"]), ENTRIES, st.booleans()), min_size=1, max_size=5)


@given(STEPS)
@settings(max_examples=25)
@pytest.mark.requirement("journal.index.incremental")
def test_however_a_store_came_to_be_its_index_is_the_one_of_a_fresh_start(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, list[str], bool]]
) -> None:
    home = Home(tmp_path_factory.mktemp("home"))
    for day, texts, purge in steps:
        home.replace(day, *(entry(f"1{at}:00", text) for at, text in enumerate(texts)))
        home.index.refresh()
        if purge:
            home.index.purge()
    fresh = StoreIndex(home.place._replace(directory=home.place.directory + "-fresh"), lambda: Counting())
    fresh.refresh()

    def everything(index: StoreIndex) -> list[set[str]]:
        # Not by their scores: an engine of words counts removed chunks until it merges them away.
        return [
            {index.finding.id_at(place) for place in found} for found in index.finding.lists("cache login 缓存 moved")
        ]

    assert everything(home.index) == everything(fresh)
    assert list(home.index.chunks()) == list(fresh.chunks())
    home.index.close()
    fresh.close()


@pytest.mark.requirement("journal.index.scanned")
def test_what_there_was_no_time_to_index_is_found_by_its_words(home: Home) -> None:
    home.write(MONDAY, entry("10:00", "moved the cache"))
    home.index.refresh()
    home.write(MONDAY, entry("11:00", "the caches are gone"))
    home.write(TUESDAY, entry("09:00", "dropped varnish, the old cache"), entry("10:00", "something else"))

    assert home.index.refresh(budget_s=-1).pending
    found = [last(hit) for hit in home.index.search("caching varnish", 5)]

    assert found[0] == "dropped varnish, the old cache"
    assert sorted(found[1:]) == ["moved the cache", "the caches are gone"]
    assert [last(hit) for hit in home.index.search("cache", 5, path_prefix=str(home.store / TUESDAY))] == found[:1]


@pytest.mark.requirement("journal.index.disposable")
@pytest.mark.parametrize("damaged", ["ledger.sqlite", "meta.json"])
def test_a_damaged_index_is_made_anew(home: Home, damaged: str) -> None:
    home.write(MONDAY, entry("10:00", "moved the cache"))
    home.index.refresh()
    home.index.close()
    (path,) = Path(home.place.directory).rglob(damaged)
    path.write_bytes(b"this is no index")
    home.write(MONDAY, entry("11:00", "dropped varnish"))

    other = home.again()
    other.refresh()

    assert sorted(last(hit) for hit in other.search("cache varnish", 5)) == ["dropped varnish", "moved the cache"]
    other.close()


def settle(home: Home) -> None:
    """As after some seconds: the files' stamps prove that they are unchanged, and nothing is read again."""
    ledger = Ledger(os.path.join(home.place.directory, "ledger.sqlite"))
    for path in home.store.iterdir():
        with ledger.transaction():
            ledger.seen(path.name, stamp(path.stat()), 2**62)
    ledger.close()


@pytest.mark.requirement("journal.index.disposable")
@pytest.mark.parametrize("damaged", ["removed", "meta.json", "*.term", "*.idx", "*.fast", "*.fieldnorm"])
def test_damaged_words_are_made_anew_though_no_file_changed(home: Home, damaged: str) -> None:
    home.write(MONDAY, *(entry("10:00", f"moved the cache {number}") for number in range(50)))
    home.write(MONDAY, entry("11:00", "dropped varnish"))
    home.index.refresh()
    home.index.close()
    settle(home)
    words = Path(home.place.directory, "text-1")
    if damaged == "removed":
        shutil.rmtree(words)
    for path in words.glob(damaged):
        data = path.read_bytes()
        path.write_bytes(data[:9] + bytes(~byte & 255 for byte in data[9:20]) + data[20:])

    other = home.again()

    with pytest.raises(BackendMissing, match="damaged"):
        other.status()
    other.refresh()
    assert last(other.search("varnish", 5)[0]) == "dropped varnish"
    assert other.status().chunks == 51
    other.close()


@pytest.mark.requirement("journal.index.disposable")
def test_damage_that_only_a_search_sees_is_repaired_by_it(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    home.write(MONDAY, entry("10:00", "moved the cache"))
    home.index.refresh()
    best, raised = Lexicon.best, [ValueError("corrupted")]

    def failing(self: Lexicon, *args: Any) -> Any:
        if raised:
            raise raised.pop()
        return best(self, *args)

    monkeypatch.setattr(Lexicon, "best", failing)

    assert [last(hit) for hit in home.index.search("cache", 5)] == ["moved the cache"]


@pytest.mark.requirement("journal.index.disposable")
def test_an_index_that_is_removed_costs_time_and_nothing_else(home: Home) -> None:
    home.write(MONDAY, entry("10:00", "moved the cache"))
    home.index.refresh()
    (hit,) = home.index.search("cache", 1)
    home.index.close()
    shutil.rmtree(home.place.directory)

    other = home.again()

    assert other.chunk(hit.chunk.id) == hit.chunk
    other.refresh()
    assert other.search("cache", 1) == [hit]
    other.close()


@pytest.mark.requirement("journal.degrade.index")
def test_an_index_that_cannot_be_written_says_what_to_do(home: Home) -> None:
    home.write(MONDAY, entry("10:00", "moved the cache"))
    Path(home.place.directory).write_text("a file where the directory should be")

    with pytest.raises(BackendMissing) as missing:
        home.index.refresh()

    assert "memory.indexDir" in missing.value.steps
    (chunk,) = home.index.chunks()
    assert home.index.chunk(chunk.id) == chunk


@pytest.mark.requirement("journal.index.configured")
def test_another_cut_cuts_anew_embeds_nothing_twice_and_is_idle_afterwards(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = Home(tmp_path)
    said = [Indexing()]
    index = StoreIndex(home.place, lambda: home.embedder, lambda: said[0])
    home.write(MONDAY, "### 10:00\n" + "".join(f"- fact number {at} of the cache\n" for at in range(20)))
    time.sleep(0.05)  # as long as a stamp is young
    index.refresh()
    assert len(list(index.chunks())) == index.status().chunks == 1
    embedded(home)

    said[0] = Indexing(Cut(max_chars=120, overlap_lines=0))
    assert index.status().pending
    done = index.refresh()

    assert (done.embedded, embedded(home)) == (0, [])
    assert done.chunks == len(list(index.chunks())) > 3
    (hit,) = index.search("fact number 19", 1)
    assert hit.chunk.last - hit.chunk.first < 5
    assert index.chunk(hit.chunk.id) == hit.chunk
    assert not index.status().pending
    monkeypatch.setattr("pepys.journal.index.follow", lambda *_: pytest.fail("there was nothing to do"))
    index.refresh()
    index.close()


@pytest.mark.requirement("journal.index.configured")
def test_files_that_the_configuration_leaves_out_leave_the_index_and_come_back(tmp_path: Path) -> None:
    home = Home(tmp_path)
    said = [Indexing()]
    index = StoreIndex(home.place, lambda: home.embedder, lambda: said[0])
    home.write(MONDAY, entry("10:00", "moved the cache"))
    (home.store / "drafts").mkdir()
    (home.store / "drafts" / "keep.md").write_text(entry("10:00", "kept the cache"))
    (home.store / "drafts" / "other.md").write_text(entry("10:00", "dropped the cache"))
    index.refresh()

    def found() -> list[str]:
        index.refresh()
        return sorted(last(hit) for hit in index.search("cache", 5))

    assert found() == ["dropped the cache", "kept the cache", "moved the cache"]
    said[0] = Indexing(ignore_files=(".indexignore",))
    (home.store / "drafts" / ".indexignore").write_text("*\n!keep.md\n")
    assert found() == ["kept the cache", "moved the cache"]
    (home.store / ".indexignore").write_text("other.md\ndrafts/\n")
    assert found() == ["moved the cache"]
    said[0] = Indexing(ignore_files=(".indexignore",), exclude=rules(["!drafts/", "2026-*"]))
    assert found() == ["kept the cache"]
    said[0] = Indexing()
    assert found() == ["dropped the cache", "kept the cache", "moved the cache"]
    index.close()


@pytest.mark.requirement("journal.index.anew")
@pytest.mark.parametrize("anew", [True, False])
def test_an_index_that_another_process_made_anew_or_removed_is_followed(home: Home, anew: bool) -> None:
    home.write(MONDAY, entry("10:00", "moved the cache"))
    home.index.refresh()
    assert home.index.search("cache", 1)
    shutil.rmtree(home.place.directory)
    home.write(MONDAY, entry("11:00", "dropped varnish"))
    other = home.again()
    if anew:
        other.refresh()

    done = home.index.refresh()

    assert (done.chunks, other.status().chunks) == (2, 2)
    assert [last(hit) for hit in home.index.search("varnish", 1)] == ["dropped varnish"]
    home.write(MONDAY, entry("12:00", "fixed the login"))
    other.refresh()
    assert home.index.status().chunks == 3
    other.close()
