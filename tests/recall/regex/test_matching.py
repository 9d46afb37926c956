"""Matching is bounded, and nothing of it is left when it is over."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from pepys.recall.regex import Limits, check, match, matching, worker

LIMITS = Limits(pattern_bytes=1024, items=20_000, item_bytes=2 << 20, timeout_ms=30_000)
SHORT = LIMITS._replace(timeout_ms=100)

CATASTROPHIC = "(?:a|aa)+$"
LONG_AS = "a" * 60 + "b"


@pytest.fixture
def workers(monkeypatch: pytest.MonkeyPatch) -> list[subprocess.Popen[bytes]]:
    """The workers that a test started."""
    started: list[subprocess.Popen[bytes]] = []
    start = matching._started

    def remembered(*args: object) -> subprocess.Popen[bytes]:
        process = start(*args)  # type: ignore[arg-type]
        started.append(process)
        return process

    monkeypatch.setattr(matching, "_started", remembered)
    return started


def is_gone(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


@pytest.mark.requirement("regex.finds", "regex.isolated")
def test_items_are_found_by_number_with_the_place_of_the_first_match() -> None:
    result = match("needle", ["no", "a NEEDLE, a needle", "😀needle", "né"], LIMITS)

    assert result == ({1: 2, 2: 1}, frozenset(), None)


def test_an_empty_pattern_matches_everything_at_its_beginning() -> None:
    assert match("", ["", "x"], LIMITS).found == {0: 0, 1: 0}


def test_nothing_is_found_in_nothing_and_no_worker_is_started(workers: list[subprocess.Popen[bytes]]) -> None:
    assert match("x", [], LIMITS) == ({}, frozenset(), None)
    assert workers == []


@pytest.mark.parametrize(
    ("pattern", "text", "start"),
    [
        (r"\0b", "a\0b", 1),
        (r"\ud83d", "ab\ud83d", 2),
        ("x$", "é" * ((2 << 20) // 2 - 1) + "x", (2 << 20) // 2 - 1),
        (r"\n\r\n$", "a\n\r\n", 1),
    ],
    ids=["nul", "lone surrogate", "as large as allowed", "line ends"],
)
def test_texts_arrive_as_they_are(pattern: str, text: str, start: int) -> None:
    assert match(pattern, [text], LIMITS).found == {0: start}


def test_many_items_are_matched_at_once() -> None:
    found = match(r"^\d*7$", map(str, range(20_000)), LIMITS).found

    assert list(found) == list(range(7, 20_000, 10))


# Limits


@pytest.mark.requirement("regex.items")
def test_items_over_the_count_are_not_taken() -> None:
    items = iter(["x"] * 10)

    result = match("x", items, LIMITS._replace(items=3))

    assert result == ({0: 0, 1: 0, 2: 0}, frozenset({"regex_max_haystack_terms"}), None)
    assert len(list(items)) == 6  # one more was taken, to know that it is there


def test_as_many_items_as_allowed_are_complete() -> None:
    assert match("x", ["x"] * 3, LIMITS._replace(items=3)) == ({0: 0, 1: 0, 2: 0}, frozenset(), None)


@pytest.mark.requirement("regex.item_bytes")
def test_collection_ends_at_the_first_item_that_does_not_fit() -> None:
    items = iter(["éx", "ééx", "x", "x"])

    result = match("x", items, LIMITS._replace(item_bytes=7))

    assert result == ({0: 1}, frozenset({"regex_max_haystack_bytes"}), None)
    assert len(list(items)) == 2


def test_as_many_bytes_as_allowed_are_complete() -> None:
    assert match("x", ["éx", "x"], LIMITS._replace(item_bytes=4)) == ({0: 1, 1: 0}, frozenset(), None)


def test_a_first_item_that_does_not_fit_leaves_nothing_to_match(workers: list[subprocess.Popen[bytes]]) -> None:
    result = match("x", ["xx"], LIMITS._replace(item_bytes=1))

    assert result == ({}, frozenset({"regex_max_haystack_bytes"}), None)
    assert workers == []


@pytest.mark.requirement("regex.pattern_bytes", "regex.invalid")
@pytest.mark.parametrize(
    ("pattern", "code"),
    [("é" * 512 + "x", "regex_pattern_too_large"), ("(", "invalid_regex"), (r"(?:(a)|b)*\1", "invalid_regex")],
)
def test_a_pattern_that_is_refused_takes_nothing(
    pattern: str, code: str, workers: list[subprocess.Popen[bytes]]
) -> None:
    items = iter(["x"])

    result = match(pattern, items, LIMITS)

    assert result.found == {}
    assert result.reasons == {code}
    assert result.error is not None
    assert result.error["code"] == code
    assert result.error == check(pattern, LIMITS)
    assert list(items) == ["x"]
    assert workers == []


def test_a_pattern_as_large_as_allowed_is_tried() -> None:
    assert check("é" * 512, LIMITS) is None
    assert match("é" * 512, ["é"], LIMITS).error is None


def test_a_pattern_of_nothing_but_groups_is_refused_before_it_costs_anything() -> None:
    error = check("(" * 30_000 + ")" * 30_000, LIMITS._replace(pattern_bytes=65_536))

    assert error == {
        "code": "invalid_regex",
        "message": "Invalid regular expression: groups are nested more than 100 deep at 100.",
    }


# Worker


@pytest.mark.requirement("regex.timeout", "regex.killed")
@pytest.mark.parametrize("pattern", [CATASTROPHIC, "^(?:a|aa)+c", "(?:(?:(?:a{1000}){1000}){1000}){1000}"])
def test_a_pattern_that_takes_too_long_is_stopped(pattern: str, workers: list[subprocess.Popen[bytes]]) -> None:
    result = match(pattern, [LONG_AS], SHORT)

    assert result == (
        {},
        frozenset({"regex_timeout"}),
        {"code": "regex_timeout", "message": "The pattern took more than 100 ms, and its worker was killed."},
    )
    (process,) = workers
    assert process.returncode == -signal.SIGKILL
    assert is_gone(process.pid)


def test_slow_items_do_not_count_as_time_of_the_pattern() -> None:
    def slowly() -> Iterator[str]:
        yield "x"
        time.sleep(0.5)
        yield "x"

    assert match("x", slowly(), LIMITS._replace(timeout_ms=400)).found == {0: 0, 1: 0}


@pytest.mark.parametrize(
    ("pattern", "items"),
    [("x", ["x"]), (CATASTROPHIC, [LONG_AS]), ("x", ["x" * 100] * 5)],
    ids=["found", "timeout", "limit"],
)
def test_nothing_is_left_of_a_worker(pattern: str, items: list[str], workers: list[subprocess.Popen[bytes]]) -> None:
    before = len(os.listdir("/dev/fd"))

    match(pattern, items, SHORT._replace(item_bytes=400))

    assert len(os.listdir("/dev/fd")) == before
    assert [is_gone(process.pid) for process in workers] == [True]


@pytest.mark.requirement("regex.worker_error")
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux limits address space")
def test_a_pattern_that_needs_too_much_memory_ends_its_worker_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matching, "MEMORY_BYTES", 150 << 20)

    result = match("(?:(?:a{1000}){1000}){1000}", ["a"], LIMITS._replace(item_bytes=1024))

    assert result.found == {}
    assert result.error == {"code": "regex_worker_error", "message": "The worker failed: out of memory."}


@pytest.mark.requirement("regex.worker_error")
@pytest.mark.parametrize("program", ["/nowhere/python", "/bin/false", ""])
def test_a_worker_that_cannot_run_is_an_error(program: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", program)

    result = match("x", ["x" * 100_000] * 20, LIMITS)

    assert result.found == {}
    assert result.reasons == {"regex_worker_error"}
    assert result.error is not None
    assert result.error["code"] == "regex_worker_error"


@pytest.mark.requirement("regex.worker_error")
@pytest.mark.parametrize(
    "program",
    [
        "import sys; sys.stdin.buffer.read(1)",
        "import os; os.write(1, b'r'); os.read(0, 99); os.abort()",
        "import os; os.write(1, b'r'); os.read(0, 1 << 20); os.write(1, b'm'); os.write(1, b'\\0')",
        "import os; os.write(1, b'f\\0\\0\\0\\1!')",
        "import sys; sys.exit(1)",
    ],
)
def test_a_worker_that_breaks_off_is_an_error(program: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "broken.py"
    path.write_text(program, encoding="utf-8")
    monkeypatch.setattr(worker, "__file__", str(path))

    result = match("x", ["x" * 100_000], LIMITS)

    assert result.found == {}
    assert result.reasons == {"regex_worker_error"}


def test_a_worker_that_never_begins_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "silent.py"
    path.write_text("import time; time.sleep(600)", encoding="utf-8")
    monkeypatch.setattr(worker, "__file__", str(path))
    monkeypatch.setattr(matching, "TRANSFER_SECONDS", 0.2)

    assert match("x", ["x"], LIMITS).reasons == {"regex_worker_error"}
    assert match("x", ["x" * 1_000_000], LIMITS).reasons == {"regex_worker_error"}


def test_what_the_items_raise_is_raised_and_leaves_no_worker(workers: list[subprocess.Popen[bytes]]) -> None:
    def broken() -> Iterator[str]:
        yield "x"
        raise OSError("the source vanished")

    with pytest.raises(OSError, match="vanished"):
        match("x", broken(), LIMITS)

    assert [is_gone(process.pid) for process in workers] == [True]


PARENT = f"""
from pepys.recall.regex import Limits, match, matching
start = matching._started
def started(*args):
    process = start(*args)
    print(process.pid, flush=True)
    return process
matching._started = started
match({CATASTROPHIC!r}, [{LONG_AS!r}], Limits(100, 100, 100, 600_000))
"""


@pytest.mark.requirement("regex.killed")
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")
def test_a_worker_does_not_outlive_its_parent() -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen([sys.executable, "-c", PARENT], stdout=subprocess.PIPE, env=environment) as parent:
        assert parent.stdout is not None
        stat = Path(f"/proc/{int(parent.stdout.readline())}/stat")
        assert stat.exists()
        time.sleep(0.5)  # by then it is matching, as a rule

        parent.kill()

    deadline = time.monotonic() + 30
    while stat.exists() and stat.read_text(encoding="ascii").split()[2] != "Z" and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not stat.exists() or stat.read_text(encoding="ascii").split()[2] == "Z"


def test_the_calling_process_does_not_load_the_package_that_matches() -> None:
    program = "import sys, pepys.recall.regex as r; r.check('a', r.Limits(9, 9, 9, 9)); print('regex' in sys.modules)"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}

    shown = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment, check=True)

    assert shown.stdout == "False\n"
