"""Stands between an extension and Pepys, and writes down what they say to each other.

    PEPYS_COMMAND='["python", "tests/rpc/tee.py", "LOG", "pepys"]'

Every line that passes is one line of JSON in LOG: `{"from": "client" | "server", "line": "..."}`; each start of Pepys
is `{"from": "start"}`. `tests.rpc.schema.recorded` judges it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from typing import IO


def main() -> int:
    """Run the command that is given until both ends are closed."""
    log, *command = sys.argv[1:]
    if command[-1:] != ["serve"]:
        os.execvp(command[0], command)  # another command of Pepys, which is no conversation
    with open(log, "a", encoding="utf-8") as file:
        lock = threading.Lock()

        def write(record: dict[str, str]) -> None:
            with lock:
                file.write(json.dumps(record) + "\n")
                file.flush()

        def copy(side: str, source: IO[bytes], target: IO[bytes]) -> None:
            try:
                for line in source:
                    write({"from": side, "line": line.decode("utf-8", "replace")})
                    target.write(line)
                    target.flush()
                target.close()
            except OSError:
                pass  # one of them is gone; the other will notice

        write({"from": "start"})
        child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert child.stdin and child.stdout
        threading.Thread(target=copy, args=("client", sys.stdin.buffer, child.stdin), daemon=True).start()
        copy("server", child.stdout, sys.stdout.buffer)
        return child.wait()


if __name__ == "__main__":
    raise SystemExit(main())
