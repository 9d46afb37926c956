"""Redaction in answers: what is shown to people is masked, what is called is exact, and words are found either way."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pepys.recall import envelope
from pepys.redaction import MASK
from tests.credentials import LEADS, TOKENS, private_key
from tests.recall import details
from tests.recall.diary import Diary, called, user

ALWAYS = {"config_overrides": {"memory": {"redact": "always"}}}
OFF = {"config_overrides": {"memory": {"redact": "off"}}}


def texts(diary: Diary, session: str, *, max_chars: int = 20_000, **keywords: Any) -> str:
    """The text of the session's first record, put together from its chunks."""
    parts: list[str] = []
    with diary.open(**keywords) as workspace:
        page = workspace.call("memory.expand", {"session": session, "indices": [0], "maxChars": max_chars})
        while True:
            (entry,) = page["entries"]
            assert entry["textRange"]["start"] == sum(map(len, parts))
            parts.append(entry["text"])
            if page["next"] is None:
                return "".join(parts)
            page = workspace.call(page["next"])


@pytest.mark.requirement("privacy.masked_where_shown")
@pytest.mark.parametrize("name", TOKENS)
def test_a_planted_credential_is_masked_where_it_is_shown_and_exact_where_it_is_called(diary: Diary, name: str) -> None:
    said = f"please use {LEADS.get(name, '')}{TOKENS[name]} for the harbour"
    diary.talk("a", said)
    hidden = said.replace(TOKENS[name], MASK * len(TOKENS[name]))

    for shown in ({"shown": True}, ALWAYS):
        (hit,) = diary.call("memory.recall", {"query": "harbour", "scope": "global"}, **shown)["hits"]
        (entry,) = diary.call(hit["follow"]["ref"], hit["follow"]["args"], **shown)["entries"]
        assert (hit["snippet"], hit["redacted"]) == (hidden, 1)
        assert (entry["text"], entry["redacted"]) == (hidden, 1)
    for exact in ({}, {"shown": True, **OFF}):
        page = diary.call("memory.recall", {"query": "harbour", "scope": "global"}, **exact)
        (entry,) = diary.call(page["hits"][0]["follow"]["ref"], page["hits"][0]["follow"]["args"], **exact)["entries"]
        assert page["hits"][0]["snippet"] == entry["text"] == said
        assert "redacted" not in page and "redacted" not in page["hits"][0] and "redacted" not in entry


@pytest.mark.requirement("privacy.nothing_scanned")
def test_a_credential_is_found_by_its_own_words_and_shown_masked(diary: Diary) -> None:
    token = TOKENS["github"]
    diary.talk("a", f"the token is {token}")

    page = diary.call("memory.recall", {"query": token, "scope": "global"}, shown=True)

    assert page["total"] == page["redacted"] == 1
    assert page["hits"][0]["snippet"] == f"the token is {MASK * len(token)}"


def test_calls_hashes_and_ids_are_the_same_whether_masked_or_not(diary: Diary) -> None:
    path = diary.talk("a", *[f"note {at} {TOKENS['github']}" for at in range(3)])
    request: dict[str, Any] = {"query": TOKENS["github"], "scope": f"session:{path}", "pageSize": 1}

    exact, masked = (diary.call("memory.recall", request, shown=shown) for shown in (False, True))

    assert masked["next"] == exact["next"]
    assert masked["hits"][0]["follow"] == exact["hits"][0]["follow"]
    assert {**masked["hits"][0], "snippet": "", "redacted": 0} == {**exact["hits"][0], "snippet": "", "redacted": 0}


@given(offset=st.integers(200, 320), max_chars=st.integers(256, 400), name=st.sampled_from([*TOKENS, "private key"]))
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_credential_across_the_edge_of_chunks_is_masked(diary: Diary, offset: int, max_chars: int, name: str) -> None:
    secret = private_key() if name == "private key" else TOKENS[name]
    said = "x" * offset + " " + LEADS.get(name, "") + secret + " " + "y" * 300
    diary.session("s", user("s-0", None, said))

    exact = texts(diary, "s", max_chars=max_chars)
    masked = texts(diary, "s", max_chars=max_chars, **ALWAYS)

    assert exact == said
    assert masked == said.replace(secret, re.sub(r"\S", MASK, secret))


@pytest.mark.parametrize("kind", ["operation", "branchFact"])
def test_structures_are_masked_in_their_strings_but_not_in_their_addresses(diary: Diary, kind: str) -> None:
    token = TOKENS["stripe"]
    arguments = {"command": f"pay --key {token}", "path": "/srv/shop/pay.py"}
    if kind == "operation":
        diary.session("a", details.executed("a-0", None, details.operation(1, "pi.bash", args=arguments)))
    else:
        diary.session("a", details.summarised("a-0", None, "a-9", details.called("a-9", 1, "pi.bash", args=arguments)))

    request = {"session": "a", "entryRange": {"first": 0, "last": 1}}
    exact, masked = (diary.call("memory.expand", request, shown=shown)["entries"][-1] for shown in (False, True))

    assert token in str(exact[kind]) and token in exact["text"]
    assert token not in str(masked)
    assert masked[kind] == json.loads(json.dumps(exact[kind]).replace(token, MASK * len(token)))
    assert masked["operationAddress"] == exact["operationAddress"]
    assert masked["redacted"] == 1 + exact["text"].count(token)


def test_a_snippet_within_a_private_key_shows_nothing_of_it(diary: Diary) -> None:
    key = private_key(lines=40)
    line = key.split("\n")[20]
    diary.talk("a", f"the key:\n{key}\nand the harbour")

    exact, masked = (
        diary.call("memory.recall", {"query": line, "scope": "global", "snippetChars": 80}, shown=shown)["hits"][0]
        for shown in (False, True)
    )

    assert line[:20] in exact["snippet"]
    assert set(masked["snippet"]) <= {MASK, "\n", "…"}
    assert (len(masked["snippet"]), masked["redacted"]) == (len(exact["snippet"]), 1)


def test_arguments_of_tools_and_names_of_sessions_are_masked(diary: Diary) -> None:
    token = TOKENS["anthropic"]
    diary.session(
        "a",
        called("a-0", None, "bash", command=f"export KEY={token}\nrun"),
        {"type": "session_info", "id": "a-1", "parentId": "a-0", "timestamp": "2026-01-02T12:00:00Z", "name": token},
    )

    page = diary.call("memory.recall", {"query": "export", "scope": "global"}, shown=True)
    listed = diary.call("memory.sessions", {"scope": "global"}, shown=True)

    assert token not in str(page["hits"]) and token not in str(listed["sessions"])
    assert page["hits"][0]["name"] == listed["sessions"][0]["name"] == MASK * len(token)
    assert (page["redacted"], listed["redacted"]) == (2, 1)
    assert diary.call("memory.sessions", {"scope": "global"})["sessions"][0]["name"] == token


def test_a_masked_answer_keeps_within_its_envelope(diary: Diary) -> None:
    said = " ".join([*TOKENS.values()] * 20)
    path = diary.talk("a", *[said] * 60)

    page = diary.call("memory.recall", {"query": "", "scope": "global", "pageSize": 50, "snippetChars": 2000}, **ALWAYS)
    read = diary.call(
        "memory.expand",
        {"session": str(path), "entryRange": {"first": 0, "last": 59}, "maxChars": 24_000, "maxEntries": 20},
        **ALWAYS,
    )

    assert page["redacted"] == sum(hit["redacted"] for hit in page["hits"])
    assert envelope.size(page) <= envelope.ENVELOPE_CHARS
    assert envelope.size(read) <= envelope.ENVELOPE_CHARS
