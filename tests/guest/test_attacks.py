"""Programs that try to get out, to stay, or to take more than their share."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from pepys.errors import PepysError, ProgramFailed, ProgramStopped
from tests.guest.conftest import Run, alone
from tests.recall.diary import Diary


def empty(ref: str, args: Mapping[str, object]) -> object:
    return {"total": 0, "hits": [], "next": None}


def workers() -> list[int]:
    """The sandbox's processes that this one has started."""
    children = [(thread / "children").read_text().split() for thread in Path("/proc/self/task").iterdir()]
    return [int(id_) for ids in children for id_ in ids if Path(f"/proc/{id_}/comm").read_text() == "monty\n"]


@pytest.fixture
def outside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder that is the working directory and must stay as it is."""
    folder = tmp_path / "outside"
    folder.mkdir()
    (folder / "secret.txt").write_text("secret")
    monkeypatch.chdir(folder)
    monkeypatch.setenv("PEPYS_TEST_SECRET", "secret")
    yield folder
    assert [path.name for path in folder.iterdir()] == ["secret.txt"]
    assert (folder / "secret.txt").read_text() == "secret"


# Getting out


@pytest.mark.requirement("guest.isolated")
@pytest.mark.parametrize(
    "attempt",
    [
        "open('secret.txt').read()",
        "open('/etc/passwd').read()",
        "open('new.txt', 'w').write('x')",
        "open('/proc/self/environ', 'rb').read()",
        "with open('secret.txt', 'a') as file:\n    file.write('x')",
        "from pathlib import Path\nPath('secret.txt').read_text()",
        "from pathlib import Path\nPath('new.txt').write_text('x')",
        "from pathlib import Path\nPath('new').mkdir()",
        "from pathlib import Path\nPath('secret.txt').unlink()",
        "from pathlib import Path\nlist(Path('/').iterdir())",
        "import os\nos.listdir('/')",
        "import os\nos.environ['PEPYS_TEST_SECRET']",
        "import os\nreturn os.environ",
        "import os\nos.system('touch new.txt')",
        "import os\nos.remove('secret.txt')",
        "import os\nos.kill(1, 9)",
        "import os\nos.fork()",
        "import os\nos.urandom(8)",
        "import subprocess\nsubprocess.run(['touch', 'new.txt'])",
        "import socket\nsocket.socket()",
        "import ctypes",
        "import threading",
        "import importlib\nimportlib.import_module('os')",
        "import pepys",
        "from pepys import workspace",
        "import pydantic_monty",
        "import sys\nsys.modules['os']",
        "__import__('os').system('touch new.txt')",
        "__builtins__",
        "eval('__import__(\"os\")')",
        "eval('open(\"secret.txt\").read()')",
        "exec('import os\\nos.remove(\"secret.txt\")')",
        "().__class__.__base__.__subclasses__()",
        "(lambda: 0).__globals__",
        "(lambda: 0).__code__",
        "memory.recall.__globals__",
        "memory.recall.__self__",
        "memory.__class__.__mro__",
        "memory._Run__call",
        "getattr(memory, '__dict__')",
        "type('x', (memory.__class__,), {})",
        "input()",
        "breakpoint()",
    ],
)
def test_there_is_no_way_out(run: Run, outside: Path, attempt: str) -> None:
    with pytest.raises(ProgramFailed):
        run(attempt)


def test_the_working_directory_of_a_program_is_nobody_s(run: Run, outside: Path) -> None:
    assert run("import os\nreturn os.getcwd()")["value"] == "/"


def test_a_program_that_replaces_its_modules_changes_only_itself(run: Run) -> None:
    first = run("memory.recall = lambda **k: 'mine'\nmemory.expand = None\nreturn memory.recall()")

    assert first["value"] == "mine"
    assert run("return memory.recall(scope='global')['total']")["value"] == 0


# Taking more


@pytest.mark.requirement("guest.limits")
@pytest.mark.parametrize(
    "attempt",
    [
        "while True:\n    pass",
        "while True:\n    try:\n        while True:\n            pass\n    except BaseException:\n        pass",
        "sum(range(10 ** 12))",
        "while True:\n    print('x' * 1000)",
        "while True:\n    memory.recall()",
        "async def visit(entry):\n    while True:\n        pass\nawait visit(1)",
        "import time\nwhile True:\n    time.sleep(1000)",
        "import re\nre.match('(a+)+$', 'a' * 64 + 'b')\nwhile True:\n    pass",
    ],
)
def test_an_endless_program_is_stopped(attempt: str) -> None:
    outcome = alone(attempt, empty, timeout_ms=300, max_calls=10**6)

    assert isinstance(outcome.error, ProgramStopped)
    assert outcome.error.details["limit"] == "guest.timeoutMs"
    assert len(outcome.output) <= 50_000


def test_the_deadline_counts_what_calls_take() -> None:
    def slow(ref: str, args: Mapping[str, object]) -> object:
        threading.Event().wait(0.1)
        return {}

    outcome = alone("while True:\n    memory.recall()", slow, timeout_ms=300)

    assert outcome.error is not None
    assert outcome.error.details["limit"] == "guest.timeoutMs"
    assert outcome.calls <= 6


def test_a_shorter_deadline_can_be_asked_for_and_no_longer_one(diary: Diary) -> None:
    endless = "while True:\n    pass"

    with pytest.raises(ProgramStopped, match="longer than 50 ms"):
        diary.call("guest.run", {"program": endless, "timeoutMs": 50})
    with pytest.raises(ProgramStopped, match="longer than 60 ms"):
        overrides = {"guest": {"timeoutMs": 60}}
        diary.call("guest.run", {"program": endless, "timeoutMs": 10**6}, config_overrides=overrides)


@pytest.mark.requirement("guest.limits")
@pytest.mark.parametrize(
    "attempt",
    [
        "x = [1]\nwhile True:\n    x = x + x",
        "x = [1]\nwhile True:\n    try:\n        x = x + x\n    except BaseException:\n        x = x + x",
        "'a' * 10 ** 12",
        "2 ** (10 ** 10)",
        "list(range(10 ** 9))",
        "d = {}\nwhile True:\n    d[len(d)] = 'x' * 1000",
        "'{:>1000000000000}'.format(1)",
        "a = []\nfor n in range(26):\n    a = [a, a]\nreturn str(a)",
    ],
)
def test_a_program_has_no_more_memory_than_it_is_given(attempt: str) -> None:
    outcome = alone(attempt, empty, memory_bytes=16 * 1024 * 1024, timeout_ms=10_000)

    assert isinstance(outcome.error, PepysError)
    assert outcome.error.code in ("program_stopped", "program_failed")


@pytest.mark.requirement("guest.limits")
@pytest.mark.parametrize(
    "attempt",
    [
        "def deeper(n):\n    return deeper(n + 1)\ndeeper(0)",
        "class A:\n    def __repr__(self):\n        return repr(self)\nrepr(A())",
        "async def deeper(n):\n    return await deeper(n + 1)\nawait deeper(0)",
    ],
)
def test_recursion_is_bounded(attempt: str) -> None:
    outcome = alone(attempt, empty)

    assert isinstance(outcome.error, ProgramStopped)
    assert outcome.error.details["limit"] == "recursion"


@pytest.mark.parametrize(
    "source", ["(" * 20_000, "-" * 50_000 + "1", "[" * 300 + "]" * 300, "x = " + "1+" * 100_000 + "1", "\x00", "\ud83d"]
)
def test_source_that_would_break_a_parser_is_an_error_or_a_value(run: Run, source: str) -> None:
    try:
        run(source)
    except PepysError as error:
        assert error.code in ("program_failed", "program_stopped")


@pytest.mark.requirement("guest.limits")
def test_calls_are_counted(run: Run) -> None:
    program = "for n in range({}):\n    await memory.sessions(scope='global')\nreturn n"

    assert run(program.format(5), limits={"maxCalls": 5}) == {"value": 4, "calls": 5, "output": ""}
    with pytest.raises(ProgramStopped, match="more than 5 calls") as caught:
        run(program.format(6), limits={"maxCalls": 5})

    assert caught.value.details["limit"] == "guest.maxCalls"


def test_refused_names_and_imports_are_counted_too() -> None:
    program = "while True:\n    try:\n        import nothing\n    except ImportError:\n        pass"

    outcome = alone(program, empty, max_calls=10)

    assert outcome.error is not None
    assert outcome.error.details["limit"] == "guest.maxCalls"


@pytest.mark.requirement("guest.limits")
@pytest.mark.parametrize("nested", ["[x]", "{'a': x}", "(x,)"])
def test_what_is_nested_too_deep_does_not_cross(nested: str) -> None:
    deep = f"x = 1\nfor n in range(5000):\n    x = {nested}\n"

    returned, given = alone(deep + "return x", empty), alone(deep + "memory.recall(query=x)", empty)

    for outcome in (returned, given):
        assert isinstance(outcome.error, PepysError)
        assert outcome.error.code in ("program_failed", "program_stopped")


def test_a_loop_in_a_value_is_an_error(run: Run) -> None:
    with pytest.raises(ProgramFailed, match=r"\[1\] holds itself"):
        run("x = [1]\nx += [x]\nreturn x")


def test_arguments_are_bounded_like_anybody_s(run: Run) -> None:
    with pytest.raises(ProgramFailed, match="query must have at most 4096 characters"):
        run("memory.recall(query='x' * 5000000)")


# Trouble


@pytest.mark.skipif(sys.platform != "linux", reason="children are read from /proc")
def test_a_worker_that_dies_is_reported_and_the_next_one_works() -> None:
    def kill(ref: str, args: Mapping[str, object]) -> object:
        for worker in workers():
            os.kill(worker, signal.SIGKILL)
        return {}

    outcome = alone("memory.recall()\nreturn 1", kill)

    assert isinstance(outcome.error, ProgramStopped)
    assert "worker died" in outcome.error.message
    assert alone("return 1", empty).value == 1


def test_an_interrupt_ends_a_program_at_once() -> None:
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()

    with pytest.raises(KeyboardInterrupt):
        alone("while True:\n    pass", empty)


@pytest.mark.skipif(sys.platform != "linux", reason="children are read from /proc")
def test_no_worker_outlives_its_program() -> None:
    for program in ("return 1", "while True:\n    pass", "raise ValueError"):
        alone(program, empty, timeout_ms=100)

    assert workers() == []
