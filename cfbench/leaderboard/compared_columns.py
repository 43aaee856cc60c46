"""Columns that compare searchers with each other: what was found, ranks, objective values, losses, wins."""

from __future__ import annotations

from cfbench.analysis.ranks import BOOTSTRAPS
from cfbench.analysis.standings import Basis, Standing, Standings, State
from cfbench.counts import plural
from cfbench.entries import Direction
from cfbench.leaderboard.numbers import ABSENT, change, decimal, share, whole_change
from cfbench.leaderboard.safe import visible
from cfbench.leaderboard.standing_column import OWN_SUCCESSES, StandingColumn, span


def compared_columns(standings: Standings, reference: str) -> list[StandingColumn]:
    """Return the columns of a table; `reference` is the reference searcher's label, or empty."""
    ranked, tasks = standings.ranked, len(standings.in_play)
    asked = standings.searches
    of = f"(of {asked:,})" if asked is not None and ranked else "searches"
    one = "search" if standings.repetitions in ((), (1,)) else "point"
    every = "searches" if one == "search" else "points"
    shared = standings.shared
    with_loss = " with a loss" if any(row.loss.value is None for row in ranked) else ""
    on = f"on {every} that every ranked searcher{with_loss} solved"
    counted = f"{shared.k:,} of {shared.n:,} points"
    if standings.basis is Basis.OWN_SUCCESSES or not ranked:
        on, counted = OWN_SUCCESSES, ""
    over = "" if standings.unit == "task" else ", those of one data set and model drawn together"
    has_intervals = any(row.interval for row in standings.rows)
    interval = f"; interval from {BOOTSTRAPS:,} bootstraps over tasks{over}" if has_intervals else ""
    best = "" if one == "search" else f" of each point's best of {span(standings.repetitions)} searches"
    value = "objective value" if standings.robust else "loss"
    return [
        StandingColumn(
            "found",
            "found",
            of,
            lambda row: _count(row, asked if ranked else None),
            lambda row: row.found.share,
            Direction.HIGHER,
            "searches answered with a valid counterfactual; not found ranks last, never dropped",
        ),
        StandingColumn(
            "share", "", "", lambda row: share(row.found.share), lambda row: row.found.share, Direction.HIGHER
        ),
        StandingColumn(
            "rank",
            "rank",
            "1=best",
            _rank,
            lambda row: row.rank,
            Direction.LOWER,
            f"mean over {plural(tasks, 'task')} of ranks by the {value}{best}; {standings.tolerance} and share the "
            f"mean of their ranks{interval}",
            compares=True,
        ),
        StandingColumn(
            "interval",
            "interval",
            "95%",
            lambda row: ABSENT if row.interval is None else f"{row.interval[0]:.1f}-{row.interval[1]:.1f}",
            lambda row: None if row.interval is None else row.interval[0],
            Direction.LOWER,
            compares=True,
        ),
        StandingColumn(
            "objective",
            "objective",
            "vs best",
            lambda row: whole_change(row.objective.value),
            lambda row: row.objective.value,
            Direction.LOWER,
            f"median over tasks of the objective value / best objective value, {on}",
            counted,
            compares=True,
        ),
        StandingColumn(
            "loss",
            "loss",
            "vs best",
            lambda row: whole_change(row.loss.value),
            lambda row: row.loss.value,
            Direction.LOWER,
            f"median over tasks of loss / best loss, {on}",
            counted,
            compares=True,
        ),
        StandingColumn(
            "mean-objective",
            "objective",
            "mean",
            lambda row: decimal(row.mean_objective.value),
            lambda row: row.mean_objective.value,
            Direction.LOWER,
            f"mean over tasks of the mean objective value, {on}",
            counted,
            compares=True,
        ),
        StandingColumn(
            "mean-loss",
            "loss",
            "mean",
            lambda row: decimal(row.mean_loss.value),
            lambda row: row.mean_loss.value,
            Direction.LOWER,
            f"mean over tasks of the mean loss, {on}",
            counted,
            compares=True,
        ),
        StandingColumn(
            "relative-loss",
            f"vs {visible(reference)}" if reference else "vs reference",
            "median",
            lambda row: ABSENT if row.relative is None or row.relative.value is None else change(row.relative.value),
            lambda row: None if row.relative is None else row.relative.value,
            Direction.LOWER,
            f"relative-loss: (loss - reference loss) / reference loss against {visible(reference) or 'no reference'}, "
            "median over tasks of the median over points that both solved",
        ),
        StandingColumn(
            "wins",
            "wins",
            f"of {tasks}",
            lambda row: ABSENT if row.wins is None else str(row.wins),
            lambda row: row.wins,
            Direction.HIGHER,
            "tasks in which no other ranked searcher has a smaller mean rank; several can win one task",
            compares=True,
        ),
    ]


def _rank(row: Standing) -> str:
    """Write a mean rank with the letter of its group."""
    return ABSENT if row.rank is None else f"{row.rank:.1f} {row.group}".rstrip()


def _count(row: Standing, asked: int | None) -> str:
    """Write how many searches found something, with the denominator where neither header nor state says it."""
    if row.found.n == 0:
        return ABSENT
    said = asked is not None and (row.found.n == asked or row.state is State.NOT_RANKED)
    return f"{row.found.k:,}" if said else f"{row.found.k:,} of {row.found.n:,}"
