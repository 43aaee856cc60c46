"""The page's figures, each with its numbers as a table for those who do not see it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from cfbench.analysis.contest import Entrant
from cfbench.analysis.standings import Standing, Standings
from cfbench.counts import plural
from cfbench.leaderboard.numbers import ABSENT, score, share, whole, whole_change
from cfbench.leaderboard.page import svg
from cfbench.leaderboard.page.evidence import TARGETS, Progress
from cfbench.leaderboard.safe import visible

FRONT = "the dotted line joins those that no other beats in both"


@dataclass(frozen=True)
class Figure:
    """A figure.

    Parameters
    ----------
    title, caption : str
    image : str
        Markup of an SVG.
    header : tuple of str
    rows : tuple of tuple of str
        Its numbers.
    """

    title: str
    caption: str
    image: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def rank_bar(row: Standing, entrants: int) -> str:
    """Draw a mean rank with its interval, from 1 to the number of ranked searchers, as a picture of one row."""
    if row.rank is None:
        return ""
    span = max(entrants - 1, 1)

    def at(rank: float) -> float:
        return 4 + 92 * (rank - 1) / span

    low, high = row.interval or (row.rank, row.rank)
    words = f"mean rank {row.rank:.1f}" + (f", 95 % interval {low:.1f} to {high:.1f}" if row.interval else "")
    return (
        f'<svg class="rank" viewBox="0 0 100 16" preserveAspectRatio="none" role="img"><title>{words}</title>'
        f'<path class="grid" d="M4 15H96"/><path class="interval" d="M{at(low):.1f} 8H{at(high):.1f}"/>'
        f'<path class="mean" d="M{at(row.rank):.1f} 3V13"/></svg>'
    )


def ranks(standings: Standings) -> Figure | None:
    """Draw the mean ranks with their intervals, in the table's order."""
    rows = [row for row in standings.ranked if row.rank is not None]
    if len(rows) < 2:
        return None
    x = svg.Axis(1, len(rows), svg.LEFT, svg.WIDTH - svg.RIGHT)
    y = svg.Axis(0, len(rows), svg.TOP + 8, svg.HEIGHT - svg.BOTTOM)
    parts, places, table = [], [], []
    for number, row in enumerate(rows):
        assert row.rank is not None
        height = y(number + 0.5)
        places.append((x(row.rank), height))
        between = ABSENT
        if row.interval is not None:
            low, high = row.interval
            parts.append(f'<path class="span" d="M{x(low):.1f} {height:.1f}H{x(high):.1f}"/>')
            between = f"{low:.1f} - {high:.1f}"
        parts.append(svg.dot(x(row.rank), height, number))
        table.append((visible(row.label), f"{row.rank:.1f}", between))
    title = "Mean ranks"
    interval = "with 95 % intervals" if any(row.interval for row in rows) else "without intervals: too few tasks"
    body = [*svg.names([visible(row.label) for row in rows], places), *parts]
    return Figure(
        title,
        f"Over {plural(len(standings.in_play), 'task')}, {interval}; further left is better.",
        svg.chart(title, f"{len(rows)} searchers", ("mean rank", ""), body, x, None),
        ("searcher", "mean rank", "95 % interval"),
        tuple(table),
    )


def robustness_tradeoff(standings: Standings, label: str) -> Figure | None:
    """Draw loss against a metric of robustness."""
    rows = _with(standings, lambda row: row.metrics[label].value if label in row.metrics else None)
    if len(rows) < 2:
        return None
    losses, scores = [row.loss.value or 0.0 for row, _ in rows], [value for _, value in rows]
    x = svg.Axis(0, max(losses), svg.LEFT, svg.WIDTH - svg.RIGHT)
    y = svg.Axis(min(scores), max(scores), svg.HEIGHT - svg.BOTTOM, svg.TOP + 8)
    return Figure(
        "Loss against robustness",
        f"Further left and further up is better; {FRONT}. Loss: median over tasks of loss / best loss; robustness: "
        f"{label}.",
        _scatter(rows, losses, scores, x, y, ("loss above the best (share)", label), higher=True),
        ("searcher", "loss vs best", label),
        tuple((visible(row.label), whole_change(row.loss.value), score(value)) for row, value in rows),
    )


def effort_tradeoff(standings: Standings) -> Figure | None:
    """Draw loss against rows asked, on a logarithmic scale."""
    rows = _with(standings, lambda row: row.spending.queries if row.spending.queries else None)
    if len(rows) < 2:
        return None
    losses, asked = [row.loss.value or 0.0 for row, _ in rows], [value for _, value in rows]
    x = svg.Axis(min(asked) / 1.5, max(asked) * 1.5, svg.LEFT, svg.WIDTH - svg.RIGHT, log=True)
    y = svg.Axis(0, max(losses), svg.HEIGHT - svg.BOTTOM, svg.TOP + 8)
    return Figure(
        "Loss against rows asked",
        f"Further left and further down is better; {FRONT}. Rows: mean over searches, the objective's included.",
        _scatter(rows, asked, losses, x, y, ("rows asked a search", "loss above the best (share)"), higher=False),
        ("searcher", "rows a search", "loss vs best"),
        tuple((visible(row.label), whole(value), whole_change(row.loss.value)) for row, value in rows),
    )


def solved_over_rows(standings: Standings, progress: dict[Entrant, Progress]) -> Figure | None:
    """Draw the share of (search, target) pairs reached against rows asked."""
    rows = [row for row in standings.rows if row.entrant in progress and len(progress[row.entrant].rows)]
    if not rows:
        return None
    last = max(float(progress[row.entrant].rows[-1]) for row in rows)
    x = svg.Axis(1, max(last, 10), svg.LEFT, svg.WIDTH - svg.RIGHT, log=True)
    y = svg.Axis(0, 1, svg.HEIGHT - svg.BOTTOM, svg.TOP + 8)
    grid = np.unique(np.round(np.logspace(0, np.log10(max(last, 10)), 41)))
    lines, ends, table = [], [], []
    for number, row in enumerate(rows):
        own = progress[row.entrant]
        shares = np.searchsorted(own.rows, grid, side="right") / own.pairs
        lines.append(svg.steps([(x(g), y(s)) for g, s in zip(grid, shares, strict=True)], number))
        ends.append((x(float(grid[-1])), y(float(shares[-1]))))
        decades = [share(float(shares[np.searchsorted(grid, 10.0**power)])) for power in (1, 2, 3) if 10**power <= last]
        table.append((visible(row.label), *decades, *[""] * (3 - len(decades)), share(float(shares[-1]))))
    lines += svg.names([visible(row.label) for row in rows], ends)
    targets = ", ".join(f"{100 * target:g} %" for target in TARGETS[:-1])
    title = "Targets reached over rows asked"
    return Figure(
        title,
        f"Share of (search, target) pairs reached; the targets are losses within {targets} of the point's best known "
        "loss, and any counterfactual at all. What a search had reached counts, even if it was ended first. "
        "Higher and further left is better.",
        svg.chart(title, f"{len(rows)} searchers", ("rows asked", "share of targets"), lines, x, y),
        ("searcher", "after 10 rows", "after 100", "after 1,000", "at the end"),
        tuple(table),
    )


def _with(standings: Standings, number: Callable[[Standing], float | None]) -> list[tuple[Standing, float]]:
    """Return the rows that have both a loss and a number."""
    pairs = ((row, number(row)) for row in standings.rows if row.loss.value is not None)
    return [(row, value) for row, value in pairs if value is not None]


def _scatter(
    rows: Sequence[tuple[Standing, float]],
    xs: Sequence[float],
    ys: Sequence[float],
    x: svg.Axis,
    y: svg.Axis,
    labels: tuple[str, str],
    *,
    higher: bool,
) -> str:
    """Draw named dots and the line through those that nobody beats in both respects; smaller is better in x."""
    sign = -1.0 if higher else 1.0
    order = sorted(range(len(rows)), key=lambda i: (xs[i], sign * ys[i]))
    front: list[int] = []
    for i in order:
        if not front or sign * ys[i] < sign * ys[front[-1]]:
            front.append(i)
    path = "L".join(f"{x(xs[i]):.1f} {y(ys[i]):.1f}" for i in front)
    places = [(x(own_x), y(own_y)) for own_x, own_y in zip(xs, ys, strict=True)]
    dots = [svg.dot(*place, i) for i, place in enumerate(places)]
    labels_of_dots = svg.names([visible(row.label) for row, _ in rows], places)
    title = f"{labels[1]} against {labels[0]}"
    description = f"{len(rows)} searchers; the line joins those that no other beats in both"
    return svg.chart(title, description, labels, [f'<path class="front" d="M{path}"/>', *labels_of_dots, *dots], x, y)
