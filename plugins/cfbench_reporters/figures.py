"""The figures of a cell's run: a box of its losses, and its anytime curve. Drawn by matplotlib, without a display."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

import numpy as np

from cfbench_reporters.cell_run import AnytimeCurve

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

_INCHES = (5.6, 2.8)
_DOTS_AN_INCH = 90
_LONGEST_TITLE = 70
_INK, _FILL = "#1b3a57", "#c9dcec"


def cell_figures(name: str, searches: pd.DataFrame, curve: AnytimeCurve) -> dict[str, bytes]:
    """Draw a cell's figures.

    `name`: what the figures are of, for their titles. Returns PNG files by their paths in the run;
    none if nothing was found.
    """
    losses = searches["loss"].dropna().to_numpy()
    drawn = {}
    if len(losses):
        drawn["figures/loss.png"] = _png(_loss_box(name, losses, len(searches)))
    if len(curve.queries):
        drawn["figures/anytime.png"] = _png(_anytime(name, curve))
    return drawn


def _loss_box(name: str, losses: Any, n: int) -> Figure:
    figure, axes = _empty(name)
    axes.boxplot([losses], orientation="horizontal", widths=0.5, showfliers=False, **_box_colours())
    # Dots next to each other rather than on one line; a fixed pattern, so that one cell has one picture.
    heights = 1 + 0.16 * np.sin(2.4 * np.arange(len(losses)))
    axes.plot(losses, heights, ".", color=_INK, alpha=0.6, markersize=5)
    axes.set_yticks([])
    axes.set_xlabel(f"loss of the {len(losses):,} of {n:,} searches that found one (lower is better)")
    return figure


def _anytime(name: str, curve: AnytimeCurve) -> Figure:
    figure, axes = _empty(name)
    # The logarithm is taken here: matplotlib's logarithmic axes take three times as long to draw.
    exponents = np.log10(np.maximum(curve.queries, 1))
    axes.step(exponents, curve.losses, where="post", color=_INK)
    axes.plot(exponents[-1:], curve.losses[-1:], "o", color=_INK, markersize=4)
    decades = range(int(np.floor(exponents[0])), int(np.ceil(exponents[-1])) + 1)
    axes.set_xticks(list(decades), [f"{10**decade:,}" for decade in decades])
    axes.set_xlabel(f"queries by a search (median over {curve.searches:,} searches, none yet = infinite)")
    axes.set_ylabel("best loss so far")
    return figure


def _empty(name: str) -> tuple[Figure, Any]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=_INCHES, dpi=_DOTS_AN_INCH)
    axes = figure.add_axes((0.13, 0.19, 0.81, 0.69))
    axes.spines[["top", "right"]].set_visible(False)
    title = name if len(name) <= _LONGEST_TITLE else f"{name[: _LONGEST_TITLE - 3]}..."
    # Title and labels have their places: matplotlib would measure every tick to find some, a third of the time.
    axes.set_title(title, fontsize=9, parse_math=False, y=1.02)
    axes.xaxis.set_label_coords(0.5, -0.13)
    axes.yaxis.set_label_coords(-0.105, 0.5)
    axes.xaxis.label.set_fontsize(8)
    axes.yaxis.label.set_fontsize(8)
    axes.tick_params(labelsize=8)
    return figure, axes


def _box_colours() -> dict[str, Any]:
    return {
        "patch_artist": True,
        "boxprops": {"facecolor": _FILL, "edgecolor": _INK},
        "medianprops": {"color": _INK, "linewidth": 2},
    }


def _png(figure: Figure) -> bytes:
    target = io.BytesIO()
    figure.savefig(target, format="png", metadata={"Software": None})
    return target.getvalue()
