"""Paths that a caller looks for."""

from __future__ import annotations

import pytest

from pepys.events.files import wanted


def meant(text: str, path: str) -> bool:
    found = wanted(text, "/home/dev/shop")
    return found is not None and found.holds(path)


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("/home/dev/shop/src/a.py", "/home/dev/shop/src/a.py"),
        ("/home/dev/shop/src/", "/home/dev/shop/src/a.py"),
        ("/", "/anything"),
        ("./src/a.py", "/home/dev/shop/src/a.py"),
        ("../lib", "/home/dev/lib/x.py"),
        (".", "/home/dev/shop/src/a.py"),
        ("a.py", "/home/dev/shop/src/a.py"),
        ("src/a.py", "/other/checkout/src/a.py"),  # wherever the session worked
        ("src", "/home/dev/shop/src/a.py"),
        ("src//./a.py", "src/a.py"),
        ("~/x.json", "~/x.json"),
    ],
)
def test_a_path_is_meant(text: str, path: str) -> None:
    assert meant(text, path)


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("/home/dev/shop/src/a.py", "/home/dev/shop/src/a.pyc"),
        ("/home/dev/shop", "/home/dev/shop2/a.py"),
        ("./a.py", "/other/a.py"),
        ("a.py", "/home/dev/shop/aa.py"),
        ("src/a.py", "/home/dev/src/b/a.py"),
        ("rc", "/home/dev/shop/src"),
        ("/src/a.py", "/home/src/a.py"),
        ("", "/home/dev/shop"),
        ("https://example.test/a.py", "/a.py"),
    ],
)
def test_a_path_is_not_meant(text: str, path: str) -> None:
    assert not meant(text, path)


def test_the_last_component_is_its_name() -> None:
    found = wanted("src/a.py", "/home")

    assert found is not None
    assert (found.path, found.name) == ("src/a.py", "a.py")
