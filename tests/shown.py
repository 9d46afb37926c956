"""What a run of all tests must have shown: every promise by a test that ran, every error code and reason produced.

A run of some tests is not judged.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest

from pepys.errors import PepysError
from pepys.events import coverage as events
from pepys.model.coverage import REASONS, Coverage
from tests.requirements import REQUIREMENTS

TESTS = Path(__file__).parent


class Shown:
    """A plugin of pytest."""

    def __init__(self) -> None:
        self._marked: dict[str, set[str]] = {}  # by test
        self._files: set[Path] = set()
        self._deselected = False
        self._done: set[str] = set()
        self._ran: set[str] = set()
        self._missing: list[str] = []
        self._codes: set[str] = set()
        self._reasons: set[str] = set()
        self._listen()

    def _listen(self) -> None:
        made = PepysError.__init__

        def make(error: PepysError, *args: Any, **keywords: Any) -> None:
            if sys._getframe(1).f_globals["__name__"].startswith("pepys."):  # not the ones that tests make
                self._codes.add(error.code)
            made(error, *args, **keywords)

        PepysError.__init__ = make  # type: ignore[assignment,method-assign]
        for cls in (Coverage, events.Coverage):
            cls.as_json = self._noting(cls.as_json)  # type: ignore[method-assign]

    def _noting(self, shown: Callable[..., dict[str, object]]) -> Callable[..., dict[str, object]]:
        """The same, but that the reasons in what it returns are noted."""

        def show(coverage: object) -> dict[str, object]:
            result = shown(coverage)
            reasons = result["reasons"]
            self._reasons.update(map(str, reasons if isinstance(reasons, list) else ()))
            return result

        return show

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: Sequence[pytest.Item]) -> None:
        for item in items:
            self._files.add(item.path)
            self._marked[item.nodeid] = {id_ for mark in item.iter_markers("requirement") for id_ in mark.args}

    def pytest_deselected(self, items: Sequence[pytest.Item]) -> None:
        self._deselected |= bool(items)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._done.add(report.nodeid)
        if report.when == "call" and not report.skipped:
            self._ran.add(report.nodeid)

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if not self._whole(session):
            return
        shown = set().union(*(self._marked[test] for test in self._ran))
        self._missing = [
            *_missing("promise shown by no test that ran", REQUIREMENTS, shown),
            *_missing("error code never produced", _error_codes(), self._codes),
            *_missing("coverage reason never given", REASONS, self._reasons),
        ]
        if self._missing and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def _whole(self, session: pytest.Session) -> bool:
        """Whether every test that there is was asked for and came to its end."""
        return (
            not self._deselected
            and not any("::" in argument for argument in session.config.args)
            and self._files >= set(TESTS.rglob("test_*.py"))
            and self._done == self._marked.keys()
        )

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self._missing:
            terminalreporter.section("what this run has not shown", red=True)
            for line in self._missing:
                terminalreporter.line(line)


def _missing(what: str, wanted: Iterable[str], found: set[str]) -> list[str]:
    return [f"{what}: {name}" for name in sorted(set(wanted) - found)]


def _error_codes() -> set[str]:
    """The codes of every class of errors that Pepys has; `internal_error` stands for what nobody foresaw."""
    classes, codes = [PepysError], set()
    while classes:
        found = [cls for cls in classes.pop().__subclasses__() if cls.__module__.startswith("pepys.")]
        codes |= {cls.code for cls in found}
        classes += found
    return codes
