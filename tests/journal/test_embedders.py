"""What every embedder must do, over the table of them; those that are not installed are skipped."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any
from zlib import crc32

import pytest

from pepys.config import Journal
from pepys.journal import embedders, vectors
from pepys.journal.base import BackendMissing
from pepys.journal.embedders import openai, static, wordpiece
from pepys.journal.embedders.base import Embedder, EmbedderFailed

MEMORY = "moved the hot cache to Redis with five minute TTLs"
OTHERS = ("the user prefers dark colours in the editor", "a recipe for sourdough bread", MEMORY)


def even(word: str) -> float:
    return 1.0


class Endpoint:
    """A server that embeds by words, and can answer badly."""

    def __init__(self) -> None:
        self.asked: list[Any] = []
        self.answer: Callable[[list[str]], tuple[int, Any]] = self.by_words
        endpoint = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                endpoint.asked.append((self.path, self.headers["Authorization"], body["model"], body["input"]))
                status, value = endpoint.answer(body["input"])
                said = json.dumps(value).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(said)))
                self.end_headers()
                self.wfile.write(said)

            def log_message(self, *_: object) -> None:
                pass

        self._server = HTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._server.server_port}/v1/"

    @staticmethod
    def by_words(texts: list[str]) -> tuple[int, Any]:
        rows = [[0.01] * 64 for _ in texts]
        for row, text in zip(rows, texts, strict=True):
            for word in text.lower().split():
                row[crc32(word.encode("utf-8", "surrogatepass")) % 64] += 1
        data = [{"index": number, "embedding": row} for number, row in enumerate(rows)]
        return 200, {"data": data[::-1]}  # the order is told by the index alone

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def settings(self) -> Journal:
        return Journal(embedder="openai", embedding_url=self.url, embedding_model="by_words")


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    made = Endpoint()
    yield made
    made.close()


@pytest.fixture(params=sorted(embedders.EMBEDDERS))
def embedder(request: pytest.FixtureRequest, endpoint: Endpoint) -> Embedder:
    name: Any = request.param
    settings = endpoint.settings() if name == "openai" else Journal(embedder=name)
    try:
        return embedders.opened(name, settings, {})
    except BackendMissing as error:
        pytest.skip(f"{name}: {error.reason}")


@pytest.mark.requirement("journal.embedder.contract")
def test_a_text_is_nearest_to_itself_and_to_a_query_of_its_words(embedder: Embedder) -> None:
    found = embedder.documents(OTHERS)
    query = embedder.query("Redis cache", even)

    assert query is not None
    assert len({len(vector) for vector in (*found, query)}) == 1
    assert vectors.cosine(found[2], found[2]) == pytest.approx(1, abs=0.01)
    assert max(found, key=lambda vector: vectors.cosine(query, vector)) == found[2]


@pytest.mark.requirement("journal.embedder.contract")
def test_the_same_text_has_the_same_vector_whatever_it_is_embedded_with(embedder: Embedder) -> None:
    (alone,) = embedder.documents([MEMORY])

    assert vectors.cosine(alone, embedder.documents(OTHERS)[2]) == pytest.approx(1, abs=0.01)
    assert embedder.documents([]) == []


@pytest.mark.requirement("journal.embedder.contract")
def test_any_text_has_a_vector(embedder: Embedder) -> None:
    found = embedder.documents(["", "…", "我们把缓存移到了", "x" * 5000, "\ud800", "🎉"])

    assert len({len(vector) for vector in found}) == 1


@pytest.mark.requirement("journal.embedder.default")
def test_the_default_embedder_needs_no_library_and_finds_other_words_of_the_same_meaning() -> None:
    embedder = static.opened(Journal(), {})

    cache, editor, bread = embedder.documents(
        ["moved the cache to Redis", "the editor has a dark theme", "baked bread"]
    )

    assert Journal().embedder == "static"
    assert embedder.weight <= 0.3
    for query, near in (("a black background", editor), ("recipe of a loaf", bread), ("stored in memory", cache)):
        vector = embedder.query(query, even)
        assert vector is not None
        cosines = {other: vectors.cosine(vector, other) for other in (cache, editor, bread)}
        assert max(cosines, key=cosines.__getitem__) == near, query


def test_rare_words_of_a_query_count_most() -> None:
    embedder = static.opened(Journal(), {})
    cache, login = embedder.documents(["cache", "login"])

    for rare, near, far in (("cache", cache, login), ("login", login, cache)):
        vector = embedder.query("cache login", {"cache": 0.5, "login": 0.5, rare: 5.0}.__getitem__)
        assert vector is not None
        assert vectors.cosine(vector, near) > vectors.cosine(vector, far)
    assert embedder.query("???", even) is None


def test_words_are_cut_into_the_longest_pieces_that_the_vocabulary_has() -> None:
    known = wordpiece.vocabulary()

    assert [*wordpiece.words("Don't cache_it, CAFÉ 缓存!")] == ["don", "t", "cache", "it", "cafe", "缓", "存"]
    assert wordpiece.of_word("cache") == (known["cache"],)
    assert wordpiece.of_word("embeddings") == (known["em"], known["##bed"], known["##ding"], known["##s"])
    assert wordpiece.of_word("x" * 101) == ()
    assert wordpiece.encoded("a cache.", 4) == [101, known["a"], known["cache"], 102]


@pytest.mark.requirement("journal.embedder.remote")
def test_a_remote_embedder_is_asked_only_if_its_endpoint_is_named(endpoint: Endpoint) -> None:
    with pytest.raises(BackendMissing) as missing:
        embedders.opened("openai", Journal(embedder="openai"), {})
    remote = embedders.opened("openai", endpoint.settings(), {"OPENAI_API_KEY": "k1"})
    assert not endpoint.asked

    remote.documents([f"text {number}" for number in range(openai.BATCH + 1)])

    assert "journal.embeddingUrl" in missing.value.steps
    assert "127.0.0.1" not in remote.space
    assert [(path, key, model, len(texts)) for path, key, model, texts in endpoint.asked] == [
        ("/v1/embeddings", "Bearer k1", "by_words", openai.BATCH),
        ("/v1/embeddings", "Bearer k1", "by_words", 1),
    ]


@pytest.mark.requirement("journal.embedder.remote")
@pytest.mark.parametrize(
    "answer",
    [
        (500, {"error": "secret text"}),
        (200, {"nothing": 1}),
        (200, []),
        (200, {"data": []}),
        (200, {"data": [{"embedding": ["x"]}]}),
        (200, {"data": [{"embedding": [float("nan")]}]}),
    ],
)
def test_an_answer_that_cannot_be_used_is_an_error_that_quotes_nothing(
    endpoint: Endpoint, answer: tuple[int, Any]
) -> None:
    endpoint.answer = lambda texts: answer
    remote = embedders.opened("openai", endpoint.settings(), {"OPENAI_API_KEY": "k1"})

    with pytest.raises(EmbedderFailed) as failed:
        remote.documents([MEMORY])

    assert not [word for word in ("secret", "Redis", "k1", endpoint.url) if word in str(failed.value)]


@pytest.mark.requirement("journal.degrade.embedder")
def test_an_embedder_that_is_not_installed_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)

    with pytest.raises(BackendMissing) as missing:
        embedders.opened("minilm", Journal(embedder="minilm"), {})

    assert "pip install 'pepys[minilm]'" in missing.value.steps
