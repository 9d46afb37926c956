# ruff: noqa: RUF001  (what is drawn)
"""The picker of notes as a state machine (spec 5, "Picker keys"): keys in, lines out. It reads and writes nothing.

`press` answers a key with the next state, and where that asks for it with an effect, for the caller to carry out;
`after` tells the state what came of it. What the stores hold is given to every step.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal, NamedTuple

from pepys.errors import InvalidArgument
from pepys.model.notes import SCOPES, Scope
from pepys.notes import markdown
from pepys.notes.columns import Cell, cells, fit, width, wrap
from pepys.notes.stores import other, storable

Filter = Literal["all", "project", "global"]
FILTERS: tuple[Filter, ...] = ("all", "project", "global")

Style = Literal["", "title", "dim", "tag", "focus", "mark", "error", "cursor"]


class Run(NamedTuple):
    """Text with one look."""

    text: str
    style: Style = ""


Line = tuple[Run, ...]


class Row(NamedTuple):
    """A note of the list."""

    scope: Scope
    text: str
    nth: int = 0  # how many equal ones stand before it in its store


class Shelf(NamedTuple):
    """What the stores hold."""

    project: tuple[str, ...] = ()
    global_: tuple[str, ...] = ()
    trusted: bool = True
    troubles: tuple[str, ...] = ()  # why a store cannot be read
    unread: tuple[Scope, ...] = ()  # which ones that is said of

    def addable(self, filter_: Filter) -> bool:
        """Whether a note can be added where a filter looks."""
        return self.trusted or filter_ != "project"

    def rows(self, filter_: Filter) -> list[Row]:
        """The notes that a filter lets through."""
        found = []
        for scope, notes in zip(SCOPES, (self.project, self.global_), strict=True):
            seen: dict[str, int] = {}
            for note in notes if filter_ in ("all", scope) else ():
                found.append(Row(scope, note, seen.get(note, 0)))
                seen[note] = seen.get(note, 0) + 1
        return found


class Editor(NamedTuple):
    """The line that is being written."""

    purpose: Literal["add", "edit", "merge"]
    scope: Scope
    text: str = ""
    cursor: int = 0  # in cells
    of: tuple[str, ...] = ()  # the note that is edited, or the two that are merged


class State(NamedTuple):
    """Everything that a key's meaning depends on, but for the notes."""

    filter: Filter = "all"
    focus: Row | None = None
    at: int = 0  # where the focus is, or was
    mark: Row | None = None
    doomed: Row | None = None  # the note that is forgotten if the answer is yes
    editor: Editor | None = None
    message: str = ""
    closed: bool = False


class Key(NamedTuple):
    """One thing that was typed: a key by its name, or text."""

    name: str = ""
    text: str = ""


class Effect(NamedTuple):
    """Something to do with the stores."""

    do: Literal["add", "update", "forget", "merge", "move", "reload"]
    scope: Scope = "project"
    text: str = ""
    second: str = ""  # of merge
    to: str = ""  # of update and merge


Step = tuple[State, Effect | None]

_MOVES = {"up": -1, "k": -1, "wheelup": -1, "down": 1, "j": 1, "wheeldown": 1}
_NOT_TRUSTED = "The project is not trusted; its notes are neither read nor written."


def press(state: State, shelf: Shelf, key: Key, page: int) -> Step:
    """What *key* does.

    Args:
        page: How many rows PageUp and PageDown go.
    """
    gone = state.focus is not None and state.focus not in shelf.rows(state.filter)
    state = located(state._replace(message=""), shelf)
    if key.name == "ctrl+c":
        return state._replace(closed=True), None
    if state.doomed is not None:
        sure, doomed = key.text in ("y", "Y"), state.doomed
        return state._replace(doomed=None), Effect("forget", doomed.scope, doomed.text) if sure else None
    if key.name == "escape":
        return _cancelled(state), None
    if state.editor is not None:
        return _edited(state, state.editor, key)
    name = key.name or key.text
    if name in _MOVES or name in ("pageup", "pagedown", "home", "end"):
        return _moved(state, shelf, name, page), None
    if name in ("s", "tab"):
        following = FILTERS[(FILTERS.index(state.filter) + 1) % len(FILTERS)]
        return located(state._replace(filter=following), shelf), None
    if name == "r":
        return state, Effect("reload")
    if name == "a":
        return _adding(state, shelf), None
    if name not in ("enter", "e", "d", "m", "p") or state.focus is None:
        return state, None
    if gone:  # the key was meant for another note than the one that is in its place now
        return state._replace(message="The note that was here is gone; nothing was done."), None
    return _acted(state, shelf, state.focus, name)


def after(state: State, shelf: Shelf, effect: Effect, *, existing: str | None = None, error: str = "") -> State:
    """The state once *effect* was tried.

    Args:
        shelf: As it is then.
        existing: The stored note for which nothing was added.
        error: Why it could not be done; an editor stays open, with what was typed.
    """
    if error:
        return located(state._replace(message=error), shelf)
    state = state._replace(editor=None)
    scope, note = effect.scope, effect.text
    if effect.do == "add":
        told = f"Already in {scope} memory." if existing else f"Added to {scope} memory."
        return _shown(state, shelf, Row(scope, existing or note), told)
    if effect.do == "move":
        scope = other(scope)
        told = f"Already in {scope} memory; no longer in {other(scope)}." if existing else f"Moved to {scope} memory."
        return _shown(state, shelf, Row(scope, existing or note), told)
    if effect.do in ("update", "merge"):
        return _shown(state, shelf, Row(scope, effect.to), "Saved." if effect.do == "update" else "Merged.")
    return located(state._replace(message="Read again." if effect.do == "reload" else "Forgotten."), shelf)


def located(state: State, shelf: Shelf) -> State:
    """The same state with the focus where its note is now, or near where it was; a mark that is gone is no mark."""
    rows = shelf.rows(state.filter)
    if state.mark is not None and state.mark not in shelf.rows("all"):
        state = state._replace(mark=None)
    if not rows:
        return state._replace(focus=None, at=0)
    at = min(max(state.at, 0), len(rows) - 1)
    if state.focus in rows:
        at = rows.index(state.focus)
    return state._replace(focus=rows[at], at=at)


# Keys of the list


def _cancelled(state: State) -> State:
    if state.mark is not None:
        return state._replace(mark=None)
    if state.editor is not None:
        return state._replace(editor=None)
    return state._replace(closed=True)


def _moved(state: State, shelf: Shelf, name: str, page: int) -> State:
    rows = shelf.rows(state.filter)
    last = len(rows) - 1
    at = {"home": 0, "end": last, "pageup": state.at - page, "pagedown": state.at + page}.get(name)
    if at is None:
        at = state.at + _MOVES[name]
    at = min(max(at, 0), max(last, 0))
    return state._replace(at=at, focus=rows[at] if rows else None)


def _adding(state: State, shelf: Shelf) -> State:
    scope: Scope = ("project" if shelf.trusted else "global") if state.filter == "all" else state.filter
    if not shelf.addable(state.filter):
        return state._replace(message=_NOT_TRUSTED)
    return state._replace(editor=Editor("add", scope))


def _acted(state: State, shelf: Shelf, row: Row, name: str) -> Step:
    if name == "d":
        return state._replace(doomed=row), None
    if name == "m":
        return _marked(state, row), None
    if name == "p":
        if row.scope == "global" and not shelf.trusted:
            return state._replace(message=_NOT_TRUSTED), None
        return state, Effect("move", row.scope, row.text)
    return state._replace(editor=_editor("edit", row.scope, row.text, (row.text,))), None


def _marked(state: State, row: Row) -> State:
    mark = state.mark
    if mark is None:
        return state._replace(mark=row)
    if mark == row:
        return state._replace(mark=None)
    if mark.scope != row.scope:
        return state._replace(message="Only notes of one scope can be merged; move one of them first (p).")
    both = (mark.text, row.text)
    return state._replace(mark=None, editor=_editor("merge", row.scope, "; ".join(both), both))


def _shown(state: State, shelf: Shelf, row: Row, message: str) -> State:
    """The state with the focus on *row*, and a filter that shows it."""
    if state.filter not in ("all", row.scope):
        state = state._replace(filter="all")
    return located(state._replace(focus=row, message=message), shelf)


# The editor


def _editor(purpose: Literal["edit", "merge"], scope: Scope, text: str, of: tuple[str, ...]) -> Editor:
    return Editor(purpose, scope, text, len(_typed(text)), of)


_UNTYPABLE = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]+")


def _edited(state: State, editor: Editor, key: Key) -> Step:
    if key.name == "enter":
        return _saved(state, editor)
    typed = _typed(editor.text)
    at = min(max(editor.cursor, 0), len(typed))
    before, behind = typed[:at], typed[at:]
    if key.text:
        before += _typed(_UNTYPABLE.sub(" ", key.text))
    elif key.name == "backspace":
        before = before[:-1]
    elif key.name == "delete":
        behind = behind[1:]
    elif key.name == "ctrl+u":
        before = []
    elif key.name == "ctrl+k":
        behind = []
    elif key.name == "ctrl+w":
        before = _typed(re.sub(r"\S*\s*$", "", "".join(before)))
    elif key.name in ("left", "right", "home", "end", "ctrl+a", "ctrl+e"):
        ends = {"home": 0, "ctrl+a": 0, "end": len(typed), "ctrl+e": len(typed)}
        at = ends.get(key.name, at + (1 if key.name == "right" else -1))
        return state._replace(editor=editor._replace(cursor=min(max(at, 0), len(typed)))), None
    start = "".join(before)
    # What is typed may join the character before it.
    return state._replace(editor=editor._replace(text=start + "".join(behind), cursor=len(_typed(start)))), None


def _saved(state: State, editor: Editor) -> Step:
    try:
        note = storable(editor.text)
    except InvalidArgument as error:
        return state._replace(message=error.message), None
    if editor.purpose == "add":
        return state, Effect("add", editor.scope, note)
    if editor.purpose == "merge":
        first, second = editor.of
        return state, Effect("merge", editor.scope, first, second, note)
    if editor.of == (note,):
        return state._replace(editor=None), None
    return state, Effect("update", editor.scope, editor.of[0], to=note)


def _typed(text: str) -> list[str]:
    """The characters of *text*, between which the cursor can stand."""
    return [cell.text for cell in cells(text)]


# Lines

FRAME = 6
"""Lines beside the notes: title, summary, blank, range, blank, hints. A message takes more."""

_TAGS: dict[Scope, str] = {"project": "project ", "global": "global  "}
_INDENT = 3 + len(_TAGS["project"])  # the focus, the mark, a space
_BROWSE = ("e edit", "a add", "d forget", "m merge", "p move", "s scope", "r reload", "Esc close")
_EMPTY = ("a add", "s scope", "r reload", "Esc close")
_MARKED = ("m merge with this", "p move", "s scope", "Esc unmark")
_ON_MARK = ("m unmark", "p move", "s scope", "Esc unmark")
_WRITE = ("Enter save", "Esc cancel")
_ASK = ("y forget", "N keep")
_WAYS_OUT = ("Esc close", "Esc unmark", "Esc cancel", "N keep")
_PURPOSES = {"add": "New note in {} memory", "edit": "Note in {} memory", "merge": "Both as one note in {} memory"}


def page(height: int) -> int:
    """How many notes a screen of so many lines shows."""
    return max(height - FRAME, 1)


def lines(state: State, shelf: Shelf, columns: int, height: int) -> list[Line]:
    """What is on a screen of so many *columns* and lines; no line is wider, and there are no more."""
    state = located(state, shelf)
    rows = shelf.rows(state.filter)
    head: list[Line] = [
        (Run(fit(_rule("Memory", columns), columns), "title"),),
        (Run(fit(_summary(state, shelf), columns), "dim"),),
        *(line for trouble in shelf.troubles for line in _told(Run(trouble, "error"), columns)),
        (),
    ]
    message = _message(state)
    foot: list[Line] = [(), *(_told(message, columns) if message else ()), _hints(state, shelf, columns)]
    if len(head) + len(foot) + 2 > height:  # a small screen: the notes come first
        head, foot = head[:1], foot[1:2]
    body, first, last = _body(state, shelf, rows, columns, max(height - len(head) - len(foot) - 1, 1))
    if first < last < len(rows) or 0 < first < last:
        body.append((Run(fit(f"showing {first + 1}–{last} of {len(rows)}", columns), "dim"),))
    return [*head, *body, *foot][:height]


def _told(run: Run, columns: int) -> list[Line]:
    """A sentence, on as many lines as it takes."""
    return [(Run("".join(cell.shown for cell in line), run.style),) for line in wrap(cells(run.text), columns)]


def _rule(title: str, columns: int) -> str:
    return f"─ {title} ".ljust(columns, "─")


def _summary(state: State, shelf: Shelf) -> str:
    project = f"{len(shelf.project)} project" if shelf.trusted else "project not trusted"
    return f"{state.filter.capitalize()} · {project}, {len(shelf.global_)} global"


def _body(state: State, shelf: Shelf, rows: Sequence[Row], columns: int, room: int) -> tuple[list[Line], int, int]:
    """The lines of the list, and the rows that they are of (half-open)."""
    editor = state.editor
    if editor is None:
        if not rows:
            return _told(Run(_nothing(state, shelf), "dim"), columns)[:room], 0, 0
        first = min(max(state.at - room // 2, 0), max(len(rows) - room, 0))
        last = min(first + room, len(rows))
        return [_row(rows[at], state, columns) for at in range(first, last)], first, last
    written = _written(editor, columns, room)
    # The editor stands in the place of the note that it is about; a new note, behind all others.
    place = len(rows) if editor.purpose == "add" else state.at
    behind = place if editor.purpose == "add" else place + 1
    spare = max(room - len(written), 0)
    above = min(place, max(spare - (len(rows) - behind), (spare + 1) // 2))
    first, last = place - above, min(behind + spare - above, len(rows))
    above_it, below_it = (
        [_row(row, state, columns) for row in part] for part in (rows[first:place], rows[behind:last])
    )
    return [*above_it, *written, *below_it], first, last


def _nothing(state: State, shelf: Shelf) -> str:
    """Why there is nothing to show."""
    if not shelf.addable(state.filter):
        return _NOT_TRUSTED
    for scope in shelf.unread:
        if state.filter in ("all", scope):
            return f"What {scope} memory holds cannot be read now."
    whose = "notes here" if shelf.trusted or state.filter != "all" else "global notes"
    return f"No {whose} yet. Press a to add one."


def _row(row: Row, state: State, columns: int) -> Line:
    focused, marked = row == state.focus and state.editor is None, row == state.mark
    text = fit(row.text, max(columns - _INDENT, 1))
    look: Style = "error" if row == state.doomed else "focus" if focused else ""
    return _cut(
        (
            Run("❯" if focused else " ", "focus"),
            Run("● " if marked else "  ", "mark"),
            Run(_TAGS[row.scope], "tag"),
            Run(text, look),
        ),
        columns,
    )


def _written(editor: Editor, columns: int, room: int) -> list[Line]:
    """The lines of the editor; those around the cursor where there are too many."""
    typed = cells(editor.text)
    cursor = min(max(editor.cursor, 0), len(typed))
    marked = [(cell, at == cursor) for at, cell in enumerate([*typed, Cell(" ", 1, " ")])]
    broken = wrap([cell for cell, _ in marked], max(columns - _INDENT, 2))
    found: list[Line] = []
    at = on = 0
    for number, line in enumerate(broken):
        runs = []
        for cell in line:
            runs.append(Run(cell.shown, "cursor" if at == cursor else ""))
            on = number if at == cursor else on
            at += 1
        lead = (Run("❯  ", "focus"), Run(_TAGS[editor.scope], "tag")) if not number else (Run(" " * _INDENT),)
        found.append(_cut((*lead, *_joined(runs)), columns))
    begin = min(max(on - room // 2, 0), max(len(found) - room, 0))
    return found[begin : begin + room]


def _joined(runs: Sequence[Run]) -> list[Run]:
    """*runs*, neighbours of one look as one."""
    found: list[Run] = []
    for run in runs:
        if found and found[-1].style == run.style:
            found[-1] = Run(found[-1].text + run.text, run.style)
        else:
            found.append(run)
    return found


def _cut(line: Line, columns: int) -> Line:
    """The part of *line* that fits; more than that it has on screens narrower than its tags only."""
    found, left = [], columns
    for run in line:
        text = run.text if width(run.text) <= left else fit(run.text, left)
        if text:
            found.append(Run(text, run.style))
        left -= width(text)
    return tuple(found)


def _message(state: State) -> Run | None:
    if state.message:
        return Run(state.message, "mark")
    if state.doomed is not None:
        return Run(f"Forget this note of {state.doomed.scope} memory? y/N", "error")
    if state.editor is not None:
        return Run(_PURPOSES[state.editor.purpose].format(state.editor.scope), "dim")
    return None


def _hints(state: State, shelf: Shelf, columns: int) -> Line:
    """What can be done now: each hint as a whole, the way out before all others, and of those the first ones."""
    hints: Sequence[str] = _BROWSE if state.focus else _EMPTY
    if state.doomed is not None:
        hints = _ASK
    elif state.editor is not None:
        hints = (*_WRITE, f"{len(markdown.clean(state.editor.text))}/{markdown.MAX_CHARS}")
    elif state.mark is not None:
        hints = _ON_MARK if state.focus == state.mark else _MARKED if state.focus else ("s scope", "Esc unmark")
    elif not shelf.addable(state.filter):
        hints = [hint for hint in hints if hint != "a add"]
    kept: list[str] = []
    for hint in sorted(hints, key=lambda hint: hint not in _WAYS_OUT):
        longer = [each for each in hints if each in kept or each == hint]
        if width(" · ".join(longer)) > columns:
            break
        kept = longer
    return (Run(" · ".join(kept), "dim"),) if kept else ()
