"""A Pi history that a test writes line by line, and the questions it asks."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pepys
from pepys.model.lineage import Live

Json = dict[str, Any]

NOON = 1_767_355_200_000
"""Noon on 2 January 2026, ms."""


class Diary:
    """An agent directory below a temporary one."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.agent = home / "agent"
        self.agent.mkdir()
        self._written = 0

    def folder(self, cwd: str = "/srv/shop") -> Path:
        """The folder that Pi takes for *cwd*."""
        return self.agent / "sessions" / ("--" + cwd.lstrip("/").replace("/", "-") + "--")

    def session(
        self,
        name: str,
        *entries: Json,
        cwd: str = "/srv/shop",
        id_: str | None = None,
        folder: Path | None = None,
        **header: Any,
    ) -> Path:
        """Write a session file, in the folder of *cwd* unless told otherwise."""
        head = {"type": "session", "version": 3, "id": id_ or name, "timestamp": "2026-01-01T00:00:00Z", "cwd": cwd}
        content = "".join(map(line, ({**head, **header}, *entries)))
        return self.file((folder or self.folder(cwd)) / f"{name}.jsonl", content.encode("utf-8", "surrogatepass"))

    def file(self, path: Path, content: bytes) -> Path:
        """Write a file of any content, newer than those that were written before it."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        self._written += 1
        os.utime(path, (NOON // 1000 + self._written,) * 2)
        return path

    def talk(self, name: str, *texts: str, **more: Any) -> Path:
        """Write a session of user messages `<name>-0`, `<name>-1`, ..., one second apart."""
        ids = [f"{name}-{at}" for at in range(len(texts))]
        parents = [None, *ids]
        lines = [user(id_, parents[at], texts[at], at=NOON + 1000 * at) for at, id_ in enumerate(ids)]
        return self.session(name, *lines, **more)

    def open(self, **keywords: Any) -> pepys.Workspace:
        """A workspace that reads nothing but this diary."""
        settings: Json = {"host": "pi", "agent_dir": self.agent, "cwd": "/srv/shop", "index_dir": self.home / "index"}
        return pepys.open(**{**settings, "env": {"HOME": str(self.home)}, **keywords})

    def call(self, ref: str, args: Json, **keywords: Any) -> Json:
        with self.open(**keywords) as workspace:
            return workspace.call(ref, args)

    def recall(self, query: str = "", *, scope: str = "global", live: Live | None = None, **args: Any) -> Json:
        """A page; keywords are the action's own arguments."""
        keywords = {
            name: args.pop(name) for name in ("config_overrides", "session_file", "cwd", "tool_call_id") if name in args
        }
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


def entry(id_: str, parent: str | None, message: Json, *, at: str | int | None = "2026-01-02T00:00:00Z") -> Json:
    found: Json = {"type": "message", "id": id_, "parentId": parent, "message": message}
    return found if at is None else {**found, "timestamp": at}


def user(id_: str, parent: str | None, text: str, **more: Any) -> Json:
    return entry(id_, parent, {"role": "user", "content": [{"type": "text", "text": text}]}, **more)


def said(id_: str, parent: str | None, text: str, **more: Any) -> Json:
    return entry(id_, parent, {"role": "assistant", "content": [{"type": "text", "text": text}]}, **more)


def thought(id_: str, parent: str | None, thinking: str, text: str) -> Json:
    blocks = [{"type": "thinking", "thinking": thinking}, {"type": "text", "text": text}]
    return entry(id_, parent, {"role": "assistant", "content": blocks})


def called(id_: str, parent: str | None, tool: str, *, call: str = "c1", **arguments: Any) -> Json:
    block = {"type": "toolCall", "id": call, "name": tool, "arguments": arguments}
    return entry(id_, parent, {"role": "assistant", "content": [block]})


def returned(id_: str, parent: str | None, tool: str, text: str, *, error: bool = False) -> Json:
    content = [{"type": "text", "text": text}]
    message = {"role": "toolResult", "toolCallId": "c1", "toolName": tool, "content": content, "isError": error}
    return entry(id_, parent, message)


def ran(id_: str, parent: str | None, command: str, output: str, code: int = 0) -> Json:
    return entry(id_, parent, {"role": "bashExecution", "command": command, "output": output, "exitCode": code})


def compacted(id_: str, parent: str | None, summary: str, kept: str) -> Json:
    found = {"type": "compaction", "id": id_, "parentId": parent, "timestamp": NOON, "summary": summary}
    return {**found, "firstKeptEntryId": kept, "tokensBefore": 1000}


def custom(id_: str, parent: str | None, kind: str, content: str) -> Json:
    found = {"type": "custom_message", "id": id_, "parentId": parent, "timestamp": NOON, "customType": kind}
    return {**found, "content": content, "display": True}


def branch_summary(id_: str, parent: str | None, from_id: str, summary: str) -> Json:
    found = {"type": "branch_summary", "id": id_, "parentId": parent, "timestamp": NOON}
    return {**found, "fromId": from_id, "summary": summary}


def whole(texts: Iterator[Json]) -> dict[int, str]:
    """The texts of all records of an expansion's pages, by index; fails where ranges do not join exactly."""
    found: dict[int, str] = {}
    for page in texts:
        for one in page["entries"]:
            have, span = found.get(one["index"], ""), one["textRange"]
            assert (span["start"], span["end"]) == (len(have), len(have) + len(one["text"]))
            found[one["index"]] = have + one["text"]
            assert span["complete"] == (len(found[one["index"]]) == span["total"])
    return found


def following(workspace: pepys.Workspace, ref: str, args: Json) -> Iterator[Json]:
    """An answer and all that follow from it by `next`."""
    page = workspace.call(ref, args)
    yield page
    while page["next"] is not None:
        page = workspace.call(page["next"])
        yield page


def size(answer: Json) -> int:
    """What an answer takes of the envelope: code points of compact JSON, non-ASCII unescaped."""
    return len(json.dumps(answer, ensure_ascii=False, separators=(",", ":")))


def ids(page: Json) -> list[str]:
    return [hit["entryId"] for hit in page["hits"]]


def pages(diary: Diary, page: Json) -> list[Json]:
    """The page and all that follow it."""
    found = [page]
    while found[-1]["next"] is not None:
        following = found[-1]["next"]
        found.append(diary.call(following["ref"], following["args"]))
    return found
