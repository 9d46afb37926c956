"""Rules by which files are left out: they mean what they mean to Git."""

from __future__ import annotations

import shutil
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from pepys.journal.ignored import rules, verdict

PATHS = ("a/b/x.md", "b/a/x.md", "drafts/x.md", "a/drafts/x.md", "2026-01-01.md", "a/2026-01-01.md", "!a", "#a", "a b",
         "a.md", "b/b", "3.md", "a/3", "x.md", "a/x.md", "ab")  # fmt: skip


def left_out(lines: Sequence[str]) -> set[str]:
    """What of the paths *lines* leave out, with all that lies in directories that they leave out."""
    given = rules(lines)
    found = set()
    for path in PATHS:
        parts = path.split("/")
        above = ("/".join(parts[:at]) for at in range(1, len(parts)))
        if any(verdict(given, each, directory=True) for each in above) or verdict(given, path, directory=False):
            found.add(path)
    return found


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (["*.md", "!x.md", "# a comment", ""], {"2026-01-01.md", "a/2026-01-01.md", "a.md", "3.md"}),
        (["drafts/"], {"drafts/x.md", "a/drafts/x.md"}),
        (["/drafts"], {"drafts/x.md"}),
        (["a/*.md"], {"a/2026-01-01.md", "a/x.md"}),
        (["a/**/x.md"], {"a/b/x.md", "a/drafts/x.md", "a/x.md"}),
        (["/[0-9].md", "2026-??-??.md", "!/2026*"], {"3.md", "a/2026-01-01.md"}),
        (["\\!a", "\\#a", "a\\ b"], {"!a", "#a", "a b"}),
        (["a/**/"], {"a/b/x.md", "a/drafts/x.md", "a/2026-01-01.md", "a/3", "a/x.md"}),
        (["a/**", "!a/x.md"], {"a/b/x.md", "a/drafts/x.md", "a/2026-01-01.md", "a/3", "a/x.md"}),
        (["[!a]/"], {"b/a/x.md", "a/b/x.md", "b/b"}),
    ],
)
def test_rules_leave_out_what_they_say(lines: list[str], expected: set[str]) -> None:
    assert left_out(lines) == expected


@pytest.mark.parametrize("glob", ["*a" * 40 + "b", "**/a/" * 40 + "b", "*[!b]" * 40 + "c"])
def test_no_rule_takes_for_ever(glob: str) -> None:
    (rule,) = rules([glob])
    begun = time.process_time()

    assert not rule.pattern.fullmatch("a" * 250)
    assert not rule.pattern.fullmatch("a/" * 1000 + "a")
    assert time.process_time() - begun < 1


GLOBS = st.lists(
    st.sampled_from(
        ["a", "b", "*", "?", "**", "a*", "*a*", "*/*b", "[ab]", "[!a]", "x.md", "*.md", "2026-*", "drafts", "[0-9]"]
    ),
    min_size=1,
    max_size=3,
).map("/".join)
LINES = st.lists(
    st.tuples(st.sampled_from(["", "!"]), st.sampled_from(["", "/"]), GLOBS, st.sampled_from(["", "/", "  "])).map(
        "".join
    ),
    max_size=4,
)


@given(LINES)
@settings(max_examples=60)
def test_git_leaves_out_the_same(tmp_path_factory: pytest.TempPathFactory, lines: list[str]) -> None:
    assume(not any(line.strip(" /").endswith("**") for line in lines))  # there memsearch differs, and is followed
    if shutil.which("git") is None:
        pytest.skip("git is not installed")
    root = tmp_path_factory.mktemp("work")
    subprocess.run(["git", "init", "-q", str(root)], check=True)
    for path in PATHS:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        Path(root, path).touch()
    (root / ".gitignore").write_text("".join(f"{line}\n" for line in lines))

    found = subprocess.run(
        ["git", "check-ignore", "--no-index", "--stdin", "-z"],
        input="\0".join((*PATHS, "")),
        cwd=root,
        capture_output=True,
        text=True,
    ).stdout

    assert left_out(lines) == set(filter(None, found.split("\0")))
