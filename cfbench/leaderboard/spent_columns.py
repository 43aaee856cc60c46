"""Columns about what a row cost and how its searches ended; they need no comparison with other rows."""

from __future__ import annotations

from cfbench.entries import Direction
from cfbench.leaderboard.numbers import short_seconds, whole
from cfbench.leaderboard.standing_column import StandingColumn
from cfbench.outcome import Status

FAILURES = {status.value.replace("_", "-"): status for status in Status if status is not Status.FOUND}
"""Columns of searches without a result, by their names."""


def spent_columns() -> list[StandingColumn]:
    """Return the columns, in the order of their names."""

    def status_column(name: str, status: Status) -> StandingColumn:
        return StandingColumn(
            name,
            *(name.partition("-")[0], name.partition("-")[2] or "searches"),
            lambda row: f"{row.statuses.get(status.value, 0):,}",
            lambda row: row.statuses.get(status.value, 0),
            Direction.LOWER,
        )

    return [
        StandingColumn(
            "searches",
            *("searches", ""),
            lambda row: f"{sum(row.statuses.values()):,}",
            lambda row: sum(row.statuses.values()),
        ),
        StandingColumn(
            "seconds",
            "s/search",
            "",
            lambda row: short_seconds(row.spending.seconds),
            lambda row: row.spending.seconds,
            Direction.LOWER,
            "wall-clock seconds, mean over searches of ranked tasks (unranked: of all)",
        ),
        StandingColumn(
            "queries",
            "rows",
            "",
            lambda row: whole(row.spending.queries),
            lambda row: row.spending.queries,
            Direction.LOWER,
            "rows asked of the model a search, the objective's included; mean over searches that were not killed",
        ),
        StandingColumn(
            "tasks", "tasks", "complete", lambda row: str(row.complete), lambda row: row.complete, Direction.HIGHER
        ),
        StandingColumn(
            "cells",
            "cells",
            "failed",
            lambda row: f"{row.failed:,} of {row.cells:,}",
            lambda row: row.failed,
            Direction.LOWER,
        ),
        *(status_column(name, status) for name, status in FAILURES.items()),
    ]
