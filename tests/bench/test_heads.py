"""The benchmark of capability heads finds nothing wrong, and would say so if there were something."""

from __future__ import annotations

from typing import Any

import pytest

from bench import heads
from pepys.model.coverage import Coverage


def failures(figures: dict[str, Any]) -> set[str]:
    return {failure["condition"] for failure in figures["failures"]}


@pytest.mark.requirement("bench.heads")
def test_everything_written_is_found_and_nothing_else() -> None:
    figures = heads.measured(8, 1, lambda text: None)

    assert failures(figures) == set()
    assert figures["catalog"]["heads"] == figures["catalog"]["found_first"]
    assert figures["hot_addresses"]["asked"] == figures["hot_addresses"]["exact"] > 0
    assert figures["cold_sessions"]["wanted"] == figures["cold_sessions"]["found"] > 0
    assert figures["combined"]["with_cold_candidates"] == figures["combined"]["warned"] > 0
    assert 0 < figures["cold_digest_to_source"] < 1
    assert set(figures["combined"]["latency"]) == {"p50_ms", "p95_ms", "p99_ms"}


@pytest.mark.requirement("bench.heads_fails")
@pytest.mark.parametrize(
    ("broken", "value", "condition"),
    [
        ("NEVER", "pi.grep", "a nonexistent ref returns history"),
        ("OUTCOMES", ("succeeded", "unheard of"), "structural provenance is lost"),
    ],
)
def test_what_is_wrong_is_a_failure(
    monkeypatch: pytest.MonkeyPatch, broken: str, value: object, condition: str
) -> None:
    monkeypatch.setattr(heads, broken, value)

    assert condition in failures(heads.measured(8, 1, lambda text: None))


@pytest.mark.requirement("bench.heads_fails")
def test_a_cold_candidate_without_a_warning_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    told = Coverage.as_json
    monkeypatch.setattr(Coverage, "as_json", lambda self: {**told(self), "reasons": []})

    assert "a cold candidate lacks the hydration requirement" in failures(heads.measured(8, 1, lambda text: None))


@pytest.mark.requirement("bench.heads_fails")
def test_the_catalogs_words_in_history_are_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    entry = heads._program

    def leaking(id_: str, parent: str, operations: list[heads.Operation]) -> dict[str, Any]:
        line = entry(id_, parent, operations)
        leak = "List the providers of actions, with what each is for. Use it as the first look at what can be called."
        line["message"]["content"][0]["text"] = leak
        return line

    monkeypatch.setattr(heads, "_program", leaking)

    assert "catalog text is found in history" in failures(heads.measured(8, 1, lambda text: None))
