"""`pepys call --lines`: calls and answers as a stream of JSON lines."""

from __future__ import annotations

import argparse
import os
import sys
import traceback
from typing import BinaryIO

from pepys import paths
from pepys.actions import wire
from pepys.cli import options
from pepys.cli.output import Output
from pepys.errors import InvalidArgument, PepysError
from pepys.jsontext import read_json
from pepys.workspaces import Workspaces

MAX_LINE_BYTES = 16 * 1024 * 1024

_KEYS = {"id", "ref", "args", "context"}


def serve(args: argparse.Namespace, stream: BinaryIO, out: Output) -> int:
    """Answer each line of *stream* in order, until it ends. An answer is flushed before the next line is read."""
    # Which session is current is for each context to say, not for the environment of the process that answers.
    workspaces = Workspaces(options.keywords(args, {}), paths.working_directory(), os.environ)
    try:
        while line := stream.readline(MAX_LINE_BYTES + 1):
            if line.isspace():
                continue
            if len(line) > MAX_LINE_BYTES:
                while line and not line.endswith(b"\n"):
                    line = stream.readline(MAX_LINE_BYTES)
                out.json({"id": None, "error": InvalidArgument("A line is over 16 MiB.").as_json()}, stream=True)
            else:
                out.json(_answer(line, workspaces), stream=True)
            out.flush()
    finally:
        workspaces.close()
    return 0


def _answer(line: bytes, workspaces: Workspaces) -> dict[str, object]:
    id_: object = None
    try:
        request = read_json(line, "the line")
        if not isinstance(request, dict):
            raise InvalidArgument("A line must be a JSON object.")
        id_ = request.get("id")
        if unknown := sorted(request.keys() - _KEYS):
            raise InvalidArgument(f"Unknown key {unknown[0]}; a line has id, ref, args and context.")
        call = wire.read_call({name: request[name] for name in ("ref", "args") if name in request})
        return {"id": id_, "result": workspaces.get(request.get("context") or {}).call(call.ref, call.args)}
    except PepysError as error:
        return {"id": id_, "error": error.as_json()}
    except Exception as error:
        # One call that meets a defect of ours must not take the stream with it.
        traceback.print_exc(file=sys.stderr)
        return {"id": id_, "error": PepysError(f"{type(error).__name__}: {error}").as_json()}
