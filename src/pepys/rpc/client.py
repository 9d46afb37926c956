"""The client, asked and told: models that it can call, the person before it."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Mapping
from typing import Any

from pepys.rpc import protocol
from pepys.rpc.wire import Json, Writer, as_json

GRACE_S = 1.0
"""How much longer than a model may take its answer is waited for: the client gives up first, and says why."""


class ClientGone(OSError):
    """Nobody is there any more to be asked."""


class Refusal(RuntimeError):
    """The client cannot be asked this, or answered with an error, whose text this is."""


class Cancelled(Exception):
    """The answer to a request is no longer wanted."""


class Request:
    """A request that is waiting or under way. A capture that it has begun may go on after its answer."""

    def __init__(self, id_: int, method: str, params: Any) -> None:
        self.id, self.method, self.params = id_, method, params
        self.cancelled = False
        self._waiting: list[threading.Event] = []

    def waits(self, for_: threading.Event) -> None:
        """Be woken by *for_*, or when it is cancelled."""
        self._waiting.append(for_)
        if self.cancelled:
            for_.set()

    def cancel(self) -> None:
        """End it at its next chance."""
        self.cancelled = True
        for event in self._waiting:
            event.set()


class Client:
    """Whoever is at the other end. Its answers come through `receive`, from another thread than asks."""

    def __init__(self, writer: Writer) -> None:
        self.capabilities: frozenset[str] = frozenset()
        self._writer = writer
        self._ids = itertools.count(1)
        self._lock = threading.Lock()
        self._asked: dict[str, _Answer] = {}
        self._gone = False

    def within(self, request: Request) -> Asking:
        """The client as it can be asked while *request* is done."""
        session = request.params.context.get("currentSessionId")
        return Asking(self, request, session if isinstance(session, str) else None)

    def notify(self, notice: protocol.Notify) -> None:
        """Tell the person something."""
        if "notify" in self.capabilities:
            self._writer.send({"method": "notify", "params": as_json(notice)})

    def ask(self, request: Request, method: str, params: object, timeout_s: float | None) -> Json:
        """The client's answer, which *request* needs.

        Raises:
            Cancelled: The request is not wanted any more.
            TimeoutError: None came within *timeout_s* seconds.
            ClientGone: None can come any more.
            Refusal: It cannot be asked this, or answered with an error.
        """
        if method not in self.capabilities:
            raise Refusal(f"the host has no {method}")
        id_ = f"pepys-{next(self._ids)}"
        answer = _Answer()
        with self._lock:
            if self._gone:
                raise ClientGone("the host is gone")
            self._asked[id_] = answer
        request.waits(answer.came)
        self._writer.send({"id": id_, "method": method, "params": as_json(params)})
        try:
            if not answer.came.wait(timeout_s):
                raise TimeoutError
        finally:
            with self._lock:
                self._asked.pop(id_, None)
        if answer.message is None:
            raise ClientGone("the host is gone") if self._gone else Cancelled
        error = answer.message.get("error")
        if error is not None:
            raise Refusal(str(error.get("message") if isinstance(error, Mapping) else error))
        result = answer.message.get("result")
        return result if isinstance(result, dict) else {}

    def receive(self, message: Json) -> None:
        """Take an answer; one that nobody waits for any more is dropped."""
        with self._lock:
            answer = self._asked.get(str(message.get("id")))
        if answer is not None:
            answer.message = message
            answer.came.set()

    def leave(self) -> None:
        """The client is gone: nobody waits for it from here on."""
        with self._lock:
            self._gone = True
            for answer in self._asked.values():
                answer.came.set()


class Asking:
    """What a request may ask of the client, for the session that it is about."""

    def __init__(self, client: Client, request: Request, session: str | None) -> None:
        self._client, self._request, self._session = client, request, session

    @property
    def completes(self) -> bool:
        """Whether the client has models that can be asked."""
        return "complete" in self._client.capabilities

    def notify(self, text: str) -> None:
        """Tell the person what went wrong, if the client can; the request may be answered long since."""
        self._client.notify(protocol.Notify("error", text, self._session))

    def confirm(self, title: str, text: str) -> bool:
        """Whether the person says yes. Waits as long as the person does."""
        asked = protocol.Confirm(title, text, self._session)
        return self._client.ask(self._request, "confirm", asked, None).get("confirmed") is True

    def edit(self, title: str, text: str) -> str | None:
        """What the person makes of *text*; None if it is left as it is."""
        asked = protocol.Edit(title, text, self._session)
        edited = self._client.ask(self._request, "edit", asked, None).get("text")
        return edited if isinstance(edited, str) else None

    def complete(self, model: str | None, system: str, prompt: str, timeout_s: float) -> str:
        """The answer of one of the host's models: this is a `model.journal.Completion`.

        Raises:
            TimeoutError: There was none in time.
            ClientGone: The host is gone.
            Refusal: What the host said instead.
        """
        asked = protocol.Complete(system, prompt, max(1, int(timeout_s * 1000)), model, self._session)
        text: Any = self._client.ask(self._request, "complete", asked, timeout_s + GRACE_S).get("text")
        if not isinstance(text, str):
            raise Refusal("the host gave no text")
        return text


class _Answer:
    """A place where an answer is waited for."""

    def __init__(self) -> None:
        self.came = threading.Event()
        self.message: Json | None = None
