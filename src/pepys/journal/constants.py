"""The numbers of spec 4, under its own names, in one place. `_MS` are milliseconds, `_CHARS` code points."""

from __future__ import annotations

# Auto-context
AUTO_CONTEXT_TOP_K = 3
AUTO_CONTEXT_SCORE_FLOOR = 0.5
AUTO_CONTEXT_CHAR_BUDGET = 2000
AUTO_CONTEXT_CAP_MS = 300
AUTO_CONTEXT_QUERY_LIMIT = 500
TIMEOUT_CRASH_THRESHOLD = 3
MAX_SIDECAR_RESPAWNS = 2
SHUTDOWN_GRACE_MS = 2000

# Indexing
BACKOFF_DELAYS_MS = (200, 500, 1000, 2000)
INDEX_DEBOUNCE_MS = 5000
SHUTDOWN_CAP_MS = 15_000

# Recall
TURN_CHARS = 2000
CALL_ARGUMENTS = 3
CALL_ARGUMENT_CHARS = 60

# The stable snapshot
TODAY_CHARS = 3000
YESTERDAY_CHARS = 2000

# Capture
DISTILLATION_TIMEOUT_MS = 30_000
EXCHANGE_CHARS = 80_000
EXCHANGE_HEAD_CHARS = 10_000
EXCHANGE_TAIL_CHARS = 70_000

# What the specification leaves open
STORE_COMMAND_TIMEOUT_MS = 30_000
"""A store command that hangs would otherwise hang every session of its user."""

COMPACT_CHARS = 300_000
"""What one request of a compaction holds, about 75,000 to 100,000 tokens. A larger store is condensed in parts."""

PROBE_MEMORY_MS = 30_000
"""How long a backend that was found missing is taken to be so."""

PROJECT_INDEX_BUDGET_MS = 2000
"""How long one project that was never indexed here is indexed for, when a search across projects meets it."""
