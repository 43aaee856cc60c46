"""Which columns an overall table has, and what stands in its cells."""

from __future__ import annotations

from collections.abc import Sequence

from cfbench.analysis.positions import ALPHA
from cfbench.analysis.rows import Row
from cfbench.analysis.standings import Standing, Standings, State
from cfbench.entries import Direction
from cfbench.errors import UnknownNameError
from cfbench.harness.variants import make_variant, parse_variant, resolve_variant
from cfbench.leaderboard.compared_columns import compared_columns
from cfbench.leaderboard.metric_columns import column_of_metric
from cfbench.leaderboard.spent_columns import FAILURES, spent_columns
from cfbench.leaderboard.standing_column import StandingColumn
from cfbench.registry import Registry

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
