"""The columns of the overall tables: what each is called, what its cells show, and what its legend says."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from cfbench.analysis.groups import bare_name
from cfbench.analysis.measured import MetricColumn
from cfbench.analysis.ranks import ALPHA, BOOTSTRAPS
from cfbench.analysis.rows import Row
from cfbench.analysis.standings import Basis, Standing, Standings, State
from cfbench.board.text import (
    ABSENT,
    change,
    decimal,
    decimals,
    fine_change,
    score,
    share,
    short_seconds,
    whole,
    whole_change,
)
from cfbench.errors import UnknownNameError
from cfbench.problem.outcome import Status
from cfbench.registry.entries import Direction
from cfbench.registry.registry import Registry
from cfbench.study.variants import make_variant, parse_variant, resolve_variant
from cfbench.text import plural, visible

NOT_MEASURED = "not measured"
"""What a column of a metric says where the record holds no value of it."""
OWN_SUCCESSES = "each on its own successes, which rewards giving up on hard points: rows are not comparable"


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


def span(numbers: Sequence[int]) -> str:
    """Write sorted numbers as one, or as the first and the last."""
    return f"{numbers[0]:,}" if len(numbers) == 1 else f"{numbers[0]:,}-{numbers[-1]:,}"


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


SHORT = {"k-robustness": ("robust", "K-score")}
"""Headers of metrics that the default table shows."""
IN_PERCENT = ("optimality-gap",)
"""Metrics that are relative changes: people read them in the unit of the loss beside them."""


def column_of_metric(metric: MetricColumn, standings: Standings) -> StandingColumn:
    """Return the column of one of a table's metrics."""
    bare = bare_name(metric.label)
    below = " ".join(part for part in (_settings(metric, standings.metrics), metric.unit, metric.arrow) if part)
    title, unit = SHORT.get(metric.label, (bare, below))
    scores = [row.metrics[metric.label] for row in standings.rows if metric.label in row.metrics]
    ks = sorted({one.k for one in scores})
    digits = decimals([one.value for one in scores])
    counted = f"{span(ks)} of {scores[0].n:,} points" if scores else NOT_MEASURED
    own = f"; {OWN_SUCCESSES}" if standings.basis is Basis.OWN_SUCCESSES else ""

    def written(row: Standing) -> str:
        if metric.label not in row.metrics:
            return ABSENT
        value = row.metrics[metric.label].value
        return fine_change(value) if bare in IN_PERCENT else score(value, digits)

    summary = visible(metric.summary) or "described by no plugin here"
    return StandingColumn(
        metric.label,
        visible(title),
        visible(unit),
        written,
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
    return ",".join(
        f"{name}={value if isinstance(value, str) else json.dumps(value)}"
        for name, value in json.loads(metric.identity[2]).items()
        if name in named
    )


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


__all__ = [
    "LOSS_ALONE",
    "SIGNIFICANCE",
    "StandingColumn",
    "builtin_names",
    "cell_text",
    "column_named",
    "columns_of",
    "expanded",
    "marked_label",
    "sorted_rows",
    "state_text",
]

SIGNIFICANCE = (
    "a, b, ...",
    f"behind a rank: no significant difference from the first row with the same letter (Wilcoxon, Holm, p >= {ALPHA})",
)
"""The letters of groups, and what they mean."""

LOSS_ALONE = (
    "*",
    "behind a searcher: under objectives other than none it was searched for the loss alone, and its results are "
    "judged by the task's objective",
)
"""The mark of such searchers, and what it means."""

DEFAULT = ("found", "share", "rank", "interval", "objective", "loss", "k-robustness", "wins", "seconds", "queries")
"""What is shown where nothing is asked for; those of most use first, as narrow outputs lack the last ones."""

ALONE = ("found", "share", "mean-objective", "mean-loss", "k-robustness", "seconds", "queries")
"""What is shown where nobody is ranked."""

BUNDLES = {
    "robustness": (
        *("k-robustness", "invalidity[part=c]", "invalidity", "invalidity[part=ck]"),
        *("fixability[part=c]", "fixability", "fixability[part=ck]"),
        *("relative-cost[part=c]", "relative-cost", "relative-cost[part=ck]"),
    ),
    "plausibility": ("redundancy", "knn-distance", "lof-inlier"),
    "failures": tuple(FAILURES),
}
"""Names that stand for several columns."""


def builtin_names() -> tuple[str, ...]:
    """Name the columns that are no metrics."""
    return (
        *("found", "share", "rank", "interval", "objective", "loss", "mean-objective", "mean-loss"),
        *("relative-loss", "wins", "searches", "seconds", "queries", "tasks", "cells"),
        *FAILURES,
    )


def marked_label(row: Standing | Row) -> str:
    """Return a row's label, marked where results were searched for the loss alone."""
    return f"{row.label}{LOSS_ALONE[0]}" if row.loss_alone else row.label


def expanded(names: Sequence[str], registry: Registry) -> list[str]:
    """Replace the names of bundles by their columns, each column once.

    A metric that is to be shown with another is followed by it, with the settings that both share.
    """
    found: dict[str, None] = {}
    for name in names:
        for one in BUNDLES.get(name, (name,)):
            found |= dict.fromkeys((one, *_shown_with(one, registry)))
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
    known = {column.name: column for column in (*compared_columns(standings, reference), *spent_columns())}
    known |= {label: column_of_metric(metric, standings) for label, metric in metrics.items()}
    if names:
        return [known[name] for name in names]
    if not any(row.interval for row in standings.rows):
        del known["interval"]
    if not standings.robust:  # then it is the loss
        del known["objective"], known["mean-objective"]
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


def _shown_with(name: str, registry: Registry) -> tuple[str, ...]:
    metric = parse_variant(name)[0]
    other = registry.metrics[metric].entry.shown_with if metric in registry.metrics else ""
    if other not in registry.metrics:
        return ()
    settings = resolve_variant(registry, "metric", name).settings
    entry = registry.metric(other).entry
    shared = settings.keys() & make_variant(entry, {}).settings.keys()
    return (make_variant(entry, {key: settings[key] for key in shared}).label,)


def _blank(row: Standing, column: StandingColumn, standings: Standings) -> bool:
    if not column.compares or row.state is State.RANKED:
        return False
    if row.state in (State.FAILED, State.SKIPPED):
        return True
    if not standings.ranked:
        return False
    return row.state is not State.WHITE_BOX or column.name in ("rank", "interval", "wins")
