"""Small charts as inline SVG: text in the page's font and ink, colours from its style sheet, no ids."""

from __future__ import annotations

import html
import math
from collections.abc import Sequence

WIDTH, HEIGHT = 440, 320
LEFT, TOP, BOTTOM = 44, 18, 44
NAMES = 150
"""Room at the right side for the names of what is drawn."""
RIGHT = NAMES + 10
SERIES = 8
"""So many colours and dashes; labels stand at the lines themselves."""


class Axis:
    """Maps values to places along an axis.

    Parameters
    ----------
    low, high : float
        The ends; positive where `log`.
    start, stop : float
        Places of the ends.
    log : bool
    """

    def __init__(self, low: float, high: float, start: float, stop: float, *, log: bool = False) -> None:
        self._log = log
        self._low, self._high = (math.log10(low), math.log10(high)) if log else (low, high)
        if self._high <= self._low:
            self._high = self._low + 1
        self._start, self._stop = start, stop

    def __call__(self, value: float) -> float:
        """Return the place of a value."""
        share = ((math.log10(value) if self._log else value) - self._low) / (self._high - self._low)
        return self._start + share * (self._stop - self._start)

    def ticks(self) -> list[float]:
        """Return about five round values."""
        if self._log:
            powers = range(math.ceil(self._low), math.floor(self._high) + 1)
            step = max(1, round(len(powers) / 5))
            return [10.0**power for power in powers][::step]
        step = 10 ** math.floor(math.log10((self._high - self._low) / 4))
        step *= next(factor for factor in (1, 2, 5, 10) if (self._high - self._low) / (step * factor) <= 5)
        first = math.ceil(self._low / step)
        return [step * i for i in range(first, math.floor(self._high / step + 1e-9) + 1)]


def chart(title: str, description: str, labels: tuple[str, str], body: Sequence[str], x: Axis, y: Axis | None) -> str:
    """Frame a chart: axes with ticks and labels around `body`; without `y`, heights mean nothing."""
    parts = [
        f'<svg class="chart" viewBox="0 0 {WIDTH} {HEIGHT}" role="img">',
        f"<title>{html.escape(title)}</title><desc>{html.escape(description)}</desc>",
    ]
    bottom = HEIGHT - BOTTOM
    for tick in x.ticks():
        at = x(tick)
        parts.append(f'<path class="grid" d="M{at:.1f} {TOP}V{bottom}"/>')
        parts.append(f'<text x="{at:.1f}" y="{bottom + 15}" text-anchor="middle">{short(tick)}</text>')
    for tick, at in [(tick, y(tick)) for tick in y.ticks()] if y is not None else []:
        parts.append(f'<path class="grid" d="M{LEFT} {at:.1f}H{WIDTH - RIGHT}"/>')
        parts.append(f'<text x="{LEFT - 5}" y="{at + 4:.1f}" text-anchor="end">{short(tick)}</text>')
    middle = (LEFT + WIDTH - RIGHT) / 2
    parts.append(f'<text x="{middle:.0f}" y="{HEIGHT - 8}" text-anchor="middle">{html.escape(labels[0])}</text>')
    parts.append(f'<text x="{LEFT}" y="{TOP - 2}" class="what">{html.escape(labels[1])}</text>')
    return "".join([*parts, *body, "</svg>"])


def dot(x: float, y: float, series: int) -> str:
    """Return a dot."""
    return f'<circle class="s{series % SERIES}" cx="{x:.1f}" cy="{y:.1f}" r="5"/>'


def names(labels: Sequence[str], ends: Sequence[tuple[float, float]]) -> list[str]:
    """Write names at the right side, level with the places that they belong to, moved apart where they would meet.

    Parameters
    ----------
    labels : sequence of str
        A name a series.
    ends : sequence of (float, float)
        The places; a thin line leads from each to its name.
    """
    side = WIDTH - NAMES
    parts = []
    for series, (label, end, height) in enumerate(zip(labels, ends, _apart([y for _, y in ends]), strict=True)):
        parts.append(f'<path class="lead" d="M{end[0]:.1f} {end[1]:.1f}L{side + 3} {height:.1f}"/>')
        place = f'x="{side + 6}" y="{height + 4:.1f}"'
        parts.append(f'<text class="t{series % SERIES}" {place}>{html.escape(label)}</text>')
    return parts


def steps(points: Sequence[tuple[float, float]], series: int) -> str:
    """Return a line that rises in steps through points."""
    path = f"M{points[0][0]:.1f} {points[0][1]:.1f}" + "".join(f"H{x:.1f}V{y:.1f}" for x, y in points[1:])
    return f'<path class="line s{series % SERIES} d{series % SERIES}" d="{path}"/>'


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


def _apart(heights: Sequence[float], gap: float = 13) -> list[float]:
    """Move heights apart that are closer than a line of text, keeping their order; inside the chart."""
    order = sorted(range(len(heights)), key=lambda i: heights[i])
    placed = list(heights)
    last = -math.inf
    for i in order:
        placed[i] = max(heights[i], last + gap)
        last = placed[i]
    limit: float = HEIGHT - BOTTOM
    for i in reversed(order):
        placed[i] = min(placed[i], limit)
        limit = placed[i] - gap
    return placed
