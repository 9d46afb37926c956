"""A model condenses the store, on explicit request."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pepys.errors import InvalidArgument, ModelUnavailable
from pepys.journal import engines, entries, store
from tests.journal.project import Project, command, entry
from tests.journal.test_capture import Model

pytestmark = pytest.mark.usefixtures("plain")

Json = dict[str, Any]


@pytest.mark.requirement("journal.compact.summary", "journal.compact.block", "journal.compact.indexed")
def test_the_summary_joins_todays_file_and_is_returned(project: Project) -> None:
    project.write_day(entry("10:00", "cache in Redis"))
    project.write_day(entry("09:00", "varnish"), "2026-08-12")
    model = Model("All about caches.")

    answer = project.call("journal.compact", complete=model)

    assert answer["text"] == "All about caches."
    assert (
        project.day().read_text() == entry("10:00", "cache in Redis") + "\n\n## Memory Compact\n\nAll about caches.\n"
    )
    ((_, _, prompt),) = model.asked
    assert prompt == "### 09:00\n\n- varnish\n\n---\n\n### 10:00\n\n- cache in Redis"
    assert project.call("journal.search", {"query": "all about"})["hits"]


def test_an_empty_day_first_gets_its_title(project: Project) -> None:
    project.write_day(entry("09:00", "varnish"), "2026-08-12")

    project.call("journal.compact", complete=Model("All."))

    assert project.day().read_text() == "# 2026-08-13\n\n\n## Memory Compact\n\nAll.\n"


@pytest.mark.requirement("journal.compact.nothing")
def test_without_chunks_there_is_nothing_to_compact_and_nothing_is_spent(project: Project) -> None:
    model = Model()

    answer = project.call("journal.compact", complete=model)

    assert answer["text"] == "Nothing to compact: the collection has no indexed chunks."
    assert model.asked == []


@pytest.mark.requirement("journal.compact.snapshot")
def test_the_snapshot_is_not_refreshed(project: Project) -> None:
    path = project.talk()
    project.write_day(entry("10:00", "one"))
    first = project.call("journal.start", session_file=path)["snapshot"]

    project.call("journal.compact", session_file=path, complete=Model("All."))

    assert project.call("journal.snapshot", session_file=path)["snapshot"] == first


@pytest.mark.requirement("journal.compact.refusal", "journal.degrade.compact_refusal")
def test_a_store_that_is_not_named_memory_is_refused_before_anything_is_looked_at(
    project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(engines.ENGINES, "pepys", "pepys.journal.not_there")
    cmd = command(project.home / "cmd", memory_dir=str(tmp_path / "mesh" / "shop"), collection="c", state_dir="")
    model = Model()

    with pytest.raises(InvalidArgument, match="mesh/shop"):
        project.call("journal.compact", complete=model, **project.config(storeCommand=cmd))

    assert model.asked == []


@pytest.mark.requirement("journal.degrade.compact")
def test_without_a_backend_there_are_instructions(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(engines.ENGINES, "pepys", "pepys.journal.not_there")

    assert "Reinstall Pepys" in project.call("journal.compact", complete=Model())["text"]


@pytest.mark.requirement("journal.compact.model")
def test_without_any_model_both_places_for_one_are_named(project: Project) -> None:
    project.write_day(entry("10:00", "one"))

    with pytest.raises(ModelUnavailable, match=r"llm\.provider.*caller"):
        project.call("journal.compact")

    assert project.day().read_text() == entry("10:00", "one")


@pytest.mark.requirement("journal.compact.model")
def test_memsearchs_own_model_comes_before_the_callers(project: Project) -> None:
    project.write_day(entry("10:00", "one"))
    (project.home / ".memsearch").mkdir()
    (project.home / ".memsearch" / "config.toml").write_text(
        '[llm]\nprovider = "openai"\napi_key = "env:NO_SUCH_KEY"\n'
    )
    model = Model()

    with pytest.raises(ModelUnavailable, match="openai has no key"):
        project.call("journal.compact", complete=model)

    assert model.asked == []


def test_a_project_cannot_name_the_model_that_reads_everybodys_memory(project: Project) -> None:
    project.write_day(entry("10:00", "one"))
    (project.root / ".memsearch.toml").write_text('[llm]\nprovider = "openai"\nbase_url = "http://evil"\n')

    assert project.call("journal.compact", complete=Model("All."))["text"] == "All."


@pytest.mark.parametrize("answer", ["  \n", RuntimeError("no budget")])
def test_a_model_that_gives_nothing_leaves_the_store_as_it_was(project: Project, answer: str | Exception) -> None:
    project.write_day(entry("10:00", "one"))

    with pytest.raises(ModelUnavailable):
        project.call("journal.compact", complete=Model(answer))

    assert project.day().read_text() == entry("10:00", "one")


@pytest.mark.requirement("journal.compact.block")
def test_headings_of_the_summary_do_not_end_its_block(project: Project) -> None:
    project.write_day(entry("09:00", "varnish"))

    project.call("journal.compact", complete=Model("# Top\n## Next\n### 10:00\n- x\n```\n# code\n```\n##### deep"))

    (_, block) = entries.blocks(store.read(str(project.day())))
    assert block.text == ("## Memory Compact\n\n### Top\n#### Next\n\\### 10:00\n- x\n```\n # code\n```\n###### deep")


@pytest.mark.requirement("journal.compact.regenerates")
def test_a_later_compaction_makes_a_fresh_summary(project: Project) -> None:
    project.write_day(entry("09:00", "varnish"))
    project.call("journal.compact", complete=Model("First."))
    hash_ = project.call("journal.search", {"query": "First"})["hits"][0]["chunk_hash"]
    project.call("journal.forget", {"chunk_hash": hash_})

    project.call("journal.compact", complete=Model("Second."))

    assert "First" not in project.day().read_text()
    assert "Second." in project.day().read_text()


def test_a_store_that_is_too_large_for_one_request_is_condensed_in_parts(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pepys.journal.compact.COMPACT_CHARS", 100)
    project.write_day("".join(entry(f"10:0{number}", f"fact {number} " + "x" * 30) for number in range(6)))
    model = Model("a", "b", "c", "All.")

    answer = project.call("journal.compact", complete=model)

    prompts = [prompt for *_, prompt in model.asked]
    assert answer["text"] == "All."
    assert len(prompts) == 4
    assert prompts[3] == "a\n\n---\n\nb\n\n---\n\nc"
    assert [f"fact {number} " in prompts[number // 2] for number in range(6)] == [True] * 6


def test_a_model_that_only_repeats_is_not_asked_for_ever(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pepys.journal.compact.COMPACT_CHARS", 100)
    project.write_day("".join(entry(f"10:0{number}", f"fact {number} " + "x" * 30) for number in range(6)))

    with pytest.raises(ModelUnavailable, match="does not condense"):
        project.call("journal.compact", complete=Model("y" * 100))
