"""The columns of the overall table: each number's words, its better direction and what it is counted over."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from cfbench.analysis.groups import bare_name
from cfbench.analysis.measured import MetricColumn
from cfbench.analysis.positions import ALPHA
from cfbench.analysis.ranks import BOOTSTRAPS
from cfbench.analysis.standings import Basis, Standing, Standings, State
from cfbench.entries import Direction
from cfbench.errors import UnknownNameError
from cfbench.harness.variants import parse_variant
from cfbench.leaderboard.numbers import (
    ABSENT,
    change,
    decimal,
    decimals,
    plural,
    score,
    share,
    short_seconds,
    whole,
    whole_change,
)
from cfbench.leaderboard.safe import visible
from cfbench.outcome import Status

OWN_SUCCESSES = "each on its own successes, which rewards giving up on hard points: rows are not comparable"

NOT_TOLD_APART = f"not told apart from the group's first row (Wilcoxon, Holm, p >= {ALPHA})"

DEFAULT = ("found", "share", "rank", "interval", "loss", "k-robustness", "wins", "seconds", "queries")
"""What is shown where nothing is asked for; those of most use first, as narrow outputs lack the last ones."""

ALONE = ("found", "share", "mean-loss", "k-robustness", "seconds", "queries")
"""What is shown where nobody is ranked."""

BUNDLES = {
    "robustness": (
        *("k-robustness", "invalidity[part=c]", "invalidity", "invalidity[part=ck]"),
        *("fixability[part=c]", "fixability", "fixability[part=ck]"),
        *("relative-cost[part=c]", "relative-cost", "relative-cost[part=ck]"),
    ),
    "plausibility": ("redundancy", "knn-distance", "lof-inlier"),
    "failures": tuple(f"{status.value.replace('_', '-')}" for status in Status if status is not Status.FOUND),
}
"""Names that stand for several columns."""

SHORT = {"k-robustness": ("robust", "K-score")}
"""Headers of metrics that the default table shows."""


@dataclass(frozen=True)
class StandingColumn:
    """A column.

    Parameters
    ----------
    name : str
        What it is called in ``--columns`` and ``--by``.
    title, unit : str
        The two lines of its header.
    text : callable
        Row in, cell out.
    value : callable
        Row in, number out, for sorting; None where there is none.
    direction : Direction
    legend : str
        What the number is, in one sentence; empty where it says itself.
    counted : str
        What it is counted over in this table, such as "3 of 50 points"; empty where the legend, a cell or the header
        says it.
    compares : bool
        Whether it says something about ranked rows only.
    """

    name: str
    title: str
    unit: str
    text: Callable[[Standing], str]
    value: Callable[[Standing], float | None]
    direction: Direction = Direction.NEUTRAL
    legend: str = ""
    counted: str = ""
    compares: bool = False

    @property
    def arrow(self) -> str:
        """The better direction as a sign."""
        return {Direction.HIGHER: "↑", Direction.LOWER: "↓", Direction.NEUTRAL: ""}[self.direction]


def builtin_names() -> tuple[str, ...]:
    """Name the columns that are no metrics."""
    return (
        *("found", "share", "rank", "interval", "loss", "mean-loss", "relative-loss", "wins"),
        *("searches", "seconds", "queries", "tasks", "cells"),
        *BUNDLES["failures"],
    )


def expanded(names: Sequence[str]) -> list[str]:
    """Replace the names of bundles by their columns, each column once."""
    found: dict[str, None] = {}
    for name in names:
        for one in BUNDLES.get(name, (name,)):
            found[one] = None
    return list(found)


def columns_of(standings: Standings, names: Sequence[str], reference: str) -> list[StandingColumn]:
    """Return the columns that are asked for; the default ones, where none are.

    Parameters
    ----------
    standings : Standings
    names : sequence of str
        Names of columns, metrics by their labels; no bundles.
    reference : str
        The reference searcher's label; empty where there is none.
    """
    metrics = {metric.label: metric for metric in standings.metrics}
    known = {column.name: column for column in _builtin(standings, reference)}
    known |= {label: _metric(metric, standings) for label, metric in metrics.items()}
    if names:
        return [known[name] for name in names]
    if not any(row.interval for row in standings.rows):
        del known["interval"]
    return [known[name] for name in (DEFAULT if standings.ranked else ALONE) if name in known]


def column_named(columns: Sequence[StandingColumn], name: str) -> StandingColumn:
    """Return the column of that name.

    Raises
    ------
    UnknownNameError
        If the table has no such column.
    """
    for column in columns:
        if column.name == name:
            return column
    raise UnknownNameError(
        "column of this table", name, (column.name for column in columns), "`--columns` adds others."
    )


def sorted_rows(standings: Standings, column: StandingColumn | None) -> list[Standing]:
    """Sort rows by a column, the better first, rows without its number last; positions stay what they are."""
    rows = list(standings.rows)
    if column is None:
        return rows
    sign = -1.0 if column.direction is Direction.HIGHER else 1.0

    def place(row: Standing) -> tuple[bool, float]:
        value = None if _blank(row, column, standings) else column.value(row)
        return value is None, 0.0 if value is None else sign * value

    return sorted(rows, key=place)


def cell_text(row: Standing, column: StandingColumn, standings: Standings) -> str:
    """Write a cell; empty where the row is not ranked and the column compares ranked rows."""
    return "" if _blank(row, column, standings) else column.text(row)


def state_text(row: Standing, standings: Standings) -> str:
    """Say in a few words why a row has no rank where others have one."""
    if row.state is State.NOT_RANKED:
        return f"not ranked (of {row.found.n:,} asked)" if standings.ranked else ""
    return {State.WHITE_BOX: "white box", State.FAILED: "failed", State.SKIPPED: "skipped"}.get(row.state, "")


def _blank(row: Standing, column: StandingColumn, standings: Standings) -> bool:
    if not column.compares or row.state is State.RANKED:
        return False
    if row.state in (State.FAILED, State.SKIPPED):
        return True
    if not standings.ranked:
        return False
    return row.state is not State.WHITE_BOX or column.name in ("rank", "interval", "wins")


def _builtin(standings: Standings, reference: str) -> list[StandingColumn]:
    ranked, tasks = standings.ranked, len(standings.in_play)
    asked = standings.searches
    of = f"(of {asked:,})" if asked is not None and ranked else "searches"
    one = "search" if standings.repetitions in ((), (1,)) else "point"
    every = "searches" if one == "search" else "points"
    shared = standings.shared
    on = f"on {every} that every ranked searcher solved"
    counted = f"{shared.k:,} of {shared.n:,} points"
    if standings.basis is Basis.OWN_SUCCESSES or not ranked:
        on, counted = OWN_SUCCESSES, ""
    over = "" if standings.unit == "task" else ", those of one data set and model drawn together"
    interval = "" if standings.verdict else f"; interval from {BOOTSTRAPS:,} bootstraps over tasks{over}"
    best = "" if one == "search" else f" of ranks by each point's best of {_span(standings.repetitions)} searches"
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
            lambda row: ABSENT if row.rank is None else f"{row.rank:.1f}",
            lambda row: row.rank,
            Direction.LOWER,
            f"mean over {plural(tasks, 'task')}{best}, ties share the mean{interval}",
            compares=True,
        ),
        StandingColumn(
            "interval",
            "95% interval",
            "",
            lambda row: ABSENT if row.interval is None else f"{row.interval[0]:.1f} - {row.interval[1]:.1f}",
            lambda row: None if row.interval is None else row.interval[0],
            Direction.LOWER,
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
            compares=True,
        ),
        *_spent(),
    ]


def _spent() -> list[StandingColumn]:
    statuses = {status.value.replace("_", "-"): status for status in Status}

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
            "searches", "searches", "", lambda row: f"{row.spending.searches:,}", lambda row: row.spending.searches
        ),
        StandingColumn(
            "seconds",
            "s/search",
            "",
            lambda row: short_seconds(row.spending.seconds),
            lambda row: row.spending.seconds,
            Direction.LOWER,
            "wall-clock seconds, mean over all searches of a row, found or not",
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
        *(status_column(name, statuses[name]) for name in BUNDLES["failures"]),
    ]


def _metric(metric: MetricColumn, standings: Standings) -> StandingColumn:
    bare = bare_name(metric.label)
    below = " ".join(part for part in (_settings(metric, standings.metrics), metric.unit, metric.arrow) if part)
    title, unit = SHORT.get(metric.label, (bare, below))
    scores = [row.metrics[metric.label] for row in standings.rows if metric.label in row.metrics]
    ks = sorted({one.k for one in scores})
    digits = decimals([one.value for one in scores])
    counted = f"{_span(ks)} of {scores[0].n:,} points" if scores else "not measured"
    own = f"; {OWN_SUCCESSES}" if standings.basis is Basis.OWN_SUCCESSES else ""
    summary = visible(metric.summary) or "described by no plugin here"
    return StandingColumn(
        metric.label,
        visible(title),
        visible(unit),
        lambda row: score(row.metrics[metric.label].value, digits) if metric.label in row.metrics else ABSENT,
        lambda row: row.metrics[metric.label].value if metric.label in row.metrics else None,
        metric.direction,
        f"{'' if title == bare else f'{bare}: '}{summary}; mean over tasks{own}",
        counted,
        compares=True,
    )


def _settings(metric: MetricColumn, all_metrics: Sequence[MetricColumn]) -> str:
    """Write the settings that tell a metric from others of its name on the board, or from its default."""
    alike = [other.label for other in all_metrics if bare_name(other.label) == bare_name(metric.label)]
    named = {name for label in alike for name in parse_variant(label)[1]}
    return ",".join(f"{name}={value}" for name, value in json.loads(metric.identity[2]).items() if name in named)


def _count(row: Standing, asked: int | None) -> str:
    """Write how many searches found something, with the denominator where neither header nor state says it."""
    if row.found.n == 0:
        return ABSENT
    said = asked is not None and (row.found.n == asked or row.state is State.NOT_RANKED)
    return f"{row.found.k:,}" if said else f"{row.found.k:,} of {row.found.n:,}"


def _span(numbers: Sequence[int]) -> str:
    return f"{numbers[0]:,}" if len(numbers) == 1 else f"{numbers[0]:,}-{numbers[-1]:,}"
