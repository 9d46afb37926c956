"""The table of actions. Add an action by writing its function and its request, and one row here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from pepys.actions.base import Action, Annotations

_READS = Annotations(read_only=True, destructive=False, idempotent=True)
_WRITES_NOTES = Annotations(read_only=False, destructive=True, idempotent=True, execution_mode="sequential")
_APPENDS = Annotations(read_only=False, destructive=False, idempotent=False)
_REMOVES = Annotations(read_only=False, destructive=True, idempotent=False)
_EVENT = Annotations(read_only=False, destructive=False, idempotent=True, execution_mode="sequential")

_ROWS = (
    Action(
        "memory.recall",
        "session_recall",
        "Search past sessions",
        "Search what was said, done and printed in past coding sessions. Use it before asking again or redoing work: "
        "returns ranked, bounded snippets, each with a `follow` call that opens the full record.",
        "pepys.actions.memory:recall",
        "pepys.model.query:RecallRequest",
        _READS,
        response="pepys.model.results.memory:RecallPage",
    ),
    Action(
        "memory.sessions",
        "session_list",
        "List past sessions",
        "List past coding sessions, newest first, with their files, projects and sizes. Use it to find out what "
        "history there is, or which session to search or open.",
        "pepys.actions.memory:sessions",
        "pepys.model.query:SessionsRequest",
        _READS,
        response="pepys.model.results.memory:SessionsPage",
    ),
    Action(
        "memory.expand",
        "session_expand",
        "Read records of a session",
        "Read full, untruncated records of one session by index, entry id or range, with their neighbours. Use it to "
        "read on from a recall hit (pass the arguments of its `follow` call) or from its `next` call.",
        "pepys.actions.memory:expand",
        "pepys.model.query:ExpandRequest",
        _READS,
        response="pepys.model.results.memory:ExpandPage",
    ),
    Action(
        "journal.search",
        "memory_search",
        "Search daily memory",
        "Search what was decided, fixed and learnt in this project, in any words. Use it first when asked about the "
        "past, or before deciding again; pass a hit's chunk_hash to memory_expand.",
        "pepys.actions.journal:search",
        "pepys.model.journal:SearchRequest",
        _READS,
        response="pepys.model.results.journal:Found",
    ),
    Action(
        "journal.expand",
        "memory_expand",
        "Open a memory",
        "Read the whole memory behind a chunk hash, and which session, entry and transcript it comes from. Use it when "
        "a hit of memory_search is not enough.",
        "pepys.actions.journal:expand",
        "pepys.model.journal:ExpandRequest",
        _READS,
        response="pepys.model.results.journal:Opened",
    ),
    Action(
        "journal.transcript",
        "memory_transcript",
        "Read the conversation behind a memory",
        "Read the turns around a memory in the session that it comes from, following the branch that it lies on. Use "
        "it when memory_expand lost the reasoning; pass the transcript and the entry of its anchor.",
        "pepys.actions.journal:transcript",
        "pepys.model.journal:TranscriptRequest",
        _READS,
        response="pepys.model.results.journal:Transcript",
    ),
    Action(
        "journal.write",
        "memory_write",
        "Remember something",
        "Write a memory entry into today's file: a decision, a fix, a preference, a follow-up. Use it when told to "
        "remember something, or for what must not be lost; settled exchanges are captured without it.",
        "pepys.actions.journal:write",
        "pepys.model.journal:WriteRequest",
        _APPENDS,
        response="pepys.model.results.journal:Written",
    ),
    Action(
        "journal.forget",
        "memory_forget",
        "Forget a memory",
        "Remove exactly one memory entry for good, by the chunk_hash of a hit, or by date and time. Use it only when "
        "the user asks for it; the answer shows what was removed and is the only record of it.",
        "pepys.actions.journal:forget",
        "pepys.model.journal:ForgetRequest",
        _REMOVES,
        response="pepys.model.results.journal:Forgotten",
    ),
    Action(
        "journal.compact",
        "memory_compact",
        "Condense memory",
        "Have a model condense the whole memory of this project, and append the summary to today's file. Use it only "
        "on explicit request: it spends the budget of a model.",
        "pepys.actions.journal:compact",
        "pepys.model.journal:CompactRequest",
        Annotations(False, False, False, open_world=True, execution_mode="sequential"),
        response="pepys.model.results.journal:Condensed",
    ),
    Action(
        "journal.status",
        "memory_status",
        "Show the state of memory",
        "Show where memory is kept, what indexes it and how that is, what is missing and how to repair it. Use it "
        "when memory cannot be searched, or finds less than it should.",
        "pepys.actions.journal:status",
        "pepys.model.journal:StatusRequest",
        _READS,
        response="pepys.model.results.journal:State",
    ),
    Action(
        "events.search",
        "event_search",
        "Find events",
        "Find single events of past sessions of this workspace: prompts, answers, tool calls, results, errors, "
        "summaries. Use it to find out exactly what was done, and when; each hit has a `follow` call that reads it.",
        "pepys.actions.events:search",
        "pepys.model.events:SearchRequest",
        _READS,
        response="pepys.model.results.events:SearchPage",
    ),
    Action(
        "events.read",
        "event_read",
        "Read an event",
        "Read one event from its source in an exact, bounded window, with its neighbours along the branch or in the "
        "file. Use it to read on from a hit of event_search.",
        "pepys.actions.events:read",
        "pepys.model.events:ReadRequest",
        _READS,
        response="pepys.model.results.events:Event",
    ),
    Action(
        "events.trace",
        "event_trace",
        "Trace an event",
        "Show what surrounds one event: parent, children, sibling branches, tool results, compactions, labels, files, "
        "forks into other sessions. Use it to see how a session went on, and what else was tried.",
        "pepys.actions.events:trace",
        "pepys.model.events:TraceRequest",
        _READS,
        response="pepys.model.results.events:Trace",
    ),
    Action(
        "notes.memory",
        "memory",
        "Durable notes",
        "Add, update, forget or list durable notes: short facts that outlive this session, such as preferences, "
        "conventions and decisions. Use it when you learn what you should not have to be told twice.",
        "pepys.actions.notes:memory",
        "pepys.model.notes:MemoryRequest",
        _WRITES_NOTES,
        response="pepys.model.notes:MemoryResult",
    ),
    Action(
        "notes.path",
        "notes_path",
        "Where notes are kept",
        "Show the files of the project's and of the global notes, and whether the project is trusted.",
        "pepys.actions.notes:path",
        "pepys.model.notes:NothingRequest",
        _READS,
        audience="person",
    ),
    Action(
        "notes.reload",
        "notes_reload",
        "Read notes again",
        "Read both stores of notes again, whatever their stamps, and tell what has changed in them.",
        "pepys.actions.notes:reload",
        "pepys.model.notes:NothingRequest",
        _READS,
        audience="person",
    ),
    Action(
        "notes.doctor",
        "notes_doctor",
        "Health of the notes",
        "Report counts, file sizes, what the injection leaves out, and near-duplicates among the notes.",
        "pepys.actions.notes:doctor",
        "pepys.model.notes:NothingRequest",
        _READS,
        audience="person",
    ),
    Action(
        "notes.read",
        "notes_read",
        "Read a file of notes",
        "Read the whole file of a scope's notes for an editor, with the revision that saving it needs.",
        "pepys.actions.notes:read",
        "pepys.model.notes:ScopeRequest",
        _READS,
        audience="person",
    ),
    Action(
        "notes.save",
        "notes_save",
        "Save a file of notes",
        "Replace the whole file of a scope's notes by an edited text, if it is still the revision that was edited.",
        "pepys.actions.notes:save",
        "pepys.model.notes:SaveRequest",
        _WRITES_NOTES,
        audience="person",
    ),
    Action(
        "notes.clear",
        "notes_clear",
        "Remove all notes",
        "Remove every note of a scope; whoever calls it has asked the person first.",
        "pepys.actions.notes:clear",
        "pepys.model.notes:ScopeRequest",
        _WRITES_NOTES,
        audience="person",
    ),
    Action(
        "notes.merge",
        "notes_merge",
        "Merge two notes",
        "Replace one note of a scope and drop another one, in one write, under a wording that a person wrote.",
        "pepys.actions.notes:merge",
        "pepys.model.notes:MergeRequest",
        _WRITES_NOTES,
        audience="person",
    ),
    Action(
        "notes.move",
        "notes_move",
        "Move a note",
        "Move a note from one scope to the other: added there first, and only then removed here.",
        "pepys.actions.notes:move",
        "pepys.model.notes:MoveRequest",
        _WRITES_NOTES,
        audience="person",
    ),
    Action(
        "notes.picker",
        "notes_picker",
        "Pick notes",
        "Take one step of the picker of notes: a key or typed text in, the lines to show and the next state out.",
        "pepys.actions.notes:picker",
        "pepys.model.notes:PickerRequest",
        Annotations(read_only=False, destructive=True, idempotent=False, execution_mode="sequential"),
        audience="person",
    ),
    Action(
        "notes.injection",
        "notes_injection",
        "Notes for the context",
        "Give the text of the notes that goes into a model's context before a run, within its cap; or nothing.",
        "pepys.actions.notes:injection",
        "pepys.model.notes:NothingRequest",
        _READS,
        audience="host",
    ),
    Action(
        "journal.start",
        "memory_start",
        "Begin a session",
        "Tell the journal that a session begins: returns its scope and the snapshot for the system prompt; the index "
        "catches up in the background.",
        "pepys.actions.journal:start",
        "pepys.model.journal:EventRequest",
        _EVENT,
        audience="host",
    ),
    Action(
        "journal.snapshot",
        "memory_snapshot",
        "Get the snapshot",
        "Get the block to append to the system prompt; the same bytes from one checkpoint to the next.",
        "pepys.actions.journal:snapshot",
        "pepys.model.journal:EventRequest",
        _READS,
        audience="host",
    ),
    Action(
        "journal.autoContext",
        "memory_auto_context",
        "Look for memory beside a prompt",
        "Get the memory that bears on a prompt, as a message to put beside it, within 300 milliseconds; or nothing.",
        "pepys.actions.journal:auto_context",
        "pepys.model.journal:PromptRequest",
        _EVENT,
        audience="host",
    ),
    Action(
        "journal.settled",
        "memory_settled",
        "Capture a settled run",
        "Tell the journal that a run has settled: the exchange becomes one entry, distilled by the model that the rule "
        "chooses among those offered.",
        "pepys.actions.journal:settled",
        "pepys.model.journal:SettledRequest",
        _EVENT._replace(open_world=True),
        audience="host",
    ),
    Action(
        "journal.compacted",
        "memory_compacted",
        "Note a compaction",
        "Tell the journal that the host compacted the conversation: the snapshot is made anew.",
        "pepys.actions.journal:compacted",
        "pepys.model.journal:EventRequest",
        _READS,
        audience="host",
    ),
    Action(
        "journal.shutdown",
        "memory_shutdown",
        "End a session",
        "Tell the journal that a session ends: waits for captures and the index, 15 seconds at most.",
        "pepys.actions.journal:shutdown",
        "pepys.model.journal:EventRequest",
        _EVENT,
        audience="host",
    ),
    Action(
        "tools.providers",
        "capability_providers",
        "List providers",
        "List the providers of actions, with what each is for. Use it as the first look at what can be called.",
        "pepys.actions.catalog:providers",
        "pepys.model.tools:ProvidersRequest",
        _READS,
        response="pepys.model.results.tools:Providers",
    ),
    Action(
        "tools.catalog",
        "capability_catalog",
        "Show all actions",
        "Show the tree of providers and actions with their descriptions and hashes, without schemas. Use it to see "
        "everything that can be called, or whether that has changed.",
        "pepys.actions.catalog:catalog",
        "pepys.model.tools:CatalogRequest",
        _READS,
        response="pepys.model.results.tools:Catalog",
    ),
    Action(
        "tools.list",
        "capability_list",
        "List actions",
        "List all actions, or one provider's, one short row each. Use it to choose a ref to describe or to call.",
        "pepys.actions.catalog:list_",
        "pepys.model.tools:ListRequest",
        _READS,
        response="pepys.model.results.tools:Rows",
    ),
    Action(
        "tools.search",
        "capability_search",
        "Search actions",
        "Search the actions by words of their refs, descriptions and schemas; returns full descriptions, the best "
        "first. Use it when you know what to do but not what it is called.",
        "pepys.actions.catalog:search",
        "pepys.model.tools:SearchRequest",
        _READS,
        response="pepys.model.results.tools:Descriptions",
    ),
    Action(
        "tools.describe",
        "capability_describe",
        "Describe an action",
        "Describe one action: what it does, the schema of its arguments and what calling it can change. Use it before "
        "calling an action for the first time.",
        "pepys.actions.catalog:describe",
        "pepys.model.tools:DescribeRequest",
        _READS,
        response="pepys.model.results.tools:Description",
    ),
    Action(
        "tools.call",
        "capability_call",
        "Call an action",
        "Call any action by its ref and arguments, or with a `follow` or `next` call as it is; a whole hit or page "
        "works too. Use it to open a hit and to turn a page.",
        "pepys.actions.catalog:call",
        "pepys.model.tools:CallRequest",
        _READS,  # besides what the actions do that it may call: see _ANY
        takes_token=True,
    ),
    Action(
        "guest.run",
        "pepys_run",
        "Run a program over past sessions",
        "Run a Python program in a sandbox, with the modules memory and tools, to filter, join or count over whole "
        "sessions. Use it when one search is not enough: `await memory.walk({...}, visitor)`; return a small value.",
        "pepys.guest.action:run",
        "pepys.model.guest:RunRequest",
        _READS,
        response="pepys.model.results.tools:Run",
    ),
)

PROVIDERS: Mapping[str, str] = {
    "guest": "Programs of yours, in a sandbox, over everything that can be read.",
    "journal": "Daily memory of this project, shared with other agents: search it, read it, write and forget entries.",
    "events": "Single events of past sessions in this workspace: find them, read them exactly, trace what surrounds "
    "them.",
    "memory": "Recall over past coding sessions: search them, list them, and read full records.",
    "notes": "Durable notes: short facts that outlive a session, in markdown files that people edit too.",
    "tools": "The catalog of actions: find out what can be called, and call it.",
}
"""What each provider is for. Every ref begins with one of these names."""


def _worst(rows: Iterable[Action]) -> Annotations:
    """What a call can do that may be any of *rows*."""
    some = [row.annotations for row in rows]
    return Annotations(
        read_only=all(each.read_only for each in some),
        destructive=any(each.destructive for each in some),
        idempotent=all(each.idempotent for each in some),
        open_world=any(each.open_world for each in some),
        execution_mode="sequential" if any(each.execution_mode == "sequential" for each in some) else "parallel",
    )


_ANY = _worst(action for action in _ROWS if action.audience == "model")

ACTIONS: Mapping[str, Action] = {
    action.ref: action._replace(annotations=_ANY) if action.takes_token else action for action in _ROWS
}
