"""A repository with a journal, a Pi session in it, and the calls that a test makes there."""

from __future__ import annotations

import os
from datetime import datetime
from pathlib import Path
from typing import Any

import pepys
from tests.recall.diary import Diary, Json, line, said, user

NOW = datetime(2026, 8, 13, 22, 41)


class Project:
    """A home with an agent directory, and one repository."""

    def __init__(self, home: Path) -> None:
        self.diary = Diary(home)
        self.home = home
        self.root = home / "shop"
        (self.root / ".git").mkdir(parents=True)
        self.store = self.root / ".memsearch" / "memory"
        self.env = {"HOME": str(home), "PATH": os.environ["PATH"]}
        self.now = NOW

    def session(self, name: str, *entries: Json, **more: Any) -> Path:
        """A session of this repository."""
        return self.diary.session(name, *entries, cwd=str(self.root), **more)

    def talk(self, name: str = "s1") -> Path:
        """A session of one exchange."""
        return self.session(name, user("u1", None, "Move the cache."), said("a1", "u1", "Moved it to Redis."))

    def day(self, date: str = "2026-08-13") -> Path:
        """The daily file of a date."""
        return self.store / f"{date}.md"

    def write_day(self, text: str, date: str = "2026-08-13") -> Path:
        """Write a daily file, as another agent would."""
        self.store.mkdir(parents=True, exist_ok=True)
        self.day(date).write_text(text, encoding="utf-8", newline="")
        return self.day(date)

    def open(self, **keywords: Any) -> pepys.Workspace:
        settings: Json = {
            "host": "pi",
            "agent_dir": self.diary.agent,
            "cwd": self.root,
            "index_dir": self.home / "index",
            "env": self.env,
            "now": self.now,
        }
        return pepys.open(**{**settings, **keywords})

    def call(self, ref: str, args: Json | None = None, **keywords: Any) -> Json:
        with self.open(**keywords) as workspace:
            return workspace.call(ref, args or {})

    def config(self, **journal: Any) -> Json:
        """Keywords that set keys of the journal."""
        return {"config_overrides": {"journal": journal}}


def entry(time: str, *bullets: str, session: str = "3f2c9b1e", turn: str = "ab12cd34", path: str = "/t/a.jsonl") -> str:
    """An entry as every agent of the mesh writes it."""
    lines = "".join(f"- {bullet}\n" for bullet in bullets)
    return f"### {time}\n<!-- session:{session} turn:{turn} transcript:{path} -->\n{lines}\n"


def command(path: Path, **answers: str) -> str:
    """A store command that prints an answer a mode; what starts with `!` is a failure's message."""
    cases = []
    for mode, answer in answers.items():
        done = f"echo {answer[1:]!r} >&2; exit 3" if answer.startswith("!") else f"printf '%b\\n' {answer!r}"
        cases.append(f"  {mode.replace('_', '-')}) echo {mode} >> {str(path) + '.log'!r}; {done} ;;")
    path.write_text("#!/bin/sh\ncase $1 in\n" + "\n".join(cases) + "\nesac\n")
    path.chmod(0o755)
    return str(path)


__all__ = ["NOW", "Project", "command", "entry", "line"]
