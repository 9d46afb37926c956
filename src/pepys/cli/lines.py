"""`pepys call --lines`: calls and answers as a stream of JSON lines."""

from __future__ import annotations

import argparse
import os
import sys
import traceback
from collections import OrderedDict
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, BinaryIO

from pepys import paths
from pepys.actions import wire
from pepys.cli import options
from pepys.cli.jsontext import read_json
from pepys.cli.output import Output, json_text
from pepys.errors import InvalidArgument, PepysError

if TYPE_CHECKING:
    from pepys.workspace import Workspace

MAX_LINE_BYTES = 16 * 1024 * 1024
MAX_WORKSPACES = 4
"""Workspaces kept open for contexts seen lately; whatever else is opened is closed again."""

_KEYS = {"id", "ref", "args", "context"}


def serve(args: argparse.Namespace, stream: BinaryIO, out: Output) -> int:
    """Answer each line of *stream* in order, until it ends. An answer is flushed before the next line is read."""
    # Which session is current is for each context to say, not for the environment of the process that answers.
    workspaces = _Workspaces(options.keywords(args, {}))
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


def _answer(line: bytes, workspaces: _Workspaces) -> dict[str, object]:
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


class _Workspaces:
    """Opened workspaces by context, the ones used lately."""

    def __init__(self, base: Mapping[str, Any]) -> None:
        self.base = base
        self.opened: OrderedDict[str, Workspace] = OrderedDict()

    def get(self, context: object) -> Workspace:
        key = json_text(context)
        if key not in self.opened:
            self.opened[key] = self._open(context)
            if len(self.opened) > MAX_WORKSPACES:
                self.opened.popitem(last=False)[1].close()
        self.opened.move_to_end(key)
        return self.opened[key]

    def close(self) -> None:
        while self.opened:
            self.opened.popitem()[1].close()

    def _open(self, context: object) -> Workspace:
        from pepys import config, workspace

        # A context says more precisely what the command line says for all of them.
        keywords = {**self.base, **wire.read_context(context, paths.working_directory(), os.environ)}
        resolved = config.load(os.environ, keywords["cwd"], keywords.get("config_overrides"), keywords["trusted"])
        return workspace.open(**keywords, env=os.environ, patience_s=resolved.index.budget_ms / 1000)
