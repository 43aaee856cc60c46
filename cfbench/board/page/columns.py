"""Which columns the page shows where none are asked for; apart, so that the command need not load the page."""

from __future__ import annotations

PAGE_COLUMNS = (
    *("found", "rank", "objective", "loss", "optimality-gap", "k-robustness", "invalidity[part=ck]"),
    *("fixability[part=ck]", "relative-cost[part=ck]", "wins", "seconds", "queries", "tasks"),
)
FURTHER_COLUMNS = (
    *("optimality-gap", "invalidity[part=ck]", "fixability[part=ck]", "relative-cost[part=ck]", "unfixable[part=ck]"),
    "tasks",
)
"""Of these, what the page shows in opened rows, and in the table only if a reader wants all columns."""
