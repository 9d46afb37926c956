"""How much of a history one recall looks at (spec 1, "Tiers, refresh, and work budgets")."""

ENTRIES = 50_000
"""Entries that are looked at one by one, with `candidate_entry_budget` beyond."""

DIGESTS = 10_000
"""Cold sessions that are candidates, with `candidate_digest_budget` beyond."""

ITEMS = 10_000
"""Hits that can be paged to, with `candidate_item_budget` beyond."""
