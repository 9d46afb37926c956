# ruff: noqa: F821  (the host binds `_actions`)
"""What runs in the sandbox before a program, and is never imported here: the modules, and `memory.walk`.

The sandbox knows a part of Python: no generators, no `callable`, no `inspect`. Of `_actions`, which the host
provides, each item is an action as a function.
"""

from typing import Any

_actions: dict[str, dict[str, Any]]

_CALLABLE = {"function", "method", "builtin_function_or_method", "partial", "type"}
_AWAITABLE = {"coroutine", "Task", "Future"}

_walks: list[list[bool]] = []  # of each call of memory.walk, empty until it is awaited


def _walking(expand: Any) -> Any:
    """`memory.walk` over *expand*."""

    def folded(name: str) -> str:
        return name.replace("_", "").lower()

    def refused(text: str) -> Any:
        raise TypeError("memory.walk: " + text)

    def selected(given: dict[str, Any]) -> bool:
        exact = ("indices", "index", "entryids", "operationaddresses")
        # An index of 0 is a selection, an empty list is none.
        return given.get("entryrange") is not None or any(given.get(name) not in (None, [], ()) for name in exact)

    def whole(page: dict[str, Any], args: dict[str, Any]) -> dict[str, Any]:
        """The selection of all that *page* counts, in the state that it describes."""
        kept = {name: value for name, value in args.items() if folded(name) in ("maxchars", "maxentries")}
        return {
            **kept,
            "session": page["session"],
            "expectedSourceHash": page["sourceHash"],
            "expectedLineageFingerprint": page["lineageFingerprint"],
            "branches": page["branches"],
            "entryRange": {"first": 0, "last": page["entryCount"] - 1},
        }

    def joined(before: Any, chunk: dict[str, Any]) -> dict[str, Any]:
        """The entry that *before*, None or what came of it so far, makes together with *chunk*."""
        span = chunk["textRange"]
        if len(chunk["text"]) != span["end"] - span["start"]:
            raise RuntimeError("memory.walk: a chunk is not as long as its textRange")
        if before is None:
            return chunk
        had = before["textRange"]
        if chunk["index"] != before["index"] or span["start"] != had["end"] or span["total"] != had["total"]:
            raise RuntimeError("memory.walk: chunks do not join")
        text, whole_span = before["text"] + chunk["text"], {**span, "start": had["start"]}
        return {**chunk, **before, "text": text, "textRange": whole_span}

    def walk(selection: Any = None, visitor: Any = None, **more: Any) -> Any:
        """What to await for `walked`; whether that was done is kept."""
        begun: list[bool] = []
        _walks.append(begun)
        return walked(begun, selection, visitor, more)

    async def walked(begun: list[bool], selection: Any, visitor: Any, more: dict[str, Any]) -> dict[str, Any]:
        """Call *visitor* with every selected entry, complete, and its ordinal, until it returns exactly False.

        Args:
            selection: The arguments of `memory.expand`; without a selector, the whole session.
            visitor: Takes the entry, or the entry and its ordinal; may be asynchronous.

        Returns:
            `visited`, `stopped`, and `error` if the provider gave one.
        """
        begun.append(True)
        if selection is not None and not isinstance(selection, dict):
            refused("the selection must be a dict")
        args: dict[str, Any] = {**(selection or {}), **more}
        if not args:
            refused("the selection must name a session")
        if type(visitor).__name__ not in _CALLABLE and not hasattr(visitor, "__call__"):  # noqa: B004
            refused("the visitor must be a function")
        given = {folded(name): value for name, value in args.items()}
        if given.get("textoffset"):
            refused("textOffset must be 0: every visit gets a complete entry")
        if not selected(given):
            if given.get("entryoffset") or given.get("before") or given.get("after"):
                refused("entryOffset, before and after need a selection")
            page = expand(args)
            if page.get("error") is not None:
                return {"visited": 0, "stopped": False, "error": page["error"]}
            if page["entryCount"] == 0:
                return {"visited": 0, "stopped": False}
            args = whole(page, args)
        if "maxchars" not in given:
            args["maxChars"] = 24_000
        if "maxentries" not in given:
            args["maxEntries"] = 20
        visited, arity = 0, 2
        seen: set[str] = set()
        entry: Any = None  # what has come of the one at hand
        answer: Any = None
        while True:
            page = expand(args)
            if page.get("error") is not None:
                return {"visited": visited, "stopped": False, "error": page["error"]}
            for chunk in page["entries"]:
                entry = joined(entry, chunk)
                if not entry["textRange"]["complete"]:
                    continue
                if not visited:
                    try:
                        answer = visitor(entry, 0)
                    except TypeError as error:
                        # There is no asking a function what it takes.
                        if "takes " not in str(error) or "given" not in str(error):
                            raise
                        arity = 1
                # Not in the handler: the sandbox would forget where an error came from.
                if arity == 1:
                    answer = visitor(entry)
                elif visited:
                    answer = visitor(entry, visited)
                if type(answer).__name__ in _AWAITABLE:
                    answer = await answer
                entry, visited = None, visited + 1
                if answer is False:
                    return {"visited": visited, "stopped": True}
            following = page["next"]
            if following is None:
                break
            token = repr(sorted(following["args"].items()))
            if following["ref"] != "memory.expand" or token in seen:
                raise RuntimeError("memory.walk: next leads nowhere")
            seen.add(token)
            args = following["args"]
        if entry is not None:
            raise RuntimeError("memory.walk: the last entry is not complete")
        return {"visited": visited, "stopped": False}

    return walk


def _module(name: str, functions: dict[str, Any]) -> Any:
    made = type(name, (), {})()
    for action, function in functions.items():
        setattr(made, action, function)
    return made


if "expand" in _actions.get("memory", {}):
    _actions["memory"]["walk"] = _walking(_actions["memory"]["expand"])
_modules = {name: _module(name, functions) for name, functions in _actions.items()}
_walked = _module("walked", {"all": lambda: all(_walks)})
