"""A Pi agent directory of its own for tests: session files made line by line, and workspaces over them."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pepys
from pepys.workspace import Workspace

CWD = "/project"


def header(session: str, cwd: str = CWD) -> dict[str, Any]:
    return {"type": "session", "version": 3, "id": session, "timestamp": "2026-03-01T10:00:00.000Z", "cwd": cwd}


def entry(id_: str, parent: str | None, text: str, role: str = "user", second: int = 0) -> dict[str, Any]:
    """A message entry; its time is *second* seconds after ten o'clock."""
    at = f"2026-03-01T10:{second // 60:02}:{second % 60:02}.000Z"
    line: dict[str, Any] = {"type": "message", "id": id_, "parentId": parent, "timestamp": at}
    content = [{"type": "text", "text": text}]
    if role == "toolResult":
        return line | {"message": {"role": role, "toolCallId": "c1", "toolName": "bash", "content": content}}
    return line | {"message": {"role": role, "content": content}}


def thinking(id_: str, parent: str | None, thought: str, text: str) -> dict[str, Any]:
    """An assistant's message with private reasoning."""
    line = entry(id_, parent, text, "assistant")
    line["message"]["content"].insert(0, {"type": "thinking", "thinking": thought})
    return line


def jsonl(*lines: Any) -> bytes:
    return b"".join(json.dumps(line, ensure_ascii=False).encode() + b"\n" for line in lines)


class Agent:
    """An agent directory below a directory that stands for a home."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.folder = home / "agent" / "sessions" / "--project--"
        self.folder.mkdir(parents=True)

    def session(self, name: str, *lines: Any) -> Path:
        """A session file of a header and *lines*."""
        path = self.folder / f"{name}.jsonl"
        path.write_bytes(jsonl(header(name), *lines))
        return path

    def talk(self, name: str, *texts: str) -> Path:
        """A session of user messages, one after the other."""
        ids = [f"{name}-{at}" for at in range(len(texts))]
        parents = [None, *ids]
        lines = [entry(id_, parents[at], texts[at], second=at) for at, id_ in enumerate(ids)]
        return self.session(name, *lines)

    def open(self, index: Path | str = "index", config: Mapping[str, object] | None = None, **more: Any) -> Workspace:
        """A workspace; *index* is taken from the home."""
        more.setdefault("host", "pi")
        return pepys.open(
            agent_dir=self.home / "agent",
            cwd=self.home,
            index_dir=self.home / index,
            env={"HOME": str(self.home)},
            config_overrides=dict(config or {}),
            **more,
        )

    def unusable(self) -> Path:
        """An index directory in which nothing can be kept: below a regular file."""
        file = self.home / "a-file"
        file.touch()
        return file / "index"


def append(path: Path, *lines: Any) -> None:
    """Append whole lines; bytes as they are."""
    with path.open("ab") as file:
        for line in lines:
            file.write(line if isinstance(line, bytes) else jsonl(line))


def aged(*paths: Path) -> None:
    """Give files a modification time long ago; their change time stays young."""
    for at, path in enumerate(paths):
        os.utime(path, ns=(10**18 + at * 10**9 + 1, 10**18 + at * 10**9 + 1))


def recall(workspace: Workspace, **request: object) -> dict[str, Any]:
    """All pages of one request, as one."""
    page = workspace.call("memory.recall", {"scope": "global", "pageSize": 50, **request})
    hits = list(page["hits"])
    following = page.get("next")
    while following:
        more = workspace.call(following)
        assert more["hits"], "a page that promises more gives more"
        hits += more["hits"]
        following = more.get("next")
    return {**page, "hits": hits}


def found(workspace: Workspace, query: str, **request: object) -> list[str]:
    """The entry ids that a query finds, sorted; one hit, one id."""
    return sorted(hit["entryId"] for hit in recall(workspace, query=query, **request)["hits"])
