"""Configuration: every value with the place it came from.

The sections below are the only table of keys. `pepys config list`, the reference page, the environment variables
and the validation all read their field metadata. JSON and TOML names are the camelCase forms of the field names.

Later layers win: defaults, user file, trusted project file, environment, flags, call context.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

from pepys import paths, trust
from pepys.errors import InvalidConfiguration
from pepys.model.query import about
from pepys.spelling import camel, suggestion

PROJECT_FILE = ".pepys.toml"

KI, MI, GI = 1 << 10, 1 << 20, 1 << 30


@dataclass(frozen=True, slots=True)
class Memory:
    """Session recall, and what of the durable notes is injected."""

    index_dir: Path = field(
        metadata=about("Directory of the index, which may be deleted at any time.", shown="~/.cache/pepys")
    )
    enabled: bool = field(default=True, metadata=about("Whether `memory.*` actions may be called."))
    max_sessions: int = field(
        default=500,
        metadata=about("Most rows of `memory.sessions`. Recall sees every session.", minimum=1, maximum=100_000),
    )
    max_entry_chars: int = field(
        default=2000,
        metadata=about(
            "Code points of an entry that are searched in a hot session. Reading returns all of it.",
            minimum=100,
            maximum=1_000_000,
        ),
    )
    index_thinking: bool = field(default=False, metadata=about("Whether the model's thinking is searchable."))
    index_tool_output: bool = field(default=True, metadata=about("Whether what tools printed is searchable."))
    hot_sessions: Literal["auto"] | int = field(
        default="auto",
        metadata=about(
            "Newest sessions with entry-level search; older ones are cold. `auto`: every session is hot, and "
            "maxEntryChars and maxSyncSourceBytes do not apply.",
            minimum=0,
            maximum=100_000,
        ),
    )
    max_cold_vocabulary_bytes: int = field(
        default=512 * KI,
        metadata=about("Vocabulary of one cold session (bytes).", minimum=2, maximum=64 * MI),
    )
    max_cold_cache_bytes: int = field(
        default=MI,
        metadata=about("Whole digest of one cold session (bytes).", minimum=512, maximum=128 * MI),
    )
    max_sync_sessions: int = field(
        default=10_000,
        metadata=about("Sessions that one call brings up to date.", minimum=1, maximum=1_000_000),
    )
    max_sync_source_bytes: int = field(
        default=512 * MI,
        metadata=about("Source bytes that one call reads to bring sessions up to date.", minimum=KI, maximum=8 * GI),
    )
    max_cache_cleanup_files: int = field(
        default=100_000,
        metadata=about("Index files that one call inspects for removal.", minimum=1, maximum=1_000_000),
    )
    regex_max_pattern_bytes: int = field(
        default=KI,
        metadata=about("Regular expressions: the pattern (bytes of UTF-8).", minimum=1, maximum=64 * KI),
    )
    regex_max_haystack_terms: int = field(
        default=20_000,
        metadata=about("Regular expressions: texts and words that are matched.", minimum=1, maximum=1_000_000),
    )
    regex_max_haystack_bytes: int = field(
        default=2 * MI,
        metadata=about("Regular expressions: bytes of UTF-8 that are matched.", minimum=KI, maximum=128 * MI),
    )
    regex_timeout_ms: int = field(
        default=250,
        metadata=about(
            "Regular expressions: longest matching before the worker is ended (ms).", minimum=10, maximum=10_000
        ),
    )
    redact: Literal["off", "surfaces", "always"] = field(
        default="surfaces",
        metadata=about(
            "Where credentials in text quoted from sessions are masked. `surfaces`: where it is shown to people; "
            "calls and the library stay exact. `always`: in every answer. `off`: nowhere."
        ),
    )
    inject: bool = field(default=True, metadata=about("Whether durable notes are given to the model before each run."))
    max_inject_bytes: int = field(
        default=8192,
        metadata=about("Most of the notes that is given so (bytes of UTF-8).", minimum=512, maximum=32_768),
    )


@dataclass(frozen=True, slots=True)
class Index:
    """What is indexed, and when."""

    exclude: tuple[str, ...] = field(
        default=(),
        metadata=about("Sessions that are never read: globs or paths of files, folders or projects, or session ids."),
    )
    budget_ms: int = field(
        default=2000,
        metadata=about("Longest indexing before a call from a program is answered (ms).", minimum=0, maximum=600_000),
    )


@dataclass(frozen=True, slots=True)
class Guest:
    """Limits of guest programs."""

    timeout_ms: int = field(
        default=120_000,
        metadata=about("Longest run of a program, its calls included (ms).", minimum=10, maximum=3_600_000),
    )
    memory_bytes: int = field(
        default=64 * 1024 * 1024,
        metadata=about("Most memory of a program (bytes).", minimum=1024 * 1024, maximum=4 * 1024**3 - 1),
    )
    max_calls: int = field(
        default=10_000, metadata=about("Most calls that a program makes.", minimum=1, maximum=1_000_000)
    )
    output_chars: int = field(
        default=50_000,
        metadata=about("Most of what a program prints, and of the value it returns as JSON.", minimum=1, maximum=10**7),
    )
    result_chars: int = field(
        default=2_000_000,
        metadata=about(
            "Largest result of one call, as JSON; of a larger one, the program gets a preview.",
            minimum=1000,
            maximum=10**7,
        ),
    )


@dataclass(frozen=True, slots=True)
class Journal:
    """The daily memory files (spec 4)."""

    capture: bool = field(default=True, metadata=about("Whether settled exchanges become memory entries."))
    snapshot: bool = field(default=True, metadata=about("Whether hosts append the newest memory to the system prompt."))
    auto_context: bool = field(
        default=False, metadata=about("Whether every prompt is answered with memory that bears on it.")
    )
    engine: Literal["pepys", "milvus"] = field(
        default="pepys",
        metadata=about(
            "What indexes the journal. `milvus` shares memsearch's own collection, as its configuration says; it is "
            "installed apart.",
            personal=True,
        ),
    )
    embedder: Literal["static", "minilm", "e5", "openai"] = field(
        default="static",
        metadata=about(
            "What makes vectors of the journal. `minilm` and `e5` are installed apart; `openai` sends text to "
            "`journal.embeddingUrl`.",
            personal=True,
        ),
    )
    embedding_url: str = field(
        default="", metadata=about("Base address of an OpenAI-compatible endpoint for embeddings.", personal=True)
    )
    embedding_model: str = field(default="", metadata=about("The model that it is asked for.", personal=True))
    embedding_key_variable: str = field(
        default="OPENAI_API_KEY", metadata=about("Environment variable that holds its key.", personal=True)
    )
    capture_model: str = field(
        default="",
        metadata=about(
            "The model that distils exchanges: `id` or `provider/id`. Empty: the cheapest of the session's provider."
        ),
    )
    store_command: str = field(
        default="",
        metadata=about("Program that names store, collection and state directory, asked with one word.", personal=True),
    )
    scan_roots: tuple[str, ...] = field(
        default=(), metadata=about("Directories whose children are searched across projects.", personal=True)
    )
    search_timeout_ms: int = field(
        default=30_000, metadata=about("Longest search of the journal (ms).", minimum=1, maximum=3_600_000)
    )
    compact_timeout_ms: int = field(
        default=300_000, metadata=about("Longest condensation of a store (ms).", minimum=1, maximum=3_600_000)
    )
    model_api: Literal["none", "openai", "anthropic"] = field(
        default="none",
        metadata=about(
            "What the model endpoint of the command line speaks. `none`: there is no model outside of hosts.",
            personal=True,
        ),
    )
    model_url: str = field(
        default="",
        metadata=about("Base address of that endpoint. Empty: the API's own public one.", personal=True),
    )
    model: str = field(default="", metadata=about("The model that it is asked for.", personal=True))
    model_key_variable: str = field(
        default="",
        metadata=about("Environment variable that holds its key. Empty: the API's usual one.", personal=True),
    )


@dataclass(frozen=True, slots=True)
class Events:
    """Event search."""

    workspace_roots: tuple[str, ...] = field(
        default=(),
        metadata=about(
            "Absolute directories: events are shown of sessions that worked inside one of them. None: the Git worktree "
            "of the working directory, else that directory itself.",
            personal=True,
        ),
    )
    session_dirs: tuple[str, ...] = field(
        default=(),
        metadata=about("More folders of session files, such as archives. Being listed grants nothing.", personal=True),
    )


@dataclass(frozen=True, slots=True)
class Config:
    """The resolved values.

    Attributes:
        origins: Key name to the place its value came from; keys at their default are missing.
        ignored: A project file that was not read because its project is not trusted.
    """

    memory: Memory
    index: Index
    guest: Guest
    journal: Journal
    events: Events
    origins: Mapping[str, str]
    ignored: Path | None = None

    def get(self, key: "Key") -> object:
        """The value of *key*; for listings. Code reads the typed attributes."""
        return getattr(getattr(self, key.section), key.field)


class Key(NamedTuple):
    """One row of the table."""

    section: str
    field: str
    type: Any
    default: object  # `MISSING` where it depends on the environment
    shown: str  # the default in words
    description: str
    minimum: int  # of numbers; what lies outside is clamped
    maximum: int
    personal: bool  # a command, an endpoint or a key: for the user alone to set, never for a project

    @property
    def words(self) -> tuple[str, ...]:
        """The words that its type allows."""
        return tuple(
            word for part in (self.type, *get_args(self.type)) for word in get_args(part) if isinstance(word, str)
        )

    @property
    def counts(self) -> bool:
        """Whether it may be a number."""
        return self.type is int or int in get_args(self.type)

    @property
    def name(self) -> str:
        """The specs' name, such as `memory.indexThinking`."""
        return f"{self.section}.{camel(self.field)}"

    @property
    def variable(self) -> str:
        """The environment variable, such as `PEPYS_MEMORY_INDEX_THINKING`."""
        return f"PEPYS_{self.section}_{self.field}".upper()


def _keys() -> Iterator[Key]:
    for section, cls in SECTIONS.items():
        for item in fields(cls):
            schema = item.metadata["schema"]
            yield Key(
                section,
                item.name,
                item.type,
                item.default,
                schema.get("shown") or _shown(item.default),
                item.metadata["description"],
                schema.get("minimum", 0),
                schema.get("maximum", 0),
                schema.get("personal", False),
            )


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return "[]" if value == () else "empty" if value == "" else str(value)


SECTIONS: Mapping[str, type] = {"memory": Memory, "index": Index, "guest": Guest, "journal": Journal, "events": Events}
KEYS: Mapping[str, Key] = {key.name: key for key in _keys()}

SHORT_VARIABLES: Mapping[str, str] = {"PEPYS_INDEX_DIR": "memory.indexDir"}


class Shared(NamedTuple):
    """What a variable that other tools read too says of a key."""

    key: str
    words: Mapping[str, object] | None = None  # the only words that count; None: any text


SHARED_VARIABLES: Mapping[str, Shared] = {
    "PI_EVENT_SEARCH_WORKSPACE_ROOT": Shared("events.workspaceRoots"),
    "PI_SESSION_DIR": Shared("events.sessionDirs"),
    "PI_MEMSEARCH_STORE_CMD": Shared("journal.storeCommand"),
    "PI_MEMSEARCH_SCAN_ROOTS": Shared("journal.scanRoots"),
    "PI_MEMSEARCH_CAPTURE_MODEL": Shared("journal.captureModel"),
    "PI_MEMSEARCH_SEARCH_TIMEOUT_MS": Shared("journal.searchTimeoutMs"),
    "PI_MEMSEARCH_COMPACT_TIMEOUT_MS": Shared("journal.compactTimeoutMs"),
    "PI_MEMSEARCH_CAPTURE": Shared("journal.capture", {"off": False}),
    "PI_MEMSEARCH_SNAPSHOT": Shared("journal.snapshot", {"off": False}),
    "PI_MEMSEARCH_AUTO_CONTEXT": Shared("journal.autoContext", {"on": True}),
}
"""Variables of specs 3 and 4. Our own variable for the same key wins."""


class Layer(NamedTuple):
    """Values from one place, not yet checked."""

    origin: str
    values: Mapping[str, object]  # by key name
    base: Path  # relative paths are taken from here
    confined: bool = False  # paths must stay below `base`


def load(
    env: Mapping[str, str],
    cwd: Path,
    overrides: Mapping[str, object] | None = None,
    trusted: bool | None = None,
    flags: Mapping[str, object] | None = None,
) -> Config:
    """Read the configuration in force at *cwd*.

    Args:
        overrides: From the call context, nested by section: `{"memory": {"indexThinking": True}}`.
        trusted: Whether the host trusts the project; None asks the user's own list (`pepys trust`).
        flags: From the command line, in the form of *overrides*.

    Raises:
        InvalidConfiguration: Naming each place and key that cannot be used, at most five.
    """
    layers, problems, ignored = _layers(env, cwd, overrides, trusted, flags)
    config, more = resolve(layers, env, ignored)
    if problems or more:
        raise InvalidConfiguration("; ".join([*problems, *more][:5]))
    return config


def resolve(layers: Sequence[Layer], env: Mapping[str, str], ignored: Path | None = None) -> tuple[Config, list[str]]:
    """The values that *layers* give, later ones winning, and what is wrong with them. Reads nothing."""
    values: dict[str, dict[str, object]] = {section: {} for section in SECTIONS}
    origins: dict[str, str] = {}
    problems = []
    values["memory"]["index_dir"] = paths.cache_dir(env)
    for layer in layers:
        for name, given in layer.values.items():
            key = KEYS.get(name)
            if key is None:
                problems.append(f"{layer.origin}: unknown key {name}{suggestion(name, KEYS)}")
                continue
            try:
                value = _checked(key, given, layer, env)
            except ValueError as error:
                problems.append(f"{layer.origin}: {name} {error}")
                continue
            values[key.section][key.field] = value
            origins[name] = layer.origin if value == given or not isinstance(given, int) else f"{layer.origin}, clamped"
    sections: dict[str, Any] = {section: cls(**values[section]) for section, cls in SECTIONS.items()}
    return Config(**sections, origins=origins, ignored=ignored), problems


def _layers(
    env: Mapping[str, str],
    cwd: Path,
    overrides: Mapping[str, object] | None,
    trusted: bool | None,
    flags: Mapping[str, object] | None,
) -> tuple[list[Layer], list[str], Path | None]:
    problems: list[str] = []
    user = paths.config_dir(env) / "config.toml"
    layers = [Layer(str(user), _flat(_toml(user, problems), str(user), problems), user.parent)]
    ignored = None
    project = project_file(cwd, env)
    if project is not None:
        if trusted or (trusted is None and trust.is_trusted(project.parent, env)):
            found = _flat(_toml(project, problems), str(project), problems)
            layers.append(Layer(str(project), found, project.parent, confined=True))
        else:
            ignored = project
    layers += _variables(env, cwd, problems)
    layers.append(Layer("command line", _flat(flags or {}, "command line", problems), cwd))
    layers.append(Layer("call context", _flat(overrides or {}, "call context", problems), cwd))
    return layers, problems, ignored


def project_file(cwd: Path, env: Mapping[str, str]) -> Path | None:
    """The nearest project file from *cwd* upwards; a repository's root and the home directory end the search."""
    end = paths.home(env)
    for directory in (cwd, *cwd.parents):
        if directory == end:
            return None
        candidate = directory / PROJECT_FILE
        # Path's own tests raise where they may not look.
        if os.path.isfile(candidate):  # noqa: PTH113
            return candidate
        if os.path.lexists(directory / ".git"):
            return None
    return None


def _toml(path: Path, problems: list[str]) -> Mapping[str, object]:
    try:
        data = path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except OSError as error:
        problems.append(f"{path} cannot be read: {error.strerror}")
        return {}
    import tomllib

    try:
        return tomllib.loads(data.decode("utf-8"))
    except ValueError as error:  # UnicodeDecodeError and TOMLDecodeError
        problems.append(f"{path}: {error}")
        return {}


def _flat(nested: Mapping[str, object], origin: str, problems: list[str]) -> dict[str, object]:
    flat: dict[str, object] = {}
    for section, values in nested.items():
        if section not in SECTIONS:
            problems.append(f"{origin}: unknown section {section}{suggestion(section, SECTIONS)}")
        elif not isinstance(values, Mapping):
            problems.append(f"{origin}: {section} must be a table of keys")
        else:
            flat.update({f"{section}.{name}": value for name, value in values.items()})
    return flat


def _variables(env: Mapping[str, str], cwd: Path, problems: list[str]) -> Iterator[Layer]:
    for variable, shared in SHARED_VARIABLES.items():
        text = env.get(variable)
        if text and (shared.words is None or text in shared.words):
            value = _spelled(KEYS[shared.key], text) if shared.words is None else shared.words[text]
            yield Layer(f"environment {variable}", {shared.key: value}, cwd)
    names = {key.variable: key.name for key in KEYS.values()}
    # Short forms first, so that the full name wins where both are set.
    for variable, name in (*SHORT_VARIABLES.items(), *names.items()):
        if env.get(variable):
            yield Layer(f"environment {variable}", {name: _spelled(KEYS[name], env[variable])}, cwd)
    # A misspelt variable must not be a setting that silently does nothing.
    prefixes = tuple(f"PEPYS_{section.upper()}_" for section in SECTIONS)
    known = {*names, *SHORT_VARIABLES}
    unknown = sorted(name for name in env if name.startswith(prefixes) and name not in known)
    problems += [f"environment: unknown variable {name}{suggestion(name, known)}" for name in unknown]


def _spelled(key: Key, text: str) -> object:
    """What a variable's text stands for; text that does not fit the type is left for the check to refuse."""
    if key.type is bool:
        return {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}.get(text.lower(), text)
    if key.counts:
        return int(text) if text.strip().lstrip("-").isdecimal() else text
    if key.type == tuple[str, ...]:
        return [item for part in text.split(os.pathsep) if (item := part.strip())]
    return text


def _checked(key: Key, given: object, layer: Layer, env: Mapping[str, str]) -> object:
    """*given* as the key's type, clamped to its range.

    Raises:
        ValueError: It is no such value; the message follows the key's name.
    """
    if layer.confined and key.personal:
        raise ValueError("can only be set by the user, not by a project")
    if key.type is str:
        if isinstance(given, str) and "\0" not in given:
            return given
        raise ValueError(f"must be a string, not {given!r}")
    if key.type is bool:
        if isinstance(given, bool):
            return given
        raise ValueError(f"must be true or false, not {given!r}")
    if key.type == tuple[str, ...]:
        if isinstance(given, (list, tuple)) and all(
            isinstance(item, str) and item and "\0" not in item for item in given
        ):
            return tuple(_pattern(item, layer, env) for item in given)
        raise ValueError(f"must be a list of strings, not {given!r}")
    if key.type is Path:
        if isinstance(given, str) and given and not paths.refusal(given):
            return _inside(paths.expand(given, env, layer.base), layer)
        raise ValueError(f"must be a path, not {paths.shortened(repr(given))}")
    if key.counts and isinstance(given, int) and not isinstance(given, bool):
        return min(max(given, key.minimum), key.maximum)
    if isinstance(given, str) and given in key.words:
        return given
    allowed = [*map(repr, key.words), *(["a whole number"] if key.counts else [])]
    raise ValueError(f"must be {' or '.join(allowed)}, not {given!r}")


def _pattern(text: str, layer: Layer, env: Mapping[str, str]) -> str:
    if text.startswith("~"):
        text = str(paths.expand(text, env, layer.base))
    if layer.confined and ("/" in text or "\\" in text):
        return str(_inside(layer.base / text, layer))
    return text


def _inside(path: Path, layer: Layer) -> Path:
    if layer.confined and not Path(os.path.realpath(path)).is_relative_to(os.path.realpath(layer.base)):
        raise ValueError(f"must not name a path outside the project: {path}")
    return path
