"""Redaction: every form of credential is masked, nothing else is, and lengths stay."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from pepys.redaction import MASK, RULES, masked, masked_values
from tests.credentials import LEADS, TOKENS, private_key

PLAIN = st.text("abcxyzAKSG019 .:/_-=\"'\\\n\t{}[]()éß√\U0001f600", max_size=60)


@pytest.mark.parametrize("name", TOKENS)
@pytest.mark.parametrize(
    ("before", "after"), [("", ""), ("it is ", ", he said"), ('{"a": "', '"}'), ("\\n", "\\n"), ("鍵は", "です")]
)
def test_every_form_of_credential_is_masked_alone_and_in_text(name: str, before: str, after: str) -> None:
    lead = before + LEADS.get(name, "")

    shown = masked(lead + TOKENS[name] + after)

    assert shown.text == lead + MASK * len(TOKENS[name]) + after
    assert shown.spans == ((len(lead), len(lead) + len(TOKENS[name])),)


def test_every_rule_has_a_credential_in_the_table() -> None:
    given = [LEADS.get(name, "") + token for name, token in TOKENS.items()]
    given.append(f"//registry/:_auth{'Token'}={TOKENS['npm']}")
    given.append("S" + "K" + TOKENS["twilio"][2:])

    unseen = [rule for rule in RULES if not any(re.search(rule.pattern, text, re.ASCII) for text in given)]

    assert unseen == []


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: f"{rule.issuer}-{rule.anchors[0]}")
@given(data=st.data())
@settings(max_examples=30, deadline=None)
def test_no_text_of_a_form_is_without_its_anchors(rule: object, data: st.DataObject) -> None:
    assert isinstance(rule, type(RULES[0]))
    text = data.draw(st.from_regex(re.compile(rule.pattern, re.ASCII)))

    assert any(anchor in text.lower() for anchor in rule.anchors)


@given(st.lists(st.one_of(PLAIN, st.sampled_from(sorted(TOKENS.values())), st.just(private_key())), max_size=6))
@settings(deadline=None)
def test_masking_keeps_the_length_hides_whole_spans_and_changes_nothing_else(parts: list[str]) -> None:
    text = " ".join(parts)

    shown = masked(text)

    assert len(shown.text) == len(text)
    end = 0
    for start, stop in [*shown.spans, (len(text), len(text))]:
        assert shown.text[end:start] == text[end:start]
        assert not shown.text[start:stop].strip(MASK + " \n\t")
        end = stop
    assert masked(shown.text).text == shown.text


@given(PLAIN)
@settings(deadline=None)
def test_text_without_credentials_stays_as_it_is(text: str) -> None:
    assert masked(text) == (text, ())


@pytest.mark.parametrize(
    "text",
    [
        "commit da39a3ee5e6b4b0d3255bfef95601890afd80709",
        "1712345678:da39a3ee5e6b4b0d3255bfef95601890afd80709",  # an epoch and a hash are no bot token
        "keyJson.parse(apiKeyJob.payloadOfTheThing)",
        "a task-ant-colony-optimisation-of-many-things-at-once",
        "sk-loading-spinner-with-a-very-long-class-name-in-a-style-sheet",
        "550e8400-e29b-41d4-a716-446655440000",
        "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        "export GITHUB_TOKEN=$GITHUB_TOKEN",
        "//registry/:_authToken=${NPM_TOKEN}",
        "password = hunter2",
        "https://user:password@example.org/",
        'if text.startswith("-----BEGIN PRIVATE KEY-----"):\n    return True',
        "The line -----END RSA PRIVATE KEY----- closes it.",
    ],
)
def test_what_only_resembles_a_credential_is_left_alone(text: str) -> None:
    assert masked(text) == (text, ())


@pytest.mark.parametrize("kind", ["", "RSA ", "EC ", "DSA ", "OPENSSH ", "ENCRYPTED "])
@pytest.mark.parametrize("newline", ["\n", "\r\n", "\\n", "\\\\n", "\n   12\t"])
def test_a_private_key_is_masked_whole_and_one_that_is_cut_up_to_the_cut(kind: str, newline: str) -> None:
    key = private_key(kind, newline=newline)

    whole = masked(f"before{newline}{key}{newline}after").text
    begun = masked(f"before{newline}{key[:200]}").text
    ended = masked(f"{key[200:]}{newline}after").text

    assert re.fullmatch(r"before\S*\s*[\d\t\\rn]*[*\s]+\S*\s*[\d\t]*after", whole)
    assert len(whole) == len(f"before{newline}{key}{newline}after")
    assert set(begun[6 + len(newline) :]) <= {MASK, *" \r\n\t"}
    assert set(ended[: len(key) - 200]) <= {MASK, *" \r\n\t"}
    assert begun.startswith("before") and ended.endswith("after")


def test_lines_of_a_private_key_stay_lines() -> None:
    key = private_key(lines=3)

    assert [len(line) for line in masked(key).text.split("\n")] == [len(line) for line in key.split("\n")]


@pytest.mark.parametrize("edge", range(0, 60, 7))
def test_putty_and_pgp_keys_are_private_keys_too(edge: int) -> None:
    putty = "PuTTY-User-Key-File-" + "3: ssh-ed25519\nPrivate-Lines: 1\n" + "Zm9v" * 16 + "\nPrivate-MAC: " + "ab" * 32
    pgp = private_key("PGP ").replace("KEY-----", "KEY BLOCK-----")
    for key in (putty, pgp):
        assert set(masked(key).text) <= {MASK, " ", "\n"}
        assert set(masked(key[: len(key) - edge]).text) <= {MASK, " ", "\n"}


def test_two_keys_in_one_text_are_two_masks() -> None:
    key = private_key(lines=2)

    shown = masked(f"{key}\nand\n{key}\n")

    assert len(shown.spans) == 2
    assert "\nand\n" in shown.text


def test_a_count_takes_every_mask_that_reaches_into_the_part() -> None:
    token = TOKENS["github"]

    shown = masked(f"{token} and {token}")

    assert [shown.masks(*part) for part in ((0, 1), (0, len(shown.text)), (40, 45), (44, 46))] == [1, 2, 0, 1]


def test_structures_are_masked_in_their_strings() -> None:
    token, number = TOKENS["anthropic"], 12345678

    value, count = masked_values({"env": [{"KEY": token, "n": number}, None, True], token: f"x {token}"})

    assert value == {"env": [{"KEY": MASK * len(token), "n": number}, None, True], token: "x " + MASK * len(token)}
    assert count == 2


@pytest.mark.parametrize(
    "text",
    [
        "eyJ" * 100_000,
        "\\n" + "eyJaaaaaaaaaaa" * 20_000,
        "sk-T3BlbkFJ" * 30_000,
        "aws key " * 20_000,
        "-----BEGIN PRIVATE KEY-----" * 10_000,
        "-----END PRIVATE KEY-----\n" * 10_000,
        "-" * 300_000,
        "xoxb-" + "1-" * 100_000,
        "1" * 300_000 + ":",
        "a" * 300_000 + "-us1",
        "M" * 300_000 + ".",
        "a." * 100_000,
        "hooks.slack.com/services/T" + "w" * 300_000,
    ],
    ids=lambda text: text[:12],
)
def test_a_text_made_to_be_slow_is_masked_all_the_same(text: str) -> None:
    assert len(masked(text).text) == len(text)


# What a maintained set of rules knows as tokens of a fixed form; the rest of it judges by entropy or by names.

PLUGINS = ["aws", "azure_storage_key", "discord", "github_token", "gitlab_token", "mailchimp", "openai", "pypi_token"]
PLUGINS += ["sendgrid", "slack", "square_oauth", "stripe", "telegram_token", "twilio"]


def maintained() -> Iterator[re.Pattern[str]]:
    for name in PLUGINS:
        module = importlib.import_module(f"detect_secrets.plugins.{name}")
        for found in vars(module).values():
            if isinstance(found, type) and found.__module__ == module.__name__:
                yield from found.denylist  # type: ignore[attr-defined]


@pytest.mark.parametrize("pattern", list(maintained()), ids=lambda pattern: str(pattern.pattern[:30]))
@given(data=st.data())
@settings(max_examples=50, deadline=None)
def test_what_the_maintained_rules_recognise_is_masked(pattern: re.Pattern[str], data: st.DataObject) -> None:
    secret = data.draw(
        st.from_regex(re.compile(pattern.pattern, pattern.flags & re.IGNORECASE | re.ASCII), fullmatch=True)
    )
    assume("\\" not in secret)  # one of them takes the escape that follows a token for a part of it

    shown = masked(f"it is {secret} .")

    # Of what is known by what stands before it, the part that is secret.
    group = re.search(pattern, secret)
    assert group is not None
    part = next((each for each in group.groups() if each and len(each) > 30), None)
    if part is None:
        part = re.sub(r"^(?:AccountKey=|https://hooks\.slack\.com/services/)", "", secret, flags=re.IGNORECASE)
    assert shown.spans
    assert part not in shown.text
