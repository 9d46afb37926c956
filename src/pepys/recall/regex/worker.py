"""The disposable worker's program: one pattern over some texts, then it ends.

Run by file path as `python -I worker.py MEMORY_BYTES CPU_SECONDS PACKAGES`, so it imports nothing of this project;
PACKAGES is the directory that holds the `regex` package, in case an isolated interpreter does not find it. What
`matching` sends and gets is described here, all numbers big-endian:

    in   pattern, then each text: u32 length in bytes, UTF-8 (lone surrogates as they are); END where no more follow
    out  READY, or at once a status as below
    in   GO
    out  status (one byte); after MATCHED a u32 count, then count times u32 text number, u32 code point offset; after
         another one u32 length, UTF-8 message
"""

from __future__ import annotations

import os
import struct
import sys
import threading
from contextlib import suppress

END = 0xFFFF_FFFF
READY, GO, MATCHED, REFUSED, FAILED = b"r", b"g", b"m", b"i", b"f"


def main() -> None:
    """Serve one request on standard input and output, a socket."""
    memory, cpu, packages = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    _limit(memory, cpu)
    status, body = FAILED, b""
    try:
        try:
            import regex
        except ImportError:
            sys.path.append(packages)
            import regex
        texts = list(iter(_text, None))
        os.write(1, READY)
        if not os.read(0, 1):
            return
        threading.Thread(target=_end_with_parent, daemon=True).start()
        pattern = texts.pop(0) or ""
        try:
            compiled = regex.compile(pattern, regex.VERSION0)
        except regex.error as error:
            status, body = REFUSED, _message(str(error))
        else:
            found = [
                struct.pack(">II", number, match.start())
                for number, text in enumerate(texts)
                if (match := compiled.search(text)) is not None
            ]
            status, body = MATCHED, struct.pack(">I", len(found)) + b"".join(found)
    except MemoryError:
        body = _message("out of memory")
    except Exception as error:
        body = _message(f"{type(error).__name__}: {error}")
    sys.stdout.buffer.write(status + body)
    sys.stdout.buffer.flush()


def _text() -> str | None:
    (length,) = struct.unpack(">I", _exactly(4))
    return None if length == END else _exactly(length).decode("utf-8", "surrogatepass")


def _exactly(count: int) -> bytes:
    data = sys.stdin.buffer.read(count)
    if len(data) < count:
        os._exit(1)  # the parent is gone, or has given up
    return data


def _message(text: str) -> bytes:
    data = text[:500].encode("utf-8", "replace")
    return struct.pack(">I", len(data)) + data


def _limit(memory: int, cpu: int) -> None:
    import resource

    for limit, value in (
        (resource.RLIMIT_AS, memory),
        (resource.RLIMIT_CPU, cpu),
        (resource.RLIMIT_CORE, 0),
    ):
        with suppress(ValueError, OSError):  # macOS knows no limit of address space
            resource.setrlimit(limit, (value, value))


def _end_with_parent() -> None:
    """Nothing more is ever sent: reading ends when the parent does, whatever the matching is at."""
    os.read(0, 1)
    os._exit(1)


if __name__ == "__main__":
    main()
