"""The messages of the protocol, both ways. `protocol/rpc.schema.json` is made from them.

Annotations are evaluated here, because `actions.schema` reads them.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from pepys.model.journal import OfferedModel
from pepys.model.query import about

VERSION = 1
"""Of the protocol. A change that either side must know of makes it another one."""

Capability = Literal["complete", "confirm", "edit", "notify"]
"""What a client can be asked, or told, beside the answers to its requests."""

Level = Literal["info", "warning", "error"]

EventName = Literal["start", "prompt", "settled", "compacted", "shutdown"]
"""What happens to a session: spec 4's hooks, in our words for all hosts."""

Mode = Literal["tui", "rpc", "json", "print"]

_CONTEXT = about("The circumstances of the call: see CallContext.")


@dataclass(frozen=True, slots=True)
class Client:
    """Who speaks."""

    name: str = field(metadata=about("Its name, such as pepys-pi.", minLength=1))
    version: str = field(default="", metadata=about("Its version."))


@dataclass(frozen=True, slots=True)
class Initialize:
    """The first request; nothing else is answered before it."""

    protocol_version: int = field(metadata=about("The version that the client speaks."))
    client: Client = field(metadata=about("Who speaks."))
    capabilities: tuple[Capability, ...] = field(default=(), metadata=about("What it can be asked or told."))


@dataclass(frozen=True, slots=True)
class Initialized:
    """The answer to it."""

    protocol_version: int = field(metadata=about("The version that is spoken."))
    server: Client = field(metadata=about("Who answers."))


@dataclass(frozen=True, slots=True)
class Ping:
    """Is anybody there? Answered at once, whatever is under way."""


@dataclass(frozen=True, slots=True)
class Pong:
    """Yes."""


@dataclass(frozen=True, slots=True)
class Call:
    """Call an action, whoever its audience is. The answer is the action's own."""

    ref: str = field(metadata=about("The action, such as memory.recall."))
    args: Mapping[str, Any] = field(default_factory=dict, metadata=about("Its arguments."))
    context: Mapping[str, Any] = field(default_factory=dict, metadata=_CONTEXT)


@dataclass(frozen=True, slots=True)
class Tool:
    """A model calls a tool."""

    name: str = field(metadata=about("The tool's name, such as session_recall."))
    args: Mapping[str, Any] = field(default_factory=dict, metadata=about("Its arguments, as the model wrote them."))
    context: Mapping[str, Any] = field(default_factory=dict, metadata=_CONTEXT)


@dataclass(frozen=True, slots=True)
class Told:
    """What the model is told."""

    text: str = field(metadata=about("The answer, or what is wrong."))
    details: Mapping[str, Any] = field(
        metadata=about("For the host to store beside it. Its key `pepys` is how Pepys knows its own output again.")
    )
    is_error: bool = field(metadata=about("Whether it is an error."))


@dataclass(frozen=True, slots=True)
class Event:
    """Something happens to a session. Never answered by an error: what went wrong stands among the notices."""

    name: EventName = field(metadata=about("What happens."))
    context: Mapping[str, Any] = field(default_factory=dict, metadata=_CONTEXT)
    prompt: str = field(default="", metadata=about("With prompt: what the user wrote."))
    models: tuple[OfferedModel, ...] = field(default=(), metadata=about("With settled: what the host can call."))
    provider: str | None = field(default=None, metadata=about("With settled: of the session's model."))
    model: str | None = field(default=None, metadata=about("With settled: the session's model, as provider/id."))
    aborted: bool = field(default=False, metadata=about("With settled: whether the run was aborted."))
    wait: bool = field(default=False, metadata=about("With settled: answer only when the entry is written."))


@dataclass(frozen=True, slots=True)
class Command:
    """A person gives a command, such as `/memory doctor`."""

    name: Literal["recall", "memory", "notes", "pepys"] = field(
        metadata=about("The command. notes is memory, where the host has a command of that name.")
    )
    args: str = field(default="", metadata=about("What follows it."))
    context: Mapping[str, Any] = field(default_factory=dict, metadata=_CONTEXT)
    mode: Mode = field(default="print", metadata=about("How the host runs."))
    has_ui: bool = field(default=False, metadata=about("Whether the person can be asked something."))
    columns: int = field(default=80, metadata=about("Of the terminal.", minimum=1))


@dataclass(frozen=True, slots=True)
class Cancel:
    """Notification: the answer to a request is no longer wanted. It is answered at once with the error -32800."""

    id: int = field(metadata=about("Of the request."))


@dataclass(frozen=True, slots=True)
class Message:
    """A message for the model that people are not shown."""

    custom_type: str = field(metadata=about("What it is; begins with pepys."))
    content: str = field(metadata=about("Its text."))


@dataclass(frozen=True, slots=True)
class Notice:
    """Something for the person to read."""

    level: Level = field(metadata=about("How bad it is."))
    text: str = field(metadata=about("What is to be said."))


@dataclass(frozen=True, slots=True)
class Effects:
    """What a host is to do after an event or a command."""

    system_prompt: str = field(default="", metadata=about("To append to the system prompt: the same bytes every turn."))
    messages: tuple[Message, ...] = field(default=(), metadata=about("To put beside the prompt."))
    notices: tuple[Notice, ...] = field(default=(), metadata=about("To show."))
    prompt: str = field(default="", metadata=about("To send to the model as if the person had written it."))
    picker: bool = field(default=False, metadata=about("Whether to open the picker of notes (`notes.picker`)."))


@dataclass(frozen=True, slots=True)
class Complete:
    """Asked of the client: let a model answer."""

    system: str = field(metadata=about("The system prompt."))
    prompt: str = field(metadata=about("What the user would say."))
    timeout_ms: int = field(metadata=about("How long it is waited for.", minimum=1))
    model: str | None = field(default=None, metadata=about("As provider/id; none: the session's."))
    session: str | None = field(default=None, metadata=about("Id of the session for which it is asked."))


@dataclass(frozen=True, slots=True)
class Completed:
    """The client's answer."""

    text: str = field(metadata=about("What the model said."))


@dataclass(frozen=True, slots=True)
class Confirm:
    """Asked of the client: let the person say yes or no."""

    title: str = field(metadata=about("What is asked."))
    text: str = field(default="", metadata=about("What will happen."))
    session: str | None = field(default=None, metadata=about("Id of the session for which it is asked."))


@dataclass(frozen=True, slots=True)
class Confirmed:
    """The client's answer."""

    confirmed: bool = field(metadata=about("Whether the person said yes."))


@dataclass(frozen=True, slots=True)
class Edit:
    """Asked of the client: let the person edit a text of several lines."""

    title: str = field(metadata=about("What is edited."))
    text: str = field(metadata=about("As it is now."))
    session: str | None = field(default=None, metadata=about("Id of the session for which it is asked."))


@dataclass(frozen=True, slots=True)
class Edited:
    """The client's answer."""

    text: str | None = field(default=None, metadata=about("As it is to be; none: the person left it as it is."))


@dataclass(frozen=True, slots=True)
class Notify:
    """Notification to the client: something for the person to read, which no request is waiting for."""

    level: Level = field(metadata=about("How bad it is."))
    text: str = field(metadata=about("What is to be said."))
    session: str | None = field(default=None, metadata=about("Id of the session that it is about."))


@dataclass(frozen=True, slots=True)
class Progress:
    """Notification to the client: how far the index is that a request is waiting for."""

    id: int = field(metadata=about("Of the request."))
    done: int = field(metadata=about("Bytes of session files that were read."))
    total: int = field(metadata=about("Of so many."))


REQUESTS: Mapping[str, tuple[type, type | None]] = {
    "initialize": (Initialize, Initialized),
    "ping": (Ping, Pong),
    "call": (Call, None),  # the action's own answer
    "tool": (Tool, Told),
    "event": (Event, Effects),
    "command": (Command, Effects),
}
"""What a client may ask: parameters and answer."""

NOTIFICATIONS: Mapping[str, type] = {"cancel": Cancel}
"""What a client may tell."""

CALLBACKS: Mapping[str, tuple[type, type]] = {
    "complete": (Complete, Completed),
    "confirm": (Confirm, Confirmed),
    "edit": (Edit, Edited),
}
"""What a client with that capability is asked."""

SIGNALS: Mapping[str, type] = {"notify": Notify, "progress": Progress}
"""What a client is told; `notify` needs the capability."""
