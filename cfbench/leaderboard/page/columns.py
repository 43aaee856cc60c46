"""Which columns the page shows where none are asked for; apart, so that the command need not load the page."""

PAGE_COLUMNS = (
    *("found", "rank", "loss", "optimality-gap", "k-robustness", "invalidity[part=ck]", "fixability[part=ck]"),
    *("relative-cost[part=ck]", "wins", "seconds", "queries", "tasks"),
)
