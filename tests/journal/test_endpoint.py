"""A model behind an endpoint that the user configured."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest

from pepys.errors import InvalidConfiguration
from pepys.journal import endpoint
from pepys.journal.endpoint import Endpoint
from tests.journal.project import Project
from tests.journal.test_capture import settle

Json = dict[str, Any]


class Server(HTTPServer):
    """Answers what it is told to, and keeps what it was asked."""

    answer: tuple[int, Json | bytes, dict[str, str]] = (200, {}, {})

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.asked: list[tuple[str, dict[str, str], Json]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.asked.append((self.path, dict(self.headers), body))
        status, answer, headers = self.server.answer
        data = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(data))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def server() -> Iterator[Server]:
    made = Server()
    thread = threading.Thread(target=made.serve_forever, daemon=True)
    thread.start()
    yield made
    made.shutdown()
    made.server_close()


def test_openai_is_spoken(server: Server) -> None:
    server.answer = (200, {"choices": [{"message": {"content": "- x"}}]}, {})

    text = Endpoint("openai", server.url + "/v1/chat/completions", "small", "k")(None, "be brief", "text", 5)

    ((path, headers, body),) = server.asked
    assert text == "- x"
    assert (path, headers["Authorization"], body["model"]) == ("/v1/chat/completions", "Bearer k", "small")
    assert [message["role"] for message in body["messages"]] == ["system", "user"]


def test_anthropic_is_spoken(server: Server) -> None:
    server.answer = (200, {"content": [{"type": "text", "text": "- "}, {"type": "text", "text": "x"}]}, {})

    text = Endpoint("anthropic", server.url + "/v1/messages", "small", "k")("anthropic/other", "be brief", "text", 5)

    ((_, headers, body),) = server.asked
    assert text == "- x"
    lowered = {name.lower(): value for name, value in headers.items()}
    assert (lowered["x-api-key"], body["model"], body["system"]) == ("k", "other", "be brief")


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ((500, {"error": "over\nloaded"}, {}), "small at .* answered 500: .*over.*loaded"),
        ((200, b"<html>", {}), "not JSON"),
        ((200, {"choices": []}, {}), "without a text"),
        ((200, ["x"], {}), "without a text"),
    ],
)
def test_what_cannot_be_used_is_told_without_the_key(server: Server, answer: Any, why: str) -> None:
    server.answer = answer

    with pytest.raises(OSError, match=why) as caught:
        Endpoint("openai", server.url, "small", "sk-secret")(None, "s", "p", 5)

    assert "sk-secret" not in str(caught.value)


@pytest.mark.parametrize("status", [301, 302, 307])
def test_no_redirection_takes_the_key_elsewhere(server: Server, status: int) -> None:
    server.answer = (status, {}, {"Location": server.url + "/elsewhere"})

    with pytest.raises(OSError, match=str(status)):
        Endpoint("openai", server.url, "small", "sk-secret")(None, "s", "p", 5)

    assert len(server.asked) == 1


def test_nobody_there_is_told() -> None:
    with pytest.raises(OSError, match="cannot be reached"):
        Endpoint("openai", "http://127.0.0.1:1", "small", "")(None, "s", "p", 5)


def test_without_configuration_there_is_none_and_half_of_one_is_an_error(project: Project) -> None:
    from pepys import config

    def made(**journal: str) -> Endpoint | None:
        settings = config.load(project.env, project.root, {"journal": journal}).journal
        return endpoint.configured(settings, {"MY_KEY": "k"})

    assert made() is None
    with pytest.raises(InvalidConfiguration, match=r"journal\.model is not"):
        made(modelApi="openai")
    with pytest.raises(InvalidConfiguration, match="no web address"):
        made(modelApi="openai", model="m", modelUrl="file:///etc/passwd")
    found = made(modelApi="anthropic", model="m", modelUrl="http://localhost:1/", modelKeyVariable="MY_KEY")
    assert found is not None
    assert (found.url, found._key) == ("http://localhost:1/v1/messages", "k")


@pytest.mark.requirement("journal.capture.endpoint")
@pytest.mark.usefixtures("plain")
def test_captures_outside_of_a_host_use_it(project: Project, server: Server) -> None:
    server.answer = (200, {"choices": [{"message": {"content": "- distilled"}}]}, {})
    keys = project.config(modelApi="openai", model="small", modelUrl=server.url)

    answer = settle(project, project.talk(), None, **keys)  # what the host offers is not the endpoint's to call

    assert answer["kind"] == "distilled"
    assert server.asked[0][2]["model"] == "small"
