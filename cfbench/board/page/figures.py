"""What the page's figures show, each with its numbers as a table; `svg` and `plots` draw them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from statistics import fmean

import numpy as np

from cfbench.analysis.board import Board
from cfbench.analysis.measured import MetricColumn
from cfbench.analysis.result_matrix import ComparedSearcher
from cfbench.analysis.standings import RankState, Standings, StandingsRow
from cfbench.board.page.evidence import TARGETS, Progress
from cfbench.board.text import ABSENT, score, share, whole, whole_change
from cfbench.registry.entries import Direction
from cfbench.text import plural, visible

FRONT = "the dotted line joins those that no other beats in both"
LEAST_EXCESS = 0.001
"""What is closer to the best known value is drawn as far from it as this: on a logarithmic axis 0 has no place."""


def short(value: float) -> str:
    """Write a tick in a few signs.

    Examples
    --------
    >>> [short(number) for number in (0.25, 3, 10_000, 2_000_000)]
    ['0.25', '3', '10k', '2M']
    """
    for size, sign in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= size and (sign != "k" or abs(value) >= 10_000):
            return f"{value / size:g}{sign}"
    return f"{round(value, 6):g}"


def percent(value: float) -> str:
    """Write a tick that is a share.

    Examples
    --------
    >>> [percent(number) for number in (0.001, 0.5, 10.0)]
    ['0.1%', '50%', '1,000%']
    """
    text = f"{100 * value:,.6f}".rstrip("0").rstrip(".")
    return f"{text}%"


class Form(StrEnum):
    """How the points of a series are drawn."""

    DOTS = "dots"
    LINES = "lines"  # dots that a line joins
    STEPS = "steps"  # a line that rises in steps


@dataclass(frozen=True)
class Scale:
    """An axis; what lies outside its limits is drawn at them."""

    label: str
    low: float
    high: float
    log: bool = False
    downwards: bool = False  # whether the least value is at the top
    names: tuple[str, ...] = ()  # of the values 0, 1, ...
    written: Callable[[float], str] | None = short  # the text of a tick; None: no ticks

    @property
    def limits(self) -> tuple[float, float]:
        """Return where the axis begins and ends; if all values are equal, it ends one unit or power of ten further."""
        if self.high > self.low:
            return self.low, self.high
        return self.low, 10 * self.low if self.log else self.low + 1


@dataclass(frozen=True)
class Series:
    """What is drawn of one searcher."""

    label: str
    number: int  # decides its colour, marker and dash
    points: tuple[tuple[float, float], ...]
    span: tuple[float, float] | None = None  # from where to where an interval reaches along x


@dataclass(frozen=True)
class PageFigure:
    """A figure."""

    name: str
    title: str
    caption: str
    x: Scale
    y: Scale
    form: Form
    series: tuple[Series, ...]
    of: int  # the number of searchers on the page, among which colours are spread
    front: tuple[tuple[float, float], ...]  # the points that a line joins, since no other beats them in both
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]  # its numbers


def page_figures(board: Board, progress: dict[ComparedSearcher, Progress]) -> list[PageFigure]:
    """Return the figures of a board in their order, those that there are numbers for."""
    standings, white = board.standings, board.white_standings
    drawing = Figures(standings, () if white is None or white is standings else white.rows)
    metrics = [metric for metric in standings.metrics if metric.entry and metric.entry.shown_by_default]
    drawn = [
        drawing.effort(),
        drawing.ranks(),
        drawing.ranks_by_part(),
        *(drawing.against_loss(metric) for metric in metrics),
        drawing.solved_over_queries(progress),
    ]
    return [figure for figure in drawn if figure is not None]


class Figures:
    """Makes the figures of a board."""

    def __init__(self, standings: Standings, others: Sequence[StandingsRow] = ()) -> None:
        self._standings = standings
        self._rows = (*standings.rows, *others)
        self._numbers = {row.label: number for number, row in enumerate(self._rows)}
        self._value = "objective value" if standings.robust else "loss"

    def effort(self) -> PageFigure | None:
        """Draw the loss, or the objective value, against queries."""
        rows = self._with(lambda row: row.objective.value, lambda row: row.spending.queries or None)
        if len(rows) < 2:
            return None
        excess, queries = [value for _, value, _ in rows], [value for _, _, value in rows]
        return self._scatter(
            "effort",
            f"{self._value.capitalize()} against queries",
            f"Further left and further down is better; {FRONT}. Both axes are logarithmic.",
            [row for row, _, _ in rows],
            (queries, excess),
            Scale("queries per search", min(queries) / 1.5, max(queries) * 1.5, log=True),
            _excess(f"{self._value} above the best known", excess),
            ("searcher", "queries per search", f"{self._value} vs best"),
            tuple((visible(row.label), whole(spent), whole_change(value)) for row, value, spent in rows),
        )

    def ranks(self) -> PageFigure | None:
        """Draw the mean ranks with their intervals, in the table's order."""
        rows = [row for row in self._standings.ranked if row.rank is not None]
        if len(rows) < 2:
            return None
        series, table = [], []
        for number, row in enumerate(rows):
            assert row.rank is not None
            between = ABSENT if row.interval is None else f"{row.interval[0]:.1f} - {row.interval[1]:.1f}"
            series.append(self._series(row, [(row.rank, number + 0.5)], row.interval))
            table.append((visible(row.label), f"{row.rank:.1f}", row.group or ABSENT, between))
        interval = "with 95 % intervals" if any(row.interval for row in rows) else "without intervals: too few tasks"
        return self._figure(
            "ranks",
            "Mean ranks",
            f"Over {plural(len(self._standings.in_play), 'task')}, {interval}. Further left is better.",
            (Scale("mean rank", 1, len(rows)), Scale("", 0, len(rows), downwards=True, written=None)),
            Form.DOTS,
            series,
            ("searcher", "mean rank", "group", "95 % interval"),
            tuple(table),
        )

    def ranks_by_part(self) -> PageFigure | None:
        """Draw mean ranks by what tasks differ in: the data set, else the model, the objective, the constraints."""
        views = self._standings.tasks
        parts = [view.task.parts for view in views]
        differing = [what for what in parts[0] if len({of_task[what] for of_task in parts}) > 1] if parts else []
        rows = list(self._standings.ranked)
        if not differing or len(rows) < 2:
            return None
        what = differing[0]
        values = [of_task[what] for of_task in parts]
        means: dict[str, list[tuple[str, float]]] = defaultdict(list)
        for row in rows:
            for value in dict.fromkeys(values):
                ranks = [
                    result.rank
                    for result, own in zip(row.results, values, strict=True)
                    if own == value and result is not None and result.rank is not None
                ]
                if ranks:
                    means[row.label].append((value, fmean(ranks)))
        kinds = [value for value, _ in means[rows[0].label]]
        if len(kinds) < 2:
            return None
        at = {kind: number for number, kind in enumerate(kinds)}
        return self._figure(
            "ranks-by-part",
            f"Mean ranks by {what}",
            "Whether the order holds everywhere. Further up is better.",
            (
                Scale("", 0, len(kinds) - 1, names=tuple(map(visible, kinds))),
                Scale("mean rank", 1, len(rows), downwards=True),
            ),
            Form.LINES,
            [self._series(row, [(at[kind], mean) for kind, mean in means[row.label]]) for row in rows],
            ("searcher", *map(visible, kinds)),
            tuple((visible(row.label), *(f"{mean:.1f}" for _, mean in means[row.label])) for row in rows),
        )

    def against_loss(self, metric: MetricColumn) -> PageFigure | None:
        """Draw the loss against a metric."""
        label = metric.label
        rows = self._with(
            lambda row: row.loss.value, lambda row: row.metrics[label].value if label in row.metrics else None
        )
        if len(rows) < 2:
            return None
        losses, scores = [value for _, value, _ in rows], [value for _, _, value in rows]
        higher = metric.direction is Direction.HIGHER
        return self._scatter(
            f"loss-against-{label}",
            f"Loss against {label}",
            f"Further left and further {'up' if higher else 'down'} is better; {FRONT}. The axis of the loss is "
            "logarithmic.",
            [row for row, _, _ in rows],
            (losses, scores),
            _excess("loss above the best known", losses),
            Scale(label, min(scores), max(scores)),
            ("searcher", "loss vs best", label),
            tuple((visible(row.label), whole_change(loss), score(value)) for row, loss, value in rows),
            higher=higher,
        )

    def solved_over_queries(self, progress: dict[ComparedSearcher, Progress]) -> PageFigure | None:
        """Draw the share of (search, target) pairs reached against queries."""
        compared = self._compared() if self._standings.ranked else self._rows
        rows = [row for row in compared if row.searcher in progress and len(progress[row.searcher].queries)]
        if not rows:
            return None
        last = max(10.0, *(float(progress[row.searcher].queries[-1]) for row in rows))
        grid = np.unique(np.round(np.logspace(0, np.log10(last), 61)))
        series, table = [], []
        for row in rows:
            own = progress[row.searcher]
            shares = np.searchsorted(own.queries, grid, side="right") / own.pairs
            series.append(self._series(row, list(zip(grid.tolist(), shares.tolist(), strict=True))))
            at = [np.searchsorted(own.queries, 10.0**power, side="right") / own.pairs for power in (2, 3, 4)]
            table.append((visible(row.label), *(share(float(one)) for one in at), share(float(shares[-1]))))
        targets = ", ".join(f"{100 * target:g}" for target in TARGETS[:-1])
        robust = " Under a robust objective a search counts with its result alone, after all its queries."
        return self._figure(
            "progress",
            "Targets reached over queries",
            f"Share of (search, target) pairs reached. Targets: within {targets} % of the point's best known "
            f"{self._value}, and any counterfactual.{robust if self._standings.robust else ''} Higher and further left "
            "is better.",
            (Scale("queries", 1, last, log=True), Scale("share of targets", 0, 1)),
            Form.STEPS,
            series,
            ("searcher", "after 100 queries", "after 1,000", "after 10,000", "at the end"),
            tuple(table),
        )

    def _with(
        self, value: Callable[[StandingsRow], float | None], other: Callable[[StandingsRow], float | None]
    ) -> list[tuple[StandingsRow, float, float]]:
        """Return the rows that are compared and have both numbers."""
        found = ((row, value(row), other(row)) for row in self._compared())
        return [(row, one, two) for row, one, two in found if one is not None and two is not None]

    def _compared(self) -> list[StandingsRow]:
        """Return the rows that are compared: ranked ones, and white boxes as references."""
        return [row for row in self._rows if row.state in (RankState.RANKED, RankState.WHITE_BOX)]

    def _series(
        self, row: StandingsRow, points: Sequence[tuple[float, float]], span: tuple[float, float] | None = None
    ) -> Series:
        return Series(visible(row.label), self._numbers[row.label], tuple(points), span)

    def _figure(
        self,
        name: str,
        title: str,
        caption: str,
        scales: tuple[Scale, Scale],
        form: Form,
        series: Sequence[Series],
        header: tuple[str, ...],
        rows: tuple[tuple[str, ...], ...],
        front: Sequence[tuple[float, float]] = (),
    ) -> PageFigure:
        drawn = tuple(series)
        return PageFigure(name, title, caption, *scales, form, drawn, len(self._numbers), tuple(front), header, rows)

    def _scatter(
        self,
        name: str,
        title: str,
        caption: str,
        rows: Sequence[StandingsRow],
        values: tuple[Sequence[float], Sequence[float]],
        x: Scale,
        y: Scale,
        header: tuple[str, ...],
        table: tuple[tuple[str, ...], ...],
        *,
        higher: bool = False,
    ) -> PageFigure:
        """Return named dots and the line through those that no other beats in both; smaller is better in x."""
        points = list(zip(*values, strict=True))
        series = [self._series(row, [point]) for row, point in zip(rows, points, strict=True)]
        best = [points[i] for i in front(*values, higher=higher)]
        return self._figure(name, title, caption, (x, y), Form.DOTS, series, header, table, best)


def front(xs: Sequence[float], ys: Sequence[float], *, higher: bool) -> list[int]:
    """Return which points no other beats in both: smaller is better in x, and in y unless `higher` is."""
    sign = -1.0 if higher else 1.0
    found: list[int] = []
    for i in sorted(range(len(xs)), key=lambda i: (xs[i], sign * ys[i])):
        if not found or sign * ys[i] < sign * ys[found[-1]]:
            found.append(i)
    return found


def _excess(label: str, values: Sequence[float]) -> Scale:
    return Scale(label, LEAST_EXCESS, max(10 * LEAST_EXCESS, 1.4 * max(values)), log=True, written=_excess_tick)


def _excess_tick(value: float) -> str:
    return f"{'≤' if value <= LEAST_EXCESS * (1 + 1e-9) else ''}{percent(value)}"
