"""Every promise of durable notes, by the sections of their specification. See `tests.requirements`."""

from __future__ import annotations

from collections.abc import Mapping

NOTES: Mapping[str, tuple[tuple[str, ...], ...]] = {
    "Notes: tool": (
        (
            "notes.tool_declared",
            "`memory` writes, destroys, is idempotent, knows no open world and runs one at a time.",
        ),
        ("notes.add", "add stores a note."),
        ("notes.update", "update replaces every exact match in place; an equal text is no change."),
        ("notes.forget", "forget removes every exact match."),
        ("notes.list", "list gives both scopes."),
        (
            "notes.result",
            "A result has action, scope, project, global and changed; entry, to, existing and error where they apply.",
            "ADR 19: an error is an object, as on every surface",
        ),
        (
            "notes.validation",
            "Nothing is written before all is valid; an error stands in the result beside the unchanged notes.",
        ),
        ("notes.limit", "A note has at most 500 characters, counted once it is clean.", "in code points"),
        ("notes.exact", "update and forget match the clean text exactly, and by case."),
        ("notes.sanitised", "A note is one line without control characters, white space collapsed."),
        (
            "notes.near_duplicate",
            "Near-duplicates differ in case, white space and final punctuation, and nothing else.",
        ),
        ("notes.existing", "add stores no near-duplicate of its own store's notes, and names the stored one."),
        (
            "notes.provenance",
            "A note is kept wherever it came from.",
            "nothing is said where a tool printed the same words",
        ),
        ("notes.nothing_but_text", "A note has no id, time, tag or priority."),
    ),
    "Notes: stores": (
        ("notes.files", "Global notes are `memory.md` in the agent directory, project notes `.pi/memory.md`."),
        ("notes.root_anchor", "The project's store is anchored at the root of the repository."),
        ("notes.worktrees", "All worktrees of a repository share one store."),
        ("notes.outside_git", "Outside of a repository, the working directory is the root."),
        ("notes.bullets", "A note is one bullet of a markdown file that people edit."),
        ("notes.prose_kept", "Whatever is no note survives every change, byte for byte."),
        ("notes.line_endings", "Line endings, and a last line without one, survive every change."),
        ("notes.durable", "Notes outlive the session and are no part of it."),
        ("notes.hand_edit_seen", "A hand edit is picked up by the next read; an unchanged file is not read again."),
        ("notes.same_size_edit", "An edit of the same size is seen.", "a young stamp proves nothing"),
        ("notes.last_good_view", "A store that becomes unreadable keeps its last good view until it is mended."),
        ("notes.atomic", "A write replaces the whole file or nothing, and leaves no other file."),
        ("notes.processes", "Processes that change a store at once lose nothing."),
    ),
    "Notes: recall": (
        ("notes.injection_body", "The injection is [MEMORY] with the notes of both scopes, or nothing."),
        ("notes.injection_cap", "Its UTF-8 never passes maxInjectBytes."),
        ("notes.injection_tail", "What does not fit is counted in its last line."),
        ("notes.injection_every_run", "Each run gets the notes as they are then."),
        ("notes.injection_off", "inject false injects nothing; tool and commands go on."),
    ),
    "Notes: commands": (
        ("notes.command_list", "`pepys notes` lists the notes where there is no terminal."),
        ("notes.command_path", "path tells both files, and whether the project is trusted."),
        ("notes.reload", "reload reads whatever the stamps say, and tells what changed."),
        ("notes.doctor", "doctor tells counts, bytes, the injection with its omissions, and near-duplicate pairs."),
        ("notes.edit", "edit opens the file and saves the result.", "never over what others wrote meanwhile"),
        ("notes.clear", "clear removes the notes of one scope after a confirmation."),
        ("notes.headless", "list, path, reload and doctor need no terminal."),
        ("notes.no_bulk_clear", "No call of a model can clear notes: only people's actions do."),
        ("notes.guests", "What may only read reaches no notes: programs, and a plan mode that goes by annotations."),
    ),
    "Notes: picker": (
        ("notes.picker_screen", "`pepys notes` opens the picker on a terminal.", "with the extra pepys[tui]"),
        (
            "notes.picker_list",
            "The list shows title, counts, notes by scope, focus, and hints that are whole or absent.",
        ),
        ("notes.picker_width", "No line is wider than the screen, whatever the script of its text."),
        ("notes.picker_edit", "Enter and e edit the focused note in place."),
        ("notes.picker_add", "a adds to the active scope."),
        ("notes.picker_forget", "d forgets the focused note after a y."),
        ("notes.picker_merge", "m marks and unmarks; on a second note it opens the editor with both."),
        (
            "notes.picker_move",
            "p moves the note to the other scope, and p again back; never into an untrusted project.",
        ),
        ("notes.picker_filter", "s and Tab go round the scopes."),
        ("notes.picker_reload", "r reads the stores again."),
        ("notes.picker_escape", "Esc cancels the mark, the editor or the screen, in that order."),
        ("notes.merge_one_write", "A merge is one write; cancelled or failed it leaves both notes."),
        ("notes.merge_same_scope", "Notes of two scopes are not merged."),
        ("notes.move_order", "A move writes its target first."),
        ("notes.move_failure", "A move whose second write fails leaves the note in both, and the doctor shows it."),
        ("notes.move_existing", "A note that the target holds is not doubled, and still leaves its source."),
    ),
    "Notes: configuration": (
        ("notes.config_keys", "inject and maxInjectBytes have the specification's defaults."),
        ("notes.config_clamped", "maxInjectBytes is clamped to 512 to 32768."),
        (
            "notes.config_bytefly",
            "The section memory of bytefly.json is honoured, a trusted project's over the agent directory's.",
            "Pepys's own keys win",
        ),
        ("notes.enabled_independent", "memory.enabled false switches recall off, and not notes."),
    ),
    "Notes: security": (
        ("notes.trust_read", "The notes of an untrusted project are not read."),
        ("notes.trust_write", "The notes of an untrusted project are not written; the error steers to global."),
        ("notes.symlink", "A symbolic link at a store's path is refused for reading and writing."),
        ("notes.read_cap", "A store over 256 KiB is not read."),
        ("notes.write_cap", "A store is not written over 256 KiB.", "it would lock itself out"),
        ("notes.never_masked", "Notes are never masked."),
    ),
}
