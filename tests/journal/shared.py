"""A project whose memory is shared through a Milvus collection, with the configuration of memsearch that says so."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pepys.config import Journal
from pepys.journal import engines, scope
from pepys.journal.base import Place
from pepys.journal.milvus.index import SharedIndex
from tests.journal.endpoint_of_vectors import Endpoint
from tests.journal.project import Project

MODEL = "words-64"


class Shared:
    """A project, its endpoint and its configuration."""

    def __init__(self, project: Project, endpoint: Endpoint) -> None:
        self.project, self.endpoint = project, endpoint
        self.database = project.home / ".memsearch" / "milvus.db"
        self.configure()

    @property
    def config(self) -> Path:
        return self.project.home / ".memsearch" / "config.toml"

    @property
    def state_file(self) -> Path:
        return self.project.root / ".memsearch" / ".index-state.json"

    def configure(self, embedding: str | None = None, more: str = "") -> None:
        """Write memsearch's own configuration."""
        self.config.parent.mkdir(exist_ok=True)
        if embedding is None:
            embedding = f'provider = "openai"\nbase_url = "{self.endpoint.url}/v1"\napi_key = "k"\nmodel = "{MODEL}"\n'
        self.config.write_text(f"[embedding]\n{embedding}\n{more}\n")

    def place(self, **more: Any) -> Place:
        found = scope.resolve(str(self.project.root), self.project.env)
        index = str(self.project.home / "index" / found.collection)
        made = Place(found.store, found.collection, index, found.repository, found.state_dir)
        return made._replace(**more)

    def index(self, settings: Journal | None = None, **more: Any) -> SharedIndex:
        """Another process's view of the collection."""
        index = engines.opened("milvus", self.place(**more), settings or Journal(), self.project.env)
        assert isinstance(index, SharedIndex)
        return index


def texts(index: SharedIndex) -> list[str]:
    """The last lines of all chunks."""
    return [chunk.text.rpartition("\n")[2] for chunk in index.chunks()]
