"""The benchmark of the journal holds search to the specification's conditions, and would say so if they were broken."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from bench import journal, locomo, memories
from bench.journal import Options
from pepys.journal import finding
from pepys.journal.finding import Finding


def figures(tmp_path: Path, **more: Any) -> dict[str, Any]:
    return journal.measured(Options(tmp_path, **{"sizes": (), "haystack": 0, **more}), lambda text: None)


def failures(found: dict[str, Any]) -> set[str]:
    return {failure["condition"] for failure in found["failures"]}


@pytest.mark.requirement("bench.journal")
def test_on_the_half_that_was_not_chosen_on_the_conditions_hold(tmp_path: Path) -> None:
    found = figures(tmp_path)

    report = found["judged"]["report"]
    assert failures(found) == set()
    assert report["injected"]["negative"] <= 0.02 < 0.5 < report["injected"]["answerable"]
    assert report["best_by_words_below_rank_3"] == 0
    assert report["keyword"]["default"]["hit@1"] >= report["keyword"]["bm25"]["hit@1"]
    for kind in ("paraphrase", "question"):
        assert report[kind]["default"]["recall@5"] > report[kind]["bm25"]["recall@5"]


@pytest.mark.requirement("bench.journal")
def test_relevance_that_means_nothing_is_a_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(finding, "share", lambda *_: 1.0)

    assert failures(figures(tmp_path)) == {"negative controls reach the floor"}


@pytest.mark.requirement("bench.journal")
def test_an_order_that_loses_the_best_hit_by_words_is_a_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Finding, "order", lambda self, query, lists: list(lists.own)[::-1])

    assert {
        "the best hit by words fell below rank 3",
        "keyword queries are answered worse than by words alone",
    } <= failures(figures(tmp_path))


def test_in_a_larger_store_unrelated_prompts_still_get_nothing(tmp_path: Path) -> None:
    found, _ = journal.judged(Options(tmp_path), 300)

    for half in ("choose", "report"):
        assert found[half]["injected"]["negative"] <= 0.04  # a docstring may well answer one of thirty
        assert found[half]["keyword"]["default"]["hit@1"] == 1


def test_the_halves_of_the_judged_set_are_alike() -> None:
    counts: dict[str, dict[str, int]] = {"choose": {}, "report": {}}
    for query in memories.judged():
        counts[query.half][query.kind] = counts[query.half].get(query.kind, 0) + 1

    assert counts["choose"] == counts["report"]
    assert set(counts["report"]) == {"keyword", "paraphrase", "question", "cjk", "negative"}


def test_speed_is_measured_in_process_and_in_cold_processes(tmp_path: Path) -> None:
    found = journal.measured(Options(tmp_path, sizes=(60,), queries=2, cold=1, haystack=0), lambda text: None)["sizes"][
        "60"
    ]

    assert found["files"] == 2
    assert found["build"]["chunks"] == 60
    assert found["build"]["vectors"] >= 120
    assert set(found["search"]) >= {"word", "words", "sentence", "refresh", "rss_mb"}
    assert found["search"]["words"]["failed"] == 0
    assert found["cold"]["n"] == 1


def test_locomo_is_read_where_it_lies_and_its_adversarial_questions_are_apart(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    turns = [
        {"speaker": "Ann", "dia_id": "D1:1", "text": "I adopted a greyhound called Pixel."},
        {"speaker": "Bo", "dia_id": "D1:2", "text": "I bake rye bread on Sundays.", "blip_caption": "a loaf"},
    ]
    questions = [
        {"question": "What is Ann's greyhound called?", "evidence": ["D1:1"], "category": 4},
        {"question": "When does Bo bake bread?", "evidence": ["D1:2"], "category": 2},
        {"question": "What does Ann bake?", "evidence": ["D1:2"], "category": 5},
        {"question": "Nothing of it?", "evidence": [], "category": 3},
    ]
    when = "1:56 pm on 8 May, 2023"
    conversation = {"session_1": turns, "session_1_date_time": when, "qa": questions}
    (data / "42.json").write_text(json.dumps(conversation))
    options = Options(tmp_path)

    found = locomo.measured(data, tmp_path / "work", journal.opener(options), lambda text: None)

    assert set(found) == {"report"}
    assert found["report"]["questions"] == 2
    assert found["report"]["default"]["hit@1"] == 1
    assert set(found["report"]["bm25"]["recall@10_by_category"]) == {"single_hop", "temporal", "adversarial"}
