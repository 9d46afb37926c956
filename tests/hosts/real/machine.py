"""A home with a host in it, and the ways to talk to that host: in print, RPC and terminal mode."""

from __future__ import annotations

import json
import os
import queue
import re
import shlex
import shutil
import subprocess
import sys
import threading
import time
import uuid
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from tests.hosts.real.model import NAME, Model
from tests.hosts.real.table import Host, Mode

SECONDS = 30.0
"""How long anything is waited for: hosts answer in one or two, on a busy machine later."""

_MARK = "PEPYS_TEST_MACHINE"
_SOURCE = Path(__file__).parents[3] / "src"


def eventually(what: Callable[[], Any], timeout_s: float = SECONDS) -> Any:
    """The first true value of *what*.

    Raises:
        TimeoutError: There was none.
    """
    end = time.monotonic() + timeout_s
    while not (value := what()):
        if time.monotonic() > end:
            raise TimeoutError(f"it did not come true within {timeout_s} s; last: {value!r}")
        time.sleep(0.05)
    return value


class Machine:
    """A home and a project of its own under *root*, and *host* installed in *folder*."""

    def __init__(self, root: Path, host: Host, folder: Path, model: Model, settings: Mapping[str, Any]) -> None:
        self.root, self.host, self.folder, self.model = root, host, folder, model
        self.home, self.project = root / "home", root / "home" / "project"
        self.agent_dir = host.agent_dir(self.home)
        self.extensions: list[Path] = []  # to be loaded
        self._mark = uuid.uuid4().hex
        self.agent_dir.mkdir(parents=True)
        self.project.mkdir()
        for name, text in host.configuration(model.url, settings).items():
            (self.agent_dir / name).write_text(text)
        path = [*map(str, host.path(folder)), os.environ.get("PATH", os.defpath)]
        self.env = {
            "PATH": os.pathsep.join(path),
            "LANG": "C.UTF-8",
            "TZ": "UTC",
            "TERM": "dumb",
            "SHELL": "/bin/bash",
            "HOME": str(self.home),
            "TMPDIR": str(root),
            "PYTHONPATH": str(_SOURCE),
            "PEPYS_COMMAND": json.dumps([sys.executable, "-m", "pepys"]),
            _MARK: self._mark,
            **host.env,
        }
        """The whole environment of what runs here; nothing of the real one."""

    def command(self, mode: Mode, *arguments: str) -> list[str]:
        """What starts the host, with the extensions."""
        loaded = [part for extension in self.extensions for part in ("-e", str(extension))]
        return [*self.host.command(self.folder, mode), *loaded, *arguments]

    def run(self, *command: str, timeout_s: float = SECONDS) -> subprocess.CompletedProcess[str]:
        """Run a command in the project, as the user of this home."""
        return subprocess.run(
            command,
            cwd=self.project,
            env=self.env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=timeout_s,
        )

    def talk(self, mode: Mode) -> Conversation:
        """Begin a conversation; close it at the end, or use it as a context."""
        return {"print": Printed, "rpc": Rpc, "tui": Terminal}[mode](self)

    def sessions(self) -> list[Path]:
        """The host's session files, oldest first, without those of sub-agents."""
        return sorted((self.agent_dir / "sessions").glob("*/*.jsonl"), key=lambda path: path.name)

    def entries(self) -> list[dict[str, Any]]:
        """The lines of the newest session."""
        return [json.loads(line) for line in self.sessions()[-1].read_text().split("\n") if line.strip()]

    def left(self) -> list[str]:
        """The command lines of all processes that run in this environment."""
        mark = f"{_MARK}={self._mark}".encode()
        found = []
        for process in Path("/proc").iterdir():
            try:
                if process.name.isdecimal() and mark in (process / "environ").read_bytes().split(b"\0"):
                    found.append((process / "cmdline").read_text().replace("\0", " ").strip())
            except OSError:
                continue  # it has ended, or is another user's
        return found


class Conversation(ABC):
    """One session with the host, in one mode."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine

    @abstractmethod
    def say(self, prompt: str) -> str:
        """Say something and wait until the host has nothing left to do; what the person is shown."""

    @abstractmethod
    def give(self, command: str) -> str:
        """Give a slash command that starts no run; what the person is shown."""

    @abstractmethod
    def see(self, text: str) -> None:
        """Wait until the person is, or was, shown *text*."""

    @abstractmethod
    def close(self) -> int:
        """Leave the host as a person does; its exit status."""

    def __enter__(self) -> Conversation:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Printed(Conversation):
    """Print mode: a process for each prompt, all in one session."""

    def __init__(self, machine: Machine) -> None:
        super().__init__(machine)
        self._went_on = False
        self._status = 0
        self._shown = ""

    def say(self, prompt: str) -> str:
        return self._run(prompt).stdout

    def give(self, command: str) -> str:
        done = self._run(command)
        return done.stdout + done.stderr.replace("Working...\n", "")

    def see(self, text: str) -> None:
        assert text in self._shown

    def _run(self, prompt: str) -> subprocess.CompletedProcess[str]:
        before = self.machine.sessions()
        done = self.machine.run(*self.machine.command("print", *(["-c"] if self._went_on else []), prompt))
        self._went_on |= self.machine.sessions() != before
        self._status = self._status or done.returncode
        self._shown += done.stdout + done.stderr
        return done

    def close(self) -> int:
        return self._status


class Rpc(Conversation):
    """RPC mode: JSON lines both ways."""

    def __init__(self, machine: Machine) -> None:
        super().__init__(machine)
        self.records: list[dict[str, Any]] = []
        self.noise: list[str] = []  # lines that are no records
        self.answers: dict[str, Mapping[str, Any]] = {}  # of the person, by method of the dialog
        self._coming: queue.Queue[dict[str, Any] | None] = queue.Queue()
        self._errors = (machine.root / f"stderr-{uuid.uuid4().hex[:6]}").open("w+b")
        self._process = subprocess.Popen(
            machine.command("rpc"),
            cwd=machine.project,
            env=machine.env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def stderr(self) -> str:
        self._errors.seek(0)
        return self._errors.read().decode("utf-8", "replace")

    def say(self, prompt: str) -> str:
        first = len(self.records)
        self.request("prompt", message=prompt)
        if not any(map(self.machine.host.settled, self.records[first:])):
            self.wait(self.machine.host.settled)
        return "\n".join(filter(None, map(_said, self.records[first:])))

    def give(self, command: str) -> str:
        first = len(self.records)
        key = uuid.uuid4().hex[:8]

        def carried_out(record: Mapping[str, Any]) -> bool:
            return record.get("id") == key and self.machine.host.commanded(record)

        self._send({"id": key, "type": "prompt", "message": command})
        self.wait(carried_out)
        return "\n".join(self.shown(first))

    def see(self, text: str) -> None:
        if not any(text in shown for shown in self.shown()):
            self.wait(lambda record: text in _notified(record))

    def shown(self, first: int = 0) -> list[str]:
        """What the person was notified of, from a record on."""
        return list(filter(None, map(_notified, self.records[first:])))

    def request(self, type_: str, **fields: Any) -> Any:
        """Send a request and wait for its response; its data.

        Raises:
            RuntimeError: It was refused.
        """
        key = uuid.uuid4().hex[:8]
        self._send({"id": key, "type": type_, **fields})
        answer = self.wait(lambda record: record.get("type") == "response" and record.get("id") == key)
        if not answer["success"]:
            raise RuntimeError(answer["error"])
        return answer.get("data")

    def wait(self, accepted: Callable[[dict[str, Any]], bool], timeout_s: float = SECONDS) -> dict[str, Any]:
        """The next record that is accepted.

        Raises:
            TimeoutError: None came.
            EOFError: The host ended.
        """
        end = time.monotonic() + timeout_s
        while True:
            try:
                record = self._coming.get(timeout=max(0.01, end - time.monotonic()))
            except queue.Empty:
                last = [json.dumps(record)[:300] for record in self.records[-3:]]
                raise TimeoutError(f"no such record; the last: {last}; errors: {self.stderr[-2000:]}") from None
            if record is None:
                raise EOFError(f"the host ended with {self._process.wait()}: {self.stderr[-2000:]}")
            self.records.append(record)
            if record.get("type") == "extension_ui_request" and record.get("method") in self.answers:
                answer = {"type": "extension_ui_response", "id": record["id"], **self.answers[record["method"]]}
                self._send(answer)
            if accepted(record):
                return record

    def close(self) -> int:
        if self._process.stdin and not self._process.stdin.closed:
            self._process.stdin.close()
        try:
            status = self._process.wait(SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            status = self._process.wait()
        self._reader.join(SECONDS)
        if self._process.stdout:
            self._process.stdout.close()
        if not self._errors.closed:
            self._errors.close()
        return status

    def _send(self, record: Mapping[str, Any]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(record).encode() + b"\n")
        self._process.stdin.flush()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            try:
                self._coming.put(json.loads(line))
            except ValueError:
                self.noise.append(line.decode("utf-8", "replace"))
        self._coming.put(None)


def _notified(record: Mapping[str, Any]) -> str:
    """What a record notifies the person of; else nothing."""
    return str(record["message"]) if record.get("method") == "notify" else ""


def _said(record: Mapping[str, Any]) -> str:
    """The text of an assistant's message that has ended; else nothing."""
    message = record.get("message")
    if record.get("type") != "message_end" or not isinstance(message, Mapping) or message.get("role") != "assistant":
        return ""
    return "".join(block.get("text", "") for block in message.get("content", ()))


class Terminal(Conversation):
    """Terminal mode, in a tmux of its own."""

    def __init__(self, machine: Machine, columns: int = 110, rows: int = 40) -> None:
        super().__init__(machine)
        name = uuid.uuid4().hex[:6]
        self._socket = str(machine.root / f"tmux-{name}")
        self._status = machine.root / f"status-{name}"
        env = [f"{name}={shlex.quote(value)}" for name, value in machine.env.items() if name != "TERM"]
        line = (
            f"cd {shlex.quote(str(machine.project))}; env -i TERM=tmux-256color {' '.join(env)} "
            f"{shlex.join(machine.command('tui'))}; echo $? > {shlex.quote(str(self._status))}"
        )
        size = ("-x", str(columns), "-y", str(rows))
        self._tmux("-f", "/dev/null", "new-session", "-d", "-s", "host", *size, "bash", "--norc", "-c", line)
        self.wait(re.escape(NAME))

    def say(self, prompt: str) -> str:
        said = self.machine.model.said
        before = len(said)
        self.submit(prompt)
        for _ in range(3):
            with suppress(TimeoutError):
                eventually(lambda: len(said) > before, SECONDS / 3)
                break
            self.keys("Enter")  # a key that was let go of, with more lines than `submit` looks at
        else:
            raise TimeoutError(f"the model was not asked to the end; the screen:\n{self.screen()}")
        return self.wait(re.escape(said[-1].text[:40]))

    def give(self, command: str) -> str:
        before = self.screen()
        self.submit(command)
        return str(eventually(lambda: self._quiet(before)))

    def see(self, text: str) -> None:
        self.wait(re.escape(text))

    def submit(self, line: str) -> None:
        """Type *line*, see it, and press Enter."""
        self.type(line)
        self.wait(re.escape(line[:40]))
        time.sleep(0.1)  # else it counts as pasted
        for _ in range(5):  # OMP shows what is typed while it starts, and lets go of the key
            self.keys("Enter")
            with suppress(TimeoutError):
                eventually(lambda: line[:40] not in self.machine.host.editor(self.screen()), 1)
                return

    def type(self, text: str) -> None:
        self._tmux("send-keys", "-t", "host", "-l", "--", text)

    def keys(self, *names: str) -> None:
        """Press keys by tmux's names: Enter, Escape, Up, C-d, BTab, ..."""
        self._tmux("send-keys", "-t", "host", *names)

    def screen(self) -> str:
        return self._tmux("capture-pane", "-p", "-t", "host")

    def wait(self, pattern: str, timeout_s: float = SECONDS) -> str:
        """The screen, once it shows *pattern*.

        Raises:
            TimeoutError: It never did.
            EOFError: The host ended.
        """
        end = time.monotonic() + timeout_s
        while True:
            if self._status.exists():
                raise EOFError(f"the host ended with {self._status.read_text().strip()}")
            screen = self.screen()
            if re.search(pattern, screen):
                return screen
            if time.monotonic() > end:
                raise TimeoutError(f"no {pattern!r} on the screen:\n{screen}")
            time.sleep(0.05)

    def close(self) -> int:
        if not self._status.exists():
            try:
                self.keys("C-d")
                eventually(self._status.exists)
            except (TimeoutError, subprocess.CalledProcessError):
                pass  # ended with its server, or by force in the next line
        subprocess.run(["tmux", "-S", self._socket, "kill-server"], capture_output=True)
        return int(self._status.read_text()) if self._status.exists() else -1

    def _quiet(self, before: str) -> str:
        """The screen, if it is not as it was before and stays for a moment as it is; else nothing."""
        screen = self.screen()
        time.sleep(0.4)
        return screen if screen not in (before, "") and screen == self.screen() else ""

    def _tmux(self, *arguments: str) -> str:
        command = ["tmux", "-u", "-S", self._socket, *arguments]
        return subprocess.run(command, check=True, capture_output=True, text=True, encoding="utf-8").stdout


def missing() -> str:
    """What this computer lacks to run hosts; empty when nothing."""
    if not Path("/proc/self/environ").exists():
        return "/proc is needed to see which processes are left"
    return "" if shutil.which("tmux") else "tmux is not on PATH"
