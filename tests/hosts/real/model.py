"""A scripted model: an OpenAI-compatible server on 127.0.0.1 whose answers a test decides word for word."""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

NAME = "scripted-model"

_REMINDER = re.compile(r"<system-[a-z]+>.*?</system-[a-z]+>\s*", re.DOTALL)  # OMP's own, within a user's message


@dataclass(frozen=True)
class Request:
    """What a host asked the model."""

    body: Mapping[str, Any]

    @property
    def messages(self) -> Sequence[Mapping[str, Any]]:
        messages: Sequence[Mapping[str, Any]] = self.body.get("messages", ())
        return messages

    @cached_property
    def system(self) -> str:
        """The system prompt; hosts send it under two roles."""
        return "\n".join(_text(message) for message in self.messages if message["role"] in ("system", "developer"))

    @cached_property
    def asked(self) -> Sequence[str]:
        """The newest texts of the user: the prompt, and what was put beside it."""
        texts: list[str] = []
        for message in reversed(self.messages):
            if message["role"] == "user":
                texts.insert(0, _REMINDER.sub("", _text(message)))
            elif texts:
                break
        return texts

    @cached_property
    def text(self) -> str:
        """All that was said but the system prompt."""
        return "\n".join(_text(message) for message in self.messages if message["role"] not in ("system", "developer"))

    @cached_property
    def tools(self) -> Mapping[str, Mapping[str, Any]]:
        """The tools that are offered, by name."""
        return {tool["function"]["name"]: tool["function"] for tool in self.body.get("tools", ())}

    @property
    def aside(self) -> bool:
        """Whether it is no part of a conversation: those always offer tools."""
        return not self.tools

    @cached_property
    def results(self) -> Sequence[tuple[str, str]]:
        """Tools, and what they gave, with which the request ends."""
        names = {call["id"]: call["function"]["name"] for call in self._calls()}
        found: list[tuple[str, str]] = []
        for message in reversed(self.messages):
            if message["role"] != "tool":
                break
            found.insert(0, (names.get(message["tool_call_id"], ""), _text(message)))
        return found

    def result(self, tool: str) -> str:
        """What *tool* gave last."""
        return [text for name, text in self.results if name == tool][-1]

    def _calls(self) -> Iterator[Mapping[str, Any]]:
        for message in self.messages:
            yield from message.get("tool_calls") or ()


def _text(message: Mapping[str, Any]) -> str:
    content = message.get("content") or ""
    return content if isinstance(content, str) else "\n".join(part.get("text", "") for part in content)


@dataclass(frozen=True)
class Call:
    """A tool that the model calls."""

    tool: str
    args: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Reply:
    """What the model answers."""

    text: str = ""
    calls: tuple[Call, ...] = ()
    status: int = 200  # of HTTP; any other is a failure
    after_s: float = 0.0  # until it begins


Answer = Reply | str | Call
"""A string is the text of a reply, a call its only one."""


@dataclass
class _Rule:
    answer: Answer | Callable[[Request], Answer]
    asked: str
    after: str | None
    aside: bool
    left: int

    def matches(self, request: Request) -> bool:
        if not self.left or request.aside != self.aside:
            return False
        if self.after is None:
            return not request.results and any(re.search(self.asked, text) for text in request.asked)
        return any(tool == self.after for tool, _ in request.results)


class Model:
    """The server. Without a rule that fits it says "Understood (n)."."""

    def __init__(self) -> None:
        self.requests: list[Request] = []
        self.said: list[Reply] = []  # ends of turns: replies of a conversation that call nothing
        self._rules: list[_Rule] = []
        self._lock = threading.Lock()
        self._stopped = threading.Event()
        self._server = _Server(("127.0.0.1", 0), _handler(self))
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}/v1"

    @property
    def turns(self) -> Sequence[Request]:
        """The requests of conversations."""
        return [request for request in self.requests if not request.aside]

    def answers(
        self,
        answer: Answer | Callable[[Request], Answer],
        *,
        asked: str = "",
        after: str | None = None,
        aside: bool = False,
        times: int = -1,
    ) -> None:
        """From now on, where no earlier rule fits.

        Args:
            answer: Or what makes it of the request.
            asked: Pattern in what the user said newest, in a request that does not end with results of tools.
            after: The tool whose results the request ends with instead.
            aside: Whether it answers what is no part of a conversation.
            times: How often; negative is always.
        """
        with self._lock:
            self._rules.append(_Rule(answer, asked, after, aside, times))

    def close(self) -> None:
        self._stopped.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def heard(self, request: Request) -> tuple[int, Reply]:
        """The serial number of *request*, and what it is answered."""
        with self._lock:
            self.requests.append(request)
            reply = self._chosen(request, len(self.requests))
            serial = len(self.requests)
        self._stopped.wait(reply.after_s)
        return serial, reply

    def told(self, request: Request, reply: Reply) -> None:
        """Note that *reply* is being sent."""
        if not request.aside and not reply.calls:
            self.said.append(reply)

    def _chosen(self, request: Request, serial: int) -> Reply:
        for rule in self._rules:
            if rule.matches(request):
                rule.left -= 1
                return _reply(rule.answer(request) if callable(rule.answer) else rule.answer)
        return Reply(f"- understood ({serial})" if request.aside else f"Understood ({serial}).")


def _reply(answer: Answer) -> Reply:
    if isinstance(answer, str):
        return Reply(answer)
    return Reply(calls=(answer,)) if isinstance(answer, Call) else answer


def _stream(request: Request, reply: Reply, serial: int) -> Iterator[bytes]:
    base = {"id": f"chatcmpl-{serial}", "created": int(time.time()), "model": NAME, "object": "chat.completion.chunk"}

    def event(delta: Mapping[str, Any], finish: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        return b"data: " + json.dumps({**base, "choices": [choice]}).encode() + b"\n\n"

    yield event({"role": "assistant", "content": ""})
    if reply.text:
        yield event({"content": reply.text})
    for index, call in enumerate(reply.calls):
        function = {"name": call.tool, "arguments": json.dumps(_arguments(request, call))}
        made = {"index": index, "id": f"call_{serial}_{index}", "type": "function", "function": function}
        yield event({"tool_calls": [made]})
    yield event({}, "tool_calls" if reply.calls else "stop")
    usage = {"prompt_tokens": len(json.dumps(request.body)) // 4, "completion_tokens": 8, "total_tokens": 0}
    usage["total_tokens"] = usage["prompt_tokens"] + usage["completion_tokens"]
    yield b"data: " + json.dumps({**base, "choices": [], "usage": usage}).encode() + b"\n\n"
    yield b"data: [DONE]\n\n"


def _arguments(request: Request, call: Call) -> Mapping[str, Any]:
    """As the model writes them: OMP wants the intent of a call, under `i`, and takes it away again."""
    required = request.tools.get(call.tool, {}).get("parameters", {}).get("required", ())
    return {**({"i": "as asked"} if "i" in required else {}), **call.args}


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing: a host that is killed leaves its connections as they are."""


def _handler(model: Model) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self._whole(200, {"object": "list", "data": [{"id": NAME, "object": "model"}]})

        def do_POST(self) -> None:
            request = Request(json.loads(self.rfile.read(int(self.headers["content-length"]))))
            serial, reply = model.heard(request)
            model.told(request, reply)  # now: a host that has heard enough hangs up
            if reply.status == 200:
                self.send_response(200)
                self.send_header("content-type", "text/event-stream")
                self.send_header("connection", "close")
                self.end_headers()
                self.close_connection = True
                self.wfile.writelines(_stream(request, reply, serial))
            else:
                self._whole(reply.status, {"error": {"message": "as scripted", "type": "scripted"}})

        def _whole(self, status: int, value: object) -> None:
            data = json.dumps(value).encode()
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: object) -> None:
            pass

    return Handler
