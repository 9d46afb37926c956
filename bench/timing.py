"""Clocks and child processes: how long something took, and how much memory of its own it held meanwhile."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

SAMPLE_S = 0.02

_ROOT = Path(__file__).resolve().parent.parent
_NOWHERE = "/nonexistent"
_LEFT_OUT = ("PEPYS_", "PI_", "PYTHON", "XDG_")


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a child process did."""

    value: Any  # the JSON that it printed; its text, if that is none
    wall_s: float
    rss_bytes: int  # peak
    anonymous_bytes: int  # peak of RssAnon, sampled; 0 where the system does not tell
    status: int


def environment() -> dict[str, str]:
    """The environment of child processes: this repository's packages, and nobody's home, settings or sessions.

    The interpreter's own settings go too: without its bytecode cache, for one, every start would compile everything.
    """
    paths = [str(_ROOT / "src"), str(_ROOT), os.environ.get("PYTHONPATH", "")]
    kept = {name: value for name, value in os.environ.items() if not name.startswith(_LEFT_OUT)}
    return {**kept, "PYTHONPATH": os.pathsep.join(filter(None, paths)), "PYTHONHASHSEED": "0", "HOME": _NOWHERE}


def python(*arguments: str) -> list[str]:
    """A command that runs this interpreter."""
    return [sys.executable, *arguments]


def probe(name: str, *, sampled: bool = False, **arguments: Any) -> Outcome:
    """Run `bench.probe`'s function *name* in a process of its own.

    Raises:
        RuntimeError: It failed; with what it said.
    """
    outcome = run(python("-m", "bench.probe", name, json.dumps(arguments)), sampled=sampled)
    if outcome.status:
        raise RuntimeError(f"The probe {name} exited with {outcome.status}.")
    return outcome


def run(command: Sequence[str], *, sampled: bool = False) -> Outcome:
    """Run *command*; what it writes to stderr goes through.

    Args:
        command: Program and arguments.
        sampled: Watch its anonymous memory, fifty times a second.
    """
    started = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment()) as child:
        assert child.stdout is not None
        anonymous = _watched(child) if sampled else 0
        said = child.stdout.read()
        _, status, used = os.wait4(child.pid, 0)
        wall_s = time.perf_counter() - started
        child.returncode = os.waitstatus_to_exitcode(status)
    try:
        value = json.loads(said)
    except ValueError:
        value = said.decode(errors="replace")
    # Kilobytes on Linux, bytes on macOS.
    scale = 1 if sys.platform == "darwin" else 1024
    return Outcome(value, wall_s, used.ru_maxrss * scale, anonymous, child.returncode)


def _watched(child: subprocess.Popen[bytes]) -> int:
    """The peak of RssAnon until *child* ends; it must not write more to stdout than a pipe holds."""
    peak = 0
    ended = os.WEXITED | os.WNOHANG | os.WNOWAIT
    while os.waitid(os.P_PID, child.pid, ended) is None:
        peak = max(peak, _anonymous(child.pid))
        time.sleep(SAMPLE_S)
    return peak


def _anonymous(pid: int) -> int:
    try:
        with open(f"/proc/{pid}/status") as lines:
            return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("RssAnon")), 0)
    except OSError:
        return 0


def spread(seconds: Iterable[float]) -> dict[str, float]:
    """p50 and p95 of *seconds*, in milliseconds."""
    ordered = sorted(seconds)
    last = len(ordered) - 1
    return {
        "p50_ms": round(median(ordered) * 1e3, 4),
        "p95_ms": round(ordered[round(last * 0.95)] * 1e3, 4),
        "n": len(ordered),
    }


def by_kind(work: Sequence[tuple[str, Callable[[], int]]], passes: int = 3) -> Mapping[str, dict[str, Any]]:
    """Time *work*, warm: the least of several passes for each piece, spread over the pieces of a kind.

    The passes go over everything in turn, so that nothing that only remembers its last answer looks fast. What
    raises is counted, and its message kept: one failing query must not hide the figures of all others.

    Args:
        work: (kind, what to do; it returns how many hits there were).
        passes: How many times everything is done.
    """
    least = [float("inf")] * len(work)
    hits = [0] * len(work)
    errors: dict[int, str] = {}
    for _ in range(passes):
        for number, (_, doing) in enumerate(work):
            started = time.perf_counter()
            try:
                hits[number] = doing()
            except Exception as error:
                errors[number] = f"{type(error).__name__}: {error}"
            least[number] = min(least[number], time.perf_counter() - started)
    return {
        kind: _figure([number for number, (other, _) in enumerate(work) if other == kind], least, hits, errors)
        for kind in dict.fromkeys(kind for kind, _ in work)
    }


def _figure(
    numbers: Sequence[int], least: Sequence[float], hits: Sequence[int], errors: Mapping[int, str]
) -> dict[str, Any]:
    good = [number for number in numbers if number not in errors]
    failures = [errors[number] for number in numbers if number in errors]
    figure: dict[str, Any] = {"failed": len(failures)}
    if failures:
        figure["error"] = failures[0]
    if good:
        figure |= {**spread(least[number] for number in good), "hits_p50": median(hits[number] for number in good)}
    return figure
