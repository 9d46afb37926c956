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
        ("journal.l1.ranked", "memory_search returns scored chunks, best first, each with its hash, file and lines."),
        ("journal.l1.top_k", "It returns five chunks unless told otherwise."),
        ("journal.l1.empty", "An empty result says so and never invents hits."),
        ("journal.l2.section", "memory_expand returns the full section behind a chunk hash, as the file has it now."),
        ("journal.l2.anchor", "It returns the section's anchor."),
        ("journal.l3.from_anchor", "From an anchor, the conversation is one call away."),
        ("journal.l3.branch", "memory_transcript follows the branch of the memory, even past a later fork."),
        ("journal.l3.around", "It shows the turns around the entry that the memory is anchored to."),
        ("journal.l3.file_only", "It reads the session's file and nothing else, with no index and no backend."),
    ),
    "Journal: across repositories": (
        ("journal.fan_out.opt_in", "Recall is of this project unless scope all is asked for."),
        ("journal.fan_out.read_only", "No store and no collection of another project is written."),
        ("journal.fan_out.projects", "A scanned directory is a project when it holds .memsearch/memory or memory."),
        ("journal.fan_out.command", "A store command names every discovered project, asked in its directory."),
        ("journal.fan_out.recorded", "Else its own state file names it, else its path does."),
        ("journal.fan_out.drift", "A bad state file of one project fails nothing; its path names it then."),
        ("journal.fan_out.foreign_override", "MEMSEARCH_DIR of the session names no other project."),
        ("journal.fan_out.same_directory", "The same directory twice is one project, and nothing is said of it."),
        (
            "journal.fan_out.merge",
            "Hits merge by score, each project's own in its own order.",
            "decision of relevance: scores are absolute, not ranks",
        ),
        ("journal.fan_out.labels", "Each hit is labelled with its project."),
        (
            "journal.fan_out.skipped",
            "Projects that cannot be searched are skipped and counted.",
            "what was never indexed here is indexed, or scanned, by our own engine",
        ),
        ("journal.fan_out.expand", "memory_expand takes the label as project and looks where the search looked."),
        ("journal.fan_out.no_walk", "A path inside a project is not resolved to it."),
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
        ("journal.degrade.write", "Without a backend, writing goes on."),
        ("journal.degrade.search", "Without a backend, memory_search returns instructions, not an error."),
        ("journal.degrade.expand", "Without a backend, memory_expand returns instructions, not an error."),
        ("journal.degrade.reprobe", "What is installed in mid-session is found within half a minute."),
        ("journal.writers.one_write", "An entry is one write to a file opened for appending."),
        ("journal.writers.no_interleaving", "Entries of many writers never interleave."),
        ("journal.writers.nothing_lost", "And none goes missing."),
        ("journal.writers.heading_once", "A session never duplicates its own heading within a process."),
        ("journal.writers.heading_seed", "A fresh process seeds that by one read, at its first write to the file."),
    ),
}
