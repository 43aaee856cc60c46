"""What more samples for K bring, and what time they take: the paper's curves against m."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from cfbench.report.boxes import COLOURS
from cfbench.report.canvas import INK, Figure, absent, draw
from cfbench.report.names import DATASETS, MODELS, SAMPLES
from cfbench.report.published import block
from cfbench.report.samples import of_samples
from cfbench.report.tables import ABSENT, Entry, Table, TableRow, decimal, mean_and_sd
from cfbench.space import FloatArray

SERIES = {"k": "K", "ck": "C and K"}


def k_score(robust: pd.DataFrame, model: str) -> Figure:
    """Return the K-robustness score of results against the number of samples that the search took."""
    return _curves(
        f"k-score-{model}",
        f"K-robustness against m: {MODELS[model]}",
        "K-robustness score of the results with 1,000 samples, for searches with m = 0, 4, 16 and 64; 1 is best. Mean "
        "over points; shaded: standard deviation. m = 0 accounts for nothing (K) or for C alone (C and K).",
        robust[robust["model"] == model],
        "k-robustness",
        block("figures")["k-score"],
        (2, 12, 13) if model == "neural-network" else (12, 13),
        limits=(0.0, 1.02),
    )


def added_time(robust: pd.DataFrame, model: str) -> Figure:
    """Return the seconds beyond a search that accounts for nothing against the number of samples."""
    return _curves(
        f"added-time-{model}",
        f"Added run time against m: {MODELS[model]}",
        "Seconds of a search beyond the one that accounts for nothing, for m = 0, 4, 16 and 64 samples; 0 is best. "
        "Mean over points; shaded: standard deviation. m = 0 of C and K accounts for C alone: what C takes.",
        robust[robust["model"] == model],
        "time-of-robustness",
        block("figures")["added-time"],
        (2, 13) if model == "neural-network" else (13,),
    )


def _curves(
    name: str,
    title: str,
    caption: str,
    rows: pd.DataFrame,
    column: str,
    says: str,
    points: tuple[int, ...],
    *,
    limits: tuple[float, float] | None = None,
) -> Figure:
    datasets = list(DATASETS)

    def values(dataset: str, part: str, m: int) -> FloatArray:
        return of_samples(rows[rows["dataset"] == dataset], part, m)[column].dropna().to_numpy(np.float64)

    def panel(axes: Axes, number: int) -> None:
        _panel(axes, lambda part, m: values(datasets[number], part, m))
        if limits is not None and axes.axison:
            axes.set_ylim(*limits)
        if number == 0 and axes.axison:
            axes.legend(loc="best", ncols=2)

    svg, png = draw(name, list(DATASETS.values()), panel, height=1.25)
    table = [
        TableRow((DATASETS[dataset], text), tuple(_entry(values(dataset, part, m)) for m in SAMPLES))
        for dataset in DATASETS
        for part, text in SERIES.items()
    ]
    numbers = Table(
        name,
        title,
        f"{caption} n: points.",
        ("data set", "accounted for"),
        tuple(f"m = {m}" for m in SAMPLES),
        tuple(table),
    )
    return Figure(name, title, caption, _alt(title, numbers), svg, png, numbers, says, points)


def _panel(axes: Axes, values: Callable[[str, int], FloatArray]) -> None:
    # m grows fourfold from step to step, so the steps are equally wide, as in the paper.
    drawn = False
    for (part, text), line in zip(SERIES.items(), ("-", "--"), strict=True):
        found = [(step, values(part, m)) for step, m in enumerate(SAMPLES)]
        found = [(step, sample) for step, sample in found if sample.size]
        if not found:
            continue
        drawn = True
        steps = [step for step, _ in found]
        means = np.array([sample.mean() for _, sample in found])
        spreads = np.array([sample.std() for _, sample in found])
        axes.fill_between(steps, means - spreads, means + spreads, color=COLOURS[part], alpha=0.18, linewidth=0)
        axes.plot(steps, means, line, marker="o", markersize=3.5, color=COLOURS[part], label=text)
    if not drawn:
        absent(axes)
        return
    axes.set_xticks(range(len(SAMPLES)), [str(m) for m in SAMPLES])
    axes.set_xlim(-0.3, len(SAMPLES) - 0.7)
    axes.grid(visible=True, axis="y", color=INK, alpha=0.15, linewidth=0.5)


def _entry(sample: FloatArray) -> Entry:
    if not sample.size:
        return Entry()
    mean, sd = float(sample.mean()), float(sample.std())
    return Entry(mean_and_sd(mean, sd), f"n = {sample.size}", numbers={"mean": mean, "sd": sd, "n": sample.size})


def _alt(title: str, numbers: Table) -> str:
    says = []
    for row in numbers.rows:
        first, last = (entry.numbers.get("mean") for entry in (row.entries[0], row.entries[-1]))
        if first is not None and last is not None:
            says.append(f"{', '.join(row.heads)}: from {decimal(first)} to {decimal(last)}")
    return f"Curves, a data set each. {title}. From m = 0 to m = 64: {'; '.join(says) or ABSENT}."
