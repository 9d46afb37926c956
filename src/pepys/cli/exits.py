"""The exit status of an error code, for results that carry their error instead of raising it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pepys import errors
from pepys.errors import PepysError


def error_classes() -> Iterator[type[PepysError]]:
    """Every class of `pepys.errors`, the base first."""
    pending: list[type[PepysError]] = [PepysError]
    while pending:
        cls = pending.pop(0)
        yield cls
        pending += cls.__subclasses__()


def error_of(error: Mapping[str, Any]) -> PepysError:
    """The exception that the body of an error stands for; a code without a class keeps its code."""
    body = dict(error)
    code, message, hint = body.pop("code"), body.pop("message", ""), body.pop("hint", None)
    cls = next((cls for cls in error_classes() if cls.code == code), PepysError)
    raised = cls(message, hint=hint, details=body)
    raised.code = code
    return raised


def carried(page: object) -> PepysError | None:
    """The error that a result carries."""
    error = errors.carried(page)
    return None if error is None else error_of(error)


def page_status(page: object) -> int:
    """The exit status of a result: that of the error it carries, else 0."""
    error = carried(page)
    return 0 if error is None else error.exit_status
