"""The process behind a host's extension: requests in, answers out, until stdin ends."""

from __future__ import annotations

import sys
import threading
import time
import traceback
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from pepys import __version__
from pepys.actions import find, schema
from pepys.errors import InvalidArgument, PepysError
from pepys.model.context import Progress
from pepys.rpc import commands, events, lanes, protocol, tools
from pepys.rpc.client import Cancelled, Client, Request
from pepys.rpc.lanes import Lane
from pepys.rpc.wire import (
    CANCELLED,
    INTERNAL_ERROR,
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    NOT_INITIALIZED,
    Json,
    Refused,
    Writer,
    as_json,
    messages,
)
from pepys.workspaces import Workspaces

if TYPE_CHECKING:
    from pepys.notes.stores import Views
    from pepys.workspace import Workspace

LEAVE_S = 4.0
"""How long what was asked may take once stdin has ended; then the process ends without it."""

HOOKS_S = 1.0
"""How much of that the hooks have, before captures are finished whatever else is under way."""


class Server:
    """One client's requests. Made and run in one thread; the work is done in lanes."""

    def __init__(self, stdin: BinaryIO, stdout: BinaryIO, env: Mapping[str, str], base: Mapping[str, Any]) -> None:
        """*base*: keywords of `workspace.open` for what contexts do not say."""
        self._stdin, self.env, self.base = stdin, env, base
        self._writer = Writer(stdout)
        self.client = Client(self._writer)
        self._initialized = False
        self._lock = threading.Lock()
        self._requests: dict[int, Request] = {}  # not answered yet
        self._lanes: dict[lanes.LaneName, _Served] = {}
        self.views: Views = {}  # of notes: what one lane has read anew, no other lane has to

    def run(self) -> None:
        """Serve until stdin ends. What was asked by then is answered if it does not take long; captures are written."""
        try:
            for message in messages(self._stdin):
                if isinstance(message, Refused):
                    self._writer.refuse(message.id, message.code, message.message)
                else:
                    self._take(message)
        finally:
            self._leave()

    def _take(self, message: Json) -> None:
        method, id_ = message.get("method"), message.get("id")
        if not isinstance(method, str):
            if "id" in message and ("result" in message or "error" in message):
                self.client.receive(message)
            else:
                self._writer.refuse(None, INVALID_REQUEST, "A message has a method, or is an answer.")
            return
        try:
            if "id" not in message:
                self._told(method, message.get("params"))
            elif not isinstance(id_, int) or isinstance(id_, bool) or id_ in self._requests:
                raise Refused(INVALID_REQUEST, "The id of a request is a number that no other request has.")
            else:
                self._asked(id_, method, message.get("params"))
        except Refused as refused:
            if "id" in message:
                self._writer.refuse(id_, refused.code, refused.message)

    def _told(self, method: str, params: object) -> None:
        if method in protocol.NOTIFICATIONS:
            cancel: protocol.Cancel = _parsed(protocol.NOTIFICATIONS[method], params, method)
            with self._lock:
                request = self._requests.pop(cancel.id, None)
            if request is not None:
                request.cancel()
                self._writer.refuse(request.id, CANCELLED, "Cancelled.")

    def _asked(self, id_: int, method: str, params: object) -> None:
        if method not in protocol.REQUESTS:
            known = ", ".join(protocol.REQUESTS)
            raise Refused(METHOD_NOT_FOUND, f"There is no method {method[:60]}; there are {known}.")
        if method == "initialize":
            _check_version(params)  # first: another version may have other parameters
        parsed = _parsed(protocol.REQUESTS[method][0], params, method)
        if method == "initialize":
            self._initialize(id_, parsed)
        elif method == "ping":
            self._writer.answer(id_, as_json(protocol.Pong()))
        elif not self._initialized:
            raise Refused(NOT_INITIALIZED, "The first request is initialize.")
        else:
            request = Request(id_, method, parsed)
            lane = self._lane(_lane(method, parsed))  # may raise, before the request is known
            with self._lock:
                self._requests[id_] = request
            lane.take(request)

    def _initialize(self, id_: int, params: protocol.Initialize) -> None:
        self.client.capabilities = frozenset(params.capabilities)
        self._initialized = True
        server = protocol.Client("pepys", __version__)
        self._writer.answer(id_, as_json(protocol.Initialized(protocol.VERSION, server)))

    def _lane(self, name: lanes.LaneName) -> _Served:
        if name not in self._lanes:
            self._lanes[name] = _Served(name, self)
        return self._lanes[name]

    def answer(self, request: Request, served: _Served) -> None:
        """Do *request* and answer it, unless it was answered because it was cancelled."""
        reply: tuple[Any, ...]
        try:
            reply = (self._writer.answer, served.do(request))
        except Cancelled:
            return
        except Refused as refused:
            reply = (self._writer.refuse, refused.code, refused.message)
        except PepysError as error:
            reply = (self._writer.fail, error)
        except Exception as error:
            # One request that meets a defect of ours must not take the process with it.
            traceback.print_exc(file=sys.stderr)
            body = PepysError(f"{type(error).__name__}: {error}").as_json()
            reply = (self._writer.refuse, INTERNAL_ERROR, str(body["message"]), body)
        with self._lock:
            wanted = self._requests.pop(request.id, None) is request
        if wanted:
            send, *rest = reply
            try:
                send(request.id, *rest)
            except (TypeError, ValueError, RecursionError) as error:  # a result that is no JSON
                self._writer.refuse(request.id, INTERNAL_ERROR, f"The result cannot be sent: {error}")

    def progress(self, request: Request, done: Progress) -> None:
        """Tell how far the index is; this is where work that is no longer wanted ends."""
        if request.cancelled:
            raise Cancelled
        told = protocol.Progress(request.id, done.done_bytes, done.total_bytes)
        self._writer.send({"method": "progress", "params": as_json(told)})

    def _leave(self) -> None:
        """Nothing more will be asked. The client answers no more either: what was captured is written as markers."""
        deadline = time.monotonic() + LEAVE_S
        self.client.leave()
        for served in self._lanes.values():
            served.lane.close()
        if "events" in self._lanes:
            self._lanes["events"].lane.join(HOOKS_S)  # a hook may still begin a capture
        if "pepys.journal.live" in sys.modules:
            from pepys.journal import live

            for session in list(live.SESSIONS.values()):
                session.flush(max(0.0, deadline - time.monotonic()))
        if not all(served.lane.join(max(0.0, deadline - time.monotonic())) for served in self._lanes.values()):
            # A thread that still reads would keep the process. Nor is a client waited for that does not read.
            refusing = threading.Thread(target=self._refuse_rest, daemon=True)
            refusing.start()
            refusing.join(0.2)
            lanes.leave()

    def _refuse_rest(self) -> None:
        with self._lock:
            rest = list(self._requests)
            self._requests.clear()
        for id_ in rest:
            self._writer.refuse(id_, CANCELLED, "Cancelled: Pepys ends.")


class _Served:
    """A lane with what is open in it."""

    def __init__(self, name: lanes.LaneName, server: Server) -> None:
        self._server, self._client = server, server.client
        self._request: Request | None = None
        self._workspaces = Workspaces(server.base, Path.cwd(), server.env, self._progress, server.views)
        self.lane = Lane(name, self._workspaces.close)

    def take(self, request: Request) -> None:
        """Put *request* at the end of the lane."""
        self.lane.do(lambda: self._server.answer(request, self))

    def do(self, request: Request) -> Any:
        """The result of *request*.

        Raises:
            Cancelled: It is not wanted any more.
            PepysError: Whatever it raises.
        """
        if request.cancelled:
            raise Cancelled
        self._request = request
        try:
            return self._done(request)
        finally:
            self._request = None

    def _done(self, request: Request) -> Any:
        asking = self._client.within(request)
        offered: dict[str, Any] = {"notify": asking.notify}
        if asking.completes:
            offered["complete"] = asking.complete

        def opening() -> Workspace:
            return self._workspaces.get(request.params.context, **offered)

        def calling(ref: str, args: Mapping[str, object]) -> Any:
            return opening().call(ref, args)

        match request.params:
            case protocol.Call(ref=ref, args=args):
                return calling(ref, args)
            case protocol.Tool(name=name, args=args):
                return as_json(tools.call(name, args, calling))
            case protocol.Event() as event:
                return as_json(events.effects(event, calling))
            case protocol.Command() as command:
                return as_json(commands.effects(command, opening, asking))

    def _progress(self, done: Progress) -> None:
        if self._request is not None:
            self._server.progress(self._request, done)


def _lane(method: str, params: Any) -> lanes.LaneName:
    """Where a request is done. Nothing waits for commands: people may take minutes to answer what they are asked."""
    match params:
        case protocol.Event():
            return "events"
        case protocol.Command():
            return "people"
        case protocol.Tool():
            return lanes.of(tools.find(params.name)) if params.name in tools.OFFERED else "reads"
        case _:
            try:
                return lanes.of(find(params.ref))
            except PepysError:
                return "reads"  # where it is told that there is no such action


def _check_version(params: object) -> None:
    version = params.get("protocolVersion") if isinstance(params, Mapping) else None
    if isinstance(version, int) and version != protocol.VERSION:
        raise Refused(
            INVALID_PARAMS,
            f"Pepys {__version__} speaks version {protocol.VERSION} of the protocol, and the extension in the host "
            f"version {version}. Run `pepys setup` again, so that both are of one release.",
        )


def _parsed(cls: type, params: object, method: str) -> Any:
    if params is None:
        params = {}
    if not isinstance(params, Mapping):
        raise Refused(INVALID_PARAMS, f"The parameters of {method} are an object.")
    try:
        return schema.parse(cls, params, method)
    except InvalidArgument as error:
        raise Refused(INVALID_PARAMS, error.message) from error
