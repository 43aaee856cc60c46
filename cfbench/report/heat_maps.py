"""How often perturbations invalidate results, and how often these can be walked back: the paper's heat maps."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from cfbench.report.canvas import INK, Figure, absent, draw
from cfbench.report.names import DATASETS, DISTRIBUTIONS, MODELS, PARTS, ROBUSTNESS
from cfbench.report.published import block
from cfbench.report.tables import ABSENT, Entry, Table, TableRow, decimal
from cfbench.space import FloatArray


def fixability(robust: pd.DataFrame, model: str) -> Figure:
    """Return the heat map of the shares of perturbations that can be corrected."""
    # For both parts together the paper takes the value of K alone; they differ, so it has a column here.
    return _heat_map(
        robust,
        model,
        "fixability",
        f"Perturbations that can be corrected: {MODELS[model]}",
        "Mean share of random perturbations after which the result is still of the target class or can be walked back "
        "to within the constraints; 1 is best, darker is worse.",
        darkest=0.0,
        points=(2, 5, 12, 13) if model == "neural-network" else (5, 12, 13),
    )


def invalidity(robust: pd.DataFrame, model: str) -> Figure:
    """Return the heat map of the shares of perturbations that change the class."""
    return _heat_map(
        robust,
        model,
        "invalidity",
        f"Perturbations that invalidate the result: {MODELS[model]}",
        "Mean share of random perturbations after which the result is no longer of the target class; 0 is best, darker "
        "is worse.",
        darkest=1.0,
        points=(2, 5, 12, 13, 14) if model == "neural-network" else (5, 12, 13, 14),
    )


def _heat_map(
    robust: pd.DataFrame,
    model: str,
    metric: str,
    title: str,
    caption: str,
    *,
    darkest: float,
    points: tuple[int, ...],
) -> Figure:
    mine = robust[robust["model"] == model]
    panels = [(dataset, distribution) for dataset in DATASETS for distribution in DISTRIBUTIONS]
    values = {place: _means(mine[mine["dataset"] == place[0]], metric, place[1]) for place in panels}

    def panel(axes: Axes, number: int) -> None:
        means, _ = values[panels[number]]
        if np.isnan(means).all():
            absent(axes)
            return
        badness = 1.0 - np.abs(means - darkest)
        axes.pcolormesh(
            np.ma.masked_invalid(badness), cmap="Oranges", vmin=0.0, vmax=1.5, edgecolors="face", linewidth=0.2
        )
        for (row, column), mean in np.ndenumerate(means):
            # Ink of its own: the cell's colour stays what it is on a dark page, and so must the number's.
            ink = INK if np.isnan(mean) else "#1a1a1a"
            axes.text(column + 0.5, row + 0.5, decimal(mean), ha="center", va="center", color=ink, fontsize=8.5)
        axes.set_xticks(np.arange(len(PARTS)) + 0.5, ["C", "K", "C, K"])
        left = number % len(DISTRIBUTIONS) == 0
        axes.set_yticks(np.arange(len(ROBUSTNESS)) + 0.5, ["None", "C", "K", "C, K"] if left else [])
        axes.tick_params(length=0)
        axes.invert_yaxis()
        for spine in axes.spines.values():
            spine.set_visible(False)

    name = f"{metric}-{model}"
    titles = [f"{DATASETS[dataset]}, {distribution}" for dataset, distribution in panels]
    svg, png = draw(name, titles, panel, height=1.25, columns=len(DISTRIBUTIONS))
    numbers = _numbers(name, title, caption, values, panels)
    legend = " Rows: what the search accounted for; columns: what is perturbed. n is in the numbers below."
    return Figure(
        name=name,
        title=title,
        caption=caption + legend,
        alt=_alt(metric, model, values, panels),
        svg=svg,
        png=png,
        numbers=numbers,
        says=block("figures")[metric],
        points=points,
    )


def _means(rows: pd.DataFrame, metric: str, distribution: str) -> tuple[FloatArray, list[list[int]]]:
    """Return the means and their counts, shape (robustness, part)."""
    found = [
        [
            rows.loc[rows["objective"] == objective, f"{metric}/{part}/{distribution}"].dropna().to_numpy(np.float64)
            for part in PARTS
        ]
        for objective in ROBUSTNESS
    ]
    means = np.array([[values.mean() if values.size else np.nan for values in line] for line in found])
    return means, [[values.size for values in line] for line in found]


def _numbers(
    name: str,
    title: str,
    caption: str,
    values: dict[tuple[str, str], tuple[FloatArray, list[list[int]]]],
    panels: Sequence[tuple[str, str]],
) -> Table:
    rows = []
    for dataset, distribution in panels:
        means, counts = values[dataset, distribution]
        for robustness, line, sizes in zip(ROBUSTNESS.values(), means, counts, strict=True):
            entries = [
                Entry(decimal(mean), f"n = {n}" if n else "", numbers={"mean": float(mean), "n": n})
                for mean, n in zip(line, sizes, strict=True)
            ]
            rows.append(TableRow((DATASETS[dataset], distribution, robustness), tuple(entries)))
    return Table(
        name,
        title,
        f"{caption} n: points with a result.",
        ("data set", "perturbations", "accounted for"),
        tuple(f"perturbed: {text}" for text in PARTS.values()),
        tuple(rows),
    )


def _alt(
    metric: str,
    model: str,
    values: dict[tuple[str, str], tuple[FloatArray, list[list[int]]]],
    panels: Sequence[tuple[str, str]],
) -> str:
    """Say for each data set what accounting for nothing and for K means under perturbations to K."""
    column, none, k = list(PARTS).index("k"), list(ROBUSTNESS).index("none"), list(ROBUSTNESS).index("k")
    says = [
        f"{DATASETS[dataset]} {decimal(values[dataset, distribution][0][none, column])} and "
        f"{decimal(values[dataset, distribution][0][k, column])}"
        for dataset, distribution in panels
        if distribution == "uniform"
    ]
    listed = "; ".join(says).replace(ABSENT, "not there")
    return (
        f"Heat maps of {metric} with a {MODELS[model]}, a data set and distribution each. Under uniform perturbations "
        f"to K, accounting for nothing and for K: {listed}."
    )
