"""The request of `guest.run`. See `model.query` for how it is read."""

from dataclasses import dataclass, field

from pepys.model.query import about


@dataclass(frozen=True, slots=True)
class RunRequest:
    """What `guest.run` is asked."""

    program: str = field(
        metadata=about(
            "Python source; its value is what it returns at the top level, or its last expression, and must be JSON. "
            "memory.recall, memory.sessions, memory.expand and tools.* take one dict, or keywords, and give dicts; "
            "`await memory.walk({'session': ...}, visit)` calls visit(entry) for every record until it returns False."
        )
    )
    name: str = field(default="program.py", metadata=about("What tracebacks call the program.", maxLength=200))
    timeout_ms: int | None = field(
        default=None, metadata=about("Longest run (ms), if that is less than guest.timeoutMs.", minimum=1)
    )
