"""A workspace whose sessions a test writes line by line, and the questions it asks of their events."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.recall.diary import Diary, Json


class Shop(Diary):
    """A diary about one existing working directory."""

    def __init__(self, home: Path) -> None:
        super().__init__(home)
        self.cwd = home / "shop"
        self.cwd.mkdir()

    def session(self, name: str, *entries: Json, **more: Any) -> Path:
        return super().session(name, *entries, **{"cwd": str(self.cwd), **more})

    def ask(self, ref: str, args: Json, **context: Any) -> Json:
        return self.call(ref, args, **{"cwd": self.cwd, **context})

    def search(self, query: str, *, context: Json | None = None, **args: Any) -> Json:
        return self.ask("events.search", {"query": query, **args}, **(context or {}))

    def found(self, query: str, **more: Any) -> list[str]:
        """The entry ids of hits, best first."""
        return [hit["entryId"] for hit in self.search(query, **more)["hits"]]

    def read(self, session: str, entry: str, *, context: Json | None = None, **args: Any) -> Json:
        return self.ask("events.read", {"sessionId": session, "entryId": entry, **args}, **(context or {}))

    def trace(self, session: str, entry: str, *, context: Json | None = None) -> Json:
        return self.ask("events.trace", {"sessionId": session, "entryId": entry}, **(context or {}))

    def related(self, session: str, entry: str, **more: Any) -> list[tuple[str, str, str, bool]]:
        """(type, from, to, recorded) of the relations of an event."""
        edges = self.trace(session, entry, **more)["related"]
        return [(edge["type"], end(edge["from"]), end(edge["to"]), edge["recorded"]) for edge in edges]


def end(value: Json) -> str:
    """An end of an edge: `session/entry`, a file, or a session."""
    if "fileRef" in value:
        return str(value["fileRef"])
    return f"{value['sessionId']}/{value['entryId']}" if "entryId" in value else str(value["sessionId"])


def ends(edges: list[Json]) -> list[str]:
    return [str(edge["to"]["entryId"]) for edge in edges]


def label(id_: str, parent: str | None, target: str, text: str | None = "here", **more: Any) -> Json:
    found = {"type": "label", "id": id_, "parentId": parent, "timestamp": "2026-01-02T00:00:00Z", "targetId": target}
    return {**found, **({} if text is None else {"label": text}), **more}


def named(id_: str, parent: str | None, name: str) -> Json:
    at = "2026-01-02T00:00:00Z"
    return {"type": "session_info", "id": id_, "parentId": parent, "timestamp": at, "name": name}


def calls(id_: str, parent: str | None, *blocks: tuple[str, str, Json], text: str = "", **more: Any) -> Json:
    """An assistant's message with calls of (id, tool, arguments), after some text."""
    content: list[Json] = [{"type": "text", "text": text}] if text else []
    content += [{"type": "toolCall", "id": call, "name": tool, "arguments": args} for call, tool, args in blocks]
    message = {"role": "assistant", "content": content}
    return {
        "type": "message",
        "id": id_,
        "parentId": parent,
        "timestamp": "2026-01-02T00:00:00Z",
        "message": message,
        **more,
    }


def result(id_: str, parent: str | None, call: str, tool: str, text: str, *, error: bool = False, **more: Any) -> Json:
    content = [{"type": "text", "text": text}]
    message = {"role": "toolResult", "toolCallId": call, "toolName": tool, "content": content, "isError": error, **more}
    return {"type": "message", "id": id_, "parentId": parent, "timestamp": "2026-01-02T00:00:00Z", "message": message}
