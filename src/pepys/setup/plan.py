"""Decide what setting up, and taking back, does to each file. Reads nothing, changes nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise
from pathlib import Path, PurePath
from typing import NamedTuple, TypeGuard

from pepys.errors import PepysError, SetupConflict, SetupRefused
from pepys.setup import formats
from pepys.setup.formats import Malformed
from pepys.setup.ledger import Kept, Ledger, Written, digest
from pepys.setup.pieces import Owner, OwnFile, Setting, Wanted

FORCE = "--force takes its place, and keeps a copy that `pepys setup --remove` puts back."


class Seen(NamedTuple):
    """A file as it is now."""

    data: bytes | None = None  # None: there is none
    trouble: str = ""  # why it can be neither read nor written
    where: Path | None = None  # what the trouble is with; None: the file itself
    locked: bool = False  # whether its owner has made it read-only


class Change(NamedTuple):
    """What happens to one file, and what is known of it from then on."""

    path: Path
    before: bytes | None  # None: there is no file
    after: bytes | None  # None: it is removed
    kept: Kept | None  # None: nothing is known of it any more
    original: bytes | None = None  # what `kept.before` names
    spare: bool = False  # whether a copy is kept that nothing puts back: the user insists, and it is not Pepys's

    @property
    def writes(self) -> bool:
        """Whether the file itself changes, and not only what is known of it."""
        return self.before != self.after


class Plan(NamedTuple):
    """All changes on behalf of one owner; with a conflict, none of them is to be made."""

    owner: Owner
    changes: tuple[Change, ...] = ()
    conflicts: tuple[PepysError, ...] = ()

    @property
    def writes(self) -> bool:
        """Whether any file changes."""
        return any(change.writes for change in self.changes)


def install(
    wanted: Wanted,
    seen: Mapping[Path, Seen],
    ledger: Ledger,
    originals: Mapping[str, bytes],
    *,
    version: str,
    force: bool = False,
) -> Plan:
    """What makes all of *wanted* be there.

    Args:
        seen: Every file that is wanted, is in the ledger, or lies in a folder that is to be Pepys's; and that folder
            itself, where it cannot be had.
        originals: By SHA-256.
        version: Of Pepys.
        force: Take the place of what is not Pepys's, or was changed since Pepys wrote it.
    """
    setting_up = _SettingUp(wanted, seen, ledger, originals, version, force)
    return _collected(wanted.owner, setting_up.steps(), seen, force)


def removal(
    owner: Owner,
    seen: Mapping[Path, Seen],
    ledger: Ledger,
    originals: Mapping[str, bytes],
    *,
    force: bool = False,
) -> Plan:
    """What takes back all that was written on behalf of *owner*; the other arguments are those of `install`."""
    steps = (
        _taken_back(path, kept, owner, seen.get(path, Seen()), originals, force)
        for path, kept in ledger.of(owner).items()
    )
    return _collected(owner, steps, seen, force)


def _collected(
    owner: Owner, steps: Iterator[Change | PepysError | None], seen: Mapping[Path, Seen], force: bool
) -> Plan:
    changes: list[Change] = []
    conflicts: dict[str, PepysError] = {}  # by message: what is in the way of many files is told once
    for step in steps:
        if isinstance(step, PepysError):
            conflicts.setdefault(step.message, step)
        elif step is not None and step.writes and not force and seen.get(step.path, Seen()).locked:
            locked = SetupConflict(
                f"{step.path} is read-only.",
                hint="Make it writable; or --force writes it all the same, and it stays read-only.",
            )
            conflicts.setdefault(locked.message, locked)
        elif step is not None:
            changes.append(step)
    return Plan(owner, tuple(changes), tuple(conflicts.values()))


class _SettingUp(NamedTuple):
    wanted: Wanted
    seen: Mapping[Path, Seen]
    ledger: Ledger
    originals: Mapping[str, bytes]
    version: str
    force: bool

    def steps(self) -> Iterator[Change | PepysError | None]:
        folders = {piece.folder for piece in self.wanted.pieces if isinstance(piece, OwnFile)}
        pieces = {piece.path for piece in self.wanted.pieces}
        # What an earlier version had and this one has not.
        for path, kept in self.ledger.of(self.wanted.owner).items():
            if path not in pieces and kept.wrote is not None and folders & set(path.parents):
                yield _taken_back(path, kept, self.wanted.owner, self._seen(path), self.originals, self.force)
        refused = {folder for folder in folders if self._seen(folder).trouble}
        for folder in sorted(folders):
            if folder in refused:
                yield _barred(folder, self._seen(folder))
            elif self._is_foreign(folder):
                yield from self._cleared(folder, pieces)
                refused |= set() if self.force else {folder}
        for piece in self.wanted.pieces:
            if isinstance(piece, Setting):
                yield self._setting(piece)
            elif piece.folder not in refused:
                yield self._file(piece)

    def _seen(self, path: Path) -> Seen:
        return self.seen.get(path, Seen())

    def _is_foreign(self, folder: Path) -> bool:
        """Whether there is something in *folder*, and nothing of it is Pepys's."""
        pieces = {piece.path: piece for piece in self.wanted.pieces if isinstance(piece, OwnFile)}
        inside = [path for path, seen in self.seen.items() if folder in path.parents and seen != Seen()]
        return bool(inside) and not any(
            path in self.ledger.files or (path in pieces and self._seen(path).data == pieces[path].data)
            for path in inside
        )

    def _cleared(self, folder: Path, pieces: set[Path]) -> Iterator[Change | PepysError]:
        inside = sorted(path for path in self.seen if folder in path.parents)
        if not self.force:
            yield SetupConflict(f"{folder} is not Pepys's.", hint=f"Move it away; or {FORCE}")
            return
        for path in inside:
            found = self._seen(path)
            if found.trouble:
                yield _barred(path, found)
            elif path not in pieces and found.data is not None:
                yield self._change(path, found.data, None, before=found.data)

    def _file(self, piece: OwnFile) -> Change | PepysError | None:
        seen, kept = self._seen(piece.path), self.ledger.files.get(piece.path)
        if seen.trouble:
            return _barred(piece.path, seen)
        if seen.data == piece.data:
            return self._owned(piece.path, seen.data, kept or self._kept(None, piece.data))
        if seen.data is None:
            return self._change(piece.path, None, piece.data, before=None)
        if kept is not None and kept.left(digest(seen.data)):
            original = self.originals.get(kept.before) if kept.before else None
            return self._change(piece.path, seen.data, piece.data, before=original)
        if not self.force:
            said = "was changed since Pepys wrote it" if kept else "is not Pepys's"
            return SetupConflict(f"{piece.path} {said}.", hint=f"Move it away; or {FORCE}")
        return self._change(piece.path, seen.data, piece.data, before=seen.data)

    def _setting(self, piece: Setting) -> Change | PepysError | None:
        seen, kept = self._seen(piece.path), self.ledger.files.get(piece.path)
        if seen.trouble:
            return _barred(piece.path, seen)
        try:
            return self._changed_setting(piece, seen.data, kept)
        except Malformed as error:
            return _refusal(piece.path, str(error))

    def _changed_setting(self, piece: Setting, data: bytes | None, kept: Kept | None) -> Change | PepysError | None:
        there = formats.setting(piece.format, data or b"", piece.keys)
        if _holds(there, piece.value) or (kept is None and not self.force and _starts_pepys(there)):
            return None if kept is None else self._owned(piece.path, data, kept)
        written = kept.written if kept else None
        value = dict(piece.value)
        original = data
        if there is not None:
            ours = kept is not None and (kept.left(digest(data)) or (written and _holds(there, written.value)))
            if kept is not None and written is not None and ours and isinstance(there, dict):
                # What the user has added stays.
                value = {**{key: there[key] for key in there if key not in written.value}, **value}
                original = _without(data, kept, written, self.originals)
            elif not self.force:
                name = ".".join(piece.keys)
                said = "was changed since Pepys wrote it" if kept else "is there already, and is not Pepys's"
                return SetupConflict(f"{name} in {piece.path} {said}.", hint=f"Remove or rename it; or {FORCE}")
        base = original or b""
        if formats.setting(piece.format, base, piece.keys) is not None:
            base = formats.without_setting(piece.format, base, piece.keys, 0)
        after = formats.with_setting(piece.format, base, piece.keys, value)
        made = len(piece.keys) - 1 - formats.depth(piece.format, base, piece.keys)
        as_written = Written(piece.format, piece.keys, dict(piece.value), made)
        return self._change(piece.path, data, after, before=original, written=as_written)

    def _change(
        self,
        path: Path,
        data: bytes | None,
        after: bytes | None,
        *,
        before: bytes | None,
        written: Written | None = None,
    ) -> Change:
        now, kept = self._kept(digest(before), after, written), self.ledger.files.get(path)
        owners = tuple(sorted({*now.owners, *(kept.owners if kept else ())}))
        return Change(path, data, after, now._replace(owners=owners, replaced=digest(data)), before)

    def _owned(self, path: Path, data: bytes | None, kept: Kept) -> Change | None:
        """What is known of a file that is as it should be: that it is the owner's too, and this version's."""
        owners = tuple(sorted({*kept.owners, self.wanted.owner}))
        now = kept._replace(owners=owners, version=self.version, command=self.wanted.command)
        if now == self.ledger.files.get(path):
            return None
        return Change(path, data, data, now, self.originals.get(kept.before) if kept.before else None)

    def _kept(self, before: str | None, after: bytes | None, written: Written | None = None) -> Kept:
        return Kept((self.wanted.owner,), before, digest(after), self.version, self.wanted.command, written)


def _taken_back(
    path: Path, kept: Kept, owner: Owner, seen: Seen, originals: Mapping[str, bytes], force: bool
) -> Change | PepysError | None:
    others = tuple(other for other in kept.owners if other != owner)
    if others:
        return Change(path, seen.data, seen.data, kept._replace(owners=others), originals.get(kept.before or ""))
    if seen.trouble:
        return _barred(path, seen)
    if kept.before is not None and kept.before not in originals and kept.written is None:
        return SetupRefused(f"What {path} was before is lost.", hint="Remove it by hand.")
    original = originals.get(kept.before) if kept.before else None
    found = digest(seen.data)
    if found == kept.before:
        return Change(path, seen.data, seen.data, None)  # as if nothing had ever been written
    if kept.left(found) and (original is not None or kept.before is None):
        return Change(path, seen.data, original, None)
    if seen.data is None:
        return Change(path, None, None, None)  # the user removed it
    if kept.written is not None:
        return _setting_taken(path, seen.data, kept, kept.written, originals, force)
    if force:
        return Change(path, seen.data, original, None, spare=True)
    return SetupConflict(
        f"{path} was changed since Pepys wrote it.", hint="Remove it by hand; or --force does, and keeps a copy."
    )


def _setting_taken(
    path: Path, data: bytes, kept: Kept, written: Written, originals: Mapping[str, bytes], force: bool
) -> Change | PepysError:
    try:
        there = formats.setting(written.format, data, written.keys)
        if there is None:
            return Change(path, data, data, None)  # the user took it out
        if not _holds(there, written.value) and not force:
            return SetupConflict(
                f"{'.'.join(written.keys)} in {path} was changed since Pepys wrote it.",
                hint="Take it out by hand; or --force does, and keeps a copy.",
            )
        after = _without(data, kept, written, originals)
        gone = kept.before is None and formats.is_empty(written.format, after or b"")
    except Malformed as error:
        return _refusal(path, str(error))
    return Change(path, data, None if gone else after, None, spare=not _holds(there, written.value))


def _without(data: bytes | None, kept: Kept, written: Written, originals: Mapping[str, bytes]) -> bytes | None:
    """The file without the setting: as it was before, byte for byte, if nothing else has changed since."""
    if kept.left(digest(data)) and (kept.before is None or kept.before in originals):
        return originals[kept.before] if kept.before else None
    return formats.without_setting(written.format, data or b"", written.keys, written.made)


def _holds(there: object, value: Mapping[str, object]) -> TypeGuard[dict[str, object]]:
    """Whether what is there is *value*, whatever the user may have added."""
    return isinstance(there, dict) and all(key in there and there[key] == item for key, item in value.items())


def _starts_pepys(there: object) -> bool:
    """Whether what is there is an entry that somebody wrote by hand, which starts `pepys mcp` in a way of its own."""
    if not isinstance(there, dict):
        return False
    command, args = there.get("command"), there.get("args")
    words = [*(command if isinstance(command, list) else [command]), *(args if isinstance(args, list) else [])]
    names = [PurePath(word).stem if isinstance(word, str) else "" for word in words]
    return ("pepys", "mcp") in pairwise(names)


def _barred(path: Path, seen: Seen) -> SetupRefused:
    return _refusal(seen.where or path, seen.trouble)


def _refusal(path: Path, reason: str) -> SetupRefused:
    return SetupRefused(f"{path} cannot be changed: {reason}.", hint="Mend it, and run this again.")
