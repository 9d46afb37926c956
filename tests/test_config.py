"""Configuration: where values come from, which place wins, and what is refused."""

from __future__ import annotations

import json
import stat
import sys
from pathlib import Path

import pytest

from pepys import config, paths, trust
from pepys.errors import InvalidConfiguration


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    home = tmp_path / "home"
    home.mkdir()
    return {"HOME": str(home)}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    directory = tmp_path / "shop"
    (directory / ".git").mkdir(parents=True)
    return directory


def write_user(env: dict[str, str], text: str) -> Path:
    path = Path(env["HOME"]) / ".config" / "pepys" / "config.toml"
    path.parent.mkdir(parents=True)
    path.write_text(text, encoding="utf-8")
    return path


def test_without_any_configuration_every_key_has_its_default(env: dict[str, str], project: Path) -> None:
    resolved = config.load(env, project)

    assert resolved.memory == config.Memory(Path(env["HOME"]) / ".cache" / "pepys")
    assert resolved.index == config.Index((), 2000)
    assert resolved.origins == {}


def test_each_later_place_wins_over_the_earlier_ones(env: dict[str, str], project: Path) -> None:
    write_user(env, "[memory]\nmaxSessions = 1\n[index]\nbudgetMs = 1\n")
    (project / ".pepys.toml").write_text("[memory]\nmaxSessions = 2\n", encoding="utf-8")
    places: list[dict[str, object]] = [
        {},
        {"trusted": True},
        {"trusted": True, "env": {**env, "PEPYS_MEMORY_MAX_SESSIONS": "3"}},
        {"trusted": True, "env": {**env, "PEPYS_MEMORY_MAX_SESSIONS": "3"}, "flags": {"memory": {"maxSessions": 4}}},
        {
            "trusted": True,
            "env": {**env, "PEPYS_MEMORY_MAX_SESSIONS": "3"},
            "flags": {"memory": {"maxSessions": 4}},
            "overrides": {"memory": {"maxSessions": 5}},
        },
    ]

    resolved = [config.load(**{"env": env, "cwd": project, **place}) for place in places]  # type: ignore[arg-type]

    assert [each.memory.max_sessions for each in resolved] == [1, 2, 3, 4, 5]
    assert {each.index.budget_ms for each in resolved} == {1}
    assert [each.origins["memory.maxSessions"].split("/")[-1] for each in resolved] == [
        "config.toml",
        ".pepys.toml",
        "environment PEPYS_MEMORY_MAX_SESSIONS",
        "command line",
        "call context",
    ]


@pytest.mark.parametrize("key", config.KEYS.values(), ids=lambda key: key.name)
def test_every_key_can_be_set_from_the_environment(key: config.Key, env: dict[str, str], project: Path) -> None:
    value, text = {
        bool: (not key.default, str(not key.default).lower()),
        int: (key.minimum + 7, str(key.minimum + 7)),
        Path: (project / "x", str(project / "x")),
        str: ("some text", "some text"),
        tuple[str, ...]: (("a*", "b"), "a*:b" if sys.platform != "win32" else "a*;b"),
    }.get(key.type) or (key.words[-1], key.words[-1])

    resolved = config.load({**env, key.variable: text}, project)

    assert resolved.get(key) == value
    assert resolved.origins == {key.name: f"environment {key.variable}"}


SPECIFIED: dict[str, object] = {
    "enabled": True,
    "indexDir": "~/.pi/agent/fabric/memory-index",
    "maxSessions": 500,
    "maxEntryChars": 2000,
    "indexThinking": False,
    "indexToolOutput": True,
    "hotSessions": 50,
    "maxColdVocabularyBytes": 524288,
    "maxColdCacheBytes": 1048576,
    "maxSyncSessions": 10000,
    "maxSyncSourceBytes": 536870912,
    "maxCacheCleanupFiles": 100000,
    "regexMaxPatternBytes": 1024,
    "regexMaxHaystackTerms": 20000,
    "regexMaxHaystackBytes": 2097152,
    "regexTimeoutMs": 250,
}
"""The block of spec 1, as a user copies it."""


def toml(values: dict[str, object]) -> str:
    # JSON's scalars are TOML's.
    return "[memory]\n" + "".join(f"{name} = {json.dumps(value)}\n" for name, value in values.items())


@pytest.mark.requirement("config.settable", "config.index_dir")
@pytest.mark.parametrize("place", ["call context", "user file"])
def test_the_block_of_the_specification_is_taken_as_it_is(place: str, env: dict[str, str], project: Path) -> None:
    if place == "user file":
        write_user(env, toml(SPECIFIED))
    overrides: dict[str, object] = {"memory": SPECIFIED} if place == "call context" else {}

    resolved = config.load(env, project, overrides)

    values = {name: resolved.get(config.KEYS[f"memory.{name}"]) for name in SPECIFIED}
    assert values == {**SPECIFIED, "indexDir": Path(env["HOME"]) / ".pi" / "agent" / "fabric" / "memory-index"}
    assert {f"memory.{name}" for name in SPECIFIED} == resolved.origins.keys()


@pytest.mark.requirement("config.keys")
@pytest.mark.parametrize("name", sorted(SPECIFIED.keys() - {"indexDir", "hotSessions"}))
def test_the_defaults_are_those_of_the_specification(name: str) -> None:
    assert config.KEYS[f"memory.{name}"].default == SPECIFIED[name]


@pytest.mark.requirement("config.ranges")
@pytest.mark.parametrize(
    ("name", "lowest", "highest"),
    [
        ("maxSessions", 1, 100_000),
        ("maxEntryChars", 100, 1_000_000),
        ("hotSessions", 0, 100_000),
        ("maxColdVocabularyBytes", 2, 64 << 20),
        ("maxColdCacheBytes", 512, 128 << 20),
        ("maxSyncSessions", 1, 1_000_000),
        ("maxSyncSourceBytes", 1 << 10, 8 << 30),
        ("maxCacheCleanupFiles", 1, 1_000_000),
        ("regexMaxPatternBytes", 1, 64 << 10),
        ("regexMaxHaystackTerms", 1, 1_000_000),
        ("regexMaxHaystackBytes", 1 << 10, 128 << 20),
        ("regexTimeoutMs", 10, 10_000),
    ],
)
def test_a_number_outside_of_its_range_is_clamped(
    name: str, lowest: int, highest: int, env: dict[str, str], project: Path
) -> None:
    key = config.KEYS[f"memory.{name}"]

    clamped = [config.load(env, project, {"memory": {name: given}}).get(key) for given in (-1, 1 << 40)]

    assert clamped == [lowest, highest]


def test_a_count_of_hot_sessions_may_come_from_the_environment(env: dict[str, str], project: Path) -> None:
    resolved = config.load({**env, "PEPYS_MEMORY_HOT_SESSIONS": "50"}, project)

    assert resolved.memory.hot_sessions == 50


def test_the_index_directory_has_a_short_variable_and_the_full_name_wins(env: dict[str, str], project: Path) -> None:
    short = config.load({**env, "PEPYS_INDEX_DIR": "~/a"}, project)
    both = config.load({**env, "PEPYS_INDEX_DIR": "/a", "PEPYS_MEMORY_INDEX_DIR": "/b"}, project)

    assert short.memory.index_dir == Path(env["HOME"]) / "a"
    assert both.memory.index_dir == Path("/b")


@pytest.mark.requirement("config.ranges")
def test_a_number_out_of_range_is_clamped_and_its_origin_says_so(env: dict[str, str], project: Path) -> None:
    low = config.load(env, project, {"memory": {"maxSessions": -5}})
    high = config.load(env, project, {"memory": {"maxSessions": 10**9}})

    assert (low.memory.max_sessions, high.memory.max_sessions) == (1, 100_000)
    assert low.origins["memory.maxSessions"] == "call context, clamped"


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        ({"memory": {"indexThinkin": True}}, "unknown key memory.indexThinkin (did you mean memory.indexThinking?)"),
        ({"memroy": {}}, "unknown section memroy (did you mean memory?)"),
        ({"memory": True}, "memory must be a table of keys"),
        ({"memory": {"indexThinking": "yes"}}, "memory.indexThinking must be true or false, not 'yes'"),
        ({"memory": {"maxSessions": True}}, "memory.maxSessions must be a whole number, not True"),
        ({"memory": {"maxSessions": 1.5}}, "memory.maxSessions must be a whole number, not 1.5"),
        ({"index": {"exclude": "x"}}, "index.exclude must be a list of strings, not 'x'"),
        ({"memory": {"indexDir": 3}}, "memory.indexDir must be a path, not 3"),
        ({"memory": {"hotSessions": "all"}}, "memory.hotSessions must be 'auto' or a whole number, not 'all'"),
        ({"memory": {"hotSessions": True}}, "memory.hotSessions must be 'auto' or a whole number, not True"),
        ({"memory": {"redact": True}}, "memory.redact must be 'off' or 'surfaces' or 'always', not True"),
    ],
)
def test_what_cannot_be_used_is_refused_by_name(
    overrides: dict[str, object], message: str, env: dict[str, str], project: Path
) -> None:
    with pytest.raises(InvalidConfiguration) as caught:
        config.load(env, project, overrides)

    assert f"call context: {message}" in caught.value.message


def test_an_error_in_a_file_names_the_file(env: dict[str, str], project: Path) -> None:
    path = write_user(env, "[memory\n")

    with pytest.raises(InvalidConfiguration, match=r"config\.toml") as caught:
        config.load(env, project)

    assert str(path) in caught.value.message


def test_a_misspelt_variable_is_refused_but_a_foreign_one_is_not(env: dict[str, str], project: Path) -> None:
    config.load({**env, "PEPYS_THEME": "dark"}, project)

    with pytest.raises(InvalidConfiguration, match="PEPYS_MEMORY_INDEX_THINKNG") as caught:
        config.load({**env, "PEPYS_MEMORY_INDEX_THINKNG": "1"}, project)

    assert "did you mean PEPYS_MEMORY_INDEX_THINKING?" in caught.value.message


@pytest.mark.requirement("privacy.trusted_projects", "privacy.untrusted_projects")
def test_a_project_file_is_ignored_until_its_project_is_trusted(env: dict[str, str], project: Path) -> None:
    file = project / ".pepys.toml"
    file.write_text("[memory]\nindexThinking = true\n", encoding="utf-8")
    below = project / "src"
    below.mkdir()

    before = config.load(env, below)
    trust.grant(project, env)
    after = config.load(env, below)
    refused = config.load(env, below, trusted=False)
    trust.revoke(project, env)
    again = config.load(env, below)

    assert (before.memory.index_thinking, before.ignored) == (False, file)
    assert (after.memory.index_thinking, after.ignored) == (True, None)
    assert refused.memory.index_thinking is again.memory.index_thinking is False


def test_a_broken_project_file_harms_nobody_who_does_not_trust_it(env: dict[str, str], project: Path) -> None:
    (project / ".pepys.toml").write_text("nonsense", encoding="utf-8")

    resolved = config.load(env, project)

    assert resolved.ignored == project / ".pepys.toml"


@pytest.mark.parametrize(
    "line", ['memory.indexDir = "../elsewhere"', 'index.exclude = ["/etc/*"]', 'memory.indexDir = "~"']
)
def test_a_project_file_cannot_name_a_path_outside_the_project(line: str, env: dict[str, str], project: Path) -> None:
    (project / ".pepys.toml").write_text(line, encoding="utf-8")

    with pytest.raises(InvalidConfiguration, match="outside the project"):
        config.load(env, project, trusted=True)


def test_a_project_file_may_name_paths_inside_the_project(env: dict[str, str], project: Path) -> None:
    (project / ".pepys.toml").write_text(
        'memory.indexDir = ".index"\nindex.exclude = ["sub/x", "some-id"]', encoding="utf-8"
    )

    resolved = config.load(env, project, trusted=True)

    assert resolved.memory.index_dir == project / ".index"
    assert resolved.index.exclude == (str(project / "sub" / "x"), "some-id")


def test_the_home_directory_is_no_project(env: dict[str, str]) -> None:
    home = Path(env["HOME"])
    (home / ".pepys.toml").write_text("[memory]\nindexThinking = true\n", encoding="utf-8")
    below = home / "notes"
    below.mkdir()

    resolved = config.load(env, below, trusted=True)

    assert (resolved.memory.index_thinking, resolved.ignored) == (False, None)


def test_directories_follow_the_xdg_variables_when_these_are_absolute() -> None:
    env = {"HOME": "/home/kim", "XDG_CACHE_HOME": "/cache", "XDG_STATE_HOME": "relative"}

    found = paths.cache_dir(env), paths.config_dir(env), paths.state_dir(env)

    assert found == (Path("/cache/pepys"), Path("/home/kim/.config/pepys"), Path("/home/kim/.local/state/pepys"))


@pytest.mark.skipif(sys.platform == "win32", reason="file modes are POSIX")
def test_what_is_created_is_for_the_user_alone(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b" / "file"

    paths.write_private(path, "text")

    modes = [stat.S_IMODE(each.stat().st_mode) for each in (path.parent.parent, path.parent, path)]
    assert modes == [0o700, 0o700, 0o600]
    assert sorted(path.parent.iterdir()) == [path]


def test_a_damaged_trust_list_is_named(env: dict[str, str], project: Path) -> None:
    paths.write_private(trust.store(env), '{"no": "list"}')

    with pytest.raises(InvalidConfiguration, match=r"trusted\.json"):
        trust.trusted(env)


@pytest.mark.parametrize(
    "line", ['storeCommand = "/tmp/x"', 'modelUrl = "http://x"', 'modelApi = "openai"', 'scanRoots = ["a"]']
)
def test_a_project_sets_no_commands_endpoints_or_keys(env: dict[str, str], project: Path, line: str) -> None:
    (project / ".pepys.toml").write_text(f"[journal]\n{line}\n", encoding="utf-8")

    with pytest.raises(InvalidConfiguration, match="can only be set by the user"):
        config.load(env, project, trusted=True)


def test_variables_that_the_journal_shares_with_other_tools_are_read(env: dict[str, str], project: Path) -> None:
    given = {
        "PI_MEMSEARCH_STORE_CMD": "mesh-store",
        "PI_MEMSEARCH_SCAN_ROOTS": "/a: /b :",
        "PI_MEMSEARCH_CAPTURE_MODEL": "p/m/x",
        "PI_MEMSEARCH_CAPTURE": "off",
        "PI_MEMSEARCH_SNAPSHOT": "false",
        "PI_MEMSEARCH_AUTO_CONTEXT": "on",
        "PI_MEMSEARCH_SEARCH_TIMEOUT_MS": "5",
    }

    journal = config.load({**env, **given}, project).journal

    assert (journal.store_command, journal.scan_roots, journal.capture_model) == ("mesh-store", ("/a", "/b"), "p/m/x")
    assert (journal.capture, journal.snapshot, journal.auto_context) == (False, True, True)  # exact words only
    assert (journal.search_timeout_ms, journal.compact_timeout_ms) == (5, 300_000)


def test_our_own_variable_wins_over_a_shared_one(env: dict[str, str], project: Path) -> None:
    given = {"PI_MEMSEARCH_STORE_CMD": "theirs", "PEPYS_JOURNAL_STORE_COMMAND": "ours"}

    assert config.load({**env, **given}, project).journal.store_command == "ours"


@pytest.mark.requirement("privacy.trusted_projects", "privacy.untrusted_projects")
@pytest.mark.parametrize(
    ("answers", "trusted"),
    [
        ({"shop": True}, True),
        ({"": True}, True),
        ({"": True, "shop": False}, False),
        ({"": False, "shop": True}, True),
        ({"": True, "shop": None}, True),
        ({"shop/src": True}, False),
        ({"sho": True, "shop2": True}, False),
        ({"shop": "yes"}, False),
        ({"shop": 1}, False),
        ({"shop": True, "other": "no"}, False),
        ({}, False),
    ],
)
def test_what_pi_was_told_of_a_project_counts_by_the_nearest_directory(
    env: dict[str, str], project: Path, answers: dict[str, object], trusted: bool
) -> None:
    list_of_pi(env, json.dumps({str((project.parent / name).resolve()): told for name, told in answers.items()}))
    (project / ".pepys.toml").write_text("[memory]\nindexThinking = true\n", encoding="utf-8")

    assert trust.is_trusted(project, env) is trusted
    assert config.load(env, project).memory.index_thinking is trusted
    assert config.load(env, project, trusted=not trusted).memory.index_thinking is not trusted


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "true", "null", "\x00", "[" * 100_000, '{"/": true}' + " " * (1 << 20)]
)
def test_a_list_of_pi_that_cannot_be_read_trusts_nothing(env: dict[str, str], project: Path, text: str) -> None:
    list_of_pi(env, text)

    assert trust.by_pi(project, env) is None
    assert not trust.is_trusted(project, env)


def test_what_the_user_tells_pepys_counts_beside_what_pi_was_told(env: dict[str, str], project: Path) -> None:
    list_of_pi(env, json.dumps({str(project.resolve()): False}))
    before = trust.is_trusted(project, env)
    trust.grant(project, env)

    assert (before, trust.is_trusted(project, env)) == (False, True)


def test_the_list_of_pi_is_in_the_agent_directory_that_the_environment_names(
    env: dict[str, str], project: Path, tmp_path: Path
) -> None:
    home = Path(env["HOME"])
    for folder in (tmp_path / "elsewhere", home / "mine", home / "agent", project / "agent"):
        folder.mkdir()
        (folder / "trust.json").write_text(json.dumps({str(project.resolve()): True}))

    def trusted(directory: str) -> bool:
        return trust.is_trusted(project, {**env, "PI_CODING_AGENT_DIR": directory})

    assert [trusted(each) for each in (str(tmp_path / "elsewhere"), "~/mine")] == [True, True]
    assert not trusted("agent")  # it might be the project's, which cannot trust itself
    assert not trust.is_trusted(project, env)


def list_of_pi(env: dict[str, str], text: str) -> None:
    folder = Path(env["HOME"]) / ".pi" / "agent"
    folder.mkdir(parents=True)
    (folder / "trust.json").write_text(text, encoding="utf-8")
