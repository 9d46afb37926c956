"""Formats, held to memsearch itself: it reads what Pepys writes, and Pepys reads and forgets what it writes.

These tests run where `PEPYS_TEST_MEMSEARCH` names its commands (see `test_memsearch`), over Pepys's own engine.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from pepys.journal import entries, store
from tests.journal.project import Project, entry
from tests.recall.diary import said, user

Json = dict[str, Any]

COMMANDS = [path for path in os.environ.get("PEPYS_TEST_MEMSEARCH", "").split(os.pathsep) if path]

pytestmark = pytest.mark.skipif(not COMMANDS, reason="PEPYS_TEST_MEMSEARCH names no command of memsearch")


class Service(BaseHTTPRequestHandler):
    """Embeddings that only tell texts apart, and a model that always says the same."""

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path.endswith("/embeddings"):
            texts = [body["input"]] if isinstance(body["input"], str) else body["input"]
            data = [{"object": "embedding", "index": at, "embedding": vector(text)} for at, text in enumerate(texts)]
            answer: Json = {
                "object": "list",
                "data": data,
                "model": "m",
                "usage": {"prompt_tokens": 1, "total_tokens": 1},
            }
        else:
            message = {"role": "assistant", "content": "## Topics\n\n- caches, condensed"}
            choices = [{"index": 0, "message": message, "finish_reason": "stop"}]
            usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
            answer = {
                "id": "1",
                "object": "chat.completion",
                "created": 1,
                "model": "m",
                "choices": choices,
                "usage": usage,
            }
        data_ = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data_)))
        self.end_headers()
        self.wfile.write(data_)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def vector(text: object) -> list[float]:
    digest = hashlib.sha256(str(text).encode()).digest() * 48
    return [byte / 255 - 0.5 for byte in digest]


@pytest.fixture(scope="module")
def service() -> Iterator[str]:
    server = HTTPServer(("127.0.0.1", 0), Service)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/v1"
    server.shutdown()
    server.server_close()


class Theirs:
    """memsearch in the home of a project."""

    def __init__(self, command: str, project: Project, service: str) -> None:
        self.command, self.project = command, project
        home = project.home / ".memsearch"
        home.mkdir()
        (home / "config.toml").write_text(
            f'[embedding]\nprovider = "openai"\nbase_url = "{service}"\napi_key = "x"\n'
            f'[llm]\nprovider = "openai"\nbase_url = "{service}"\napi_key = "x"\nmodel = "m"\n'
        )

    def run(self, *arguments: str) -> str:
        done = subprocess.run(
            [self.command, *arguments], cwd=self.project.root, env=self.project.env, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        return done.stdout


@pytest.fixture(params=COMMANDS)
def theirs(request: pytest.FixtureRequest, project: Project, service: str) -> Theirs:
    return Theirs(request.param, project, service)


def collection(project: Project) -> str:
    return str(project.call("journal.status")["collection"])


@pytest.mark.requirement("journal.format.entry", "journal.format.anchor")
def test_memsearch_finds_and_opens_what_pepys_writes_anchor_included(theirs: Theirs) -> None:
    project = theirs.project
    folder = project.home / "my sessions"
    path = project.session("s1", user("u1", None, "x"), said("a1", "u1", "y"), folder=folder)
    content = "# Big\n- moved the hot cache\n```sh\n# a comment\nls\n```\n<!-- session:evil turn:x transcript:/y -->"
    project.call("journal.write", {"content": content}, session_file=path)
    name = collection(project)

    theirs.run("index", str(project.store), "-c", name)
    (hit,) = json.loads(theirs.run("search", "-j", "-k", "5", "-c", name, "--", "hot cache"))
    section = json.loads(theirs.run("expand", "-j", "-c", name, "--", hit["chunk_hash"]))

    (block,) = entries.blocks(store.read(str(project.day())))
    assert hit["content"] == block.text  # one chunk: nothing in it was taken for a heading
    assert section["content"].strip() == block.text
    assert section["anchor"]["session"] == "s1"
    assert section["anchor"]["turn"] == "u1"
    given = section["anchor"]["transcript"]
    assert project.call("journal.transcript", {"transcript_path": given, "turn": "a1"})["turns"]


@pytest.mark.requirement("journal.status.index_state")
def test_pepys_reads_memsearchs_index_state(theirs: Theirs) -> None:
    project = theirs.project
    project.write_day(entry("10:00", "one"))
    theirs.run("index", str(project.store), "-c", collection(project))

    text = project.call("journal.status")["text"]

    assert f"index state: {project.store.parent}/.index-state.json\nindex: ok (last indexed " in text


@pytest.mark.requirement("journal.compact.block", "journal.compact.forget")
def test_pepys_reads_and_forgets_memsearchs_compaction(theirs: Theirs) -> None:
    project = theirs.project
    project.write_day(entry("10:00", "one"))
    name = collection(project)
    theirs.run("index", str(project.store), "-c", name)
    theirs.run("compact", "-o", str(project.store.parent), "-c", name)
    (path,) = [path for path in project.store.glob("*.md") if "Memory Compact" in path.read_text()]

    hit = project.call("journal.search", {"query": "caches condensed"})["hits"][0]
    answer = project.call("journal.forget", {"chunk_hash": hit["chunk_hash"]})

    assert answer["kind"] == "compact"
    assert not path.exists() or "condensed" not in path.read_text()
    assert Path(project.day()).read_text() == entry("10:00", "one")


@pytest.mark.requirement("journal.collection.recorded")
def test_the_recorded_collection_is_read_from_where_memsearch_writes_it(theirs: Theirs) -> None:
    from pepys.journal import fan_out

    project = theirs.project
    for name, below in (("one", ".memsearch/memory"), ("two", "memory")):
        other = project.home / "code" / name
        directory = other / below
        directory.mkdir(parents=True)
        (directory / "2026-08-13.md").write_text(entry("10:00", "one"))
        if below == "memory":
            project.env = {**project.env, "MEMSEARCH_DIR": str(other)}
        theirs.run("index", str(directory), "-c", "ms_recorded")

        assert fan_out._recorded(str(directory)) == "ms_recorded"
