"""Draw the pictures of docs/concepts.md and docs/internals/architecture.md: ``python docs/pictures/diagrams.py``."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch, Rectangle

HERE = Path(__file__).parent
INK, GREY, BLUE, ORANGE, PALE = "#222222", "#8a8f98", "#1f6fb2", "#c9660b", "#eef3f8"
STEADY = {"svg.hashsalt": "cfbench", "font.size": 10, "font.family": "DejaVu Sans"}


def arrow(
    axes: Axes, start: tuple[float, float], end: tuple[float, float], colour: str = INK, style: str = "-"
) -> None:
    """Draw an arrow between two points."""
    properties = {"arrowstyle": "-|>", "color": colour, "linestyle": style, "lw": 1.5, "shrinkA": 4, "shrinkB": 4}
    axes.annotate("", end, start, arrowprops=properties)


def concepts() -> Figure:
    """Draw a factual point, its counterfactual, what is feasible, and both kinds of perturbation."""
    figure = Figure(figsize=(8.2, 4.6), layout="constrained")
    axes = figure.subplots()
    rng = np.random.default_rng(3)
    rows = np.column_stack([rng.uniform(0.2, 4.8, 90), rng.uniform(20, 60, 90)])
    good = rows[:, 0] * 12 + rows[:, 1] * 0.35 > 42
    axes.scatter(*rows[~good].T, s=9, color=ORANGE, alpha=0.35)
    axes.scatter(*rows[good].T, s=9, color=BLUE, alpha=0.35)
    savings = np.array([18.0, 62.0])
    axes.plot((42 - 0.35 * savings) / 12, savings, color=INK, lw=1)
    axes.text(2.98, 18.3, "boundary of the model", fontsize=8.5)
    axes.add_patch(Rectangle((0.1, 34), 4.8, 27, facecolor=BLUE, alpha=0.06, edgecolor=BLUE, ls="--"))
    axes.text(
        4.85, 60.5, "feasible: inside the intervals; savings only grow", fontsize=8.5, color=BLUE, ha="right", va="top"
    )
    x, z = (1.3, 34.0), (2.75, 34.0)
    arrow(axes, x, z)
    axes.text(2.0, 35.0, "income changes", fontsize=8.5, ha="center")
    arrow(axes, (z[0], z[1] - 1.2), (2.0, z[1] - 1.2), ORANGE)
    axes.text(1.95, 32.0, "C: the changed feature\nis set back", fontsize=8.5, color=ORANGE, ha="right", va="center")
    arrow(axes, z, (z[0], 23.5), ORANGE)
    axes.text(2.9, 26.5, "K: a kept feature\nis perturbed", fontsize=8.5, color=ORANGE)
    axes.scatter(*x, s=60, color=ORANGE, zorder=3)
    axes.scatter(*z, s=60, color=BLUE, zorder=3)
    axes.text(x[0] - 0.08, x[1] + 1.6, "factual x", ha="right", weight="bold")
    axes.text(z[0] + 0.14, z[1] + 0.5, "counterfactual z", weight="bold")
    axes.text(0.3, 44.5, "class: refused", color=ORANGE)
    axes.text(3.1, 44.5, "target class: accepted", color=BLUE)
    axes.text(0.15, 18.3, "plausible: close to the data, the dots", fontsize=8.5, color=GREY)
    axes.set(
        xlabel="income (thousand euros per month)", ylabel="savings (thousand euros)", xlim=(0, 5), ylim=(17.5, 62)
    )
    axes.spines[["top", "right"]].set_visible(False)
    return figure


def box(
    axes: Axes, place: tuple[float, float], title: str, module: str, *, width: float = 2.0, fill: str = PALE
) -> None:
    """Draw a box with a title and the modules behind it; `place` is its centre."""
    x, y = place
    shape = FancyBboxPatch(
        (x - width / 2, y - 0.36), width, 0.72, boxstyle="round,pad=0.02,rounding_size=0.08", fc=fill, ec=GREY, lw=1
    )
    axes.add_patch(shape)
    axes.text(x, y + 0.11, title, ha="center", va="center", weight="bold", fontsize=9)
    axes.text(x, y - 0.17, module, ha="center", va="center", fontsize=7.5, color=GREY)


def architecture() -> Figure:
    """Draw the way of a cell from the study to the board."""
    figure = Figure(figsize=(9.6, 5.6), layout="constrained")
    axes = figure.subplots()
    axes.set(xlim=(0, 11.2), ylim=(0.3, 6.1), aspect="equal")
    axes.axis("off")
    box(axes, (1.2, 5.6), "study", "cfbench.study")
    box(axes, (4.0, 5.6), "plan of cells", "cfbench.study")
    box(axes, (6.8, 5.6), "schedule", "cfbench.running")
    box(axes, (9.8, 5.6), "executor", "cfbench.running.executors", width=2.2)
    for left, right in (((2.2, 5.6), (3.0, 5.6)), ((5.0, 5.6), (5.8, 5.6)), ((7.8, 5.6), (8.7, 5.6))):
        arrow(axes, left, right)
    axes.add_patch(Rectangle((0.15, 2.95), 10.9, 1.55, fc="none", ec=BLUE, ls="--"))
    axes.text(0.3, 4.25, "a worker process, for each cell", fontsize=8.5, color=BLUE)
    arrow(axes, (9.8, 5.2), (9.8, 4.5))
    axes.text(9.95, 4.72, "batch of searches", fontsize=8, color=GREY)
    box(axes, (9.8, 3.55), "fit the model", "cfbench.running", width=2.2)
    box(axes, (7.0, 3.55), "prepare, search", "cfbench.running")
    box(axes, (4.2, 3.55), "problem", "cfbench.problem")
    box(axes, (1.5, 3.55), "judge", "cfbench.running")
    arrow(axes, (8.7, 3.55), (8.0, 3.55))
    arrow(axes, (6.0, 3.65), (5.2, 3.65))
    arrow(axes, (5.2, 3.45), (6.0, 3.45))
    axes.text(5.6, 3.83, "queries", fontsize=8, color=GREY, ha="center")
    axes.text(5.6, 3.15, "classes", fontsize=8, color=GREY, ha="center")
    axes.annotate(
        "",
        (1.5, 3.95),
        (7.0, 3.95),
        arrowprops={"arrowstyle": "-|>", "color": INK, "lw": 1.5, "connectionstyle": "bar,fraction=0.03"},
    )
    axes.text(4.2, 4.22, "z", fontsize=9, style="italic", ha="center")
    box(axes, (1.5, 1.9), "record", "cfbench.record: record.db", fill="#fdf3e3")
    arrow(axes, (1.5, 3.15), (1.5, 2.3))
    axes.text(1.62, 2.66, "one row per search", fontsize=8, color=GREY)
    box(axes, (4.6, 1.9), "metrics", "cfbench.running")
    box(axes, (7.2, 1.9), "analysis", "cfbench.analysis")
    box(axes, (9.8, 1.9), "board", "cfbench.board", width=2.2)
    arrow(axes, (2.5, 1.98), (3.6, 1.98))
    arrow(axes, (3.6, 1.8), (2.5, 1.8))
    arrow(axes, (5.6, 1.9), (6.2, 1.9))
    arrow(axes, (8.2, 1.9), (8.7, 1.9))
    box(axes, (1.5, 0.75), "MLflow", "cfbench_reporters", fill="white")
    arrow(axes, (1.5, 1.5), (1.5, 1.15), GREY)
    box(
        axes,
        (7.2, 0.75),
        "plugins, through the registry",
        "cfbench.registry: data sets, models, searchers, objectives, metrics",
        width=6.2,
        fill="white",
    )
    return figure


def main() -> None:
    """Write both pictures."""
    for name, draw in (("concepts", concepts), ("architecture", architecture)):
        with mpl.rc_context(STEADY):
            draw().savefig(HERE / f"{name}.svg", metadata={"Date": None})


if __name__ == "__main__":
    main()
