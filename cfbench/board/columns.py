"""The columns of the tables, each defined once: text, files, page, MLflow's views and help follow from here."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Generic, TypeVar

from cfbench.analysis.board import Row
from cfbench.analysis.comparison import RelativeMetric
from cfbench.analysis.groups import bare_name
from cfbench.analysis.measured import MetricColumn
from cfbench.analysis.ranks import ALPHA, BOOTSTRAPS
from cfbench.analysis.standings import Basis, OverallValue, RankState, Standings, StandingsRow
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
"""What the column of a metric says if the record holds no value of it."""
OWN_SUCCESSES = "each on its own successes, which rewards giving up on hard points: rows are not comparable"

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

R = TypeVar("R")
T = TypeVar("T")


@dataclass(frozen=True)
class Column(Generic[R, T]):
    """A column of tables with rows of type `R`. What depends on the table is a function of it, of type `T`."""

    name: str  # what it is called in ``--columns`` and ``--by``
    value: Callable[[R], float | None]  # returns a row's number, None if it has none
    form: Callable[[float | None], str] = decimal  # writes the number, or None, for readers
    text: Callable[[R, T], str] | None = None  # writes the cell from row and table, if it shows more than the number
    direction: Direction = Direction.NEUTRAL  # which values are better
    title: str | Callable[[T], str] = ""  # with the unit, the two lines of its header
    unit: str | Callable[[T], str] = ""
    legend: str | Callable[[T], str] = ""  # what the number is, in one sentence; empty if the header says it
    # What the number is counted over in this table, such as "3 of 50 points"; empty if legend, cell or header say
    # it
    counted: str | Callable[[T], str] = ""
    # The numbers that CSV, JSON, data frames and MLflow hold of it, by their names, the main one first. By default
    # the value, under the column's name.
    numbers: Mapping[str, Callable[[R], Any]] | None = None
    group: str = ""  # ``--columns GROUP`` shows all columns of a group, and MLflow shows them in one section
    default: bool = False  # whether tables show it by default
    unranked: bool = False  # whether tables without ranks show it by default
    on_page: bool = False  # whether the page shows it, in the row that a reader opens, though it is no default
    part_of: str = ""  # the column in which the page shows it
    # Whether it says something about this table; if not, it is no default
    applies: Callable[[T], bool] = field(default=lambda _: True)
    compares: bool = False  # whether only ranked rows and references have it
    ranks: bool = False  # whether only ranked rows have it
    # Columns of one part belong together, such as a number and what it is counted over; in the tables of single
    # tasks narrow outputs leave out the highest parts
    part: int = 0

    @property
    def fields(self) -> Mapping[str, Callable[[R], Any]]:
        """The numbers by their names in files."""
        return {self.name.replace("-", "_"): self.value} if self.numbers is None else self.numbers

    @property
    def arrow(self) -> str:
        """The better direction as a sign."""
        return {Direction.HIGHER: "↑", Direction.LOWER: "↓", Direction.NEUTRAL: ""}[self.direction]

    def cell(self, row: R, table: T) -> str:
        """Write the cell of a row."""
        return self.form(self.value(row)) if self.text is None else self.text(row, table)


class ShownColumn(Generic[R, T]):
    """A column in one table, with its words."""

    def __init__(self, column: Column[R, T], table: T) -> None:
        def said(words: str | Callable[[T], str]) -> str:
            return words if isinstance(words, str) else words(table)

        self.column, self._table = column, table
        self.name, self.arrow, self.direction = column.name, column.arrow, column.direction
        self.title, self.unit = said(column.title), said(column.unit)
        self.legend, self.counted = said(column.legend), said(column.counted)

    @property
    def explained(self) -> str:
        """The legend with what the number is counted over."""
        return f"{self.legend}{f' ({self.counted})' if self.counted else ''}"

    @property
    def bare_unit(self) -> str:
        """The second line of the header without the arrow."""
        return self.unit.replace(self.arrow, "").strip() if self.arrow else self.unit

    def text(self, row: R) -> str:
        """Write the cell of a row."""
        return self.column.cell(row, self._table)


class StandingColumn(ShownColumn[StandingsRow, Standings]):
    """A column in one overall table: what compares rows is empty in rows that are not compared."""

    @property
    def compares(self) -> bool:
        """Whether some rows do not have it."""
        return self.column.compares or self.column.ranks

    def text(self, row: StandingsRow) -> str:
        """Write the cell of a row; empty where the row is not compared."""
        return "" if self._is_blank(row) else super().text(row)

    def value(self, row: StandingsRow) -> float | None:
        """Return the number of a row; None where the row is not compared."""
        return None if self._is_blank(row) else self.column.value(row)

    def sorted_rows(self) -> list[StandingsRow]:
        """Sort the table's rows, the better first, rows without a number last; positions stay what they are."""
        sign = -1.0 if self.direction is Direction.HIGHER else 1.0

        def place(row: StandingsRow) -> tuple[bool, float]:
            value = self.value(row)
            return value is None, 0.0 if value is None else sign * value

        return sorted(self._table.rows, key=place)

    def _is_blank(self, row: StandingsRow) -> bool:
        if not self.compares or row.state is RankState.RANKED:
            return False
        if row.state in (RankState.FAILED, RankState.SKIPPED):
            return True
        if not self._table.ranked:
            return False
        return row.state is not RankState.WHITE_BOX or self.column.ranks


def span(numbers: Sequence[int]) -> str:
    """Write sorted numbers as one, or as the first and the last."""
    return f"{numbers[0]:,}" if len(numbers) == 1 else f"{numbers[0]:,}-{numbers[-1]:,}"


def _searches(table: Standings) -> str:
    searches = table.searches
    return f"(of {searches:,})" if searches is not None and table.ranked else "searches"


def _count(row: StandingsRow, table: Standings) -> str:
    """Write how many searches found something, with the denominator where neither header nor state says it."""
    if row.found.n == 0:
        return ABSENT
    searches = table.searches if table.ranked else None
    said = searches is not None and (row.found.n == searches or row.state is RankState.NOT_RANKED)
    return f"{row.found.k:,}" if said else f"{row.found.k:,} of {row.found.n:,}"


def _one_search(table: Standings) -> bool:
    """Whether every point has one search."""
    return table.repetitions in ((), (1,))


def _on_own(table: Standings) -> bool:
    return table.basis is Basis.OWN_SUCCESSES or not table.ranked


def _on(table: Standings) -> str:
    """Say which points losses are averaged over."""
    if _on_own(table):
        return OWN_SUCCESSES
    every = "searches" if _one_search(table) else "points"
    with_loss = " with a loss" if any(row.loss.value is None for row in table.ranked) else ""
    return f"on {every} that every ranked searcher{with_loss} solved"


def _shared(table: Standings) -> str:
    return "" if _on_own(table) else f"{table.shared.k:,} of {table.shared.n:,} points"


def _rank_legend(table: Standings) -> str:
    over = "" if table.unit == "task" else ", those of one data set and model drawn together"
    interval = f"; interval from {BOOTSTRAPS:,} bootstraps over tasks{over}" if _has_intervals(table) else ""
    best = "" if _one_search(table) else f" of each point's best of {span(table.repetitions)} searches"
    value = "objective value" if table.robust else "loss"
    return (
        f"mean over {plural(len(table.in_play), 'task')} of ranks by the {value}{best}; {table.tolerance} and share "
        f"the mean of their ranks{interval}"
    )


def _has_intervals(table: Standings) -> bool:
    return any(row.interval for row in table.rows)


def _interval(row: StandingsRow, _: Standings) -> str:
    return ABSENT if row.interval is None else f"{row.interval[0]:.1f}-{row.interval[1]:.1f}"


def _value_columns() -> list[Column[StandingsRow, Standings]]:
    """Return the columns of objective value and loss: against the best known ones, and means."""
    against = partial(Column[StandingsRow, Standings], group="values", direction=Direction.LOWER, compares=True)
    return [
        against(
            "objective",
            lambda row: row.objective.value,
            whole_change,
            title="objective",
            unit="vs best",
            legend=lambda table: f"median over tasks of the objective value / best objective value, {_on(table)}",
            counted=_shared,
            numbers={"objective_against_best": lambda row: row.objective.value},
            default=True,
            applies=lambda table: table.robust,
        ),
        against(
            "loss",
            lambda row: row.loss.value,
            whole_change,
            title="loss",
            unit="vs best",
            legend=lambda table: f"median over tasks of loss / best loss, {_on(table)}",
            counted=_shared,
            numbers={
                "loss_against_best": lambda row: row.loss.value,
                "loss_points": lambda row: row.loss.k,
                "points": lambda row: row.loss.n,
                "loss_tasks": lambda row: row.loss.tasks,
            },
            default=True,
        ),
        against(
            "mean-objective",
            lambda row: row.mean_objective.value,
            title="objective",
            unit="mean",
            legend=lambda table: f"mean over tasks of the mean objective value, {_on(table)}",
            counted=_shared,
            numbers={"objective_mean": lambda row: row.mean_objective.value},
            unranked=True,
            applies=lambda table: table.robust,
        ),
        against(
            "mean-loss",
            lambda row: row.mean_loss.value,
            title="loss",
            unit="mean",
            legend=lambda table: f"mean over tasks of the mean loss, {_on(table)}",
            counted=_shared,
            numbers={"loss_mean": lambda row: row.mean_loss.value},
            unranked=True,
        ),
    ]


def _status_column(status: Status) -> Column[StandingsRow, Standings]:
    """Return the column of the searches that ended in a status without a result."""
    first, _, second = status.value.partition("_")
    return Column(
        status.value.replace("_", "-"),
        lambda row: row.statuses.get(status.value, 0),
        whole,
        direction=Direction.LOWER,
        title=first,
        unit=second or "searches",
        numbers={f"status_{status.value}": lambda row: row.statuses.get(status.value, 0)},
        group="failures",
    )


ALL = "all"
"""The group of all columns, and of all metrics that are in a group."""

METRICS_BEFORE = "wins"
"""The column that default metrics precede: narrow outputs leave columns out from the right."""

COLUMNS: dict[str, Column[StandingsRow, Standings]] = {
    column.name: column
    for column in (
        Column[StandingsRow, Standings](
            "found",
            lambda row: row.found.share,
            text=_count,
            direction=Direction.HIGHER,
            title="found",
            unit=_searches,
            legend="searches answered with a valid counterfactual; not found ranks last, never dropped",
            numbers={
                "success_rate": lambda row: row.found.share,
                "searches_found": lambda row: row.found.k,
                "searches": lambda row: row.found.n,
                "status_found": lambda row: row.statuses.get(Status.FOUND.value, 0),
            },
            group="found",
            default=True,
            unranked=True,
        ),
        Column[StandingsRow, Standings](
            "share",
            lambda row: row.found.share,
            share,
            direction=Direction.HIGHER,
            numbers={},
            default=True,
            unranked=True,
            part_of="found",
        ),
        Column[StandingsRow, Standings](
            "rank",
            lambda row: row.rank,
            text=lambda row, _: ABSENT if row.rank is None else f"{row.rank:.1f} {row.group}".rstrip(),
            direction=Direction.LOWER,
            title="rank",
            unit="1=best",
            legend=_rank_legend,
            group="rank",
            default=True,
            ranks=True,
        ),
        Column[StandingsRow, Standings](
            "interval",
            lambda row: None if row.interval is None else row.interval[0],
            text=_interval,
            direction=Direction.LOWER,
            title="interval",
            unit="95%",
            numbers={
                "rank_low": lambda row: None if row.interval is None else row.interval[0],
                "rank_high": lambda row: None if row.interval is None else row.interval[1],
            },
            default=True,
            part_of="rank",
            applies=_has_intervals,
            ranks=True,
        ),
        *_value_columns(),
        Column[StandingsRow, Standings](
            "wins",
            lambda row: row.wins,
            whole,
            direction=Direction.HIGHER,
            title="wins",
            unit=lambda table: f"of {len(table.in_play)}",
            legend="tasks in which no other ranked searcher has a smaller mean rank; several can win one task",
            default=True,
            ranks=True,
        ),
        Column[StandingsRow, Standings](
            "searches",
            lambda row: sum(row.statuses.values()),
            whole,
            title="searches",
            numbers={"searches_made": lambda row: sum(row.statuses.values())},
        ),
        Column[StandingsRow, Standings](
            "seconds",
            lambda row: row.spending.seconds,
            short_seconds,
            direction=Direction.LOWER,
            title="s/search",
            legend="wall-clock seconds, mean over searches of ranked tasks (unranked: of all)",
            numbers={"seconds_mean": lambda row: row.spending.seconds},
            group="effort",
            default=True,
            unranked=True,
        ),
        Column[StandingsRow, Standings](
            "queries",
            lambda row: row.spending.queries,
            whole,
            direction=Direction.LOWER,
            title="queries",
            legend="queries of the model per search, including those of the objective; mean over searches that were "
            "not killed",
            numbers={
                "queries_mean": lambda row: row.spending.queries,
                "search_queries_mean": lambda row: row.spending.search_queries,
                "robustness_queries_mean": lambda row: row.spending.robustness_queries,
            },
            group="effort",
            default=True,
            unranked=True,
        ),
        Column[StandingsRow, Standings](
            "prepare-seconds",
            lambda row: row.spending.prepare_seconds,
            short_seconds,
            direction=Direction.LOWER,
            title="s/prep.",
            legend="wall-clock seconds of one preparation, which serves all searches of a cell in one worker; mean "
            "over cells, empty for searchers that prepare nothing",
            group="effort",
        ),
        Column[StandingsRow, Standings](
            "prepare-queries",
            lambda row: row.spending.prepare_queries,
            whole,
            direction=Direction.LOWER,
            title="q/prep.",
            legend="queries of one preparation, mean over cells; the queries of searches do not contain them",
            group="effort",
        ),
        Column[StandingsRow, Standings](
            "tasks",
            lambda row: row.complete,
            whole,
            direction=Direction.HIGHER,
            title="tasks",
            unit="complete",
            numbers={"tasks_complete": lambda row: row.complete},
            on_page=True,
        ),
        Column[StandingsRow, Standings](
            "cells",
            lambda row: row.failed,
            text=lambda row, _: f"{row.failed:,} of {row.cells:,}",
            direction=Direction.LOWER,
            title="cells",
            unit="failed",
            numbers={
                "cells_failed": lambda row: row.failed,
                "cells": lambda row: row.cells,
                "cells_skipped": lambda row: row.skipped,
                "cells_missing": lambda row: row.missing,
            },
        ),
        *(_status_column(status) for status in Status if status is not Status.FOUND),
    )
}
"""Every column that is no metric, by its name, in the order of the default tables."""


def column_of_metric(metric: MetricColumn, standings: Standings) -> Column[StandingsRow, Standings]:
    """Return the column of one of a table's metrics; its entry says how it is shown."""
    entry = metric.entry
    bare = bare_name(metric.label)
    title, _, below = (entry.header if entry else "").partition("\n")
    settings = _settings(metric, standings.metrics)
    scores = [row.metrics[metric.label] for row in standings.rows if metric.label in row.metrics]
    ks = sorted({one.k for one in scores})
    digits = decimals([one.value for one in scores])
    own = f"; {OWN_SUCCESSES}" if standings.basis is Basis.OWN_SUCCESSES else ""
    summary = visible(entry.summary if entry else "") or "described by no plugin here"

    def of(row: StandingsRow) -> OverallValue | None:
        return row.metrics.get(metric.label)

    def value(row: StandingsRow) -> float | None:
        found = of(row)
        return None if found is None else found.value

    column = Column[StandingsRow, Standings](
        metric.label,
        value,
        fine_change if entry and entry.percent else partial(score, digits=digits),
        direction=metric.direction,
        title=visible(title or bare),
        legend=f"{f'{bare}: ' if title else ''}{summary}; mean over tasks{own}",
        counted=f"{span(ks)} of {scores[0].n:,} points" if scores else NOT_MEASURED,
        numbers={
            metric.label: value,
            f"{metric.label}_points": lambda row: getattr(of(row), "k", 0),
            f"{metric.label}_tasks": lambda row: getattr(of(row), "tasks", 0),
        },
        group=entry.group if entry else "",
        default=entry is not None and entry.shown_by_default,
        compares=True,
    )
    unit = " ".join(part for part in (settings, entry.unit if entry else "", column.arrow) if part)
    return replace(column, unit=visible(below if below and not settings else unit))


def _settings(metric: MetricColumn, all_metrics: Sequence[MetricColumn]) -> str:
    """Write the settings that distinguish a metric from others of its name on the board, or from its default."""
    alike = [other.label for other in all_metrics if bare_name(other.label) == bare_name(metric.label)]
    named = {name for label in alike for name in parse_variant(label)[1]}
    return ",".join(
        f"{name}={value if isinstance(value, str) else json.dumps(value)}"
        for name, value in json.loads(metric.identity[2]).items()
        if name in named
    )


def column_of_comparison(compared: RelativeMetric, reference: str) -> Column[StandingsRow, Standings]:
    """Return the column of a metric that compares each searcher with the reference searcher."""
    shown, entry, label = visible(reference), compared.entry, compared.label
    name = label.replace("-", "_")

    def value(row: StandingsRow) -> float | None:
        found = row.relative(label)
        return None if found is None else found.value

    return Column(
        label,
        value,
        change if entry.percent else score,
        direction=entry.direction,
        title=f"vs {shown or 'reference'}",
        unit=visible(unit_of_comparison(compared)),
        legend=f"{label}: {visible(entry.summary)} against {shown or 'no reference'}, median over tasks of the "
        "median over points that both solved",
        numbers={
            f"{name}_median": value,
            f"{name}_points": lambda row: getattr(row.relative(label), "k", None),
            f"{name}_asked": lambda row: getattr(row.relative(label), "n", None),
        },
        group=entry.group,
        default=entry.shown_by_default,
    )


def unit_of_comparison(compared: RelativeMetric) -> str:
    """Return the second line of a comparison's header: what is compared."""
    return compared.entry.header or compared.label if compared.label == compared.entry.name else compared.label


def every_column(standings: Standings) -> list[Column[StandingsRow, Standings]]:
    """Return all columns that a table can show; default metrics stand where default tables have them."""
    comparisons = [column_of_comparison(one, standings.reference) for one in standings.comparisons]
    metrics = [column_of_metric(metric, standings) for metric in standings.metrics]
    at = list(COLUMNS).index(METRICS_BEFORE)
    own = list(COLUMNS.values())
    return [*own[:at], *comparisons, *metrics, *own[at:]]


def columns_of(standings: Standings, names: Sequence[str] = ()) -> list[StandingColumn]:
    """Return the columns of a table, in the order of their names; the default ones if there are no names."""
    known = {column.name: column for column in every_column(standings)}
    ranked = bool(standings.ranked)
    chosen = [known[name] for name in names] or [
        column
        for column in known.values()
        if (column.default if ranked or column.name not in COLUMNS else column.unranked) and column.applies(standings)
    ]
    return [StandingColumn(column, standings) for column in chosen]


def column_named(columns: Sequence[StandingColumn], name: str) -> StandingColumn:
    """Return the column of that name. Raises UnknownNameError if the table has no such column."""
    for column in columns:
        if column.name == name:
            return column
    raise UnknownNameError(
        "column of this table", name, (column.name for column in columns), "`--columns` adds others."
    )


def names_without_metrics(registry: Registry) -> tuple[str, ...]:
    """Return the names of the columns that need no measured metric."""
    entries = [found.entry for found in registry.metrics.values()]
    return (*COLUMNS, *(entry.name for entry in entries if entry.compares_with_board))


def groups_of(registry: Registry) -> dict[str, list[str]]:
    """Return the names that stand for several columns, with these columns' names."""
    groups: dict[str, list[str]] = {}
    for column in COLUMNS.values():
        groups.setdefault(column.group, []).append(column.name)
    for found in registry.metrics.values():
        entry = found.entry
        labels = [make_variant(entry, one).label for one in entry.group_settings]
        groups.setdefault(entry.group, []).extend(labels)
    named = {name: members for name, members in groups.items() if name and name not in COLUMNS}
    every = [*names_without_metrics(registry), *(one for members in named.values() for one in members)]
    return {**named, ALL: every}


def page_columns(registry: Registry) -> list[str]:
    """Return the names of the columns that the page shows by default."""
    metrics = [
        label
        for found in registry.metrics.values()
        for label in dict.fromkeys(
            [
                *([found.entry.name] if found.entry.shown_by_default else []),
                *(make_variant(found.entry, one).label for one in found.entry.page_settings),
            ]
        )
    ]
    own = [column.name for column in COLUMNS.values() if (column.default or column.on_page) and not column.part_of]
    at = own.index(METRICS_BEFORE)
    return [*own[:at], *metrics, *own[at:]]


def expanded(names: Sequence[str], registry: Registry) -> list[str]:
    """Replace the names of groups by their columns, each column once.

    A metric that is to be shown with another is followed by it, with the settings that both share.
    """
    groups = groups_of(registry)
    found: dict[str, None] = {}
    for name in names:
        for one in groups.get(name, (name,)):
            found |= dict.fromkeys((one, *_shown_with(one, registry)))
    return list(found)


def _shown_with(name: str, registry: Registry) -> tuple[str, ...]:
    metric = parse_variant(name)[0]
    other = registry.metrics[metric].entry.shown_with if metric in registry.metrics else ""
    if other not in registry.metrics:
        return ()
    settings = resolve_variant(registry, "metric", name).settings
    entry = registry.metric(other).entry
    shared = settings.keys() & make_variant(entry, {}).settings.keys()
    return (make_variant(entry, {key: settings[key] for key in shared}).label,)


def marked_label(row: StandingsRow | Row) -> str:
    """Return a row's label, marked where results were searched for the loss alone."""
    return f"{row.label}{LOSS_ALONE[0]}" if row.loss_alone else row.label


def state_text(row: StandingsRow, standings: Standings) -> str:
    """Say in a few words why a row has no rank where others have one."""
    if row.state is RankState.NOT_RANKED:
        return f"not ranked (of {row.found.n:,} searches)" if standings.ranked else ""
    return {RankState.WHITE_BOX: "white box", RankState.FAILED: "failed", RankState.SKIPPED: "skipped"}.get(
        row.state, ""
    )


@dataclass(frozen=True)
class Number:
    """A number that files and MLflow hold of a searcher."""

    name: str  # its name in CSV, JSON and data frames
    column: str
    group: str
    direction: Direction  # which values are better
    is_main: bool  # whether it is the column's value; otherwise it says more of it, such as what it is counted over
    is_default: bool  # whether tables show the column by default
    is_metric: bool  # whether the column is a measured metric's


def numbers_of(standings: Standings) -> list[Number]:
    """Describe every number of a table's rows, column by column."""
    metrics = {metric.label for metric in standings.metrics}
    return [
        Number(
            name, column.name, column.group, column.direction, not at, column.default, is_metric=column.name in metrics
        )
        for column in every_column(standings)
        for at, name in enumerate(column.fields)
    ]
