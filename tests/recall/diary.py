"""A Pi history that a test writes line by line, and the questions it asks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pepys
from pepys.model.lineage import Live

Json = dict[str, Any]


class Diary:
    """An agent directory below a temporary one."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.agent = home / "agent"
        self.agent.mkdir()

    def session(self, name: str, *entries: Json, cwd: str = "/srv/shop", id_: str | None = None, **header: Any) -> Path:
        """Write a session file; its folder is the one Pi takes for *cwd*."""
        folder = self.agent / "sessions" / ("--" + cwd.lstrip("/").replace("/", "-") + "--")
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{name}.jsonl"
        head = {"type": "session", "version": 3, "id": id_ or name, "timestamp": "2026-01-01T00:00:00Z", "cwd": cwd}
        path.write_text("".join(map(line, ({**head, **header}, *entries))))
        return path

    def open(self, **keywords: Any) -> pepys.Workspace:
        """A workspace that reads nothing but this diary."""
        settings: Json = {"host": "pi", "agent_dir": self.agent, "cwd": "/srv/shop", "index_dir": self.home / "index"}
        return pepys.open(**{**settings, "env": {"HOME": str(self.home)}, **keywords})

    def call(self, ref: str, args: Json, **keywords: Any) -> Json:
        with self.open(**keywords) as workspace:
            return workspace.call(ref, args)

    def recall(self, query: str = "", *, scope: str = "global", live: Live | None = None, **args: Any) -> Json:
        """A page; keywords are the action's own arguments."""
        keywords = {name: args.pop(name) for name in ("config_overrides", "session_file", "cwd") if name in args}
        return self.call("memory.recall", {"query": query, "scope": scope, **args}, live=live, **keywords)

    def expand(self, **args: Any) -> Json:
        return self.call("memory.expand", args)

    def follow(self, hit: Json) -> Json:
        return self.call(hit["follow"]["ref"], hit["follow"]["args"])


def line(record: Json) -> str:
    return json.dumps(record, ensure_ascii=False) + "\n"


def append(path: Path, *entries: Json) -> None:
    with path.open("a") as file:
        file.writelines(map(line, entries))


def entry(id_: str, parent: str | None, message: Json, *, at: str | None = "2026-01-02T00:00:00Z") -> Json:
    found: Json = {"type": "message", "id": id_, "parentId": parent, "message": message}
    return found if at is None else {**found, "timestamp": at}


def user(id_: str, parent: str | None, text: str, **more: Any) -> Json:
    return entry(id_, parent, {"role": "user", "content": [{"type": "text", "text": text}]}, **more)


def said(id_: str, parent: str | None, text: str, **more: Any) -> Json:
    return entry(id_, parent, {"role": "assistant", "content": [{"type": "text", "text": text}]}, **more)


def thought(id_: str, parent: str | None, thinking: str, text: str) -> Json:
    blocks = [{"type": "thinking", "thinking": thinking}, {"type": "text", "text": text}]
    return entry(id_, parent, {"role": "assistant", "content": blocks})


def called(id_: str, parent: str | None, tool: str, **arguments: Any) -> Json:
    block = {"type": "toolCall", "id": "c1", "name": tool, "arguments": arguments}
    return entry(id_, parent, {"role": "assistant", "content": [block]})


def returned(id_: str, parent: str | None, tool: str, text: str, *, error: bool = False) -> Json:
    content = [{"type": "text", "text": text}]
    message = {"role": "toolResult", "toolCallId": "c1", "toolName": tool, "content": content, "isError": error}
    return entry(id_, parent, message)


def ids(page: Json) -> list[str]:
    return [hit["entryId"] for hit in page["hits"]]


def pages(diary: Diary, page: Json) -> list[Json]:
    """The page and all that follow it."""
    found = [page]
    while found[-1]["next"] is not None:
        following = found[-1]["next"]
        found.append(diary.call(following["ref"], following["args"]))
    return found
