"""A generated history of the Pi host: the same bytes for the same seed, size and number of files."""

from __future__ import annotations

import json
import os
import random
import shutil
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bench.words import Author, vocabulary

FORMAT = 1
"""Raised with every change to what is generated, so that kept corpora of older forms are not reused."""

_MARK = "corpus.json"
_EPOCH_MS = 1_760_000_000_000  # of the oldest session
_YEAR_MS = 365 * 86_400_000

_compact = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


class NotOurs(Exception):
    """The directory holds something that this program did not generate."""


@dataclass(frozen=True, slots=True)
class Shape:
    """What a corpus is generated from. Bytes and files are independent of each other."""

    seed: int
    megabytes: int  # of 10^6 bytes
    files: int


@dataclass(frozen=True, slots=True)
class Corpus:
    """A generated agent directory."""

    directory: Path
    shape: Shape
    size: int  # bytes of all session files

    def paths(self) -> list[str]:
        """Every session file, in a stable order."""
        return session_files(self.directory)


def session_files(agent_dir: Path) -> list[str]:
    """Every session file below an agent directory, in a stable order."""
    return sorted(str(path) for path in (agent_dir / "sessions").glob("*/*.jsonl"))


def corpus(directory: Path, shape: Shape, say: Callable[[str], None] = lambda _: None) -> Corpus:
    """The corpus of *shape* in *directory*: the one that is there, or a new one.

    Raises:
        NotOurs: The directory is neither empty nor an earlier corpus.
    """
    mark = directory / _MARK
    wanted = {"format": FORMAT, **asdict(shape)}
    if mark.exists():
        kept = json.loads(mark.read_text())
        there = Corpus(directory, shape, kept.pop("bytes"))
        if kept == wanted and there.size == sum(os.stat(path).st_size for path in there.paths()):
            return there
        shutil.rmtree(directory / "sessions")
        mark.unlink()
    elif directory.exists() and any(directory.iterdir()):
        raise NotOurs(f"{directory} holds something else than a corpus.")
    size = _generate(directory, shape, say)
    mark.write_text(json.dumps({**wanted, "bytes": size}))
    return Corpus(directory, shape, size)


def _generate(directory: Path, shape: Shape, say: Callable[[str], None]) -> int:
    draw = random.Random(f"corpus {shape.seed}")
    weights = [draw.lognormvariate(0, 1) for _ in range(shape.files)]
    total = shape.megabytes * 1_000_000
    tasks = [
        (str(directory), shape.seed, number, max(1, int(total * weight / sum(weights))), shape.files)
        for number, weight in enumerate(weights)
    ]
    for project in range(_projects(shape.files)):
        (directory / "sessions" / _folder(_cwd(project))).mkdir(parents=True, exist_ok=True)
    vocabulary(shape.seed)  # before the fork, so that the workers share it
    written = told = 0
    with ProcessPoolExecutor() as pool:
        for size in pool.map(_write, *zip(*tasks, strict=True), chunksize=max(1, shape.files // 64)):
            written += size
            if written - told > total // 10:
                told = written
                say(f"generated {written / 1e6:.0f} of {shape.megabytes} MB")
    return written


def _projects(files: int) -> int:
    return max(1, min(40, files // 10))


def _cwd(project: int) -> str:
    return f"/home/dev/project{project}"


def _folder(cwd: str) -> str:
    return f"--{cwd[1:].replace('/', '-')}--"


def _write(directory: str, seed: int, number: int, budget: int, files: int) -> int:
    session = Session(random.Random(f"session {seed} {number} {budget}"), number, files, seed)
    data = b"".join(session.lines(budget))
    path = Path(directory, "sessions", _folder(session.cwd), session.file_name)
    path.write_bytes(data)
    os.utime(path, (session.now / 1000, session.now / 1000))
    return len(data)


class Session:
    """One session as Pi would have written it, entry by entry."""

    def __init__(self, draw: random.Random, number: int, files: int, seed: int) -> None:
        self._draw = draw
        self._author = Author(draw, vocabulary(seed))
        self.now = _EPOCH_MS + _YEAR_MS * number // files + draw.randrange(3_600_000)  # ms since the epoch
        tail = f"{draw.getrandbits(76):019x}"
        stamp = f"{self.now:012x}"
        self.id = f"{stamp[:8]}-{stamp[8:]}-7{tail[:3]}-8{tail[3:6]}-{tail[6:18]}"
        self.file_name = f"{_iso(self.now).replace(':', '-').replace('.', '-')}_{self.id}.jsonl"
        projects = _projects(files)
        self.cwd = _cwd(int(draw.random() ** 2 * projects))
        self._leaf: str | None = None
        self._ids: set[str] = set()
        self._prompts: list[tuple[str, str | None]] = []  # id and parent of every prompt
        self._kept: list[str] = []  # ids since the last compaction
        self._calls = 0
        self._branched = draw.random() < 0.15
        self._cjk = draw.random() < 0.08
        self._room = 0  # bytes that are left

    def lines(self, budget: int) -> Iterator[bytes]:
        """Header and entries until *budget* bytes are spent; the last ones are cut to fit as well as they can."""
        self._room = budget
        for value in self._entries():
            line = _compact(value).encode() + b"\n"
            self._room -= len(line)
            yield line
            if self._room <= 0:
                return

    def _entries(self) -> Iterator[dict[str, Any]]:
        draw = self._draw
        yield {"type": "session", "version": 3, "id": self.id, "timestamp": _iso(self.now), "cwd": self.cwd}
        yield self._entry("model_change", provider="anthropic", modelId="claude-opus-4-5")
        yield self._entry("thinking_level_change", thinkingLevel=draw.choice(("off", "medium", "high")))
        if self._room > 40_000 and draw.random() < 0.5:
            sections = _SYSTEM | {"cwd": f"<cwd>\n{self.cwd}\n</cwd>"}
            yield self._message({"role": "system", "content": "", "sections": sections})
        if draw.random() < 0.3:
            yield self._entry("session_info", name=self._author.prose(40))
        while True:
            yield from self._turn()
            chance = draw.random()
            if self._branched and chance < 0.15 and len(self._prompts) > 1:
                yield from self._return()
            elif chance > 0.97:
                yield self._entry("label", targetId=self._prompts[-1][0], label=self._author.name())
            elif chance > 0.95:
                yield self._entry("model_change", provider="openai", modelId=draw.choice(("gpt-5", "gpt-5-mini")))
            elif chance > 0.93:
                yield self._shell()
            if len(self._kept) > 150:
                yield self._compaction()

    def _turn(self) -> Iterator[dict[str, Any]]:
        draw, author = self._draw, self._author
        parent = self._leaf
        text = author.cjk() if self._cjk and draw.random() < 0.5 else author.prose(self._chars(180, 1.0, 4_000))
        yield self._message({"role": "user", "content": [{"type": "text", "text": text}]})
        assert self._leaf is not None
        self._prompts.append((self._leaf, parent))
        for _ in range(draw.choice((0, 1, 1, 2, 3, 4, 6, 9, 14))):
            calls = [self._call() for _ in range(draw.choice((1, 1, 1, 2)))]
            yield self._assistant([block for block, _ in calls], "toolUse")
            for block, result in calls:
                yield self._result(block, result)
        yield self._assistant([], "stop")

    def _assistant(self, calls: list[dict[str, Any]], stop: str) -> dict[str, Any]:
        draw, author = self._draw, self._author
        content: list[dict[str, Any]] = []
        if draw.random() < 0.6:
            thinking = author.prose(self._chars(500, 0.9, 8_000))
            signature = f"{draw.getrandbits(1024):0256x}" if draw.random() < 0.5 else "reasoning_content"
            content.append({"type": "thinking", "thinking": thinking, "thinkingSignature": signature})
        if not calls or draw.random() < 0.5:
            text = author.prose(self._chars(160 if calls else 900, 0.9, 12_000))
            if draw.random() < 0.2:
                text += f"\n\n```python\n{author.code(self._chars(400, 0.8, 4_000))}\n```"
            content.append({"type": "text", "text": text})
        read, written = draw.randrange(2_000, 90_000), draw.randrange(20, 3_000)
        cost = {"input": 0.000012, "output": written * 0.000025, "cacheRead": read * 5e-07, "cacheWrite": 0}
        return self._message(
            {
                "role": "assistant",
                "content": content + calls,
                "api": "anthropic-messages",
                "provider": "anthropic",
                "model": "claude-opus-4-5",
                "usage": {
                    "input": 12,
                    "output": written,
                    "cacheRead": read,
                    "cacheWrite": 0,
                    "totalTokens": 12 + written + read,
                    "cost": {**cost, "total": sum(cost.values())},
                },
                "stopReason": stop,
            },
            responseId=f"msg_{draw.getrandbits(96):024x}",
        )

    def _call(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """A tool call and the fields of its result."""
        draw, author = self._draw, self._author
        tool = draw.choices(("bash", "read", "edit", "write"), (45, 30, 17, 8))[0]
        path = author.path()
        result: dict[str, Any] = {}
        if tool == "bash":
            arguments: dict[str, Any] = {"command": draw.choice(_COMMANDS).format(author.name())}
            failed = draw.random() < 0.12
            text = author.log(self._chars(1_000, 1.2, 50_000))
            if failed:
                text += f"\n\nCommand exited with code {draw.choice((1, 1, 2, 127))}"
            result["isError"] = failed
        elif tool == "read":
            arguments = {"path": path}
            text = author.code(self._chars(2_700, 1.0, 50_000))
        elif tool == "write":
            arguments = {"path": path, "content": author.code(self._chars(1_500, 0.9, 20_000))}
            text = f"Successfully wrote {len(arguments['content'])} bytes to {path}"
        else:
            old, new = author.code(self._chars(220, 0.7, 3_000)), author.code(self._chars(300, 0.7, 3_000))
            arguments = {"path": path, "edits": [{"oldText": old, "newText": new}]}
            text = f"Successfully replaced 1 block(s) in {path}."
            line = draw.randrange(1, 900)
            rows = [*(f"-{line} {row}" for row in old.split("\n")), *(f"+{line} {row}" for row in new.split("\n"))]
            diff = "\n".join(rows)
            result["details"] = {"diff": diff, "patch": f"--- {path}\n+++ {path}\n{diff}\n", "firstChangedLine": line}
        if len(text) > 40_000:
            cut = {"content": text, "truncated": True, "truncatedBy": "bytes", "totalLines": 5_000, "outputLines": 900}
            result["details"] = {"truncation": cut}
        self._calls += 1
        block = {"type": "toolCall", "id": f"toolu_{self._calls:04d}_{draw.getrandbits(48):012x}", "name": tool}
        return {**block, "arguments": arguments}, {"content": [{"type": "text", "text": text}], **result}

    def _result(self, call: dict[str, Any], result: dict[str, Any]) -> dict[str, Any]:
        said = {"role": "toolResult", "toolCallId": call["id"], "toolName": call["name"], "isError": False}
        return self._message(said | result)

    def _shell(self) -> dict[str, Any]:
        said = {"command": f"git show {self._author.name()}", "output": self._author.log(self._chars(500, 1.0, 20_000))}
        return self._message({"role": "bashExecution", **said, "exitCode": 0, "cancelled": False, "truncated": False})

    def _return(self) -> Iterator[dict[str, Any]]:
        """The user goes back to an earlier prompt and takes another way from there."""
        _, parent = self._draw.choice(self._prompts[-8:])
        left, self._leaf = self._leaf, parent
        if self._draw.random() < 0.5:
            yield self._entry("branch_summary", fromId=left, summary=self._author.prose(self._chars(600, 0.6, 3_000)))

    def _compaction(self) -> dict[str, Any]:
        kept = self._kept[-20]
        del self._kept[:-20]
        files = {"readFiles": [self._author.path() for _ in range(4)], "modifiedFiles": [self._author.path()]}
        summary = "## Goal\n" + self._author.prose(self._chars(2_500, 0.5, 8_000))
        return self._entry("compaction", summary=summary, firstKeptEntryId=kept, tokensBefore=91_000, details=files)

    def _message(self, message: dict[str, Any], **after: Any) -> dict[str, Any]:
        entry = self._entry("message", message=message)
        message["timestamp"] = self.now
        message.update(after)
        return entry

    def _entry(self, kind: str, **fields: Any) -> dict[str, Any]:
        draw = self._draw
        identity = f"{draw.getrandbits(32):08x}"
        while identity in self._ids:
            identity = f"{draw.getrandbits(32):08x}"
        self._ids.add(identity)
        self._kept.append(identity)
        self.now += draw.randrange(5, 40_000)
        entry = {"type": kind, "id": identity, "parentId": self._leaf, "timestamp": _iso(self.now), **fields}
        self._leaf = identity
        return entry

    def _chars(self, median: int, spread: float, most: int) -> int:
        """A length with a long tail, bounded by what is left of the file."""
        sampled = int(self._draw.lognormvariate(0, spread) * median)
        return max(12, min(sampled, most, self._room - 400))


def _iso(ms: int) -> str:
    moment = datetime.fromtimestamp(ms // 1000, UTC)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{ms % 1000:03d}Z"


_COMMANDS = ("rg -n {} src", "pytest -q tests/{}", "git log --oneline | grep {}", "cd src/{} && make")
_RULES = ("Use read to examine files.", "Keep edits small.", "Run the tests after a change.")
_SYSTEM = {
    "preamble": "You are a coding assistant. Help users inspect files, run commands and modify code.",
    "tools": "<tools>\n- read: Read file contents\n- bash: Execute commands\n- edit: Edit\n- write: Create\n</tools>",
    "rules": "<rules>\n" + "\n".join(f"- {rule}" for rule in _RULES * 12) + "\n</rules>",
}
