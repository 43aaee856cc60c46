"""The page's figures as inline SVG: text in the page's font and ink, colours from its style sheet, no ids.

A searcher has one colour, one marker and one dash in all charts of a page. Colours never repeat: the hues of all
searchers are spread evenly over the circle.
"""

from __future__ import annotations

import html
import math
from collections.abc import Sequence

from cfbench.board.page.figures import Form, PageFigure, Scale, Series

WIDTH = 470
LEFT, TOP, BOTTOM = 62, 24, 46
NAMES = 190
"""Room at the right side for the names of what is drawn."""
RIGHT = NAMES + 8
LONGEST_NAME = 23
"""A longer name is cut; the whole name is in the chart's numbers."""
GAP = 16.5
"""Height of a line of text."""
DASHES = 8
MARKERS = 4


class Axis:
    """Maps values from `low` to `high`, which differ, to places along an axis."""

    def __init__(self, low: float, high: float, start: float, stop: float, *, log: bool = False) -> None:
        self._log = log
        self._low, self._high = (math.log10(low), math.log10(high)) if log else (low, high)
        self._start, self._stop = start, stop

    def __call__(self, value: float) -> float:
        """Return the place of a value."""
        if self._log:
            value = math.log10(value) if value > 0 else self._low
        share = (min(max(value, self._low), self._high) - self._low) / (self._high - self._low)
        return self._start + share * (self._stop - self._start)

    def ticks(self) -> list[float]:
        """Return about five round values."""
        if self._log:
            powers = range(math.ceil(self._low - 1e-9), math.floor(self._high + 1e-9) + 1)
            if len(powers) > 2:
                return [10.0**power for power in powers][:: math.ceil(len(powers) / 5)]
            every = range(math.floor(self._low), math.ceil(self._high) + 1)
            fine = [factor * 10.0**power for power in every for factor in (1, 2, 5)]
            return [tick for tick in fine if self._low - 1e-9 <= math.log10(tick) <= self._high + 1e-9]
        step = 10 ** math.floor(math.log10((self._high - self._low) / 4))
        step *= next(factor for factor in (1, 2, 5, 10) if (self._high - self._low) / (step * factor) <= 5)
        first = math.ceil(self._low / step - 1e-9)
        return [step * i for i in range(first, math.floor(self._high / step + 1e-9) + 1)]


def height_for(names: int) -> int:
    """Return the height of a chart with so many names at its side."""
    return max(320, TOP + BOTTOM + math.ceil(GAP * names) + 16)


def draw(figure: PageFigure) -> str:
    """Return the markup of a figure."""
    height = height_for(len(figure.series))
    side = 18 if figure.x.names else 0
    x = Axis(*figure.x.limits, LEFT + side, WIDTH - RIGHT - side, log=figure.x.log)
    ends = (TOP + 6, height - BOTTOM) if figure.y.downwards else (height - BOTTOM, TOP + 6)
    y = Axis(*figure.y.limits, *ends, log=figure.y.log)
    body = []
    if figure.front:
        path = _line([(x(at), y(value)) for at, value in figure.front])
        body.append(f'<path class="front" d="{path}"/>')
    placed = [[(x(at), y(value)) for at, value in one.points] for one in figure.series]
    body += _names(figure, [points[-1] for points in placed], height)
    for one, points in zip(figure.series, placed, strict=True):
        if one.span is not None:
            low, high = map(x, one.span)
            body.append(f'<path class="span" d="M{low:.1f} {points[0][1]:.1f}H{high:.1f}"/>')
        if figure.form is not Form.DOTS:
            path = _steps(points) if figure.form is Form.STEPS else _line(points)
            body.append(f'<path class="line d{one.number % DASHES}" {hue(one.number, figure.of)} d="{path}"/>')
        if figure.form is not Form.STEPS:
            body += [_dot(*point, one, figure.of) for point in points]
    return _framed(figure, body, x, y, height)


def _framed(figure: PageFigure, body: Sequence[str], x: Axis, y: Axis, height: int) -> str:
    """Return a chart with axes, ticks and labels around `body`."""
    joined = "; the line joins those that no other beats in both" if figure.front else ""
    parts = [
        f'<svg class="chart" viewBox="0 0 {WIDTH} {height}" role="img">',
        f"<title>{html.escape(figure.title)}</title><desc>{len(figure.series)} searchers{joined}</desc>",
    ]
    bottom = height - BOTTOM
    for number, (tick, text) in enumerate(_ticks(figure.x, x)):
        at, lower = x(tick), 14 * (number % 2) if figure.x.names else 0
        parts.append(f'<path class="grid" d="M{at:.1f} {TOP}V{bottom}"/>')
        parts.append(f'<text x="{at:.1f}" y="{bottom + 15 + lower}" text-anchor="middle">{html.escape(text)}</text>')
    for tick, text in _ticks(figure.y, y):
        at = y(tick)
        parts.append(f'<path class="grid" d="M{LEFT} {at:.1f}H{WIDTH - RIGHT}"/>')
        parts.append(f'<text x="{LEFT - 5}" y="{at + 4:.1f}" text-anchor="end">{html.escape(text)}</text>')
    middle = (LEFT + WIDTH - RIGHT) / 2
    parts.append(f'<text x="{middle:.0f}" y="{height - 6}" text-anchor="middle">{html.escape(figure.x.label)}</text>')
    parts.append(f'<text x="4" y="{TOP - 9}" class="what">{html.escape(figure.y.label)}</text>')
    return "".join([*parts, *body, "</svg>"])


def _ticks(scale: Scale, axis: Axis) -> list[tuple[float, str]]:
    if scale.names or scale.written is None:
        return list(enumerate(scale.names))
    return [(tick, scale.written(tick)) for tick in axis.ticks()]


def hue(series: int, of: int) -> str:
    """Return the attribute that gives something the colour of one of `of` series; neighbours differ much."""
    step = next(step for step in range(max(1, round(0.38 * of)), of + 1) if math.gcd(step, of) == 1)
    return f'style="--hue:{360 * (series * step % of) / of:.1f}"'


def _dot(x: float, y: float, one: Series, of: int) -> str:
    """Return a series' marker: a circle, a square, a diamond or a triangle."""
    shapes = (
        "M-5 0A5 5 0 1 0 5 0A5 5 0 1 0 -5 0Z",
        "M-4.5 -4.5H4.5V4.5H-4.5Z",
        "M0 -6L6 0L0 6L-6 0Z",
        "M0 -6L5.6 4.5H-5.6Z",
    )
    return (
        f'<path class="dot" {hue(one.number, of)} transform="translate({x:.1f} {y:.1f})" '
        f'd="{shapes[one.number % MARKERS]}"><title>{html.escape(one.label)}</title></path>'
    )


def _names(figure: PageFigure, ends: Sequence[tuple[float, float]], height: int) -> list[str]:
    """Write names at the right side, level with the places that they belong to, moved apart where they would meet."""
    side = WIDTH - NAMES
    parts = []
    places = apart([y for _, y in ends], height)
    for one, (x, y), at in zip(figure.series, ends, places, strict=True):
        cut = one.label if len(one.label) <= LONGEST_NAME else f"{one.label[: LONGEST_NAME - 1]}…"
        colour = hue(one.number, figure.of)
        parts.append(f'<path class="lead" {colour} d="M{x:.1f} {y:.1f}L{side + 3} {at:.1f}"/>')
        parts.append(f'<text class="of" {colour} x="{side + 6}" y="{at + 4:.1f}">{html.escape(cut)}</text>')
    return parts


def _steps(points: Sequence[tuple[float, float]]) -> str:
    """Return a path that rises in steps through points."""
    return f"M{points[0][0]:.1f} {points[0][1]:.1f}" + "".join(f"H{x:.1f}V{y:.1f}" for x, y in points[1:])


def _line(points: Sequence[tuple[float, float]]) -> str:
    """Return a path from point to point."""
    return "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in points)


def apart(heights: Sequence[float], height: int) -> list[float]:
    """Move heights apart that are closer than a line of text, keeping their order; inside a chart of that height."""
    order = sorted(range(len(heights)), key=lambda i: heights[i])
    placed = list(heights)
    last = TOP - GAP / 2
    for i in order:
        placed[i] = max(heights[i], last + GAP)
        last = placed[i]
    limit: float = height - BOTTOM + 6
    for i in reversed(order):
        placed[i] = min(placed[i], limit)
        limit = placed[i] - GAP
    return placed
