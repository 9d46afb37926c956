"""What events of a session mean: which actions are called, and what the host is to do (spec 4, "Hook to action")."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from pepys.errors import PepysError
from pepys.rpc.protocol import Effects, Event, Message, Notice
from pepys.rpc.wire import as_json

Calling = Callable[[str, Mapping[str, object]], Any]

NOTES = "pepys-notes"
"""Custom type of the message that carries notes; that of auto-context is the journal's."""


def effects(event: Event, calling: Calling) -> Effects:
    """What the host is to do after *event*. Nothing is ever raised: each thing that fails becomes a notice."""
    match event.name:
        case "start":
            return _began(_quiet(calling, "journal.start"))
        case "prompt":
            return _prompted(event, calling)
        case "settled":
            return _told(_quiet(calling, "journal.settled", _settled(event)))
        case "compacted":
            return _began(_quiet(calling, "journal.compacted"))
        case "shutdown":
            ended = _quiet(calling, "journal.shutdown")
            failures = ended.get("failures")
            lost = [Notice("error", str(why)) for why in failures] if isinstance(failures, list) else []
            return Effects(notices=(*_notices(ended), *lost))


def _began(result: Mapping[str, Any]) -> Effects:
    return Effects(system_prompt=_text(result.get("snapshot")), notices=tuple(_notices(result)))


def _prompted(event: Event, calling: Calling) -> Effects:
    # The search beside the prompt has a deadline of its own, and goes first: it is the one that may take long.
    found = _quiet(calling, "journal.autoContext", {"prompt": event.prompt})
    shown = _quiet(calling, "journal.snapshot")
    notes = _quiet(calling, "notes.injection")
    messages = []
    if notes.get("text"):
        messages.append(Message(NOTES, _text(notes["text"])))
    message = found.get("message")
    if isinstance(message, Mapping):
        messages.append(Message(_text(message.get("customType")), _text(message.get("content"))))
    notices = (*_notices(found), *_notices(shown), *_notices(notes))
    return Effects(_text(shown.get("snapshot")), tuple(messages), tuple(dict.fromkeys(notices)))


def _settled(event: Event) -> Mapping[str, object]:
    return {
        "models": [as_json(model) for model in event.models],
        "provider": event.provider,
        "model": event.model,
        "aborted": event.aborted,
        "wait": event.wait,
    }


def _told(result: Mapping[str, Any]) -> Effects:
    return Effects(notices=tuple(_notices(result)))


def _notices(result: Mapping[str, Any]) -> Iterator[Notice]:
    """What people should be told of a result: the journal's says so once for each cause."""
    error = result.get("error")
    if "notice" in result:
        if result["notice"]:
            yield Notice("error", f"Pepys: {result['notice']}")
    elif isinstance(error, Mapping):
        yield Notice("error", f"Pepys: {error.get('message')} {error.get('hint', '')}".strip())


def _quiet(calling: Calling, ref: str, args: Mapping[str, object] | None = None) -> Mapping[str, Any]:
    try:
        result = calling(ref, args or {})
    except PepysError as error:
        return {"error": error.as_json()}
    except Exception as error:
        # A defect of ours must not keep a person from their prompt.
        return {"error": PepysError(f"{ref}: {type(error).__name__}: {error}").as_json()}
    return result if isinstance(result, dict) else {}


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
