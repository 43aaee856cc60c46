"""The page's figures, drawn by matplotlib."""

from __future__ import annotations

import colorsys
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from cfbench.board.page.figures import Form, PageFigure, Scale
from cfbench.space.space import FloatArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MARKERS = "osD^"
DASHES = ("-", "--", ":", "-.", (0, (6, 2)), (0, (1, 1)), (0, (5, 1, 1, 1, 1, 1)), (0, (3, 3)))
COLUMNS = 2
"""Figures in one row."""
SIZE = (6.4, 4.2)
"""Width and height of one figure in inches."""


def plot_figures(figures: Sequence[PageFigure]) -> NDArray[np.object_]:
    """Draw figures in a grid of a new matplotlib figure, and return its axes, an array of shape (n,)."""
    import matplotlib.pyplot as plt  # slow to load

    columns = min(COLUMNS, len(figures))
    rows = math.ceil(len(figures) / columns)
    canvas, grid = plt.subplots(
        rows, columns, squeeze=False, figsize=(SIZE[0] * columns, SIZE[1] * rows), layout="constrained"
    )
    for axes, figure in zip(grid.flat, figures, strict=False):
        _draw(axes, figure)
    for axes in grid.flat[len(figures) :]:
        canvas.delaxes(axes)
    drawn: NDArray[np.object_] = np.array(grid.flat[: len(figures)])
    return drawn


def _draw(axes: Axes, figure: PageFigure) -> None:
    for one in figure.series:
        colour = colorsys.hls_to_rgb(one.number / max(figure.of, 1), 0.42, 0.65)
        x, y = _inside(one.points, figure)
        if one.span is not None:
            axes.plot(one.span, [y[0], y[0]], color=colour, alpha=0.5, linewidth=3, solid_capstyle="butt")
        axes.plot(
            x,
            y,
            color=colour,
            label=one.label,
            marker="" if figure.form is Form.STEPS else MARKERS[one.number % len(MARKERS)],
            linestyle="" if figure.form is Form.DOTS else DASHES[one.number % len(DASHES)],
            clip_on=figure.form is Form.STEPS,  # a marker at a limit is drawn whole
            drawstyle="steps-post" if figure.form is Form.STEPS else "default",
        )
    if figure.front:
        axes.plot(*_inside(figure.front, figure), color="0.6", linestyle=":", zorder=0)
    axes.set_title(figure.title)
    _scale(axes, "x", figure.x)
    _scale(axes, "y", figure.y)
    axes.grid(alpha=0.3)
    axes.legend(loc="center left", bbox_to_anchor=(1, 0.5), fontsize="x-small", frameon=False)


def _inside(points: Sequence[tuple[float, float]], figure: PageFigure) -> tuple[FloatArray, FloatArray]:
    """Return the coordinates of points; those outside the limits of a figure are moved to them."""
    x, y = np.array(points, dtype=np.float64).T
    return np.clip(x, figure.x.low, figure.x.high), np.clip(y, figure.y.low, figure.y.high)


def _scale(axes: Axes, side: str, scale: Scale) -> None:
    """Give the axis at a side, "x" or "y", the limits, the ticks and the label of a scale."""
    from matplotlib.ticker import FuncFormatter, NullFormatter

    written = scale.written
    limits = scale.limits[::-1] if scale.downwards else scale.limits
    axes.set(**{f"{side}scale": "log" if scale.log else "linear", f"{side}lim": limits, f"{side}label": scale.label})
    axis = axes.xaxis if side == "x" else axes.yaxis
    if scale.names or written is None:
        axis.set_ticks(range(len(scale.names)), scale.names, rotation=20)
    else:
        axis.set_major_formatter(FuncFormatter(lambda value, _: written(value)))
        axis.set_minor_formatter(NullFormatter())
