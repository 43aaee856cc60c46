"""The page's figures, each with its numbers as a table for those who do not see it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import fmean

import numpy as np

from cfbench.analysis.measured import MetricColumn
from cfbench.analysis.result_matrix import ComparedSearcher
from cfbench.analysis.standings import RankState, Standings, StandingsRow
from cfbench.board.page import svg
from cfbench.board.page.evidence import TARGETS, Progress
from cfbench.board.text import ABSENT, score, share, whole, whole_change
from cfbench.registry.entries import Direction
from cfbench.text import plural, visible

FRONT = "the dotted line joins those that no other beats in both"
LEAST_EXCESS = 0.001
"""What is closer to the best known value is drawn as far from it as this: on a logarithmic axis 0 has no place."""


@dataclass(frozen=True)
class PageFigure:
    """A figure."""

    title: str
    caption: str
    image: str  # markup of an SVG
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]  # its numbers


class Figures:
    """Draws the figures of a board."""

    def __init__(self, standings: Standings, others: Sequence[StandingsRow] = ()) -> None:
        self._standings = standings
        self._rows = (*standings.rows, *others)
        self._series = {row.label: number for number, row in enumerate(self._rows)}
        self._value = "objective value" if standings.robust else "loss"

    def effort(self) -> PageFigure | None:
        """Draw the value that tasks ask for against queries."""
        rows = self._with(lambda row: row.objective.value, lambda row: row.spending.queries or None)
        if len(rows) < 2:
            return None
        excess, queries = [value for _, value, _ in rows], [value for _, _, value in rows]
        height = svg.height_for(len(rows))
        x = svg.Axis(min(queries) / 1.5, max(queries) * 1.5, svg.LEFT, svg.WIDTH - svg.RIGHT, log=True)
        y = _excess_axis(excess, height - svg.BOTTOM, svg.TOP + 6)
        return PageFigure(
            f"{self._value.capitalize()} against queries",
            f"Further left and further down is better; {FRONT}. Both axes are logarithmic.",
            self._scatter(
                [row for row, _, _ in rows],
                (queries, excess),
                (x, y),
                ("queries per search", f"{self._value} above the best known"),
                (svg.short, _excess_tick),
                height,
            ),
            ("searcher", "queries per search", f"{self._value} vs best"),
            tuple((visible(row.label), whole(asked), whole_change(value)) for row, value, asked in rows),
        )

    def ranks(self) -> PageFigure | None:
        """Draw the mean ranks with their intervals, in the table's order."""
        rows = [row for row in self._standings.ranked if row.rank is not None]
        if len(rows) < 2:
            return None
        height = svg.height_for(len(rows))
        x = svg.Axis(1, len(rows), svg.LEFT, svg.WIDTH - svg.RIGHT)
        y = svg.Axis(0, len(rows), svg.TOP + 4, height - svg.BOTTOM)
        parts, places, table = [], [], []
        for number, row in enumerate(rows):
            assert row.rank is not None
            level = y(number + 0.5)
            places.append((x(row.rank), level))
            between = ABSENT
            if row.interval is not None:
                low, high = row.interval
                parts.append(f'<path class="span" d="M{x(low):.1f} {level:.1f}H{x(high):.1f}"/>')
                between = f"{low:.1f} - {high:.1f}"
            parts.append(self._dot(row, places[-1]))
            table.append((visible(row.label), f"{row.rank:.1f}", row.group or ABSENT, between))
        title = "Mean ranks"
        interval = "with 95 % intervals" if any(row.interval for row in rows) else "without intervals: too few tasks"
        body = [*self._names(rows, places, height), *parts]
        return PageFigure(
            title,
            f"Over {plural(len(self._standings.in_play), 'task')}, {interval}. Further left is better.",
            svg.chart(title, f"{len(rows)} searchers", ("mean rank", ""), body, x, None, height=height),
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
        height = svg.height_for(len(rows))
        start, stop = svg.LEFT + 18, svg.WIDTH - svg.RIGHT - 18
        at = {kind: start + number * (stop - start) / (len(kinds) - 1) for number, kind in enumerate(kinds)}
        y = svg.Axis(1, len(rows), svg.TOP + 6, height - svg.BOTTOM)
        body, ends = [], []
        for row in rows:
            points = [(at[kind], y(mean)) for kind, mean in means[row.label]]
            body.append(svg.line(points, self._series[row.label], len(self._series)))
            body += [self._dot(row, point) for point in points]
            ends.append(points[-1])
        title = f"Mean ranks by {what}"
        ticks = [(place, visible(kind)) for kind, place in at.items()]
        return PageFigure(
            title,
            "Whether the order holds everywhere. Further up is better.",
            svg.chart(
                title,
                f"{len(rows)} searchers",
                ("", "mean rank"),
                [*self._names(rows, ends, height), *body],
                ticks,
                y,
                height=height,
            ),
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
        height = svg.height_for(len(rows))
        x = _excess_axis(losses, svg.LEFT, svg.WIDTH - svg.RIGHT)
        y = svg.Axis(min(scores), max(scores), height - svg.BOTTOM, svg.TOP + 6)
        higher = metric.direction is Direction.HIGHER
        return PageFigure(
            f"Loss against {label}",
            f"Further left and further {'up' if higher else 'down'} is better; {FRONT}. The axis of the loss is "
            "logarithmic.",
            self._scatter(
                [row for row, _, _ in rows],
                (losses, scores),
                (x, y),
                ("loss above the best known", label),
                (_excess_tick, svg.short),
                height,
                higher=higher,
            ),
            ("searcher", "loss vs best", label),
            tuple((visible(row.label), whole_change(loss), score(value)) for row, loss, value in rows),
        )

    def solved_over_queries(self, progress: dict[ComparedSearcher, Progress]) -> PageFigure | None:
        """Draw the share of (search, target) pairs reached against queries."""
        compared = self._compared() if self._standings.ranked else self._rows
        rows = [row for row in compared if row.searcher in progress and len(progress[row.searcher].queries)]
        if not rows:
            return None
        last = max(10.0, *(float(progress[row.searcher].queries[-1]) for row in rows))
        height = svg.height_for(len(rows))
        x = svg.Axis(1, last, svg.LEFT, svg.WIDTH - svg.RIGHT, log=True)
        y = svg.Axis(0, 1, height - svg.BOTTOM, svg.TOP + 6)
        grid = np.unique(np.round(np.logspace(0, np.log10(last), 61)))
        lines, ends, table = [], [], []
        for row in rows:
            own = progress[row.searcher]
            shares = np.searchsorted(own.queries, grid, side="right") / own.pairs
            points = [(x(g), y(s)) for g, s in zip(grid, shares, strict=True)]
            lines.append(svg.steps(points, self._series[row.label], len(self._series)))
            ends.append((x(float(grid[-1])), y(float(shares[-1]))))
            at = [np.searchsorted(own.queries, 10.0**power, side="right") / own.pairs for power in (2, 3, 4)]
            table.append((visible(row.label), *(share(float(one)) for one in at), share(float(shares[-1]))))
        targets = ", ".join(f"{100 * target:g}" for target in TARGETS[:-1])
        robust = " Under a robust objective a search counts with its result alone, after all its queries."
        title = "Targets reached over queries"
        return PageFigure(
            title,
            f"Share of (search, target) pairs reached. Targets: within {targets} % of the point's best known "
            f"{self._value}, and any counterfactual.{robust if self._standings.robust else ''} Higher and further left "
            "is better.",
            svg.chart(
                title,
                f"{len(rows)} searchers",
                ("queries", "share of targets"),
                [*self._names(rows, ends, height), *lines],
                x,
                y,
                height=height,
            ),
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

    def _dot(self, row: StandingsRow, place: tuple[float, float]) -> str:
        return svg.dot(*place, self._series[row.label], len(self._series), visible(row.label))

    def _names(self, rows: Sequence[StandingsRow], places: Sequence[tuple[float, float]], height: int) -> list[str]:
        series = [self._series[row.label] for row in rows]
        return svg.names([visible(row.label) for row in rows], places, series, len(self._series), height)

    def _scatter(
        self,
        rows: Sequence[StandingsRow],
        values: tuple[Sequence[float], Sequence[float]],
        axes: tuple[svg.Axis, svg.Axis],
        labels: tuple[str, str],
        written: tuple[Callable[[float], str], Callable[[float], str]],
        height: int,
        *,
        higher: bool = False,
    ) -> str:
        """Draw named dots and the line through those that no other beats in both; smaller is better in x."""
        (xs, ys), (x, y) = values, axes
        path = "L".join(f"{x(xs[i]):.1f} {y(ys[i]):.1f}" for i in front(xs, ys, higher=higher))
        places = [(x(own_x), y(own_y)) for own_x, own_y in zip(xs, ys, strict=True)]
        dots = [self._dot(row, place) for row, place in zip(rows, places, strict=True)]
        title = f"{labels[1]} against {labels[0]}"
        description = f"{len(rows)} searchers; the line joins those that no other beats in both"
        body = [f'<path class="front" d="M{path}"/>', *self._names(rows, places, height), *dots]
        return svg.chart(title, description, labels, body, x, y, height=height, written=written)


def front(xs: Sequence[float], ys: Sequence[float], *, higher: bool) -> list[int]:
    """Return which points no other beats in both: smaller is better in x, and in y unless `higher` is."""
    sign = -1.0 if higher else 1.0
    found: list[int] = []
    for i in sorted(range(len(xs)), key=lambda i: (xs[i], sign * ys[i])):
        if not found or sign * ys[i] < sign * ys[found[-1]]:
            found.append(i)
    return found


def _excess_axis(values: Sequence[float], start: float, stop: float) -> svg.Axis:
    return svg.Axis(LEAST_EXCESS, max(10 * LEAST_EXCESS, 1.4 * max(values)), start, stop, log=True)


def _excess_tick(value: float) -> str:
    return f"{'≤' if value <= LEAST_EXCESS * (1 + 1e-9) else ''}{svg.percent(value)}"
