"""Every promise of the journal's specification (spec 4), by its sections. See `tests.requirements`."""

from __future__ import annotations

from collections.abc import Mapping

JOURNAL: Mapping[str, tuple[tuple[str, ...], ...]] = {
    "Journal: memory entries": (
        ("journal.scope.git_root", "Memory of a session is its repository's, from any subdirectory."),
        ("journal.scope.cwd", "Without a repository it is the working directory's."),
        ("journal.scope.memsearch_dir", "MEMSEARCH_DIR wins over the git root."),
        ("journal.scope.memsearch_dir_relative", "A relative MEMSEARCH_DIR is taken from the repository directory."),
        ("journal.scope.repository", "The repository directory stays the git root when the store is overridden."),
        (
            "journal.collection.name",
            "The collection has memsearch's own name, for every path that the reference lists.",
        ),
        ("journal.collection.moves", "The name hashes the real absolute path: a repository that moves gets another."),
        ("journal.collection.override", "MEMSEARCH_DIR names store and collection together."),
        ("journal.store_command.answers", "A store command names store, collection and state directory."),
        ("journal.store_command.outranks", "It outranks MEMSEARCH_DIR."),
        ("journal.store_command.directory", "It is run in the directory that is being resolved."),
        ("journal.store_command.fails", "A failure, no output or a relative path is an error naming command and mode."),
        ("journal.store_command.declines", "state-dir may be declined, and all else stays as it was."),
        ("journal.store_command.memoised", "Answers are remembered by command, mode and directory, for the process."),
        ("journal.format.day_file", "An entry goes into the file of its local day."),
        ("journal.format.session_heading", "A session has one heading `## Session HH:MM` a file."),
        (
            "journal.format.entry",
            "An entry is `### HH:MM`, its anchor and bullets, byte for byte as the mesh writes it.",
        ),
        ("journal.format.anchor", "The anchor carries session, entry and transcript, whatever the path looks like."),
        ("journal.write.entry", "memory_write appends one entry with the session's anchor."),
        ("journal.write.not_persisted", "It writes nothing while the session has no file or no entry."),
    ),
    "Journal: recall": (
        ("journal.l3.branch", "memory_transcript follows the branch of the memory, even past a later fork."),
        ("journal.l3.around", "It shows the turns around the entry that the memory is anchored to."),
        ("journal.l3.file_only", "It reads the session's file and nothing else, with no index and no backend."),
    ),
    "Journal: redaction": (
        ("journal.forget.whole", "An entry is whole: no line of its text is taken for a heading or an anchor."),
    ),
    "Journal: compaction": (
        ("journal.compact.block", "A compaction's block ends at the next heading of its level or the next entry."),
    ),
    "Journal: indexing": (
        ("journal.state.delegated", "Index state is read from the state directory that the command answers."),
        ("journal.state.tree_root", "Else it is read from the root of the .memsearch tree, at any depth."),
        ("journal.state.links", "The tree is found through links of a store that does not exist yet."),
        ("journal.state.none", "No path is reported where nothing will ever write a state file."),
        ("journal.index_chunks", "Markdown is cut into the chunks that memsearch cuts, with its lines and its hashes."),
        ("journal.index_ids", "A chunk keeps its id until its text or heading changes, wherever its lines move."),
    ),
    "Journal: degradation": (
        ("journal.degrade.store_command", "With a store command that fails, nothing is read or written elsewhere."),
        ("journal.writers.one_write", "An entry is one write to a file opened for appending."),
        ("journal.writers.no_interleaving", "Entries of many writers never interleave."),
        ("journal.writers.nothing_lost", "And none goes missing."),
        ("journal.writers.heading_once", "A session never duplicates its own heading within a process."),
        ("journal.writers.heading_seed", "A fresh process seeds that by one read, at its first write to the file."),
    ),
}
