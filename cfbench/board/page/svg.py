"""Small charts as inline SVG: text in the page's font and ink, colours from its style sheet, no ids.

A searcher has one colour, one marker and one dash in all charts of a page. Colours never repeat: the hues of all
searchers are spread evenly over the circle.
"""

from __future__ import annotations

import html
import math
from collections.abc import Callable, Sequence

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
    """Maps values to places along an axis."""

    def __init__(self, low: float, high: float, start: float, stop: float, *, log: bool = False) -> None:
        self._log = log
        self._low, self._high = (math.log10(low), math.log10(high)) if log else (low, high)
        if self._high <= self._low:
            self._high = self._low + 1
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


def chart(
    title: str,
    description: str,
    labels: tuple[str, str],
    body: Sequence[str],
    x: Axis | Sequence[tuple[float, str]],
    y: Axis | None,
    *,
    height: int,
    written: tuple[Callable[[float], str], Callable[[float], str]] = (short, short),
) -> str:
    """Frame a chart: axes with ticks and labels around `body`."""
    parts = [
        f'<svg class="chart" viewBox="0 0 {WIDTH} {height}" role="img">',
        f"<title>{html.escape(title)}</title><desc>{html.escape(description)}</desc>",
    ]
    bottom = height - BOTTOM
    ticks = [(x(tick), written[0](tick)) for tick in x.ticks()] if isinstance(x, Axis) else x
    for number, (at, text) in enumerate(ticks):
        lower = 0 if isinstance(x, Axis) else 14 * (number % 2)
        parts.append(f'<path class="grid" d="M{at:.1f} {TOP}V{bottom}"/>')
        parts.append(f'<text x="{at:.1f}" y="{bottom + 15 + lower}" text-anchor="middle">{html.escape(text)}</text>')
    for tick, at in [(tick, y(tick)) for tick in y.ticks()] if y is not None else []:
        parts.append(f'<path class="grid" d="M{LEFT} {at:.1f}H{WIDTH - RIGHT}"/>')
        parts.append(f'<text x="{LEFT - 5}" y="{at + 4:.1f}" text-anchor="end">{html.escape(written[1](tick))}</text>')
    middle = (LEFT + WIDTH - RIGHT) / 2
    parts.append(f'<text x="{middle:.0f}" y="{height - 6}" text-anchor="middle">{html.escape(labels[0])}</text>')
    parts.append(f'<text x="4" y="{TOP - 9}" class="what">{html.escape(labels[1])}</text>')
    return "".join([*parts, *body, "</svg>"])


def hue(series: int, of: int) -> str:
    """Return the attribute that gives something the colour of one of `of` series; neighbours differ much."""
    step = next(step for step in range(max(1, round(0.38 * of)), of + 1) if math.gcd(step, of) == 1)
    return f'style="--hue:{360 * (series * step % of) / of:.1f}"'


def dot(x: float, y: float, series: int, of: int, label: str) -> str:
    """Return a series' marker: a circle, a square, a diamond or a triangle."""
    shapes = (
        "M-5 0A5 5 0 1 0 5 0A5 5 0 1 0 -5 0Z",
        "M-4.5 -4.5H4.5V4.5H-4.5Z",
        "M0 -6L6 0L0 6L-6 0Z",
        "M0 -6L5.6 4.5H-5.6Z",
    )
    return (
        f'<path class="dot" {hue(series, of)} transform="translate({x:.1f} {y:.1f})" '
        f'd="{shapes[series % MARKERS]}"><title>{html.escape(label)}</title></path>'
    )


def names(
    labels: Sequence[str], ends: Sequence[tuple[float, float]], series: Sequence[int], of: int, height: int
) -> list[str]:
    """Write names at the right side, level with the places that they belong to, moved apart where they would meet."""
    side = WIDTH - NAMES
    parts = []
    places = apart([y for _, y in ends], height)
    for label, end, number, at in zip(labels, ends, series, places, strict=True):
        cut = label if len(label) <= LONGEST_NAME else f"{label[: LONGEST_NAME - 1]}…"
        parts.append(f'<path class="lead" {hue(number, of)} d="M{end[0]:.1f} {end[1]:.1f}L{side + 3} {at:.1f}"/>')
        parts.append(f'<text class="of" {hue(number, of)} x="{side + 6}" y="{at + 4:.1f}">{html.escape(cut)}</text>')
    return parts


def steps(points: Sequence[tuple[float, float]], series: int, of: int) -> str:
    """Return a line that rises in steps through points."""
    path = f"M{points[0][0]:.1f} {points[0][1]:.1f}" + "".join(f"H{x:.1f}V{y:.1f}" for x, y in points[1:])
    return f'<path class="line d{series % DASHES}" {hue(series, of)} d="{path}"/>'


def line(points: Sequence[tuple[float, float]], series: int, of: int) -> str:
    """Return a line from point to point."""
    path = "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
    return f'<path class="line d{series % DASHES}" {hue(series, of)} d="{path}"/>'


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
