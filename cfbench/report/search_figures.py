"""How long searchers take, and how their losses compare with CoGS's."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, NullFormatter

from cfbench.report.boxes import Box, box_figure
from cfbench.report.canvas import BLUE, INK, Figure, absent, draw
from cfbench.report.names import DATASETS, MODELS, SEARCHER, SEARCHERS
from cfbench.report.published import block
from cfbench.report.tables import Entry, Table, TableRow, decimal
from cfbench.space import FloatArray

Z = 1.96
"""Standard errors on either side of a mean that make a 95 % confidence interval."""


def run_times(seconds: Mapping[tuple[str, str, str], FloatArray], model: str) -> Figure:
    """Return mean seconds of a search with 95 % confidence intervals, successful or not."""
    name = f"run-times-{model}"
    title = f"Run times: {MODELS[model]}"
    caption = (
        "Seconds of wall-clock time a search, whether it succeeded or not: mean and 95 % confidence interval, "
        "logarithmic; lower is better. Constraints off."
    )
    found = {
        dataset: {
            searcher: seconds[dataset, model, searcher]
            for searcher in SEARCHERS
            if (dataset, model, searcher) in seconds
        }
        for dataset in DATASETS
    }
    datasets = list(DATASETS)

    def panel(axes: Axes, number: int) -> None:
        _time_panel(axes, found[datasets[number]])

    svg, png = draw(name, list(DATASETS.values()), panel, height=1.25)
    rows = [
        TableRow((SEARCHERS[searcher],), tuple(_time_entry(found[dataset].get(searcher)) for dataset in DATASETS))
        for searcher in SEARCHERS
    ]
    numbers = Table(name, title, f"{caption} n: searches.", ("searcher",), tuple(DATASETS.values()), tuple(rows))
    points = (2, 3, 4, 6, 16) if model == "neural-network" else (3, 4, 6, 16)
    return Figure(name, title, caption, _alt(title, found), svg, png, numbers, block("figures")["run-times"], points)


def relative_loss(searching: pd.DataFrame, model: str) -> Figure:
    """Return the relative change in loss with respect to CoGS, over the points that both solved."""
    panels = {dataset: _changes(searching, dataset, model) for dataset in DATASETS}
    return box_figure(
        f"relative-loss-{model}",
        f"Relative change in loss with respect to CoGS: {MODELS[model]}",
        "(loss - CoGS's loss) / CoGS's loss of the best repetition, over the points that both solved. No unit; lower "
        "is better, below 0 beats CoGS. Constraints off. Boxes: quartiles and median; whiskers: extremes.",
        panels,
        block("figures")["relative-loss"],
        (2, 3, 4, 6, 16) if model == "neural-network" else (3, 4, 6, 16),
        height=1.25,
        reference=0.0,
    )


def _changes(searching: pd.DataFrame, dataset: str, model: str) -> list[Box]:
    rows = searching[(searching["dataset"] == dataset) & (searching["model"] == model) & searching["found"]]
    losses = {name: rows[rows["searcher"] == name].set_index(["fold", "row_id"])["loss"] for name in SEARCHERS}
    base = losses[SEARCHER]
    boxes = []
    for name, short in SEARCHERS.items():
        if name != SEARCHER:
            change = ((losses[name] - base) / base).dropna().to_numpy(dtype=np.float64)
            boxes.append(Box(short, short, BLUE, change))
    return boxes


def _time_panel(axes: Axes, found: Mapping[str, FloatArray]) -> None:
    if not found:
        absent(axes)
        return
    for place, sample in enumerate(found.values()):
        mean, half = float(sample.mean()), _half_width(sample)
        axes.errorbar(
            [mean], [place], xerr=[[min(half, mean * 0.999)], [half]], fmt="o", markersize=4, color=BLUE, ecolor=INK
        )
    axes.set_xscale("log")
    means = [float(sample.mean()) for sample in found.values()]
    axes.set_xlim(min(means) / 3, max(means) * 3)
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.set_yticks(range(len(found)), [SEARCHERS[name] for name in found])
    axes.set_ylim(len(found) - 0.4, -0.6)
    axes.grid(visible=True, axis="x", color=INK, alpha=0.15, linewidth=0.5)


def _half_width(sample: FloatArray) -> float:
    return Z * float(sample.std(ddof=1)) / math.sqrt(sample.size) if sample.size > 1 else 0.0


def _time_entry(sample: FloatArray | None) -> Entry:
    if sample is None:
        return Entry()
    mean, half = float(sample.mean()), _half_width(sample)
    text = f"{decimal(mean, 3)} s [{decimal(mean - half, 3)}, {decimal(mean + half, 3)}]"
    numbers = {"mean": mean, "low": mean - half, "high": mean + half, "n": sample.size}
    return Entry(text if sample.size > 1 else f"{decimal(mean, 3)} s", f"n = {sample.size}", numbers=numbers)


def _alt(title: str, found: Mapping[str, Mapping[str, FloatArray]]) -> str:
    says = []
    for dataset, samples in found.items():
        means = {name: float(sample.mean()) for name, sample in samples.items()}
        if means:
            fastest, slowest = min(means, key=means.__getitem__), max(means, key=means.__getitem__)
            says.append(
                f"{DATASETS[dataset]} from {decimal(means[fastest], 3)} s ({SEARCHERS[fastest]}) to "
                f"{decimal(means[slowest], 3)} s ({SEARCHERS[slowest]})"
            )
    return f"Mean seconds, a data set each. {title}: {'; '.join(says) or 'none'}."
